"""Staff in the API: who they are, and which studies are theirs.

Tokens are signed, expire, and are void once the password changes or the person is switched off.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing
from django.utils import timezone
from rest_framework import authentication, exceptions
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request

from annotation.authentication import TokenAuthentication
from annotation.models import Study, Worker
from annotation.views.pages import RESEARCHER

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SALT = "touchstone.staff"
STRANGE = "There is no study “{}”, or you are not in its team."
FOR_STAFF = "This is for the study's team. Your own numbers are at “me”."


def sign(user: "User", *, at: datetime) -> str:
    """A token that works for LINK_DAYS."""
    until = int((at + timedelta(days=settings.LINK_DAYS)).timestamp())
    return signing.dumps([user.pk, user.get_session_auth_hash()[:32], until], salt=SALT)


class StaffAuthentication(authentication.BaseAuthentication):
    """Sets `request.user` to a user. What is no staff token at all is left to the next authentication."""

    def authenticate(self, request: Request) -> "tuple[User, None] | None":
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        try:
            pk, seal, until = signing.loads(token.strip(), salt=SALT)
        except (signing.BadSignature, ValueError):
            return None
        user = get_user_model().objects.filter(pk=pk, is_active=True).first()
        if scheme.lower() != "token" or until < timezone.now().timestamp():
            raise exceptions.AuthenticationFailed("This token has expired. Make a new one.", "token_expired")
        if user is None or user.get_session_auth_hash()[:32] != seal:
            raise exceptions.AuthenticationFailed("This token was withdrawn. Make a new one.", "token_revoked")
        return user, None

    def authenticate_header(self, request: Request) -> str:
        return "Token"


BOTH = [StaffAuthentication, TokenAuthentication]


def study_of(request: Request, slug: str, *, acts: bool = False) -> Study:
    """Raises PermissionDenied for workers and for who only looks, NotFound for everybody outside the team."""
    if isinstance(request.user, Worker):
        raise PermissionDenied(FOR_STAFF, "for_staff")
    user = user_of(request)
    study = Study.objects.visible_to(user).filter(slug=slug).first()
    if study is None:
        raise NotFound(STRANGE.format(slug))
    if acts and not (user.is_superuser or user.groups.filter(name=RESEARCHER).exists()):
        raise PermissionDenied("You may look at this study, but not change it.", "for_researchers")
    return study


def user_of(request: Request) -> "User":
    return cast("User", request.user)


def actor(request: Request) -> str:
    return f"user:{user_of(request).get_username()}"
