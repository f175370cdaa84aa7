"""Addresses of the marketplace: the requester API, the workers' API, and where task pages submit."""

from django.urls import path

from marketplace import wire
from marketplace.views import tasks, workers_api

app_name = "marketplace"

urlpatterns = [
    path("api/", wire.api, name="api"),
    path("api/worker/hits/", workers_api.hits, name="api_hits"),
    path("api/worker/hits/<str:hit_id>/accept/", workers_api.accept, name="api_accept"),
    path("api/worker/assignments/", workers_api.assignments, name="api_assignments"),
    path("api/worker/assignments/<str:assignment_id>/return/", workers_api.give_back, name="api_return"),
    path("mturk/externalSubmit", tasks.external_submit, name="external_submit"),
]
