"""Which pages may be shown in a frame of a marketplace, and by whom."""

from collections.abc import Sequence
from typing import TypeVar

from django.conf import settings
from django.http import HttpResponseBase

Response = TypeVar("Response", bound=HttpResponseBase)


def framed(response: Response, form_action: Sequence[str] = ()) -> Response:
    """Let the origins in TASK_FRAME_HOSTS frame this response; where that is empty, nobody may. May be called again.

    form_action: origins that forms on the page may post to, besides this site.
    """
    if hosts := list(settings.TASK_FRAME_HOSTS):
        response.xframe_options_exempt = True  # type: ignore[attr-defined]  # X-Frame-Options can name no origin
        response._csp_replace = {"frame-ancestors": hosts}  # type: ignore[attr-defined]  # read by django-csp
    if form_action:
        response._csp_update = {"form-action": list(form_action)}  # type: ignore[attr-defined]
    return response
