"""Agreement of a stage: `manage.py agreement SLUG [--stage S] [--question Q] [--verify]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation import console
from validation.queries import agreement_of
from validation.verifying import alpha_of_raw_rows


class Command(console.Command):
    help = "Print percent agreement, Fleiss' kappa and Krippendorff's alpha with 95% bootstrap intervals as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--stage", help="the protocol's first unless given")
        parser.add_argument("--question", help="the stage's first unless given")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="compute alpha again with the krippendorff package, from the annotations, and print the difference",
        )

    def handle(self, *, slug: str, stage: str | None, question: str | None, verify: bool, **_: Any) -> None:
        study = console.find_study(slug)
        stages = {s.name: s for s in study.protocol.stages}
        stage = stage or next(iter(stages))
        if stage not in stages:
            raise CommandError(f"This study has no stage {stage!r}; it has {', '.join(stages)}.")
        question = question or stages[stage].measures[0].name
        report = agreement_of(study, stage, question)
        printed: dict[str, Any] = {
            "study": report.study,
            "stage": report.stage,
            "question": report.measure,
            "level": report.level,
            "items": report.items,
            "annotations": report.annotations,
            "workers": report.workers,
            "percent_agreement": report.percent_agreement.value,
            "fleiss_kappa": report.fleiss_kappa.as_dict(),
            "krippendorff_alpha": report.krippendorff_alpha.as_dict(),
        }
        if verify:
            ours, theirs = report.krippendorff_alpha.value, alpha_of_raw_rows(study, stage, question)
            difference = None if ours is None or theirs is None else abs(ours - theirs)
            printed["verified"] = {"krippendorff_alpha": theirs, "difference": difference}
        self.print_json(printed)
