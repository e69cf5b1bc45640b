"""Components in vector registers: kernels with a `while` loop compute what the interpreter computes, bit by bit."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.cpu import cpu
from warpsim.core.emit.target import Options
from warpsim.core.ops import greater, lesser

vec8 = wp.types.vector(length=8, dtype=float)
vec16i = wp.types.vector(length=16, dtype=int)
WIDE = (wp.vec4, wp.vec4d, wp.vec4i, vec8, vec16i)


@wp.struct
class Pair:
    number: int
    low: wp.vec4
    one: float
    high: wp.vec4


def results(kernel, dim, inputs, out):
    """What the kernel writes on both devices."""
    made = []
    for device in ("cpu", "interp"):
        given = [wp.array(x.numpy(), dtype=x.dtype, device=device) if isinstance(x, wp.array) else x for x in inputs]
        target = wp.zeros(out.shape, dtype=out.dtype, device=device)
        wp.launch(kernel, dim, [*given, target], device=device)
        made.append(target.numpy())
    return made


def llvm_text(kernel):
    made = kernel.program(tuple(kernel.patterns.values()))
    return cpu.emit(made.fn, made.ndim, Options(), made.plan).llvm


def numbers(t, count, seed=0):
    rng = np.random.default_rng(seed)
    whole = np.issubdtype(t.dtype, np.integer)
    values = rng.integers(-9, 9, (count, t.size)) if whole else rng.normal(size=(count, t.size))
    return wp.array(values.astype(t.dtype), dtype=t)


def arithmetic(t):
    @wp.kernel
    def computed(a: wp.array(dtype=t), b: wp.array(dtype=t), out: wp.array2d(dtype=t)):
        i = wp.tid()
        total = a[i]
        n = int(0)
        while n < 5:
            total = wp.min(total + b[i], wp.cw_mul(total, b[i])) - a[i]
            if n == 3:
                total = wp.max(total, b[i])
            n += 1
        out[i, 0] = total
        out[i, 1] = lesser(total, a[i])
        out[i, 2] = greater(total, a[i])
        out[i, 3] = wp.where(n > i, total, a[i])

    return computed


@pytest.mark.parametrize("t", WIDE, ids=lambda t: t.__name__)
def test_arithmetic(t):
    compiled, interpreted = results(arithmetic(t), 7, [numbers(t, 7), numbers(t, 7, 1)], wp.zeros((7, 4), dtype=t))
    assert np.array_equal(compiled, interpreted)


@wp.kernel
def carried(a: wp.array(dtype=wp.vec4), out: wp.array2d(dtype=wp.vec4)):
    """Structs with vectors, some of which change, through loops and branches in each other."""
    i = wp.tid()
    pair = Pair()
    pair.low, pair.high, pair.one = a[i], -a[i], 1.0
    fixed = a[0]
    k = int(0)
    while k < 6:
        for j in range(k):
            if (j + i) % 2 == 0:
                pair.low = pair.low + wp.vec4(pair.one)
            else:
                pair.high, pair.low = pair.low, pair.high
                pair.number += j
        if k > 2:
            pair.one = pair.one * -0.5
        k += 1
    out[i, 0], out[i, 1] = pair.low, pair.high
    out[i, 2] = wp.vec4(float(pair.number), pair.one, fixed[0], fixed[3])


def test_vectors_in_structs_are_carried_through_loops_and_branches():
    compiled, interpreted = results(carried, 5, [numbers(wp.vec4, 5)], wp.zeros((5, 3), dtype=wp.vec4))
    assert np.array_equal(compiled, interpreted)


def test_only_kernels_with_a_while_loop_are_packed():
    @wp.kernel
    def plain(a: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        a[i] = a[i] + a[0]

    assert "<4 x float>" not in llvm_text(plain)
    assert "fadd <4 x float>" in llvm_text(carried)
    assert "phi  <4 x float>" in llvm_text(carried)


@wp.kernel
def extremes(x: wp.array(dtype=wp.vec4), y: wp.array(dtype=wp.vec4), rounds: int, out: wp.array2d(dtype=wp.vec4)):
    k = int(0)
    while k < rounds:
        out[k, 0], out[k, 1] = wp.min(x[k], y[k]), wp.max(x[k], y[k])
        out[k, 2], out[k, 3] = lesser(x[k], y[k]), greater(x[k], y[k])
        k += 1


def test_ties_and_nan_in_extremes():
    """`min` and `max`: the first wins a tie, NaN loses. `lesser` and `greater`: a NaN in the first stays."""
    nan = np.nan
    x = np.array([[0.0, -0.0, nan, 1.0], [nan, 2.0, -np.inf, 3.0]], np.float32)
    y = np.array([[-0.0, 0.0, 5.0, nan], [nan, 2.0, np.inf, -3.0]], np.float32)
    out = wp.zeros((2, 4), dtype=wp.vec4)
    wp.launch(extremes, 1, [wp.array(x, dtype=wp.vec4), wp.array(y, dtype=wp.vec4), 2, out])
    low, high, lesser_of, greater_of = np.swapaxes(out.numpy(), 0, 1)
    wanted_low = np.array([[0.0, -0.0, 5.0, 1.0], [nan, 2.0, -np.inf, -3.0]], np.float32)
    wanted_high = np.array([[0.0, -0.0, 5.0, 1.0], [nan, 2.0, np.inf, 3.0]], np.float32)
    for found, wanted in ((low, wanted_low), (high, wanted_high)):
        assert np.array_equal(found, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found[0]), np.signbit(wanted[0]))
    assert np.array_equal(lesser_of, np.where(y < x, y, x), equal_nan=True)
    assert np.array_equal(greater_of, np.where(y > x, y, x), equal_nan=True)
