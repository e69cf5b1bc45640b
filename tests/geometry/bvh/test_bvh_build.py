"""A hierarchy is a tree over all finite boxes, with true bounds, within its depth, the same on any thread count."""

import itertools
import threading

import numpy as np
import pytest
from bvh_boxes import KINDS, SCALES, boxes, finite
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.geometry.bvh import build as bvh_build
from warpsim.geometry.bvh.constructors import construct
from warpsim.geometry.bvh.nodes import EMPTY, MAX_DEPTH, MAX_LEAF, BvhNode
from warpsim.geometry.bvh.refit import leaf_slots, refit


def build(lowers, uppers, leaf_size=1):
    return construct("sah", lowers, uppers, leaf_size)[0]


def build_lbvh(lowers, uppers, leaf_size=1):
    return construct("lbvh", lowers, uppers, leaf_size)[0]


BUILDERS = pytest.mark.parametrize("make", [build, build_lbvh], ids=["sah", "lbvh"])


def arrays(lower, upper, device=None):
    return wp.array(lower, dtype=wp.vec3, device=device), wp.array(upper, dtype=wp.vec3, device=device)


def corners(nodes):
    """Lower and upper corners of all slots, (nodes, 4, 3) each."""
    return tuple(np.stack([nodes[f"{side}_{axis}"] for axis in "xyz"], -1) for side in ("lower", "upper"))


def check(built, lower, upper, leaf_size):
    """Everything that `bvh_nodes` and `bvh_refit` promise."""
    tree, stages = built
    nodes, items = tree.nodes.numpy(), tree.items.numpy()
    assert sorted(items) == list(np.flatnonzero(finite(lower, upper)))
    low, high = corners(nodes)
    seen = np.zeros(len(items), int)
    assert nodes[0]["parent"] == -1
    assert nodes["depth"].max() < MAX_DEPTH
    for at, node in enumerate(nodes):
        used = node["child"] != EMPTY
        assert list(used) == sorted(used, reverse=True)  # empty slots come last
        assert np.isposinf(low[at][~used]).all() and np.isneginf(high[at][~used]).all()
        below = 0
        for s in np.flatnonzero(used):
            child = node["child"][s]
            if child >= 0:
                assert (
                    child > at and nodes[child]["parent"] == 4 * at + s and nodes[child]["depth"] == node["depth"] + 1
                )
                first, count = nodes[child]["first"], nodes[child]["count"]
            else:
                first, count = (-2 - child) >> 3, ((-2 - child) & 7) + 1
                assert count <= leaf_size
                seen[first : first + count] += 1
            held = items[first : first + count]
            assert np.array_equal(low[at, s], lower[held].min(0)) and np.array_equal(high[at, s], upper[held].max(0))
            assert node["first"] <= first and first + count <= node["first"] + node["count"]
            below += count
        assert below == node["count"]
    assert (seen == 1).all()
    check_stages(nodes, [stage.numpy() for stage in stages])


def check_stages(nodes, stages):
    """Each node but the root is passed on once, after its children, and by the thread that does theirs or later."""
    stage, thread = np.full(len(nodes), -1), np.full(len(nodes), -1)
    for k, bounds in enumerate(stages):
        for t, (begin, end) in enumerate(itertools.pairwise(bounds)):
            assert (stage[begin:end] == -1).all()
            stage[begin:end], thread[begin:end] = k, t
    assert (stage[1:] >= 0).all()
    for at in range(1, len(nodes)):
        above = nodes[at]["parent"] >> 2
        assert above == 0 or (stage[above], thread[above]) == (stage[at], thread[at]) or stage[above] > stage[at]


def same(a, b):
    pairs = (a.tree.nodes, b.tree.nodes), (a.tree.items, b.tree.items)
    return all(x.numpy().tobytes() == y.numpy().tobytes() for x, y in pairs)


