"""Log-in for researchers and admins, by django-allauth."""

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest


class ClosedSignup(DefaultAccountAdapter):
    """Nobody makes an account for themselves, unless the marketplace takes workers in: an admin adds researchers."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.MARKETPLACE_SIGNUP)
