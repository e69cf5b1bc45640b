"""States of reversed loops, a place for every lane: gradients have the bits of single threads."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.cpu.lane_memory import LaneArray
from warpsim.core.emit.native import native

pytestmark = [pytest.mark.cpu(reason="lanes are those of the host"), pytest.mark.assembled_one_in(7)]
Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)
THREADS = 21  # two strips and a rest
TRIPS = (np.arange(THREADS) * 37 % 23).astype(np.int32)  # none for some


@wp.struct
class State:
    x: float
    count: int
    v: wp.vec2
    even: wp.bool


@wp.kernel
def same_trips(x: Floats, trips: Ints, y: Floats, n: int):
    i = wp.tid()
    a = x[i]
    for _ in range(n):
        a = a * 0.9 + 0.1 * a * a + x[i] * 0.01
    y[i] = a


@wp.kernel
def own_trips(x: Floats, trips: Ints, y: Floats, n: int):
    i = wp.tid()
    a = x[i]
    for k in range(trips[i], -n, -3):
        a = wp.sin(a) + 0.1 * float(k) * x[i]
    y[i] = a


@wp.kernel
def until(x: Floats, trips: Ints, y: Floats, n: int):
    i = wp.tid()
    a, k = x[i], int(0)
    while a < 3.0:
        if k == n:
            break
        a = a * 1.1 + 0.01 * a * a + 0.1
        k += 1
    y[i] = a


@wp.kernel
def under_a_branch(x: Floats, trips: Ints, y: Floats, n: int):
    i = wp.tid()
    a = x[i]
    if trips[i] % 3 != 0:
        for k in range(n):
            if (k + i) % 2 == 0:
                a = a * a * 0.5 + 0.3
            for _j in range(trips[i] % 4):
                a = wp.cos(a) + x[i]
    y[i] = a


@wp.kernel
def structs(x: Floats, trips: Ints, y: Floats, n: int):
    i = wp.tid()
    s = State(x=x[i], count=0, v=wp.vec2(x[i], 1.0), even=True)
    for k in range(trips[i]):
        s.even = s.count % 2 == 0
        s.v = s.v * s.x * 0.5 + wp.vec2(0.1, s.x)
        s.x = s.v[0] * 0.3 + float(s.count) * 0.01
        if s.even:
            s.x = s.x * s.x
        s.count += k % 2 + 1
    y[i] = s.x + s.v[1]


def gradients(kernel, n, device=None):
    """Of the sum of what a kernel leaves, by what it starts from."""
    x = wp.array(np.linspace(-0.9, 0.9, THREADS), dtype=float, requires_grad=True, device=device)
    trips, y = wp.array(TRIPS, dtype=int, device=device), wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(kernel, THREADS, [x, trips, y, n], device=device)
    tape.backward(grads={y: wp.ones(THREADS, dtype=float, device=device)})
    return x.grad.numpy()


@pytest.mark.parametrize("n", [0, 1, 20, 600])  # 600: three blocks
@pytest.mark.parametrize("kernel", [same_trips, own_trips, until, under_a_branch, structs], ids=lambda k: k.key)
def test_gradients_have_the_bits_of_single_threads(kernel, n, monkeypatch):
    made = []
    start = LaneArray.__init__
    monkeypatch.setattr(LaneArray, "__init__", lambda self, *args: made.append(args) or start(self, *args))
    monkeypatch.setattr(native, "lanes", lambda: 8)
    wp.config.cache_kernels = wp.config.check_numbers = False
    wp.config.lanes = "always"
    found = gradients(kernel, n)
    assert made or n, "not in lanes"
    wp.config.lanes = "off"
    np.testing.assert_array_equal(found, gradients(kernel, n))
    if n < 600:
        np.testing.assert_allclose(found, gradients(kernel, n, "interp"), rtol=1e-4, atol=1e-6)  # sines differ
