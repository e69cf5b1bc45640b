"""`wp.grad` of `wp.grad`, and gradients of kernels that use it, through loops of any length."""

import numpy as np
import pytest
from gradient_runs import by_differences, by_tape, f64, ints, new_loss

import warpsim as wp
from warpsim.errors import NotDifferentiableError

Numbers = wp.array(dtype=wp.float64)
Ints = wp.array(dtype=int)
LENGTHS = (0, 1, 2, 5, 15, 16, 17, 18, 100, 600)


@wp.func
def sines(x: wp.float64, n: int):
    for _ in range(n):
        x = wp.sin(x) + 0.1 * x
    return x


@wp.func
def sines_while(x: wp.float64, n: int):
    k = int(0)
    while True:
        if k >= n:
            break
        x = wp.sin(x) + 0.1 * x
        k += 1
    return x


@wp.func
def slope_for(x: wp.float64, n: int):
    return wp.grad(sines)(x, n)[0]


@wp.func
def slope_while(x: wp.float64, n: int):
    return wp.grad(sines_while)(x, n)[0]


def derivatives(x, n):
    """The first two by the recursion of the map."""
    first, second = 1.0, 0.0
    for _ in range(n):
        slope, curvature = np.cos(x) + 0.1, -np.sin(x)
        x, first, second = np.sin(x) + 0.1 * x, slope * first, curvature * first**2 + slope * second
    return first, second


def nested(f):
    @wp.kernel
    def second(x: Numbers, n: Ints, out: Numbers):
        i = wp.tid()
        out[i] = wp.grad(f)(x[i], n[0])[0]

    return second


@pytest.mark.parametrize("f", [slope_for, slope_while], ids=["for", "while"])
def test_second_derivatives_through_loops(device, f):
    points, kernel = np.array([0.2, 0.7]), nested(f)
    for n in LENGTHS if device != "interp" else LENGTHS[:5]:
        x, out = wp.array(points, dtype=wp.float64, device=device), wp.zeros(2, dtype=wp.float64, device=device)
        wp.launch(kernel, dim=2, inputs=[x, wp.array([n], dtype=int, device=device), out], device=device)
        np.testing.assert_allclose(out.numpy(), [derivatives(p, n)[1] for p in points], rtol=1e-9, atol=1e-14)


@wp.kernel
def slopes(x: Numbers, n: Ints, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, slope_for(x[i], n[0]))


@pytest.mark.parametrize("n", LENGTHS)
def test_tapes_through_slopes_of_loops(n):
    def program(x, n):
        loss = new_loss()
        wp.launch(slopes, dim=2, inputs=[x, n, loss])
        return loss

    value, (found,) = by_tape(program, [f64(0.2, 0.7), ints(n)])
    first, second = np.transpose([derivatives(p, n) for p in (0.2, 0.7)])
    np.testing.assert_allclose(value, first.sum(), rtol=1e-9)
    np.testing.assert_allclose(found, second, rtol=1e-9, atol=1e-14)


@wp.func
def turned(v: wp.vec3d, n: int):
    """Carries vectors, and a local array whose elements are written in the loop."""
    w = wp.vec3d(wp.float64(0.1), wp.float64(0.2), wp.float64(-0.3))
    last = wp.zeros(shape=3, dtype=wp.float64)
    for k in range(n):
        v = v + 0.1 * wp.cross(v, w) * wp.dot(v, w)
        w = w + 0.05 * wp.cw_mul(v, v)
        last[k % 3] = wp.dot(v, w)
    return last[0] * last[1] + last[2]


@wp.kernel
def slopes_of_turned(x: Numbers, n: Ints, loss: Numbers):
    slope = wp.grad(turned)(wp.vec3d(x[0], x[1], x[2]), n[0])[0]
    wp.atomic_add(loss, 0, wp.dot(slope, wp.vec3d(wp.float64(1.0), x[1], wp.float64(-2.0))))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 40])
def test_vectors_and_local_arrays(n):
    def program(x, n):
        loss = new_loss()
        wp.launch(slopes_of_turned, dim=1, inputs=[x, n, loss])
        return loss

    inputs = [f64(0.4, -0.2, 0.3), ints(n)]
    _, (found,) = by_tape(program, inputs)
    np.testing.assert_allclose(found, by_differences(program, inputs)[0], rtol=1e-6, atol=1e-8)


@wp.func
def powers(x: wp.float64, n: int):
    p = wp.mat22d(x, wp.float64(1.0), wp.float64(0.5), x)
    for _ in range(n):
        p = p * p
    return wp.trace(p)


@wp.kernel
def slopes_of_powers(x: Numbers, n: Ints, loss: Numbers):
    wp.atomic_add(loss, 0, wp.grad(powers)(x[0], n[0])[0])


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_matrices_carried_by_a_loop(n):
    def program(x, n):
        loss = new_loss()
        wp.launch(slopes_of_powers, dim=1, inputs=[x, n, loss])
        return loss

    inputs = [f64(0.3), ints(n)]
    _, (slope,) = by_tape(program, inputs)
    np.testing.assert_allclose(slope, by_differences(program, inputs)[0], rtol=1e-6, atol=1e-8)


@wp.struct
class Pair:
    a: wp.float64
    b: wp.float64


@wp.func
def pairs(x: wp.float64, n: int):
    p = Pair(x, wp.float64(1.0))
    for _ in range(n):
        p = Pair(p.a * p.b, p.a)
    return p.a


@wp.kernel
def slopes_of_pairs(x: Numbers, n: Ints, loss: Numbers):
    wp.atomic_add(loss, 0, wp.grad(pairs)(x[0], n[0])[0])


def test_what_a_loop_may_not_carry_is_said_of_the_loop():
    x, loss = wp.array([0.5], dtype=wp.float64, requires_grad=True), new_loss()
    with wp.Tape() as tape:
        wp.launch(slopes_of_pairs, dim=1, inputs=[x, wp.array([2], dtype=int), loss])
    with pytest.raises(NotDifferentiableError, match="carries more than numbers, vectors and matrices"):
        tape.backward(loss)
