"""Tangents and Hessian-vector products of tapes and of functions, in float64.

Oracles: central differences of values and of gradients, duality with `Tape.backward`, symmetry of the Hessian.
"""

import numpy as np
import pytest
from direction_cases import DEVICES, D, Ints, N, Reals, Vectors, World, directions, reals, refused

import warpsim as wp
from warpsim.autograd import hvp, jvp
from warpsim.errors import GradientError, TapeError, TapeOverwriteError


@wp.kernel
def step(x: Vectors, v: Vectors, dt: D):
    """In place: positions and velocities are overwritten in every step."""
    i = wp.tid()
    v[i] = v[i] - x[i] * ((wp.length(x[i]) - D(1.0)) * dt) - v[i] * (wp.length(v[i]) * dt)
    x[i] = x[i] + v[i] * dt


@wp.kernel
def springs(x: Vectors, f: Vectors):
    i = wp.tid()
    d = x[i + 1] - x[i]
    g = d * (wp.length(d) - D(0.5))
    wp.atomic_add(f, i, g)
    wp.atomic_sub(f, i + 1, g)


@wp.kernel
def push(x: Vectors, v: Vectors, f: Vectors, dt: D):
    i = wp.tid()
    v[i] = v[i] + f[i] * dt
    x[i] = x[i] + v[i] * dt


@wp.kernel
def cubes(x: Vectors, loss: Reals):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(x[i], x[i]) * wp.length(x[i]))


def in_place(x0, v0, device):
    x, v, loss = wp.clone(x0), wp.clone(v0), wp.zeros(1, dtype=D, requires_grad=True)
    for _ in range(5):
        wp.launch(step, N, [x, v, 0.1], device=device)
    wp.launch(cubes, N, [x, loss], device=device)
    return loss


def through_forces(x0, v0, device):
    """Forces are zeroed and summed anew; a copy and an assignment are on the way."""
    x, v = wp.zeros(N, dtype=wp.vec3d, requires_grad=True), wp.zeros(N, dtype=wp.vec3d, requires_grad=True)
    x.assign(x0)
    wp.copy(v, v0)
    f, loss = wp.zeros(N, dtype=wp.vec3d, requires_grad=True), wp.zeros(1, dtype=D, requires_grad=True)
    for _ in range(4):
        f.zero_()
        wp.launch(springs, N - 1, [x, f], device=device)
        wp.launch(push, N, [x, v, f, 0.1], device=device)
    x[2:3].fill_(0.25)
    wp.launch(cubes, N, [x, loss], device=device)
    return loss


PROGRAMS = [in_place, through_forces]


def vectors(numbers):
    return wp.array(numbers, dtype=wp.vec3d, requires_grad=True)


