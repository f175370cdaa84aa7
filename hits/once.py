"""Take a step once, however often it is asked for: a form sent twice, a program that did not hear the answer."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction

from annotation.errors import Refusal
from annotation.models import Study
from hits.models import Once


class KeyUsed(Refusal):
    code, status = "key_used", 422
    sentence = "This key stands for something else that was asked for before. Nothing was done; use a new key."


@transaction.atomic
def once(
    study: Study, key: str, asked: object, act: Callable[[], Mapping[str, Any]], *, by: str, at: datetime
) -> Mapping[str, Any]:
    """What `act` answers; under a key that was used before by the same person, what it answered then.

    asked and the answer are what JSON can hold. Whoever asks at the same time waits for the first. A refusal leaves no
    trace, so that the same may be asked for again. Raises KeyUsed, and what `act` raises.
    """
    digest = sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
    row, is_new = Once.objects.get_or_create(study=study, by=by, key=key, defaults={"digest": digest, "at": at})
    if is_new:
        row.answer = dict(act())
        row.save(update_fields=["answer"])
    elif row.digest != digest:
        raise KeyUsed
    return row.answer
