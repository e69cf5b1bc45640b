"""Expressions mean what they mean in Python, except where kernels say otherwise, and evaluate only what they need."""

import enum
import math

import numpy as np
import pytest
from kernel_runs import filled, like_python, module, ran, refused

import warpsim as wp
from warpsim.errors import KernelAttributeError, KernelLookupError, KernelTypeError, KernelValueError

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
        (7, 2, (3, 1, 3)),
        (-7, 2, (-3, -1, -4)),
        (7, -2, (-3, 1, -4)),
        (-7, -2, (3, -1, 3)),
        (5, 0, (0, 5, 0)),
        (-5, 0, (0, -5, 0)),
        (-(2**31), -1, (-(2**31), 0, -(2**31))),
    ],
)
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
    out[2 * i + 1] = -(x[i] ** 2.0)


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


def shift_kernel(dtype):
    @wp.kernel
    def shifted(x: wp.array(dtype=dtype), n: wp.array(dtype=dtype), out: wp.array2d(dtype=dtype)):
        i = wp.tid()
        out[0, i] = x[i] << n[i]
        out[1, i] = x[i] >> n[i]

    return shifted


@pytest.mark.parametrize("lanes", ["off", "always"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_narrow_numbers_are_shifted_as_numbers_of_32_bits(dtype, lanes, monkeypatch):
    monkeypatch.setattr(wp.config, "lanes", lanes)
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    x, n = (rng.integers(info.min, info.max, 64, dtype=dtype, endpoint=True) for _ in range(2))
    n[:48] = np.arange(48)  # C defines counts below 32, of 64 bits below 64
    counts = [int(count) % max(info.bits, 32) for count in n]
    left = [((int(a) << count) - info.min) % 2**info.bits + info.min for a, count in zip(x, counts, strict=True)]
    right = [int(a) >> count for a, count in zip(x, counts, strict=True)]
    for device in ("cpu", "interp"):
        out = wp.zeros((2, 64), dtype=dtype, device=device)
        wp.launch(shift_kernel(dtype), dim=64, inputs=[x, n], outputs=[out], device=device)
        assert out.numpy().tolist() == [left, right]
    assert int(wp.lshift(dtype(3), dtype(9))) == dtype(3 << 9 & (2**info.bits - 1))


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
        ("GRAVITY[3]", KernelLookupError, "component 3 of vec3f"),
        ("GRAVITY.w", KernelAttributeError, "'vec3f' object has no attribute 'w'"),
        (
            "TABLE[5]",
            KernelLookupError,
            "(2.0 (float32), 4.0 (float32), 8.0 (float32)) cannot be indexed by 5: tuple index out of range",
        ),
        ("GRAVITY + WIDE", KernelTypeError, "add: no overload for (vec3f, vec3d)"),
    ],
)
def test_wrong_constants(text, kind, message):
    error = refused(f"x = {text}", GRAVITY=GRAVITY, TABLE=TABLE, WIDE=WIDE)
    assert (type(error), error.message) == (kind, message)


@wp.kernel
def by_pythons_names(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[0, i] = round(x[i])
    out[1, i] = abs(x[i])
    out[2, i] = min(x[i], 1.0)
    out[3, i] = pow(x[i], 2.0)


def test_functions_of_python_are_the_built_ins_of_that_name():
    """`round` too: halves away from zero, as `wp.round`, where Python's goes to the even number."""
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 2.4], np.float32)
    for device in ("cpu", "interp"):
        out = wp.zeros((4, 6), dtype=float, device=device)
        wp.launch(by_pythons_names, dim=6, inputs=[x], outputs=[out], device=device)
        assert out.numpy()[0].tolist() == [1, -1, 2, 3, -3, 2]
        np.testing.assert_array_equal(out.numpy()[1:], [np.abs(x), np.minimum(x, 1), x * x])


@wp.kernel
def add_to_no_component(out: wp.array(dtype=float)):
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    v[1:1] += 7.0
    out[0] = v[1]


def test_an_empty_slice_of_a_vector_is_changed_by_nothing():
    assert filled(add_to_no_component, 1, threads=1) == [2.0]