class Run:
    """A program on a tape, with directions for its inputs."""

    def __init__(self, program, device=None, by=0.0):
        rng = np.random.default_rng(7)
        starts = [rng.uniform(-1, 1, (N, 3)) for _ in range(2)]
        self.u, self.v = ([rng.uniform(-1, 1, (N, 3)) for _ in range(2)] for _ in range(2))
        self.inputs = [vectors(a + by * d) for a, d in zip(starts, self.u, strict=True)]
        with wp.Tape() as self.tape:
            self.loss = program(*self.inputs, device)

    def along(self, direction):
        return dict(zip(self.inputs, direction, strict=True))

    def gradients(self):
        self.tape.backward(self.loss)
        return [a.grad.numpy().copy() for a in self.inputs]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_tangents_of_a_tape_are_slopes_and_the_dual_of_gradients(program, device):
    run = Run(program, device)
    slope = jvp(run.tape, tangents=run.along(run.u))[run.loss].numpy()[0]
    ends = [Run(program, device, by).loss.numpy()[0] for by in (1e-6, -1e-6)]
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)
    dual = sum(np.sum(g * u) for g, u in zip(run.gradients(), run.u, strict=True))
    assert slope == pytest.approx(dual, rel=1e-13)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_products_of_a_tape_are_slopes_of_gradients_and_symmetric(program, device):
    run = Run(program, device)
    found = [hvp(run.tape, loss=run.loss, vector=run.along(d)) for d in (run.u, run.v)]
    ends = [Run(program, device, by).gradients() for by in (1e-5, -1e-5)]
    for a, up, down in zip(run.inputs, *ends, strict=True):
        np.testing.assert_allclose(found[0][a].numpy(), (up - down) / 2e-5, rtol=1e-6, atol=1e-8)
    one = sum(np.sum(found[0][a].numpy() * v) for a, v in zip(run.inputs, run.v, strict=True))
    two = sum(np.sum(found[1][a].numpy() * u) for a, u in zip(run.inputs, run.u, strict=True))
    assert one == pytest.approx(two, rel=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_tape_is_as_it_was_afterwards(program):
    """Contents and gradients stay, and `backward` gives the same bits before and after."""
    run, other = Run(program), Run(program)
    contents = [a.numpy().copy() for a in run.tape.arrays()]
    jvp(run.tape, tangents=run.along(run.u))
    hvp(run.tape, loss=run.loss, vector=run.along(run.u))
    for a, want in zip(run.tape.arrays(), contents, strict=True):
        np.testing.assert_array_equal(a.numpy(), want)
    for got, want in zip(run.gradients(), other.gradients(), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_function_is_differentiated_without_a_tape_of_ones_own(program):
    run = Run(program)
    plain = [wp.array(a.numpy(), dtype=wp.vec3d) for a in run.inputs]
    direction = dict(zip(plain, run.u, strict=True))
    product = hvp(lambda x, v: program(x, v, None), inputs=plain, vector=direction)
    want = hvp(run.tape, loss=run.loss, vector=run.along(run.u))
    for a, b in zip(plain, run.inputs, strict=True):
        np.testing.assert_array_equal(product[a].numpy(), want[b].numpy())
        assert a.grad is None
    slopes = jvp(lambda x, v: program(x, v, None), inputs=plain, tangents=direction)
    [loss] = [t for a, t in slopes.items() if a.dtype is D]
    np.testing.assert_array_equal(loss.numpy(), jvp(run.tape, tangents=run.along(run.u))[run.loss].numpy())


@wp.kernel
def either(x: Reals, z: Reals, y: Reals, n: Ints):
    i = wp.tid()
    a = x
    if n[i] > 2:
        a = z
    y[i] = a[i] * a[i] * a[i]


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_that_are_chosen_and_overwritten_later(device):
    """What the way back needs of x and z is kept when `fill_` takes it away."""
    rng = np.random.default_rng(9)
    n, (x, z, y) = (
        wp.array([3, 0, 1, 2, 4], dtype=int),
        [wp.array(reals(rng, N), dtype=D, requires_grad=True) for _ in range(3)],
    )
    before = {a: a.numpy().copy() for a in (x, z)}
    u = dict(zip((x, z), directions(rng, x.numpy(), z.numpy()), strict=True))
    with wp.Tape() as tape:
        wp.launch(either, N, [x, z, y, n], device=device)
        x.fill_(5.0)
        z.assign(x)
    found = hvp(tape, cotangents={y: np.ones(N)}, vector=u)
    for a, mine in ((x, n.numpy() <= 2), (z, n.numpy() > 2)):
        np.testing.assert_allclose(found[a].numpy(), np.where(mine, 6.0 * before[a] * u[a], 0.0), rtol=1e-14)
    slope = jvp(tape, tangents=u)[y].numpy()
    want = np.where(n.numpy() > 2, before[z] ** 2 * u[z], before[x] ** 2 * u[x]) * 3.0
    np.testing.assert_allclose(slope, want, rtol=1e-14)


def test_writes_from_the_host_carry_tangents():
    """A write is linear: tangents go the way that the numbers went."""
    rng = np.random.default_rng(10)
    x, y = (wp.array(reals(rng, 8), dtype=D, requires_grad=True) for _ in range(2))
    u, w = directions(rng, x.numpy(), y.numpy())

    def written(x, y):
        picked = wp.indexedarray(y, [wp.array([7, 0, 5], dtype=int)])
        wp.copy(y, x, dest_offset=2, src_offset=4, count=2)
        picked.assign(x[1:4])
        y[3:4] = 2.5
        x.assign(y)

    with wp.Tape() as tape:
        written(x, y)
    found = jvp(tape, tangents={x: u, y: w})
    plain = [wp.array(d, dtype=D) for d in (u, w)]
    written(*plain)
    for a in plain:
        a[3] = 0.0
    for a, want in zip((x, y), plain, strict=True):
        np.testing.assert_array_equal(found[a].numpy(), want.numpy())


def test_cotangents_weigh_several_outputs():
    run = Run(in_place)
    one = hvp(run.tape, loss=run.loss, vector=run.along(run.u))
    two = hvp(run.tape, cotangents={run.loss: [2.0]}, vector=run.along(run.u))
    for a in run.inputs:
        np.testing.assert_allclose(two[a].numpy(), 2.0 * one[a].numpy(), rtol=1e-13)


@wp.kernel
def tickets(count: wp.array(dtype=int), x: wp.indexedarray(dtype=wp.float64), w: World):
    i, j = wp.tid()
    k = wp.atomic_add(count, 0, 1)
    w.y[k] = x[i + j] * x[i + j] * x[i] * w.gain


@pytest.mark.parametrize("device", DEVICES)
def test_second_order_of_structs_indexed_arrays_and_tickets(device):
    """What an integer atomic returned is noted by the launch and used on the way back."""
    data, table = np.array([0.7, 1.1, 1.3, 0.9]), [3, 1, 2]
    u, weights = np.array([1.0, -2.0, 0.5]), np.ones(4)
    x = wp.indexedarray(wp.array(data, dtype=D), [wp.array(table, dtype=int)])
    world = World(gain=2.0, y=wp.zeros(4, dtype=D), n=wp.zeros(1, dtype=int))
    found = hvp(
        tickets,
        (2, 2),
        [wp.zeros(1, dtype=int), x, world],
        vector={"x": u, "w.gain": 0.25},
        cotangents={"w.y": weights},
        device=device,
    )
    a, b, c = data[table]
    hessian = 2.0 * np.array([[6 * a, 2 * b, 0.0], [2 * b, 2 * a + 6 * b, 2 * c], [0.0, 2 * c, 2 * b]])
    slope = np.array([3 * a * a + b * b, 2 * a * b + 3 * b * b + c * c, 2 * b * c])
    np.testing.assert_allclose(found["x"].numpy(), hessian @ u + 0.25 * slope, rtol=1e-13)
    np.testing.assert_allclose(found["w.gain"].numpy(), [slope @ u], rtol=1e-13)


# ----- what is refused ---------------------------------------------------------------------


def test_bad_use_of_a_tape_is_refused():
    run = Run(in_place)
    other = {vectors(np.zeros((N, 3))): run.u[0]}
    refused(GradientError, lambda: jvp(run.tape, tangents=other), "expected: an array of floats that the tape recorded")
    refused(GradientError, lambda: hvp(run.tape, vector={}), "neither a loss nor cotangents")
    refused(TapeError, lambda: jvp(wp.Tape(), tangents={}), "nothing is recorded on this tape")
    refused(GradientError, lambda: hvp(run.tape, loss=run.inputs[0], vector={}), "loss has shape (5,)")


def test_contents_that_changed_since_are_refused():
    x, loss = vectors(np.ones((N, 3))), wp.zeros(1, dtype=D, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(cubes, N, [x, loss])
    x.fill_(2.0)
    refused(TapeOverwriteError, lambda: jvp(tape, tangents={x: np.ones((N, 3))}), "was changed after it was recorded")


def test_a_recorded_function_has_no_tangent():
    x, loss = vectors(np.ones((N, 3))), wp.zeros(1, dtype=D, requires_grad=True)
    with wp.Tape() as tape:
        tape.record_func(lambda: None, [x])
        wp.launch(cubes, N, [x, loss])
    refused(TapeError, lambda: jvp(tape, tangents={x: np.ones((N, 3))}), "a recorded function at", "is not known")


@wp.kernel
def product(x: wp.array(dtype=float), h: wp.array(dtype=wp.float16), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * float(h[i]) * x[i]


@pytest.mark.parametrize("device", DEVICES)
def test_tangents_have_the_types_of_their_arrays(device):
    x, h = wp.array([3.0], dtype=float, requires_grad=True), wp.array([0.5], dtype=wp.float16, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(product, 1, [x, h, y], device=device)
    assert jvp(tape, tangents={x: [2.0], h: [4]})[y].list() == [2 * 3.0 * 0.5 * 2.0 + 9.0 * 4.0]
    found = hvp(tape, loss=y, vector={x: [2.0], h: [4]})
    assert found[x].list() == [2 * 0.5 * 2.0 + 2 * 3.0 * 4.0]
    assert found[h].list() == [2 * 3.0 * 2.0]
    assert (found[x].dtype, found[h].dtype) == (wp.float32, wp.float16)


@wp.func
def bent(x: D, v: wp.vec3d, times: int):
    y = x
    for _ in range(times):
        y = y * wp.sin(y) + wp.dot(v, v) * x
    return y


@wp.kernel
def slopes_inside(x: Reals, v: Vectors, y: Reals, n: Ints):
    i = wp.tid()
    dx, dv, _ = wp.grad(bent)(x[i], v[i], n[i])
    y[i] = dx * dx + wp.dot(dv, v[i])


@pytest.mark.cpu(reason="on the interpreter")
def test_gradients_taken_inside_kernels_are_differentiated():
    """Third derivatives in all: a tangent of the adjoint of a kernel that takes a derivative itself.

    On the interpreter: LLVM takes 15 s for this program.
    """
    rng = np.random.default_rng(12)
    x0, v0 = reals(rng, N), reals(rng, N, 3) * 0.3
    u, w = directions(rng, x0, v0), directions(rng, x0, v0)

    def recorded(by):
        x = wp.array(x0 + by * u[0], dtype=D, requires_grad=True)
        v = wp.array(v0 + by * u[1], dtype=wp.vec3d, requires_grad=True)
        y, n = wp.zeros(N, dtype=D, requires_grad=True), wp.array([0, 1, 2, 3, 2], dtype=int)
        with wp.Tape() as tape:
            wp.launch(slopes_inside, N, [x, v, y, n], device="interp")
        return tape, x, v, y

    def gradients(by):
        tape, x, v, y = recorded(by)
        tape.backward(grads={y: wp.ones(N, dtype=D)})
        return x.grad.numpy(), v.grad.numpy()

    tape, x, v, y = recorded(0.0)
    along = dict(zip((x, v), u, strict=True))
    found = hvp(tape, vector=along, cotangents={y: np.ones(N)})
    for a, up, down in zip((x, v), gradients(1e-5), gradients(-1e-5), strict=True):
        np.testing.assert_allclose(found[a].numpy(), (up - down) / 2e-5, rtol=1e-6, atol=1e-7)
    across = hvp(tape, vector=dict(zip((x, v), w, strict=True)), cotangents={y: np.ones(N)})
    one, two = (
        sum(np.sum(p[a].numpy() * d) for a, d in zip((x, v), other, strict=True))
        for p, other in ((found, w), (across, u))
    )
    assert one == pytest.approx(two, rel=1e-11)


def test_a_launch_without_any_gradient_says_that_nothing_was_kept():
    x = wp.array(np.ones((3, 3)), dtype=wp.vec3d)
    f = wp.zeros(3, dtype=wp.vec3d)
    with wp.Tape() as tape:
        wp.launch(springs, dim=2, inputs=[x, f])
    with pytest.raises(GradientError, match="no argument of kernel 'springs' had a gradient when it was launched"):
        jvp(tape, tangents={x: np.ones((3, 3))})


@wp.kernel
def weights(x: Reals, y: Reals, u: Vectors, v: Vectors, n: int, loss: Reals):
    """Sums in loops over elements that do not change in them."""
    i = wp.tid()
    for k in range(n):
        loss[0] += x[i] * y[i]
        if k > 0:
            loss[0] += wp.dot(u[i], v[i])
    steps = int(0)
    while steps < n:
        steps += 1
        loss[0] += x[i] * y[i] * y[i]


@pytest.mark.parametrize("device", DEVICES)
def test_second_order_where_sums_of_cotangents_in_loops_are_zero(device):
    x, y = np.array([2.0, 0.0, 3.0]), np.array([0.0, 0.0, 1.5])
    u = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    v = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [4.0, 5.0, 6.0]])
    with wp.ScopedDevice(device):
        arrays = [wp.array(a, dtype=t, requires_grad=True) for a, t in ((x, D), (y, D), (u, wp.vec3d), (v, wp.vec3d))]
        loss = wp.zeros(1, dtype=D, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(weights, dim=3, inputs=[*arrays, 2, loss])
        tape.backward(loss)
        along = np.random.default_rng(3).uniform(-1.0, 1.0, (8, 3))
        dx, dy, du, dv = along[0], along[1], along[2:5], along[5:8]
        products = hvp(tape, loss=loss, vector=dict(zip(arrays, (dx, dy, du, dv), strict=True)))
    gx, gy, gu, gv = (products[a].numpy() for a in arrays)
    np.testing.assert_allclose(gx, 2.0 * dy + 4.0 * y * dy, atol=1e-13)
    np.testing.assert_allclose(gy, 2.0 * dx + 4.0 * (y * dx + x * dy), atol=1e-13)
    np.testing.assert_allclose(gu, dv, atol=1e-13)
    np.testing.assert_allclose(gv, du, atol=1e-13)


def test_a_tangent_of_an_array_that_is_set_twice_is_that_of_what_was_set_last():
    """Values set from an array without gradient: the second write hides a part of the first, a third nothing else."""

    @wp.kernel
    def scale(b: Reals, q: Reals):
        i = wp.tid()
        b[i] *= wp.sin(q[i])

    @wp.kernel
    def weigh(a: Reals, loss: Reals):
        i = wp.tid()
        loss[0] += a[i] * D(i + 1)

    angles, along = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.7, 0.9])
    first, weights = np.array([1.0, 2.0, 3.0]), np.arange(1.0, 8.0)
    b, q = wp.array(first, dtype=D), wp.array(angles, dtype=D, requires_grad=True)
    a, loss = wp.zeros(7, dtype=D, requires_grad=True), wp.zeros(1, dtype=D, requires_grad=True)
    picked = wp.indexedarray(a, [wp.array([6, 0], dtype=int)])
    with wp.Tape() as tape:
        wp.launch(scale, 3, inputs=[b, q])
        wp.copy(a[1:4], b)
        wp.launch(scale, 3, inputs=[b, q])
        wp.copy(a[2:7:2], b)  # over one of the first
        picked.fill_(2.0)  # and over one of these
        wp.launch(weigh, 7, inputs=[a, loss])
    moved = np.random.default_rng(2).uniform(-1.0, 1.0, 7)

    def value(step):
        once = first * np.sin(angles + step * along)
        twice = once * np.sin(angles + step * along)
        at = np.zeros(7)
        at[1:4] = once
        at[2:7:2] = twice
        at[[6, 0]] = 2.0
        return weights @ (at + step * moved)

    slope = (value(1e-6) - value(-1e-6)) / 2e-6
    tangent = jvp(tape, tangents={q: along, a: moved})[loss].numpy()[0]
    assert abs(tangent - slope) < 1e-8
