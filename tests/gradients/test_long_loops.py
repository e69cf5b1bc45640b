"""Gradients through long loops against closed forms and NumPy twins, to second order."""

import numpy as np
import pytest
from gradient_runs import by_tape, f64, ints, new_loss
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim.autograd import hvp

Numbers = wp.array(dtype=wp.float64)
Ints = wp.array(dtype=int)
EDGES = (0, 1, 2, 255, 256, 257, 32_895, 32_896, 32_897)


@wp.kernel
def decay(x: Numbers, n: Ints, loss: Numbers):
    """v becomes (1 - rate) v + rate w: the slopes are powers of 1 - rate."""
    v, rate = x[0], wp.float64(1e-6)
    for _ in range(n[0]):
        v = v - rate * (v - x[1])
    wp.atomic_add(loss, 0, v)


@wp.kernel
def decay_while(x: Numbers, n: Ints, loss: Numbers):
    v, rate, k = x[0], wp.float64(1e-6), int(0)
    while True:
        if k == n[0]:
            break
        v = v - rate * (v - x[1])
        k += 1
    wp.atomic_add(loss, 0, v)


def launched(kernel):
    def program(*arrays):
        loss = new_loss()
        wp.launch(kernel, dim=1, inputs=[*arrays, loss])
        return loss

    return program


@pytest.mark.parametrize("kernel", [decay, decay_while], ids=["for", "while"])
@pytest.mark.parametrize("n", [1_000_000, 2_829_055, 2_829_056, 2_829_057])
def test_millions_of_iterations(kernel, n):
    _, (slopes,) = by_tape(launched(kernel), [f64(0.7, 0.2), ints(n)])
    power = (1.0 - 1e-6) ** n
    np.testing.assert_allclose(slopes, [power, 1.0 - power], rtol=1e-9)


# ----- exits, structs, nests ---------------------------------------------------------------------


@wp.struct
class Ball:
    hits: int
    height: wp.float64
    velocity: wp.vec2d


@wp.kernel
def bouncing(x: Numbers, n: Ints, loss: Numbers):
    """Carries a struct, skips iterations, and may leave early."""
    b = Ball(hits=0, height=x[0], velocity=wp.vec2d(x[1], x[2]))
    for k in range(n[0]):
        if k % 7 == 3:
            continue
        b.velocity = b.velocity + 0.01 * wp.vec2d(-b.height, -b.velocity.y * b.height)
        b.height = b.height + 0.01 * b.velocity.x
        if b.height < 0.0:
            b.height = -b.height
            b.hits += 1
        if k == n[1]:
            break
    wp.atomic_add(loss, 0, b.height * b.velocity.y + b.velocity.x)


def slopes_of_bouncing(x, n, stop):
    """By dual numbers: each variable is a value and its three slopes."""
    height, vx, vy = (np.concatenate(([v], np.eye(3)[i])) for i, v in enumerate(x))

    def times(a, b):
        return np.concatenate(([a[0] * b[0]], a[0] * b[1:] + b[0] * a[1:]))

    for k in range(n):
        if k % 7 == 3:
            continue
        vx, vy = vx - 0.01 * height, vy - 0.01 * times(vy, height)
        height = height + 0.01 * vx
        if height[0] < 0.0:
            height = -height
        if k == stop:
            break
    return (times(height, vy) + vx)[1:]


@pytest.mark.parametrize("stop", [-1, 100, 5000])
@pytest.mark.parametrize("n", [*EDGES[:6], 8000])
def test_structs_exits_and_skipped_iterations(n, stop):
    x = (0.7, 0.3, 0.5)
    _, (slopes,) = by_tape(launched(bouncing), [f64(*x), ints(n, stop)])
    np.testing.assert_allclose(slopes, slopes_of_bouncing(x, n, stop), rtol=1e-9, atol=1e-12)


@wp.kernel
def nests(x: Numbers, n: Ints, loss: Numbers):
    """Loops of both kinds in each other and after each other, some with exits."""
    v = x[0]
    for i in range(n[0]):
        j = int(0)
        while j < n[1]:
            v = v + 0.01 * wp.sin(3.0 * v)
            j += 1
            if (i + j) % 11 == 10:
                break
        for k in range(n[2], i, -2):
            if k % 5 == 4:
                continue
            v = v - 0.003 * v * v * x[1]
    for _ in range(n[3]):
        v = 0.999 * v + 0.001 * wp.cos(v)
    wp.atomic_add(loss, 0, v)


def slopes_of_nests(x, n):
    v, d = x[0], np.array([1.0, 0.0])
    for i in range(n[0]):
        j = 0
        while j < n[1]:
            v, d = v + 0.01 * np.sin(3.0 * v), d * (1.0 + 0.03 * np.cos(3.0 * v))
            j += 1
            if (i + j) % 11 == 10:
                break
        for k in range(n[2], i, -2):
            if k % 5 == 4:
                continue
            v, d = v - 0.003 * v * v * x[1], d * (1.0 - 0.006 * v * x[1]) - np.array([0.0, 0.003 * v * v])
    for _ in range(n[3]):
        v, d = 0.999 * v + 0.001 * np.cos(v), d * (0.999 - 0.001 * np.sin(v))
    return d


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.tuples(st.integers(0, 300), st.integers(0, 20), st.integers(-2, 40), st.integers(0, 700)))
def test_random_counts_in_nests(n):
    x = (0.8, 0.6)
    _, (slopes,) = by_tape(launched(nests), [f64(*x), ints(*n)])
    np.testing.assert_allclose(slopes, slopes_of_nests(x, n), rtol=1e-9, atol=1e-12)


# ----- second order ------------------------------------------------------------------------------


@wp.kernel
def sine_map(x: Numbers, n: Ints, loss: Numbers):
    v = x[0]
    for _ in range(n[0]):
        v = v + 0.001 * wp.sin(3.0 * v)
    wp.atomic_add(loss, 0, v)


def curvature_of_sine_map(x, n):
    slope, curvature = 1.0, 0.0
    for _ in range(n):
        first, second = 1.0 + 0.003 * np.cos(3.0 * x), -0.009 * np.sin(3.0 * x)
        x, slope, curvature = x + 0.001 * np.sin(3.0 * x), first * slope, second * slope**2 + first * curvature
    return curvature


@pytest.mark.parametrize("n", EDGES)
def test_second_derivatives(n):
    x = wp.array([0.3], dtype=wp.float64, requires_grad=True)
    loss = new_loss()
    with wp.Tape() as tape:
        wp.launch(sine_map, dim=1, inputs=[x, wp.array([n], dtype=int), loss])
    found = hvp(tape, loss=loss, vector={x: np.ones(1)})[x]
    np.testing.assert_allclose(found.numpy(), [curvature_of_sine_map(0.3, n)], rtol=1e-9, atol=1e-12)
