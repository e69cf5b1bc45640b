"""`wp.grad(f)`: values against finite differences, seeds, structures of arguments, second derivatives."""

import numpy as np
import pytest
from custom_gradient_runs import array, backward, refused, slope

import warpsim as wp
from warpsim.errors import KernelTypeError

DEVICES = ("interp", "cpu")
Doubles, Floats = wp.array(dtype=wp.float64), wp.array(dtype=float)
D = wp.float64


@wp.func
def bent(x: D, y: D):
    return wp.sin(x * y) + x * x / (D(1.0) + y * y)


def bent_numpy(p):
    return np.sin(p[0] * p[1]) + p[0] ** 2 / (1 + p[1] ** 2)


@wp.func
def bent_by_x(x: D, y: D):
    dx, _dy = wp.grad(bent)(x, y)
    return dx


@wp.func
def iterated(x: D, n: int):
    """Newton's square root, stopped early for even n."""
    r = x
    for k in range(n):
        if k == 4:
            break
        r = D(0.5) * (r + x / r)
    return r


@wp.kernel
def slopes(x: Doubles, y: Doubles, by_x: Doubles, by_y: Doubles):
    i = wp.tid()
    dx, dy = wp.grad(bent)(x[i], y[i])
    by_x[i] = dx
    by_y[i] = dy


@pytest.mark.parametrize("device", DEVICES)
def test_a_derivative_by_each_parameter(device):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=5) for _ in range(2))
    found = [wp.zeros(5, dtype=D, device=device) for _ in range(2)]
    given = [wp.array(a, dtype=D, device=device) for a in (x, y)]
    wp.launch(slopes, dim=5, inputs=[*given, *found], device=device)
    for k in range(5):
        want = slope(bent_numpy, [x[k], y[k]])
        np.testing.assert_allclose([f.numpy()[k] for f in found], want, rtol=1e-8)


def test_one_parameter_gives_a_value_several_a_tuple_and_integers_a_zero():
    @wp.func
    def cube(x: float):
        return x * x * x

    @wp.func
    def times(n: int, x: float):
        return float(n) * x

    one, several = wp.grad(cube)(2.0), wp.grad(times)(3, 2.0)
    assert one == 12.0
    assert isinstance(one, np.float32)
    assert several == (0, 3.0)
    assert isinstance(several[0], np.int32)


def test_builtins():
    assert wp.grad(wp.sin)(0.0) == 1.0
    np.testing.assert_allclose(wp.grad(wp.atan2)(1.0, 2.0), (0.4, -0.2), rtol=1e-6)
    x, y = wp.grad(wp.dot)(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0))
    assert (tuple(x), tuple(y)) == ((4.0, 5.0, 6.0), (1.0, 2.0, 3.0))


def test_random_states_have_a_zero():
    @wp.func
    def noisy(state: wp.uint32, x: float):
        return x * wp.randf(state)

    state, by_x = wp.grad(noisy)(wp.uint32(5), 2.0)
    assert state == 0
    assert by_x == wp.randf(wp.uint32(5))


def test_loops_with_breaks():
    for n in (0, 1, 3, 9):
        want = slope(lambda p, n=n: newton(p[0], n), [2.3])[0]
        np.testing.assert_allclose(wp.grad(iterated)(D(2.3), n)[0], want, rtol=1e-8)


def newton(x, n):
    r = x
    for _ in range(min(n, 4)):
        r = 0.5 * (r + x / r)
    return r


@wp.struct
class Spring:
    a: wp.vec3d
    b: wp.vec3d
    length: D
    kind: int


@wp.func
def energy(s: Spring, k: D):
    d = wp.length(s.a - s.b) - s.length
    return k * d * d


def test_structs():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 1.0])
    found, by_k = wp.grad(energy)(Spring(a=wp.vec3d(*a), b=wp.vec3d(*b), length=D(1.5), kind=7), D(3.0))
    distance = np.linalg.norm(a - b)
    want = 2 * 3.0 * (distance - 1.5)
    np.testing.assert_allclose(found.a.numpy(), want * (a - b) / distance, rtol=1e-12)
    np.testing.assert_allclose(found.b.numpy(), want * (b - a) / distance, rtol=1e-12)
    np.testing.assert_allclose(found.length, -want, rtol=1e-12)
    np.testing.assert_allclose(by_k, (distance - 1.5) ** 2, rtol=1e-12)
    assert found.kind == 0


# ----- several outputs ----------------------------------------------------------------------------


@wp.func
def polar(r: D, phi: D):
    return r * wp.cos(phi), r * wp.sin(phi), 3


