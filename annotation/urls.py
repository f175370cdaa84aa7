"""Addresses of the pages. A worker's begin with their signed link; a researcher's need a log-in."""

from django.urls import path

from annotation.views import entrance, jobs, studies, way_in, work, workers

app_name = "annotation"

urlpatterns = [
    # For workers: no cookies, the token in the address is who they are.
    path("join/<str:token>/", work.join, name="join"),
    path("w/<str:token>/", work.home, name="home"),
    # Before the addresses with a study's slug, which would take “sittings” for one.
    path("w/<str:token>/sittings/<int:pk>/<int:number>/", work.item, name="work"),
    path("w/<str:token>/sittings/<int:pk>/<int:number>/draft/", work.draft, name="draft"),
    path("w/<str:token>/sittings/<int:pk>/instructions/", work.instructions, name="instructions"),
    path("w/<str:token>/sittings/<int:pk>/submit/", work.submit, name="submit"),
    path("w/<str:token>/sittings/<int:pk>/return/", work.give_back, name="give_back"),
    path("w/<str:token>/sittings/<int:pk>/feedback/", work.feedback, name="feedback"),
    path("w/<str:token>/sittings/<int:pk>/done/", work.done, name="done"),
    path("w/<str:token>/<slug:slug>/<slug:stage>/start/", work.start, name="start"),
    path("w/<str:token>/<slug:slug>/<slug:stage>/consent/", way_in.consent, name="consent"),
    path("w/<str:token>/<slug:slug>/<slug:stage>/instructions/", way_in.instructions, name="instructions_first"),
    path("w/<str:token>/<slug:slug>/appeal/", way_in.appeal, name="appeal"),
    path("w/<str:token>/<slug:slug>/leave/", way_in.leave, name="leave"),
    # For researchers.
    path("studies/", studies.studies, name="studies"),
    path("new-study/", studies.new_study, name="new_study"),
    path("studies/<slug:slug>/", studies.study, name="study"),
    path("studies/<slug:slug>/days/", studies.days, name="days"),
    path("studies/<slug:slug>/times/", studies.times, name="times"),
    path("studies/<slug:slug>/settings/", studies.settings, name="settings"),
    path("studies/<slug:slug>/way-in/", entrance.page, name="way_in"),
    path("studies/<slug:slug>/way-in/consent/", entrance.consent, name="set_consent"),
    path("studies/<slug:slug>/way-in/carry/", entrance.carry, name="carry_over"),
    path("studies/<slug:slug>/way-in/review/", entrance.review, name="review"),
    path("studies/<slug:slug>/way-in/<int:pk>/again/", entrance.again, name="allow_again"),
    path("studies/<slug:slug>/way-in/<int:pk>/let-in/", entrance.let_in, name="let_in"),
    path("studies/<slug:slug>/workers/", workers.workers, name="workers"),
    path("studies/<slug:slug>/workers/add/", workers.add, name="add_workers"),
    path("studies/<slug:slug>/workers/<int:number>/link/", workers.link, name="worker_link"),
    path("studies/<slug:slug>/workers/<int:number>/revoke/", workers.revoke, name="revoke_links"),
    path("studies/<slug:slug>/enrolment/", workers.enrolment_link, name="enrolment"),
    path("studies/<slug:slug>/data/", jobs.data, name="data"),
    path("studies/<slug:slug>/data/import/", jobs.import_items, name="import_items"),
    path("studies/<slug:slug>/data/export/", jobs.export, name="export"),
    path("studies/<slug:slug>/data/<int:pk>/", jobs.job, name="job"),
    path("studies/<slug:slug>/data/<int:pk>/file/", jobs.download, name="download"),
    path("studies/<slug:slug>/data/<int:pk>/archive/", jobs.encrypted, name="encrypted"),
]
