"""Gradients of every kind of memory and argument: precisions, ranks, strides, index tables, compounds, structs.

Arguments that are no arrays have gradients too, which an adjoint launch returns through `adj_inputs`.
"""

import numpy as np
import pytest
from gradient_runs import (
    assert_gradient,
    assert_gradient_or_refusal,
    by_differences,
    by_tape,
    compound,
    f64,
    new_loss,
    random_f64,
)

import warpsim as wp
from warpsim.errors import ArgumentCountError, GradientError

Numbers = wp.array(dtype=wp.float64)


def launched(kernel, dim):
    def program(*arrays):
        loss = new_loss()
        wp.launch(kernel, dim=dim, inputs=[*arrays, loss])
        return loss

    return program


# ----- precisions ----------------------------------------------------------------------------------


def cubes_in(dtype):
    """A kernel of that precision: sum of x^3 w, through a loop."""

    @wp.kernel
    def cubes(x: wp.array(dtype=dtype), w: wp.array(dtype=dtype), loss: wp.array(dtype=dtype)):
        i = wp.tid()
        p = dtype(1.0)
        for _ in range(3):
            p *= x[i]
        wp.atomic_add(loss, 0, p * w[i])

    return cubes


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_precisions(device, dtype):
    x = wp.array([0.5, -1.0, 2.0], dtype=dtype, requires_grad=True)
    w = wp.array([1.0, 2.0, 0.5], dtype=dtype, requires_grad=True)
    loss = wp.zeros(1, dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(cubes_in(dtype), dim=3, inputs=[x, w, loss])
    tape.backward(loss)
    assert x.grad.dtype is dtype
    np.testing.assert_array_equal(x.grad.numpy(), np.array([0.75, 6.0, 6.0], dtype))
    np.testing.assert_array_equal(w.grad.numpy(), np.array([0.125, -1.0, 8.0], dtype))


@wp.kernel
def mixed_precisions(h: wp.array(dtype=wp.float16), f: wp.array(dtype=float), d: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.float64(float(h[i]) * f[i]) * d[i])


def test_casts_between_precisions(device):
    arrays = [wp.array([2.0, 3.0], dtype=t, requires_grad=True) for t in (wp.float16, wp.float32, wp.float64)]
    with wp.Tape() as tape:
        loss = new_loss()
        wp.launch(mixed_precisions, dim=2, inputs=[*arrays, loss])
    tape.backward(loss)
    for a in arrays:
        np.testing.assert_array_equal(a.grad.numpy(), np.array([4.0, 9.0], a.dtype))


# ----- ranks, strides, index tables -------------------------------------------------------------------


@wp.kernel
def two_dimensions(a: wp.array2d(dtype=wp.float64), loss: Numbers):
    i, j = wp.tid()
    a[i, j] = wp.sin(a[i, j]) * a[i, j]
    wp.atomic_add(loss, 0, a[i, j] * wp.float64(i + 2 * j + 1))


@wp.kernel
def rows_as_views(a: wp.array2d(dtype=wp.float64), loss: Numbers):
    i = wp.tid()
    row = a[i]
    for j in range(1, row.shape[0]):
        row[j] = row[j] * row[j - 1]
    wp.atomic_add(loss, 0, row[row.shape[0] - 1] * a[i][1])


@wp.kernel
def four_dimensions(a: wp.array4d(dtype=wp.float64), loss: Numbers):
    i, j, k, l = wp.tid()  # noqa: E741
    wp.atomic_add(loss, 0, a[i, j, k, l] * wp.sin(a[j, i, k, 0]))


def test_two_dimensions(device):
    assert_gradient(launched(two_dimensions, (2, 3)), [random_f64(1, 2, 3)])
    assert_gradient(launched(rows_as_views, 2), [random_f64(1, 2, 3)])


def test_four_dimensions(device):
    assert_gradient(launched(four_dimensions, (2, 2, 1, 2)), [random_f64(1, 2, 2, 1, 2)])


@pytest.mark.parametrize("view", ["transpose", "every second", "reversed columns", "middle"])
def test_strided_arrays(device, view):
    """The gradient of the whole lies where the view reached, and is zero elsewhere."""
    views = {
        "transpose": lambda a: a.transpose(),
        "every second": lambda a: a[::2, 1::2],
        "reversed columns": lambda a: a[1:4, 0:3].transpose(),
        "middle": lambda a: a[1:3, 1:3],
    }

    def program(a):
        part = views[view](a)
        loss = new_loss()
        wp.launch(two_dimensions, dim=part.shape, inputs=[part, loss])
        wp.launch(rows_as_views, dim=part.shape[0], inputs=[part, loss])
        return loss

    assert_gradient(program, [random_f64(1, 4, 4)])


@wp.kernel
def picked(a: wp.indexedarray(dtype=wp.float64), loss: Numbers):
    i = wp.tid()
    a[i] = a[i] * a[i] * a[i]
    wp.atomic_add(loss, 0, a[i] * wp.float64(i + 1))


def test_indexed_arrays(device):
    def program(a):
        loss = new_loss()
        table = wp.array([4, 0, 2], dtype=int)
        wp.launch(picked, dim=3, inputs=[wp.indexedarray(a, [table]), loss])
        return loss

    a = random_f64(1, 5)
    expected = np.zeros(5)
    expected[[4, 0, 2]] = 3.0 * a[0][[4, 0, 2]] ** 2 * [1.0, 2.0, 3.0]
    assert_gradient(program, [a], [expected])


# ----- compounds -----------------------------------------------------------------------------------------


@wp.kernel
def vectors(x: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.vec3d), loss: Numbers):
    i = wp.tid()
    v = x[i]
    v[0] = v[1] * v[2]
    v.y += v[0]
    v.xz = wp.vec2d(v.z, v.x * v.x)
    k = i % 3
    v[k] *= 2.0 + wp.sin(v[(k + 1) % 3])
    y[i] = wp.cross(v, y[i]) + v * wp.length(x[i])
    y[i].x = y[i].y * v.z
    y[i][2] -= y[i].x
    wp.atomic_add(loss, 0, wp.dot(y[i], v))


