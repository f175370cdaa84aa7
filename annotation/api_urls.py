"""Addresses of the API."""

from django.urls import path

urlpatterns: list = []
