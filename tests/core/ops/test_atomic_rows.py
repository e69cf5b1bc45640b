"""Atomics: what they leave in memory and what they return, serially and with threads that meet, and their duals."""

import numpy as np
import pytest
from memory_kernels import kernel, run
from reverse_walk import adjoint
from row_cases import random_value, special_values
from row_devices import array_of

from warpsim.core.ops import add, load, memory, mul, store
from warpsim.core.ops.registry import TABLE
from warpsim.core.types import compounds, scalars
from warpsim.core.types.arrays import array_type
from warpsim.core.types.scalars import float16, float32, float64, int32, int64, uint8, uint32, uint64
from warpsim.core.types.structs import numpy_dtype

COMPOUNDS = [
    compounds.vector(3, float32),
    compounds.vector(2, float64),
    compounds.vector(4, int32),
    compounds.vector(3, float16),
    compounds.matrix((2, 2), float32),
    compounds.matrix((3, 3), float64),
    compounds.quaternion(float32),
    compounds.transformation(float64),
]
NUMBERS = [*scalars.NUMBERS, *COMPOUNDS]
INTEGERS = [*scalars.INTEGERS, compounds.vector(2, uint32)]
KINDS = {
    "atomic_add": NUMBERS,
    "atomic_sub": NUMBERS,
    "atomic_min": NUMBERS,
    "atomic_max": NUMBERS,
    "atomic_exch": NUMBERS,
    "atomic_cas": NUMBERS,
    "atomic_and": INTEGERS,
    "atomic_or": INTEGERS,
    "atomic_xor": INTEGERS,
}
COUNT = 64  # threads in the small tests


def random_array(t, n, seed, low=-9.0, high=9.0):
    rng = np.random.default_rng(seed)
    return array_of([random_value(t, low, high, rng) for _ in range(n)], t)


def returning(kind, *types):
    """For every type, old[i] = atomic(a, at[i], value[i]), and with other[i] too for a swap."""

    def body(i, at, *arrays):
        for a, value, other, old in zip(*(arrays[k::4] for k in range(4)), strict=True):
            operands = (load(value, i), load(other, i)) if kind == "atomic_cas" else (load(value, i),)
            store(old, i, TABLE[kind](a, load(at, i), *operands))

    return kernel([array_type(int32), *[array_type(t) for t in types for _ in range(4)]], body)


