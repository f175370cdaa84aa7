"""Log-in for researchers and admins, by django-allauth."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedSignup(DefaultAccountAdapter):
    """Nobody makes an account for themselves: an admin adds researchers (`/admin/`)."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
