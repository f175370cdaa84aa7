"""The worker site: find work, look at it, accept it, do it in its frame, see what it brought."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from csp.constants import SELF
from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_GET, require_POST

from marketplace import answer_keys, cents, faults, forms, ledger, questions, requirements, work
from marketplace.ledger import Kind
from marketplace.models import (
    HIT,
    Assignment,
    Bonus,
    Grant,
    HITType,
    QualificationRequest,
    QualificationType,
    Transfer,
    Worker,
)
from marketplace.requirements import Judged
from marketplace.views.people import for_worker, worker_at

SORTS = {"newest": "-newest", "reward": "-reward", "most": "-places"}
ROWS = 100
PREVIEW = timedelta(hours=1)  # how long a preview can be loaded; a task can until its deadline
FRAME = {"frame-src": ["https:", "http:", SELF]}


@dataclass(frozen=True)
class Group:
    """The HITs of one type that somebody can still take, as a worker sees them."""

    hit_type: HITType
    left: int
    needed: Sequence[Judged]

    @property
    def reward(self) -> str:
        return cents.to_text(self.hit_type.reward)

    @property
    def is_open(self) -> bool:
        return all(each.is_met for each in self.needed)

    @property
    def minutes(self) -> int:
        return -(-self.hit_type.assignment_seconds // 60)


@for_worker
@require_GET
def groups(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Everything that can be done, searched and sorted."""
    query, sort = request.GET.get("q", "").replace("\x00", "").strip()[:100], request.GET.get("sort", "newest")
    counted = (
        work.open_to(worker, at=faults.now())
        .values("hit_type")
        .annotate(places=Sum("left"), newest=Max("created_at"), reward=Max("hit_type__reward"))
    )
    if query:
        words = Q(hit_type__title__icontains=query) | Q(hit_type__description__icontains=query)
        counted = counted.filter(words | Q(hit_type__keywords__icontains=query) | Q(requester__name__icontains=query))
    rows = list(counted.order_by(SORTS.get(sort, "-newest"), "hit_type")[:ROWS])
    types = HITType.objects.select_related("requester").in_bulk([row["hit_type"] for row in rows])
    judged = requirements.judge_all(worker, [types[row["hit_type"]].requirements for row in rows])
    found = [
        Group(types[row["hit_type"]], row["places"], needed)
        for row, needed in zip(rows, judged, strict=True)
        if requirements.allow(needed, "DiscoverPreviewAndAccept")
    ]
    context = {
        "groups": found,
        "q": query,
        "sort": sort,
        "sorts": SORTS,
        "worker": worker,
        "held": _held(worker).count(),
    }
    return render(request, "marketplace/groups.html", context)


def _held(worker: Worker) -> QuerySet[Assignment]:
    return Assignment.objects.filter(worker=worker, state=Assignment.State.ACCEPTED).order_by("deadline")


def _next_of(worker: Worker, hit_type: HITType) -> HIT:
    """Raises Refused."""
    found = work.open_to(worker, at=faults.now()).filter(hit_type=hit_type)
    found = found.select_related("hit_type", "requester").order_by("pk")
    if (hit := found.first()) is None:
        raise work.Refused("Nothing of this is left for you right now.")
    return hit


@for_worker
@require_GET
def preview(request: HttpRequest, worker: Worker, type_id: str) -> HttpResponse:
    """A HIT as it looks before it is accepted; nobody is named to its page."""
    hit_type = get_object_or_404(HITType.objects.select_related("requester"), type_id=type_id)
    needed = requirements.judge(worker, hit_type.requirements)
    if not requirements.allow(needed, "DiscoverPreviewAndAccept"):
        raise work.NotThere("There is no such work for you.")
    hit = _next_of(worker, hit_type)
    may_see = requirements.allow(needed, "PreviewAndAccept")
    context = {
        "worker": worker,
        "group": Group(hit_type, 0, needed),
        "hit": hit,
        "frame": _frame(hit, questions.NOT_ACCEPTED, worker, faults.now() + PREVIEW) if may_see else None,
    }
    return _framing(render(request, "marketplace/preview.html", context))


def _frame(hit: HIT, assignment_id: str, worker: Worker, until: datetime) -> dict[str, Any]:
    """Where the frame points, and how high it is."""
    url = work.task_url(hit, assignment_id, worker, until=until)
    return {"url": url, "height": questions.read(hit.question).height}


