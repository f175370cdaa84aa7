"""What plain templates walk over."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

register = template.Library()


@register.filter
def shown(payload: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, str]]:
    """(label, text) of the payload's texts that workers may see, in the protocol's order; the id is no text to read."""
    found = [(name, payload.get(name)) for name in names if name != "id"]
    return [(name.replace("_", " "), str(value)) for name, value in found if isinstance(value, str | int | float)]
