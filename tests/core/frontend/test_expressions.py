"""Expressions mean what they mean in Python, except where kernels say otherwise, and evaluate only what they need."""

import enum
import math

import numpy as np
import pytest
from kernel_runs import filled, like_python, module, ran, refused

import warpsim as wp
from warpsim.errors import KernelNameError, KernelTypeError, KernelValueError, OutOfBoundsError

Floats = wp.array(dtype=float)
Ints = wp.array(dtype=int)
INTS = np.array([7, -7, 2, -2, 0, 1, -1, 100], dtype=np.int32)


class Color(enum.IntEnum):
    RED = 1
    BLUE = 5


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Plain(enum.Enum):
    Q = 3


PI = 3.25
GRAVITY = wp.vec3(0.0, -9.5, 2.0)
WIDE = wp.vec3d(0.1, 0.2, 0.3)
TURN = wp.mat22(0.0, -1.0, 1.0, 0.0)
COUNT = np.int64(5)
SEVEN = wp.constant(7)
TABLE = (2.0, 4.0, 8.0)
SCALES = np.array([1.5, 2.5])


# ----- arithmetic ---------------------------------------------------------------------------


@wp.kernel
def arithmetic(out: Ints, x: Ints, y: Ints):
    i = wp.tid()
    a = x[i]
    b = y[i]
    out[i] = a + b * 2 - (a - b) * 3 + (a & b) - (a | b) + (a ^ 5) + (~a) + (-b) + (+a) + (a << 2) + (a >> 1)


def test_arithmetic_and_bits_are_pythons():
    like_python(arithmetic, 8, np.zeros(8, np.int32), INTS, INTS[::-1].copy())


@wp.kernel
def floor_division(out: Ints, x: Ints, y: Ints):
    i = wp.tid()
    if y[i] != 0:
        out[i] = x[i] // y[i]


def test_floor_division_is_pythons():
    like_python(floor_division, 8, np.zeros(8, np.int32), INTS, np.array([2, 2, -3, -3, 5, 0, 2, -7], np.int32))


@wp.kernel
def truncating(out: Ints, x: Ints, y: Ints):
    i = wp.tid()
    out[4 * i] = x[i] / y[i]
    out[4 * i + 1] = x[i] % y[i]
    out[4 * i + 2] = x[i] // y[i]
    out[4 * i + 3] = (x[i] // y[i]) * y[i]


@pytest.mark.parametrize(
    ("x", "y", "want"),
    [
        (7, 2, (3, 1, 3)), (-7, 2, (-3, -1, -4)), (7, -2, (-3, 1, -4)), (-7, -2, (3, -1, 3)),
        (5, 0, (0, 5, 0)), (-5, 0, (0, -5, 0)), (-(2**31), -1, (-(2**31), 0, -(2**31))),
    ],
)  # fmt: skip
def test_integer_division_truncates_and_is_defined_everywhere(x, y, want):
    """`/` goes towards zero, `%` has the sign of the dividend, `//` rounds down; by zero they give 0, x, 0."""
    got = ran(truncating, 1, np.zeros(4, np.int32), np.array([x], np.int32), np.array([y], np.int32))[0]
    assert tuple(got[:3]) == want


@wp.kernel
def float_division(out: Floats, x: Floats, y: Floats):
    i = wp.tid()
    out[3 * i] = x[i] / y[i]
    out[3 * i + 1] = x[i] // y[i]
    out[3 * i + 2] = x[i] % y[i]


def test_float_division():
    x, y = np.array([7.5, -7.5, 7.5], np.float32), np.array([2.0, 2.0, -2.0], np.float32)
    got = ran(float_division, 3, np.zeros(9, np.float32), x, y)[0].reshape(3, 3)
    np.testing.assert_array_equal(got, [[3.75, 3, 1.5], [-3.75, -4, -1.5], [-3.75, -4, 1.5]])


@wp.kernel
def powers(out: Ints, x: Ints):
    i = wp.tid()
    a = x[i]
    out[4 * i] = a**0
    out[4 * i + 1] = a**1
    out[4 * i + 2] = a**2
    out[4 * i + 3] = a**5


def test_integer_powers_by_constants():
    like_python(powers, 3, np.zeros(12, np.int32), np.array([3, -2, 0], np.int32))


def test_integer_powers_by_values_are_refused():
    error = refused("i = wp.tid()\nout[0] = float(i ** i)")
    assert error.message == "int32 ** int32"
    assert error.expected == "a constant from 0 to 64"


@wp.kernel
def float_powers(out: Floats, x: Floats):
    i = wp.tid()
    out[2 * i] = x[i] ** 2.0
    out[2 * i + 1] = -x[i] ** 2.0


def test_power_binds_closer_than_minus():
    assert filled(float_powers, 4, np.array([3.0, 5.0], np.float32), threads=2) == [9, -9, 25, -25]


@wp.kernel
def shifts(out: Ints, x: Ints):
    i = wp.tid()
    out[2 * i] = 1 << x[i]
    out[2 * i + 1] = -256 >> x[i]


def test_shift_counts_are_taken_modulo_the_width():
    got = ran(shifts, 3, np.zeros(6, np.int32), np.array([4, 33, -30], np.int32))[0]
    assert got.tolist() == [16, -16, 2, -128, 4, -64]


@wp.kernel
def unsigned(out: wp.array(dtype=wp.uint32), x: wp.array(dtype=wp.uint32)):
    out[0] = x[0] - x[1]
    out[1] = x[0] >> wp.uint32(1)
    out[2] = x[2] // x[1]
    out[3] = x[2] * 2


def test_unsigned_integers_wrap():
    got = ran(unsigned, 1, np.zeros(4, np.uint32), np.array([2, 3, 4000000000], np.uint32))[0]
    assert got.tolist() == [2**32 - 1, 1, 1333333333, 3705032704]


@wp.kernel
def signed_wrap(out: Ints, x: Ints):
    out[0] = x[0] + 1
    out[1] = -x[1]
    out[2] = x[0] * x[0]


def test_signed_integers_wrap():
    got = ran(signed_wrap, 1, np.zeros(3, np.int32), np.array([2**31 - 1, -(2**31)], np.int32))[0]
    assert got.tolist() == [-(2**31), -(2**31), 1]


def test_a_sum_of_a_thousand_terms_is_no_recursion():
    terms = " + ".join(["x"] * 1000)
    found = module(f"@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    x = float(wp.tid())\n    out[0] = {terms}\n")
    assert filled(found["k"], 1) == [0]


# ----- literals and constants ---------------------------------------------------------------


@wp.kernel
def weak_literals(out: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), n: wp.array(dtype=wp.uint8)):
    out[0] = 0.1 * x[0]
    out[1] = x[0] + 1
    out[2] = wp.float64(n[0] + 1)
    out[3] = 2.0 * PI * x[0]


