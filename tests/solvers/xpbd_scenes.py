"""Small scenes of XPBD, each with one kind of constraint or contact in action, made of any precision."""

import numpy as np

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig

REST = (0.0, 0.0, 0.0, 1.0)


def stirred(builder, speed=0.5, seed=0):
    """Give all particles velocities, so that nothing is at rest."""
    builder.particles["qd"][:] += speed * np.random.default_rng(seed).normal(size=(builder.particle_count, 3))
    return builder


def springs(damping=0.0):
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 1, 0), REST, 0, 3, 3, 0.1, 0.1, 0.01, spring_ke=200.0, spring_kd=damping, fix_left=True)
    return stirred(builder)


def bent(damping=0.0):
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 1, 0), REST, 0, 3, 3, 0.1, 0.1, 0.01, edge_ke=0.02, edge_kd=damping, fix_left=True)
    return stirred(builder, 0.3)


def membrane(damping=0.0):
    builder = ModelBuilder()
    material = {"tri_ke": np.tile([300.0, 100.0], (18, 1)), "tri_nu": 0.2, "tri_kd": damping}
    builder.add_cloth_grid((0, 1, 0), REST, 0, 3, 3, 0.1, 0.1, 0.01, fix_left=True, **material)
    return stirred(builder)


def block(damping=0.0):
    builder = ModelBuilder()
    builder.add_soft_grid(
        (0, 1, 0), REST, 0, 2, 1, 1, 0.1, 0.1, 0.1, 500.0, youngs_modulus=2e4, poissons_ratio=0.4, k_damp=damping,
        fix=lambda p: p[:, 0] < 1e-6,
    )  # fmt: skip
    return stirred(builder, 0.3)


def attached(damping=0.0):
    builder = springs()
    sphere = builder.add_shape_sphere((0.5, 1.5, 0.0, *REST), 0.05)
    builder.add_attachment(7, ke=100.0, kd=damping)
    builder.add_attachment(7, (0.3, 1.2, 0.1), ke=50.0)
    builder.add_attachment(15, (0.0, -0.05, 0.0), ke=80.0, shape=sphere)
    return builder


SCENES = {"springs": springs, "bending": bent, "membrane": membrane, "tetrahedra": block, "attachments": attached}


def falling_on(add_shape, mu=0.3, restitution=0.4):
    """Loose particles that are about to hit one shape."""
    builder = ModelBuilder()
    builder.add_particles(np.random.default_rng(1).uniform(-0.4, 0.4, (12, 3)), [0.3, -2.0, 0.2], 0.1, radius=0.02)
    builder.particles["q"][:, 1] = 0.55 + 0.05 * np.arange(12)
    add_shape(builder, ShapeConfig(mu=mu, restitution=restitution, margin=0.01))
    return builder


def closed_box(size=0.5):
    """A box of triangles as a `wp.Mesh`."""
    points = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float32) * size
    faces = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]
    return wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces, dtype=int))


UP = (-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # turns z to y
SHAPES = {
    "plane": lambda b, cfg: b.add_shape_plane((0.1, 1, 0), (0, 0.5, 0), cfg),
    "sphere": lambda b, cfg: b.add_shape_sphere((0, -0.2, 0, *REST), 0.7, cfg),
    "box": lambda b, cfg: b.add_shape_box(None, 0.6, 0.5, 0.6, cfg),
    "capsule": lambda b, cfg: b.add_shape_capsule(None, 0.5, 0.4, cfg),
    "cylinder": lambda b, cfg: b.add_shape_cylinder((0, 0, 0, *UP), 0.8, 0.5, cfg),
    "mesh": lambda b, cfg: b.add_shape_mesh(None, closed_box(), cfg=cfg),
    "sdf": lambda b, cfg: b.add_shape_sdf(None, wp.mesh_to_volume(closed_box(), 0.05), cfg),
    "heightfield": lambda b, cfg: b.add_shape_heightfield(
        (0, 0.45, 0, *UP), 0.05 * np.random.default_rng(0).normal(size=(6, 6)), 1.0, 1.0, cfg
    ),
}
