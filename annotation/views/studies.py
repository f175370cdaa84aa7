"""Pages of researchers: their studies."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse


@login_required
def studies(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@login_required
def study(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse()
