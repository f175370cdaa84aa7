"""Pages of workers. The signed token in the address is who they are: no cookie is read or set."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from math import ceil
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation import (
    fitting,
    leasing,
    links,
    looks,
    qualification,
    queries,
    screen,
    signs,
    submission,
    way_in,
    wordings,
)
from annotation.errors import Closed, Invalid, NotHere, Refusal
from annotation.forms import AnswerForm, read_fields, storable
from annotation.links import Scope
from annotation.models import Assignment, Attempt, Feedback, Item, Qualification, Sitting, Study, Worker
from annotation.models.sittings import State
from annotation.protocols.base import Fields, Problem, Stage, text_problem
from annotation.throttling import PerJoiner
from annotation.views.framing import framed
from annotation.views.rendering import render_region
from annotation.way_in import Step

IN = Qualification.State
CLOSED = (State.SUBMITTED, State.RETURNED, State.WITHDRAWN)
PAGES = {Step.CONSENT: "annotation:consent", Step.INSTRUCTIONS: "annotation:instructions_first"}
WAITS = (Step.REVIEW, Step.FULL, Step.FAILED)
USUAL_HINT = "Read the text and the instructions again."
WORK, ITEM = "annotation/work/work.html", "annotation/work/_item.html"
View = Callable[..., HttpResponse]


def refusing(view: View) -> View:
    """Turn refusals into a page with a sentence. Nothing ambient authenticates here, so there is nothing to forge."""

    @csrf_exempt
    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Refusal as refusal:
            return render(request, "annotation/work/refused.html", {"said": refusal.sentence}, status=refusal.status)

    return wrapped


def for_worker(view: View) -> View:
    """Hand the view the worker whom the link names; with a scoped link, where its scope opens the page."""

    @refusing
    @wraps(view)
    def wrapped(request: HttpRequest, token: str, **kwargs: Any) -> HttpResponse:
        scope, now = None, timezone.now()
        if links.is_scoped(token):
            scope = links.scope_of(token, at=now)
            if not _is_open(scope, kwargs):
                raise NotHere
        request.opens_only = scope  # type: ignore[attr-defined]  # templates ask too
        worker = scope.worker if scope else links.worker_of(token, links.LINK, at=now)
        return view(request, token, worker, **kwargs)

    @wraps(wrapped)
    def shown(request: HttpRequest, token: str, **kwargs: Any) -> HttpResponse:
        response = wrapped(request, token, **kwargs)
        return framed(response) if links.is_scoped(token) else response

    return shown


def _is_open(scope: Scope, asked: Mapping[str, object]) -> bool:
    """asked: the parts of the page's address."""
    here = {"slug": scope.study, "stage": scope.stage, "pk": scope.sitting}
    return all(asked.get(name, value) == value for name, value in here.items())


def scope_of(request: HttpRequest) -> Scope | None:
    """The one place that the link opens, or None for a whole one, which proves who the worker is."""
    return getattr(request, "opens_only", None)


def onward(request: HttpRequest, to: str, *args: object) -> HttpResponse:
    """Leave for another page of the worker's own; with a scoped link for where that leads."""
    scope = scope_of(request)
    return _go(request, scope.then if scope else reverse(to, args=args))


def beyond_scopes(view: View) -> View:
    """For pages that no scope opens: a scoped link leads on, and nothing else happens."""

    @wraps(view)
    def wrapped(request: HttpRequest, token: str, worker: Worker, **kwargs: Any) -> HttpResponse:
        if scope_of(request):
            return onward(request, "annotation:home", token)
        return view(request, token, worker, **kwargs)

    return wrapped


@refusing
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """The open enrolment link: say what it is about, and on request make a worker with a link of their own."""
    study = links.study_of(token)
    if request.method == "GET":
        return render(request, "annotation/work/join.html", {"study": study})
    if not PerJoiner().allow_request(request, None):  # type: ignore[arg-type]  # reads the address alone
        said = "Too many people have joined from your network lately. Please try again in an hour."
        return render(request, "annotation/work/refused.html", {"said": said}, status=429)
    now = timezone.now()
    link = links.personal_link(qualification.join(study, at=now), at=now)
    return render(request, "annotation/work/joined.html", {"study": study, "link": link})


