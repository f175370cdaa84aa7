"""Writings that are much alike: found by keys that alike texts are likely to share, confirmed by their words. Pure.

Two texts are near-duplicates when their sets of words have a Jaccard similarity of at least ALIKE. Their MinHash
signatures agree in each place with that probability; keys are made of ROWS places each, so with BANDS keys a pair at
0.8 shares one with probability 1 - (1 - 0.8^3)^6 = 98.6%, one at 0.4 with 33%, and is then told apart by its words.
Source: Broder 1997, "On the resemblance and containment of documents".
"""

from collections.abc import Set
from hashlib import blake2b

from annotation.protocols.writing import ALIKE, alike, bag

__all__ = ["ALIKE", "alike", "bag", "keys"]
BANDS, ROWS = 6, 3
PRIME = (1 << 61) - 1
# One permutation for each place of a signature: x -> a x + b modulo a prime, fixed for ever, as keys are stored.
PERMUTATIONS = [
    tuple(int.from_bytes(blake2b(f"{n} {part}".encode(), digest_size=7).digest(), "big") for part in "ab")
    for n in range(BANDS * ROWS)
]


def keys(text_bag: Set[str]) -> list[int]:
    """BANDS signed 64-bit keys; none for a text without words."""
    if not text_bag:
        return []
    hashed = [int.from_bytes(blake2b(word.encode(), digest_size=7).digest(), "big") for word in text_bag]
    signature = [min((a * x + b) % PRIME for x in hashed) for a, b in PERMUTATIONS]
    return [_key(band, signature[band * ROWS : (band + 1) * ROWS]) for band in range(BANDS)]


def _key(band: int, part: list[int]) -> int:
    digest = blake2b(f"{band} {part}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
