"""Scans, sums, sorts, run lengths and casts against NumPy and against hand-written loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim import utils
from warpsim.errors import ArrayError

NUMBERS = (wp.int8, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float16, wp.float32, wp.float64)
KEYS = (wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64)
rng = np.random.default_rng(7)


def grid(dtype=np.float32):
    return np.arange(12, dtype=dtype).reshape(3, 4)


# ----- scans ------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", NUMBERS)
@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_scan_of_every_number_type(t, n):
    values = wp.array(rng.integers(0, 3, n), dtype=t)
    out = wp.zeros(n, dtype=t)
    running, before, after = t(0), [], []
    for x in values.numpy():
        before.append(running)
        running = t(running + x)
        after.append(running)
    utils.array_scan(values, out)
    assert out.numpy().tolist() == after
    utils.array_scan(values, out, inclusive=False)
    assert out.numpy().tolist() == before


def test_scans_of_vectors_and_of_any_shape():
    v = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)
    out = wp.zeros(2, dtype=wp.vec3)
    utils.array_scan(v, out)
    assert out.list() == [wp.vec3(1, 2, 3), wp.vec3(5, 7, 9)]
    a = wp.array(grid()).transpose()
    turned = wp.zeros((3, 4), dtype=float).transpose()
    utils.array_scan(a, turned)
    assert np.array_equal(turned.numpy().ravel(), np.cumsum(grid().T.ravel()))


@pytest.mark.parametrize("inclusive", [True, False])
def test_scan_in_place(inclusive):
    a = wp.array([1, 2, 3, 4], dtype=int)
    utils.array_scan(a, a, inclusive)
    assert a.numpy().tolist() == ([1, 3, 6, 10] if inclusive else [0, 1, 3, 6])


def test_integers_wrap_around():
    a = wp.array([100, 100, 100], dtype=wp.int8)
    out = wp.zeros(3, dtype=wp.int8)
    utils.array_scan(a, out)
    assert out.numpy().tolist() == [100, -56, 44]
    assert utils.array_sum(a) == 44
    assert utils.array_inner(a, a) == np.int8(30000 % 256)


# ----- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", NUMBERS)
def test_sum_of_every_number_type(t):
    values = rng.integers(0, 5, (4, 5)).astype(t)
    found = utils.array_sum(wp.array(values))
    assert type(found) is values.dtype.type
    assert found == values.sum()


def test_sums_of_compounds_counts_and_axes():
    a, v = wp.array(grid()), wp.array(grid()[:, :3].copy(), dtype=wp.vec3)
    assert utils.array_sum(v).tolist() == grid()[:, :3].sum(0).tolist()
    assert utils.array_sum(wp.array(np.ones((2, 2, 2)), dtype=wp.mat22)).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    wide = np.arange(72.0).reshape(2, 6, 6)
    assert np.array_equal(utils.array_sum(wp.array(wide, dtype=wp.spatial_matrixd)), wide.sum(0))
    assert utils.array_sum(a, value_count=5) == 10.0
    assert utils.array_sum(a, value_count=0) == utils.array_sum(wp.zeros(0, dtype=float)) == 0.0
    assert utils.array_sum(a.transpose(), value_count=3) == 0.0 + 4.0 + 8.0
    for axis in (0, 1, -1, -2):
        found = utils.array_sum(a, axis=axis)
        assert np.array_equal(found.numpy(), grid().sum(axis, keepdims=True))
        assert np.array_equal(utils.array_sum(a.transpose(), axis=axis).numpy(), grid().T.sum(axis, keepdims=True))
    assert utils.array_sum(a, axis=0, value_count=2).numpy().tolist() == [[4.0, 6.0, 8.0, 10.0]]
    assert utils.array_sum(v, axis=0).list() == [wp.vec3(12, 15, 18)]
    assert utils.array_sum(wp.array(grid())[[0, 2], [1]]) == 10.0


def test_sums_of_nothing_are_zero():
    assert wp.utils.array_sum(wp.array([], dtype=wp.vec2)).tolist() == [0.0, 0.0]
    assert wp.utils.array_sum(wp.array([], shape=(0, 3), dtype=float)) == 0.0


def test_sums_into_given_arrays():
    a = wp.array(grid())
    out = wp.zeros(1, dtype=float)
    assert utils.array_sum(a, out=out) is out
    assert out.numpy()[0] == 66.0
    rows = wp.zeros((3, 1), dtype=float)
    assert utils.array_sum(a, out=rows, axis=1) is rows
    assert rows.numpy().ravel().tolist() == grid().sum(1).tolist()
    utils.array_inner(a, a, out=out)
    assert out.numpy()[0] == (grid() ** 2).sum()


def test_float_sums_keep_small_terms():
    """One billionth added a million times to one: float32 alone would lose all of it."""
    values = np.full(1_000_001, 1e-9, np.float32)
    values[0] = 1.0
    assert utils.array_sum(wp.array(values)) == np.float32(1.001)
    assert utils.array_inner(wp.array(values), wp.ones(values.size, dtype=float)) == np.float32(1.001)


def test_inner_products():
    a, b = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5, 3))
    x, y = wp.array(a, dtype=wp.vec3d), wp.array(b, dtype=wp.vec3d)
    assert np.isclose(utils.array_inner(x, y), (a * b).sum(), rtol=1e-14)
    assert np.isclose(utils.array_inner(x, y, count=7), (a * b).reshape(20, 3)[:7].sum(), rtol=1e-14)
    for axis in (0, 1, -1):
        expected = (a * b).sum(2).sum(axis, keepdims=True)
        assert np.allclose(utils.array_inner(x, y, axis=axis).numpy(), expected, rtol=1e-14)
        turned = utils.array_inner(x.transpose(), y.transpose(), axis=axis).numpy()
        assert np.allclose(turned, (a * b).sum(2).T.sum(axis, keepdims=True), rtol=1e-14)
    m = wp.array(np.arange(8.0).reshape(2, 2, 2), dtype=wp.mat22)
    assert utils.array_inner(m, m) == 140.0
    assert utils.array_inner(wp.array([3, 4], dtype=int), wp.array([5, 6], dtype=int)) == 39


# ----- sorts ------------------------------------------------------------------------------------


def sorted_pairs(keys, t, count=None, value_type=wp.int32, **bits):
    """Keys and values after sorting; the values count the keys."""
    n = len(keys)
    k, v = wp.zeros(2 * n, dtype=t), wp.zeros(2 * n, dtype=value_type)
    k[:n], v[:n] = np.asarray(keys, t), wp.array(np.arange(n), dtype=value_type)
    utils.radix_sort_pairs(k, v, n if count is None else count, **bits)
    return k.numpy()[:n], v.numpy()[:n]


@pytest.mark.parametrize("t", KEYS)
@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_sorting_is_stable_for_every_key_type(t, n):
    keys = rng.integers(0, 50, n)
    keys[:4] = [-1, 2**31, 0, 1][:n]
    keys = (keys - (20 if np.dtype(t).kind == "f" else 0)).astype(t)
    found, order = sorted_pairs(keys, t)
    expected = np.argsort(keys, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(found, keys[expected])


@pytest.mark.parametrize("t", KEYS)
def test_sorting_wide_keys(t):
    limits = np.iinfo(t) if np.dtype(t).kind in "iu" else np.finfo(t)
    keys = np.array([limits.max, 0, limits.min, 1, limits.max, limits.min, 3], t)
    found, order = sorted_pairs(keys, t)
    assert np.array_equal(found, np.sort(keys))
    assert np.array_equal(order, np.argsort(keys, kind="stable"))


def test_floats_sort_by_their_bits():
    """Negative zero before zero, not-a-number last: the order of Warp's radix sort."""
    keys = np.array([5, -3, np.nan, 0.0, -0.0, -np.inf, np.inf], np.float32)
    _, order = sorted_pairs(keys, wp.float32)
    assert order.tolist() == [5, 1, 4, 3, 0, 6, 2]