@for_worker
@beyond_scopes
@require_GET
def home(request: HttpRequest, token: str, worker: Worker) -> HttpResponse:
    """Everything this worker may do, and has done."""
    return show_home(request, token, worker)


def show_home(request: HttpRequest, token: str, worker: Worker, said: str = "", status: int = 200) -> HttpResponse:
    places = queries.places_of(worker)
    studies = {place.study.pk: place.study for place in places if place.step != Step.WITHDRAWN}
    noted = [study for study in studies.values() if study.options.get("signs") == "on"]
    context = {"token": token, "places": places, "noted": noted, "said": said}
    return render(request, "annotation/work/home.html", context, status=status)


@for_worker
@beyond_scopes
@require_POST
def start(request: HttpRequest, token: str, worker: Worker, slug: str, stage: str) -> HttpResponse:
    """Take a sitting, or go on with the open one where it was left."""
    study = get_object_or_404(Study, slug=slug, enrolments__worker=worker)
    get_object_or_404(Qualification, enrolment__worker=worker, enrolment__study=study, stage=stage)
    step, now = way_in.step_of(worker, study, stage), timezone.now()
    if step in PAGES:
        return redirect(PAGES[step], token, slug, stage)
    if step in WAITS:  # the page says for what
        return show_home(request, token, worker, status=409)
    try:
        if step in (Step.PRACTICE, Step.TEST):
            sitting = way_in.open_sitting(worker, study, stage, step, at=now)
        else:
            sitting, _ = leasing.lease(worker, study, stage, at=now)
    except Refusal as refusal:
        return show_home(request, token, worker, refusal.sentence, refusal.status)
    return redirect("annotation:work", token, sitting.pk, number_to_do(sitting))


def number_to_do(sitting: Sitting) -> int:
    """The first item of the sitting that is not done, or the last."""
    assignments = _assignments(sitting)
    asked, unlearnt = fitting.stages_of(_stage(sitting), assignments), way_in.unlearnt(assignments)
    states = [screen.state_of(asked[a.pk], a, a.pk not in unlearnt) for a in assignments]
    return next((n for n, state in enumerate(states, 1) if state != "done"), len(states))


@for_worker
@require_http_methods(["GET", "POST"])
def item(request: HttpRequest, token: str, worker: Worker, pk: int, number: int) -> HttpResponse:
    """One item. Posting keeps what was written and goes on, back, or to the item asked for."""
    sitting, assignments = _open(worker, pk)
    if sitting.state in CLOSED:
        return onward(request, "annotation:done", token, pk)
    number = min(max(number, 1), len(assignments))
    assignment = assignments[number - 1]
    stage = fitting.stage_of(_stage(sitting), assignment)
    if request.method == "GET":
        _note_opened(assignment, timezone.now())
        problems = _problems(stage, assignment) if "check" in request.GET else None
        return _page(request, token, sitting, assignments, number, problems)
    try:
        unstorable = _keep(request, stage, assignment)
    except Closed:
        if scope_of(request):  # handed in beside this, as by a double click
            return onward(request, "annotation:done", token, pk)
        raise
    if unstorable:
        return _page(request, token, sitting, assignments, number, unstorable, 422)
    go = request.POST.get("go", "next")
    if go != "next":
        target = number - 1 if go == "back" else int(go) if go.isdecimal() and len(go) < 5 else number
        return _turn(request, token, sitting, assignments, min(max(target, 1), len(assignments)))
    problems = _problems(stage, assignment)
    if any(p.blocking for p in problems):
        return _page(request, token, sitting, assignments, number, problems, 422)
    if way_in.unlearnt([assignment]):
        return _practise(request, token, sitting, assignments, number)
    if number < len(assignments):
        return _turn(request, token, sitting, assignments, number + 1)
    return _submit(request, token, sitting, assignments)


