"""Ranges as values, backwards too, and loops whose index must be known: by `wp.static`, tuples and lists."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelError

DEVICES = pytest.mark.parametrize("device", ["cpu", "interp"])
BOUNDS = [(0, 5, 1), (5, 0, -1), (1, 8, 3), (8, -3, -4), (3, 3, 1), (4, 2, 1), (2, 4, -1), (-3, 9, 5)]
WEIGHTS = [0.5, 2.0, -1.0]


@wp.kernel
def sweep(starts: wp.array[int], stops: wp.array[int], steps: wp.array[int], out: wp.array2d[int]):
    i = wp.tid()
    r = range(starts[i], stops[i], steps[i])
    n = int(0)
    for k in reversed(r):
        out[i, n] = k
        n += 1
    for k in r:
        out[i, n] = k
        n += 1
    out[i, 15] = n


@DEVICES
def test_ranges_run_both_ways(device):
    starts, stops, steps = (wp.array(list(c), dtype=int, device=device) for c in zip(*BOUNDS, strict=True))
    out = wp.zeros((len(BOUNDS), 16), dtype=int, device=device)
    wp.launch(sweep, len(BOUNDS), inputs=[starts, stops, steps, out], device=device)
    for row, bounds in zip(out.numpy(), BOUNDS, strict=True):
        wanted = [*reversed(range(*bounds)), *range(*bounds)]
        assert row[: row[15]].tolist() == wanted


@wp.func
def total(values: tuple[float, ...]):
    s = float(0.0)
    for i in range(wp.static(len(values))):
        s += values[i]
    return s


@wp.func
def weighted(v: wp.vec3):
    s = float(0.0)
    for i in reversed(range(3)):
        s = s * 10.0 + WEIGHTS[i] * v[i]
    return s


@wp.func
def sum3(a: float, b: float, c: float):
    return a + 2.0 * b + 3.0 * c


@wp.kernel
def known(x: wp.array[wp.vec3], out: wp.array2d[float]):
    i = wp.tid()
    v = x[i]
    for k in range(4):
        out[i, 0] += wp.static(k * k) * v[0]
    out[i, 1] = total((v[0], 2.0, v[1])) + total((v[2],))
    out[i, 2] = weighted(v)
    out[i, 3] = sum3(*v) + sum3(1.0, *(v[0], v[1]))
    for part in reversed(v):
        out[i, 4] = 2.0 * out[i, 4] + part
    out[i, 5] = float(wp.static(len(v) + 10 * x.ndim + (100 if v.dtype == wp.float32 else 0)))


@DEVICES
def test_what_is_known_is_used_when_compiling(device):
    points = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]], np.float32)
    x = wp.array(points, dtype=wp.vec3, device=device, requires_grad=True)
    out = wp.zeros((2, 6), device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(known, 2, inputs=[x, out], device=device)
    a, b, c = points.T
    wanted = [
        14 * a,
        a + b + c + 2,
        (-c * 10 + 2 * b) * 10 + 0.5 * a,
        a + 2 * b + 3 * c + 1 + 2 * a + 3 * b,
        4 * c + 2 * b + a,
        a * 0 + 113,
    ]
    np.testing.assert_allclose(out.numpy(), np.stack(wanted, axis=1), rtol=1e-6)
    tape.backward(grads={out: wp.ones_like(out)})
    slopes = [14 + 1 + 0.5 + 3 + 1, 1 + 20 + 5 + 2, 1 - 100 + 3 + 4]
    np.testing.assert_allclose(x.grad.numpy(), [slopes, slopes], rtol=1e-5)


def test_static_refuses_what_only_the_run_knows():
    @wp.kernel
    def wrong(n: int, out: wp.array[float]):
        out[0] = wp.static(n + 1)

    with pytest.raises(KernelError, match=r"wp.static\(n \+ 1\) uses 'n', which is known only at run time"):
        wp.launch(wrong, 1, inputs=[3, wp.zeros(1)])


def test_names_of_the_language_need_no_module():
    @wp.kernel
    def bare(out: wp.array[float]):
        i = tid()  # noqa: F821
        out[i] = sin(float(i)) + dot(vec3(1.0), vec3(2.0)) + wp.float(1)  # noqa: F821
        expect_near(out[i], sin(float(i)) + 7.0, 1.0e-5)  # noqa: F821

    out = wp.zeros(3)
    wp.launch(bare, 3, inputs=[out])
    np.testing.assert_allclose(out.numpy(), np.sin(np.arange(3)) + 7.0, rtol=1e-6)
