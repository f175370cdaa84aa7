"""A picture as a region that refreshes itself, as a page, and as a file."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from annotation.charts import Chart
from annotation.models import Study
from annotation.views.downloads import attachment
from annotation.views.pages import show, stamp, unchanged

FILES = {"csv": "text/csv; charset=utf-8", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Figure:
    """A chart on a page. `url`: where it refreshes itself; `stamp`: the state of the study that it shows."""

    chart: Chart
    url: str
    stamp: str


def figure(request: HttpRequest, study: Study, draw: Callable[[Study], Chart]) -> HttpResponse:
    """`?format=csv` or `svg` is the file."""
    kind = request.GET.get("format", "")
    if kind in FILES:
        chart = draw(study)
        return attachment(f"{study.slug}-{chart.name}.{kind}", getattr(chart, kind), FILES[kind])
    if up_to_date := unchanged(request, study):
        return up_to_date
    stamped = stamp(study)  # before drawing: what happens meanwhile is drawn the next time
    context = {"figure": Figure(draw(study), request.path, stamped)}
    return show(request, study, "annotation/console/figure.html", context, region="annotation/console/_figure.html")
