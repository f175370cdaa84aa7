"""Django's admin: every model is there, and what code keeps in step cannot be changed by hand."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.urls import reverse

from annotation.admin import ReadOnly
from annotation.views.pages import RESEARCHER
from tests.factories import NORMAL_ANSWER, make_items, make_study
from tests.people import answer, make_admin, make_researcher

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
OURS = [model for app in ("annotation", "validation") for model in apps.get_app_config(app).get_models()]
CHANGEABLE = {"study"}


def of_ours(model):
    return model._meta.model_name


@pytest.fixture
def root(client):
    user = make_admin()
    client.force_login(user)
    return user


@pytest.mark.parametrize("model", OURS, ids=of_ours)
def test_every_model_can_be_looked_at_and_searched(client, root, model):
    study = make_study()
    make_items(study, 1)
    for code in ("ann", "ben"):
        answer(study, code, NORMAL_ANSWER)
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    assert client.get(url, {"q": "x"}).status_code == 200
    assert client.get(url).status_code == 200
    for row in model.objects.all()[:1]:
        change = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])
        assert client.get(change).status_code == 200


@pytest.mark.parametrize("model", OURS, ids=of_ours)
def test_nothing_is_added_or_deleted_by_hand_and_little_is_changed(rf, model):
    request = rf.get("/")
    request.user = make_admin()
    page = admin.site._registry[model]
    assert not page.has_add_permission(request)
    assert not page.has_delete_permission(request)
    assert isinstance(page, ReadOnly) == (model._meta.model_name not in CHANGEABLE)
    assert page.has_change_permission(request) == (model._meta.model_name in CHANGEABLE)


def test_an_admin_puts_a_team_together_and_the_rest_of_the_study_stays(client, root):
    study, maria = make_study(), make_researcher()
    url = reverse("admin:annotation_study_change", args=[study.pk])
    changed = client.post(url, {"title": "New title", "team": [maria.pk], "slug": "other", "options": "{}"})
    assert changed.status_code == 302
    study.refresh_from_db()
    assert (study.title, study.slug, study.options["items_per_sitting"]) == ("New title", "crepe-a", 10)
    assert list(study.team.all()) == [maria]


def test_a_researcher_has_no_door_to_the_admin(client):
    client.force_login(make_researcher())
    assert client.get(reverse("admin:index")).status_code != 200


def test_the_group_of_researchers_is_there_from_the_first_migration_on():
    assert Group.objects.filter(name=RESEARCHER).exists()
