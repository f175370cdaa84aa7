"""Addresses of the API."""

from django.urls import path, re_path
from django.views.generic import TemplateView
from drf_spectacular.views import SpectacularJSONAPIView

from annotation import api
from annotation.throttling import PerAddress

urlpatterns = [
    path("v1/studies/<slug:slug>/sittings/", api.sittings, name="api-sittings"),
    path("v1/sittings/<int:pk>/", api.sitting, name="api-sitting"),
    path("v1/sittings/<int:pk>/submit/", api.submit, name="api-submit"),
    path("v1/sittings/<int:pk>/return/", api.give_back, name="api-return"),
    path("v1/assignments/<int:pk>/draft/", api.draft, name="api-draft"),
    path("schema/", SpectacularJSONAPIView.as_view(throttle_classes=[PerAddress]), name="api-schema"),
    path("docs/", TemplateView.as_view(template_name="annotation/api_docs.html"), name="api-docs"),
    re_path("", api.nowhere),
]
