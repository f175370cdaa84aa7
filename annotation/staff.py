"""Tokens of staff for the API: signed, expiring, and void once the password changes or the person is switched off."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing
from django.utils import timezone
from rest_framework import authentication, exceptions
from rest_framework.request import Request

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SALT = "touchstone.staff"


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
