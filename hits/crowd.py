"""People who do not exist, at a marketplace that does: they find HITs, work in the frame, and submit, over HTTP alone.

They see what a browser without cookies sees: the worker's API, and pages whose forms they read and fill in. What they
think is the protocol's `imagine`; what passes between two of their actions is simulated time.
"""

import json
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException
from random import Random
from typing import Any
from typing import Protocol as Interface
from urllib.parse import urlencode, urljoin, urlsplit

from annotation.protocols import Protocol
from hits.cast import CAREFUL, MINUTE, READING, Person, seconds_of

TIMEOUT = 60
HOPS = 10  # redirects in a row
TRIES = 5  # at one item that is refused
FORM = "application/x-www-form-urlencoded"


class Lost(Exception):
    """A page was not what a person could go on from; the rehearsal has found a fault."""


# --- Pages -----------------------------------------------------------------------------------------


@dataclass
class Control:
    """One input, textarea or button with its value; is_on: of boxes, whether it is ticked."""

    name: str
    kind: str
    value: str
    is_on: bool = True


@dataclass
class Form:
    """A form as it stands on a page."""

    attributes: Mapping[str, str]
    controls: list[Control] = field(default_factory=list)

    def has(self, name: str) -> bool:
        return any(control.name == name for control in self.controls)

    def filled(self, given: Mapping[str, str]) -> dict[str, str]:
        """What a browser would send: what stands there, with `given` put in. Raises Lost where there is no place."""
        sent: dict[str, str] = {}
        for control in self.controls:
            if control.kind not in ("submit", "button") and control.is_on:
                sent[control.name] = control.value
        for name, value in given.items():
            places = [c for c in self.controls if c.name == name and c.kind not in ("submit", "button")]
            boxes = [c for c in places if c.kind in ("radio", "checkbox")]
            if not places or (boxes and value not in {c.value for c in boxes}):
                raise Lost(f"The form has no place for {name}={value!r}.")
            sent[name] = value
            if f"{name}.typed" in sent:  # of a slider: what was typed before would go first
                sent[f"{name}.typed"] = ""
        return sent

    @property
    def numbered(self) -> int:
        """How many items the sitting has: each has a button."""
        return sum(c.kind == "submit" and c.name == "go" and c.value.isdecimal() for c in self.controls)