@BUILDERS
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 300),
    st.integers(0, 2**32 - 1),
    st.sampled_from(SCALES),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(1, MAX_LEAF),
)
def test_any_boxes_make_a_tree(make, kind, n, seed, scale, broken, leaf_size):
    lower, upper = boxes(kind, n, seed, scale, broken)
    check(make(*arrays(lower, upper), leaf_size), lower, upper, leaf_size)


@BUILDERS
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_large_builds_make_trees(kind, make):
    lower, upper = boxes(kind, 9000, 1, broken=0.01)
    check(make(*arrays(lower, upper), 2), lower, upper, 2)


@BUILDERS
@pytest.mark.parametrize("equal", [1950, 9000])
def test_depth_is_bounded_where_splits_cut_single_boxes_off(equal, make):
    # Each of the first is far from all that follow, on the next axis; the others are in one place.
    far = np.zeros((84, 3))
    far[np.arange(84), np.arange(84) % 3] = 0.36 ** np.arange(84)
    lower = np.concatenate([far, np.zeros((equal, 3))]).astype(np.float32)
    built = make(*arrays(lower, lower))
    check(built, lower, lower, 1)
    assert make is build_lbvh or equal > 2000 or built.tree.nodes.numpy()["depth"].max() == MAX_DEPTH - 1


@BUILDERS
@pytest.mark.parametrize("kind", ["scattered", "clustered", "spiral", "equal"])
def test_the_number_of_threads_does_not_show(kind, make):
    given = arrays(*boxes(kind, 30_000, 2))
    before, trees = get_pool().threads, []
    try:
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            trees.append(make(*given))
            refit(trees[-1], leaf_slots(trees[-1].tree), *given)
    finally:
        wp.set_num_threads(before)
    assert same(trees[0], trees[1]) and same(trees[0], trees[2])


@BUILDERS
def test_python_threads_build_at_once(make):
    given = [arrays(*boxes("scattered", 6000, seed)) for seed in range(4)]
    alone = [make(*g) for g in given]
    together = [None] * 4

    def work(k):
        for _ in range(3):
            together[k] = make(*given[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(a, b) for a, b in zip(alone, together, strict=True))


@BUILDERS
def test_the_interpreter_builds_the_same_tree(monkeypatch, make):
    # Small blocks and subtrees, so that few boxes take all paths.
    monkeypatch.setattr(bvh_build, "_SMALLEST_SUBTREE", 16)
    lower, upper = boxes("scattered", 150, 3, broken=0.1)
    compiled, interpreted = (make(*arrays(lower, upper, device)) for device in ("cpu", "interp"))
    check(compiled, lower, upper, 1)
    assert compiled.stages[0].size > 4
    assert same(compiled, interpreted)
    lower[8, 1] = np.nan
    for built, device in ((compiled, "cpu"), (interpreted, "interp")):
        refit(built, leaf_slots(built.tree), *arrays(lower + 1, upper + 2, device))
    assert same(compiled, interpreted)


@BUILDERS
@pytest.mark.parametrize("n", [0, 1, 5, 20_000])
def test_refit_boxes_are_those_of_the_new_corners(n, make):
    lower, upper = boxes("clustered", n, 4)
    built = make(*arrays(lower, upper))
    moved = lower * -2 + 1, lower * -2 + 3
    refit(built, leaf_slots(built.tree), *arrays(*moved))
    check(built, *moved, 1)


@BUILDERS
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_refit_leaves_out_what_is_not_finite(value, make):
    lower, upper = boxes("scattered", 50, 5)
    built = make(*arrays(lower, upper))
    lower[7, 1], upper[9, 2] = value, value
    refit(built, leaf_slots(built.tree), *arrays(lower, upper))
    low, high = corners(built.tree.nodes.numpy())
    rest = finite(lower, upper)
    assert rest.sum() == 48
    used = built.tree.nodes.numpy()["child"][0] != EMPTY
    assert np.array_equal(low[0][used].min(0), lower[rest].min(0))
    assert np.array_equal(high[0][used].max(0), upper[rest].max(0))


def test_a_node_is_two_lines_of_a_cache():
    assert BvhNode.numpy_dtype().itemsize == 128
