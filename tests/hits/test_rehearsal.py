"""Rehearsals: who comes when, what it comes to, and one small run from publishing to gold over HTTP."""

import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from random import Random

import psutil
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from annotation.models import Annotation, Event, Item, Study, Worker
from hits import cast, crowd, forecast, rehearsal, throwaway
from hits.cast import DAY, HOUR, Kind, Person, Timeline
from hits.errors import BadTerms
from hits.forecast import Bought
from hits.models import Batch, Intent, Payment
from tests.factories import FALSE_ANSWER, LONG_AGO, make_items, make_study

pytestmark = pytest.mark.sqlite  # what is rehearsed is copied into one, wherever the study is

ROOT = Path(__file__).parents[2]


def person(**more):
    """Sits down at 10 o'clock, an hour after the opening, for two hours; every day."""
    usual = {"number": 1, "kind": Kind.GOOD, "key": "7 1", "accuracy": 1.0, "pace": 1.0, "comes_at": 0.0}
    usual |= {"begins": 10 * HOUR, "stays": 2 * HOUR, "misses": 0.0, "a_day": 3}
    return Person(**usual | more)


# --- Who comes, and when ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        (0, (0, 0, 0, 0)),
        (1, (1, 0, 0, 0)),
        (6, (3, 1, 1, 1)),
        (20, (12, 3, 3, 2)),
        (30, (18, 5, 4, 3)),
    ],
)
def test_the_kinds_fill_the_crowd_with_whole_people(people, expected):
    found = cast.kinds(people)
    assert tuple(found[kind] for kind in Kind) == expected
    assert sum(found.values()) == people


def test_a_seed_makes_one_crowd_and_another_seed_another():
    assert cast.cast(12, 7) == cast.cast(12, 7)
    assert cast.cast(12, 7) != cast.cast(12, 8)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (0, 1 * HOUR),  # opened at 9, they sit down at 10
        (1.5 * HOUR, 1.5 * HOUR),  # they are there
        (3 * HOUR, DAY + 1 * HOUR),  # they have just left
        (5 * DAY + 4 * HOUR, 6 * DAY + 1 * HOUR),
    ],
)
def test_people_are_there_in_their_hours(at, expected):
    assert cast.there_from(person(), at) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"begins": 8 * HOUR, "stays": 4 * HOUR}, 0),  # since an hour before the opening
        ({"begins": 23 * HOUR, "stays": 12 * HOUR}, 0),  # since last night
        ({"comes_at": 30 * HOUR}, 2 * DAY + 1 * HOUR),
    ],
)
def test_people_who_are_there_already_or_find_it_late(more, expected):
    assert cast.there_from(person(**more), 0) == expected


def test_people_miss_some_days_the_same_ones_at_every_look():
    half = person(misses=0.5)
    days = [day for day in range(100) if half.comes_on(day)]
    assert days == [day for day in range(100) if half.comes_on(day)]
    assert 30 < len(days) < 70


def test_tomorrow_is_the_next_sitting_down():
    assert cast.tomorrow(person(), 2 * HOUR) == DAY + 1 * HOUR


@pytest.mark.parametrize(("refusals", "hours"), [(1, 1), (2, 4), (3, 16)])
def test_who_is_refused_again_and_again_comes_less_and_less(refusals, hours):
    assert cast.after_refusals(refusals) == hours * HOUR


def test_slow_people_take_longer_by_their_pace():
    usual, slow = (cast.seconds_of(4, person(pace=pace), Random("x")) for pace in (1.0, 2.0))
    assert slow == [2 * seconds for seconds in usual]


def test_things_happen_in_the_order_of_their_times_and_then_of_planning():
    time, seen = Timeline(), []
    for when, name in ((5, "late"), (1, "first"), (1, "second")):
        time.at(when, lambda name=name: seen.append((time.now, name)))
    time.at(2, lambda: time.after(1, lambda: seen.append((time.now, "after"))))
    time.run(lambda: False)
    assert seen == [(1, "first"), (1, "second"), (3, "after"), (5, "late")]


def test_a_timeline_stops_once_it_is_over():
    time, seen = Timeline(), []
    for when in (1, 2):
        time.at(when, lambda when=when: seen.append(when))
    time.run(lambda: bool(seen))
    assert seen == [1]


def test_a_sample_keeps_the_order_and_follows_from_the_seed():
    assert list(cast.sample(3, 5, 7)) == [0, 1, 2]
    drawn = cast.sample(100, 10, 7)
    assert (list(drawn), len(drawn)) == (sorted(drawn), 10)
    assert drawn == cast.sample(100, 10, 7) != cast.sample(100, 10, 8)


# --- What it comes to ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("items", "expected"), [(10, "1.33"), (20, "2.67"), (1, "0.13")])
def test_without_a_reward_an_hour_pays_the_usual_wage(items, expected):
    assert forecast.usual_reward(items) == Decimal(expected)


