"""One limit on the size of what is sent to us, said in a sentence."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from annotation.problems import problem

Handler = Callable[[HttpRequest], HttpResponse]


def limit_body(get_response: Handler) -> Handler:
    """Refuse bodies over MAX_BODY_BYTES, and file uploads (multipart) over MAX_UPLOAD_BYTES, before reading them.

    A body without Content-Length is read as empty by Django, so the header is enough.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        limit = (
            settings.MAX_UPLOAD_BYTES
            if request.content_type == "multipart/form-data" and request.path.startswith("/studies/")
            else settings.MAX_BODY_BYTES
        )
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) <= limit:  # what is not a number, Django reads as 0
            return get_response(request)
        said = f"What you sent is larger than this server takes: the limit is {limit:,} bytes. Nothing was changed."
        if request.path.startswith("/api/"):
            return problem(413, "too_large", said)
        return HttpResponse(said, status=413, content_type="text/plain; charset=utf-8")

    return middleware
