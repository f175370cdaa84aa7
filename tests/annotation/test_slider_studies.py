"""Collecting under NOPE (2.2 to 2.7): balanced halves, shuffled sittings, fillers, pre-screener, who rates again."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation import exclusion, leasing, links, qualification, submission, way_in
from annotation.errors import LimitReached, NothingLeft
from annotation.intake import import_items
from annotation.models import Annotation, Assignment, Attempt, Feedback, Item, Qualification, Try
from annotation.reading import BadFile
from tests.factories import LONG_AGO, make_study, make_worker
from tests.slider import CAREFUL, CARELESS, make_fillers, make_pairs, make_slider_study, rate, ratings

pytestmark = pytest.mark.django_db
NOW = LONG_AGO + timedelta(hours=1)
SMALL = {"items_per_sitting": 4, "fillers_per_sitting": 2, "max_share": 0}


def study_with(pairs=8, **options):
    study = make_slider_study(**{**SMALL, **options})
    make_pairs(study, pairs)
    make_fillers(study, each=4)
    return study


def lease(study, code):
    return leasing.lease(make_worker(study, code, stages=["rate"]), study, "rate", at=NOW)[0]


def hand_in(sitting, position=500):
    return submission.submit(sitting, {a.pk: {"position": position} for a in sitting.bundle}, at=NOW)


def versions(sitting):
    return [(a.item.payload["item"], a.item.payload["version"]) for a in sitting.bundle if a.role == "work"]


# --- Sittings -------------------------------------------------------------------------------------


def test_a_sitting_mixes_fillers_in_and_is_shuffled_for_everybody_anew():
    study = study_with(pairs=30)
    sittings = [lease(study, f"w{n}") for n in range(1, 9)]
    for sitting in sittings:
        assert sorted(a.role for a in sitting.bundle) == ["filler"] * 2 + ["work"] * 4
        recorded = Assignment.objects.filter(sitting=sitting).order_by("pk").values_list("item__ref", flat=True)
        assert list(recorded) == [a.item.ref for a in sitting.bundle]
    same_half = [tuple(versions(s)) for s in sittings[::2]]
    assert len({frozenset(shown) for shown in same_half}) == 1
    assert len(set(same_half)) > 1


def test_two_groups_of_workers_get_different_versions_and_nobody_both():
    study = study_with(pairs=4)
    one, two = lease(study, "w1"), lease(study, "w2")
    assert {item for item, _ in versions(one)} == {item for item, _ in versions(two)} == {"p1", "p2", "p3", "p4"}
    assert not set(versions(one)) & set(versions(two))
    hand_in(one)
    with pytest.raises(NothingLeft):  # the other versions are free, but these items were met
        lease(study, "w1")


def halves(sitting):
    return set(Item.objects.filter(assignments__sitting=sitting, role="work").values_list("half", flat=True))


def test_who_has_nothing_left_in_their_half_helps_with_the_other():
    study = study_with(pairs=4, votes=2)
    one, two, three, _, five = (make_worker(study, f"w{n}", stages=["rate"]) for n in range(1, 6))
    for worker in (one, three):  # of the half of odd numbers
        sitting, _ = leasing.lease(worker, study, "rate", at=NOW)
        assert halves(sitting) == {1}
        hand_in(sitting)
    assert halves(leasing.lease(two, study, "rate", at=NOW)[0]) == {0}
    assert halves(leasing.lease(five, study, "rate", at=NOW)[0]) == {0}


def test_one_person_rates_at_most_fifteen_percent_of_all_versions():
    study = make_slider_study(items_per_sitting=20)
    make_pairs(study, 20)  # 40 versions: at most 6
    assert len(lease(study, "w1").bundle) == 6
    hand_in(lease(study, "w1"))
    with pytest.raises(LimitReached):
        lease(study, "w1")


# --- Fillers --------------------------------------------------------------------------------------


def test_fillers_are_scored_at_their_ends_and_neutral_ones_are_not():
    study = study_with()
    hand_in(lease(study, "w1"), position=1000)
    found = Annotation.objects.filter(uncounted="filler").values_list("item__gold__expected", "is_right")
    said = {"entailment": True, "contradiction": False, "neutral": None}
    assert [right for _, right in found] == [said[expected] for expected, _ in found]
    assert not Annotation.objects.filter(uncounted="").exclude(is_right=None).exists()


def test_published_ratings_of_fillers_come_in_the_same_file_and_count_nowhere_else():
    study = study_with()
    counts = rate(study, ratings({"ann": CAREFUL | {"p1-original": 900}}))
    assert counts.as_dict() == {"created": 7, "unchanged": 0, "bad": 0}
    rows = Annotation.objects.order_by("pk").values_list("uncounted", "assignment__role", "assignment__seat")
    assert list(rows) == [("filler", "filler", None)] * 6 + [("", "work", 0)]
    assert study.enrolments.get().taken == 1
    assert rate(study, ratings({"ann": CAREFUL | {"p1-original": 900}})).as_dict()["unchanged"] == 7


def test_a_filler_may_have_been_rated_twice_and_both_count():
    study = study_with()
    twice = [*ratings({"ann": {"f-neutral-1": 600}}), *ratings({"ann": {"f-neutral-1": 600}})]
    assert rate(study, twice).as_dict() == {"created": 2, "unchanged": 0, "bad": 0}
    assert rate(study, twice).as_dict() == {"created": 0, "unchanged": 2, "bad": 0}
    assert rate(study, ratings({"ann": {"f-neutral-1": 700}})).as_dict()["created"] == 1
    assert sorted(Annotation.objects.values_list("answer__position", flat=True)) == [600, 600, 700]


def test_of_two_ratings_of_one_version_the_first_is_kept_and_a_sixth_does_not_count():
    study = study_with()
    rate(study, ratings({w: {"p1-original": 900} for w in "abcde"}))
    assert rate(study, ratings({"a": {"p1-original": 100}})).as_dict() == {"created": 0, "unchanged": 1, "bad": 0}
    rate(study, ratings({"f": {"p1-original": 100}}))
    sixth = Annotation.objects.get(worker__code="nope:f")
    assert (sixth.uncounted, Annotation.objects.filter(uncounted="").count()) == ("late", 5)


def test_a_rating_off_the_grid_is_refused_with_its_line():
    study = study_with()
    bad = [
        *ratings({"ann": {"p1-original": 900}}),
        {"item": "p2-original", "worker": "ann", "stage": "rate", "answer": {"rating": 98.12}},
    ]
    with pytest.raises(BadFile, match=r"line 2: 98\.12 is no rating of the slider; the nearest are 98\.11 and"):
        rate(study, bad)
    assert not Annotation.objects.exists()


def test_who_rated_one_version_elsewhere_never_gets_the_other():
    study = study_with(pairs=2)
    rate(study, ratings({"w1": {"p1-original": 900, "p2-negated": 900}}))
    worker = Annotation.objects.first().worker
    with pytest.raises(NothingLeft):
        leasing.lease(worker, study, "rate", at=NOW)


# --- Collecting again -----------------------------------------------------------------------------


def recollected():
    """p1-original has lost one of its five ratings."""
    study = study_with(pairs=20, recollect_max_share=0.11)
    rate(study, ratings({w: {"p1-original": 900} for w in "abcde"}))
    gone = Annotation.objects.filter(worker__code="nope:a").values_list("pk", flat=True)
    exclusion.set_aside(study, list(gone), "excluded", by="t", why="w", at=NOW)
    return study


@pytest.mark.parametrize(
    ("fillers", "more", "may"),
    [
        (CAREFUL, {}, False),  # four scored fillers are not more than ten
        (CAREFUL, {"again": CAREFUL, "and again": CAREFUL}, True),
        (CARELESS, {"again": CARELESS, "and again": CARELESS}, False),  # half of them are right
    ],
)
def test_what_is_collected_again_goes_to_good_raters_of_enough_fillers(fillers, more, may):
    study = recollected()
    rate(study, [row for each in (fillers, *more.values()) for row in ratings({"w": each})])
    worker = Annotation.objects.filter(worker__code="nope:w").first().worker
    Item.objects.filter(open_seats__gt=0, recollected=False).update(open_seats=0)
    if may:
        sitting, _ = leasing.lease(worker, study, "rate", at=NOW)
        assert [a.item.ref for a in sitting.bundle if a.role == "work"] == ["p1-original"]
    else:
        with pytest.raises(NothingLeft):
            leasing.lease(worker, study, "rate", at=NOW)


def test_who_has_done_much_of_the_study_leaves_what_is_collected_again_to_others():
    study = recollected()
    rate(study, [row for _ in range(3) for row in ratings({"w": CAREFUL})])
    worker = Annotation.objects.filter(worker__code="nope:w").first().worker
    study.enrolments.filter(worker=worker).update(taken=5)  # of 40: more than 11%
    Item.objects.filter(open_seats__gt=0, recollected=False).update(open_seats=0)
    with pytest.raises(NothingLeft):
        leasing.lease(worker, study, "rate", at=NOW)


# --- The way in -----------------------------------------------------------------------------------

PRACTICE = [
    {"id": "t1", "premise": "P.", "hypothesis": "H.", "low": 99, "high": 100, "too_low": "It is certain."},
    {
        "id": "t2",
        "premise": "P.",
        "hypothesis": "H.",
        "low": 0.01,
        "high": 1,
        "too_low": "Not impossible.",
        "too_high": "Very unlikely.",
    },
]
TEST = [{"id": f"s{n}", "premise": "P.", "hypothesis": "H.", "low": 10 * n, "high": 10 * n} for n in range(10)]


def newcomer():
    study = study_with()
    for role, rows in (("practice", PRACTICE), ("qualification", TEST)):
        import_items(study, rows, role=role, by="t", at=LONG_AGO)
    worker = qualification.join(study, at=LONG_AGO)
    way_in.read_instructions(worker, study, "rate", at=LONG_AGO)
    return study, worker


def test_practice_is_left_once_it_is_right_with_feedback_and_every_try_is_kept(client):
    study, worker = newcomer()
    token = links.sign(worker, links.LINK, at=timezone.now())
    client.post(reverse("annotation:start", args=[token, study.slug, "rate"]))
    sitting = worker.sittings.get()
    page = reverse("annotation:work", args=[token, sitting.pk, 2])
    for position, said in (("500", "Very unlikely."), ("0", "Not impossible."), ("30", "Right.")):
        response = client.post(page, {"position": position, "go": "next"})
        assert said in response.content.decode()
    assert list(Try.objects.values_list("answer__rating", "is_right")) == [(50.0, False), (0.0, False), (0.54, True)]


def test_practice_takes_no_tolerance():
    assert [item.gold["tolerance"] for item in newcomer()[0].items.filter(role="practice")] == [0, 0]


@pytest.mark.parametrize(("right", "state"), [(7, "passed"), (6, "failed")])
def test_the_pre_screener_is_passed_at_seven_of_ten(right, state):
    study, worker = newcomer()
    Try.objects.bulk_create(
        Try(enrolment=study.enrolments.get(), item=item, answer={}, is_right=True, at=NOW)
        for item in study.items.filter(role="practice")
    )
    sitting = way_in.open_sitting(worker, study, "rate", way_in.Step.TEST, at=NOW)
    scale = study.protocol.stage("rate").questions[0].scale
    answers = {}
    for assignment in sitting.bundle:
        n = int(assignment.item.ref.removeprefix("s"))
        aim = 10 * n + (4.4 if n < right else 6)  # within the tolerance, or beyond it
        answers[assignment.pk] = {"position": scale.nearest_position(aim)}
    submission.submit(sitting, answers, at=NOW)
    attempt = Attempt.objects.get()
    assert (attempt.state, attempt.right, attempt.total) == (state, right, 10)
    assert Qualification.objects.get().state == {"passed": "qualified", "failed": "failed"}[state]


def test_the_screening_items_come_in_an_order_of_ones_own():
    study, worker = newcomer()
    Try.objects.bulk_create(
        Try(enrolment=study.enrolments.get(), item=item, answer={}, is_right=True, at=NOW)
        for item in study.items.filter(role="practice")
    )
    sitting = way_in.open_sitting(worker, study, "rate", way_in.Step.TEST, at=NOW)
    shown = [a.item.ref for a in sitting.bundle]
    assert sorted(shown) == sorted(row["id"] for row in TEST)
    assert shown != sorted(shown)


# --- The pages ------------------------------------------------------------------------------------


def opened(client, **options):
    study = study_with(**options)
    worker = make_worker(study, "w1", stages=["rate"])
    token = links.sign(worker, links.LINK, at=timezone.now())
    client.post(reverse("annotation:start", args=[token, "nope", "rate"]))
    return study, worker, token, worker.sittings.get()


def test_the_page_works_without_javascript_by_a_number(client):
    _, worker, token, sitting = opened(client)
    page = reverse("annotation:work", args=[token, sitting.pk, 1])
    shown = client.get(page).content.decode()
    assert "impossible" in shown
    assert 'name="position.typed"' in shown
    answer = client.post(page, {"position": "", "position.typed": "96,4", "go": "next"}, follow=True)
    assert answer.status_code == 200
    assert Assignment.objects.filter(worker=worker).order_by("pk").first().draft["position.typed"] == "96,4"
    again = client.get(page).content.decode()
    assert 'value="96.37"' in again  # what it comes to
    refused = client.post(page, {"position.typed": "often", "go": "next"})
    assert refused.status_code == 422
    assert "type a number from 0 to 100" in refused.content.decode()
    assert 'value="often"' in refused.content.decode()


def test_a_slider_that_was_not_touched_says_so(client):
    _, _, token, sitting = opened(client)
    refused = client.post(reverse("annotation:work", args=[token, sitting.pk, 1]), {"go": "next"})
    assert "Please adjust the slider to indicate your response." in refused.content.decode()


def test_first_touch_and_moves_are_recorded_unless_the_study_switches_that_off(client):
    for slug, switch in (("on", {"first_touch_ms": 1500, "moves": 3}), ("off", {})):
        study = make_slider_study(slug, **SMALL, signs=slug)
        make_pairs(study, 4)
        worker = make_worker(study, f"{slug}-w1", stages=["rate"])
        token = links.sign(worker, links.LINK, at=timezone.now())
        client.post(reverse("annotation:start", args=[token, slug, "rate"]))
        page = reverse("annotation:work", args=[token, worker.sittings.get().pk, 1])
        client.post(page, {"position": "7", "sign-first_touch_ms": "1500", "sign-moves": "3", "go": "next"})
        assert Assignment.objects.filter(worker=worker).order_by("pk").first().signs == switch


def test_a_worker_sees_no_id_of_an_item_through_the_api(client):
    _, worker, _, sitting = opened(client)
    header = {"HTTP_AUTHORIZATION": f"Token {links.sign(worker, links.TOKEN, at=timezone.now())}"}
    shown = client.post(
        "/api/v1/studies/nope/sittings/", {"stage": "rate"}, content_type="application/json", **header
    ).json()
    assert {each["item"]["id"] for each in shown["assignments"]} == {str(a.pk) for a in sitting.bundle}
    assert all(set(each["item"]["payload"]) == {"hypothesis", "premise"} for each in shown["assignments"])


def test_the_exit_form_is_optional_and_the_first_one_counts(client):
    study, _, token, sitting = opened(client)
    hand_in(sitting)
    done, send = (reverse(f"annotation:{name}", args=[token, sitting.pk]) for name in ("done", "feedback"))
    assert "Was the pay fair?" in client.get(done).content.decode()
    client.post(send, {})
    assert not Feedback.objects.exists()
    client.post(send, {"exit-fair_pay": "fair", "exit-enjoyed": "nonsense", "exit-comment": " Nice. "})
    client.post(send, {"exit-fair_pay": "too low"})
    assert Feedback.objects.get().answers == {"fair_pay": "fair", "comment": "Nice."}
    assert "Was the pay fair?" not in client.get(done).content.decode()
    assert client.post(send, {"exit-comment": "a\x00b"}).status_code == 422
    assert Feedback.objects.get().study == study


def test_who_has_not_handed_in_says_nothing_yet(client):
    _, _, token, sitting = opened(client)
    client.post(reverse("annotation:feedback", args=[token, sitting.pk]), {"exit-fair_pay": "fair"})
    assert not Feedback.objects.exists()


# --- Settings -------------------------------------------------------------------------------------


def test_settings_that_only_read_finished_work_can_be_changed_and_no_others(capsys):
    study = make_slider_study()
    call_command("change_study", "nope", set=["threshold_method=brent", "fixed_contradiction=2.2133"])
    study.refresh_from_db()
    assert (study.options["threshold_method"], study.options["fixed_contradiction"]) == ("brent", 2.2133)
    assert study.events.filter(what="settings changed").get().details["threshold_method"] == "brent"
    for wrong, said in (
        ("votes=3", "People work under votes, so it stays as it is; of this study only threshold_method, fixed_cont"),
        ("threshold_method=best", "threshold_method must be one of exact, brent"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("change_study", "nope", set=[wrong])
    make_study()
    with pytest.raises(CommandError, match="of this study nothing can be changed"):
        call_command("change_study", "crepe-a", set=["adjudication=third_annotator"])
