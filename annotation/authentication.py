"""Who calls the API: `Authorization: Token ...`, signed like a personal link."""

from django.utils import timezone
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from annotation import links
from annotation.errors import BadLink
from annotation.models import Worker


class TokenAuthentication(authentication.BaseAuthentication):
    """Sets `request.user` to a Worker. A bad token is 401, with the reason in a sentence."""

    def authenticate(self, request: Request) -> tuple[Worker, None] | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "token":
            return None
        try:
            return links.worker_of(token.strip(), links.TOKEN, at=timezone.now()), None
        except BadLink as refusal:
            raise exceptions.AuthenticationFailed(refusal.sentence, refusal.code) from None

    def authenticate_header(self, request: Request) -> str:
        return "Token"
