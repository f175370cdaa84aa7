"""Which templates show a protocol's items and instructions: its own, or plain ones read off the protocol itself."""


def item_templates(protocol: str) -> list[str]:
    """protocol: its slug. The first of these that exists is taken."""
    return [f"annotation/items/{protocol}.html", "annotation/items/_plain.html"]


def instructions_templates(protocol: str, stage: str) -> list[str]:
    return [f"annotation/instructions/{protocol}/{stage}.html", "annotation/instructions/_plain.html"]
