"""Whole simulations on a tape, in place and with overwritten forces, against finite differences."""

import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import NotDifferentiableError


@wp.kernel
def springs(x: wp.array(dtype=wp.vec3d), f: wp.array(dtype=wp.vec3d), k: wp.float64):
    i = wp.tid()
    j = (i + 1) % x.shape[0]
    d = x[j] - x[i]
    length = wp.length(d)
    s = k * (length - wp.float64(0.5)) / length
    wp.atomic_add(f, i, s * d)
    wp.atomic_sub(f, j, s * d)


@wp.kernel
def move(
    x: wp.array(dtype=wp.vec3d),
    v: wp.array(dtype=wp.vec3d),
    f: wp.array(dtype=wp.vec3d),
    m: wp.array(dtype=wp.float64),
    dt: wp.float64,
):
    i = wp.tid()
    v[i] = v[i] * wp.float64(0.99) + f[i] / m[i] * dt
    x[i] = x[i] + v[i] * dt


@wp.kernel
def weigh(x: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(x[i], x[i]) * wp.float64(i + 1))


def rollout(x0, v0, m0, steps=6, deterministic=None):
    n = len(x0)
    x, v = (wp.array(a, dtype=wp.vec3d, requires_grad=True) for a in (x0, v0))
    m = wp.array(m0, dtype=wp.float64, requires_grad=True)
    f = wp.zeros(n, dtype=wp.vec3d, requires_grad=True)
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        for _ in range(steps):
            f.zero_()
            wp.launch(springs, n, inputs=[x, f, 30.0], deterministic=deterministic)
            wp.launch(move, n, inputs=[x, v, f, m, 0.02])
        wp.launch(weigh, n, inputs=[x, loss], deterministic=deterministic)
    return tape, loss, (x, v, m)


def start(n):
    rng = np.random.default_rng(0)
    return [rng.random((n, 3)), rng.random((n, 3)), 1.0 + rng.random(n)]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_springs_in_place_with_one_force_array(device):
    rng, values = np.random.default_rng(1), start(4)
    with wp.ScopedDevice(device):
        tape, loss, arrays = rollout(*values)
        tape.backward(loss)
        for k, a in enumerate(arrays):
            direction, step = rng.random(values[k].shape), 1e-6
            ahead, back = list(values), list(values)
            ahead[k], back[k] = values[k] + step * direction, values[k] - step * direction
            slope = (rollout(*ahead)[1].numpy()[0] - rollout(*back)[1].numpy()[0]) / (2 * step)
            assert (a.grad.numpy() * direction).sum() == pytest.approx(slope, rel=1e-7)
    # positions before every step but the first write, forces before every zeroing; velocities are linear
    assert (tape.report().count, tape.report().bytes) == (11, 11 * 4 * 24)


def test_gradients_have_equal_bits_in_every_run():
    n = 20_000
    values = start(n)
    found = []
    for _ in range(2):
        tape, loss, arrays = rollout(*values, steps=2, deterministic=True)
        tape.backward(loss)
        found.append([a.grad.numpy().tobytes() for a in arrays])
    assert found[0] == found[1]
    assert all(record.deterministic for record in tape.launches if record.kernel is springs)


def test_the_order_in_which_atomics_met_is_remembered():
    @wp.kernel
    def compact(counter: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        at = wp.atomic_add(counter, 0, 1)
        y[at] = wp.sqrt(x[i])

    counter = wp.zeros(1, dtype=int)
    x = wp.array(np.arange(1, 9), dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(compact, 8, inputs=[counter, x], outputs=[y])
        counter.zero_()
    seed = np.arange(1.0, 9.0)
    tape.backward(grads={y: wp.array(seed, dtype=float)})
    at = [int(np.argmin(abs(y.numpy() - np.sqrt(v)))) for v in x.numpy()]
    assert x.grad.numpy() == pytest.approx(seed[at] * 0.5 / np.sqrt(np.arange(1.0, 9.0)), rel=1e-6)


def test_a_tape_that_goes_on_after_backward_saves_what_it_overwrites():
    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y, one = wp.zeros_like(x), wp.ones(2, dtype=float)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    tape.backward(grads={y: one})
    assert x.grad.numpy().tolist() == [2.0, 4.0]
    with tape:
        wp.launch(square, 2, inputs=[y], outputs=[x])
    tape.backward(grads={x: one})
    # x was written by the tape now: its gradient is that of its first contents, of x^4
    assert x.grad.numpy().tolist() == [4.0, 32.0]


def test_retained_gradients_and_the_dict_see_through_views():
    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True, retain_grad=True)
    z = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x[1:]], outputs=[y[1:]])
        wp.launch(square, 2, inputs=[y[1:]], outputs=[z])
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    assert y.grad.numpy().tolist() == [0.0, 8.0, 18.0]
    assert x.grad.numpy().tolist() == [0.0, 32.0, 108.0]
    assert tape.gradients[x] is x.grad


@wp.struct
class Arrays:
    x: wp.array(dtype=float)


def test_arrays_that_elements_of_structs_refer_to():
    @wp.kernel
    def squares(all: wp.array(dtype=Arrays), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = all[0].x[i] * all[0].x[i]

    inner = Arrays()
    inner.x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    outer = wp.array([inner], dtype=Arrays)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, 2, inputs=[outer], outputs=[y])
        inner.x.fill_(7.0)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert inner.x.grad.numpy().tolist() == [2.0, 4.0]
    assert inner.x.numpy().tolist() == [7.0, 7.0]


