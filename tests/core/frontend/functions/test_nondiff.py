"""`@wp.func(nondiff=...)`: results are constants to gradients and tangents of every order, and nothing else changes."""

import numpy as np
import pytest
from custom_gradient_runs import array, backward, refused

import warpsim as wp

device = pytest.fixture(params=["cpu", "interp"])(lambda request: request.param)

X = np.array([0.3, 1.7, 2.2, 3.9])
POINTS = [(k + 0.5) ** 2 for k in range(4)]


@wp.func(nondiff="it only weighs")
def weight(x: wp.float64) -> wp.float64:
    return 2.0 * x * x


@wp.func(nondiff="a place in a table is a number")
def nearest(points: wp.array(dtype=wp.float64), x: wp.float64) -> int:
    distances = wp.zeros(shape=4, dtype=wp.float64)  # what it writes is its own
    best = int(0)
    for k in range(4):
        distances[k] = wp.abs(points[k] - x)
        if distances[k] < distances[best]:
            best = k
    return best


@wp.func(nondiff="a distance that only decides")
def reach(points: wp.array(dtype=wp.float64), x: wp.float64) -> wp.float64:
    return wp.abs(points[nearest(points, x)] - x)


@wp.kernel
def weighted(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = weight(x[i]) * x[i] * x[i]


@wp.kernel
def pulled(points: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d = points[nearest(points, x[i])] - x[i]
    y[i] = reach(points, x[i]) * d * d * d


@wp.kernel
def pulled_and_moved(points: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    for k in range(3):
        y[i] += reach(points, x[i]) * x[i] * wp.float64(k + 1)


def near(x):
    return np.argmin(np.abs(np.array(POINTS)[None] - x[:, None]), axis=1)


def test_a_gradient_takes_the_result_for_a_constant(device):
    x, y = array(X, wp.float64, device=device), array(0 * X, wp.float64, device=device)
    backward(weighted, 4, [x], [y], device=device)
    np.testing.assert_allclose(y.numpy(), 2 * X**4, rtol=1e-14)
    np.testing.assert_allclose(x.grad.numpy(), 4 * X**3, rtol=1e-14)


def test_an_array_that_it_reads_gets_a_gradient_from_others_only(device):
    points, x = array(POINTS, wp.float64, device=device), array(X, wp.float64, device=device)
    y = array(0 * X, wp.float64, device=device)
    backward(pulled, 4, [points, x], [y], device=device)
    d = np.array(POINTS)[near(X)] - X
    wanted = np.zeros(4)
    np.add.at(wanted, near(X), 3 * np.abs(d) * d * d)
    np.testing.assert_allclose(x.grad.numpy(), -3 * np.abs(d) * d * d, rtol=1e-12)
    np.testing.assert_allclose(points.grad.numpy(), wanted, rtol=1e-12)


def test_an_array_without_gradient_changes_nothing(device):
    points, x = array(POINTS, wp.float64, grad=False, device=device), array(X, wp.float64, device=device)
    y = array(0 * X, wp.float64, device=device)
    backward(pulled, 4, [points, x], [y], device=device)
    d = np.array(POINTS)[near(X)] - X
    np.testing.assert_allclose(x.grad.numpy(), -3 * np.abs(d) * d * d, rtol=1e-12)


def test_a_result_inside_a_loop_is_a_constant(device):
    points, x = array(POINTS, wp.float64, device=device), array(X, wp.float64, device=device)
    y = array(0 * X, wp.float64, device=device)
    backward(pulled_and_moved, 4, [points, x], [y], device=device)
    np.testing.assert_allclose(x.grad.numpy(), 6 * np.abs(np.array(POINTS)[near(X)] - X), rtol=1e-12)
    np.testing.assert_allclose(points.grad.numpy(), 0.0)


def test_tangents_take_the_result_for_a_constant():
    x, y = array(X, wp.float64), array(0 * X, wp.float64)
    found = wp.autograd.jvp(weighted, dim=4, inputs=[x], outputs=[y], tangents={"x": np.ones(4)})
    np.testing.assert_allclose(found["y"].numpy(), 4 * X**3, rtol=1e-14)


def test_tangents_through_a_tape_take_it_for_a_constant():
    points, x, y = array(POINTS, wp.float64), array(X, wp.float64), array(0 * X, wp.float64)
    with wp.Tape() as tape:
        wp.launch(pulled, 4, [points, x], [y])
    found = wp.autograd.jvp(tape, tangents={x: np.ones(4)})
    d = np.array(POINTS)[near(X)] - X
    np.testing.assert_allclose(found[y].numpy(), -3 * np.abs(d) * d * d, rtol=1e-12)


def test_the_second_derivative_takes_it_for_a_constant_too():
    x, y = array(X, wp.float64), array(0 * X, wp.float64)
    with wp.Tape() as tape:
        wp.launch(weighted, 4, [x], [y])
    found = wp.autograd.hvp(tape, vector={x: np.ones(4)}, cotangents={y: np.ones(4)})
    np.testing.assert_allclose(found[x].numpy(), 4 * X**2, rtol=1e-14)


@wp.kernel
def slopes(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.grad(weight)(x[i])


def test_grad_of_it_is_zero_as_of_a_step(device):
    x, y = array(X, wp.float64, device=device), array(X, wp.float64, device=device)
    wp.launch(slopes, 4, [x], [y], device=device)
    np.testing.assert_array_equal(y.numpy(), 0.0)


@wp.struct
class Foot:
    place: wp.int32
    at: wp.vec3d
    gap: wp.float64


@wp.func(nondiff="a foot is looked up")
def foot(points: wp.array(dtype=wp.float64), x: wp.float64) -> Foot:
    found = Foot()
    found.place, found.gap = nearest(points, x), x * x
    found.at = wp.vec3d(x, x, points[found.place])
    return found


@wp.kernel
def feet(points: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    f = foot(points, x[i])
    y[i] = f.gap * f.at[2] * x[i] * x[i]


def test_the_fields_of_a_struct_are_constants(device):
    points, x = array(POINTS, wp.float64, device=device), array(X, wp.float64, device=device)
    y = array(0 * X, wp.float64, device=device)
    backward(feet, 4, [points, x], [y], device=device)
    factor = X * X * np.array(POINTS)[near(X)]
    np.testing.assert_allclose(x.grad.numpy(), factor * 2 * X, rtol=1e-12)
    np.testing.assert_array_equal(points.grad.numpy(), 0.0)
    moved = wp.autograd.jvp(feet, 4, [points, x], [y], tangents={"x": np.ones(4), "points": np.ones(4)}, device=device)
    np.testing.assert_allclose(moved["y"].numpy(), factor * 2 * X, rtol=1e-12)
    curved = wp.autograd.hvp(
        feet, 4, [points, x], [y], vector={"x": np.ones(4)}, cotangents={"y": np.ones(4)}, device=device
    )
    np.testing.assert_allclose(curved["x"].numpy(), factor * 2, rtol=1e-12)


@wp.func(nondiff="it counts")
def counted(total: wp.array(dtype=int), x: wp.float64) -> int:
    wp.atomic_add(total, 0, 1)
    return int(x)


@wp.kernel
def counting(total: wp.array(dtype=int), x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.float64(counted(total, x[i])) * x[i]


def test_what_it_does_to_integers_is_done_once(device):
    total, x = wp.zeros(1, int, device=device), array(X, wp.float64, device=device)
    y = array(0 * X, wp.float64, device=device)
    backward(counting, 4, [total, x], [y], device=device)
    assert total.numpy()[0] == 4
    np.testing.assert_allclose(x.grad.numpy(), np.trunc(X))


@wp.func(nondiff="a note")
def noting(out: wp.array(dtype=float), x: float) -> int:
    out[0] = x
    return int(x)


@wp.kernel
def notes(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    x[wp.tid()] = float(noting(out, x[0]))


def test_writing_an_array_of_floats_is_refused():
    text = refused(wp.launch, notes, 1, [array([1.0])], [array([0.0])])
    assert "'noting' is declared nondiff (a note), and changes out of floats" in text
    assert "return what it computes" in text


def test_a_gradient_of_its_own_contradicts_it():
    def adj(x: wp.float64, adj_ret: wp.float64):
        wp.adjoint[x] += adj_ret

    text = refused(wp.func_grad(weight), adj)
    assert "it is declared to have no derivative (it only weighs)" in text


@pytest.mark.parametrize("wrong", [True, 3, "", ["x"]])
def test_a_reason_is_text(wrong):
    with pytest.raises(TypeError, match="the reason why results have no derivative"):
        wp.func(nondiff=wrong)(lambda x: x)
