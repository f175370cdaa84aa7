"""How shares read."""

from django import template

register = template.Library()


@register.filter
def percent(share: float | None) -> str:
    """0.125 -> "12.5%"; a dash where there is no number."""
    return f"{share:.1%}" if isinstance(share, int | float) else "–"