@pytest.mark.parametrize(
    ("keys", "bits", "order"),
    [
        ([0x15, 0x03, 0x17, 0x10], {"begin_bit": 0, "end_bit": 4}, [3, 1, 0, 2]),
        ([0x15, 0x03, 0x17, -1], {"begin_bit": 4, "end_bit": 8}, [1, 0, 2, 3]),
        ([5, -7, 3, -1], {"begin_bit": 31}, [1, 3, 0, 2]),
        ([3, 1], {"begin_bit": 5, "end_bit": 5}, [0, 1]),
        ([0x20001, 0x10002, 0x10001], {"end_bit": 17}, [0, 2, 1]),
    ],
)
def test_sorting_by_a_range_of_bits(keys, bits, order):
    assert sorted_pairs(keys, wp.int32, **bits)[1].tolist() == order


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=40), st.data())
@settings(max_examples=60, deadline=None)
def test_random_floats_sort_like_numbers(keys, data):
    count = data.draw(st.integers(0, len(keys)))
    found, order = sorted_pairs(keys, wp.float32, count)
    head = np.array(keys[:count], np.float32) + 0.0  # without negative zeros
    assert np.array_equal(found[:count] + 0.0, np.sort(head))
    assert np.array_equal(np.array(keys, np.float32)[order][:count], found[:count])
    assert np.array_equal(found[count:], np.array(keys[count:], np.float32))


