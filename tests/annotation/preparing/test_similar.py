from hypothesis import given
from hypothesis import strategies as st

from annotation.preparing.similar import Index, values_of

entities = st.lists(
    st.frozensets(st.tuples(st.sampled_from(["sex", "party", "award"]), st.sampled_from("abcd")), max_size=8),
    min_size=1,
    max_size=14,
)


def brute_force(values, place, excluded):
    """The best similarity there is, and who has it."""
    shared = {
        other: len(values[place] & values[other])
        for other in range(len(values))
        if other != place and other not in excluded
    }
    best = max(shared.values(), default=0)
    return best, [other for other, count in shared.items() if count == best] if best else []


@given(entities, st.sampled_from([0.0, 0.2, 0.4, 1.0]), st.data())
def test_the_index_finds_exactly_what_comparing_all_finds(values, common, data):
    index = Index(values, common)
    places = st.integers(0, len(values) - 1)
    for place in data.draw(st.lists(places, max_size=4)):
        excluded = data.draw(st.sets(places, max_size=4))
        best = index.most_similar(place, excluded)
        assert (best.similarity, best.places.tolist()) == brute_force(values, place, excluded)


def test_a_value_that_everybody_has_is_not_looked_up_for_everybody():
    everybody = [values_of({"sex": ["male"], "occupation": ["writer"], "award": [f"{n // 2}"]}) for n in range(1_000)]
    index = Index(everybody)
    best = index.most_similar(10)
    assert (best.similarity, best.places.tolist()) == (3, [11])
    assert (index.searched, index.compared) == (1, 1)


def test_a_value_under_two_properties_counts_twice():
    index = Index([values_of({"party": ["Green"], "award": ["Green", "Red"]})] * 2)
    assert index.most_similar(0).similarity == 3
