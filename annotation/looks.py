"""Which templates show a protocol's items and instructions: its own, or plain ones read off the protocol itself."""

from annotation.protocols.base import Stage


def item_templates(protocol: str) -> list[str]:
    """protocol: its slug. The first of these that exists is taken."""
    return [f"annotation/items/{protocol}.html", "annotation/items/_plain.html"]


def instructions_templates(protocol: str, stage: str) -> list[str]:
    return [f"annotation/instructions/{protocol}/{stage}.html", "annotation/instructions/_plain.html"]


# Kinds of questions that the one stylesheet draws; the others' is loaded by their own pages, which are heavier for it.
LIGHT = {"choice", "pairs", "verdict", "slider", "check", "line"}


def styles(stage: Stage) -> list[str]:
    """Stylesheets that the forms of this stage need beside the usual one."""
    return [] if {q.kind for q in stage.questions} <= LIGHT else ["css/forms.css"]
