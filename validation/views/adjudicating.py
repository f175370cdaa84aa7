"""Pages of researchers: what people did not agree on, and deciding it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from annotation import looks, overview
from annotation.errors import Refusal
from annotation.models import Annotation, Event, Item, Study
from annotation.protocols.base import Choice
from annotation.views.forms import ConsoleForm
from annotation.views.pages import actor, for_team, may_change, show
from annotation.views.tables import page_number
from validation import adjudication
from validation.evidence import Said, say

PAGE = "validation/adjudicate.html"
ROWS = 10  # items on a page: each shows its texts


class RulingForm(ConsoleForm):
    why = forms.CharField(max_length=adjudication.MAX_WHY, label="Reason", help_text="It stays in the log.")


@dataclass(frozen=True)
class Case:
    """An item to decide, with what was said about it, by whom; `told` is the last decision, if there was one."""

    item: Item
    answers: Sequence[tuple[str, Said]]
    form: RulingForm
    ruling: str = ""
    told: Event | None = None
    said: str = ""


@for_team
@require_http_methods(["GET", "POST"])
def adjudicate(request: HttpRequest, study: Study) -> HttpResponse:
    """Those that wait, and with `?decided` those that were decided; posting decides one."""
    try:
        rule = adjudication.rule_of(study)
    except Refusal as refusal:
        return show(request, study, "validation/refused.html", {"said": refusal.sentence}, status=404)
    if request.method == "GET":
        return _page(request, study, rule.choices)
    if not may_change(request):
        return show(request, study, "validation/refused.html", {"said": "Only researchers may do this."}, status=403)
    form, ref = RulingForm(request.POST), request.POST.get("item", "")
    said = ""
    if form.is_valid():
        try:
            adjudication.adjudicate(
                study,
                ref,
                request.POST.get("value", ""),
                why=form.cleaned_data["why"],
                by=actor(request),
                at=timezone.now(),
                believed=request.POST.get("believed", ""),
            )
            return redirect(reverse("validation:adjudicate", args=[study.slug]) + _kept(request))
        except Refusal as refusal:
            said = refusal.sentence
    return _page(request, study, rule.choices, form, ref, said, status=422)


def _kept(request: HttpRequest) -> str:
    return "?decided" if "decided" in request.GET else ""


def _page(
    request: HttpRequest,
    study: Study,
    choices: Sequence[Choice],
    form: RulingForm | None = None,
    ref: str = "",
    said: str = "",
    status: int = 200,
) -> HttpResponse:
    """form, ref, said: what was posted about one item, and why it was not done."""
    is_decided, page = "decided" in request.GET, page_number(request.GET)
    items = adjudication.decided(study) if is_decided else adjudication.contested(study)
    shown = list(items.select_related("resolution")[(page - 1) * ROWS : page * ROWS + 1])
    told = adjudication.rulings(study, study.items.filter(pk__in=[i.pk for i in shown])) if is_decided else {}
    words = {choice.value: choice.label for choice in choices}
    answers = _answers(study, shown[:ROWS])
    cases = [
        Case(
            item,
            answers[item.pk],
            form if form and item.ref == ref else RulingForm(prefix=None, auto_id=f"id_{item.pk}_%s"),
            words.get(item.ruling, ""),
            told.get(item.pk),
            said if item.ref == ref else "",
        )
        for item in shown[:ROWS]
    ]
    context = {
        "cases": cases,
        "choices": choices,
        "is_decided": is_decided,
        "waiting": adjudication.contested(study).count(),
        "decided": adjudication.decided(study).count(),
        "said": said if said and ref not in [case.item.ref for case in cases] else "",
        "more": f"?{'decided&' if is_decided else ''}page={page + 1}" if len(shown) > ROWS else "",
        "item_template": looks.item_templates(study.protocol_slug),
    }
    return show(request, study, PAGE, context, status=status)


def _answers(study: Study, items: Sequence[Item]) -> dict[int, list[tuple[str, Said]]]:
    """Item id -> (running code, what they said), of the answers that count, in the order given."""
    counted = Annotation.objects.filter(item__in=items, uncounted="").order_by("submitted_at", "pk")
    rows, payloads = list(counted), {item.pk: item.payload for item in items}
    codes = overview.running_codes(study, [row.worker_id for row in rows])
    found: dict[int, list[tuple[str, Said]]] = defaultdict(list)
    for row in rows:
        stage = study.protocol.stage(row.stage).fitted(payloads[row.item_id])
        found[row.item_id].append((codes[row.worker_id], say(stage, row.answer)))
    return found


@for_team
@require_GET
def waiting(request: HttpRequest, study: Study) -> HttpResponse:
    """How many items wait, for other pages to borrow."""
    context = {"waiting": adjudication.contested(study).count()}
    return show(request, study, "validation/contested.html", context, region="validation/_contested.html")
