"""Exports in splits: refused, with who or what is in two, and written once everything is apart."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation import jobs
from annotation.models import Job
from tests.claims import hand_in, make_claim_study, make_claim_worker, take, write, written
from tests.factories import LONG_AGO, make_items, make_study
from tests.people import make_researcher
from validation.exports import gold_rows
from validation.models import Resolution
from validation.releases import Wanted

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """One settled item in each split, by three people."""
    made = make_claim_study(splits=["train", "dev", "test"], reviewed_splits="")
    for code in ("ann", "ben", "cat"):
        write(made, make_claim_worker(made, code))
    return made


def change(split, **gold):
    """As data of an older program might be."""
    resolution = Resolution.objects.get(item__part=split)
    Resolution.objects.filter(pk=resolution.pk).update(gold={**resolution.gold, **gold})


def refused(*options):
    with pytest.raises(CommandError) as refusal:
        call_command("export_gold", "creak", *options)
    return str(refusal.value)


def ids(study, **wanted):
    return [row["ex_id"] for row in gold_rows(study, wanted=Wanted(**wanted))]


def test_all_splits_come_one_after_the_other(study):
    assert ids(study) == ["train_0", "train_1", "dev_2", "dev_3", "test_4", "test_5"]
    assert [ids(study, split=split) for split in ("dev", "contrast")] == [["dev_2", "dev_3"], []]


def test_only_the_test_split_leaves_without_its_labels_and_with_them_when_asked(study):
    assert ["label" in row for row in gold_rows(study)] == [True] * 4 + [False] * 2
    assert ["label" in row for row in gold_rows(study, wanted=Wanted(labels=True))] == [True] * 6


def test_a_worker_in_two_splits_is_named_in_either_mode(study):
    writer = Resolution.objects.get(item__part="train").gold["writer"]
    change("test", writer=writer)
    said = "The worker W001 occurs in train and in test, which must not share any. Nothing was exported."
    assert [refused("--split", "dev"), refused("--mode", "as_released")] == [said, said]


def test_an_entity_in_dev_and_test_is_refused_unless_it_is_as_released(study):
    change("dev", entity="Lima", en_wiki_pageid="1")
    change("test", entity="lima", en_wiki_pageid="2")
    assert refused() == (
        "The entity 'lima' occurs in dev and in test, which must not share any. The mode as_released allows it."
    )
    assert len(ids(study, mode="as_released")) == 6


def test_an_entity_in_train_and_test_is_refused_in_either_mode_also_under_another_name(study):
    change("train", entity="Lima", en_wiki_pageid="7")
    change("test", entity="Lima (Peru)", en_wiki_pageid="7")
    said = "The entity 'Lima (Peru)' occurs in train and in test, which must not share any. Nothing was exported."
    assert [refused(), refused("--mode", "as_released")] == [said, said]


def test_a_pair_that_is_none_is_refused(study):
    gold = Resolution.objects.get(item__part="train").gold
    claim = gold["claims"][0]
    change("train", contrast={**claim, "of": "true", "label": "true", "writer": gold["writer"]})
    assert refused() == "The two members of the contrast pair 0 have the same label."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--split", "valid"], "There is no split 'valid', only train, dev, test, contrast."),
        (["--mode", "lax"], "There is no mode 'lax', only strict, as_released."),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(study, options, said):
    assert refused(*options) == said


def test_a_study_without_splits_says_so():
    make_items(make_study("creak"), 1)
    assert refused("--split", "dev") == "CREPE is not published in splits: leave out split, mode and labels."


def test_a_refused_export_leaves_no_file(study, tmp_path):
    change("test", writer=Resolution.objects.get(item__part="train").gold["writer"])
    out = tmp_path / "gold.jsonl"
    refused("--out", str(out))
    assert list(tmp_path.iterdir()) == []


# --- On the page ------------------------------------------------------------------------------------
def test_the_page_exports_the_split_that_was_chosen(client, study, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    client.force_login(make_researcher(study))
    chosen = {"kind": "export_gold", "split": "test", "mode": "strict", "labels": "on"}
    client.post(reverse("annotation:export", args=["creak"]), chosen)
    job = Job.objects.get()
    assert job.options == {"full": False, "keep_unresolved": False, "split": "test", "mode": "strict", "labels": True}
    jobs.run(job.pk)
    job.refresh_from_db()
    with job.file.open("rb") as file:
        rows = [json.loads(line) for line in file.read().decode().splitlines()]
    assert [(row["ex_id"], row["label"]) for row in rows] == [("test_4", "true"), ("test_5", "false")]


def test_a_refusal_becomes_the_jobs_sentence(study):
    change("test", writer=Resolution.objects.get(item__part="train").gold["writer"])
    job = jobs.ask(study, "export_gold", by=make_researcher(study), at=LONG_AGO)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error[:43]) == ("failed", "The worker W001 occurs in train and in test")


def test_only_a_study_with_splits_is_asked_for_one(client, study):
    plain = make_study()
    client.force_login(make_researcher(study))
    plain.team.set(study.team.all())
    pages = [client.get(reverse("annotation:data", args=[slug])).content.decode() for slug in ("creak", "crepe-a")]
    assert ['name="split"' in page for page in pages] == [True, False]


def test_one_writer_may_write_for_their_own_split_again(study):
    """The same person in one split is no clash."""
    more = make_claim_study("more", ["dev", "dev"], reviewed_splits="")
    ann = make_claim_worker(more, "ann")
    hand_in(take(more, ann), written(1))
    hand_in(take(more, ann), written(2))
    assert ids(more) == ["dev_0", "dev_1", "dev_2", "dev_3"]
