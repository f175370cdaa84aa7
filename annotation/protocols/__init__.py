"""The papers' protocols: pure Python, importing nothing but the standard library."""

from annotation.protocols.acceptability import ACCEPTABILITY
from annotation.protocols.base import Protocol
from annotation.protocols.creak import CREAK
from annotation.protocols.crepe import CREPE
from annotation.protocols.nope import NOPE
from annotation.protocols.rubric import RUBRIC
from annotation.protocols.synqa2 import SYNQA2

ALL = (
    CREPE,
    NOPE,
    CREAK,
    SYNQA2,
    ACCEPTABILITY,
    RUBRIC,
)


def get(slug: str, version: int | None = None) -> Protocol:
    """The protocol with this slug (and version). Raises KeyError, naming what there is."""
    for protocol in ALL:
        if protocol.slug == slug and version in (None, protocol.version):
            return protocol
    wanted = slug if version is None else f"{slug} version {version}"
    raise KeyError(f"There is no protocol {wanted}. Known: {', '.join(p.slug for p in ALL)}.")
