"""Who calls the API: `Authorization: Token ...`, signed like a personal link."""

from typing import cast

from django.utils import timezone
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from annotation import links
from annotation.errors import BadLink
from annotation.models import Worker


class TokenAuthentication(authentication.BaseAuthentication):
    """Sets `request.user` to a Worker, in one query. A bad token is 401, with the reason in a sentence."""

    def authenticate(self, request: Request) -> tuple[Worker, None] | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "token":
            return None
        try:
            return links.worker_of(token.strip(), links.TOKEN, at=timezone.now()), None
        except BadLink as refusal:  # what is said of links holds for tokens, word for word
            sentence, code = (text.replace("link", "token") for text in (refusal.sentence, refusal.code))
            raise exceptions.AuthenticationFailed(sentence, code) from None

    def authenticate_header(self, request: Request) -> str:
        return "Token"


def caller(request: Request) -> Worker:
    """Whom TokenAuthentication found; the framework's types know only Django's own users."""
    return cast(Worker, request.user)
