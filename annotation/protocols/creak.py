"""CREAK: true and false claims about entities. Source: Onoe et al., NeurIPS 2021 (PROTOCOLS.md section 3).

Somebody picks one of a set of entities and writes one true and one false claim about it. Somebody else reviews both;
on a sample, people judge one of the claims blindly, and somebody changes as little of it as flips its label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from annotation.protocols import creak_release
from annotation.protocols.base import (
    Answer,
    BadRow,
    Collect,
    Counted,
    Drop,
    Item,
    Option,
    Options,
    Payload,
    Protocol,
    Settle,
    Stage,
    Step,
    read_meta,
    read_ref,
    text_problem,
)
from annotation.protocols.claims import name_of, spans_of
from annotation.protocols.creak_crowd import imagine
from annotation.protocols.creak_review import (
    REJECT,
    REVIEW,
    entity_of,
    final_claims,
    fit_review,
    mentions_of,
    read_review,
)
from annotation.protocols.creak_samples import (
    CONTRAST,
    RELABEL,
    drawn,
    fit_contrast,
    other_label,
    read_contrast,
    sampled,
)
from annotation.protocols.creak_writing import LABELS, WRITE, fit_write, read_write
from annotation.protocols.votes import majority

SPLITS = ("train", "dev", "test")
MOST_ENTITIES, FEWEST_ENTITIES = 10, 2  # 5 in the paper's tasks, 3 in its example [App. A, Fig. 5]


# --- The workflow (3.4) -----------------------------------------------------------------------------


def next_step(payload: Payload, answers: Sequence[Counted], options: Options) -> Step:
    """Write, review, and on a sample relabel and contrast."""
    written = next((a for a in answers if a.stage == "write"), None)
    if written is None:
        return Collect("write", 1)
    review = next((a for a in answers if a.stage == "review" and a.judges == (written.id,)), None)
    if review is None and payload["split"] in read_splits(str(options["reviewed_splits"])):
        return Collect("review", 1)
    removed = [
        {"label": label, "reason": review.answer[label]["reason"]}
        for label in LABELS
        if review and review.answer[label]["decision"] == REJECT
    ]
    claims = final_claims(written.answer, review.answer if review else None)
    upheld = {written.id: not removed} if review else {}
    if not claims:
        why = f"Both claims were rejected: {removed[0]['reason']}, {removed[1]['reason']}."
        return Drop("rejected", why, upheld, judged=True)
    about = (written.id, review.id) if review else (written.id,)
    votes = [a for a in answers if a.stage == "relabel" and a.judges == about]
    contrast = next((a for a in answers if a.stage == "contrast" and a.judges == about), None)
    wanted = int(options["relabel_judges"])
    if sampled("relabel", payload, float(options["relabel_share"])) and len(votes) < wanted:
        return Collect("relabel", wanted)
    if contrast is None and sampled("contrast", payload, float(options["contrast_share"])):
        return Collect("contrast", 1)
    gold: dict[str, Any] = {
        **_entity_of(payload, written.answer["entity"]),
        "writer": written.worker,
        "claims": claims,
        "removed": removed,
        "relabel": _relabelled(payload, claims, votes) if votes else None,
        "contrast": _contrasted(payload, written.answer, claims, contrast) if contrast else None,
    }
    if gold["relabel"]:
        upheld |= {a.id: a.answer["label"] == gold["relabel"]["majority"] for a in votes if gold["relabel"]["majority"]}
    kept = "both" if len(claims) == 2 else claims[0]["label"]
    return Settle(kept, gold, _why(review, removed, gold), upheld, judged=bool(review))


def _entity_of(payload: Payload, name: str) -> dict[str, str]:
    return {"entity": name, "en_wiki_pageid": entity_of(payload, name).get("en_wiki_pageid", "")}


def _relabelled(payload: Payload, claims: Sequence[Mapping[str, Any]], votes: Sequence[Counted]) -> dict[str, Any]:
    """majority: of the judges, or null; label: the writer's."""
    labels = [a.answer["label"] for a in votes]
    return {"label": drawn(claims, "relabel", payload)["label"], "votes": labels, "majority": majority(labels)}


def _contrasted(
    payload: Payload, written: Answer, claims: Sequence[Mapping[str, Any]], contrast: Counted
) -> dict[str, Any]:
    """of: the label of the claim that was changed."""
    claim, sentence = drawn(claims, "contrast", payload), contrast.answer["claim"]
    mentions = mentions_of({**claim, "claim": claim["sentence"]})
    return {
        "of": claim["label"],
        "label": other_label(claim["label"]),
        "sentence": sentence,
        "explanation": contrast.answer["explanation"],
        "entity_mention_loc": spans_of(sentence, written["entity"], mentions),
        "writer": contrast.worker,
    }


def _why(review: Counted | None, removed: Sequence[Mapping[str, str]], gold: Mapping[str, Any]) -> str:
    said = "Reviewed" if review else "Written; this split is not reviewed"
    said += "".join(f"; the {each['label']} claim was rejected: {each['reason']}" for each in removed)
    if relabel := gold["relabel"]:
        said += f"; the judges say {relabel['majority'] or 'nothing in common'}, the writer {relabel['label']}"
    return said + ("; with a contrast." if gold["contrast"] else ".")