@wp.kernel
def matrices(m: wp.array(dtype=wp.mat33d), x: wp.array(dtype=wp.vec3d), loss: Numbers):
    i = wp.tid()
    a = m[i]
    a[0, 1] = a[1, 0] * a[0, 1]
    a[2] = a[0] + x[i]
    a[i, i] += 1.0
    m[i] = wp.inverse(a + 4.0 * wp.identity(n=3, dtype=wp.float64)) * m[i]
    m[i][1, 2] *= x[i][0]
    y = m[i] * x[i]
    wp.atomic_add(loss, 0, wp.dot(y, a * x[i]) + wp.determinant(a) + wp.trace(wp.transpose(a) * a))


@wp.kernel
def rotations(
    q: wp.array(dtype=wp.quatd), t: wp.array(dtype=wp.transformd), x: wp.array(dtype=wp.vec3d), loss: Numbers
):
    i = wp.tid()
    r = wp.normalize(q[i])
    p = wp.quat_rotate(r, x[i])
    p += wp.transform_point(t[i], p)
    t[i] = wp.transform_multiply(t[i], wp.transformation(p, r))
    q[i] = wp.transform_get_rotation(t[i]) * r
    wp.atomic_add(loss, 0, wp.dot(p, wp.transform_get_translation(t[i])) + q[i][3] * q[i].x)


def test_vectors(device):
    x, y = np.random.default_rng(1).uniform(0.5, 1.5, (2, 3, 3))
    assert_gradient(launched(vectors, 3), [compound(wp.vec3d, x), compound(wp.vec3d, y)])


def test_matrices(device):
    rng = np.random.default_rng(1)
    m, x = rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3))
    assert_gradient(launched(matrices, 2), [compound(wp.mat33d, m), compound(wp.vec3d, x)])


