"""What researchers fill in about batches and pay. Every rule is the domain's; a form only reads and words it."""

import re
from decimal import Decimal
from typing import Any

from django import forms

from annotation.models import Enrolment, Study
from annotation.revocation import enrolment_of
from annotation.views.forms import ConsoleForm
from hits import publishing, requirements
from hits.models import Batch, Payment
from hits.publishing import Terms

MOST_CSV = 300_000  # bytes of a file with bonuses: it travels once more with the confirmation


def money_field(label: str, *, most: int, required: bool = True, **more: Any) -> forms.DecimalField:
    """Dollars and cents."""
    return forms.DecimalField(
        label=label, required=required, min_value=Decimal(0), max_value=most, decimal_places=2, **more
    )


class TermsForm(ConsoleForm):
    """What a batch offers. The first lines are what it costs; the rest has defaults that suit most."""

    stage = forms.ChoiceField(help_text="Whose seats are sold.")
    sittings = forms.IntegerField(min_value=1, max_value=publishing.MOST_SITTINGS, help_text="Paid at most.")
    reward = money_field("Reward", most=1000, help_text="Dollars for one sitting.")
    per_hit = forms.IntegerField(
        label="Sittings of one HIT",
        min_value=1,
        max_value=100,
        initial=Terms.per_hit,
        help_text="From 10 on, Mechanical Turk takes 40% instead of 20%.",
    )
    duration_minutes = forms.IntegerField(
        label="Minutes for one sitting", min_value=1, max_value=525_600, initial=Terms.duration_minutes
    )
    lifetime_hours = forms.IntegerField(
        label="Hours that the HITs are offered", min_value=1, max_value=8_760, initial=Terms.lifetime_hours
    )
    auto_approval_hours = forms.IntegerField(
        label="Hours until the marketplace pays by itself",
        min_value=0,
        max_value=720,
        initial=Terms.auto_approval_hours,
        help_text="What nobody has decided by then is paid.",
    )
    open_to = forms.ChoiceField(
        label="Open to",
        widget=forms.RadioSelect,
        choices=[
            (Batch.OpenTo.ANYONE, "everybody whom the lines below let in"),
            (Batch.OpenTo.QUALIFIED, "only people whom the study has qualified for the stage"),
        ],
        initial=Terms.open_to,
    )
    approved_percent = forms.IntegerField(
        label="Approved so far, percent",
        required=False,
        min_value=0,
        max_value=100,
        help_text="At least; 0: everybody.",
    )
    approved_number = forms.IntegerField(
        label="Approved so far, assignments", required=False, min_value=0, max_value=100_000, help_text="At least."
    )
    countries = forms.CharField(
        required=False, max_length=200, help_text="Two letters each, with commas: US, GB, CA. Empty: everywhere."
    )
    adult = forms.BooleanField(required=False, label="Only people who agreed to see adult content")
    approval = forms.ChoiceField(
        label="Work is approved", widget=forms.RadioSelect, choices=Batch.Approval.choices, initial=Terms.approval
    )
    title = forms.CharField(
        required=False, max_length=128, help_text="As workers read it in the list. Empty: the study's and the stage's."
    )
    description = forms.CharField(required=False, max_length=2000)
    keywords = forms.CharField(required=False, max_length=1000, initial=Terms.keywords)

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["stage"].choices = [(s.name, s.title) for s in study.protocol.stages]  # type: ignore[attr-defined]

    def clean_countries(self) -> list[str]:
        codes = [code.strip().upper() for code in self.cleaned_data["countries"].split(",") if code.strip()]
        if bad := [code for code in codes if not re.fullmatch("[A-Z]{2}", code)]:
            raise forms.ValidationError(f"A country is two letters, as in US; this is not: {bad[0]}.")
        return codes

    @property
    def terms(self) -> Terms:
        given = dict(self.cleaned_data)
        asked = requirements.asked(
            percent=given.pop("approved_percent") or 0,
            number=given.pop("approved_number") or 0,
            countries=given.pop("countries"),
            adult=given.pop("adult"),
        )
        return Terms(**given, requirements=asked)


GROUPS = {  # of a batch's terms
    "What is bought": ("stage", "sittings", "reward", "per_hit"),
    "How long": ("duration_minutes", "lifetime_hours", "auto_approval_hours"),
    "How it is decided": ("approval",),
    "Who may take it": ("open_to", "approved_percent", "approved_number", "countries", "adult"),
    "As workers see it": ("title", "description", "keywords"),
}


class BudgetForm(ConsoleForm):
    amount = money_field(
        "Budget in dollars",
        most=99_999_999,
        required=False,
        help_text="For everything: rewards, bonuses and fees. Empty: as much as the account holds.",
    )
    target_hourly = money_field(
        "Target wage in dollars an hour",
        most=1000,
        required=False,
        help_text="Of active time. Pictures show it beside what people earn. Empty: none.",
    )


class MoreForm(ConsoleForm):
    sittings = forms.IntegerField(label="More sittings", min_value=1, max_value=publishing.MOST_SITTINGS)


class HoursForm(ConsoleForm):
    hours = forms.IntegerField(label="Hours from now", min_value=1, max_value=8_760)


class DecisionForm(ConsoleForm):
    """Why something is not paid, or not used. Approving needs none."""

    why = forms.CharField(
        required=False,
        max_length=400,
        label="Reason",
        help_text="Needed for rejecting (the worker reads it) and for leaving answers out (the log keeps it).",
    )


class BonusForm(ConsoleForm):
    """A sum for one worker, beside the rewards."""

    worker = forms.CharField(max_length=100, help_text="The running code, such as W001, or your name for them.")
    kind = forms.ChoiceField(
        label="What it is",
        widget=forms.RadioSelect,
        choices=[
            (Payment.Kind.BONUS, "a bonus"),
            (Payment.Kind.COMPENSATION, "compensation, for a long test that was failed or a fault of ours"),
        ],
        initial=Payment.Kind.BONUS,
    )
    amount = money_field("Dollars", most=1000)
    reason = forms.CharField(max_length=400, help_text="The worker reads it.")

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study

    def clean_worker(self) -> str:
        try:
            self.enrolment = enrolment_of(self.study, self.cleaned_data["worker"].strip())
        except Enrolment.DoesNotExist:
            raise forms.ValidationError("There is no such worker in this study.") from None
        return self.enrolment.running_code


class BonusFileForm(ConsoleForm):
    file = forms.FileField(help_text="CSV with the columns worker, amount, reason. The same line is paid once.")

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MOST_CSV:
            raise forms.ValidationError(f"The file is larger than {MOST_CSV:,} bytes; send it in parts.")
        return file


class TargetForm(ConsoleForm):
    target = money_field("Dollars for an hour of active time", most=1000)