class _Reader(HTMLParser):
    """Picks the forms out of a page, and what it says in alerts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.said: list[str] = []
        self._form: Form | None = None
        self._text: Control | None = None
        self._alert = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self._alert and tag not in VOID:
            self._alert += 1
        elif given.get("role") == "alert":
            self._alert = 1
            self.said.append("")
        if tag == "form":
            self._form = Form(given)
            self.forms.append(self._form)
        elif self._form and tag in ("input", "textarea", "button") and "disabled" not in given:
            kind = given.get("type", {"input": "text", "textarea": "textarea", "button": "submit"}[tag])
            value = given.get("value", "on" if kind in ("radio", "checkbox") else "")
            is_on = kind not in ("radio", "checkbox") or "checked" in given
            control = Control(given.get("name", ""), kind, value, is_on)
            if control.name:
                self._form.controls.append(control)
            self._text = control if tag == "textarea" else None

    def handle_endtag(self, tag: str) -> None:
        if self._alert and tag not in VOID:
            self._alert -= 1
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.value += data
        if self._alert:
            self.said[-1] += data


VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass(frozen=True)
class Page:
    """What the frame shows. said: the texts of alerts."""

    url: str
    status: int
    forms: Sequence[Form]
    said: Sequence[str]

    @property
    def item(self) -> Form | None:
        """The form of an item, where there is one."""
        return next((form for form in self.forms if form.attributes.get("id") == "item"), None)

    @property
    def farewell(self) -> Form | None:
        """The form that leaves for the marketplace."""
        return next((form for form in self.forms if form.has("assignmentId")), None)

    @property
    def reading(self) -> tuple[str, Form] | None:
        """Which page is only to be read and agreed to, and its form."""
        for form in self.forms:
            if form.attributes.get("method", "").lower() == "post":
                return ("consent" if form.has("version") else "instructions"), form
        return None


def read_page(url: str, status: int, html: str) -> Page:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return Page(url, status, reader.forms, [" ".join(text.split()) for text in reader.said])


class Site:
    """The one server there is: a connection that is kept, no cookies, and nothing that leads elsewhere."""

    def __init__(self, address: str) -> None:
        self.host = urlsplit(address).netloc
        self.address = address
        self._connection = HTTPConnection(self.host, timeout=TIMEOUT)

    def close(self) -> None:
        self._connection.close()

    def api(self, method: str, path: str, token: str) -> dict[str, Any]:
        """The worker's API. A refusal comes as its problem, with `status`."""
        headers = {"Authorization": f"Token {token}", "Content-Length": "0"}
        status, _, body = self._ask(method, f"{self.address}/marketplace/api/worker/{path}", headers)
        found = dict(json.loads(body))
        if status >= 500 or (status >= 400 and "detail" not in found):
            raise Lost(f"The marketplace answered {status} to {method} {path}.")
        return found

    def get(self, url: str) -> Page:
        return self._page("GET", url, {}, None)

    def post(self, page: Page, form: Form, given: Mapping[str, str] | None = None, go: str = "") -> Page:
        """Send a form of a page, by htmx where the form says so. go: the value of the button that is pressed."""
        sent = form.filled(given or {}) | ({"go": go} if go else {})
        url = urljoin(page.url, form.attributes.get("action") or page.url)
        headers = {"Content-Type": FORM} | ({"HX-Request": "true"} if "hx-post" in form.attributes else {})
        return self._page("POST", url, headers, urlencode(sent).encode())

    def _page(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Page:
        for _ in range(HOPS):
            status, to, html = self._ask(method, url, headers, body)
            if not to:
                break
            method, url, headers, body = "GET", urljoin(url, to), {}, None
        if status >= 500 or to:
            raise Lost(f"{method} {urlsplit(url).path} was answered with {status}.")
        return read_page(url, status, html)

    def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> tuple[int, str, str]:
        """Status, where it leads, and the body."""
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.netloc != self.host:
            raise Lost(f"Something led away from {self.host}, to {parts.netloc}.")
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            self._connection.request(method, path, body=body, headers=dict(headers))
            with closing(self._connection.getresponse()) as answer:
                read = answer.read().decode()
                return answer.status, answer.headers.get("Location") or answer.headers.get("HX-Redirect") or "", read
        except (OSError, HTTPException) as error:
            raise Lost(f"The server does not answer: {error}") from error


# --- People ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What an assignment is about, as only somebody knows who can look into the database. shown: answers to judge."""

    sitting: int
    purpose: str
    stage: str
    payload: Mapping[str, Any]
    gold: Mapping[str, Any] | None
    shown: Sequence[Mapping[str, Any]]


class World(Interface):
    """What the crowd is told beside the pages."""

    protocol: Protocol

    def task(self, assignment: int) -> Task: ...

    def let_pass(self, sitting: int, seconds: float) -> None:
        """So much simulated time has gone by since the sitting was opened."""
        ...


class Outcome(StrEnum):
    """How a visit ended."""

    SUBMITTED = "submitted"
    NOTHING = "nothing"  # the HIT was taken by somebody else, or may not be taken
    STOPPED = "stopped"  # the frame said that it cannot go on; the HIT was given back
    RETURNED = "returned"  # they left in the middle, and gave the HIT back
    VANISHED = "vanished"  # they left in the middle, and said nothing


@dataclass(frozen=True)
class Visited:
    """sitting: the one that was left in the middle. assignment: at the marketplace."""

    outcome: Outcome
    assignment: str = ""
    sitting: int | None = None
    said: str = ""


@dataclass
class Worker:
    """A person with an account at the marketplace.

    done: sittings handed in, and by day. refusals: in a row. first: by stage, of those who repeat themselves.
    """

    person: Person
    worker_id: str
    token: str
    rng: Random
    done: int = 0
    on: Counter[int] = field(default_factory=Counter)
    refusals: int = 0
    is_gone: bool = False
    first: dict[str, dict[str, Any]] = field(default_factory=dict)

    def listed(self, site: Site) -> list[str]:
        """HITs (ids) that they could take now, newest first."""
        return [hit["hit_id"] for hit in site.api("GET", "hits/", self.token)["hits"] if hit["qualified"]]

    def visit(self, site: Site, hit_id: str, world: World) -> Generator[float, None, Visited]:
        """Take a HIT and go through it to its end; yields the seconds that pass before the next step.

        Between two steps others act: what is on the screen is leased, and its answers are written when time has passed.
        """
        held = site.api("POST", f"hits/{hit_id}/accept/", self.token)
        if "assignment_id" not in held:
            return Visited(Outcome.NOTHING, said=held["detail"])
        assignment = held["assignment_id"]
        page = site.get(held["task_url"])
        while True:
            if page.farewell:
                return self._submit(site, page, page.farewell, assignment)
            if page.item:
                task = world.task(int(page.item.attributes["data-assignment"]))
                seconds = seconds_of(page.item.numbered, self.person, self.rng)
                if self._leaves(task):
                    yield sum(seconds) / 2
                    return self._leave(site, page, world, task, assignment)
                yield sum(seconds)
                world.let_pass(task.sitting, sum(seconds) + MINUTE)
                page = self._answer_all(site, page, world, task.sitting, seconds)
            elif page.reading and page.status < 400:
                what, form = page.reading
                yield READING[what]
                page = site.post(page, form)
            else:
                site.api("POST", f"assignments/{assignment}/return/", self.token)
                return Visited(Outcome.STOPPED, assignment, said=" ".join(page.said))

    def _submit(self, site: Site, page: Page, form: Form, assignment: str) -> Visited:
        after = site.post(page, form)
        if after.status >= 400:
            return Visited(Outcome.STOPPED, assignment, said=" ".join(after.said))
        self.done += 1
        return Visited(Outcome.SUBMITTED, assignment)

    def _leaves(self, task: Task) -> bool:
        after = self.person.leaves_after
        return after is not None and self.done >= after and task.purpose == "work"

    def _leave(self, site: Site, page: Page, world: World, task: Task, assignment: str) -> Visited:
        """In the middle, with something written."""
        self.is_gone = True
        world.let_pass(task.sitting, MINUTE)
        assert page.item is not None
        site.post(page, page.item, self._fields(world, task, self.person.accuracy), go="next")
        if self.person.vanishes:
            return Visited(Outcome.VANISHED, assignment, task.sitting)
        site.api("POST", f"assignments/{assignment}/return/", self.token)
        return Visited(Outcome.RETURNED, assignment, task.sitting)

    def _answer_all(self, site: Site, page: Page, world: World, sitting: int, seconds: Sequence[float]) -> Page:
        """Every item of the sitting, one after the other; returns what comes after it."""
        left, tries = list(seconds), 0
        known: dict[int, Mapping[str, str]] = {}
        while page.item:
            number = int(page.item.attributes["data-assignment"])
            task = world.task(number)
            if task.sitting != sitting:
                break
            if page.status == 422:  # told that it is not right yet: they look again, properly
                tries += 1
                if tries > TRIES:
                    raise Lost(f"An item of stage {task.stage} was refused again and again: {' '.join(page.said)}")
                known[number] = self._fields(world, task, 1.0, looks=True)
            elif number not in known:
                tries = 0
                careful = task.purpose != "work"
                accuracy = max(self.person.accuracy, CAREFUL) if careful else self.person.accuracy
                known[number] = self._fields(world, task, accuracy, looks=careful)
            written = {c.name: "" for c in page.item.controls if c.kind == "textarea"}  # what stood there is rubbed out
            given = {**written, **known[number]}
            taken = left.pop(0) if page.status != 422 and left else 0
            page = site.post(page, page.item, given | self._noted(page.item, given, taken), go="next")
        return page

    def _fields(self, world: World, task: Task, accuracy: float, *, looks: bool = False) -> Mapping[str, str]:
        """What they fill in. looks: also those who paste think about this one."""
        answer = world.protocol.imagine(task.stage, task.payload, task.gold, task.shown, accuracy, self.rng)
        if self.person.repeats and not looks:
            answer = self.first.setdefault(task.stage, answer)
        return world.protocol.stage(task.stage).fitted(task.payload, task.shown).spread(answer)

    def _noted(self, form: Form, given: Mapping[str, str], seconds: float) -> dict[str, str]:
        """What the page's own script would count."""
        noted = {"active_seconds": str(round(seconds))} if seconds else {}
        written = sum(len(value) for name, value in given.items() if "." in name)
        if written:
            how = ("sign-pasted", "sign-typed") if self.person.repeats else ("sign-typed", "sign-pasted")
            noted |= {name: str(n) for name, n in zip(how, (written, 0), strict=True) if form.has(name)}
        return noted
