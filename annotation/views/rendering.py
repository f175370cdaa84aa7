"""A page includes its regions; htmx gets the region alone, everyone else the page."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def render_region(
    request: HttpRequest, page: str, region: str, context: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """`region` is a template named with a leading underscore beside `page`."""
    is_htmx = getattr(request, "htmx", False) and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    return render(request, region if is_htmx else page, context, status=status)
