"""Gradients through loops of any length, with any kind of state carried round.

Long loops have a closed or a recursive derivative, computed here beside them in NumPy; short ones are
measured by differences. Lengths lie on both sides of the points where the reverse keeps states
differently: all of them (256), and those from which each iteration is run twice (32,896 at most) or more.
"""

import numpy as np
import pytest
from gradient_runs import assert_gradient, by_tape, f64, ints, new_loss, random_f64

import warpsim as wp

Numbers = wp.array(dtype=wp.float64)
Ints = wp.array(dtype=int)
LENGTHS = (0, 1, 2, 255, 256, 257, 5000, 32_895, 32_896, 32_897)


def launched(kernel, dim=1):
    def program(*arrays):
        loss = new_loss()
        wp.launch(kernel, dim=dim, inputs=[*arrays, loss])
        return loss

    return program


# ----- any number of iterations --------------------------------------------------------------


@wp.kernel
def sine_map(x: Numbers, n: Ints, loss: Numbers):
    t = wp.tid()
    v = x[t]
    for _ in range(n[t]):
        v = v + 0.001 * wp.sin(3.0 * v)
    wp.atomic_add(loss, 0, v)


@wp.kernel
def sine_map_while(x: Numbers, n: Ints, loss: Numbers):
    t = wp.tid()
    v = x[t]
    k = int(0)
    while k < n[t]:
        v = v + 0.001 * wp.sin(3.0 * v)
        k += 1
    wp.atomic_add(loss, 0, v)


def slope_of_sine_map(x, n):
    slope = 1.0
    for _ in range(n):
        x, slope = x + 0.001 * np.sin(3.0 * x), slope * (1.0 + 0.003 * np.cos(3.0 * x))
    return slope


@pytest.mark.parametrize("kernel", [sine_map, sine_map_while], ids=["for", "while"])
@pytest.mark.parametrize("n", LENGTHS)
def test_carried_state(kernel, n):
    """From the unstable point of the map, where slopes grow, and from elsewhere, where they shrink."""
    x = np.array([0.0, 0.3])
    _, (gradient,) = by_tape(launched(kernel, dim=2), [(x, wp.float64), ints(n, n)])
    np.testing.assert_allclose(gradient, [slope_of_sine_map(v, n) for v in x], rtol=1e-9)


@wp.kernel
def scaled_sums(x: Numbers, w: Numbers, n: Ints, loss: Numbers):
    v = x[0]
    for k in range(n[0]):
        v = 0.999 * v + w[k % 7] * wp.cos(v)
    wp.atomic_add(loss, 0, v * v)


def by_hand_scaled_sums(x, w, n):
    v, dx, dw = x, 1.0, np.zeros_like(w)
    for k in range(n):
        slope = 0.999 - w[k % 7] * np.sin(v)
        dx, dw = dx * slope, dw * slope
        dw[k % 7] += np.cos(v)
        v = 0.999 * v + w[k % 7] * np.cos(v)
    return 2.0 * v * dx, 2.0 * v * dw


