import pytest

from annotation.preparing.multi_hop import make, read_categories, spoken
from tests.annotation.preparing.telling import Told, numbered

DEAD = {
    "_id": "5a7",
    "question": "Dead but Rising was a song by the Danish band formed in what city in 2001?",
    "answer": "Copenhagen",
    "type": "bridge",
    "supporting_facts": [["Dead but Rising", 0], ["Volbeat", 0], ["Dead but Rising", 1]],
    "context": [
        ["Dead but Rising", ["..."]],
        ["Volbeat", ["..."]],
        ["Home Dead (song)", ["..."]],
        ["Danish krone", ["..."]],
    ],
}
CATEGORIES = {
    "Dead but Rising": frozenset({"Volbeat songs", "2016 songs", "Rock songs"}),
    "Home Dead (song)": frozenset({"2016 songs", "Rock songs"}),
    "Danish krone": frozenset({"Currencies"}),
}


def made(*questions, categories=CATEGORIES, **settings):
    told = Told()
    return list(make(numbered(questions), categories, tell=told, **settings)), told


def test_a_true_title_gives_way_to_the_most_similar_distractor():
    items, told = made(DEAD)
    assert items == [
        {
            "id": "multi-5a7",
            "kind": "multi_hop",
            "relation": "bridge",
            "x": "Dead but Rising",
            "replacement": "Home Dead",
            "y": "Copenhagen",
            "question_without": "Dead but Rising was a song by the Danish band formed in what city in 2001?",
            "question_with": "Home Dead was a song by the Danish band formed in what city in 2001?",
            "similarity": 2,
            "meta": {"title": "Dead but Rising", "replacement_title": "Home Dead (song)"},
        }
    ]
    assert told.said == []


def test_of_two_titles_in_the_question_one_is_replaced_once():
    both = {**DEAD, "question": "Is Volbeat on Dead but Rising, and is Dead but Rising by Volbeat?", "type": "odd"}
    items, _ = made(both, categories={**CATEGORIES, "Volbeat": frozenset({"Currencies"})})
    assert [(item["question_with"], item["relation"]) for item in items] == [
        ("Is Volbeat on Home Dead, and is Dead but Rising by Volbeat?", None)
    ]


@pytest.mark.parametrize(
    ("change", "settings", "reason"),
    [
        ({"question": "What song was undeadened?"}, {}, "no supporting title in the question"),
        ({"context": DEAD["context"][:2]}, {}, "no distractor that the question does not mention already"),
        (
            {"question": "Is Dead but Rising like Home Dead or a Danish krone?"},
            {},
            "no distractor that the question does not mention already",
        ),
        ({}, {"categories": {}}, "no distractor shares a category"),
        ({}, {"threshold": 3}, "best below the threshold"),
        ({"context": [["Dead but Rising (film)", []]]}, {}, "no distractor that the question does not mention already"),
        ({"answer": None}, {}, "not in HotpotQA's format"),
        ({"context": [[]]}, {}, "not in HotpotQA's format"),
        ({"supporting_facts": "Volbeat"}, {}, "not in HotpotQA's format"),
        ({"_id": ""}, {}, "not in HotpotQA's format"),
    ],
)
def test_a_question_is_dropped_with_its_reason(change, settings, reason):
    items, told = made({**DEAD, **change}, **settings)
    assert (items, told.said) == ([], [("hotpot", 1, reason)])


def test_an_id_that_comes_again_is_dropped():
    items, told = made(DEAD, DEAD)
    assert (len(items), told.said) == (1, [("hotpot", 2, "id used twice")])


def test_ties_are_decided_by_the_seed():
    context = [*DEAD["context"][:2], *([f"Song {n}", []] for n in range(9))]
    categories = {f"Song {n}": frozenset({"2016 songs"}) for n in range(9)} | CATEGORIES
    chosen = [made({**DEAD, "context": context}, categories=categories, seed=seed)[0] for seed in (0, 0, 1, 2, 3)]
    assert chosen[0] == chosen[1]
    assert len({items[0]["replacement"] for items in chosen}) > 1


@pytest.mark.parametrize(
    ("title", "name"),
    [("Home Dead (song)", "Home Dead"), ("(What's the Story) Morning Glory?",) * 2, ("(song)",) * 2, ("A (b) c",) * 2],
)
def test_a_title_is_spoken_without_the_brackets_at_its_end(title, name):
    assert spoken(title) == name


def test_categories_are_read_once_for_each_title():
    told = Told()
    rows = [{"title": "A", "categories": ["x", "x", 3]}, {"title": "A", "categories": []}, {"title": "B"}, {}]
    assert read_categories(numbered(rows), told) == {"A": {"x"}}
    assert [said[1:] for said in told.said] == [
        (2, "same title as another page"),
        (3, "missing field"),
        (4, "missing field"),
    ]
