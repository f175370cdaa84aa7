"""Django's admin: what was judged, to look at."""

from django.contrib import admin

from annotation.admin import ReadOnly
from validation.models import Resolution, Tally


@admin.register(Tally)
class TallyAdmin(ReadOnly):
    list_display = ("item", "study", "stage", "measure", "profile")
    search_fields = ("item__ref",)
    list_filter = ("study", "stage", "measure")
    list_select_related = ("item", "study")


@admin.register(Resolution)
class ResolutionAdmin(ReadOnly):
    list_display = ("item", "study", "outcome", "label", "why", "at")
    search_fields = ("item__ref", "label")
    list_filter = ("study", "outcome", "label")
    list_select_related = ("item", "study")
