"""Django's admin: what was judged, to look at."""

from django.contrib import admin

from annotation.admin import ReadOnly
from validation.models import Labelled, Resolution, Score, Tally, Threshold, Writing, WritingKey


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


@admin.register(Score)
class ScoreAdmin(ReadOnly):
    list_display = ("enrolment", "study", "stage", "annotations", "decided", "invalid", "scored_at")
    search_fields = ("enrolment__worker__code",)
    list_filter = ("study", "stage")
    list_select_related = ("enrolment", "study")


@admin.register(Writing)
class WritingAdmin(ReadOnly):
    list_display = ("annotation", "position", "copied", "copy_of")
    search_fields = ("annotation__item__ref",)
    list_select_related = ("annotation", "copy_of")


@admin.register(WritingKey)
class WritingKeyAdmin(ReadOnly):
    list_display = ("key", "writing")
    search_fields = ("key",)
    list_select_related = ("writing",)


@admin.register(Threshold)
class ThresholdAdmin(ReadOnly):
    list_display = ("enrolment", "study", "contradiction", "entailment", "fillers", "right", "scored")
    search_fields = ("enrolment__worker__code",)
    list_filter = ("study",)
    list_select_related = ("enrolment", "study")


@admin.register(Labelled)
class LabelledAdmin(ReadOnly):
    list_display = ("study", "at", "seconds", "state")
    search_fields = ("study__slug",)
    list_select_related = ("study",)