# ----- one thread after the other -----------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_serially_the_cpu_does_what_the_interpreter_does(kind):
    at = np.random.default_rng(1).integers(0, 3, COUNT).astype(np.int32)
    results = []
    for device in ("interp", "cpu"):
        memories = []
        for t in KINDS[kind]:
            start, value, other = (random_array(t, n, seed) for n, seed in ((3, 2), (COUNT, 3), (COUNT, 4)))
            value[::3] = start[0]  # swaps that succeed, and ties
            memories += [start, value, other, np.zeros_like(value)]
        run(returning(kind, *KINDS[kind]), [at, *memories], COUNT, device)
        results.append(memories)
    for k, (simulated, compiled) in enumerate(zip(*results, strict=True)):
        np.testing.assert_array_equal(compiled, simulated, err_msg=str(KINDS[kind][k // 4]))


ORACLES = {
    "atomic_add": lambda a, v: a + v,
    "atomic_sub": lambda a, v: a - v,
    "atomic_min": np.minimum,
    "atomic_max": np.maximum,
    "atomic_exch": lambda a, v: v,
    "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or,
    "atomic_xor": np.bitwise_xor,
}


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_an_atomic_combines_and_returns_what_was_there(kind, device):
    t = uint8 if kind in ("atomic_and", "atomic_or", "atomic_xor") else float32
    at = np.array([0, 1, 0, 0, 1], np.int32)
    a, value, old = random_array(t, 2, 5), random_array(t, 5, 6), np.zeros(5, t)
    want, before = a.copy(), []
    for j, v in zip(at, value, strict=True):
        before.append(want[j])
        want[j] = ORACLES[kind](want[j], v)
    run(returning(kind, t), [at, a, value, value, old], 5, device)
    np.testing.assert_array_equal(a, want)
    np.testing.assert_array_equal(old, before)


@pytest.mark.parametrize("t", scalars.FLOATS)
@pytest.mark.parametrize("kind", ["atomic_min", "atomic_max", "atomic_cas"])
def test_special_values_mean_the_same_on_every_path(kind, t):
    """NaN loses, -0 is below +0, swaps compare bits: serially, with threads, and in the interpreter."""
    choices = special_values(t)
    pairs = [(a, b) for a in choices for b in choices]
    start, value = (np.array(column, t) for column in zip(*pairs, strict=True))
    other = np.full(len(pairs), 5, t)
    at = np.arange(len(pairs), dtype=np.int32)
    results = []
    for device in ("interp", "cpu", "threads"):
        a, old = start.copy(), np.zeros(len(pairs), t)
        run(returning(kind, t), [at, a, value, other, old], len(pairs), device)
        np.testing.assert_array_equal(old, start)
        results.append(a)
    if kind == "atomic_min":
        np.testing.assert_array_equal(results[0], np.fmin(start, value))
    for found in results[1:]:
        np.testing.assert_array_equal(found, results[0])
        np.testing.assert_array_equal(np.signbit(found), np.signbit(results[0]))


# ----- threads that meet --------------------------------------------------------------------


CROWD = 20_000


def crowded(kind, t, cells):
    """Every thread hits cell i % cells; the value before goes to old[i]."""

    def body(i, a, value, old):
        store(old, i, TABLE[kind](a, i % cells, load(value, i)))

    return kernel([array_type(t)] * 3, body)


@pytest.mark.parametrize("t", [int32, uint32, int64, uint64, uint8, compounds.vector(3, int32)])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("atomic_exch", "atomic_cas")])
def test_no_integer_update_is_lost(kind, t):
    a, value = random_array(t, 3, 7), np.resize(random_array(t, 1000, 8), (CROWD, *numpy_dtype(t).shape))
    want = a.copy()
    for cell in range(3):
        parts = np.concatenate([a[cell : cell + 1], value[cell::3]])
        if kind in ("atomic_add", "atomic_sub"):
            total = parts[1:].sum(axis=0, dtype=value.dtype, keepdims=True)
            ufunc = np.add if kind == "atomic_add" else np.subtract
            want[cell : cell + 1] = ufunc(parts[:1], total)  # arrays wrap, where scalars would warn
        else:
            want[cell] = ORACLES[kind].reduce(parts, axis=0)
    run(crowded(kind, t, 3), [a, value, np.zeros_like(value)], CROWD, "threads")
    np.testing.assert_array_equal(a, want)


@pytest.mark.parametrize("t", [float32, float64, compounds.vector(3, float32), compounds.matrix((2, 2), float64)])
@pytest.mark.parametrize("kind", ["atomic_add", "atomic_sub"])
def test_no_float_update_is_lost(kind, t):
    """Whole numbers, so that sums are exact in any order."""
    a, value = np.zeros(2, numpy_dtype(t)), np.rint(random_array(t, CROWD, 9))
    sign = 1 if kind == "atomic_add" else -1
    want = sign * np.stack([value[0::2].sum(axis=0), value[1::2].sum(axis=0)])
    run(crowded(kind, t, 2), [a, value, np.zeros_like(value)], CROWD, "threads")
    np.testing.assert_array_equal(a, want)


@pytest.mark.parametrize("t", [float16, float32, float64])
@pytest.mark.parametrize("kind", ["atomic_min", "atomic_max"])
def test_the_extreme_of_a_crowd_is_found(kind, t):
    a, value = np.zeros(2, t), random_array(t, CROWD, 10)
    value[5] = np.nan
    pick = np.fmin if kind == "atomic_min" else np.fmax
    run(crowded(kind, t, 2), [a, value, np.zeros_like(value)], CROWD, "threads")
    np.testing.assert_array_equal(a, [pick.reduce(value[0::2], initial=0), pick.reduce(value[1::2], initial=0)])


@pytest.mark.parametrize("t", [int32, uint64, float32, float64])
def test_values_returned_by_a_counter_are_tickets(t):
    """Adding one hands every number out once; with threads or without."""
    value = np.ones(CROWD, t)
    for device in ("cpu", "threads"):
        a, old = np.zeros(1, t), np.zeros(CROWD, t)
        run(crowded("atomic_add", t, 1), [a, value, old], CROWD, device)
        assert a[0] == CROWD
        np.testing.assert_array_equal(np.sort(old), np.arange(CROWD))


@pytest.mark.parametrize("t", [int32, float64])
def test_exchanged_values_are_neither_lost_nor_doubled(t):
    a, value, old = np.zeros(1, t), np.arange(1, CROWD + 1).astype(t), np.zeros(CROWD, t)
    run(crowded("atomic_exch", t, 1), [a, value, old], CROWD, "threads")
    np.testing.assert_array_equal(np.sort([*old, a[0]]), np.arange(CROWD + 1))


@pytest.mark.parametrize("t", [int32, uint64, float32])
def test_one_swap_wins(t):
    """Every thread tries to replace 0 by its own number: one does, and all others see it."""

    def body(i, a, old):
        mine = TABLE["cast"](add(i, 1), to=t)
        store(old, i, memory.atomic_cas(a, 0, 0, mine))

    a, old = np.zeros(1, t), np.full(CROWD, 9, t)
    run(kernel([array_type(t)] * 2, body), [a, old], CROWD, "threads")
    [winner] = np.flatnonzero(old == 0)
    assert a[0] == winner + 1
    assert set(np.delete(old, winner)) == {a[0]}


# ----- duals --------------------------------------------------------------------------------

T = float64
V = compounds.vector(2, float64)


def slopes_of(body, memories, seeds, device):
    types = [array_type(int32) if m.dtype == np.int32 else array_type(T if m.ndim == 1 else V) for m in memories]
    gradients = {k: s.copy() for k, s in enumerate(seeds)}
    run(adjoint(kernel(types, body)), memories, len(memories[0]), device, gradients)
    return [gradients[k] for k in range(len(seeds))]


@pytest.mark.parametrize("device", ["interp", "cpu", "threads"])
@pytest.mark.parametrize("kind, sign", [("atomic_add", 1.0), ("atomic_sub", -1.0)])
def test_a_sum_hands_its_gradient_to_every_term(kind, sign, device):
    at, x = np.array([0, 1, 1, 0, 1], np.int32), np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    def body(i, j, terms, sums):
        term = load(terms, i)
        TABLE[kind](sums, load(j, i), mul(term, term))

    ds = np.array([10.0, 100.0])
    _, dx, left = slopes_of(body, [at, x, np.zeros(2)], [np.zeros(5), np.zeros(5), ds], device)
    np.testing.assert_array_equal(dx, sign * 2 * x * ds[at])
    np.testing.assert_array_equal(left, ds)


@pytest.mark.parametrize("kind, best", [("atomic_min", 1.0), ("atomic_max", 9.0)])
@pytest.mark.parametrize("device", ["interp", "cpu", "threads"])
def test_the_extreme_hands_its_gradient_to_one_winner(kind, best, device):
    """Of equal values one takes all, so the shares add up to the gradient; the element before has none left."""
    at, x = np.zeros(6, np.int32), np.array([3.0, 1.0, 9.0, 9.0, 1.0, 2.0])

    def body(i, j, values, result):
        TABLE[kind](result, load(j, i), load(values, i))

    _, dx, left = slopes_of(body, [at, x, np.array([best])], [np.zeros(6), np.zeros(6), np.array([7.0])], device)
    assert dx.sum() == 7.0 and np.count_nonzero(dx) == 1
    assert x[np.argmax(dx)] == best
    assert left.tolist() == [0.0]


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_an_extreme_that_no_thread_gave_keeps_its_gradient(device):
    def body(i, values, result):
        memory.atomic_min(result, 0, load(values, i))

    dx, left = slopes_of(body, [np.array([3.0, 1.0]), np.array([0.5])], [np.zeros(2), np.array([7.0])], device)
    assert dx.tolist() == [0.0, 0.0]
    assert left.tolist() == [7.0]


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_the_components_of_an_extreme_have_winners_of_their_own(device):
    def body(i, values, result):
        memory.atomic_max(result, 0, load(values, i))

    x, top, seed = np.array([[1.0, 8.0], [5.0, 2.0]]), np.array([[5.0, 8.0]]), np.array([[10.0, 20.0]])
    dx, left = slopes_of(body, [x, top], [np.zeros((2, 2)), seed], device)
    assert dx.tolist() == [[0.0, 20.0], [10.0, 0.0]]
    assert left.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("kind", ["atomic_add", "atomic_min"])
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_the_value_before_is_a_value_that_was_read(kind, device):
    """y is the element before the atomic: its cotangent goes to the element."""

    def body(i, x, element, y):
        store(y, i, TABLE[kind](element, 0, load(x, i)))

    memories = [np.array([5.0]), np.array([2.0]), np.zeros(1)]
    dx, left, rest = slopes_of(body, memories, [np.zeros(1), np.array([100.0]), np.array([7.0])], device)
    assert dx.tolist() == [100.0 if kind == "atomic_add" else 0.0]
    assert left.tolist() == [100.0 + 7.0]
    assert rest.tolist() == [0.0]
