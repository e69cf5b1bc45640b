"""Bodies that touch: small scenes for tests of contact, of any precision."""

import functools
import itertools

import numpy as np
from scipy.spatial.transform import Rotation

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverBodies
from warpsim.solvers.scene.hull import hull_mesh

FORMS = ("sphere", "capsule", "box")
CONVEX = (*FORMS, "cylinder", "cone", "hull")
SIZES = {"sphere": (0.2,), "capsule": (0.12, 0.25), "box": (0.15, 0.25, 0.2), "cylinder": (0.18, 0.22)}
SIZES |= {"cone": (0.2, 0.25)}
GOLDEN = 0.5 * (1.0 + 5.0**0.5)
CORNERS = [*itertools.product((-1, 1), repeat=3)]
for a, b in itertools.product((-1, 1), repeat=2):
    CORNERS += [(0, a / GOLDEN, b * GOLDEN), (a / GOLDEN, b * GOLDEN, 0), (b * GOLDEN, 0, a / GOLDEN)]
CORNERS = (0.12 * np.array(CORNERS)).astype(np.float32)
"""Of a dodecahedron, whose twelve faces are 0.12 (GOLDEN + 1) / sqrt(GOLDEN^2 + 1) from its middle."""


@functools.cache
def dodecahedron(device="cpu"):
    """A mesh of triangles in any order."""
    points = wp.array(CORNERS, dtype=wp.vec3, device=device)
    loose = wp.Mesh(points, wp.array([0, 1, 2], dtype=wp.int32, device=device))
    return hull_mesh(loose)


def add_form(builder, form, pose=(0, 0, 0, 0, 0, 0, 1), qd=0.0, cfg=None, sizes=None, device="cpu", **options):
    """A body of one shape; its number."""
    body = builder.add_body(pose, qd=qd, **options)
    if form == "hull":
        builder.add_shape_mesh(None, dodecahedron(device), cfg=cfg, body=body)
        return body
    getattr(builder, f"add_shape_{form}")(None, *(sizes or SIZES[form]), cfg=cfg, body=body)
    return body


def random_pose(rng, spread):
    return np.array([*rng.uniform(-spread, spread, 3), *Rotation.random(random_state=rng).as_quat()])


def heap(seed=0, count=20, cfg=None, gravity=-9.81, forms=FORMS):
    """Bodies of all forms that fall into a pit of five planes."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=gravity)
    builder.add_ground_plane(cfg=cfg)
    for x, z in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        builder.add_shape_plane((x, 0, z), (-0.8 * x, 0, -0.8 * z), cfg)
    for i in range(count):
        place = np.array([0.7 * (i % 2) - 0.35, 0.5 + 0.75 * (i // 4), 0.7 * (i // 2 % 2) - 0.35])
        pose = [*place, *Rotation.random(random_state=rng).as_quat()]
        add_form(builder, forms[i % len(forms)], pose, rng.normal(size=6), cfg)
    return builder


def step_all(builder, steps, dt=1 / 60, dtype=wp.float64, device="cpu", **options):
    """A solver and the state after some steps."""
    model = builder.finalize(device, dtype=dtype)
    solver = SolverBodies(model, **options)
    state = model.state()
    for _ in range(steps):
        solver.step(state, state, dt=dt)
    return solver, state


def energy(model, state, gravity=9.81):
    """Kinetic and potential energy [J]; up is y."""
    q, qd, mass = state.body_q.numpy(), state.body_qd.numpy(), model.body_mass.numpy()
    axes = Rotation.from_quat(q[:, 3:]).as_matrix()
    inertia = axes @ model.body_inertia.numpy() @ axes.transpose(0, 2, 1)
    turning = np.einsum("bi,bij,bj->", qd[:, :3], inertia, qd[:, :3])
    return 0.5 * turning + 0.5 * (mass[:, None] * qd[:, 3:] ** 2).sum() + gravity * (mass * q[:, 1]).sum()


def momenta(model, state):
    """Momentum, and angular momentum about the origin."""
    q, qd, mass = state.body_q.numpy(), state.body_qd.numpy(), model.body_mass.numpy()
    axes = Rotation.from_quat(q[:, 3:]).as_matrix()
    inertia = axes @ model.body_inertia.numpy() @ axes.transpose(0, 2, 1)
    linear = mass[:, None] * qd[:, 3:]
    return linear.sum(0), (np.einsum("bij,bj->bi", inertia, qd[:, :3]) + np.cross(q[:, :3], linear)).sum(0)


class Points:
    """Points of the pairs that a solver measured last: by pair, shapes (2,), normals, gaps, places (n, ...)."""

    def __init__(self, solver):
        touching = solver._touching
        count = int(touching.pairs.count.numpy()[0])
        features = touching.features[0].numpy()[:count]
        poses = solver._workspace.pose.numpy()
        rows = touching.rows.numpy()
        self.pairs = []
        for c in range(count):
            slots = 4 * c + np.flatnonzero(features[c] >= 0)
            place = poses[rows[c][0], :3] + touching.arm.numpy()[slots]
            other = poses[rows[c][1], :3] + touching.far_arm.numpy()[slots]
            np.testing.assert_allclose(place, other, atol=1e-12 + 1e-6 * (poses.dtype == np.float32))
            numbers = [touching.shapes.numpy()[c], touching.normal.numpy()[slots], touching.gap.numpy()[slots], place]
            self.pairs.append(tuple(numbers))


def floor_config(mu=0.5, restitution=0.0, **more):
    return ShapeConfig(mu=mu, restitution=restitution, **more)
