"""The rules of exclusion, declared before the work begins: stored with a time and a hash that every export names."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from annotation.events import SYSTEM, event, record
from annotation.models import Study

DECLARED = ("revoke", "work_of_revoked", "max_", "not_seen_in", "gold_rate", "fillers_per_sitting", "pass_mark")


def rules_of(study: Study) -> dict[str, object]:
    """The settings that decide whose work counts."""
    return {name: value for name, value in sorted(study.options.items()) if name.startswith(DECLARED)}


def digest(rules: Mapping[str, object]) -> str:
    """SHA-256 of the rules as JSON with sorted names, so that anybody can compute it again."""
    return hashlib.sha256(json.dumps(rules, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def declare(study: Study, *, at: datetime) -> None:
    """Once, when the first worker begins; later calls change nothing."""
    rules = rules_of(study)
    told = {"declared": rules, "declared_hash": digest(rules), "declared_at": at}
    if Study.objects.filter(pk=study.pk, declared_at=None).update(**told):
        record([event(study, "rules declared", by=SYSTEM, at=at, hash=told["declared_hash"], rules=rules)])
    for name, value in told.items():
        setattr(study, name, value)