def test_quaternions_and_transforms(device):
    rng = np.random.default_rng(1)
    q, t, x = rng.uniform(0.3, 1.0, (2, 4)), rng.uniform(0.3, 1.0, (2, 7)), rng.normal(size=(2, 3))
    given = [compound(wp.quatd, q), compound(wp.transformd, t), compound(wp.vec3d, x)]
    assert_gradient(launched(rotations, 2), given)


# ----- structs --------------------------------------------------------------------------------------------


@wp.struct
class Inner:
    gain: wp.float64
    kind: int


@wp.struct
class Body:
    mass: wp.float64
    inner: Inner
    place: wp.vec3d
    frame: wp.mat22d


@wp.kernel
def body_from(x: Numbers, bodies: wp.array(dtype=Body)):
    i = wp.tid()
    bodies[i].mass = x[i] * x[i]
    bodies[i].inner.gain = wp.sin(x[i])
    bodies[i].inner.kind = i
    bodies[i].place = wp.vec3d(x[i], x[i] * 2.0, wp.float64(1.0))
    bodies[i].frame = wp.mat22d(x[i], x[i] * x[i], wp.float64(0.5), wp.cos(x[i]))


@wp.kernel
def body_step(bodies: wp.array(dtype=Body)):
    i = wp.tid()
    b = bodies[i]
    b.place.x += b.mass * b.inner.gain
    b.frame = b.frame * b.frame
    if b.inner.kind % 2 == 0:
        b.inner.gain *= b.place.y
    bodies[i] = b
    bodies[i].mass *= b.inner.gain
    bodies[i].place[2] = bodies[i].mass * bodies[i].place[0]
    bodies[i].frame[0, 1] -= bodies[i].inner.gain


@wp.kernel
def body_loss(bodies: wp.array(dtype=Body), loss: Numbers):
    b = bodies[wp.tid()]
    wp.atomic_add(loss, 0, b.mass * b.inner.gain + wp.dot(b.place, b.place) + wp.determinant(b.frame) * b.frame[0, 1])


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_arrays_of_structs(device, steps):
    def program(x):
        loss = new_loss()
        bodies = wp.zeros(3, dtype=Body, requires_grad=True)
        wp.launch(body_from, dim=3, inputs=[x, bodies])
        for _ in range(steps):
            wp.launch(body_step, dim=3, inputs=[bodies])
        wp.launch(body_loss, dim=3, inputs=[bodies, loss])
        return loss

    assert_gradient(program, [random_f64(1, 3)])


@wp.struct
class Model:
    stiffness: wp.array(dtype=wp.float64)
    places: wp.array(dtype=wp.vec3d)
    scale: wp.float64


@wp.kernel
def energy(model: Model, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, model.scale * model.stiffness[i] * wp.length_sq(model.places[i]))


@wp.kernel
def pull(model: Model, out: Model):
    i = wp.tid()
    out.places[i] = model.places[i] * (1.0 - model.scale * model.stiffness[i]) + out.places[i]
    out.stiffness[i] += model.places[i][0]


@wp.kernel
def shrink(model: Model):
    i = wp.tid()
    model.places[i] *= model.stiffness[i]


def model_of(stiffness, places):
    model = Model()
    model.stiffness, model.places, model.scale = stiffness, places, 0.5
    return model


def struct_inputs():
    places = np.random.default_rng(1).uniform(0.5, 1.5, (3, 3))
    return [random_f64(2, 3), compound(wp.vec3d, places)]


def test_arrays_in_struct_arguments(device):
    def program(stiffness, places):
        model, loss = model_of(stiffness, places), new_loss()
        out = model_of(wp.zeros_like(stiffness), wp.zeros_like(places))
        for _ in range(2):
            wp.launch(pull, dim=3, inputs=[model, out])
        wp.launch(energy, dim=3, inputs=[out, loss])
        return loss

    assert_gradient(program, struct_inputs())


def test_overwritten_arrays_in_struct_arguments(device):
    def program(stiffness, places):
        model, loss = model_of(stiffness, places), new_loss()
        for _ in range(2):
            wp.launch(shrink, dim=3, inputs=[model])
        wp.launch(energy, dim=3, inputs=[model, loss])
        return loss

    assert_gradient_or_refusal(program, struct_inputs())