def test_money_is_summed_by_stage_with_its_fees():
    sums = [
        Bought("generate", "reward", Decimal("1.00"), Decimal("0.20")),
        Bought("generate", "reward", Decimal("1.00"), Decimal("0.20"), is_test=True),
        Bought("validate", "reward", Decimal("0.50"), Decimal("0.10"), is_wasted=True),
        Bought("", "topup", Decimal("2.00"), Decimal("0.40")),
    ]
    generate = {"stage": "generate", "sittings": 2, "of_them_tests": 1}
    validate = {"stage": "validate", "sittings": 1, "of_them_tests": 0}
    assert forecast.money(sums, ["generate", "validate"]) == {
        "stages": [
            {**generate, "rewards": "2.00", "fees": "0.40", "total": "2.40"},
            {**validate, "rewards": "0.50", "fees": "0.10", "total": "0.60"},
        ],
        "rewards": "2.50",
        "bonuses": "2.00",
        "fees": "0.90",
        "total": "5.40",
        "of_it_for_work_thrown_away": "0.60",
    }


@pytest.mark.parametrize(
    ("items", "all_items", "expected"),
    [
        (100, 100, None),
        (100, 250, {"items": 250, "total": "25.00", "days_at_most": 5.0}),
        (3, 10, {"items": 10, "total": "33.33", "days_at_most": 6.7}),
    ],
)
def test_a_sample_is_scaled_to_all_items(items, all_items, expected):
    assert forecast.in_full(Decimal("10.00"), 2.0, items, all_items) == expected


@pytest.mark.parametrize(("hours", "expected"), [(0, 0.0), (12, 0.5), (60, 2.5)])
def test_days_are_counted_from_the_opening(hours, expected):
    assert forecast.days(hours * HOUR) == expected


# --- Pages as people read them ------------------------------------------------------------------------

PAGE = """<form id="item" action="next/" method="post"><input type="hidden" name="active_seconds" value="3">
<input type="radio" name="q" value="a" checked><input type="radio" name="q" value="b">
<textarea name="t">old &amp; worn</textarea><input name="gone" value="x" disabled>
<button name="go" value="1"></button><button name="go" value="next">Next</button></form>
<p role="alert">Not <b>yet</b><br> right.</p><p>Else</p>"""


def test_a_form_is_read_and_filled_in_as_a_browser_would():
    page = crowd.read_page("http://x/", 200, PAGE)
    assert page.item.filled({}) == {"active_seconds": "3", "q": "a", "t": "old & worn"}
    assert page.item.filled({"q": "b", "t": "new"}) == {"active_seconds": "3", "q": "b", "t": "new"}
    assert page.item.numbered == 1
    assert page.said == ["Not yet right."]


@pytest.mark.parametrize("given", [{"q": "c"}, {"nowhere": "x"}, {"gone": "y"}])
def test_what_a_form_has_no_place_for_is_a_fault(given):
    with pytest.raises(crowd.Lost):
        crowd.read_page("http://x/", 200, PAGE).item.filled(given)


def test_the_crowd_never_leaves_the_one_server():
    site = crowd.Site("http://127.0.0.1:1")
    with pytest.raises(crowd.Lost, match=r"led away from 127.0.0.1:1, to example.org"):
        site.get("http://example.org/task")


# --- The study it is about ----------------------------------------------------------------------------


def with_known(items: int, **options: object) -> Study:
    """Everything that rules, limits and hidden items need, in small."""
    study = make_study("crepe-a", items_per_sitting=2, revoke_after=4, **options)
    for n, item in enumerate(make_items(study, items)):
        item.gold = FALSE_ANSWER if n % 2 else {"label": "normal", "reason": None, "pairs": []}
        item.save()
    Study.objects.filter(pk=study.pk).update(work_items=items)
    return study


@pytest.mark.django_db
def test_rewards_come_from_what_is_asked_then_from_what_was_paid():
    study = make_study("crepe-a", items_per_sitting=10, pay_per_sitting=1.5)
    both = rehearsal.rewards_of(study, None, {})
    assert both == {"generate": Decimal("1.50"), "validate": Decimal("1.50")}
    asked = rehearsal.rewards_of(study, Decimal("1.20"), {"validate": Decimal("0.80")})
    assert asked == {"generate": Decimal("1.20"), "validate": Decimal("0.80")}
    unpaid = make_study("crepe-b", items_per_sitting=10)
    assert rehearsal.rewards_of(unpaid, None, {})["generate"] == Decimal("1.33")