def test_values_of_any_type_follow_their_keys():
    for t in (wp.int64, wp.float32, wp.uint8):
        assert sorted_pairs([3, 1, 2], wp.int32, value_type=t)[1].tolist() == [1, 2, 0]
    keys = wp.array([3, 1, 0, 0], dtype=int)
    values = wp.array([wp.vec3(3, 3, 3), wp.vec3(1, 1, 1), wp.vec3(), wp.vec3()])
    utils.radix_sort_pairs(keys, values, 2)
    assert values.list()[:2] == [wp.vec3(1, 1, 1), wp.vec3(3, 3, 3)]


def segments(keys, starts, ends=None, count=None, t=wp.int32):
    n = len(keys)
    k, v = wp.zeros(2 * n, dtype=t), wp.zeros(2 * n, dtype=int)
    k[:n], v[:n] = keys, np.arange(n)
    tables = [wp.array(s, dtype=int) for s in (starts, ends) if s is not None]
    utils.segmented_sort_pairs(k, v, n if count is None else count, *tables)
    return k.numpy()[:n].tolist(), v.numpy()[:n].tolist()


def test_segments_sort_apart():
    assert segments([5, -3, 7, 0, 5], [0, 3, 5]) == ([-3, 5, 7, 0, 5], [1, 0, 2, 3, 4])
    assert segments([5, -3, 7, 0, 5], [0, 3], [2, 5], t=wp.float32) == ([-3, 5, 7, 0, 5], [1, 0, 2, 3, 4])
    assert segments([3, 2, 1, 0], [2, 0], [4, 2]) == ([2, 3, 0, 1], [1, 0, 3, 2])  # in any order
    assert segments([3, 2, 1, 0], [1, 1, 3], [1, 3, 3]) == ([3, 1, 2, 0], [0, 2, 1, 3])  # some empty
    for starts in ([], [2]):
        assert segments([3, 2], starts) == ([3, 2], [0, 1])
    assert segments([], [0, 0]) == ([], [])


def test_pairs_of_several_dimensions_sort_in_the_order_of_memory():
    keys, values = wp.array([[5, -3, 7], [0, 0, 0]], dtype=int), wp.array([[[0, 1, 2]], [[0, 0, 0]]], dtype=int)
    utils.segmented_sort_pairs(keys, values, 3, wp.array([0, 2, 3], dtype=int))
    assert (keys.numpy()[0].tolist(), values.numpy()[0, 0].tolist()) == ([-3, 5, 7], [1, 0, 2])
    utils.radix_sort_pairs(keys, values, 3)
    assert (keys.numpy()[0].tolist(), values.numpy()[0, 0].tolist()) == ([-3, 5, 7], [1, 0, 2])


def test_segments_are_stable_and_many():
    n, cut = 5000, np.sort(rng.integers(0, 5000, 301))
    cut[0], cut[-1] = 0, n
    keys = rng.integers(-5, 5, n).astype(np.int32)
    found, order = segments(keys, cut)
    expected = np.concatenate([a + np.argsort(keys[a:b], kind="stable") for a, b in itertools.pairwise(cut)])
    assert order == expected.tolist()
    assert found == keys[expected].tolist()


# ----- run lengths ------------------------------------------------------------------------------