def read_splits(text: str) -> list[str]:
    """ "dev,test" -> ["dev", "test"]; "" is none. Raises ValueError."""
    splits = [part.strip() for part in text.split(",") if part.strip()]
    if wrong := [split for split in splits if split not in SPLITS]:
        raise ValueError(f"write some of {', '.join(SPLITS)} with commas between them; it was {wrong[0]!r}.")
    return splits


# --- Rows in (3.1) ----------------------------------------------------------------------------------


def read_row(row: Mapping[str, Any], role: str = "work") -> Item:
    """`id`, `split`, `entities` of `entity`, `en_wiki_pageid`, maybe `description` and `keywords`; more is `meta`."""
    ref, split, given = read_ref(row.get("id")), row.get("split"), row.get("entities")
    if role not in ("work", "practice"):
        raise BadRow(f"what people write about entities has no known answer, so this cannot be a {role} item")
    if split not in SPLITS:
        raise BadRow(f"'split' must be one of {', '.join(SPLITS)}; it was {split!r}")
    if not isinstance(given, list) or not FEWEST_ENTITIES <= len(given) <= MOST_ENTITIES:
        raise BadRow(f"'entities' must be a list of {FEWEST_ENTITIES} to {MOST_ENTITIES}")
    entities = [_read_entity(n, entity) for n, entity in enumerate(given, 1)]
    names = [entity["entity"] for entity in entities]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadRow(f"the entity {twice!r} is there twice")
    payload: dict[str, Any] = {"id": ref, "split": split, "entities": entities}
    if meta := read_meta(row, {"id", "split", "entities"}):
        payload["meta"] = meta
    return Item(ref, payload)


def _read_entity(number: int, raw: object) -> dict[str, Any]:
    where = f"entity {number}"
    if not isinstance(raw, Mapping):
        raise BadRow(f"{where} must be an object with 'entity' and 'en_wiki_pageid'")
    name, page = _line(raw, "entity", where), raw.get("en_wiki_pageid")
    page = str(page) if type(page) is int else page
    if not isinstance(page, str) or not page.strip() or text_problem(page):
        raise BadRow(f"{where}: 'en_wiki_pageid' is missing; a number or its text")
    if not name_of(name):
        raise BadRow(f"{where}: 'entity' needs a name")
    entity: dict[str, Any] = {"entity": name, "en_wiki_pageid": page.strip()}
    if raw.get("description") not in (None, ""):
        entity["description"] = _line(raw, "description", where)
    keywords = raw.get("keywords") or []
    if not isinstance(keywords, list) or not all(isinstance(k, str) and not text_problem(k) for k in keywords):
        raise BadRow(f"{where}: 'keywords' must be a list of texts")
    return entity | ({"keywords": [k.strip() for k in keywords if k.strip()]} if keywords else {})


def _line(raw: Mapping[str, Any], name: str, where: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadRow(f"{where}: '{name}' is missing or not a text")
    if problem := text_problem(value):
        raise BadRow(f"{where}: '{name}': {problem}")
    return value.strip()


# --- The protocol -----------------------------------------------------------------------------------


def _asked(me: str) -> tuple[Stage, ...]:
    """The stages where the first person meets `me`."""
    write = replace(WRITE, read=partial(read_write, me=me))
    review = replace(REVIEW, read=partial(read_review, me=me))
    contrast = replace(CONTRAST, read=partial(read_contrast, me=me))
    return (
        replace(write, fit=partial(fit_write, write)),
        replace(review, fit=partial(fit_review, review, me)),
        RELABEL,
        replace(contrast, fit=partial(fit_contrast, contrast, me)),
    )


def fit(options: Options) -> Protocol:
    """As the option `first_person` says, which may change while people write."""
    return BY_FIRST_PERSON[str(options.get("first_person", "block"))]


CREAK = Protocol(
    slug="creak",
    version=1,
    title="CREAK",
    source="Onoe, Zhang, Choi, Durrett: CREAK: A Dataset for Commonsense Reasoning over Entity Knowledge. 2021.",
    shown=("id", "entities"),
    stages=_asked("block"),
    read_row=read_row,
    next_step=next_step,
    export_rows=lambda payload, gold: [row for _, row in creak_release.rows(payload, gold, 0)],
    imagine=imagine,
    heading=lambda payload: ", ".join(entity["entity"] for entity in payload["entities"]),
    part=lambda payload: str(payload.get("split", "")),
    release=creak_release.RELEASE,
    fit=fit,
    options=(
        Option(
            "reviewed_splits",
            ",".join(SPLITS),
            "whose claims are reviewed, of train, dev and test; the paper cleaned dev,test only",
            read=read_splits,
        ),
        Option("relabel_share", 0.0, "share of the items of which one claim is judged blindly", at_least=0, at_most=1),
        Option("relabel_judges", 3, "people who judge such a claim", at_least=3, at_most=15),
        Option("contrast_share", 0.0, "share of the items of which one claim is flipped", at_least=0, at_most=1),
        Option(
            "first_person",
            "block",
            "what a claim that begins with I, we, my or our meets",
            choices=("block", "warn"),
            late=True,
        ),
    ),
    # One set at a time for 0.60 USD [App. A]; at most 7% of the claims of a split [datasheet C].
    defaults={"items_per_sitting": 1, "pay_per_sitting": 0.6, "max_share": 0.07},
)
BY_FIRST_PERSON = {"block": CREAK, "warn": replace(CREAK, stages=_asked("warn"))}
