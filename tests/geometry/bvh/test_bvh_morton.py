"""The order of boxes along the curve: by group, by interleaved bits, by index; and the box around them all."""

import numpy as np
import pytest
from bvh_boxes import KINDS, SCALES, boxes, finite
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim.geometry.bvh.extent import extent_of
from warpsim.geometry.bvh.morton import BITS, GroupedBoxes, morton_order
from warpsim.geometry.bvh.nodes import MAX_DEPTH


def arrays(lower, upper, device=None):
    return wp.array(lower, dtype=wp.vec3, device=device), wp.array(upper, dtype=wp.vec3, device=device)


def order_of(lower, upper, groups=None, device=None):
    names = np.zeros(0) if groups is None else np.unique(groups)
    kinds = np.zeros(0) if groups is None else groups
    groups = [wp.array(x, dtype=int, device=device) for x in (kinds, names)]
    return morton_order(GroupedBoxes(*arrays(lower, upper, device), *groups))


def interleaved(cells, bits):
    """The bits of (n, 3) cells in turn, x first, bit by bit."""
    code = np.zeros(len(cells), np.int64)
    for bit in range(bits):
        for axis in range(3):
            code |= (cells[:, axis] >> bit & 1) << 3 * bit + 2 - axis
    return code


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 9000),
    st.integers(0, 99),
    st.sampled_from(SCALES),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_extent_is_that_of_all_finite_boxes(kind, n, seed, scale, broken):
    lower, upper = boxes(kind, n, seed, scale, broken)
    [found] = extent_of(*arrays(lower, upper)).numpy()
    good = finite(lower, upper)
    assert found["count"] == good.sum()
    with np.errstate(over="ignore"):
        middle = np.float32(0.25) * lower[good] + np.float32(0.25) * upper[good]
    ends = ("lower", lower[good], "min"), ("upper", upper[good], "max"), ("middle_lower", middle, "min")
    for name, values, end in (*ends, ("middle_upper", middle, "max")):
        nothing = np.inf if end == "min" else -np.inf
        # One rounding may be left out where a processor multiplies and adds at once.
        tolerance = 0.0 if name in ("lower", "upper") else 1e-6 * np.abs(values).max(initial=0.0)
        np.testing.assert_allclose(found[name], getattr(values, end)(0, initial=nothing), rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("grouped", [False, True])
def test_boxes_are_sorted_by_the_bits_of_their_cells(grouped, device):
    """Middles are integers in a cube of 2^16 cells, so that all that is rounded is their product with the scale."""
    n = 300
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2**16, (n, 3))
    cells[:2] = [[0], [2**16 - 1]]
    cells[5] = cells[4]
    groups = rng.integers(-1, 1, n) * 7
    groups[:4], cells[2:4] = [0, 0, -7, -7], cells[:2]  # every group spans the cube
    if not grouped:
        groups[:] = 0
    corner = 2.0 * cells  # a quarter of twice the sum of both corners
    lower, upper = (corner.astype(np.float32) for _ in range(2))
    lower[10:20, 1] = np.nan
    order = order_of(lower, upper, groups if grouped else None, device)
    count = n - 10
    found, keys = order.items.numpy()[:count], order.keys.numpy()[:count]
    assert order.bits == 48 and order.extent.numpy()[0]["count"] == count
    scale = np.float32(2**16) * np.float32(0.99999) / np.float32(2**16 - 1)
    expected = interleaved((cells.astype(np.float32) * scale).astype(np.int64), 16)
    held = np.flatnonzero(finite(lower, upper))
    assert np.array_equal(keys & (1 << 48) - 1, expected[found])
    assert np.array_equal(found, held[np.lexsort((held, expected[held], groups[held]))])
    if grouped:
        assert np.array_equal(keys >> 48, np.searchsorted(np.unique(groups), groups[found]))


def test_keys_and_positions_leave_paths_within_their_bound():
    """The bits of keys give way to those of positions and groups."""
    for n, kinds in ((1, 1), (2, 1), (70_000, 1), (70_000, 20_000)):
        groups = None if kinds == 1 else np.arange(n) % kinds
        order = order_of(*boxes("scattered", n, 0), groups)
        assert (order.bits % 3, order.position_bits) == (0, (n - 1).bit_length())
        assert order.bits + (kinds - 1).bit_length() + order.position_bits <= BITS
        assert order.bits >= 27
    assert (BITS + 2) // 2 <= MAX_DEPTH
