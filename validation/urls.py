"""Addresses of what was judged: items with their evidence, agreement, labels."""

from django.urls import path

from validation import views

app_name = "validation"

urlpatterns = [
    path("studies/<slug:slug>/items/", views.items, name="items"),
    path("studies/<slug:slug>/items/<int:pk>/", views.evidence, name="evidence"),
    path("studies/<slug:slug>/agreement/", views.agreement, name="agreement"),
    path("studies/<slug:slug>/labels/", views.labels, name="labels"),
]
