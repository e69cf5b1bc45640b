"""Expressions have Python's meaning, or the documented one."""

import enum

import numpy as np
import pytest

import warpsim as wp

Ints, Floats = wp.array(dtype=int), wp.array(dtype=float)
pytestmark = pytest.mark.parametrize("device", ["interp", "cpu"])


def ran(kernel, values, device):
    """What an integer kernel (x, y) makes of the values."""
    x = wp.array(np.array(values, np.int32), dtype=int, device=device)
    y = wp.zeros(len(values), dtype=int, device=device)
    wp.launch(kernel, dim=len(values), inputs=[x, y], device=device)
    return y.numpy().tolist()


SEVEN = wp.constant(7)


@wp.kernel
def divides(x: Ints, y: Ints, z: Ints):
    i = wp.tid()
    y[i] = x[2 * i] // x[2 * i + 1]
    z[i] = x[2 * i] % x[2 * i + 1]


def test_division_by_zero_gives_zero_and_the_dividend(device):
    x = wp.array(np.array([7, 0, 9, 3, 8, 5], np.int32), dtype=int, device=device)
    y, z = wp.zeros(3, dtype=int, device=device), wp.zeros(3, dtype=int, device=device)
    wp.launch(divides, dim=3, inputs=[x, y, z], device=device)
    assert y.numpy().tolist() == [0, 3, 1]
    assert z.numpy().tolist() == [7, 0, 3]


@wp.kernel
def logic(x: Ints, y: Ints):
    i = wp.tid()
    n = x[i]
    r = int(0)
    if 0 < n <= 3:
        r += 1
    if 0 <= n < len(x) and x[n] > 0:
        r += 10
    if n < 0 or n >= x.shape[0] or x[n] == 0:
        r += 100
    if not n == 2:
        r += 1000
    y[i] = r if n != 1 else -r


def test_chains_short_circuits_and_ternaries(device):
    xs = [0, 1, 2, 9, -4]

    def plain(n):
        inside = 0 <= n < 5
        r = (0 < n <= 3) + 10 * (inside and xs[n] > 0) + 100 * (not inside or xs[n] == 0) + 1000 * (n != 2)
        return r if n != 1 else -r

    assert ran(logic, xs, device) == [plain(n) for n in xs]


@wp.kernel
def bits(x: Ints, y: Ints):
    i = wp.tid()
    n = x[i]
    y[i] = ((n & 12) | (n << 2)) ^ (~n >> 1) + (-n) + (+n) + SEVEN + wp.static(2 * 3)


def test_bit_operators_constants_and_static(device):
    xs = [0, 1, 13, 100, -9]
    assert ran(bits, xs, device) == [((n & 12) | (n << 2)) ^ (~n >> 1) + 13 for n in xs]


@wp.kernel
def parts(x: Ints, y: Ints):
    i = wp.tid()
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    s = v[1:3]
    w = v.zyx
    y[i] = int(v[x[i]] + 10.0 * v[-1] + 100.0 * m[1, 0] + 1000.0 * s[1] + 10000.0 * w[0] + v.x / 2.0)


def test_components_slices_and_swizzles(device):
    assert ran(parts, [0, 1, 3], device) == [33341, 33342, 33344]


@wp.kernel
def floats(x: Floats, y: Floats):
    i = wp.tid()
    y[i] = x[i] ** 2.0 / 4.0 - x[i]


def test_power_and_true_division(device):
    xs = np.array([0.5, -3.0, 8.0], np.float32)
    x, y = wp.array(xs, dtype=float, device=device), wp.zeros(3, dtype=float, device=device)
    wp.launch(floats, dim=3, inputs=[x, y], device=device)
    np.testing.assert_allclose(y.numpy(), xs**2 / 4 - xs, rtol=1e-6)


@wp.kernel
def casts(x: Floats, y: Ints):
    i = wp.tid()
    y[i] = int(x[i])


def test_casts_truncate_and_saturate(device):
    wp.config.check_numbers = False
    x = wp.array(np.array([1.9, -1.9, 1e20, -1e20, np.nan], np.float32), dtype=float, device=device)
    y = wp.zeros(5, dtype=int, device=device)
    wp.launch(casts, dim=5, inputs=[x, y], device=device)
    assert y.numpy().tolist() == [1, -1, 2**31 - 1, -(2**31), 0]


class Mode(enum.IntEnum):
    SLOW = 3
    FAST = 8


@wp.kernel
def modes(x: Ints, y: Ints):
    i = wp.tid()
    y[i] = Mode.FAST if x[i] > Mode.SLOW else Mode.SLOW


def test_enums(device):
    assert ran(modes, [1, 3, 4], device) == [3, 3, 8]


@wp.kernel
def signed(x: Ints, y: Ints):
    i = wp.tid()
    y[i] = 100 * (x[i] // 3) + x[i] % 3


def test_quotients_round_down_and_remainders_follow_the_dividend(device):
    xs = [7, -7, -6, -1]
    remainders = [int(np.fmod(n, 3)) for n in xs]
    assert ran(signed, xs, device) == [100 * (n // 3) + r for n, r in zip(xs, remainders, strict=True)]


@wp.kernel
def writes_components(x: Ints, y: Ints):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    v[x[i]] = 9.0
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    y[i] = int(v[0] + 10.0 * v[1] + 100.0 * v[-1] + 1000.0 * m[-1, -1] + 10000.0 * m[0][1])


def test_dynamic_and_negative_indices(device):
    assert ran(writes_components, [0, 1, 2], device) == [24329, 24391, 24921]
