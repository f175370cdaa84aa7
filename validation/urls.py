"""Addresses of what was judged, and of who does the work."""

from django.urls import path

from validation.views import adjudicating, items, people, recollecting, reports, revoking

app_name = "validation"

urlpatterns = [
    path("studies/<slug:slug>/items/", items.items, name="items"),
    path("studies/<slug:slug>/items/<int:pk>/", items.evidence, name="evidence"),
    path("studies/<slug:slug>/adjudicate/", adjudicating.adjudicate, name="adjudicate"),
    path("studies/<slug:slug>/adjudicate/waiting/", adjudicating.waiting, name="contested"),
    path("studies/<slug:slug>/agreement/", items.agreement, name="agreement"),
    path("studies/<slug:slug>/labels/", items.labels, name="labels"),
    path("studies/<slug:slug>/thresholds/", items.thresholds, name="thresholds"),
    path("studies/<slug:slug>/artefacts/", items.artefacts, name="artefacts"),
    path("studies/<slug:slug>/diversity/", items.diversity, name="diversity"),
    path("studies/<slug:slug>/report/", reports.page, name="report"),
    path("studies/<slug:slug>/report/make/", reports.make, name="make_report"),
    path("studies/<slug:slug>/people/", people.workers, name="people"),
    path("studies/<slug:slug>/people/<int:number>/", people.worker, name="worker"),
    path("studies/<slug:slug>/people/<int:number>/note/", people.note, name="note"),
    path("studies/<slug:slug>/people/<int:number>/qualify/", people.qualify, name="qualify"),
    path("studies/<slug:slug>/people/<int:number>/answers/", people.answers, name="answers"),
    path("studies/<slug:slug>/people/revoke/", revoking.revoke, name="revoke"),
    path("studies/<slug:slug>/people/restore/", revoking.restore, name="restore"),
    path("studies/<slug:slug>/people/proposals/<int:pk>/dismiss/", revoking.dismiss, name="dismiss"),
    path("studies/<slug:slug>/people/appeals/", revoking.appeals, name="appeals"),
    path("studies/<slug:slug>/people/appeals/<int:pk>/", revoking.decide, name="decide_appeal"),
    path("studies/<slug:slug>/people/recollect/", recollecting.recollect, name="recollect"),
    path("studies/<slug:slug>/limits/", recollecting.limits, name="limits"),
    path("studies/<slug:slug>/log/", recollecting.log, name="log"),
]