@given(st.lists(st.integers(-2, 2), max_size=30), st.data())
@settings(max_examples=60, deadline=None)
def test_run_lengths_rebuild_the_values(values, data):
    count = data.draw(st.none() | st.integers(0, len(values)))
    kept = values[:count]
    source, runs, lengths = (wp.array(x, dtype=int) for x in (values, [9] * len(values), [9] * len(values)))
    n = utils.runlength_encode(source, runs, lengths, value_count=count)
    assert type(n) is int
    assert np.repeat(runs.numpy()[:n], lengths.numpy()[:n]).tolist() == kept
    assert (np.diff(runs.numpy()[:n]) != 0).all()
    assert (lengths.numpy()[:n] > 0).all()
    assert runs.numpy()[n:].tolist() == [9] * (len(values) - n)


def test_runs_of_vectors_and_a_count_in_an_array():
    v = wp.array([[1, 2], [1, 2], [1, 3], [1, 2]], dtype=wp.vec2)
    runs, lengths, count = wp.zeros(4, dtype=wp.vec2), wp.zeros(4, dtype=int), wp.zeros(1, dtype=int)
    assert utils.runlength_encode(v, runs, lengths, run_count=count) is count
    assert count.numpy()[0] == 3
    assert (runs.list()[:3], lengths.numpy()[:3].tolist()) == ([wp.vec2(1, 2), wp.vec2(1, 3), wp.vec2(1, 2)], [2, 1, 1])


# ----- casts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [*NUMBERS, wp.bool])
@pytest.mark.parametrize("source", [wp.float64, wp.float32, wp.int64, wp.uint8, wp.bool])
def test_casts_mean_what_they_mean_in_kernels(source, wanted):
    @wp.kernel
    def cast(a: wp.array(dtype=source), out: wp.array(dtype=wanted)):
        i = wp.tid()
        out[i] = wanted(a[i])

    edges = [0, 1, 2, 127, 128, 255, 256, 2**31 - 1, 2**31, 2**62]
    edges = [e for e in edges if source is not wp.uint8 or e < 256]
    if source in (wp.float32, wp.float64):
        edges = [*edges, -0.5, 0.5, 1.5, -1.5, -129.0, -1e30, 1e30, np.inf, -np.inf, np.nan, 65504.0, 2.0**63, 2.0**64]
    elif source is wp.int64:
        edges = [*edges, -1, -129, -(2**40)]
    a = wp.array(np.array(edges).astype(source))
    found, expected = wp.zeros(len(edges), dtype=wanted), wp.zeros(len(edges), dtype=wanted)
    utils.array_cast(a, found)
    wp.launch(cast, dim=len(edges), inputs=[a, expected])
    assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=wanted in (wp.float16, wp.float32, wp.float64))


def test_casts_of_shapes():
    v = wp.array(grid()[:, :3].copy(), dtype=wp.vec3)
    doubles = wp.zeros(3, dtype=wp.vec3d)
    utils.array_cast(v, doubles)
    assert np.array_equal(doubles.numpy(), v.numpy())
    flat = wp.zeros(9, dtype=wp.int64)
    utils.array_cast(v, flat)
    assert flat.numpy().tolist() == v.numpy().ravel().tolist()
    back = wp.zeros((3, 3), dtype=float)
    utils.array_cast(flat, back, count=4)
    assert back.numpy().ravel().tolist() == [0, 1, 2, 4, 0, 0, 0, 0, 0]
    flat.zero_()
    utils.array_cast(v, flat, count=2)  # vectors
    assert flat.numpy().tolist() == [0, 1, 2, 4, 5, 6, 0, 0, 0]
    with pytest.raises(ArrayError, match="room for 9 elements"):
        utils.array_cast(wp.zeros(4, dtype=wp.vec3), flat, count=4)
    turned = wp.zeros((4, 3), dtype=wp.float64).transpose()
    utils.array_cast(wp.array(grid()), turned)
    assert np.array_equal(turned.numpy(), grid())
    longer = wp.zeros(5, dtype=float)
    utils.array_cast(wp.array([1, 2, 3], dtype=int), longer, count=2)
    assert longer.numpy().tolist() == [1, 2, 0, 0, 0]
