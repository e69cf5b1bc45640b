"""Masses, centres and inertias of bodies, from shapes and from what is given."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, ShapeConfig, ShapeType
from warpsim.solvers.scene.rotations import rotate

REST = (0.0, 0.0, 0.0, 1.0)
TURN = np.array([0.3, -0.5, 0.2, 0.7]) / np.linalg.norm([0.3, -0.5, 0.2, 0.7])


def ring(count, radius, z):
    angle = np.arange(count) * 2 * np.pi / count
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, z)], axis=1)


def drum():
    """A closed mesh near a cylinder of radius 0.2 and half height 0.3."""
    n = 200
    points = np.concatenate([ring(n, 0.2, -0.3), ring(n, 0.2, 0.3), [[0, 0, -0.3], [0, 0, 0.3]]])
    k, faces = np.arange(n), []
    after = (k + 1) % n
    faces += [*zip(k, after, n + k, strict=True), *zip(after, n + after, n + k, strict=True)]
    faces += zip(after, k, np.full(n, 2 * n), strict=True)
    faces += zip(n + k, n + after, np.full(n, 2 * n + 1), strict=True)
    return wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(np.array(faces, np.int32).ravel(), dtype=wp.int32))


FORMS = {
    "sphere": (lambda b, **o: b.add_shape_sphere(radius=0.3, **o), lambda p: np.linalg.norm(p, axis=1) < 0.3),
    "box": (
        lambda b, **o: b.add_shape_box(hx=0.1, hy=0.2, hz=0.35, **o),
        lambda p: (np.abs(p) < [0.1, 0.2, 0.35]).all(axis=1),
    ),
    "capsule": (
        lambda b, **o: b.add_shape_capsule(radius=0.15, half_height=0.2, **o),
        lambda p: np.linalg.norm(p - np.clip(p, [0, 0, -0.2], [0, 0, 0.2]), axis=1) < 0.15,
    ),
    "cylinder": (
        lambda b, **o: b.add_shape_cylinder(radius=0.2, half_height=0.3, **o),
        lambda p: (np.hypot(p[:, 0], p[:, 1]) < 0.2) & (np.abs(p[:, 2]) < 0.3),
    ),
    "mesh": (
        lambda b, **o: b.add_shape_mesh(mesh=drum(), **o),
        lambda p: (np.hypot(p[:, 0], p[:, 1]) < 0.2) & (np.abs(p[:, 2]) < 0.3),
    ),
}


def model_of(*shapes, **body):
    builder = ModelBuilder()
    number = builder.add_body(**body)
    for add, pose, density in shapes:
        add(builder, xform=pose, cfg=ShapeConfig(density=density), body=number)
    return builder.finalize(device="cpu", dtype=wp.float64)


@pytest.mark.parametrize("form", FORMS)
def test_a_turned_form_has_the_moments_of_its_points(form):
    """Against sums over a fine lattice of the points that are in the form."""
    add, inside = FORMS[form]
    axis = (np.arange(80) + 0.5) / 80 * 1.0 - 0.5
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    points = points[inside(points)]
    place = np.array([0.4, -0.1, 0.2])
    world = rotate(TURN, points) + place
    mass = 700.0 * len(points) * (1 / 80) ** 3
    away = world - world.mean(axis=0)
    second = mass / len(points) * np.einsum("ni,nj->ij", away, away)
    model = model_of((add, (*place, *TURN), 700.0))
    assert np.isclose(model.body_mass.numpy()[0], mass, rtol=0.02)
    assert np.allclose(model.body_com.numpy()[0], place, atol=1e-4)
    inertia = np.trace(second) * np.eye(3) - second
    assert np.allclose(model.body_inertia.numpy()[0], inertia, atol=0.02 * np.abs(inertia).max())


def test_two_shapes_have_the_moments_of_a_dumbbell():
    """Two balls on a line: m a^2 / 2 more across it, by Steiner."""
    add = FORMS["sphere"][0]
    model = model_of((add, (0, 0, 0, *REST), 500.0), (add, (1.0, 0, 0, *REST), 500.0))
    ball = 500.0 * 4 / 3 * np.pi * 0.3**3
    own = 0.4 * ball * 0.09
    assert np.allclose(model.body_com.numpy()[0], [0.5, 0, 0])
    expected = np.diag([2 * own, 2 * own + ball / 2, 2 * own + ball / 2])
    assert np.allclose(model.body_inertia.numpy()[0], expected)


def test_what_is_given_comes_before_what_shapes_say():
    add = FORMS["box"][0]
    whole = model_of((add, None, 1000.0))
    model = model_of((add, None, 1000.0), mass=3.0)
    assert np.allclose(model.body_inertia.numpy(), 3.0 / whole.body_mass.numpy()[0] * whole.body_inertia.numpy())
    moved = model_of((add, None, 1000.0), com=(0.1, 0, 0)).body_inertia.numpy()[0]
    steiner = whole.body_mass.numpy()[0] * 0.01
    assert np.allclose(moved, whole.body_inertia.numpy()[0] + np.diag([0, steiner, steiner]))
    model = model_of(mass=2.0, com=(0, 0, 0), inertia=(1.0, 2.0, 2.5))
    assert np.allclose(model.body_inertia.numpy()[0], np.diag([1.0, 2.0, 2.5]))


def test_a_body_without_mass_keeps_its_velocity():
    model = model_of((FORMS["box"][0], None, 1000.0), mass=0.0)
    assert model.body_mass.numpy()[0] == 0.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "has no shape, and no mass and no com and no inertia is given"),
        ({"mass": 1.0, "inertia": (1, 1, 1)}, "has no shape, and no com is given"),
        ({"mass": -1.0, "com": (0, 0, 0), "inertia": (1, 1, 1)}, "has the mass -1"),
        ({"mass": 1.0, "com": (0, 0, 0), "inertia": (1.0, 1.0, 2.5)}, "principal moments"),
        ({"mass": 1.0, "com": (0, 0, 0), "inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "transpose by 0.5 kg"),
        ({"mass": 1.0, "com": (0, 0, 0), "inertia": (1.0, 1.0)}, "three moments"),
    ],
)
def test_what_no_body_has_is_refused(body, words):
    with pytest.raises(ModelError, match=words):
        model_of(**body)


def test_shapes_without_volume_and_unknown_bodies_are_refused():
    builder = ModelBuilder()
    body = builder.add_body()
    builder.add_shape(ShapeType.PLANE, body=body)
    with pytest.raises(ModelError, match="plane, which has no volume"):
        builder.finalize()
    with pytest.raises(ModelError, match="one of the 1 bodies"):
        builder.add_shape_sphere(body=3)
    with pytest.raises(ModelError, match="density"):
        model_of((FORMS["sphere"][0], None, 0.0))
