"""Addresses of the API about batches and pay."""

from django.urls import path

from hits import api

urlpatterns = [
    path("studies/<slug:slug>/batches/", api.batches, name="api-batches"),
    path("studies/<slug:slug>/batches/plan/", api.plan, name="api-plan"),
    path("studies/<slug:slug>/batches/<int:number>/", api.batch, name="api-batch"),
    path("studies/<slug:slug>/batches/<int:number>/top-up/", api.top_up, name="api-top-up"),
    path("studies/<slug:slug>/batches/<int:number>/extend/", api.extend, name="api-extend"),
    path("studies/<slug:slug>/batches/<int:number>/pause/", api.pause, name="api-pause"),
    path("studies/<slug:slug>/batches/<int:number>/resume/", api.resume, name="api-resume"),
    path("studies/<slug:slug>/batches/<int:number>/end/", api.end, name="api-end"),
    path("studies/<slug:slug>/pay/", api.pay, name="api-pay"),
    path("studies/<slug:slug>/payments/<int:pk>/", api.decide, name="api-decide"),
    path("studies/<slug:slug>/bonus/", api.bonus, name="api-bonus"),
    path("studies/<slug:slug>/topup/", api.topup, name="api-topup"),
    path("studies/<slug:slug>/ledger/", api.ledger, name="api-ledger"),
]