def _practise(
    request: HttpRequest, token: str, sitting: Sitting, assignments: list[Assignment], number: int
) -> HttpResponse:
    """Say whether the answer is right, and why; only a right one leads on."""
    assignment = assignments[number - 1]
    stage = fitting.stage_of(_stage(sitting), assignment)
    form = AnswerForm.of_fields(stage, assignment.item.payload, assignment.draft or {})
    is_right = way_in.attempt_practice(assignment, form.answer, at=timezone.now())
    why = str(assignment.item.payload.get("meta", {}).get("explanation", ""))
    hint = stage.hint(assignment.item.payload, assignment.item.gold or {}, form.answer) or USUAL_HINT
    feedback: dict[str, object] = {"is_right": is_right, "hint": "" if is_right else hint}
    if is_right:
        feedback |= {"why": why, "known": screen.known(stage, assignment.item.gold or {})}
    return _page(request, token, sitting, assignments, number, feedback=feedback, status=200 if is_right else 422)


@for_worker
@require_POST
def draft(request: HttpRequest, token: str, worker: Worker, pk: int, number: int) -> HttpResponse:
    """Keep what is being written; answer with what there is to say about it, for the page to show under its fields."""
    sitting, assignments = _open(worker, pk)
    assignment = assignments[min(max(number, 1), len(assignments)) - 1]
    stage = fitting.stage_of(_stage(sitting), assignment)
    problems = _keep(request, stage, assignment)
    said = problems or screen.while_writing(_problems(stage, assignment), assignment.draft or {})
    body = {
        "saved_at": None if problems else assignment.draft_at,
        "minutes_left": _minutes_left(sitting),
        "problems": [{"field": p.field, "text": p.text, "blocking": p.blocking} for p in said],
        "differences": screen.differences(stage, assignment.draft or {}),
    }
    return JsonResponse(body, status=422 if problems else 200)


@for_worker
@require_POST
def submit(request: HttpRequest, token: str, worker: Worker, pk: int) -> HttpResponse:
    """Hand the sitting in, from the drafts."""
    sitting, assignments = _open(worker, pk)
    return _submit(request, token, sitting, assignments)


@for_worker
@beyond_scopes
@require_http_methods(["GET", "POST"])
def give_back(request: HttpRequest, token: str, worker: Worker, pk: int) -> HttpResponse:
    """Ask first: what is returned does not come again."""
    sitting, assignments = _open(worker, pk)
    if request.method == "GET":
        context = {"token": token, "sitting": sitting, "count": len(assignments)}
        return render(request, "annotation/work/give_back.html", context)
    leasing.give_back(sitting, at=timezone.now())
    return redirect("annotation:done", token, pk)


@for_worker
@beyond_scopes
@require_GET
def done(request: HttpRequest, token: str, worker: Worker, pk: int) -> HttpResponse:
    """What happens now, and the next sitting."""
    sitting, assignments = _open(worker, pk)
    if sitting.state not in CLOSED:
        return redirect("annotation:work", token, pk, 1)
    return _done(request, token, sitting, assignments)


def _done(
    request: HttpRequest, token: str, sitting: Sitting, assignments: list[Assignment], said: str = "", status: int = 200
) -> HttpResponse:
    late = sum(a.state == State.SUBMITTED and a.seat is None and a.role == Item.Role.WORK for a in assignments)
    context = {"token": token, "sitting": sitting, "count": len(assignments), "late": late, "said": said}
    context["afterwards"] = _stage(sitting).afterwards
    if _may_say(sitting):
        context["exit_form"] = sitting.study.protocol.exit_form
    if sitting.purpose == Sitting.Purpose.TEST:
        attempt = Attempt.objects.select_related("qualification").filter(sitting=sitting).first()
        context |= {"attempt": attempt, "is_through": attempt and attempt.qualification.state == IN.QUALIFIED}
    return render(request, "annotation/work/done.html", context, status=status)


