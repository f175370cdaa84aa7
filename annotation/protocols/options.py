"""Settings of a study: what there is to set, whatever the protocol, and how what a person typed becomes a value."""

from collections.abc import Callable
from dataclasses import dataclass


class BadOption(ValueError):
    """A setting that is unknown or out of range; the message lists what would be right."""


@dataclass(frozen=True)
class Option:
    """One setting of a study, with its default and what it may be: a whole number, a number where the default is one,
    one of `choices`, or a text that `read` accepts (it raises ValueError with what would be right).

    late: it only changes how finished work is read, so it may be changed at any time.
    """

    name: str
    default: int | float | str
    help: str
    choices: tuple[str, ...] = ()
    at_least: float = 1
    at_most: float = 1_000_000
    read: Callable[[str], object] | None = None
    late: bool = False

    @property
    def label(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ").capitalize()

    def parse(self, given: object) -> int | float | str:
        """Turn what a person typed into a value. Raises BadOption."""
        text = str(given)
        if self.choices:
            if text not in self.choices:
                raise BadOption(f"{self.name} must be one of {', '.join(self.choices)}; it was {given!r}.")
            return text
        if self.read:
            try:
                self.read(text)
            except ValueError as error:
                raise BadOption(f"{self.name}: {error}") from None
            return text
        whole = isinstance(self.default, int)
        try:
            number = int(text) if whole else float(text)
        except ValueError:
            raise BadOption(f"{self.name} must be a {'whole ' if whole else ''}number; it was {given!r}.") from None
        if not self.at_least <= number <= self.at_most:  # also refuses nan
            raise BadOption(f"{self.name} must be from {self.at_least:g} to {self.at_most:g}; it was {number:g}.")
        return number


def read_group_limits(text: str) -> dict[str, int]:
    """ "entity:3,pair:1" -> {"entity": 3, "pair": 1}: of all items with one value in that field a worker meets so many.

    Raises ValueError.
    """
    limits: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, colon, number = part.partition(":")
        if not (name.isidentifier() and colon and number.isascii() and number.isdigit() and int(number)):
            raise ValueError(f"write FIELD:NUMBER with commas between them, such as entity:3,pair:1; it was {text!r}.")
        limits[name] = int(number)
    return limits


def read_slugs(text: str) -> list[str]:
    """ "pilot,round-1" -> ["pilot", "round-1"]. Raises ValueError."""
    slugs = [part.strip() for part in text.split(",") if part.strip()]
    if not all(slug.replace("-", "").isalnum() and slug.isascii() and slug.islower() for slug in slugs):
        raise ValueError(f"write the studies' short names with commas between them; it was {text!r}.")
    return slugs


SWITCH = ("on", "off")
COMMON_OPTIONS = (
    Option("items_per_sitting", 10, "items a worker gets at once", at_most=200),
    Option(
        "lease_minutes", 60, "minutes without any activity after which a worker's open items go back", at_most=10_080
    ),
    # The way in
    Option("pass_mark", 0.8, "share of right answers that passes the qualification test", at_least=0, at_most=1),
    Option("review_tests", "on", "whether a person reads the writings of a test before it is passed", choices=SWITCH),
    Option("max_qualified", 0, "so many people may pass the test for one stage; 0 sets no limit", at_least=0),
    # Limits; 0 and the empty text set none
    Option("max_annotations", 0, "items one worker may do in all", at_least=0),
    Option("max_share", 0.0, "share of the study's items one worker may do, such as 0.15", at_least=0, at_most=1),
    Option("max_open_sittings", 0, "sittings one worker may hold at a time, in all stages", at_least=0),
    Option(
        "max_per_group",
        "",
        "FIELD:NUMBER, ...: of all items with one value in a field a worker meets so many, such as entity:3 or pair:1",
        read=read_group_limits,
    ),
    Option("not_seen_in", "", "earlier studies, with commas: nobody gets an item they met there", read=read_slugs),
    # Hidden gold and fillers
    Option("gold_rate", 0.0, "hidden gold items for each item of work, such as 0.1", at_least=0, at_most=1),
    Option("fillers_per_sitting", 0, "fillers mixed into every sitting", at_least=0, at_most=100),
    # Removing low-quality work; a rule whose value is 0 is off
    Option(
        "revoke", "propose", "what a rule that is met does: propose to a person, or act", choices=("propose", "act")
    ),
    Option("revoke_after", 20, "answers that a rule needs before it judges anybody"),
    Option(
        "revoke_invalid_share",
        0.0,
        "more than this share of a worker's answers was found invalid",
        at_least=0,
        at_most=1,
    ),
    Option(
        "revoke_invalid_share_of_judged",
        0.0,
        "more than this share of a worker's answers that others judged was found invalid",
        at_least=0,
        at_most=1,
    ),
    Option(
        "revoke_filler_accuracy", 0.0, "less than this share of a worker's fillers was right", at_least=0, at_most=1
    ),
    Option(
        "revoke_gold_accuracy", 0.0, "less than this share of a worker's hidden gold was right", at_least=0, at_most=1
    ),
    Option(
        "work_of_revoked", "keep", "what a rule that acts does with finished work", choices=("keep", "hold", "exclude")
    ),
    # Who may take what is collected again after an exclusion; 0 lets anybody
    Option(
        "recollect_above_accuracy",
        0.0,
        "items that are collected again go to people with more than this share of their fillers right",
        at_least=0,
        at_most=1,
    ),
    Option("recollect_above_fillers", 0, "... who answered more than so many scored fillers", at_least=0),
    Option("recollect_max_share", 0.0, "... and did at most this share of the study's items", at_least=0, at_most=1),
    # Pay, and what is recorded
    Option("pay_per_sitting", 0.0, "what one sitting pays", at_least=0, at_most=1000),
    Option("currency", "USD", "of the pay", choices=("USD", "EUR", "GBP", "CHF", "KRW", "JPY", "CAD", "AUD")),
    Option("signs", "on", "whether pasting, leaving the window and composition time are recorded", choices=SWITCH),
)
