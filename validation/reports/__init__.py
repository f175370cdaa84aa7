"""What a study comes to, as its paper prints it: numbers, tables and figures. Adding one is: a module, a line here."""

from collections.abc import Callable
from datetime import datetime

from annotation.models import Study
from validation import labelling
from validation.reports import acceptability, creak, crepe, nope, rubric, synqa2
from validation.reports.parts import NoReport, Report

Progress = Callable[[int, int], None]
KINDS: dict[str, Callable[[Study, Progress], Report]] = {
    "crepe": crepe.report,
    "nope": nope.report,
    "creak": creak.report,
    "synqa2": synqa2.report,
    "acceptability": acceptability.report,
    "rubric": rubric.report,
}


def has_report(study: Study) -> bool:
    return study.protocol_slug in KINDS


def make(study: Study, *, at: datetime, progress: Progress = lambda done, total: None) -> Report:
    """The study as it stands. Constant queries; memory grows with the items. Raises NoReport."""
    if not has_report(study):
        raise NoReport(f"There is no report for {study.protocol.title} yet; there is one for {', '.join(KINDS)}.")
    labelling.refresh(study, at=at)
    return KINDS[study.protocol_slug](study, progress)