def test_literals_take_the_type_of_what_they_meet():
    got = ran(weak_literals, 1, np.zeros(4), np.array([3.0]), np.array([255], np.uint8))[0]
    assert got.tolist() == [0.1 * 3.0, 4.0, 0.0, 19.5]


@wp.kernel
def constant_rules(out: Ints):
    a = -7
    out[0] = a % 3
    out[1] = int(-7) % 3
    out[2] = a // 2
    out[3] = 8 / 2
    out[4] = 2**10 - 1
    out[5] = 7 & 3 | 8
    out[6] = -(~5)


def test_constants_follow_the_rules_of_kernels():
    """`%` of two literals has the sign of the dividend, as it has when one of them is a variable."""
    assert filled(constant_rules, 7, threads=1, dtype=np.int32) == [-1, -1, -4, 4, 1023, 11, 6]


@wp.kernel
def outside_names(out: Floats, i: int):
    out[0] = GRAVITY[1] + GRAVITY.z + PI
    out[1] = GRAVITY[i]
    out[2] = TURN[0, 1] + TURN[1][0] + TURN[i - 1, 0]
    out[3] = float(COUNT) + float(Color.BLUE) + float(Bits.A | Bits.B) + float(Plain.Q.value)
    out[4] = TABLE[2] + TABLE[-1] + float(len(TABLE))
    out[5] = float(SCALES[1]) + math.tau / math.pi
    out[6] = (GRAVITY * 2.0).y + (TURN * TURN)[0, 0]
    out[7] = GRAVITY.zy[0] + GRAVITY[0:2][1]
    out[8] = float(SEVEN + wp.static(2 * 3) + Color.BLUE if i > Color.RED else Color.RED)


def test_constants_of_the_module():
    want = [-9.5 + 2 + 3.25, 2.0, -1 + 1 + 1, 5 + 5 + 3 + 3, 8 + 8 + 3, 4.5, -19 - 1, 2 - 9.5, 7 + 6 + 5]
    assert filled(outside_names, 9, 2, threads=1) == want


@wp.kernel
def wide_constant(out: wp.array(dtype=wp.float64)):
    out[0] = WIDE.x + WIDE[1] + wp.float64(WIDE[0])
    _x, _y, z = WIDE
    out[1] = z


def test_a_component_of_a_constant_keeps_its_type():
    """`WIDE.x` is float64: as a Python float it would become float32 where no type is near."""
    assert filled(wide_constant, 2, threads=1, dtype=np.float64) == [0.1 + 0.2 + 0.1, 0.3]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("0.0 ** -1", KernelValueError, "0.0 ** -1 divides by zero"),
        ("1 << -1", KernelValueError, "lshift: negative shift count"),
        ("2.0 ** 100000", KernelValueError, "2.0 (float32) pow 100000 (int32) is too large"),
        ("~1.5", KernelTypeError, "invert: 1.5 (float32) is not an integer"),
        ("-'a'", KernelTypeError, "neg: text 'a' is not a number"),
        ("GRAVITY[3]", KernelValueError, "component 3 of vec3f"),
        ("GRAVITY.w", KernelNameError, "vec3f([0.0, -9.5, 2.0]) has no attribute 'w'"),
        ("TABLE[5]", KernelValueError, "(2.0 (float32), 4.0 (float32), 8.0 (float32)) cannot be indexed by 5:"
            " tuple index out of range"),
        ("GRAVITY + WIDE", KernelTypeError, "add: no overload for (vec3f, vec3d)"),
    ],
)  # fmt: skip
def test_wrong_constants(text, kind, message):
    error = refused(f"x = {text}", GRAVITY=GRAVITY, TABLE=TABLE, WIDE=WIDE)
    assert (type(error), error.message) == (kind, message)


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
        ("v < v", "lt: no overload for (vec3f, vec3f)"), ("n == None", "int32 is compared with None"),
        ("'a' < 1", "text 'a' is compared with 1 (int32)"), ("n == 'a'", "int32 is compared with text 'a'"),
        ("n < out.shape", "int32 is compared with (int32)"), ("out == out",
            "eq: no overload for (array(float32, ndim=1), array(float32, ndim=1))"),
    ],
)  # fmt: skip
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
