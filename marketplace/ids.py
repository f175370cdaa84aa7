"""Identifiers as the field knows them: capitals and digits, workers and requesters beginning with A."""

import secrets
from string import ascii_uppercase, digits

ALPHABET = ascii_uppercase + digits


def entity() -> str:
    """Of HITs, types, assignments and qualifications: 30 characters, which nobody can guess."""
    return "3" + "".join(secrets.choice(ALPHABET) for _ in range(29))


def customer() -> str:
    """Of workers and requesters: A and 13 characters."""
    return "A" + "".join(secrets.choice(ALPHABET) for _ in range(13))


def access_key() -> str:
    return "AKIA" + "".join(secrets.choice(ALPHABET) for _ in range(16))
