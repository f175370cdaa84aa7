"""Rows for tests: plain functions with keyword arguments."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from annotation import leasing, protocols, qualification
from annotation.models import Item, Sitting, Study, Worker
from annotation.progress import wanted

LONG_AGO = datetime(2026, 11, 1, 9, tzinfo=UTC)

NORMAL_ANSWER = {"label": "normal", "reason": None, "pairs": []}
FILTER_ANSWER = {"label": "filter", "reason": "subjective", "pairs": []}
FALSE_ANSWER = {
    "label": "false presupposition",
    "reason": None,
    "pairs": [
        {"presupposition": "Power plants store current.", "correction": "Current is used as soon as it is made."}
    ],
}


def make_study(slug: str = "crepe-a", protocol: str = "crepe", *, title: str = "", **options: object) -> Study:
    known = protocols.get(protocol)
    return Study.objects.create(
        slug=slug,
        title=title or f"Study {slug}",
        protocol_slug=known.slug,
        protocol_version=known.version,
        snapshot=known.snapshot(),
        options=known.read_options(options),
        created_at=LONG_AGO,
    )


def make_items(study: Study, count: int, *, role: str = "work", prefix: str = "q", gold: object = None) -> list[Item]:
    """Items q1, q2, ... in the queue as an import leaves them."""
    rows = []
    for n in range(1, count + 1):
        payload = {
            "id": f"{prefix}{n}",
            "question": f"How exactly is current {n} stored in power plants?",
            "comment": f"Nothing is kept at plant {n}. The grid is a balance of supply and demand.",
        }
        step = study.protocol.next_step(payload, [], study.options)
        state, stage, votes, seats = wanted(step, {})
        rows.append(
            Item(
                study=study,
                ref=f"{prefix}{n}",
                role=role,
                payload=payload,
                gold=gold,
                state=state,
                stage=stage if role == "work" else "",
                votes_wanted=votes if role == "work" else 0,
                open_seats=seats if role == "work" else 0,
                queued_at=LONG_AGO + timedelta(microseconds=n),
                created_at=LONG_AGO,
            )
        )
    return Item.objects.bulk_create(rows)


def make_worker(study: Study, code: str = "ann", *, stages: Sequence[str] = ("generate", "validate")) -> Worker:
    return qualification.add_worker(study, code, stages, by="test", at=LONG_AGO)


def make_sitting(
    study: Study, code: str = "ann", *, stage: str = "generate", worker: Worker | None = None, at: datetime = LONG_AGO
) -> Sitting:
    """The sitting that `worker` (or the one with this code, made if new) gets from a lease."""
    return leasing.lease(worker or make_worker(study, code), study, stage, at=at)[0]
