"""How far people agree, for reports of studies whose stages ask several things."""

from collections.abc import Mapping
from typing import Any

from annotation.models import Study
from validation.queries import MEASURES, agreement_of
from validation.reports.parts import Table, cell


def agreement(study: Study) -> dict[str, Any]:
    """Stage -> question -> items, those set aside, and every measure as an estimate."""
    found: dict[str, Any] = {}
    for stage in study.protocol.stages:
        for measure in stage.measures:
            report = agreement_of(study, stage.name, measure.name)
            found.setdefault(stage.name, {})[measure.name] = {
                "items": report.items,
                "set_aside": report.set_aside,
                **{name: getattr(report, name).as_dict() for name in MEASURES},
            }
    return found


def agreement_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each estimate; what makes no sense of a question's numbers has no row."""
    rows = []
    for stage, questions in found.items():
        for question, each in questions.items():
            for name in MEASURES:
                e = each[name]
                if e["value"] is not None or name == MEASURES[-1]:
                    numbers = (cell(e["value"]), cell(e["low"]), cell(e["high"]))
                    rows.append((stage, question, name.replace("_", " "), *numbers, e["items"]))
    header = ("stage", "question", "measure", "value", "low (95%)", "high (95%)", "items")
    return Table("agreement", "Agreement", header, tuple(rows), decimals=3)
