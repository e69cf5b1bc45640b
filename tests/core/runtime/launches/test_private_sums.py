"""Atomics of parallel launches: every addition arrives once, whatever the arrays look like.

Sums are of small whole numbers, which floats add without rounding: equality is exact.
"""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.layout import GATHERED_PRIVATE, SCATTERED_PRIVATE
from warpsim.core.runtime.launches import pool, private_sums
from warpsim.core.runtime.launches.private_sums import MOST_COPIES, copy_count

pytestmark = pytest.mark.cpu(reason="private copies of CPU launches")

Ints, Floats = wp.array(dtype=int), wp.array(dtype=float)
N = 120_000
BINS = 97
RNG = np.random.default_rng(11)
AT = RNG.integers(0, BINS, N).astype(np.int32)
VALUE = RNG.integers(-8, 9, N).astype(np.float32)


@pytest.fixture(autouse=True, params=[1, 4])
def threads(request, monkeypatch):
    """Every test runs on one thread and on several, and in chunks although it is short."""
    monkeypatch.setattr(private_sums, "LEAST_WORK", 0.0)
    before = pool.get_pool().threads
    wp.set_num_threads(request.param)
    yield request.param
    wp.set_num_threads(before)


def expected_bins(values=VALUE, bins=BINS):
    return np.bincount(AT, values.astype(np.float64), bins)


def histogram(dtype):
    @wp.kernel
    def add(at: wp.array(dtype=int), value: wp.array(dtype=float), bins: wp.array(dtype=dtype)):
        i = wp.tid()
        if i % 2 == 0:
            wp.atomic_add(bins, at[i], dtype(value[i]))
        else:
            wp.atomic_sub(bins, at[i], -dtype(value[i]))

    return add


# ----- scattered sums -------------------------------------------------------------------------


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.int32, wp.int64, wp.int16])
def test_sums_of_every_type(dtype, deterministic):
    bins = wp.full(BINS, 5, dtype=dtype)
    wp.launch(histogram(dtype), N, [AT, VALUE, bins], deterministic=deterministic)
    assert np.array_equal(bins.numpy(), 5 + expected_bins())


@pytest.mark.parametrize("deterministic", [False, True])
def test_half_precision_sums(deterministic):
    bins = wp.zeros(BINS, dtype=wp.float16)
    small = (np.arange(N) % 8 == 0).astype(np.float32)  # some 155 in each bin: whole numbers up to 2048 are exact
    wp.launch(histogram(wp.float16), N, [AT, small, bins], deterministic=deterministic)
    assert np.array_equal(bins.numpy(), expected_bins(small))


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(
    "place", ["contiguous", "strided", "column", "indexed", "much larger than the launch", "of structs"]
)
def test_sums_into_memory_of_every_kind(place, deterministic):
    bins = wp.zeros(BINS, dtype=float)
    kernel = histogram(wp.float32)
    base = wp.zeros((3 * N, 4), dtype=float) if place.startswith("much") else wp.zeros((2 * BINS, 4), dtype=float)
    if place == "strided":
        bins = base[::2, 0]
    elif place == "column":
        bins = base[:BINS, 2]
    elif place == "indexed":
        table = wp.array(np.arange(BINS, dtype=np.int32)[::-1])
        bins = wp.indexedarray(base.flatten(), [table])
        kernel = indexed_histogram
    elif place.startswith("much"):
        bins = base.flatten()
    elif place == "of structs":
        bins, kernel = wp.zeros(BINS, dtype=Cell), cell_histogram
    wp.launch(kernel, N, [AT, VALUE, bins], deterministic=deterministic)
    found = bins.numpy()
    if place == "of structs":
        assert not found["other"].any()
        found = found["mass"]
    assert np.array_equal(found[:BINS], expected_bins())
    assert base.numpy().sum() == (0 if place in ("contiguous", "of structs") else expected_bins().sum())


@wp.struct
class Cell:
    other: wp.vec3
    mass: float


