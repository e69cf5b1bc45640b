"""What the CUDA target emits computes what the CPU target computes, run without a GPU (see `cuda_on_cpu`)."""

import numpy as np
import pytest
from cuda_corpus import CORPUS
from cuda_on_cpu import EmulatedKernel

import warpsim as wp
from warpsim.core.emit.target import Options

GRIDS = ((1, 1), (2, 3), (40, 1))  # (blocks, threads of a block): one thread, several turns each, more than needed


def arrays(args):
    """The memory of every array argument; of struct arrays every field, since padding holds anything."""
    return [part for a in args if isinstance(a, (wp.array, wp.indexedarray)) for part in _fields(a.numpy())]


def _fields(data):
    if data.dtype.names is None:
        return [data]
    return [part for name in data.dtype.names for part in _fields(data[name])]


@pytest.mark.parametrize("name", CORPUS)
def test_both_targets_compute_the_same(name):
    entry = CORPUS[name]
    emulated = EmulatedKernel(entry.kernel)
    for grid in GRIDS[:1] if entry.ordered else GRIDS:
        args, wanted, untouched = (entry.arguments(np.random.default_rng(3)) for _ in range(3))
        wp.launch(entry.kernel, entry.dim, wanted, device="cpu")
        emulated.launch(entry.dim, args, *grid)
        changed = False
        for found, expected, before in zip(arrays(args), arrays(wanted), arrays(untouched), strict=True):
            changed |= not np.array_equal(expected, before, equal_nan=expected.dtype.kind == "f")
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(found, expected, rtol=entry.rtol, atol=entry.rtol)
            else:
                np.testing.assert_array_equal(found, expected)
        assert changed, "a kernel that does nothing agrees with anything"


@pytest.mark.parametrize("grid", GRIDS)
def test_each_thread_runs_once(grid):
    @wp.kernel
    def visit(count: wp.array3d(dtype=int)):
        i, j, k = wp.tid()
        count[i, j, k] = count[i, j, k] + 1

    shape = (3, 5, 7)
    emulated = EmulatedKernel(visit)
    for dims in (shape, (1, 5, 2), (3, 1, 1), (0, 5, 7), (3, 0, 7)):
        count = wp.zeros(shape, dtype=int)
        emulated.launch(dims, [count], *grid)
        expected = np.zeros(shape, int)
        expected[: dims[0], : dims[1], : dims[2]] = 1
        np.testing.assert_array_equal(count.numpy(), expected)


def test_launches_have_more_threads_than_32_bits_count():
    @wp.kernel
    def place(found: wp.array(dtype=int), row: wp.array2d(dtype=int)):
        i, j, k = wp.tid()
        n = wp.atomic_add(found, 0, 1)
        row[n, 0] = i
        row[n, 1] = j
        row[n, 2] = k

    emulated, found, row = EmulatedKernel(place), wp.zeros(1, dtype=int), wp.zeros((4, 3), dtype=int)
    dims, blocks, threads = (4096, 4096, 1024), 1 << 24, 1024  # 2**34 threads; each of the 2**34 of the grid runs one
    emulated.run(dims, [found, row], [(blocks - 1, threads, 1023, blocks), (1 << 21, threads, 5, blocks)])
    assert row.numpy().tolist()[:2] == [[4095, 4095, 1023], [512, 0, 5]]
    emulated.run(dims, [found, row], [(1 << 23, threads, 7, 3 << 22)])  # one round of a grid that is smaller
    assert row.numpy().tolist()[2:] == [[2048, 0, 7], [0, 0, 0]]


SPECIAL = (np.nan, -np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf)


@pytest.mark.parametrize("dtype", (wp.float16, wp.float32, wp.float64))
def test_extremes_of_special_floats_follow_one_rule(dtype):
    """A NaN loses against every number, -0 is less than +0: on both targets, with every pair."""

    def body(
        low: wp.array(dtype=dtype), high: wp.array(dtype=dtype), x: wp.array(dtype=dtype), old: wp.array(dtype=dtype)
    ):
        i = wp.tid()
        old[i] = wp.atomic_min(low, i, x[i])
        wp.atomic_max(high, i, x[i])

    cells, values = (np.ravel(v).astype(dtype) for v in np.meshgrid(SPECIAL, SPECIAL))
    args, expected = ([wp.array(v, dtype=dtype) for v in (cells, cells, values, values)] for _ in range(2))
    kernel = wp.kernel(body)
    EmulatedKernel(kernel).launch(len(cells), args)
    wp.launch(kernel, len(cells), expected, device="cpu")
    low, high, _, old = (a.numpy() for a in args)
    np.testing.assert_array_equal(old, cells)
    less, more = values < cells, values > cells
    less |= (values == cells) & np.signbit(values) & ~np.signbit(cells)
    more |= (values == cells) & ~np.signbit(values) & np.signbit(cells)
    for found, by_cpu, best in ((low, expected[0], less), (high, expected[1], more)):
        rule = np.where(np.isnan(cells) | (~np.isnan(values) & best), values, cells)
        np.testing.assert_array_equal(found, rule)
        numbers = ~np.isnan(rule)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(rule[numbers]))
        np.testing.assert_array_equal(found, by_cpu.numpy())
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(by_cpu.numpy()[numbers]))


