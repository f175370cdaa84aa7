"""Addresses of the task frame and of the batches' pages."""

from django.urls import path

from hits.views import frame

app_name = "hits"

urlpatterns = [
    # In a marketplace's frame: no cookies; who is here is a claim.
    path("frame/go/<str:token>/", frame.go, name="go"),
    path("frame/<str:key>/", frame.enter, name="enter"),
]