def _may_say(sitting: Sitting) -> bool:
    """Whether the exit form is open: at the end of work, once."""
    is_over = sitting.purpose == Sitting.Purpose.WORK and sitting.state == State.SUBMITTED
    return is_over and bool(sitting.study.protocol.exit_form) and not Feedback.objects.filter(sitting=sitting).exists()


@for_worker
@beyond_scopes
@require_POST
def feedback(request: HttpRequest, token: str, worker: Worker, pk: int) -> HttpResponse:
    """What somebody wants to say about a sitting; everything is optional, and the first time counts."""
    sitting, assignments = _open(worker, pk)
    answers: dict[str, str] = {}
    for question in sitting.study.protocol.exit_form:
        given = request.POST.get(f"exit-{question.name}", "").strip()
        if problem := text_problem(given):
            return _done(request, token, sitting, assignments, problem, 422)
        if given and (not question.choices or given in {c.value for c in question.choices}):
            answers[question.name] = given
    if answers and _may_say(sitting):
        made = {"study": sitting.study, "answers": answers, "at": timezone.now()}
        Feedback.objects.get_or_create(sitting=sitting, defaults=made)
    return redirect("annotation:done", token, pk)


@for_worker
@require_GET
def instructions(request: HttpRequest, token: str, worker: Worker, pk: int) -> HttpResponse:
    """The full instructions as a page of their own, for whoever has no dialog."""
    sitting, _ = _open(worker, pk)
    if scope_of(request) and sitting.state in CLOSED:
        return onward(request, "annotation:done", token, pk)
    context = {
        "token": token,
        "sitting": sitting,
        "stage": _stage(sitting),
        "instructions": _instructions(sitting),
    }
    return render(request, "annotation/work/instructions.html", context)


# --- What the views share -----------------------------------------------------------------------


def _open(worker: Worker, pk: int) -> tuple[Sitting, list[Assignment]]:
    """The worker's own sitting with its assignments and items, in two queries; anybody else's is 404."""
    sitting = get_object_or_404(Sitting.objects.select_related("study"), pk=pk, worker=worker)
    sitting.worker = worker
    return sitting, _assignments(sitting)


def _stage(sitting: Sitting) -> Stage:
    return sitting.study.protocol.stage(sitting.stage)


def _assignments(sitting: Sitting) -> list[Assignment]:
    assignments = sitting.bundle
    for assignment in assignments:
        assignment.sitting = sitting
    return assignments


def _note_opened(assignment: Assignment, at: datetime) -> None:
    if assignment.first_opened_at is None:
        Assignment.objects.filter(pk=assignment.pk, first_opened_at=None).update(first_opened_at=at)


def _keep(request: HttpRequest, stage: Stage, assignment: Assignment) -> list[Problem]:
    """Save the posted fields as the draft; the problems of what no database can hold, and then nothing is saved."""
    fields = read_fields(stage, request.POST)
    seconds = request.POST.get("active_seconds", "")
    if problems := storable(fields):
        return problems
    page, edit = request.POST.get("page", "")[:16], request.POST.get("edit", "")
    submission.save_draft(
        assignment,
        fields,
        active_seconds=_count(seconds),
        at=timezone.now(),
        page=page if page.isalnum() else "",
        edit=_count(edit),
        noticed=signs.read(request.POST),
    )
    return []


