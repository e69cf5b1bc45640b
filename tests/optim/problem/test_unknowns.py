"""`Unknown`: parts, scales, logarithms, bases in time, views and fields; their gradients; what is refused."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, GradientError
from warpsim.optim import Problem, ProblemError, Unknown
from warpsim.optim.problem.bases import basis_matrix


@wp.kernel
def weigh(x: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d = x[i] - wp.float64(i + 2)
    wp.atomic_add(loss, 0, d * d * wp.float64(i + 1) + d * d * d / wp.float64(30.0))


def problem_of(x, **how):
    loss = wp.zeros(1, wp.float64, requires_grad=True)
    return Problem(lambda: wp.launch(weigh, x.shape[0], [x, loss]), Unknown(x, **how), loss)


def array_of(values):
    return wp.array(np.asarray(values, dtype=np.float64), dtype=wp.float64, requires_grad=True)


HOW = [
    {}, {"scale": 10.0}, {"log": True}, {"log": True, "scale": 0.1, "free": (True, True, False, True, True, True)},
    {"knots": 3, "basis": "cubic"}, {"knots": 4, "basis": "linear"}, {"knots": 2, "basis": "constant"},
    {"knots": 1, "log": True}, {"knots": 5, "basis": "cubic", "free": (False, True, True, True, True)},
]  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_gradients_are_finite_differences(how):
    problem = problem_of(array_of([1.0, 1.5, 1.2, 2.0, 3.0, 2.5]), **how)
    z, h = problem.start() + 0.01, 1e-6
    _, gradient = problem.value_and_gradient(z)
    for k, e in enumerate(np.eye(z.size)):
        slope = (problem.value(z + h * e) - problem.value(z - h * e)) / (2.0 * h)
        assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-7)
    moved = problem.space.tangents(np.ones(z.size), z)
    [tangent] = moved.values()
    u = problem.space.unknowns[0]
    difference = (u.expand(z + h) - u.expand(z - h)) / (2.0 * h)
    np.testing.assert_allclose(tangent, difference, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("basis", ["constant", "linear", "cubic"])
@pytest.mark.parametrize("steps, count", [(1, 1), (7, 1), (7, 2), (20, 4), (20, 20), (9, 5)])
def test_bases_add_up_to_one(basis, steps, count):
    weights = basis_matrix(steps, count, basis)
    assert weights.shape == (steps, count) and weights.min() >= 0.0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-14)


def test_a_cubic_basis_holds_cubics():
    t = np.linspace(0.0, 1.0, 30)
    curve = 1.0 - 2.0 * t + 3.0 * t**3
    weights = basis_matrix(30, 6, "cubic")
    values = np.linalg.lstsq(weights, curve, rcond=None)[0]
    np.testing.assert_allclose(weights @ values, curve, atol=1e-12)


def test_what_is_fixed_keeps_its_bits():
    x = wp.array([0.1, 0.7, 0.3], dtype=float, requires_grad=True)
    loss = wp.zeros(1, float, requires_grad=True)

    @wp.kernel
    def square(x: wp.array[float], loss: wp.array[float]):
        wp.atomic_add(loss, 0, x[wp.tid()] * x[wp.tid()])

    before = x.numpy().copy()
    Problem(lambda: wp.launch(square, 3, [x, loss]), Unknown(x, free=(True, False, True)), loss).minimize()
    assert x.numpy()[1] == before[1] and abs(x.numpy()[0]) < 1e-5


def test_controls_keep_their_bounds():
    x = array_of(np.zeros(12))
    solution = problem_of(x, knots=5, basis="cubic", lower=0.0, upper=6.0).minimize()
    assert solution.loss > 0.0 and x.numpy().min() >= 0.0 and x.numpy().max() <= 6.0 + 1e-12


@wp.kernel
def pair(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d = a[i] - wp.vec3(1.0, 2.0, 3.0)
    wp.atomic_add(loss, 0, wp.float64(wp.length_sq(d)) + (b[i] - wp.float64(4.0)) * (b[i] - wp.float64(4.0)))


@wp.struct
class Scene:
    throw: wp.array(dtype=wp.vec3)
    mass: wp.array(dtype=wp.float64)


@wp.kernel
def pair_of(s: Scene, loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d = s.throw[i] - wp.vec3(1.0, 2.0, 3.0)
    m = s.mass[i] - wp.float64(4.0)
    wp.atomic_add(loss, 0, wp.float64(wp.length_sq(d)) + m * m)


def test_several_unknowns_of_different_precision():
    a, b = wp.zeros(2, wp.vec3, requires_grad=True), array_of([0.0, 1.0])
    empty, loss = wp.zeros(0, wp.vec3, requires_grad=True), wp.zeros(1, wp.float64, requires_grad=True)
    unknowns = {"a": Unknown(a, free=(True, True, False)), "none": None, "empty": empty, "b": b}
    problem = Problem(lambda: wp.launch(pair, 2, [a, b, loss]), unknowns, loss)
    solution = problem.minimize()
    np.testing.assert_allclose(a.numpy(), [[1.0, 2.0, 0.0]] * 2, atol=1e-5)
    np.testing.assert_allclose(b.numpy(), 4.0, atol=1e-6)
    assert list(solution.values) == ["a", "b"] and solution.loss == pytest.approx(18.0)


def test_fields_of_a_struct():
    scene, loss = Scene(), wp.zeros(1, wp.float64, requires_grad=True)
    scene.throw, scene.mass = wp.zeros(2, wp.vec3, requires_grad=True), array_of([0.0, 1.0])
    Problem(lambda: wp.launch(pair_of, 2, [scene, loss]), [scene.throw, scene.mass], loss).minimize()
    np.testing.assert_allclose(scene.throw.numpy(), [[1.0, 2.0, 3.0]] * 2, atol=1e-5)
    np.testing.assert_allclose(scene.mass.numpy(), 4.0, atol=1e-6)


@pytest.mark.parametrize("cut", [np.s_[1:4], np.s_[::2], np.s_[2:]])
def test_views_move_alone(cut):
    x = array_of(np.zeros(6))
    loss = wp.zeros(1, wp.float64, requires_grad=True)
    problem = Problem(lambda: wp.launch(weigh, 6, [x, loss]), x[cut], loss)
    problem.minimize()
    expected = np.zeros(6)
    expected[cut] = (np.arange(6) + 2.0)[cut]
    np.testing.assert_allclose(x.numpy(), expected, atol=1e-5)


def test_a_second_search_begins_where_the_first_ended():
    x = array_of(np.zeros(4))
    problem = problem_of(x)
    first = problem.minimize("adam", 10, lr=0.1)
    assert problem.minimize("adam", 10, lr=0.1).losses[0] == pytest.approx(first.loss)
    x.fill_(0.5)
    assert problem.minimize("adam", 1, lr=0.1).losses[0] > first.loss


def refused(error, match, x=None, **how):
    with pytest.raises(error, match=match):
        problem_of(array_of([1.0, 2.0, 3.0]) if x is None else x, **how)


def test_refusals():
    refused(ProblemError, "bounds of the unknown cross: number 1 has lower 5 and upper 4", lower=(0, 5, 0), upper=4.0)
    refused(ProblemError, "starts outside its bounds: number 0 is 1, of 2 to inf", lower=2.0)
    refused(ProblemError, "lower of the unknown holds NaN", lower=np.nan)
    refused(ProblemError, r"shape \(2,\)\nexpected: a shape that broadcasts", upper=(1.0, 2.0))
    refused(ProblemError, "scale of the unknown is 0", scale=0.0)
    refused(ProblemError, "expected: numbers above zero", array_of([1.0, 0.0]), log=True)
    refused(ProblemError, "knots of the unknown is 4", knots=4)
    refused(ProblemError, "expected: one of constant, linear, cubic", knots=2, basis="fourier")
    refused(GradientError, "no gradient", wp.zeros(2, wp.float64))
    with pytest.raises(ArgumentTypeError, match="the unknown is float"):
        Problem(print, 1.0, array_of([0.0]))
    with pytest.raises(ArgumentTypeError, match="dtype int32"):
        Problem(print, wp.zeros(2, int), array_of([0.0]))
    x = array_of([0.0])
    with pytest.raises(ProblemError, match="are the same array"):
        Problem(print, [x, x], array_of([0.0]))