def test_seeds_weigh_the_outputs():
    r, phi = 2.0, 0.4
    jacobian = np.array([[np.cos(phi), -r * np.sin(phi)], [np.sin(phi), r * np.cos(phi)]])
    for seeds in ([1.0, 0.0], [0.0, 1.0], [2.0, -3.0]):
        found = wp.grad(polar)(D(r), D(phi), *map(D, seeds))
        np.testing.assert_allclose(found, np.array(seeds) @ jacobian, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(wp.grad(polar)(D(r), D(phi)), jacobian.sum(0), rtol=1e-12)


def test_literal_seeds_take_the_type_of_their_output():
    assert wp.grad(polar)(D(1.0), D(0.0), 1.0, 0.0) == (1.0, 0.0)


def test_a_vector_output_has_a_vector_seed():
    @wp.func
    def powers(x: float):
        return wp.vec3(x, x * x, x * x * x)

    assert wp.grad(powers)(2.0, wp.vec3(0.0, 1.0, 0.0)) == 4.0
    assert wp.grad(powers)(2.0) == 17.0  # all weights one


# ----- arrays are constants -----------------------------------------------------------------------


@wp.struct
class Curve:
    points: Floats
    shift: float


@wp.func
def along(a: Floats, c: Curve, x: float):
    return a[0] * x * x + c.points[1] * x + c.shift * a[1]


@wp.kernel
def along_slopes(a: Floats, c: Curve, o: Floats):
    by_c, by_x = wp.grad(along)(a, c, 3.0)
    o[0] = by_x
    o[1] = by_c.shift


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("grad", [True, False])
def test_arrays_have_no_entry_and_keep_their_gradients(device, grad):
    a, points = array([2.0, 5.0], grad=grad, device=device), array([7.0, 11.0], grad=grad, device=device)
    o = wp.zeros(2, dtype=float, device=device)
    wp.launch(along_slopes, dim=1, inputs=[a, Curve(points=points, shift=1.0), o], device=device)
    assert o.numpy().tolist() == [23.0, 5.0]
    if grad:
        assert a.grad.numpy().tolist() == points.grad.numpy().tolist() == [0.0, 0.0]


# ----- second derivatives -------------------------------------------------------------------------


def test_the_derivative_of_a_derivative():
    p = [0.8, -0.6]
    want = slope(lambda q: slope(bent_numpy, q, 1e-4)[0], p, 1e-4)
    np.testing.assert_allclose(wp.grad(bent_by_x)(D(p[0]), D(p[1])), want, rtol=1e-5)


@wp.kernel
def descended(x: Doubles, y: Doubles, o: Doubles):
    i = wp.tid()
    o[i] = x[i] - D(0.1) * bent_by_x(x[i], y[i])


@pytest.mark.parametrize("device", DEVICES)
def test_a_backward_pass_goes_through_a_derivative(device):
    p = np.array([0.8, -0.6])
    x, y, o = (array([v], D, device=device) for v in (*p, 0.0))
    backward(descended, 1, [x, y], [o], device=device)
    want = slope(lambda q: q[0] - 0.1 * slope(bent_numpy, q, 1e-4)[0], p, 1e-4)
    np.testing.assert_allclose([x.grad.numpy()[0], y.grad.numpy()[0]], want, rtol=1e-5)


def test_the_third_derivative():
    @wp.func
    def f(x: D):
        return wp.exp(D(2.0) * x)

    @wp.func
    def f1(x: D):
        return wp.grad(f)(x)

    @wp.func
    def f2(x: D):
        return wp.grad(f1)(x)

    np.testing.assert_allclose(wp.grad(f2)(D(0.3)), 8 * np.exp(0.6), rtol=1e-12)


# ----- how it is named and kept -------------------------------------------------------------------


def test_a_derivative_is_a_value_of_the_language():
    @wp.func
    def square(x: float):
        return x * x

    outside = wp.grad(square)

    @wp.func
    def applied(f: wp.Function, x: float):
        return f(x)

    @wp.kernel
    def k(o: Floats):
        inside = wp.grad(square)
        o[0] = outside(3.0)
        o[1] = inside(o[0])
        o[2] = applied(outside, 5.0)
        o[3] = applied(wp.grad(wp.sqrt), 4.0)

    o = wp.zeros(4, dtype=float)
    wp.launch(k, dim=1, inputs=[o])
    assert o.numpy().tolist() == [6.0, 12.0, 10.0, 0.25]


def test_defaults_and_keywords():
    @wp.func
    def f(x: float, k: float = 3.0):
        return k * x * x

    assert wp.grad(f)(2.0) == (12.0, 4.0)
    assert wp.grad(f)(2.0, k=1.0) == (4.0, 4.0)
    assert wp.grad(f)(k=1.0, x=2.0) == (4.0, 4.0)


# ----- refusals ---------------------------------------------------------------------------------


def test_what_grad_takes():
    assert "wp.grad is given <lambda>" in refused(wp.grad, lambda x: x)
    assert "help: decorate the function with @wp.func" in refused(wp.grad, np.sin)

    @wp.kernel
    def k(a: Floats):
        a[0] = wp.grad(lambda x: x * x)(a[0])

    text = refused(lambda: wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float)]))
    assert "wp.grad of a function defined inside a kernel" in text


def test_functions_without_a_derivative():
    @wp.func
    def whole(x: float):
        return int(x)

    @wp.func
    def of_whole(n: int):
        return float(n)

    @wp.func
    def silent(x: float):
        pass

    assert "wp.grad: whole returns int32\nexpected: a float" in refused(wp.grad(whole), 1.0)
    assert "wp.grad: of_whole takes int32\nexpected: a float" in refused(wp.grad(of_whole), 1)
    assert "wp.grad: silent returns nothing" in refused(wp.grad(silent), 1.0)


def test_seeds_fit_the_outputs():
    @wp.func
    def powers(x: float):
        return x, wp.vec3(x, x * x, x * x * x)

    text = refused(wp.grad(powers), 1.0, 2.0)
    assert "wp.grad(powers) gets 1 seeds\nexpected: 2, one per output: float32, vec3f" in text
    assert "help: write them after the arguments, or leave all out" in text
    text = refused(wp.grad(powers), 1.0, 2.0, 3.0)
    assert "wp.grad(powers) gets seeds float32, float32\nexpected: float32, vec3f" in text


def test_arguments_that_fit_no_overload():
    with pytest.raises(KernelTypeError, match="bent: no overload for"):
        wp.grad(bent)(wp.vec3(1.0, 2.0, 3.0), D(1.0))
