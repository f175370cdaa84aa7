"""Django's admin, for what has no page of its own.

Most rows here are written by one domain function each, which keeps them in step; by hand they can only be looked at.
"""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from annotation.models import (
    Annotation,
    Appeal,
    Assignment,
    Attempt,
    ConsentText,
    Enrolment,
    Event,
    Exposure,
    Feedback,
    Item,
    ItemGroup,
    Job,
    Qualification,
    Revocation,
    Sitting,
    Study,
    Try,
    Wording,
    Worker,
)


class KeptByCode(admin.ModelAdmin):
    """May be changed in part, but neither added nor deleted by hand."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnly(KeptByCode):
    """May only be looked at."""

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Study)
class StudyAdmin(KeptByCode):
    """Its team is put together here."""

    list_display = ("slug", "title", "protocol_slug", "protocol_version", "enrolment_open", "created_at")
    search_fields = ("slug", "title")
    list_filter = ("protocol_slug", "enrolment_open")
    fields = ("slug", "title", "team", "protocol_slug", "protocol_version", "options", "snapshot", "created_at")
    readonly_fields = ("slug", "protocol_slug", "protocol_version", "options", "snapshot", "created_at")
    filter_horizontal = ("team",)


@admin.register(Worker)
class WorkerAdmin(ReadOnly):
    list_display = ("code", "created_at", "link_serial")
    search_fields = ("code",)


@admin.register(Enrolment)
class EnrolmentAdmin(ReadOnly):
    list_display = ("study", "running_code", "worker", "created_at")
    search_fields = ("study__slug", "worker__code")
    list_select_related = ("study", "worker")


@admin.register(Qualification)
class QualificationAdmin(ReadOnly):
    list_display = ("enrolment_id", "worker", "study", "stage", "state", "created_at")
    search_fields = ("enrolment__study__slug", "enrolment__worker__code")
    list_filter = ("state", "stage")
    list_select_related = ("enrolment__study", "enrolment__worker")

    def worker(self, row: Qualification) -> str:
        return row.enrolment.worker.code

    def study(self, row: Qualification) -> str:
        return row.enrolment.study.slug


@admin.register(ConsentText)
class ConsentTextAdmin(ReadOnly):
    list_display = ("study", "version", "created_at")
    search_fields = ("study__slug", "text")
    list_select_related = ("study",)


@admin.register(Revocation)
class RevocationAdmin(ReadOnly):
    list_display = ("enrolment", "state", "rule", "work", "by", "at", "decided_by", "decided_at")
    search_fields = ("enrolment__worker__code", "why")
    list_filter = ("state", "rule")
    list_select_related = ("enrolment",)


@admin.register(Appeal)
class AppealAdmin(ReadOnly):
    list_display = ("revocation", "outcome", "at", "decided_by", "decided_at")
    search_fields = ("text", "answer")
    list_filter = ("outcome",)
    list_select_related = ("revocation__enrolment",)


@admin.register(Attempt)
class AttemptAdmin(ReadOnly):
    list_display = ("qualification", "number", "state", "right", "total", "decided_by", "decided_at")
    search_fields = ("qualification__enrolment__worker__code",)
    list_filter = ("state",)
    list_select_related = ("qualification",)


@admin.register(Try)
class TryAdmin(ReadOnly):
    list_display = ("enrolment", "item", "is_right", "at")
    search_fields = ("enrolment__worker__code", "item__ref")
    list_filter = ("is_right",)
    list_select_related = ("enrolment", "item")


@admin.register(Exposure)
class ExposureAdmin(ReadOnly):
    list_display = ("enrolment", "group", "met")
    search_fields = ("group",)
    list_select_related = ("enrolment",)


@admin.register(ItemGroup)
class ItemGroupAdmin(ReadOnly):
    list_display = ("item", "group")
    search_fields = ("group", "item__ref")
    list_select_related = ("item",)


@admin.register(Item)
class ItemAdmin(ReadOnly):
    list_display = ("ref", "study", "role", "state", "stage", "open_seats", "votes_wanted")
    search_fields = ("ref",)
    list_filter = ("study", "role", "state")
    list_select_related = ("study",)


@admin.register(Sitting)
class SittingAdmin(ReadOnly):
    list_display = ("pk", "study", "worker", "stage", "state", "opened_at", "leased_until", "closed_at")
    search_fields = ("worker__code",)
    list_filter = ("study", "state", "stage")
    list_select_related = ("study", "worker")


@admin.register(Assignment)
class AssignmentAdmin(ReadOnly):
    list_display = ("pk", "item", "worker", "stage", "seat", "state", "active_seconds", "closed_at")
    search_fields = ("item__ref", "worker__code")
    list_filter = ("state", "stage")
    list_select_related = ("item", "worker")


@admin.register(Annotation)
class AnnotationAdmin(ReadOnly):
    list_display = ("pk", "study", "item", "worker", "stage", "uncounted", "submitted_at")
    search_fields = ("item__ref", "worker__code")
    list_filter = ("study", "stage", "uncounted")
    list_select_related = ("study", "item", "worker")


@admin.register(Feedback)
class FeedbackAdmin(ReadOnly):
    list_display = ("sitting", "study", "answers", "at")
    search_fields = ("sitting__worker__code",)
    list_filter = ("study",)
    list_select_related = ("sitting", "study")


@admin.register(Event)
class EventAdmin(ReadOnly):
    list_display = ("at", "study", "what", "item", "actor", "why")
    search_fields = ("item__ref", "actor", "what")
    list_filter = ("study",)
    list_select_related = ("study", "item")


@admin.register(Wording)
class WordingAdmin(ReadOnly):
    list_display = ("study", "item", "worker", "field", "text")
    list_select_related = ("study", "item", "worker")
    search_fields = ("study__slug", "text")


@admin.register(Job)
class JobAdmin(ReadOnly):
    list_display = ("pk", "study", "kind", "state", "done", "total", "asked_by", "asked_at", "finished_at")
    search_fields = ("study__slug", "asked_by__username")
    list_filter = ("kind", "state")
    list_select_related = ("study", "asked_by")
