"""A sample of public attributes replaced before their owner is used, in processes that may end by themselves."""

import json

import random_calls
import replaced_attributes

from warpsim.core.runtime.arrays.fixed import Fixed

SEED, CALLS = 0, 200
INSIDE = {"IsoSurfaceBase"}  # of which only derived classes are made


def test_no_replaced_attribute_ends_the_process_or_changes_what_is_right(capsys):
    counts, failures = replaced_attributes.run(SEED, CALLS)
    with capsys.disabled():
        print(f" replaced attributes: {counts}")
    assert failures == [], json.dumps(failures, indent=1)
    assert sum(counts.values()) == CALLS and counts["refused"] > CALLS // 5


def test_every_public_class_with_attributes_that_stay_is_reached():
    public = {k.__name__ for k in random_calls.public().values() if isinstance(k, type) and issubclass(k, Fixed)}
    reached = set()
    for make, _ in replaced_attributes.OWNERS.values():
        for _, holder, _, value in replaced_attributes.attributes(make()):
            reached |= {c.__name__ for thing in (holder, value) for c in type(thing).__mro__}
    assert public - reached - INSIDE == set()


def test_the_same_seed_makes_the_same_calls():
    first, second = (replaced_attributes.Caller(3, ["Mesh", "Bvh", "SGD"]) for _ in range(2))
    assert [first.one() for _ in range(40)] == [second.one() for _ in range(40)]
