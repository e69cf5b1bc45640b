"""Loops over ranges run as often as in Python, over indices of the same types and values."""

from contextlib import nullcontext

import numpy as np
import pytest
from kernel_runs import filled, like_python, module, nodes_of, ran, refused

import warpsim as wp
from warpsim.core.ir.nodes import For
from warpsim.errors import KernelTypeError, KernelValueError, UnassignedLocalWarning, UnsupportedSyntaxError

Ints = wp.array(dtype=int)
Floats = wp.array(dtype=float)
LIMIT = 4


@wp.kernel
def ranges(out: Ints, bounds: wp.array2d(dtype=int)):
    k = wp.tid()
    total = int(0)
    trips = int(0)
    for i in range(bounds[k, 0], bounds[k, 1], bounds[k, 2]):
        total += i * (trips + 1)
        trips += 1
    out[2 * k] = total
    out[2 * k + 1] = trips


BOUNDS = np.array(
    [(0, 5, 1), (2, 9, 3), (9, 2, -3), (5, 5, 1), (5, 0, 1), (0, 5, -1), (-4, 4, 2), (10, -11, -7), (3, 4, 100)],
    np.int32,
)


def test_ranges_with_bounds_and_steps_of_the_run():
    like_python(ranges, len(BOUNDS), np.zeros(2 * len(BOUNDS), np.int32), BOUNDS)


def test_a_step_of_zero_runs_never():
    assert ran(ranges, 1, np.zeros(2, np.int32), np.array([(0, 5, 0)], np.int32))[0].tolist() == [0, 0]


@wp.kernel
def ranges_with_a_test(out: Ints, bounds: wp.array2d(dtype=int), most: int):
    k = wp.tid()
    for i in range(bounds[k, 0], bounds[k, 1], bounds[k, 2]):
        if out[k] >= most:
            break
        out[k] += 1 + 0 * i


def test_ranges_that_may_break_run_as_often():
    like_python(ranges_with_a_test, len(BOUNDS), np.zeros(len(BOUNDS), np.int32), BOUNDS, 1000)
    like_python(ranges_with_a_test, len(BOUNDS), np.zeros(len(BOUNDS), np.int32), BOUNDS, 2)
    assert ran(ranges_with_a_test, 1, np.zeros(1, np.int32), np.array([(0, 5, 0)], np.int32), 9)[0].tolist() == [0]


@wp.kernel
def steps(out: Ints, x: Ints):
    i = wp.tid()
    s = int(0)
    for a in range(5, -5, x[i]):
        s = s * 2 + a
    for a in range(-5, 5, x[i]):
        s = s * 2 - a
    out[i] = s


def test_steps_alone_are_known_at_the_run_only():
    like_python(steps, 4, np.zeros(4, np.int32), np.array([-3, -1, 2, 20], np.int32))


EDGE = np.array([(2**31 - 4, 2**31 - 1, 2), (-(2**31) + 3, -(2**31), -2), (0, 2**31 - 1, 2**30)], np.int32)


@pytest.mark.parametrize("kernel", [ranges, ranges_with_a_test], ids=["counted", "tested"])
def test_an_index_at_the_end_of_its_type_does_not_wrap_round(kernel):
    """2**31 - 4, 2**31 - 2, and then the next index would be negative."""
    breaks = kernel is ranges_with_a_test
    got = ran(kernel, 3, np.zeros(6, np.int32), EDGE, *([100] if breaks else []))[0]
    assert (got[:3] if breaks else got[1::2]).tolist() == [2, 2, 2]