@wp.struct
class Deeper:
    all: wp.array(dtype=Arrays)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_arrays_that_are_reached_through_fields_and_elements(device):
    @wp.kernel
    def squares(a: Deeper, b: wp.array(dtype=Deeper), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a.all[0].x[i] * a.all[0].x[i] * b[0].all[0].x[i]

    xs = [wp.array(numbers, dtype=float, requires_grad=True) for numbers in ([1.0, 2.0], [3.0, 4.0])]
    a, b = (Deeper(wp.array([Arrays(x)], dtype=Arrays)) for x in xs)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, 2, inputs=[a, wp.array([b], dtype=Deeper), y], device=device)
        xs[0].fill_(7.0)
        xs[1].fill_(7.0)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert [x.grad.numpy().tolist() for x in xs] == [[6.0, 16.0], [1.0, 4.0]]
    tape.zero()
    assert not xs[0].grad.numpy().any()


def test_gradients_from_one_array_in_a_struct_element_to_another():
    @wp.kernel
    def squares(all: wp.array(dtype=Arrays)):
        i = wp.tid()
        all[1].x[i] = all[0].x[i] * all[0].x[i]

    pair = [Arrays(), Arrays()]
    for inner in pair:
        inner.x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, 2, inputs=[wp.array(pair, dtype=Arrays)])
    tape.backward(grads={pair[1].x: wp.ones(2, dtype=float)})
    assert pair[0].x.grad.numpy().tolist() == [2.0, 4.0]
    assert pair[1].x.grad.numpy().tolist() == [0.0, 0.0]


def test_an_array_in_a_struct_element_that_is_read_after_it_was_written_is_refused():
    @wp.kernel
    def twice(all: wp.array(dtype=Arrays), y: wp.array(dtype=float)):
        i = wp.tid()
        all[0].x[i] = all[0].x[i] * 3.0
        y[i] = all[0].x[i] * all[0].x[i]

    inner = Arrays()
    inner.x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(twice, 2, inputs=[wp.array([inner], dtype=Arrays)], outputs=[y])
    with pytest.raises(NotDifferentiableError, match="arrays in elements of 'all' and in elements of 'all' of kernel"):
        tape.backward(grads={y: wp.ones(2, dtype=float)})


def test_a_kernel_without_a_derivative_is_refused_by_backward_not_by_the_launch():
    @wp.kernel
    def swap(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.atomic_exch(x, i, 0.0)

    x, y = wp.array([1.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(swap, 1, inputs=[x], outputs=[y])
    with pytest.raises(NotDifferentiableError, match="atomic_exch"):
        tape.backward(grads={y: wp.ones(1, dtype=float)})


@pytest.mark.cpu(reason="other threads have the CPU as their device")
def test_launches_of_other_threads_are_noticed_while_a_tape_records():
    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    arrays = [
        (wp.array([2.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True))
        for _ in range(4)
    ]
    found = []

    def work(x, y):
        for _ in range(200):
            with wp.Tape() as tape:
                wp.launch(square, 1, inputs=[x], outputs=[y])
                wp.launch(square, 1, inputs=[y], outputs=[y])
            x.grad.zero_()
            tape.backward(grads={y: wp.ones(1, dtype=float)})
            found.append(float(x.grad.numpy()[0]))

    threads = [threading.Thread(target=work, args=pair) for pair in arrays]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [32.0] * 800


@wp.struct
class Motion:
    x: wp.array(dtype=wp.float64)
    v: wp.array(dtype=wp.float64)


@wp.struct
class Pendulums:
    motion: Motion
    length: wp.array(dtype=wp.float64)
    dt: wp.float64


@wp.kernel
def swing(s: Pendulums):
    i = wp.tid()
    s.motion.v[i] = s.motion.v[i] - s.dt / s.length[i] * wp.sin(s.motion.x[i])
    s.motion.x[i] = s.motion.x[i] + s.dt * s.motion.v[i]


def pendulums(x0, v0, length, steps=4):
    s = Pendulums()
    s.motion.x, s.motion.v, s.length = (wp.array(a, dtype=wp.float64, requires_grad=True) for a in (x0, v0, length))
    with wp.Tape() as tape:
        for k in range(steps):
            s.dt = 0.1 + 0.01 * k
            wp.launch(swing, len(x0), inputs=[s])
    return tape, s


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_state_in_a_struct_is_updated_in_place(device):
    rng = np.random.default_rng(3)
    start = [rng.random(3), rng.random(3), 1.0 + rng.random(3)]
    with wp.ScopedDevice(device):
        tape, s = pendulums(*start)
        tape.backward(grads={s.motion.x: wp.ones(3, dtype=wp.float64)})
        found = [a.grad.numpy().copy() for a in (s.motion.x, s.motion.v, s.length)]
        h = 1e-6
        for k in range(3):
            ends = []
            for sign in (1.0, -1.0):
                moved = [a.copy() for a in start]
                moved[k] += sign * h
                ends.append(pendulums(*moved)[1].motion.x.numpy().copy())
            assert found[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7)
    # angles before each step; velocities are linear
    assert (tape.report().count, tape.report().bytes) == (4, 4 * 24)
