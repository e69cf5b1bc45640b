"""The ways to build a hierarchy: groups in each, hierarchies that move to devices, paths that become long."""

import numpy as np
import pytest
from bvh_boxes import KINDS, boxes, finite
from hypothesis import given, settings
from hypothesis import strategies as st
from test_bvh_build import arrays, check, check_stages

import warpsim as wp
from warpsim.core.runtime.devices.device import get_device
from warpsim.errors import BvhError
from warpsim.geometry.bvh import groups as bvh_groups
from warpsim.geometry.bvh.constructors import _move_to, construct
from warpsim.geometry.bvh.groups import names_of
from warpsim.geometry.bvh.nodes import MAX_DEPTH, NO_NODE

WAYS = pytest.mark.parametrize("way", ["sah", "lbvh"])


def check_groups(built, names, roots, lower, upper, groups):
    """Each group is all that is below one node."""
    nodes, items = built.tree.nodes.numpy(), built.tree.items.numpy()
    assert np.array_equal(names, np.unique(groups))
    for name, root in zip(names, roots, strict=True):
        held = np.flatnonzero((groups == name) & finite(lower, upper))
        if held.size == 0:
            assert root == NO_NODE
        else:
            first, count = nodes[root]["first"], nodes[root]["count"]
            assert np.array_equal(np.sort(items[first : first + count]), held)


@WAYS
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 250),
    st.integers(1, 40),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_groups_of_any_boxes(way, kind, n, kinds, seed, broken):
    lower, upper = boxes(kind, n, seed, 1.0, broken)
    groups = np.random.default_rng(seed).integers(0, kinds, n) ** 3 - 9
    built, names, roots = construct(way, *arrays(lower, upper), 1, wp.array(groups, dtype=int))
    check(built, lower, upper, 1)
    check_groups(built, names.numpy(), roots.numpy(), lower, upper, groups)


@WAYS
def test_the_interpreter_makes_the_same_groups(way):
    lower, upper = boxes("clustered", 60, 3, broken=0.1)
    groups = np.arange(60) % 7 - 3
    groups[groups == 1] = 100 + np.arange((groups == 1).sum())  # and some of one box
    made = []
    for device in ("cpu", "interp"):
        built, names, roots = construct(
            way, *arrays(lower, upper, device), 1, wp.array(groups, dtype=int, device=device)
        )
        made.append(b"".join(x.numpy().tobytes() for x in (built.tree.nodes, built.tree.items, names, roots)))
    assert made[0] == made[1]


@WAYS
def test_too_many_groups_are_an_error(way, monkeypatch):
    monkeypatch.setattr(bvh_groups, "MAX_GROUPS", 4)
    given = arrays(*boxes("scattered", 20, 0))
    construct(way, *given, 1, wp.array(np.arange(20) % 4, dtype=int))
    with pytest.raises(BvhError, match="5 different groups\nexpected: at most 4"):
        construct(way, *given, 1, wp.array(np.arange(20) % 5, dtype=int))


@given(st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2), max_size=60))
def test_names_of_groups(groups):
    assert np.array_equal(names_of(wp.array(groups, dtype=int, shape=len(groups))).numpy(), np.unique(groups))


@pytest.mark.parametrize("n", [0, 1, 3, 400, 20_000])
def test_hierarchies_on_their_way_to_a_device_are_numbered_by_level(n):
    """The same tree, with other numbers; and the nodes of groups with theirs."""
    lower, upper = boxes("clustered", n, 5, broken=0.05)
    groups = np.random.default_rng(n).integers(0, 9, n)
    built, names, roots = construct("sah", *arrays(lower, upper), 1, wp.array(groups, dtype=int, shape=n))
    moved, numbers = _move_to(built, roots.numpy().copy(), get_device("cpu"))
    check(moved, lower, upper, 1)
    check_groups(moved, names.numpy(), numbers, lower, upper, groups)
    depth = moved.tree.nodes.numpy()["depth"]
    assert (np.diff(depth) >= 0).all() and len(moved.stages) == depth.max()
    check_stages(moved.tree.nodes.numpy(), [stage.numpy() for stage in moved.stages])


@pytest.mark.parametrize("kinds", [1, 2, 700])
@pytest.mark.parametrize("leaf_size", [1, 8])
def test_paths_of_sorted_hierarchies_are_bounded(kinds, leaf_size):
    """Boxes at powers of a half on all axes, and many in one place: every bit of keys and positions takes a level."""
    n = 40_000
    middle = np.zeros((n, 3))
    far = np.arange(48)
    middle[far, far % 3] = 0.5 ** (far // 3)
    middle = np.float32(middle)
    groups = np.where(np.arange(n) < 100, 0, np.arange(n) % kinds)
    given = arrays(middle, middle)
    built, *_ = construct("lbvh", *given, leaf_size, wp.array(groups, dtype=int) if kinds > 1 else None)
    deepest = built.tree.nodes.numpy()["depth"].max()
    assert 16 <= deepest < MAX_DEPTH
    assert np.array_equal(np.sort(built.tree.items.numpy()), np.arange(n))