@wp.kernel
def static_ranges(out: Ints):
    for i in range(3):
        out[0] += i + 1
    for i in range(2, 8, 2):
        out[1] += i
    for i in range(5, 0, -2):
        out[2] = out[2] * 10 + i
    for i in range(0):
        out[3] = i + 100
    for i in range(7, 2):
        out[3] = i + 100
    for _ in range(LIMIT):
        out[4] += 1
    for i in range(wp.static(LIMIT // 2), LIMIT):
        out[5] += i


def test_ranges_of_constants():
    assert filled(static_ranges, 6, threads=1, dtype=np.int32) == [6, 12, 531, 0, 4, 5]
    assert nodes_of(static_ranges, For) == []


@wp.kernel
def ranges_of_types(out: wp.array(dtype=wp.uint64), n: wp.uint32, m: wp.int64, b: wp.uint8):
    for i in range(n):
        out[0] += wp.uint64(i)
    for j in range(m, m + wp.int64(2)):
        out[1] += wp.uint64(j)
    for k in range(b):
        if k == 200:
            break
        out[2] += wp.uint64(1)


def test_indices_have_the_type_of_the_bounds():
    got = filled(ranges_of_types, 3, 4, 2**40, 255, threads=1, dtype=np.uint64)
    assert got == [6, 2**41 + 1, 200]


@wp.kernel
def index_afterwards(out: Ints, n: int):
    t = wp.tid()
    i = -1
    for i in range(n):
        out[8] += 1 + 0 * i
    out[4 * t] = i
    j = int(-5)
    for j in range(10):
        if j > t:
            break
    out[4 * t + 1] = j
    k = t
    for k in range(3):
        k = k * 100
    out[4 * t + 2] = k
    for q in range(2):
        out[8] += q
    for q in range(2):
        out[8] += q


@pytest.mark.parametrize("n", [0, 3])
def test_the_index_keeps_its_last_value(n):
    like_python(index_afterwards, 2, np.zeros(9, np.int32), n)


@pytest.mark.parametrize("bound", ["3", "n"])
def test_an_index_that_had_no_value_before_has_its_last_afterwards(bound):
    head = "@wp.kernel\ndef k(out: wp.array(dtype=float), n: int):\n"
    kernel = module(head + f"    for i in range({bound}):\n        out[i] = 1.0\n    out[i] = 2.0")["k"]
    out = wp.zeros(3, dtype=float)
    with pytest.warns(UnassignedLocalWarning, match="'i' may be used here") if bound == "n" else nullcontext():
        wp.launch(kernel, 1, inputs=[out, 3])
    assert out.list() == [1.0, 1.0, 2.0]


@wp.kernel
def index_known_afterwards(out: Ints):
    t = wp.tid()
    for i in range(2):
        for i in range(9, 0, -4):
            out[6 * t] += i
        out[6 * t + 1] += wp.static(i)
    out[6 * t + 2] = wp.static(i + 1)
    for j in range(4):
        if j == 2:
            break
        out[6 * t + 3] = j
    for k in range(3):
        k = k * t
        out[6 * t + 4] += k
    for q in range(3, 3):
        out[6 * t + 5] = q


def test_an_index_is_known_after_a_loop_of_constant_bounds_that_runs_to_its_end():
    out = wp.zeros(12, dtype=int)
    wp.launch(index_known_afterwards, 2, inputs=[out])
    assert out.list() == [30, 2, 2, 1, 0, 0, 30, 2, 2, 1, 3, 0]


def test_an_index_that_was_something_else_before_has_no_single_type_afterwards():
    error = refused("i = 0.5\nfor i in range(3):\n    out[i] = 1.0\nout[0] = i")
    assert isinstance(error, KernelTypeError)
    assert error.message == ("'i' has no single type here: the loop makes it int32, and before it is 0.5 (float32)")


@wp.kernel
def bounds_once(out: Ints, n: int):
    m = n
    for i in range(m):
        m += 10
        out[i] = m
    out[7] = m


def test_bounds_are_evaluated_once():
    like_python(bounds_once, 1, np.zeros(8, np.int32), 3)


@pytest.mark.parametrize(
    ("head", "kind", "message"),
    [
        ("range(1.5)", KernelTypeError, "range over 0 (int32), 1.5 (float32), 1 (int32)"),
        ("range(n, u)", KernelTypeError, "range over int32, uint32, 1 (int32)"),
        ("range(0, 10, 0)", KernelValueError, "range() arg 3 must not be zero"),
        ("range()", KernelTypeError, "range takes one to three integers"),
        ("range(1, 2, 3, 4)", KernelTypeError, "range takes one to three integers"),
        ("range(u, -1, -1)", KernelTypeError, "-1 does not fit uint32"),
        ("n", KernelTypeError, "a loop over int32"),
    ],
)
def test_wrong_heads(head, kind, message):
    error = refused(f"for i in {head}:\n    pass", "out: wp.array(dtype=float), n: int, u: wp.uint32")
    assert (type(error), error.message) == (kind, message)


def test_a_range_has_one_index():
    error = refused("for i, j in range(3):\n    pass")
    assert (type(error), error.message) == (UnsupportedSyntaxError, "the index of range is one name")
