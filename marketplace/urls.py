"""Addresses of the marketplace: the worker site, the operator's pages, both APIs, and where task pages submit."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from marketplace import wire
from marketplace.views import operator, people, site, tasks, workers_api


class Id(StringConverter):
    """An identifier as `ids` makes them; whatever else an address holds there is nothing."""

    regex = "[A-Z0-9]{1,64}"


register_converter(Id, "id")
app_name = "marketplace"

urlpatterns = [
    path("", site.groups, name="groups"),
    path("enter/<str:token>/", people.enter, name="enter"),
    path("join/", people.join, name="join"),
    path("profile/", people.profile, name="profile"),
    path("dashboard/", site.dashboard, name="dashboard"),
    path("groups/<id:type_id>/", site.preview, name="preview"),
    path("groups/<id:type_id>/accept/", site.accept, name="accept"),
    path("tasks/<id:assignment_id>/", site.task, name="task"),
    path("tasks/<id:assignment_id>/state/", site.state, name="state"),
    path("tasks/<id:assignment_id>/done/", site.done, name="done"),
    path("tasks/<id:assignment_id>/return/", site.give_back, name="return"),
    path("frames/<id:hit_id>/<str:key>/", site.frame, name="frame"),
    path("qualifications/<id:type_id>/", site.qualification, name="qualification"),
    # For whoever runs it.
    path("operator/", operator.page, name="operator"),
    path("operator/requesters/<int:pk>/", operator.requester, name="requester"),
    path("operator/payouts.csv", operator.payout_file, name="payout_file"),
    path("operator/payouts/mark/", operator.mark_paid, name="mark_paid"),
    # For programs.
    path("api/", wire.api, name="api"),
    path("api/worker/hits/", workers_api.hits, name="api_hits"),
    path("api/worker/hits/<id:hit_id>/accept/", workers_api.accept, name="api_accept"),
    path("api/worker/assignments/", workers_api.assignments, name="api_assignments"),
    path("api/worker/assignments/<id:assignment_id>/return/", workers_api.give_back, name="api_return"),
    path("mturk/externalSubmit", tasks.external_submit, name="external_submit"),
]