# ----- adjoint launches and their scalar arguments ---------------------------------------------------------


@wp.kernel
def affine(x: Numbers, a: wp.float64, shift: wp.vec2d, n: int, y: Numbers):
    i = wp.tid()
    v = x[i]
    for _ in range(n):
        v = a * v * v + shift[0]
    y[i] = v + shift[1] * a


def affine_sums(values):
    """Sum of the outputs of `affine` for parameters in a row: x0, x1, a, shift."""
    x, a, shift = values[:2], values[2], values[3:]
    for _ in range(3):
        x = a * x * x + shift[0]
    return float(np.sum(x + shift[1] * a))


def test_gradients_of_numbers_come_back_through_adj_inputs(device):
    values = np.array([0.5, 1.2, 0.7, 0.3, -0.4])
    x = wp.array(values[:2], dtype=wp.float64)
    y = wp.zeros(2, dtype=wp.float64)
    wp.launch(affine, dim=2, inputs=[x, values[2], wp.vec2d(0.3, -0.4), 3], outputs=[y])
    adj_x, adj_y = wp.zeros(2, dtype=wp.float64), wp.ones(2, dtype=wp.float64)
    adj_a, adj_shift = wp.zeros(1, dtype=wp.float64), wp.zeros(1, dtype=wp.vec2d)
    wp.launch(
        affine,
        dim=2,
        inputs=[x, values[2], wp.vec2d(0.3, -0.4), 3],
        outputs=[y],
        adj_inputs=[adj_x, adj_a, adj_shift, None],
        adj_outputs=[adj_y],
        adjoint=True,
    )
    got = np.concatenate([adj_x.numpy(), adj_a.numpy(), adj_shift.numpy().ravel()])
    measured = []
    for k in range(5):
        ahead, behind = values.copy(), values.copy()
        ahead[k] += 1e-6
        behind[k] -= 1e-6
        measured.append((affine_sums(ahead) - affine_sums(behind)) / 2e-6)
    np.testing.assert_allclose(got, measured, rtol=1e-7)


def test_adjoint_launch_uses_gradients_of_the_arrays_where_none_are_given(device):
    x = wp.array([0.5, 1.2], dtype=wp.float64, requires_grad=True)
    y = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    inputs = [x, 0.7, wp.vec2d(0.3, -0.4), 1]
    wp.launch(affine, dim=2, inputs=inputs, outputs=[y])
    y.grad.fill_(1.0)
    wp.launch(affine, dim=2, inputs=inputs, outputs=[y], adj_inputs=[None] * 4, adj_outputs=[None], adjoint=True)
    np.testing.assert_allclose(x.grad.numpy(), [0.7, 2.0 * 0.7 * 1.2], rtol=1e-12)


@pytest.mark.parametrize("adj_inputs, adj_outputs", [([None], [None]), ([None] * 4, [None] * 2), ([None] * 5, [None])])
def test_lists_of_wrong_length(adj_inputs, adj_outputs):
    x, y = (wp.zeros(2, dtype=wp.float64, requires_grad=True) for _ in range(2))
    with pytest.raises((ArgumentCountError, GradientError), match="adj_"):
        wp.launch(
            affine,
            dim=2,
            inputs=[x, 0.7, wp.vec2d(), 1],
            outputs=[y],
            adj_inputs=adj_inputs,
            adj_outputs=adj_outputs,
            adjoint=True,
        )


def test_differences_see_what_the_tape_sees(device):
    """The measure itself: it tells a wrong gradient from a right one."""
    program = launched(square_sum, 2)
    _, (gradient,) = by_tape(program, [f64(1.0, 2.0)])
    (measured,) = by_differences(program, [f64(1.0, 2.0)])
    np.testing.assert_allclose(measured, gradient, rtol=1e-8)
    with pytest.raises(AssertionError):
        assert_gradient(program, [f64(1.0, 2.0)], [[2.0, 4.1]])


@wp.kernel
def square_sum(x: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])
