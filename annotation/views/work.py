"""Pages of workers."""

from django.http import HttpRequest, HttpResponse


def join(request: HttpRequest, token: str) -> HttpResponse:
    return HttpResponse()


home = start = item = draft = instructions = submit = give_back = done = join