@pytest.mark.django_db
def test_what_cannot_be_rehearsed_is_refused_before_anything_starts():
    study = make_study("crepe-a")
    with pytest.raises(BadTerms, match="no items"):
        rehearsal.rehearse(study)
    make_items(study, 1)
    with pytest.raises(BadTerms, match="workers must be from 1 to 500"):
        rehearsal.rehearse(study, workers=0)
    with pytest.raises(BadTerms, match="no stage 'rate'"):
        rehearsal.rehearse(study, stage_rewards={"rate": Decimal(1)})
    with pytest.raises(BadTerms, match="reward is dollars and cents"):
        rehearsal.rehearse(study, reward=Decimal("1.234"))


@pytest.mark.django_db
def test_a_copy_has_what_was_imported_and_nothing_that_was_done():
    study = with_known(5, max_per_group="entity:2")
    make_items(study, 1, role="practice", prefix="p", gold=FALSE_ANSWER)
    copy = json.loads(json.dumps(throwaway.copy_of(study, most=3, seed=7)))
    assert [row["role"] for row in copy["items"]] == ["work"] * 3 + ["practice"]
    chosen = study.items.filter(ref__in=[row["ref"] for row in copy["items"]])
    before = list(chosen.values_list("ref", "payload", "gold"))
    study.items.all().delete()
    study.delete()
    loaded = throwaway.load(copy, by="test", at=LONG_AGO)
    assert list(loaded.items.values_list("ref", "payload", "gold")) == before
    assert (loaded.work_items, loaded.options) == (5, study.options)
    assert set(loaded.items.values_list("role", "state", "stage", "open_seats")) == {
        ("work", "open", "generate", 2),
        ("practice", "open", "", 0),
    }


@pytest.mark.django_db
def test_nothing_is_played_outside_of_a_folder_that_is_thrown_away(tmp_path):
    (tmp_path / throwaway.STUDY).write_text("{}")
    with pytest.raises(throwaway.NotACopy):
        rehearsal.play(tmp_path)
    with pytest.raises(CommandError, match="nothing was done"):
        call_command("rehearse", "crepe-a", "--in", str(tmp_path))


def test_no_setting_of_the_researcher_goes_along(monkeypatch, tmp_path):
    for name in ("MTURK_ENDPOINT_URL", "MTURK_ALLOW_SPENDING", "HTTP_PROXY", "AWS_PROFILE", "S3_BUCKET", "HTTPS"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("DATABASE_URL", "postgres://theirs")
    around = throwaway.environment(tmp_path, "mturk")
    assert "theirs" not in " ".join(around.values())
    assert around["DATABASE_URL"] == f"sqlite:///{tmp_path}/touchstone.sqlite3"


# --- The whole thing ---------------------------------------------------------------------------------------


def everything():
    """All that the installation holds which a rehearsal might touch."""
    models = (Study, Item, Annotation, Event, Worker, Batch, Intent, Payment)
    return {model: list(model.objects.order_by("pk").values()) for model in models}


@pytest.mark.django_db
def test_a_rehearsal_ends_with_gold_and_paid_people_and_is_the_same_again():
    study = with_known(6)
    before = everything()
    first = rehearsal.rehearse(study, workers=6, seed=2, reward=Decimal("0.40"), fees="mturk", target=Decimal(20))
    assert everything() == before
    items = first["items"]
    assert (items["rehearsed"], items["open"], items["settled"] + items["dropped"] + items["unresolved"]) == (6, 0, 6)
    assert (first["unfinished"], first["unpaid"], first["in_full"], first["budget_left"]) == ("", 0, None, None)
    assert (first["people"]["revoked"], first["collected_again"]) == ({"sloppy": 1}, 4)
    assert first["visits"]["vanished"] == 1
    assert Decimal(first["money"]["of_it_for_work_thrown_away"]) > 0
    generate = first["money"]["stages"][0]
    assert generate["sittings"] >= 6
    assert Decimal(generate["rewards"]) == generate["sittings"] * Decimal("0.40")
    assert Decimal(generate["fees"]) == generate["sittings"] * Decimal("0.08")
    assert Decimal(first["money"]["bonuses"]) > 0
    assert Decimal(first["pay"]["median"]) >= 20
    assert first["time"]["days"] > 0
    assert "settled" in forecast.shown(first)
    again = rehearsal.rehearse(study, workers=6, seed=2, reward=Decimal("0.40"), fees="mturk", target=Decimal(20))
    assert json.dumps(again) == json.dumps(first)


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_running_when_it_is_interrupted(tmp_path, how):
    with_known(4)
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
    environment |= {"DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}", "SECRET_KEY": "x" * 50}
    environment |= {"VAR_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "rehearse", "crepe-a"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes) as process:
        parent = psutil.Process(process.pid)
        while len(children := parent.children(recursive=True)) < 2:  # the server, and who plays
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.05)
        process.send_signal(how)
        process.wait(timeout=60)
        _, alive = psutil.wait_procs(children, timeout=60)
    assert alive == []
    if how != signal.SIGKILL:
        assert list(tmp_path.glob("touchstone-rehearsal-*")) == []
