"""The agreement of a stage, as page and command show it."""

import pytest

from annotation.errors import UnknownStage
from tests.factories import (
    FALSE_ANSWER,
    FILTER_ANSWER,
    NORMAL_ANSWER,
    make_items,
    make_study,
)
from tests.people import answer
from validation import queries
from validation.agreement import ALL_THE_SAME, NO_PAIRS
from validation.errors import UnknownMeasure

pytestmark = pytest.mark.django_db


def point(estimate):
    return (estimate.value, estimate.items, estimate.left_out)


def test_agreement_leaves_filtered_items_out_and_says_how_many():
    study = make_study()
    make_items(study, 5)
    answer(study, "ann", FALSE_ANSWER, FALSE_ANSWER, NORMAL_ANSWER, FILTER_ANSWER, NORMAL_ANSWER)
    answer(study, "ben", FALSE_ANSWER, NORMAL_ANSWER, NORMAL_ANSWER, NORMAL_ANSWER, NORMAL_ANSWER)
    report = queries.agreement_of(study, "generate", "label")
    assert (report.items, report.annotations, report.workers, report.set_aside) == (5, 10, 2, 1)
    # Four items left, three agreed; 3 of 8 votes are "false presupposition": kappa = (3/4 - 17/32) / (15/32) = 7/15,
    # and alpha = 1 - 7 * 2 / (2 * 3 * 5) = 8/15.
    assert point(report.percent_agreement) == (0.75, 4, 1)
    assert point(report.fleiss_kappa) == (pytest.approx(7 / 15), 4, 1)
    assert point(report.krippendorff_alpha) == (pytest.approx(8 / 15), 4, 1)
    assert 0 <= report.percent_agreement.low < 0.75 < report.percent_agreement.high <= 1


def test_agreement_that_is_undefined_says_why():
    study = make_study()
    make_items(study, 1)
    report = queries.agreement_of(study, "generate", "label")
    assert [e.reason for e in (report.percent_agreement, report.fleiss_kappa)] == [NO_PAIRS, NO_PAIRS]
    for code in ("ann", "ben"):
        answer(study, code, NORMAL_ANSWER)
    report = queries.agreement_of(study, "generate", "label")
    assert (report.krippendorff_alpha.value, report.krippendorff_alpha.reason) == (None, ALL_THE_SAME)


@pytest.mark.parametrize("items", [1, 3])
def test_agreement_takes_two_queries_however_many_items(items, django_assert_num_queries):
    study = make_study()
    make_items(study, items)
    for code in ("ann", "ben"):
        answer(study, code, *[NORMAL_ANSWER] * items)
    with django_assert_num_queries(2):
        queries.agreement_of(study, "generate", "label")


@pytest.mark.parametrize(
    ("stage", "measure", "refusal"),
    [("judge", "label", UnknownStage), ("generate", "truth", UnknownMeasure)],
)
def test_an_unknown_stage_or_question_is_refused_with_the_known_ones(stage, measure, refusal):
    with pytest.raises(refusal, match=r"it has (generate, validate|label)\."):
        queries.agreement_of(make_study(), stage, measure)