@pytest.mark.parametrize("n", LENGTHS)
def test_carried_state_with_reads_from_memory(n):
    x, (w, t) = 0.7, random_f64(3, 7)
    w = w * 0.01
    _, (dx, dw) = by_tape(launched(scaled_sums), [f64(x), (w, t), ints(n)])
    expected_x, expected_w = by_hand_scaled_sums(x, w, n)
    np.testing.assert_allclose(dx[0], expected_x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(dw, expected_w, rtol=1e-9, atol=1e-12)


@wp.kernel
def sine_map_steps(x: Numbers, n: Ints, loss: Numbers):
    v = x[0]
    for k in range(n[0], n[1], n[2]):
        v = v * (1.0 + 0.001 * wp.float64(k) * wp.sin(v))
    wp.atomic_add(loss, 0, v)


@pytest.mark.parametrize("bounds", [(10, 0, -3), (0, 10, 4), (5, -5, -1), (0, 0, 1), (3, 8, -1), (-70, 70, 1)])
def test_steps_of_any_sign(device, bounds):
    assert_gradient(launched(sine_map_steps), [f64(1.1), ints(*bounds)])


def test_threads_with_different_lengths():
    lengths = np.arange(200, dtype=np.int32)
    x = np.linspace(-1.0, 1.0, 200)
    _, (gradient,) = by_tape(launched(sine_map, dim=200), [(x, wp.float64), (lengths, wp.int32)])
    expected = [slope_of_sine_map(v, n) for v, n in zip(x, lengths, strict=True)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)


# ----- what is carried ------------------------------------------------------------------------


@wp.kernel
def carried_vector(x: Numbers, n: Ints, loss: Numbers):
    v = wp.vec3d(x[0], x[1], x[2])
    for k in range(n[0]):
        v = wp.cross(v, wp.vec3d(wp.float64(0.1), x[k % 3], wp.float64(0.2))) + 0.9 * v
        v[k % 3] = wp.sin(v[(k + 1) % 3])
    wp.atomic_add(loss, 0, wp.dot(v, v))


@wp.kernel
def carried_matrix(x: Numbers, n: Ints, loss: Numbers):
    m = wp.mat22d(x[0], x[1], x[2], wp.float64(1.0))
    for _ in range(n[0]):
        m = m * m * 0.5 - wp.transpose(m) * 0.25
        m[0, 1] = wp.sin(m[1, 0])
    wp.atomic_add(loss, 0, wp.ddot(m, m))


@wp.struct
class State:
    count: int
    speed: wp.float64
    place: wp.vec2d


@wp.kernel
def carried_struct(x: Numbers, n: Ints, loss: Numbers):
    s = State(count=0, speed=x[0], place=wp.vec2d(x[1], x[2]))
    for _ in range(n[0]):
        s.count += 1
        s.speed = wp.sin(s.speed * s.place.x)
        s.place += 0.1 * wp.vec2d(s.speed, wp.float64(s.count % 3) * s.speed * s.place.y)
    wp.atomic_add(loss, 0, s.speed * s.place.x + s.place.y)


@wp.kernel
def carried_pair(x: Numbers, n: Ints, loss: Numbers):
    """A swap, an integer that decides, and a value that leaves unchanged."""
    a, b, c, side = x[0], x[1], x[2], int(0)
    for k in range(n[0]):
        a, b = b * 1.1, wp.sin(a) * b
        side = (side * 3 + k) % 4
        if side == 1:
            a *= c
        elif side == 2:
            b += a * a
    wp.atomic_add(loss, 0, a * b + c)


@wp.kernel
def carried_local_array(x: Numbers, n: Ints, loss: Numbers):
    ring = wp.zeros(shape=4, dtype=wp.float64)
    for k in range(3):
        ring[k] = x[k]
    for k in range(n[0]):
        ring[(k + 3) % 4] = wp.sin(ring[k % 4]) + ring[(k + 1) % 4] * ring[(k + 2) % 4]
    wp.atomic_add(loss, 0, ring[0] * ring[1] + ring[2] + ring[3])


CARRIED = [carried_vector, carried_matrix, carried_struct, carried_pair]


@pytest.mark.parametrize("n", [0, 1, 2, 5, 17, 70])
@pytest.mark.parametrize("kernel", CARRIED, ids=lambda k: k.key)
def test_kinds_of_state(device, kernel, n):
    assert_gradient(launched(kernel), [f64(0.6, 0.7, 0.4), ints(n)])


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_local_array_as_state(device, n):
    assert_gradient(launched(carried_local_array), [f64(0.6, 0.7, 0.4), ints(n)])


@wp.kernel
def large_state(x: Numbers, n: Ints, loss: Numbers):
    a = wp.diag(wp.vec4d(x[0], x[1], x[2], x[0]))
    b, c, d = a * 0.5, a * a, a + a
    for _ in range(n[0]):
        a, b, c, d = 0.99 * b + 0.01 * wp.cw_mul(c, d), 0.99 * c + 0.001 * a * d, 0.5 * (d + a), 0.98 * a
    wp.atomic_add(loss, 0, wp.ddot(a, b) + wp.trace(c))


@pytest.mark.parametrize("n", [14, 15, 16, 119, 120, 121, 679, 680, 681, 1300])
def test_large_state_of_many_iterations(n):
    """Four matrices of 128 bytes: 15 of them are kept, so the schedule changes earlier."""
    assert_gradient(launched(large_state), [f64(0.6, 0.7, 0.4), ints(n)])


# ----- nested loops ---------------------------------------------------------------------------


@wp.kernel
def nested_products(x: Numbers, n: Ints, loss: Numbers):
    total = wp.float64(1.0)
    for i in range(n[0]):
        p = wp.float64(1.0)
        for j in range(n[1] - i):
            p *= x[(i + j) % 3]
        total = total * 0.5 + p * total * 0.3
    wp.atomic_add(loss, 0, total)


@wp.kernel
def nested_three_deep(x: Numbers, n: Ints, loss: Numbers):
    v = x[0]
    for i in range(n[0]):
        a = v
        for j in range(n[1]):
            b = a
            k = int(0)
            while k < (i + j) % 4:
                b = wp.sin(b) + 0.3 * x[k % 3]
                k += 1
            a = a * b * 0.7
        v = 0.5 * v + wp.tanh(a)
    wp.atomic_add(loss, 0, v)


@wp.kernel
def nested_with_exits(x: Numbers, n: Ints, loss: Numbers):
    v = x[0]
    for i in range(n[0]):
        if i == 3:
            continue
        for j in range(n[1]):
            v = v * x[j % 3] + 0.1
            if j > i:
                break
        else_part = wp.sin(v)
        if i > 7:
            wp.atomic_add(loss, 0, else_part)
            return
        v = else_part + x[1]
    wp.atomic_add(loss, 0, v * v)


@pytest.mark.parametrize("n", [(0, 3), (3, 0), (1, 1), (4, 5), (12, 3), (66, 2)])
@pytest.mark.parametrize("kernel", [nested_products, nested_three_deep, nested_with_exits], ids=lambda k: k.key)
def test_nested_loops(device, kernel, n):
    assert_gradient(launched(kernel), [f64(0.9, 0.7, 0.4), ints(*n)])


@wp.kernel
def long_in_long(x: Numbers, n: Ints, loss: Numbers):
    v = x[0]
    for _ in range(n[0]):
        for _ in range(n[1]):
            v = v + 0.001 * wp.sin(3.0 * v)
        v = v * 0.97
    wp.atomic_add(loss, 0, v)


@pytest.mark.parametrize("n", [(257, 70), (5, 4097), (33_000, 3)])
def test_long_nested_loops(n):
    x, slope = 0.8, 1.0
    for _ in range(n[0]):
        for _ in range(n[1]):
            x, slope = x + 0.001 * np.sin(3.0 * x), slope * (1.0 + 0.003 * np.cos(3.0 * x))
        x, slope = x * 0.97, slope * 0.97
    _, (gradient,) = by_tape(launched(long_in_long), [f64(0.8), ints(*n)])
    np.testing.assert_allclose(gradient[0], slope, rtol=1e-9, atol=1e-300)


# ----- sums over neighbours -------------------------------------------------------------------


@wp.kernel
def neighbour_sums(x: wp.array(dtype=wp.vec2d), loss: Numbers):
    """Nothing that is carried has a value that matters: sums, a count, the smallest index."""
    i = wp.tid()
    force = wp.vec2d()
    energy = wp.float64(0.0)
    count = int(0)
    for j in range(x.shape[0]):
        if j == i:
            continue
        d = x[j] - x[i]
        q = wp.dot(d, d)
        if q < 0.5:
            count += 1
            force += d * (0.5 - q) * (0.5 - q)
            energy -= wp.sin(q)
    wp.atomic_add(loss, 0, wp.dot(force, force) + energy * wp.float64(count))


def test_sums_over_neighbours(device):
    places = np.random.default_rng(5).random((9, 2))
    assert_gradient(launched(neighbour_sums, dim=9), [(places, wp.vec2d)])


@wp.kernel
def sums_and_state(x: Numbers, n: Ints, loss: Numbers):
    """A sum, and beside it a state on which the next summand depends."""
    total, v = wp.float64(0.0), x[0]
    for k in range(n[0]):
        total += x[k % 3] * v
        v = wp.sin(v + x[1])
    wp.atomic_add(loss, 0, total * total)


@wp.kernel
def sum_that_is_read(x: Numbers, n: Ints, loss: Numbers):
    """It looks like a sum, but one branch looks at it."""
    total = x[0]
    for k in range(n[0]):
        if k % 3 == 2:
            total += total * total * 0.1
        else:
            total += x[k % 3]
    wp.atomic_add(loss, 0, total)


@pytest.mark.parametrize("n", [0, 1, 8, 66])
@pytest.mark.parametrize("kernel", [sums_and_state, sum_that_is_read], ids=lambda k: k.key)
def test_sums_with_more_than_sums(device, kernel, n):
    assert_gradient(launched(kernel), [f64(0.03, 0.02, 0.04), ints(n)])


# ----- loops that write -------------------------------------------------------------------------


@wp.kernel
def stored_products(x: Numbers, prods: Numbers, n: Ints, loss: Numbers):
    for i in range(n[0]):
        prods[i + 1] = x[i] * prods[i]
    wp.atomic_add(loss, 0, prods[n[0]])


def test_products_stored_on_the_way(device):
    n = 6
    x, prods = random_f64(1, n), (np.ones(n + 1), wp.float64)
    product = np.prod(x[0])
    start = np.zeros(n + 1)
    start[0] = product
    assert_gradient(launched(stored_products), [x, prods, ints(n)], [product / x[0], start])


@wp.kernel
def sums_into_rows(x: Numbers, rows: wp.array2d(dtype=wp.float64), loss: Numbers):
    """Each iteration of the inner loop adds to an element, each of the outer one reads it again."""
    t = wp.tid()
    for i in range(rows.shape[1]):
        for j in range(x.shape[0]):
            rows[t, i] += wp.sin(x[j] * wp.float64(i + t))
        wp.atomic_add(loss, 0, rows[t, i] * rows[t, i])


def test_sums_into_elements(device):
    rows = np.random.default_rng(2).random((2, 3))
    assert_gradient(launched(sums_into_rows, dim=2), [random_f64(1, 4), (rows, wp.float64)])


@wp.kernel
def loss_in_a_loop(x: Numbers, n: Ints, loss: Numbers):
    v = x[0]
    for k in range(n[0]):
        v = wp.sin(v) * x[k % 3]
        wp.atomic_add(loss, 0, v * v)
        loss[0] -= 0.5 * v


@pytest.mark.parametrize("n", [0, 1, 70])
def test_loss_summed_in_the_loop(device, n):
    assert_gradient(launched(loss_in_a_loop), [f64(0.6, 0.7, 1.4), ints(n)])