def _count(text: str) -> int:
    """A small number that the page counted, or 0."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 8 else 0


def _problems(stage: Stage, assignment: Assignment) -> list[Problem]:
    problems = AnswerForm.of_fields(stage, assignment.item.payload, assignment.draft or {}).problems
    sitting = assignment.sitting
    if stage.sentences is None or sitting.purpose != Sitting.Purpose.WORK:
        return problems
    given = {a.pk: stage.sentences(stage.compose(a.draft)) for a in sitting.bundle if a.draft}
    mine = given.pop(assignment.pk, [])
    return problems + wordings.problems_of(
        sitting.study, assignment.worker_id, assignment.item_id, mine, given.values()
    )


def _submit(request: HttpRequest, token: str, sitting: Sitting, assignments: list[Assignment]) -> HttpResponse:
    unlearnt = way_in.unlearnt(assignments)
    if left := [n for n, a in enumerate(assignments, 1) if a.pk in unlearnt]:
        return _go(request, reverse("annotation:work", args=[token, sitting.pk, left[0]]))
    try:
        submission.submit(sitting, {}, at=timezone.now(), confirmed=scope_of(request) is None)
    except Invalid as refusal:
        number = next(n for n, a in enumerate(assignments, 1) if a.pk in refusal.problems)
        return _go(request, reverse("annotation:work", args=[token, sitting.pk, number]) + "?check=1")
    except Closed:
        if not scope_of(request) or sitting.state not in CLOSED:
            raise
    return onward(request, "annotation:done", token, sitting.pk)


def _go(request: HttpRequest, url: str) -> HttpResponse:
    """Leave for another page, with htmx too."""
    return HttpResponse(headers={"HX-Redirect": url}) if request.htmx else HttpResponseRedirect(url)  # type: ignore[attr-defined]


def _turn(
    request: HttpRequest, token: str, sitting: Sitting, assignments: list[Assignment], number: int
) -> HttpResponse:
    """Show another item: htmx swaps it in under its own address, everyone else is sent there."""
    url = reverse("annotation:work", args=[token, sitting.pk, number])
    if not request.htmx:  # type: ignore[attr-defined]
        return HttpResponseRedirect(url)
    _note_opened(assignments[number - 1], timezone.now())
    response = _page(request, token, sitting, assignments, number)
    response["HX-Push-Url"] = url
    return response


def _page(
    request: HttpRequest,
    token: str,
    sitting: Sitting,
    assignments: list[Assignment],
    number: int,
    problems: list[Problem] | None = None,
    status: int = 200,
    feedback: Mapping[str, object] | None = None,
) -> HttpResponse:
    """problems: what to say; None says only what concerns something already written. feedback: of a practice item."""
    assignment = assignments[number - 1]
    asked = fitting.stages_of(_stage(sitting), assignments)
    stage = asked[assignment.pk]
    fields: Fields = assignment.draft or {}
    if problems is None:
        problems = screen.while_writing(_problems(stage, assignment), fields)
    cards = screen.cards(assignment, sitting.study.protocol.stage(stage.judges[0])) if stage.compares else []
    context = {
        "token": token,
        "sitting": sitting,
        "study": sitting.study,
        "stage": stage,
        "assignment": assignment,
        "payload": {**fitting.seen(stage, assignment), **(stage.shows or {})},
        "item_template": looks.item_templates(sitting.study.protocol_slug),
        "styles": looks.styles(stage),
        "instructions": _instructions(sitting),
        "number": number,
        "total": len(assignments),
        "dots": screen.dots(asked, assignments, number, way_in.unlearnt(assignments)),
        "steps": screen.steps(stage, fields, problems, cards),
        "cards": cards,
        "feedback": feedback,
        "signs": _signs(assignment, stage) if sitting.study.options.get("signs") == "on" else [],
        "blocked": sum(p.blocking for p in problems) if status == 422 or "check" in request.GET else 0,
        "minutes_left": _minutes_left(sitting),
        "pay": float(sitting.study.options.get("pay_per_sitting", 0)),
        "currency": sitting.study.options.get("currency", ""),
    }
    return render_region(request, WORK, ITEM, context, status)


def _signs(assignment: Assignment, stage: Stage) -> list[tuple[str, int]]:
    """The page counts on from here."""
    names = signs.ALL if any(q.scale for q in stage.questions) else signs.NAMES
    return [(name, assignment.signs.get(name, 0)) for name in names]


def _instructions(sitting: Sitting) -> list[str]:
    return looks.instructions_templates(sitting.study.protocol_slug, sitting.stage)


def _minutes_left(sitting: Sitting) -> int:
    """0 once the lease has lapsed: the answers still count while their seats are free."""
    if sitting.state != State.LEASED:
        return 0
    return max(0, ceil((sitting.leased_until - timezone.now()).total_seconds() / 60))
