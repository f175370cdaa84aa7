"""The schema says what the API does: programs generated from it find no fault, nor an answer it does not name."""

import pytest
import schemathesis
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from annotation import links
from config.wsgi import application
from tests.factories import make_items, make_sitting, make_study

# An answer has rules that no schema says, and 422 is for those.

pytestmark = pytest.mark.sqlite  # what is sent is stored on both databases by other tests
RULES = [positive_data_acceptance]
BOUNDED = settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
schema = schemathesis.openapi.from_wsgi("/api/schema/", application)


@pytest.fixture(autouse=True)
def one_connection():
    """The test's own, with its open transaction, outlives each request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def sitting(db):
    study = make_study(items_per_sitting=2)
    make_items(study, 4)
    return make_sitting(study, "ann", at=timezone.now())


@pytest.fixture
def header(sitting):
    return {"Authorization": f"Token {links.sign(sitting.worker, links.TOKEN, at=timezone.now())}"}


def test_the_schema_is_valid_and_made_without_a_warning(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yaml"))


@schema.parametrize()
@BOUNDED
def test_whatever_a_program_sends_the_schema_names_the_answer(case, header):
    with transaction.atomic():
        case.call_and_validate(headers=header, excluded_checks=RULES)
        transaction.set_rollback(True)


@schema.parametrize()
@BOUNDED
def test_so_it_is_with_ids_of_the_workers_own(case, header, sitting):
    held = sitting.assignments.first()
    own = {"slug": sitting.study.slug, "number": 1, "id": held.pk if "assignments" in case.path else sitting.pk}
    case.path_parameters = {name: own.get(name, "W001") for name in case.path_parameters}
    with transaction.atomic():
        case.call_and_validate(headers=header, excluded_checks=[*RULES, negative_data_rejection])  # the id was mended
        transaction.set_rollback(True)