@wp.kernel
def cell_histogram(at: wp.array(dtype=int), value: wp.array(dtype=float), cells: wp.array(dtype=Cell)):
    i = wp.tid()
    cells[at[i]].mass += value[i]


@wp.kernel
def indexed_histogram(at: wp.array(dtype=int), value: wp.array(dtype=float), bins: wp.indexedarray(dtype=float)):
    i = wp.tid()
    wp.atomic_add(bins, at[i], value[i])


@pytest.mark.parametrize("deterministic", [False, True])
def test_vectors_matrices_and_components(deterministic):
    @wp.kernel
    def add(
        at: wp.array(dtype=int),
        value: wp.array(dtype=float),
        force: wp.array(dtype=wp.vec3),
        stress: wp.array2d(dtype=wp.mat22),
        parts: wp.array(dtype=wp.vec2),
    ):
        i = wp.tid()
        x = value[i]
        wp.atomic_add(force, at[i], wp.vec3(x, 2.0 * x, 1.0))
        stress[at[i] % 5, at[i] / 5] += wp.mat22(x, 0.0, 1.0, -x)
        parts[at[i]].y -= x

    force, parts = wp.zeros(BINS, dtype=wp.vec3), wp.zeros(BINS, dtype=wp.vec2)
    stress = wp.zeros((5, BINS), dtype=wp.mat22)
    wp.launch(add, N, [AT, VALUE, force, stress.transpose().transpose()[:, :20], parts], deterministic=deterministic)
    x, count = expected_bins(), np.bincount(AT)
    assert np.array_equal(force.numpy(), np.stack([x, 2 * x, count], axis=1))
    assert np.array_equal(parts.numpy(), np.stack([0 * x, -x], axis=1))
    cells = stress.numpy()[:, :20].transpose(1, 0, 2, 3).reshape(100, 4)[:BINS]
    assert np.array_equal(cells, np.stack([x, 0 * x, count, -x], axis=1))


