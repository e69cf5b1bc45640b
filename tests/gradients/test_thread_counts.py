"""Gradients are the same to the last bit for 1, 2 and 4 threads.

By default for kernels whose adjoint adds to elements that threads do not share; with `deterministic=True`
for all.
"""

import numpy as np
import pytest

import warpsim as wp

N = 300_001
Numbers = wp.array(dtype=float)


@wp.kernel
def own_elements(x: Numbers, y: Numbers, n: int):
    i = wp.tid()
    v = x[i]
    for k in range(n):
        v = v + 0.1 * wp.sin(v) * y[i]
        if k % 7 == 6:
            y[i] = v * 0.5
    y[i] *= v


@wp.kernel
def gather(x: Numbers, table: wp.array(dtype=int), y: Numbers):
    """Its adjoint scatters: many threads add to one element."""
    i = wp.tid()
    y[i] = x[table[i]] * wp.sin(x[(i * 7) % x.shape[0]])


@wp.kernel
def add_up(y: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i] * y[i])


@wp.kernel
def scaled(x: Numbers, a: float, y: Numbers):
    i = wp.tid()
    y[i] = a * x[i] * x[i]


def data(n, seed=3):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, n).astype(np.float32)


def in_place():
    x, y = (wp.array(data(N, s), dtype=float, requires_grad=True) for s in (1, 2))
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(own_elements, dim=N, inputs=[x, y, 20])
        wp.launch(add_up, dim=N, inputs=[y, loss])
    tape.backward(loss)
    return x.grad.numpy(), y.grad.numpy()


def scattered(size, deterministic):
    """Threads gather from `size` elements."""
    x = wp.array(data(size), dtype=float, requires_grad=True)
    table = wp.array(np.random.default_rng(5).integers(0, size, N), dtype=int)
    y = wp.zeros(N, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(gather, dim=N, inputs=[x, table, y], deterministic=deterministic)
        wp.launch(add_up, dim=N, inputs=[y, loss], deterministic=deterministic)
    tape.backward(loss)
    return (x.grad.numpy(),)


def of_a_number(deterministic):
    x, y = (wp.array(data(N, s), dtype=float) for s in (1, 2))
    adj_x, adj_a = wp.zeros(N, dtype=float), wp.zeros(1, dtype=float)
    wp.launch(
        scaled,
        dim=N,
        inputs=[x, 0.7],
        outputs=[y],
        adj_inputs=[adj_x, adj_a],
        adj_outputs=[wp.ones(N, dtype=float)],
        adjoint=True,
        deterministic=deterministic,
    )
    return adj_x.numpy(), adj_a.numpy()


RUNS = {
    "own elements": in_place,
    "gather, deterministic": lambda: scattered(200_000, True),
    "gather from few, deterministic": lambda: scattered(1000, True),
    "a number, deterministic": lambda: of_a_number(True),
}


@pytest.mark.parametrize("name", list(RUNS))
def test_bits_do_not_depend_on_threads(threads, name):
    results = []
    for count in (1, 2, 4):
        threads(count)
        results.append([g.copy() for g in RUNS[name]()])
    for later in results[1:]:
        for first, again in zip(results[0], later, strict=True):
            assert np.isfinite(first).all() and np.abs(first).max() > 0.0
            np.testing.assert_array_equal(first, again)


def test_scattered_gradient_is_right():
    """The kernel above, by NumPy in float64."""
    size = 200_000
    x = data(size).astype(np.float64)
    table, far = np.random.default_rng(5).integers(0, size, N), (np.arange(N, dtype=np.int64) * 7) % size
    y = x[table] * np.sin(x[far])
    expected = np.zeros(size)
    np.add.at(expected, table, 2.0 * y * np.sin(x[far]))
    np.add.at(expected, far, 2.0 * y * x[table] * np.cos(x[far]))
    for deterministic in (False, True):
        (got,) = scattered(size, deterministic)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
