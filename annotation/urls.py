"""Addresses of the pages. A worker's begin with their signed link; a researcher's need a log-in."""

from django.urls import path

from annotation.views import studies, work

app_name = "annotation"

urlpatterns = [
    # For workers: no cookies, the token in the address is who they are.
    path("join/<str:token>/", work.join, name="join"),
    path("w/<str:token>/", work.home, name="home"),
    path("w/<str:token>/<slug:slug>/<slug:stage>/start/", work.start, name="start"),
    path("w/<str:token>/sittings/<int:pk>/<int:number>/", work.item, name="work"),
    path("w/<str:token>/sittings/<int:pk>/<int:number>/draft/", work.draft, name="draft"),
    path("w/<str:token>/sittings/<int:pk>/instructions/", work.instructions, name="instructions"),
    path("w/<str:token>/sittings/<int:pk>/submit/", work.submit, name="submit"),
    path("w/<str:token>/sittings/<int:pk>/return/", work.give_back, name="give_back"),
    path("w/<str:token>/sittings/<int:pk>/done/", work.done, name="done"),
    # For researchers.
    path("studies/", studies.studies, name="studies"),
    path("studies/<slug:slug>/", studies.study, name="study"),
]
