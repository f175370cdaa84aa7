"""What researchers fill in. Every rule is the domain's; a form only reads and words it."""

from collections.abc import Callable
from typing import Any

from django import forms

from annotation import protocols
from annotation.enrolment import MAX_CODE, MAX_COUNT
from annotation.models import Item, Study
from annotation.models.studies import SLUG
from annotation.protocols import Protocol
from annotation.protocols.base import BadOption, Option

OPTION = "option-"


class ConsoleForm(forms.Form):
    """Labels without a colon."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class StudyForm(ConsoleForm):
    """A new study; the settings are those its protocol knows."""

    title = forms.CharField(max_length=200, help_text="What your annotators read on their pages.")
    slug = forms.CharField(
        label="Short name",
        max_length=50,
        validators=[SLUG],
        help_text="In addresses and commands: lower-case letters, digits and hyphens. It stays as it is.",
    )
    protocol = forms.ChoiceField(help_text="The way of collecting, as a paper describes it.")

    def __init__(self, protocol: Protocol, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["protocol"].choices = [(p.slug, p.title) for p in protocols.ALL]  # type: ignore[attr-defined]
        self.fields["protocol"].initial = protocol.slug
        for option in protocol.known_options.values():
            self.fields[OPTION + option.name] = _field(option, protocol)

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if Study.objects.filter(slug=slug).exists():
            raise forms.ValidationError("There is a study with this short name already.")
        return slug

    @property
    def options(self) -> dict[str, Any]:
        """What was chosen; a setting left empty keeps its default."""
        given = {n.removeprefix(OPTION): v for n, v in self.cleaned_data.items() if n.startswith(OPTION)}
        return {name: value for name, value in given.items() if value not in (None, "")}


class LateForm(ConsoleForm):
    """The settings of a study that may be changed at any time."""

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in study.protocol.known_options.values():
            if option.late:
                self.fields[option.name] = _field(option, study.protocol)
                self.fields[option.name].initial = study.options.get(option.name)
                self.fields[option.name].required = True


def _field(option: Option, protocol: Protocol) -> forms.Field:
    words: dict[str, Any] = {
        "required": False,
        "label": option.label,
        "initial": protocol.read_options({})[option.name],
        "help_text": f"{option.help[0].upper()}{option.help[1:]}.",
    }
    if option.choices:
        return forms.ChoiceField(choices=[(c, c.replace("_", " ")) for c in option.choices], **words)
    if isinstance(option.default, str):
        return forms.CharField(validators=[_reads(option)], **words)
    if isinstance(option.default, float):
        return forms.FloatField(min_value=option.at_least, max_value=option.at_most, **words)
    return forms.IntegerField(min_value=int(option.at_least), max_value=int(option.at_most), **words)


def _reads(option: Option) -> Callable[[str], None]:
    """What the option says of a text, as the form's own error."""

    def check(text: str) -> None:
        try:
            option.parse(text)
        except BadOption as error:
            raise forms.ValidationError(str(error)) from None

    return check


class WorkersForm(ConsoleForm):
    """People the researcher vouches for."""

    code = forms.CharField(
        label="Your name for them", max_length=MAX_CODE, help_text="A name or code of your own. Exports never show it."
    )
    stages = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="May work in")
    count = forms.IntegerField(
        min_value=1,
        max_value=MAX_COUNT,
        initial=1,
        help_text="More than one get a number behind the name: ann-1, ann-2.",
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stages = self.fields["stages"]
        stages.choices = [(s.name, s.title) for s in study.protocol.stages]  # type: ignore[attr-defined]
        stages.initial = [s.name for s in study.protocol.stages]


class ReasonForm(ConsoleForm):
    why = forms.CharField(max_length=500, label="Reason", help_text="It is kept with the event, for your team.")


class ImportForm(ConsoleForm):
    """Items from a file."""

    file = forms.FileField(help_text="JSONL or CSV, one item per row; may be gzipped.")
    role = forms.ChoiceField(choices=Item.Role.choices, initial=Item.Role.WORK, help_text="What the items are for.")
    skip_bad = forms.BooleanField(
        required=False, label="Skip bad rows", help_text="Otherwise one bad row stops the whole file."
    )


class ExportForm(ConsoleForm):
    """A dataset as JSONL."""

    kind = forms.ChoiceField(
        choices=[
            ("export_gold", "Gold: one row per settled item"),
            ("export_annotations", "Annotations: one row per answer"),
        ],
        label="What",
        help_text="Once it is made, you can also download it as an archive with a password.",
    )
    full = forms.BooleanField(
        required=False, label="With provenance", help_text="Gold only: adds how each item was decided."
    )
    keep_unresolved = forms.BooleanField(
        required=False, label="Keep unresolved items", help_text="Gold only: an unresolved item shows every label."
    )
    split = forms.ChoiceField(required=False, help_text="Gold only.")
    mode = forms.ChoiceField(
        required=False, label="Kept apart", help_text="Gold only: people and things that two splits may not share."
    )
    labels = forms.BooleanField(
        required=False, label="With all labels", help_text="Gold only: also of a split published without them."
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        release = study.protocol.release
        if release is None:
            for name in ("split", "mode", "labels"):
                del self.fields[name]
            return
        names = [("", "all, one after the other"), *((split, split) for split in release.splits)]
        self.fields["split"].choices = names  # type: ignore[attr-defined]
        self.fields["mode"].choices = [(m, m.replace("_", " ")) for m in release.modes]  # type: ignore[attr-defined]