def test_arrays_inside_structs(flags):
    @wp.struct
    class Grid:
        mass: wp.array(dtype=float)
        hits: wp.array(dtype=int)

    @wp.kernel
    def add(at: wp.array(dtype=int), value: wp.array(dtype=float), grid: Grid, own: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(grid.mass, at[i], value[i])
        wp.atomic_add(grid.hits, at[i], 1)
        wp.atomic_add(own, i, 1.0)  # the struct may hold the same array, so this must be atomic too

    wp.launch(add, N, [AT, VALUE, Grid(mass=wp.zeros(N, dtype=float), hits=wp.zeros(BINS, dtype=int)), VALUE.copy()])
    assert flags == [SCATTERED_PRIVATE | GATHERED_PRIVATE]
    for deterministic in (False, True):
        grid = Grid()
        grid.mass, grid.hits = wp.zeros(N, dtype=float), wp.zeros(BINS, dtype=int)
        wp.launch(add, N, [AT, VALUE, grid, grid.mass], deterministic=deterministic)
        assert np.array_equal(grid.mass.numpy(), 1 + np.bincount(AT, VALUE, N))
        assert np.array_equal(grid.hits.numpy(), np.bincount(AT))


# ----- sums at one address --------------------------------------------------------------------


@wp.kernel
def totals(
    x: wp.array(dtype=float), limit: float, far: int, sums: wp.array(dtype=wp.float64), one: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    v = wp.float64(x[i])
    wp.atomic_add(sums, 0, v)
    wp.atomic_sub(sums, 1, v)
    wp.atomic_add(sums, 1, wp.float64(1.0))  # a second one at the same address
    if x[i] > limit:
        wp.atomic_add(sums, far, v)
    for k in range(i % 3):
        wp.atomic_add(sums, sums.shape[0] - 1, wp.float64(k + 1))
    wp.atomic_add(one, 0, wp.vec3(x[i], 1.0, -x[i]))
    if i % 2 == 1:
        return
    wp.atomic_add(sums, 2 + far * 0, wp.float64(1.0))


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("deterministic", [False, True])
def test_uniform_sums(strided, deterministic):
    sums = wp.zeros((6, 2), dtype=wp.float64)[:, 1] if strided else wp.zeros(6, dtype=wp.float64)
    one = wp.zeros(1, dtype=wp.vec3)
    total = float(VALUE.sum())
    large = float(VALUE[VALUE > 6].sum())
    loops = np.arange(N) % 3
    wanted = [total, N - total, N / 2, large, 0, (loops * (loops + 1) // 2).sum()]
    wp.launch(totals, N, [VALUE, 6.0, 3, sums, one], deterministic=deterministic)
    assert sums.list() == wanted
    assert one.numpy().tolist() == [[total, N, -total]]


@pytest.mark.parametrize("far", [6, -1, 2**31 - 1, -(2**31)])
def test_a_uniform_sum_that_never_runs_touches_nothing(far):
    sums = wp.zeros(6, dtype=wp.float64)
    wp.launch(totals, N, [VALUE, 8.0, far, sums, wp.zeros(1, dtype=wp.vec3)])
    assert sums.numpy()[0] == VALUE.sum()
    for n in (0, 1, 2):  # nor does anything in a launch of no threads
        sums.zero_()
        wp.launch(totals, n, [VALUE, 8.0, far, sums, wp.zeros(1, dtype=wp.vec3)])
        assert sums.numpy()[0] == VALUE[:n].sum()
    wp.launch(totals, 0, [VALUE[:0], 8.0, far, sums[:0], wp.zeros(0, dtype=wp.vec3)])


@pytest.mark.parametrize("deterministic", [False, True])
def test_uniform_and_scattered_sums_on_one_array(deterministic):
    @wp.kernel
    def add(at: Ints, value: Floats, bins: Floats, loss: Floats):
        i = wp.tid()
        wp.atomic_add(bins, 3, 1.0)
        wp.atomic_add(bins, at[i], value[i])
        wp.atomic_add(loss, 0, value[i])

    for length in (BINS, 4 * N):  # the longer one has no private copies, and the loss has them still
        bins, loss = wp.zeros(length, dtype=float), wp.zeros(1, dtype=float)
        wp.launch(add, N, [AT, VALUE, bins, loss], deterministic=deterministic)
        wanted = expected_bins()
        wanted[3] += N
        assert np.array_equal(bins.numpy()[:BINS], wanted)
        assert loss.list() == [VALUE.sum()]


def test_an_optional_sum_costs_no_parallelism(monkeypatch, threads):
    """None for an array that is summed into only if it is there."""

    @wp.kernel
    def add(value: wp.array(dtype=float), loss: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        if loss.shape[0] > 0:
            wp.atomic_add(loss, 0, value[i])
        out[i] = 2.0 * value[i]

    out = wp.zeros(N, dtype=float)
    launches = []
    run = pool.Pool.run
    monkeypatch.setattr(pool.Pool, "run", lambda self, commands, n: launches.append(n) or run(self, commands, n))
    wp.launch(add, N, [VALUE, None, out])
    assert np.array_equal(out.numpy(), 2 * VALUE)
    assert launches == [1]


# ----- integers, extremes, exchanges ----------------------------------------------------------


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64])
def test_integer_atomics(dtype):
    @wp.kernel
    def every(at: wp.array(dtype=int), x: wp.array(dtype=dtype), out: wp.array2d(dtype=dtype)):
        i = wp.tid()
        b = at[i]
        v = x[i]
        wp.atomic_add(out, 0, b, v)
        wp.atomic_sub(out, 1, b, v)
        wp.atomic_min(out, 2, b, v)
        wp.atomic_max(out, 3, b, v)
        wp.atomic_and(out, 4, b, v)
        wp.atomic_or(out, 5, b, v)
        wp.atomic_xor(out, 6, b, v)

    limits = np.iinfo(dtype)
    x = RNG.integers(limits.min, limits.max, N, dtype, endpoint=True)
    x[::2] |= dtype(1)
    start = dtype(37)
    out = wp.full((7, BINS), start, dtype=dtype)
    wp.launch(every, N, [AT, x, out], deterministic=True)
    wanted = np.full((7, BINS), start, dtype)
    with np.errstate(over="ignore"):
        for row, combine in enumerate(
            (np.add, np.subtract, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
        ):
            combine.at(wanted[row], AT, x)
    assert np.array_equal(out.numpy(), wanted)


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_extremes_of_floats_ignore_nan_and_order_zeros(dtype):
    @wp.kernel
    def extremes(at: Ints, x: wp.array(dtype=dtype), low: wp.array(dtype=dtype), high: wp.array(dtype=dtype)):
        i = wp.tid()
        wp.atomic_min(low, at[i], x[i])
        wp.atomic_max(high, at[i], x[i])

    x = RNG.standard_normal(N).astype(dtype)
    x[::3] = np.nan
    x[AT == 1] = np.nan
    x[AT == 2] = np.where(np.arange((AT == 2).sum()) % 2 == 0, 0.0, -0.0)
    low, high = (wp.full(BINS, start, dtype=dtype) for start in (np.inf, np.nan))
    wp.launch(extremes, N, [AT, x, low, high])
    wanted = np.full(BINS, np.inf, dtype), np.full(BINS, -np.inf, dtype)
    numbers = ~np.isnan(x)
    np.minimum.at(wanted[0], AT[numbers], x[numbers])
    np.maximum.at(wanted[1], AT[numbers], x[numbers])
    wanted[1][1] = np.nan  # nothing but NaN went there
    assert np.array_equal(low.numpy(), wanted[0])
    assert np.array_equal(high.numpy(), wanted[1], equal_nan=True)
    assert np.signbit(low.numpy()[2])
    assert not np.signbit(high.numpy()[2])


def test_used_results_count_every_thread_once():
    @wp.kernel
    def compact(x: Floats, count: Ints, kept: Ints, bins: Floats):
        i = wp.tid()
        if x[i] > 0.0:
            at = wp.atomic_add(count, 0, 1)
            kept[at] = i
        wp.atomic_add(bins, i % 7, x[i])

    for deterministic in (False, True):
        count, kept, bins = wp.zeros(1, dtype=int), wp.zeros(N, dtype=int), wp.zeros(7, dtype=float)
        wp.launch(compact, N, [VALUE, count, kept, bins], deterministic=deterministic)
        wanted = np.flatnonzero(VALUE > 0)
        found = kept.numpy()[: len(wanted)]
        assert count.list() == [len(wanted)]
        assert np.array_equal(found if deterministic else np.sort(found), wanted)
        assert np.array_equal(bins.numpy(), np.bincount(np.arange(N) % 7, VALUE))


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint64, wp.float32, wp.float64])
def test_compare_and_swap_and_exchange(dtype):
    @wp.kernel
    def rounds(lock: wp.array(dtype=dtype), token: wp.array(dtype=dtype), seen: wp.array(dtype=int)):
        i = wp.tid()
        before = dtype(-1 + 1)
        done = bool(False)
        while not done:  # an addition made of swaps
            swapped = wp.atomic_cas(lock, 0, before, before + dtype(1))
            done = swapped == before
            before = swapped
        was = wp.atomic_exch(token, 0, dtype(i + 1))
        wp.atomic_add(seen, int(was), 1)

    n = 20_000
    lock, token, seen = wp.zeros(1, dtype=dtype), wp.zeros(1, dtype=dtype), wp.zeros(n + 1, dtype=int)
    wp.launch(rounds, n, [lock, token, seen])
    assert lock.list() == [n]
    seen.numpy()[int(token.numpy()[0])] += 1  # the token that stayed
    assert np.all(seen.numpy() == 1)


def test_swaps_compare_bits():
    @wp.kernel
    def swap(x: wp.array(dtype=float), expected: float):
        wp.atomic_cas(x, 0, expected, 7.0)

    for start, expected, after in ((0.0, -0.0, 0.0), (-0.0, -0.0, 7.0), (np.nan, np.nan, 7.0)):
        for n in (1, N):
            x = wp.full(1, start, dtype=float)
            wp.launch(swap, n, [x, expected])
            assert x.list() == [after]


# ----- the thread's own element, and overlapping arguments ------------------------------------


@wp.kernel
def own(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(a, i, 1.0)
    b[i] += 2.0


@pytest.mark.parametrize("deterministic", [False, True])
def test_overlapping_arguments(deterministic):
    half = N // 2  # threads run in step, so that two of them are at one element at a time
    for _ in range(20):
        same = wp.zeros(N, dtype=float)
        wp.launch(own, N, [same, same], deterministic=deterministic)
        assert np.all(same.numpy() == 3)
        base = wp.zeros(N + half, dtype=float)
        wp.launch(own, N, [base[half:], base[:-half]], deterministic=deterministic)
        assert np.array_equal(base.numpy(), [2] * half + [3] * half + [1] * half)
        rows = wp.zeros((N, 2), dtype=float)
        wp.launch(own, N, [rows[:, 0], rows[:, 1]], deterministic=deterministic)
        assert np.array_equal(rows.numpy(), np.tile([1, 2], (N, 1)))


@pytest.fixture
def flags(monkeypatch):
    """The flags of the commands that the pool was given, but those that add up copies."""
    seen = []
    run = pool.Pool.run
    sums = [address for name, address in pool.get_pool().copy_addresses.items() if "add" in name]

    def spy(self, commands, count):
        launches = [command for command in pool.COMMAND.iter_unpack(commands) if command[0] not in sums]
        seen.extend(command[-1] & 0xFFFFFFFF for command in launches)
        run(self, commands, count)

    monkeypatch.setattr(pool.Pool, "run", spy)
    return seen


def test_atomics_on_own_elements_run_at_once_unless_arguments_overlap(flags):
    a, b = wp.zeros(2 * N, dtype=float), wp.zeros(N, dtype=float)
    wp.launch(own, N, [a[:N], b])
    wp.launch(own, N, [a[:N], a[N:]])
    assert len(flags) == 2
    wp.launch(own, N, [a[:N], a[N - 1 :]])
    wp.launch(own, N, [a[1:], a])
    assert len(flags) == 2  # the pool had no part in the last two


def test_own_elements_of_grids():
    @wp.kernel
    def add(a: wp.array2d(dtype=wp.vec2), turned: wp.array2d(dtype=float)):
        i, j = wp.tid()
        a[i, j] += wp.vec2(float(i), float(j))
        turned[j, i] += 1.0

    a, turned = wp.zeros((300, 400), dtype=wp.vec2), wp.zeros((400, 300), dtype=float)
    wp.launch(add, (300, 400), [a, turned])
    assert np.array_equal(a.numpy(), np.moveaxis(np.indices((300, 400)), 0, -1))
    assert np.all(turned.numpy() == 1)


# ----- policy ---------------------------------------------------------------------------------


def test_number_of_copies():
    def copies(total, *sizes):
        return copy_count(total, [wp.zeros(n, dtype=float) for n in sizes])

    assert copies(10**6, 1) == MOST_COPIES == copies(10**6)
    assert copies(10**6, 250_000) == 4
    assert copies(10**6, 1, 10_000) == 25
    assert copies(1000, 2000) == 4
    assert copies(1000, 2001) == 0
    assert copy_count(1000, [wp.zeros(16000, dtype=float)], rounds=8.0) == 4
    assert copy_count(10**6, [wp.zeros((4, 4), dtype=float)[:, 1]]) == MOST_COPIES
    assert copy_count(10**6, [wp.zeros(4, dtype=Cell)]) == 0
