"""What a page notices while somebody answers: evidence beside an answer, never a verdict. Pure.

pasted, typed: characters that came from the clipboard, and by keys. left: how often the window was left, and
away_seconds: for how long in all. composing_seconds: from the first to the last keystroke in a text.
Of a slider: first_touch_ms, from the page's arrival to the first press or key; moves: presses and keys in all.
"""

from collections.abc import Mapping

NAMES = ("pasted", "typed", "left", "away_seconds", "composing_seconds")
OF_SLIDERS = ("first_touch_ms", "moves")
ALL = NAMES + OF_SLIDERS


def read(posted: Mapping[str, object]) -> dict[str, int]:
    """The counts out of a posted form, `sign-pasted` and so on; what is no small whole number is left out."""
    found = {name: str(posted.get(f"sign-{name}", "")) for name in ALL}
    return {name: int(text) for name, text in found.items() if text.isascii() and text.isdecimal() and len(text) < 8}


def merge(kept: Mapping[str, int], new: Mapping[str, int]) -> dict[str, int]:
    """The larger of each: counts only grow, whatever order requests arrive in."""
    return {name: max(kept.get(name, 0), new.get(name, 0)) for name in ALL if name in kept or name in new}
