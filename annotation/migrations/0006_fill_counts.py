"""What the new columns of older studies should hold: items to take shares of, items each worker took, who is revoked."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import Count, Q


def fill(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    study, item, enrolment, assignment, qualification = (
        apps.get_model("annotation", name) for name in ("Study", "Item", "Enrolment", "Assignment", "Qualification")
    )
    for pk, items in item.objects.filter(role="work").values_list("study").annotate(Count("pk")).order_by():
        study.objects.filter(pk=pk).update(work_items=items)
    taken = assignment.objects.filter(Q(state="leased") | Q(state="submitted"))
    for pk, worker, count in taken.values_list("sitting__study", "worker").annotate(Count("pk")).order_by():
        enrolment.objects.filter(study=pk, worker=worker).update(taken=count)
    revoked = qualification.objects.filter(state="revoked")
    enrolment.objects.filter(pk__in=revoked.values("enrolment")).update(state="revoked")
    revoked.update(state="qualified")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0005_workers_and_quality")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