@pytest.mark.parametrize("dtype", (wp.float16, wp.float32, wp.float64))
def test_an_extreme_over_threads_ignores_nan(dtype):
    def body(a: wp.array(dtype=dtype), x: wp.array(dtype=dtype)):
        i = wp.tid()
        wp.atomic_min(a, 0, x[i])
        wp.atomic_max(a, 1, x[i])

    a = wp.array([np.nan, -np.nan], dtype=dtype)
    values = [np.nan, 2.0, -np.nan, -3.0, np.nan]
    EmulatedKernel(wp.kernel(body)).launch(5, [a, wp.array(values, dtype=dtype)])
    assert a.numpy().tolist() == [-3.0, 2.0]


# ----- reports ------------------------------------------------------------------------------


@wp.kernel
def checked(x: wp.array(dtype=float), j: wp.array(dtype=int), visited: wp.array(dtype=int)):
    i = wp.tid()
    assert j[i] != 3, "three is refused"
    x[j[i]] = float(i)
    visited[i] = 1


def test_a_failed_assertion_reports_once_and_ends_its_own_thread():
    emulated = EmulatedKernel(checked)
    j = np.array([0, 1, 3, 2, 3, 4], np.int32)
    visited = wp.zeros(6, dtype=int)
    claimed, site, _, _, thread = emulated.launch(6, [wp.zeros(8, dtype=float), wp.array(j), visited], 1, 2)
    assert claimed == 1 and thread == 2
    assert (emulated.sites[site].kind, emulated.sites[site].text) == ("assert", "three is refused")
    assert visited.numpy().tolist() == [1, 1, 0, 1, 0, 1]


def test_an_index_outside_an_array_is_reported_with_index_and_extent():
    emulated = EmulatedKernel(checked, Options(verify=True))
    j, visited = wp.array([0, 1, 8, -9], dtype=int), wp.zeros(4, dtype=int)
    claimed, site, index, extent, thread = emulated.launch(4, [wp.zeros(8, dtype=float), j, visited], 1, 1)
    assert (claimed, index, extent, thread) == (1, 8, 8, 2)
    assert emulated.sites[site].kind == "bounds" and "x" in emulated.sites[site].text
    assert visited.numpy().tolist() == [1, 1, 0, 0]
    report = emulated.launch(4, [wp.zeros(9, dtype=float), wp.array([0, -9, 8, -10], dtype=int), visited], 1, 1)
    assert report.tolist()[2:] == [-10, 9, 3]


def test_no_failure_no_report():
    report = EmulatedKernel(checked).launch(
        4, [wp.zeros(8, dtype=float), wp.zeros(4, dtype=int), wp.zeros(4, dtype=int)]
    )
    assert report.tolist() == [0] * 5


# ----- output -------------------------------------------------------------------------------


def test_values_are_printed_as_they_are():
    @wp.kernel
    def show(x: wp.array(dtype=wp.vec2h), n: wp.array(dtype=wp.int8), u: wp.uint64, flag: wp.bool):
        i = wp.tid()
        print("at", i, x[i], n[i], u, flag)

    emulated = EmulatedKernel(show)
    x = wp.array([(0.5, -1.25), (3.0, 4.0)], dtype=wp.vec2h)
    emulated.launch(2, [x, wp.array([-7, 9], dtype=wp.int8), 2**64 - 1, True], 1, 1)
    u = 2**64 - 1
    assert emulated.printed == [f"at 0 [0.5 -1.25] -7 {u} True\n", f"at 1 [3 4] 9 {u} True\n"]


def test_long_output_comes_in_pieces_and_loses_nothing():
    @wp.kernel
    def show(m: wp.array(dtype=wp.spatial_matrix)):
        print(m[0])

    emulated = EmulatedKernel(show)
    values = np.arange(36.0, dtype=np.float32).reshape(1, 6, 6)
    emulated.launch(1, [wp.array(values, dtype=wp.spatial_matrix)])
    assert len(emulated.printed) == 2
    numbers = "".join(emulated.printed).replace("[", " ").replace("]", " ").split()
    assert numbers == [str(k) for k in range(36)]


def test_contiguous_and_strided_forms_agree():
    kernel = CORPUS["two_dimensions"].kernel
    results = []
    for layouts in (("", ""), ("C", "C")):
        args = CORPUS["two_dimensions"].arguments(np.random.default_rng(0))
        EmulatedKernel(kernel, Options(layouts=layouts)).launch((3, 7), args)
        results.append([a.numpy() for a in args])
    for strided, contiguous in zip(*results, strict=True):
        np.testing.assert_array_equal(strided, contiguous)
    assert results[0][0].all(), "divisors are at least 2"