def _framing(page: HttpResponse) -> HttpResponse:
    """The site's policy, with frames of other sites let in."""
    page._csp_update = FRAME  # type: ignore[attr-defined]  # read by django-csp's middleware
    return page


@for_worker
@require_POST
def accept(request: HttpRequest, worker: Worker, type_id: str) -> HttpResponse:
    """The next HIT of the group."""
    hit_type = get_object_or_404(HITType, type_id=type_id)
    held = work.accept(worker, _next_of(worker, hit_type).hit_id, at=faults.now())
    return redirect("marketplace:task", held.assignment_id)


@for_worker
@require_GET
def task(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """The task in its frame, with the time that is left."""
    held = work.mine(worker, assignment_id)
    if held.state != Assignment.State.ACCEPTED or held.deadline is None:
        return redirect("marketplace:done", assignment_id)
    group = Group(held.hit.hit_type, 0, ())
    left = max(0, int((held.deadline - faults.now()).total_seconds()))
    context = {
        "worker": worker,
        "held": held,
        "group": group,
        "seconds_left": left,
        "minutes_left": -(-left // 60),
        "frame": _frame(held.hit, assignment_id, worker, held.deadline),
    }
    return _framing(render(request, "marketplace/task.html", context))


@never_cache
@require_GET
def state(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """For the page around the frame: nothing while the work goes on, then where to go."""
    worker = worker_at(request)
    held = Assignment.objects.filter(assignment_id=assignment_id, worker=worker).first() if worker else None
    if held and held.state == Assignment.State.ACCEPTED and held.deadline and held.deadline > faults.now():
        return HttpResponse(status=204)
    return HttpResponse(headers={"HX-Redirect": reverse("marketplace:done", args=[assignment_id])})


@for_worker
@require_GET
def done(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """What became of it, and the next one."""
    held = (
        Assignment.objects.select_related("hit__hit_type", "hit__requester").filter(assignment_id=assignment_id).first()
    )
    if held is None:
        raise Http404
    is_mine = held.worker_id == worker.pk
    if is_mine and worker.takes_next and held.state != Assignment.State.ACCEPTED:
        after = work.open_to(worker, at=faults.now()).filter(hit_type=held.hit.hit_type).first()
        if after and requirements.allow(requirements.judge(worker, held.hit.hit_type.requirements), "Accept"):
            following = work.accept(worker, after.hit_id, at=faults.now())
            return redirect("marketplace:task", following.assignment_id)
    context = {"worker": worker, "held": held if is_mine else None, "group": Group(held.hit.hit_type, 0, ())}
    return render(request, "marketplace/done.html", context)


@for_worker
@require_POST
def give_back(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    work.give_back(worker, assignment_id, at=faults.now())
    return redirect("marketplace:groups")


# Where pages of the closed service submit to.
OLD_SUBMIT = re.compile(r"https?://(?:www|workersandbox)\.mturk\.com/mturk/externalSubmit")


@never_cache
@xframe_options_exempt
@require_GET
def frame(request: HttpRequest, hit_id: str, key: str) -> HttpResponse:
    """An HTMLQuestion or QuestionForm, for whom the page around it was made: the key says so, as no cookie can. The
    policy puts it into an origin of its own: no script in it reaches anybody's session, whatever that page allows.
    """
    try:
        asked = questions.read(work.framed(hit_id, key, at=faults.now()).question)
    except work.NotThere as refused:
        page = render(request, "marketplace/no_frame.html", {"said": refused.sentence}, status=404)
        page._csp_replace = {"frame-ancestors": [SELF]}  # type: ignore[attr-defined]
        return page
    submit = f"{work.submit_to()}/mturk/externalSubmit"
    if asked.kind == "html":
        content = OLD_SUBMIT.sub(submit, asked.text)
    elif asked.kind == "form":
        assignment_id = request.GET.get("assignmentId", questions.NOT_ACCEPTED)
        content = forms.render(asked.text, submit, assignment_id)
    else:
        raise Http404
    response = HttpResponse(content)
    response["Content-Security-Policy"] = f"sandbox allow-forms allow-scripts allow-popups; frame-ancestors {SELF}"
    response._csp_exempt = True  # type: ignore[attr-defined]  # this policy, not the site's
    return response


# --- What it brought ------------------------------------------------------------------------------


@for_worker
@require_GET
def dashboard(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Earnings, approvals, rejections with their reasons, and what an hour has brought."""
    rows = Assignment.objects.filter(worker=worker).exclude(state=Assignment.State.ACCEPTED)
    recent = rows.select_related("hit__hit_type", "hit__requester").order_by("-submitted_at")[:ROWS]
    states = dict(rows.values_list("state").annotate(n=Count("pk")).order_by())
    approved = rows.filter(state=Assignment.State.APPROVED)
    hours = (approved.aggregate(n=Sum(F("submitted_at") - F("accepted_at")))["n"] or timedelta()) / timedelta(hours=1)
    owed = ledger.account(Kind.OWED, worker=worker)
    earned = dict(Transfer.objects.filter(credit=owed).values_list("what").annotate(n=Sum("cents")).order_by())
    bonuses = (
        Bonus.objects.filter(worker=worker).select_related("assignment__hit__hit_type", "requester").order_by("-pk")
    )
    context = {
        "worker": worker,
        "rows": [(row, cents.to_text(row.hit.hit_type.reward)) for row in recent],
        "bonuses": [(bonus, cents.to_text(bonus.cents)) for bonus in bonuses[:ROWS]],
        "held": _held(worker).select_related("hit__hit_type"),
        "approved": states.get("Approved", 0),
        "rejected": states.get("Rejected", 0),
        "pending": states.get("Submitted", 0),
        "owed": cents.to_text(owed.balance),
        "earned": cents.to_text(sum(earned.values())),
        "hourly": cents.to_text(round(earned.get("reward", 0) / hours)) if hours > 0.01 else "",
    }
    return render(request, "marketplace/dashboard.html", context)


# --- Qualifications -------------------------------------------------------------------------------


@for_worker
def qualification(request: HttpRequest, worker: Worker, type_id: str) -> HttpResponse:
    """How to get a qualification: granted at once, asked for, or by its test, which is scored by its key."""
    found = get_object_or_404(QualificationType, qualification_type_id=type_id, deleted_at=None, is_active=True)
    grant = Grant.objects.filter(qualification_type=found, worker=worker).first()
    asked = QualificationRequest.objects.filter(qualification_type=found, worker=worker).order_by("-pk").first()
    said = _why_not(found, grant, asked)
    if request.method == "POST" and not said:
        _ask(found, worker, request.POST if found.test else QueryDict())
        return redirect("marketplace:qualification", type_id)
    context = {
        "worker": worker,
        "found": found,
        "grant": grant,
        "asked": asked,
        "said": said,
        "fields": forms.fields(found.test) if found.test else [],
    }
    return render(request, "marketplace/qualification.html", context)


def _why_not(found: QualificationType, grant: Grant | None, asked: QualificationRequest | None) -> str:
    if grant and not grant.is_revoked:
        return "You have this qualification."
    if asked and asked.state == QualificationRequest.State.PENDING:
        return "You have asked for it; the requester decides."
    if asked and found.retry_seconds is None and (found.test or asked.state == QualificationRequest.State.REJECTED):
        return "You have asked for it before, and it can be asked for once."
    if asked and asked.at + timedelta(seconds=found.retry_seconds or 0) > faults.now():
        return "You have asked for it lately. Please try again later."
    return ""


def _ask(found: QualificationType, worker: Worker, posted: QueryDict) -> None:
    """Granted at once where the type says so, or where its key scores the test; else the requester decides."""
    now, value = faults.now(), found.auto_value if found.auto_granted else None
    if found.test and found.answer_key:
        value = answer_keys.read_key(found.answer_key).value(forms.answers(found.test, posted))
    answer = questions.answers_xml(forms.as_sent(found.test, posted) if found.test else {})
    decided = QualificationRequest.State.PENDING if value is None else QualificationRequest.State.ACCEPTED
    QualificationRequest.objects.create(qualification_type=found, worker=worker, answer=answer, state=decided, at=now)
    if value is not None:
        Grant.objects.update_or_create(
            qualification_type=found, worker=worker, defaults={"value": value, "is_revoked": False, "at": now}
        )
