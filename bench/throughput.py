"""Lease + submit through the API, one item per sitting, two votes, beside the floor on the same server and database."""

from collections import Counter
from collections.abc import Awaitable, Callable

from django.utils import timezone

from annotation import links
from annotation.intake import create_study, import_items
from annotation.models import Annotation, Item, Study
from annotation.qualification import add_worker
from bench import floor
from bench.client import Connection, Timings, run
from bench.report import table
from bench.server import gunicorn

CROWDS = (1, 8, 32)
FLOOR_PORT, PORT = 8771, 8772
ANSWER = {"label": "normal", "reason": None, "pairs": []}


def measure(items: int) -> None:
    """Print annotations per second and latencies for each crowd, ours and the floor's, and check the counts."""
    rows = []
    with gunicorn("bench.floor:application", FLOOR_PORT, FLOOR_SERVES="1"), gunicorn("config.wsgi:application", PORT):
        for crowd in CROWDS:
            share = items if crowd > 1 else items // 10  # one annotator alone need not do them all to be timed
            floor.create(share)
            bare = Timings()
            rate_floor = _rate(*run([_bare(bare) for _ in range(crowd)]))
            study = _study(share, crowd)
            ours = Timings()
            made, seconds = run([_annotator(study, n, ours) for n in range(max(crowd, 2) if crowd > 1 else 1)])
            _check(study, made, expected=2 * share if crowd > 1 else share)
            rows.append(_row("floor", crowd, rate_floor, bare, ("claim", "answer")))
            rows.append(_row("touchstone", crowd, _rate(made, seconds), ours, ("lease", "submit")))
            rows[-1].append(f"{_rate(made, seconds) / rate_floor:.2f}")
    heads = ["server", "annotators", "annotations/s", "first p50", "p95", "p99", "second p50", "p95", "p99", "ratio"]
    table(f"Lease + submit, {items:,} items, two votes (ms per request)", heads, rows)


def _study(items: int, crowd: int) -> Study:
    now = timezone.now()
    options = {"items_per_sitting": 1}
    study = create_study(f"bench-{crowd}", "crepe", title="Bench", options=options, by="bench", at=now)
    rows = (
        {"id": f"q{n}", "question": f"Why is {n} blue?", "comment": f"It is not, {n} is red."} for n in range(items)
    )
    import_items(study, rows, role="work", skip_bad=False, by="bench", at=now)
    return study


def _annotator(study: Study, number: int, timings: Timings) -> Callable[[], Awaitable[int]]:
    now = timezone.now()
    worker = add_worker(study, f"{study.slug}-w{number}", ["generate"], by="bench", at=now)
    token = links.sign(worker, links.TOKEN, at=now)

    async def work() -> int:
        connection, made = Connection(PORT, timings), 0
        while True:
            path = f"/api/v1/studies/{study.slug}/sittings/"
            status, sitting = await connection.post("lease", path, {"stage": "generate"}, token)
            if status == 409:
                return made
            assert status == 201, sitting
            answers = {assignment["id"]: ANSWER for assignment in sitting["assignments"]}
            path = f"/api/v1/sittings/{sitting['id']}/submit/"
            status, body = await connection.post("submit", path, {"answers": answers}, token)
            assert status == 200, body
            made += len(answers)

    return work


def _bare(timings: Timings) -> Callable[[], Awaitable[int]]:
    async def work() -> int:
        connection, made = Connection(FLOOR_PORT, timings), 0
        while True:
            status, claimed = await connection.post("claim", "/claim/", {})
            if status == 409:
                return made
            await connection.post("answer", f"/answer/{claimed['item']}/", ANSWER)
            made += 1

    return work


def _check(study: Study, made: int, expected: int) -> None:
    """Exactly two annotations per item at the end (one where one annotator worked alone), none lost."""
    stored = Counter(Annotation.objects.filter(study=study, uncounted="").values_list("item_id", flat=True))
    assert made == sum(stored.values()) == expected, (made, sum(stored.values()), expected)
    assert set(stored.values()) == {expected // Item.objects.filter(study=study).count()}


def _rate(made: int, seconds: float) -> float:
    return made / seconds


def _row(server: str, crowd: int, rate: float, timings: Timings, names: tuple[str, str]) -> list[str]:
    times = [f"{timings.percentile(name, share):.1f}" for name in names for share in (0.5, 0.95, 0.99)]
    return [server, str(crowd), f"{rate:.0f}", *times]
