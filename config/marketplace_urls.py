"""Addresses of the marketplace where it is a service of its own."""

from django.urls import include, path
from django.views.generic import RedirectView

from config import health

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="marketplace:groups"), name="front"),
    path("marketplace/", include("marketplace.urls")),
    path("accounts/", include("allauth.urls")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
