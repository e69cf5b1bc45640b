"""Comparisons, conditions and truth values mean what they mean in Python, and evaluate only what they need."""

import numpy as np
import pytest
from kernel_runs import filled, like_python, ran, refused

import warpsim as wp
from warpsim.errors import KernelTypeError, OutOfBoundsError

Floats = wp.array(dtype=float)
Ints = wp.array(dtype=int)
GRAVITY = wp.vec3(0.0, -9.5, 2.0)
INTS = np.array([7, -7, 2, -2, 0, 1, -1, 100], dtype=np.int32)


# ----- comparison ---------------------------------------------------------------------------


@wp.kernel
def comparisons(out: Ints, x: Ints, y: Ints):
    i = wp.tid()
    a = x[i]
    b = y[i]
    n = 0
    if a < b:
        n += 1
    if a <= b:
        n += 2
    if a > b:
        n += 4
    if a >= b:
        n += 8
    if a == b:
        n += 16
    if a != b:
        n += 32
    if -5 < a <= b < 100:
        n += 64
    if a < b > 0 != a:
        n += 128
    out[i] = n


def test_comparisons_and_chains():
    like_python(comparisons, 8, np.zeros(8, np.int32), INTS, np.array([7, 0, 3, -2, 1, 0, -1, 5], np.int32))


@wp.kernel
def chained_reads(out: Ints, x: Ints, n: int):
    i = wp.tid()
    if 0 <= i < n < x[i]:
        out[i] = 1


def test_a_chain_stops_where_it_fails():
    """x[i] of an index outside is never read: the interpreter and verify mode would stop there."""
    got = ran(chained_reads, 6, np.zeros(6, np.int32), np.array([9, 1, 9], np.int32), 3, verify=True)[0]
    assert got.tolist() == [1, 0, 1, 0, 0, 0]


@wp.kernel
def unsigned_comparison(out: Ints, x: wp.array(dtype=wp.uint32)):
    if x[0] > x[1]:
        out[0] = 1
    if x[0] > 5:
        out[1] = 1


def test_unsigned_numbers_compare_unsigned():
    assert ran(unsigned_comparison, 1, np.zeros(2, np.int32), np.array([2**31 + 1, 3], np.uint32))[0].tolist() == [1, 1]


@wp.kernel
def nan_comparison(out: Ints, x: Floats):
    a = x[0]
    if a == a:
        out[0] = 1
    if a != a:
        out[1] = 1
    if not (a < 1.0):
        out[2] = 1


def test_nan_is_unequal_to_itself():
    assert ran(nan_comparison, 1, np.zeros(3, np.int32), np.array([np.nan], np.float32))[0].tolist() == [0, 1, 1]


@wp.kernel
def compound_comparison(out: Ints, a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), v: wp.vec3):
    if a.shape == b.shape:
        out[0] = 1
    if a.shape != b.shape:
        out[1] = 1
    if a.shape == (2, 3):
        out[2] = 1
    if v == wp.vec3(1.0, 2.0, 3.0):
        out[3] = 1
    if type(v) == wp.vec3 and type(v.x) == float and a.dtype == float:  # noqa: E721
        out[4] = 1
    if v != GRAVITY:
        out[5] = 1


def test_tuples_vectors_and_types_compare():
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    assert ran(compound_comparison, 1, np.zeros(6, np.int32), a, a, wp.vec3(1, 2, 3))[0].tolist() == [1, 0, 1, 1, 1, 1]
    assert ran(compound_comparison, 1, np.zeros(6, np.int32), a, b, wp.vec3(1, 2, 4))[0].tolist() == [0, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v < v", "lt: no overload for (vec3f, vec3f)"),
        ("n == None", "int32 is compared with None"),
        ("'a' < 1", "text 'a' is compared with 1 (int32)"),
        ("n == 'a'", "int32 is compared with text 'a'"),
        ("n < out.shape", "int32 is compared with (int32)"),
        ("out == out", "eq: no overload for (array(float32, ndim=1), array(float32, ndim=1))"),
    ],
)
def test_what_cannot_be_compared(text, message):
    error = refused(f"x = {text}", "out: wp.array(dtype=float), n: int, v: wp.vec3")
    assert isinstance(error, KernelTypeError)
    assert error.message == message


# ----- short circuit ------------------------------------------------------------------------


@wp.kernel
def guarded(out: Ints, x: Ints, n: int):
    i = wp.tid()
    if i < n and x[i] > 2:
        out[i] += 1
    if i >= n or x[i] < 0:
        out[i] += 10
    if not (i < n and x[i] > 2):
        out[i] += 100
    inside = i < n and x[i] != 0 and x[i] < 50
    if inside or i == 5 or x[0] == 3:
        out[i] += 1000
    out[i] += x[i] * 10000 if i < n else 0


def test_guarded_reads_never_happen():
    like_python(guarded, 6, np.zeros(6, np.int32), np.array([3, -1, 0], np.int32), 3, verify=True)


@wp.kernel
def unguarded(out: Ints, x: Ints, n: int):
    i = wp.tid()
    if x[i] > 2 and i < n:
        out[i] = 1


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_the_first_operand_is_always_evaluated(device):
    wp.config.verify = True
    arrays = [wp.zeros(6, dtype=int, device=device), wp.zeros(3, dtype=int, device=device)]
    with pytest.raises(OutOfBoundsError):
        wp.launch(unguarded, dim=6, inputs=[*arrays, 3], device=device)


@wp.kernel
def numbers_as_conditions(out: Ints, x: Ints, y: Floats):
    i = wp.tid()
    if x[i]:
        out[i] += 1
    if y[i]:
        out[i] += 2
    if not x[i]:
        out[i] += 4
    if x[i] and y[i]:
        out[i] += 8
    while not y[i] and out[i] < 100:
        out[i] += 50


def test_numbers_are_conditions():
    x, y = np.array([0, 1, 0, 5], np.int32), np.array([0.0, 0.0, 0.5, -1.0], np.float32)
    like_python(numbers_as_conditions, 4, np.zeros(4, np.int32), x, y)


@wp.kernel
def ternary(out: Floats, v: wp.vec3):
    i = wp.tid()
    out[i] = 1.0 if i < 2 else 2.0 if i == 2 else (v.x if i == 3 else v[1])
    w = v if i == 0 else -v
    out[i] += w.z
    out[i] += 0.5 if True else v


def test_ternary():
    assert filled(ternary, 5, wp.vec3(10, 20, 30)) == [31.5, -28.5, -27.5, -19.5, -9.5]


@wp.kernel
def bools(out: Ints, x: wp.array(dtype=bool), flag: bool):
    i = wp.tid()
    a = x[i]
    b = a & flag | (not a) ^ flag
    x[i] = b
    if b and flag:
        out[i] = 1
    if a == flag:
        out[i] += 10


def test_bools_are_values():
    got = ran(bools, 2, np.zeros(2, np.int32), np.array([True, False]), True)
    assert [g.tolist() for g in got] == [[11, 0], [True, False]]
