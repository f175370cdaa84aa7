"""Addresses of the API for staff."""

from django.urls import path

from validation import api

urlpatterns = [
    path("studies/<slug:slug>/workers/", api.workers, name="api-workers"),
    path("studies/<slug:slug>/workers/<str:worker>/", api.worker, name="api-worker"),
    path("studies/<slug:slug>/workers/<str:worker>/revoke/", api.revoke, name="api-revoke"),
    path("studies/<slug:slug>/workers/<str:worker>/restore/", api.restore, name="api-restore"),
    path("studies/<slug:slug>/recollect/", api.recollect, name="api-recollect"),
    path("studies/<slug:slug>/adjudicate/", api.adjudicate, name="api-adjudicate"),
    path("studies/<slug:slug>/events/", api.events, name="api-events"),
    path("studies/<slug:slug>/me/", api.me, name="api-me"),
]
