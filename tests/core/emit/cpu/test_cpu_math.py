"""Mathematics on the CPU: accurate, vectorised, and the same bits for one number as for a vector of them."""

import math

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.cpu import cpu
from warpsim.core.emit.cpu.math import VECTOR_MATH
from warpsim.core.emit.native import native
from warpsim.core.emit.target import Options


def emitted(kernel):
    """The artefact for contiguous arrays."""
    types = tuple(kernel.patterns.values())
    program = kernel.program(types)
    return cpu.emit(program.fn, program.ndim, Options(("C",) * len(types)), program.plan)


NAMES = {**dict.fromkeys(VECTOR_MATH, ()), "asin": (-1, 1), "acos": (-1, 1), "erf": (-4, 4), "erfc": (-4, 9)}
POSITIVE = ("log", "log2", "log10", "pow")
libmvec = pytest.mark.skipif(not native.vector_math_library(), reason="glibc's libmvec is not here")


def applied(name, t):
    """A kernel that applies one function of mathematics to every element."""
    function, two = getattr(wp, name), VECTOR_MATH[name] == 2

    @wp.kernel
    def one_operand(x: wp.array(dtype=t), y: wp.array(dtype=t), out: wp.array(dtype=t)):
        i = wp.tid()
        out[i] = function(x[i])

    @wp.kernel
    def two_operands(x: wp.array(dtype=t), y: wp.array(dtype=t), out: wp.array(dtype=t)):
        i = wp.tid()
        out[i] = function(x[i], y[i])

    return two_operands if two else one_operand


def exact(name, x, y):
    """The values in NumPy's long double, or by Python's mathematics where NumPy has no such function."""
    wide = x.astype(np.longdouble)
    if name in ("erf", "erfc"):
        return np.array([getattr(math, name)(v) for v in x.tolist()], np.longdouble)
    if name == "pow":
        return np.power(wide, y.astype(np.longdouble))
    named = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
    return np.arctan2(wide, y.astype(np.longdouble)) if name == "atan2" else getattr(np, named.get(name, name))(wide)


@libmvec
@pytest.mark.parametrize("t", [wp.float32, wp.float64])
@pytest.mark.parametrize("name", NAMES)
def test_vector_mathematics_is_used_and_accurate_to_4_ulps(name, t):
    kernel = applied(name, t)
    lanes, suffix = (8, "f") if t is wp.float32 else (4, "")
    symbol = f"_ZGVdN{lanes}{'vv' if VECTOR_MATH[name] == 2 else 'v'}_{name}{suffix}"
    assert symbol.encode() in emitted(kernel).code
    low, high = NAMES[name] or ((1e-3, 40) if name in POSITIVE else (-20, 20))
    rng = np.random.default_rng(7)
    x, y = rng.uniform(low, high, 20_003).astype(t), rng.uniform(-3, 3, 20_003).astype(t)
    out = wp.zeros(len(x), dtype=t)
    wp.launch(kernel, len(x), [x, y, out])
    wanted = exact(name, x, y)
    error = np.abs(out.numpy().astype(np.longdouble) - wanted) / np.spacing(np.abs(wanted.astype(t)))
    assert error.max() <= 4.0


@libmvec
@pytest.mark.parametrize("t", [wp.float32, wp.float64])
def test_vector_mathematics_of_special_values(t):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-30, 1e30], t)
    x = np.tile(special, 50)
    with np.errstate(all="ignore"):
        named = {"sin": np.sin, "exp": np.exp, "log": np.log, "atan": np.arctan, "tanh": np.tanh}
        for name, function in named.items():
            out = wp.zeros(len(x), dtype=t)
            wp.launch(applied(name, t), len(x), [x, x, out])
            assert np.allclose(out.numpy(), function(x), rtol=1e-6, atol=0, equal_nan=True), name
            assert np.array_equal(np.signbit(out.numpy()[:2]), np.signbit(function(x[:2])))


def test_without_libmvec_mathematics_is_libm_s(monkeypatch):
    monkeypatch.setattr(native, "vector_math_library", lambda: False)
    assert b"_ZGV" not in emitted(applied("sin", wp.float32)).code


# ----- one implementation ---------------------------------------------------------------------


@libmvec
@pytest.mark.parametrize("t", [wp.float32, wp.float64])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "pow"])
def test_a_number_alone_and_one_among_many_give_the_same_bits(name, t):
    """Special values stand between ordinary ones: a lane does not depend on its neighbours."""
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(0.01, 0.99, 1003).astype(t) for _ in range(2))
    x[::17] = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-40, 1.0], t), len(x[::17]))
    whole, single = (wp.zeros(len(x), dtype=t) for _ in range(2))
    kernel = applied(name, t)
    wp.launch(kernel, len(x), [x, y, whole])
    for i in range(0, len(x), 5):
        wp.launch(kernel, 1, [x[i : i + 1], y[i : i + 1], single[i : i + 1]])
    assert np.array_equal(whole.numpy()[::5], single.numpy()[::5], equal_nan=True)


@wp.kernel
def powers(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[0, i] = wp.pow(x[i], y[i])
    out[1, i] = x[i] ** 2.0
    out[2, i] = x[i] ** 0.5
    out[3, i] = x[i] ** -1.0
    out[4, i] = x[i] ** 1.0


def test_powers_with_known_exponents_are_products_quotients_and_roots():
    x = np.array([0.0, -0.0, 2.5, -2.5, np.inf, -np.inf, 1e-30, 7.3], np.float32)
    out = wp.zeros((5, len(x)), dtype=float)
    wp.launch(powers, len(x), [x, np.full_like(x, 2.0), out])
    with np.errstate(all="ignore"):
        wanted = [x * x, x * x, np.where(np.isneginf(x), np.inf, np.abs(np.sqrt(x))), np.float32(1.0) / x, x]
    assert np.array_equal(out.numpy(), np.array(wanted), equal_nan=True)


@wp.kernel
def compared(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if wp.pow(x[i], y[i]) > 1.0:
        out[i] = wp.sin(x[i])


@libmvec
def test_powers_that_decide_are_lanes_and_others_are_libm_s_where_they_stand_alone():
    """libmvec's need four times as long for one number."""
    plain, deciding = emitted(applied("pow", wp.float32)).llvm, emitted(compared).llvm
    assert '@"powf"' in plain and "warpsim_powf" not in plain
    assert '@"powf"' not in deciding and "warpsim_powf" in deciding
