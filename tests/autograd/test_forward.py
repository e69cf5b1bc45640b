"""Tangents and Hessian-vector products of launches, in float64.

Oracles: central differences, symmetry of the Hessian (u . H v = v . H u), and duality with reverse mode
(w . J u = u . J^T w).
"""

import numpy as np
import pytest
from direction_cases import DEVICES, D, Ints, N, Reals, Vectors, World, directions, reals, refused

import warpsim as wp
from warpsim.autograd import hvp, jvp
from warpsim.errors import GradientError, LaunchError, NotDifferentiableError


@wp.struct
class Spring:
    stiffness: D
    axis: wp.vec3d
    count: int


@wp.kernel
def loops(x: Reals, y: Reals, n: Ints):
    """Loops of every kind, as many iterations as do not fit a checkpoint buffer, and a break."""
    i = wp.tid()
    total = D(1.0)
    for k in range(n[i] * 40):
        if k % 3 == 1:
            continue
        total = total * wp.cos(x[(i + k) % 5] * D(0.2)) + x[i] * D(0.05)
        if total > D(30.0):
            break
    k = int(0)
    while k < n[i]:
        total = wp.sqrt(total * total + x[k])
        k += 1
    y[i] = total


@wp.kernel
def updates(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    y[i] = y[i] * x[i]
    y[i] += x[i] * x[i]
    y[i] *= x[i]
    if n[i] > 1:
        y[i] -= wp.sin(y[i])
        return
    y[i] /= D(2.0) + x[i]


@wp.kernel
def local_arrays(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    seen = wp.zeros(shape=4, dtype=wp.float64)
    for k in range(4):
        seen[k] = x[(i + k) % 5]
    for k in range(n[i]):
        seen[k % 4] = seen[k % 4] * seen[(k + 1) % 4]
    wp.atomic_add(y, n[i] % 5, seen[0] * seen[3] + wp.exp(seen[1]))


@wp.kernel
def extremes(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    wp.atomic_max(y, 0, wp.exp(x[i]))
    wp.atomic_min(y, 1, x[i] * x[i] * x[i])


@wp.kernel
def geometry(x: Vectors, y: Vectors, n: Ints):
    i = wp.tid()
    v = x[i]
    v[n[i] % 3] = wp.dot(v, v)
    m = wp.outer(v, x[(i + 1) % 5]) + wp.identity(3, dtype=wp.float64) * wp.length(x[i])
    m[1] = m[1] + wp.cross(v, x[i]) * D(0.3)
    y[i] = wp.inverse(m) * v + wp.normalize(x[i])
    y[i][1] += x[i][0] * x[i][2]


KERNELS = [loops, updates, local_arrays, extremes, geometry]


class Case:
    """A kernel of `KERNELS` at random contents, with directions and weights for x and y."""

    def __init__(self, kernel, seed=0):
        rng = np.random.default_rng(seed)
        inner = (3,) if kernel is geometry else ()
        self.kernel = kernel
        self.x, self.y = reals(rng, N, *inner), reals(rng, N, *inner)
        if kernel is extremes:
            self.y[:2] = 0.1, 9.0
        self.u, self.v, self.w = (directions(rng, self.x, self.y) for _ in range(3))

    def arguments(self, by=0.0, along=(0.0, 0.0)):
        dtype = self.kernel.patterns["x"].dtype
        arrays = [wp.array(a + by * d, dtype=dtype) for a, d in zip((self.x, self.y), along, strict=True)]
        return [*arrays, wp.array([3, 0, 1, 2, 4], dtype=int)]

    def tangent(self, along, device, by=0.0, base=(0.0, 0.0)):
        x, y, n = self.arguments(by, base)
        return jvp(self.kernel, N, [x], [y, n], {"x": along[0], y: along[1]}, device)

    def product(self, along, device):
        x, y, n = self.arguments()
        return hvp(
            self.kernel, N, [x, y, n], vector={"x": along[0], "y": along[1]}, cotangents={"y": self.w[1]}, device=device
        )


def values(kernel, arguments, device):
    wp.launch(kernel, N, arguments, device=device)
    return [a.numpy().copy() for a in arguments[:2]]


# ----- tangents of launches --------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key)
def test_a_tangent_is_the_slope_along_its_direction(kernel, device):
    case = Case(kernel)
    ends = [values(kernel, case.arguments(by, case.u), device)[1] for by in (1e-6, -1e-6)]
    found = case.tangent(case.u, device)
    assert list(found) == ["y"]
    np.testing.assert_allclose(found["y"].numpy(), (ends[0] - ends[1]) / 2e-6, rtol=1e-7, atol=1e-7)


def test_a_launch_with_tangents_is_a_launch():
    """Outputs get their values; gradient arrays keep what they hold."""
    case = Case(updates)
    want = values(updates, case.arguments(), None)[1]
    x, y, n = case.arguments()
    x.requires_grad = y.requires_grad = True
    x.grad.fill_(7.0)
    jvp(updates, N, [x], [y, n], {"x": case.u[0]})
    np.testing.assert_array_equal(y.numpy(), want)
    assert np.all(x.grad.numpy() == 7.0)
    assert np.all(y.grad.numpy() == 0.0)


@wp.kernel
def numbers(x: Reals, y: Vectors, k: D, v: wp.vec3d, s: Spring):
    i = wp.tid()
    y[i] = v * (x[i] * k * k) + s.axis * (s.stiffness * wp.dot(v, s.axis)) + v * D(s.count)


def test_numbers_vectors_and_structs_move():
    rng = np.random.default_rng(3)
    x, (dx, dv, da) = reals(rng, N), directions(rng, np.zeros(N), np.zeros(3), np.zeros(3))

    def run(by):
        y = wp.zeros(N, dtype=wp.vec3d)
        s = Spring(stiffness=0.7 + 2.0 * by, axis=wp.vec3d(*(np.array([1.0, 2.0, 3.0]) + by * da)), count=2)
        args = [wp.array(x + by * dx, dtype=D), y, 1.5 - 0.5 * by, wp.vec3d(*(np.array([0.1, 0.2, 0.3]) + by * dv)), s]
        return args

    ends = []
    for by in (1e-6, -1e-6):
        args = run(by)
        wp.launch(numbers, N, args)
        ends.append(args[1].numpy())
    along = {"x": dx, "k": -0.5, "v": dv}
    for device in ("interp", None):
        with wp.ScopedDevice(device):
            one = jvp(numbers, N, run(0.0), tangents={**along, "s": Spring(stiffness=2.0, axis=da)})
            two = jvp(numbers, N, run(0.0), tangents={**along, "s.stiffness": 2.0, "s.axis": da})
        np.testing.assert_allclose(one["y"].numpy(), (ends[0] - ends[1]) / 2e-6, rtol=1e-7, atol=1e-7)
        np.testing.assert_array_equal(one["y"].numpy(), two["y"].numpy())


@wp.kernel
def worlds(x: Reals, w: World):
    i = wp.tid()
    w.y[i] = w.y[i] * x[i] * w.gain + D(w.n[i])


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_in_structs_have_tangents(device):
    rng = np.random.default_rng(4)
    x, y = reals(rng, N), reals(rng, N)
    dx, dy = directions(rng, x, y)
    world = World(gain=1.5, y=wp.array(y, dtype=D), n=wp.array(np.arange(N), dtype=int))
    found = jvp(worlds, N, [wp.array(x, dtype=D), world], tangents={"x": dx, "w.y": dy, "w.gain": 0.5}, device=device)
    assert list(found) == ["w.y"]
    np.testing.assert_allclose(found["w.y"].numpy(), dy * x * 1.5 + y * dx * 1.5 + y * x * 0.5, rtol=1e-14)


@wp.kernel
def squares(x: wp.indexedarray(dtype=wp.float64), y: Reals):
    i = wp.tid()
    y[i] = x[i] * x[i]
    x[i] = x[i] * D(3.0)


@pytest.mark.parametrize("device", DEVICES)
def test_indexed_arrays_have_tangents(device):
    data = wp.array(np.arange(6.0), dtype=D)
    picked = wp.indexedarray(data, [wp.array([4, 1, 3], dtype=int)])
    y = wp.zeros(3, dtype=D)
    found = jvp(squares, 3, [picked, y], tangents={"x": [1.0, 2.0, 3.0]}, device=device)
    np.testing.assert_array_equal(found["y"].numpy(), [8.0, 4.0, 18.0])
    np.testing.assert_array_equal(found["x"].numpy(), [3.0, 6.0, 9.0])


@wp.kernel
def blend(a: Reals, b: Reals):
    i = wp.tid()
    b[i] = a[i] * a[i] + b[i]


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_that_share_memory_share_tangents(device):
    """A tangent is given for a view; the kernel reads and writes the same memory under other names."""
    whole = wp.array(np.arange(1.0, 7.0), dtype=D)
    even, low = whole[::2], whole[:3]
    found = jvp(blend, 3, [even, low], tangents={"a": [1.0, 10.0, 100.0]}, device=device)["b"].numpy()
    a, da = np.arange(1.0, 7.0), np.array([1.0, 0.0, 10.0, 0.0, 100.0, 0.0])
    for i in range(3):
        da[i] = 2 * a[2 * i] * da[2 * i] + da[i]
        a[i] = a[2 * i] ** 2 + a[i]
    np.testing.assert_array_equal(found, da[:3])


@wp.kernel
def plane(x: wp.array2d(dtype=wp.float64), y: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    y[j, i] = x[i, j] * x[i, 0]


def test_two_dimensions_and_strided_arrays():
    rng = np.random.default_rng(5)
    x, dx = reals(rng, 3, 4), reals(rng, 3, 4)
    y = wp.zeros((4, 6), dtype=D)[:, ::2]
    found = jvp(plane, (3, 4), [wp.array(x, dtype=D)], [y], {"x": dx})["y"].numpy()
    np.testing.assert_allclose(found, (dx * x[:, :1] + x * dx[:, :1]).T, rtol=1e-14)


@wp.kernel
def many(x: Reals, best: Reals):
    i = wp.tid()
    wp.atomic_max(best, 0, wp.sin(x[i]))


def test_the_winner_of_a_large_launch_gives_its_tangent():
    """More threads than one chunk holds: value and tangent of the maximum must come from one thread."""
    x = np.random.default_rng(6).uniform(0.0, 1.0, 200_000)
    best = wp.array([-1.0], dtype=D)
    found = jvp(many, len(x), [wp.array(x, dtype=D)], [best], {"x": np.arange(len(x), dtype=float)})
    winner = np.argmax(x)
    np.testing.assert_allclose(found["best"].numpy(), [np.cos(x[winner]) * winner], rtol=1e-12)


# ----- functions with gradients of their own ---------------------------------------------------


@wp.func
def steep(x: D):
    return x * x


@wp.func_grad(steep)
def adj_steep(x: D, adj_ret: D):
    wp.adjoint[x] += adj_ret * D(100.0)


@wp.kernel
def with_own_gradient(x: Reals, y: Reals):
    i = wp.tid()
    y[i] = steep(x[i]) * D(2.0)


@pytest.mark.parametrize("device", DEVICES)
def test_a_gradient_of_ones_own_is_transposed(device):
    """Forward mode agrees with reverse mode, which uses what the user wrote: 100, not 2 x."""
    x, y = wp.array([3.0], dtype=D), wp.zeros(1, dtype=D)
    found = jvp(with_own_gradient, 1, [x], [y], {"x": [1.0]}, device)
    np.testing.assert_array_equal(found["y"].numpy(), [200.0])
    assert y.numpy()[0] == 18.0


@wp.func
def limited(x: D, v: wp.vec3d):
    return wp.vec3d(x, x * v[0], v[1] * v[2]), x * wp.length(v)


@wp.func_grad(limited)
def adj_limited(x: D, v: wp.vec3d, adj_w: wp.vec3d, adj_l: D):
    """Branches and loops: it cannot be walked back through."""
    if x > D(1.0):
        wp.adjoint[x] += adj_l * D(3.0)
    for k in range(3):
        wp.adjoint[x] += adj_w[k] * D(k + 1)
        wp.adjoint[v][k] += adj_w[2 - k] * x + adj_l


@wp.kernel
def with_long_gradient(x: Reals, v: Vectors, w: Vectors, y: Reals):
    i = wp.tid()
    a, b = limited(x[i], v[i])
    w[i] = a
    y[i] = b


@pytest.mark.parametrize("device", DEVICES)
def test_a_gradient_with_branches_and_loops_is_used_too(device):
    x, dx = np.array([0.5, 2.0]), np.array([1.0, -1.0])
    dv = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    args = [wp.array(x, dtype=D), wp.array(np.ones((2, 3)), dtype=wp.vec3d)]
    outs = [wp.zeros(2, dtype=wp.vec3d), wp.zeros(2, dtype=D)]
    found = jvp(with_long_gradient, 2, args, outs, {"x": dx, "v": dv}, device)
    want = dx[:, None] * np.array([1.0, 2.0, 3.0]) + x[:, None] * dv[:, ::-1]
    np.testing.assert_allclose(found["w"].numpy(), want, rtol=1e-15)
    np.testing.assert_allclose(found["y"].numpy(), np.where(x > 1.0, 3.0 * dx, 0.0) + dv.sum(axis=1), rtol=1e-15)


@wp.func
def bump(count: wp.array(dtype=int)):
    return wp.atomic_add(count, 0, 1)


@wp.func_replay(bump)
def replayed_bump(count: wp.array(dtype=int)):
    return wp.tid()


@wp.kernel
def counted(count: wp.array(dtype=int), x: Reals, y: Reals):
    k = bump(count)
    y[k] = x[k] * x[k]


@pytest.mark.parametrize("device", DEVICES)
def test_a_replay_of_ones_own_serves_tangents_of_tapes(device):
    count, x = wp.zeros(1, dtype=int), wp.array([1.0, 2.0, 3.0], dtype=D, requires_grad=True)
    y = wp.zeros(3, dtype=D, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(counted, 3, [count, x, y], device=device)
    found = jvp(tape, tangents={x: [1.0, 10.0, 100.0]})
    np.testing.assert_array_equal(found[y].numpy(), [2.0, 40.0, 600.0])
    assert count.numpy()[0] == 3


# ----- second order of launches ----------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key)
def test_the_hessian_is_symmetric_and_the_slope_of_slopes(kernel, device):
    case = Case(kernel)
    along, across = case.product(case.u, device), case.product(case.v, device)

    def dot(found, direction):
        given = dict(zip(("x", "y"), direction, strict=True))
        return sum(float(np.sum(h.numpy() * given[name])) for name, h in found.items())

    one, two = dot(along, case.v), dot(across, case.u)
    assert one == pytest.approx(two, rel=1e-11, abs=1e-11)
    slopes = [float(np.sum(case.tangent(case.v, device, by, case.u)["y"].numpy() * case.w[1])) for by in (1e-5, -1e-5)]
    assert one == pytest.approx((slopes[0] - slopes[1]) / 2e-5, rel=1e-6, abs=1e-6)
    assert abs(one) > 1e-3


def test_second_order_leaves_the_arguments_alone():
    case = Case(updates)
    x, y, n = case.arguments()
    y.requires_grad = True
    y.grad.fill_(3.0)
    before = [a.numpy().copy() for a in (x, y, n)]
    hvp(updates, N, [x, y, n], vector={x: case.u[0]}, cotangents={y: case.w[1]})
    for a, want in zip((x, y, n), before, strict=True):
        np.testing.assert_array_equal(a.numpy(), want)
    assert np.all(y.grad.numpy() == 3.0)
    assert x.grad is None


@wp.kernel
def power(x: Reals, loss: Reals, k: D):
    i = wp.tid()
    wp.atomic_add(loss, 0, k * k * x[i] * x[i] * x[i])


@pytest.mark.parametrize("device", DEVICES)
def test_the_only_number_is_the_loss_and_numbers_have_products(device):
    x, dx = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    found = hvp(
        power, 2, [wp.array(x, dtype=D)], [wp.zeros(1, dtype=D), 3.0], vector={"x": dx, "k": 0.25}, device=device
    )
    np.testing.assert_allclose(found["x"].numpy(), 9.0 * 6.0 * x * dx + 2.0 * 3.0 * 0.25 * 3.0 * x * x, rtol=1e-14)
    want = 2.0 * 0.25 * np.sum(x**3) + 2.0 * 3.0 * np.sum(3.0 * x * x * dx)
    np.testing.assert_allclose(found["k"].numpy(), [want], rtol=1e-14)
    assert set(found) == {"x", "k"}


# ----- what is refused -------------------------------------------------------------------------


@wp.kernel
def swaps(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    wp.atomic_cas(y, i, x[i], x[i] * x[i])


def test_bad_tangents_are_refused_with_the_cure():
    x, y, n = Case(updates).arguments()
    refused(
        GradientError,
        lambda: jvp(updates, N, [x, y, n], tangents={"z": [1.0]}),
        "a tangent is given for 'z'",
        "among the arguments of 'updates': x, y",
    )
    refused(GradientError, lambda: jvp(updates, N, [x, y, n], tangents={"n": [1.0] * N}), "given for 'n'")
    other = {wp.zeros(N, dtype=D): x}
    refused(GradientError, lambda: jvp(updates, N, [x, y, n], tangents=other), "a tangent is given for array")
    refused(
        GradientError,
        lambda: jvp(updates, N, [x, y, n], tangents={"x": [1.0, 2.0]}),
        "the tangent of argument 'x' has shape (2,)",
        "expected: shape (5,) and dtype float64",
    )
    refused(
        GradientError,
        lambda: hvp(updates, N, [x, y, n], vector={"x": np.ones(N)}),
        "kernel 'updates' writes y",
        "help: weigh the outputs: cotangents={name: array}",
    )
    refused(GradientError, lambda: jvp(3), "3 is not differentiated", "expected: a kernel, a tape, or a function")


def test_what_has_no_tangent_is_refused():
    x, y, n = Case(updates).arguments()
    refused(
        NotDifferentiableError,
        lambda: jvp(swaps, N, [x, y, n], tangents={"x": np.ones(N)}),
        "atomic_cas on floats has no tangent",
        "wp.atomic_cas(y, i, x[i], x[i] * x[i])",
    )


def test_a_capture_cannot_hold_derivatives():
    x, y, n = Case(updates).arguments()
    with wp.ScopedCapture():
        refused(
            LaunchError, lambda: jvp(updates, N, [x, y, n], tangents={"x": np.ones(N)}), "help: end the capture first"
        )
