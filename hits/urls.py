"""Addresses of the task frame and of the batches' pages."""

from django.urls import path

from hits.views import batches, bonuses, buying, frame, paying

app_name = "hits"

urlpatterns = [
    # In a marketplace's frame: no cookies; who is here is a claim.
    path("frame/go/<str:token>/", frame.go, name="go"),
    path("frame/<str:key>/", frame.enter, name="enter"),
    # For researchers: a log-in is needed; for most of what a button does, leave to spend.
    path("studies/<slug:slug>/batches/", batches.batches, name="batches"),
    path("studies/<slug:slug>/batches/spend/", batches.spend, name="spend"),
    path("studies/<slug:slug>/batches/balance/", batches.balance, name="balance"),
    path("studies/<slug:slug>/batches/budget/", batches.budget, name="budget"),
    path("studies/<slug:slug>/batches/new/", buying.new_batch, name="new_batch"),
    path("studies/<slug:slug>/batches/calls/<int:pk>/", batches.stuck, name="stuck"),
    path("studies/<slug:slug>/batches/visits/<int:pk>/seen/", batches.seen, name="seen"),
    path("studies/<slug:slug>/batches/<int:number>/", batches.batch, name="batch"),
    path("studies/<slug:slug>/batches/<int:number>/hits/", batches.hits, name="hits"),
    path("studies/<slug:slug>/batches/<int:number>/top-up/", buying.top_up, name="top_up"),
    path("studies/<slug:slug>/batches/<int:number>/extend/", buying.extend, name="extend"),
    path("studies/<slug:slug>/batches/<int:number>/pause/", buying.pause, name="pause"),
    path("studies/<slug:slug>/batches/<int:number>/resume/", buying.resume, name="resume"),
    path("studies/<slug:slug>/batches/<int:number>/end/", buying.end, name="end"),
    path("studies/<slug:slug>/pay/", paying.pay, name="pay"),
    path("studies/<slug:slug>/pay/hourly/", paying.hourly, name="hourly"),
    path("studies/<slug:slug>/pay/receipts/", paying.receipts, name="receipts"),
    path("studies/<slug:slug>/pay/decide/", paying.decide, name="decide"),
    path("studies/<slug:slug>/pay/all/", paying.pay_all, name="pay_all"),
    path("studies/<slug:slug>/pay/bonus/", bonuses.bonus, name="bonus"),
    path("studies/<slug:slug>/pay/bonuses/", bonuses.bonuses, name="bonuses"),
    path("studies/<slug:slug>/pay/top-up/", bonuses.wage, name="wage"),
]
