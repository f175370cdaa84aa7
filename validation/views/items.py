"""Pages of researchers: items and the evidence for each, agreement, labels."""

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from annotation import looks
from annotation.models import Study
from annotation.views.downloads import table
from annotation.views.figures import figure
from annotation.views.pages import for_team, show
from annotation.views.tables import ROWS, changed, headings, page_number
from validation import charts, meter
from validation.evidence import evidence_of
from validation.items import COLUMNS, ItemFilter, csv_rows, facets, in_order, matching, rows, stretch

ITEMS = "validation/items.html"
MORE = "more-rows"  # the id of what "show more" replaces


@for_team
@require_GET
def items(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The items asked for; `?format=csv` is all of them as a file."""
    form = ItemFilter(study, request.GET)
    if not form.is_valid():
        return show(request, study, ITEMS, {"form": form}, region="validation/_items.html", status=422)
    found, sort = matching(study, form.cleaned_data), form.cleaned_data["sort"]
    if request.GET.get("format") == "csv":
        return table(f"{study.slug}-items.csv", csv_rows(study, in_order(found, sort)))
    page = page_number(request.GET)
    shown = rows(study, stretch(found, sort, (page - 1) * ROWS, page * ROWS + 1))
    context = {
        "rows": shown[:ROWS],
        "columns": len(COLUMNS),
        "more": changed(request.GET, page=str(page + 1)) if len(shown) > ROWS else "",
    }
    if request.htmx.target == MORE:  # type: ignore[attr-defined]
        return show(request, study, ITEMS, context, region="validation/_item_rows.html")
    context |= {
        "form": form,
        "total": found.count(),
        "facets": facets(study, request.GET),
        "headings": headings(request.GET, COLUMNS, sort),
        "csv": changed(request.GET, format="csv"),
        "is_filtered": any(form.cleaned_data[name] for name in ("q", "state", "stage", "role", "label")),
    }
    return show(request, study, ITEMS, context, region="validation/_items.html")


@for_team
@require_GET
def evidence(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    item = get_object_or_404(study.items.select_related("resolution"), pk=pk)
    template = looks.item_templates(study.protocol_slug)
    context = {"evidence": evidence_of(study, item), "item_template": template, "payload": item.payload}
    return show(request, study, "validation/evidence.html", context)


@for_team
@require_GET
def agreement(request: HttpRequest, study: Study) -> HttpResponse:
    return figure(request, study, charts.agreement)


@for_team
@require_GET
def labels(request: HttpRequest, study: Study) -> HttpResponse:
    return figure(request, study, charts.labels)


@for_team
@require_GET
def thresholds(request: HttpRequest, study: Study) -> HttpResponse:
    if study.protocol.labelling is None:
        raise Http404
    return figure(request, study, charts.thresholds)


@for_team
@require_GET
def artefacts(request: HttpRequest, study: Study) -> HttpResponse:
    """Words and openings that give labels away."""
    if meter.stage_of(study.protocol) is None:
        raise Http404
    return figure(request, study, meter.meter)


@for_team
@require_GET
def diversity(request: HttpRequest, study: Study) -> HttpResponse:
    if meter.stage_of(study.protocol) is None:
        raise Http404
    return figure(request, study, meter.diversity)
