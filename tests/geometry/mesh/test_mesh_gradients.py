"""Gradients of mesh queries against differences: to points, rays, vertices, velocities; and where features change."""

import numpy as np
import pytest
from mesh_cases import CUBE, CUBE_FACES, mesh_of, sphere

import warpsim as wp

pytestmark = pytest.mark.usefixtures("every_constructor")

STEP = 2e-3


@wp.kernel
def distance(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point(mesh, p[i], 10.0)
    if q.result:
        out[i] = q.sign * wp.length(wp.mesh_eval_position(mesh, q.face, q.u, q.v) - p[i])


@wp.kernel
def weights(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, p[i], 10.0)
    out[i] = 2.0 * q.u - 3.0 * q.v


@wp.kernel
def older_distance(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    face, u, v = int(0), float(0.0), float(0.0)
    if wp.mesh_query_point_no_sign(mesh, p[i], 10.0, face, u, v):
        x = wp.mesh_eval_position(mesh, face, u, v) - p[i]
        out[i] = wp.dot(x, x)


@wp.kernel
def velocity(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_sign_normal(mesh, p[i], 10.0)
    out[i] = wp.dot(wp.mesh_eval_velocity(mesh, q.face, q.u, q.v), wp.vec3(1.0, -2.0, 0.5))


@wp.kernel
def normal(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_sign_winding_number(mesh, p[i], 10.0)
    out[i] = wp.dot(wp.mesh_eval_face_normal(mesh, q.face), wp.vec3(1.0, -2.0, 0.5))


@wp.kernel
def reach(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_furthest_point_no_sign(mesh, p[i], 0.0)
    out[i] = wp.length(wp.mesh_eval_position(mesh, q.face, q.u, q.v) - p[i])


@wp.kernel
def looked_up(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    data = wp.mesh_get(mesh)
    x = wp.mesh_get_point(mesh, 3 * i) - data.points[wp.mesh_get_index(mesh, 3 * i + 1)]
    out[i] = wp.dot(x, p[i]) + wp.length_sq(wp.mesh_get_velocity(mesh, 3 * i + 2))


@wp.kernel
def ray(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, p[i], d[i], 10.0)
    if q.result:
        out[i] = q.t + 0.3 * q.u - 0.2 * q.v + wp.dot(q.normal, wp.vec3(0.5, 0.2, -0.3))


class Scene:
    """A mesh, points and the arrays whose gradients are looked at."""

    def __init__(self, kernel, n=12):
        rng = np.random.default_rng(7)
        self.kernel, self.n = kernel, n
        points, self.faces = sphere(4, 0.3)
        self.values = {"points": points, "velocities": rng.normal(size=points.shape), "p": self.queries(points, rng)}
        if kernel is ray:
            self.values["d"] = -self.values["p"] + rng.uniform(-0.2, 0.2, (n, 3))
        self.seeds = rng.normal(size=n)

    def queries(self, points, rng):
        """Near middles of faces, out and in, and anywhere."""
        middle = points[self.faces].mean(axis=1)[rng.integers(0, len(self.faces), self.n)]
        p = middle * rng.uniform(0.8, 1.3, (self.n, 1))
        if self.kernel is not normal and self.kernel is not ray:
            p[::3] = rng.uniform(-1.5, 1.5, p[::3].shape)
        return p * 1.5 if self.kernel is ray else p

    def run(self, values, tape=None):
        arrays = {k: wp.array(np.float32(v), dtype=wp.vec3, requires_grad=True) for k, v in values.items()}
        faces = wp.array(self.faces.ravel(), dtype=int)
        mesh = wp.Mesh(arrays["points"], faces, arrays["velocities"], support_winding_number=True)
        out = wp.zeros(self.n, dtype=float, requires_grad=True)
        inputs = [mesh.id, *(arrays[k] for k in ("p", "d") if k in arrays), out]
        with tape or wp.Tape():
            wp.launch(self.kernel, dim=self.n, inputs=inputs)
        if tape:
            tape.backward(grads={out: wp.array(np.float32(self.seeds), dtype=float)})
        return float(out.numpy().astype(float) @ self.seeds), arrays

    def slope(self, name, direction, step):
        after, before = (self.run({**self.values, name: self.values[name] + h * direction})[0] for h in (step, -step))
        return (after - before) / (2 * step)


KERNELS = (distance, weights, older_distance, velocity, normal, reach, looked_up, ray)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key)
def test_against_differences(kernel):
    """Along random directions, where the closest feature stays the same from one side of the step to the other."""
    scene = Scene(kernel)
    _, arrays = scene.run(scene.values, wp.Tape())
    rng = np.random.default_rng(1)
    for name in scene.values:
        gradient = arrays[name].grad.numpy().astype(float)
        for _ in range(4):
            direction = rng.normal(size=gradient.shape)
            direction /= np.abs(direction).max()
            wide, narrow = (scene.slope(name, direction, h) for h in (STEP, STEP / 2))
            error = 3 * abs(wide - narrow) + 3e-3 * max(1.0, abs(narrow))
            assert abs(np.sum(gradient * direction) - narrow) <= error, name


def gradients(kernel, points, faces, p, **options):
    """Gradients of one thread's result to the point and to the vertices."""
    mesh = mesh_of(points, faces, grad=True, **options)
    asked = wp.array(np.float32([p]), dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[mesh.id, asked, out])
    tape.backward(grads={out: wp.ones(1, dtype=float)})
    return asked.grad.numpy()[0], mesh.points.grad.numpy()


@pytest.mark.parametrize(
    "p, expected",
    [
        ((0.4, 0.3, 1.5), (0, 0, 1)),  # above a face
        ((1.5, 0.4, 1.5), (0.5**0.5, 0, 0.5**0.5)),  # beside an edge
        ((2, 2, 2), (3**-0.5,) * 3),  # beyond a corner
        ((1.5, 0.5, 1.0), (1, 0, 0)),  # where edge and face meet
        ((0.5, 0.5, 1.5), (0, 0, 1)),  # above the diagonal shared by two faces
        ((1.0, 1.0, 1.5), (0, 0, 1)),  # above a corner
    ],
)
def test_distance_to_a_cube(p, expected):
    """The gradient of a distance is the direction from the closest point, on borders of features too."""
    to_point, to_vertices = gradients(distance, CUBE, CUBE_FACES, p)
    np.testing.assert_allclose(to_point, expected, atol=1e-6)
    np.testing.assert_allclose(to_vertices.sum(axis=0), -np.array(expected), atol=1e-6)


def test_the_medial_axis_takes_the_face_found():
    """In the middle of a cube all faces are as close: the derivative is that of the one with the smallest number."""
    to_point, to_vertices = gradients(distance, CUBE, CUBE_FACES, (0.5, 0.5, 0.5))
    np.testing.assert_allclose(to_point, [0, 0, -1], atol=1e-6)  # face 0 is the bottom
    assert set(np.flatnonzero(np.abs(to_vertices).sum(axis=1))) <= {0, 2, 3}


def test_nothing_found_has_no_gradient():
    to_point, to_vertices = gradients(distance, CUBE, CUBE_FACES, (30, 0, 0))
    assert not to_point.any() and not to_vertices.any()


@wp.kernel
def pushed(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), moved: wp.array(dtype=wp.vec3)):
    """One step of something that is drawn towards the surface."""
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, p[i], 10.0)
    moved[i] = p[i] + 0.3 * (wp.mesh_eval_position(mesh, q.face, q.u, q.v) - p[i])


@wp.kernel
def turned(points: wp.array(dtype=wp.vec3), angle: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c, s, x = wp.cos(angle[0]), wp.sin(angle[0]), points[i]
    out[i] = wp.vec3(c * x[0] - s * x[1], s * x[0] + c * x[1], x[2])


def rollout(angle, steps, tape=None):
    """Points drawn towards a mesh that turns and is refitted in every step; the sum of where they get to."""
    points, faces = sphere(5, 0.4)
    angles = wp.array(np.float32([angle]), dtype=float, requires_grad=True)
    states = [wp.array(points, dtype=wp.vec3, requires_grad=True)]
    mesh = wp.Mesh(states[0], wp.array(faces.ravel(), dtype=int))
    start = np.random.default_rng(3).uniform(-1.2, 1.2, (10, 3))
    p = [wp.array(np.float32(start), dtype=wp.vec3, requires_grad=True)]
    with tape or wp.Tape():
        for _ in range(steps):
            states.append(wp.zeros_like(states[0], requires_grad=True))
            p.append(wp.zeros_like(p[0], requires_grad=True))
            wp.launch(turned, dim=len(points), inputs=[states[-2], angles, states[-1]])
            mesh.points = states[-1]
            wp.launch(pushed, dim=10, inputs=[mesh.id, p[-2], p[-1]])
    seeds = np.random.default_rng(4).normal(size=(10, 3)).astype(np.float32)
    if tape:
        tape.backward(grads={p[-1]: wp.array(seeds, dtype=wp.vec3)})
        return float(angles.grad.numpy()[0])
    return float(np.sum(p[-1].numpy().astype(float) * seeds))


def test_a_mesh_that_is_refitted_in_every_step():
    """Each step's gradient looks at the mesh as it was then."""
    slope = (rollout(0.301, 4) - rollout(0.299, 4)) / 0.002
    assert abs(slope) > 0.1
    assert rollout(0.3, 4, wp.Tape()) == pytest.approx(slope, rel=1e-2)


@wp.kernel
def copied(source: wp.array(dtype=wp.vec3), target: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    target[i] = source[i]


def test_a_loop_with_checkpoints():
    """The same gradient as from a tape of all steps, with a refit in each."""
    points, faces = sphere(5, 0.4)
    start = np.float32(np.random.default_rng(3).uniform(-1.2, 1.2, (10, 3)))
    slopes = []
    for checkpoints in (False, True):
        angle = wp.array([0.3], dtype=float, requires_grad=True)
        x, p = (wp.array(a, dtype=wp.vec3, requires_grad=True) for a in (points, start))
        new_x, new_p = wp.zeros_like(x, requires_grad=True), wp.zeros_like(p, requires_grad=True)
        mesh = wp.Mesh(x, wp.array(faces.ravel(), dtype=int))

        def step(k):
            wp.launch(turned, dim=len(points), inputs=[x, angle, new_x])  # noqa: B023
            wp.launch(copied, dim=len(points), inputs=[new_x, x])  # noqa: B023
            mesh.refit()  # noqa: B023
            wp.launch(pushed, dim=10, inputs=[mesh.id, p, new_p])  # noqa: B023
            wp.launch(copied, dim=10, inputs=[new_p, p])  # noqa: B023

        with wp.Tape() as tape:
            if checkpoints:
                wp.checkpoint(step, [x, p], 5, parameters=[angle], scratch=[new_x, new_p, mesh])
            else:
                for k in range(5):
                    step(k)
        tape.backward(grads={p: wp.ones(10, dtype=wp.vec3)})
        slopes.append(float(angle.grad.numpy()[0]))
    assert slopes[0] == slopes[1] != 0.0


def test_a_tape_keeps_the_mesh_as_it_was():
    """Gradients are those of the launch, though points were moved in place and the mesh refitted since."""
    mesh = mesh_of(CUBE, CUBE_FACES, grad=True)
    asked = wp.array(np.float32([[0.4, 0.3, 1.5]]), dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(older_distance, dim=1, inputs=[mesh.id, asked, out])
        mesh.points.assign(CUBE * np.float32([1, 1, 5]) - np.float32([0, 0, 5]))
        mesh.refit()
        mesh.velocities = mesh.points
        mesh.rebuild()
    tape.backward(grads={out: wp.ones(1, dtype=float)})
    np.testing.assert_allclose(asked.grad.numpy(), [[0, 0, 1]], atol=1e-6)
