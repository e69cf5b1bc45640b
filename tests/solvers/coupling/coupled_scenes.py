"""Scenes in which bodies meet every kind of matter, for tests of the ways that a coupled step can run."""

import numpy as np

import warpsim as wp
from warpsim.solvers import (
    Coupling,
    Fluid,
    Material,
    ModelBuilder,
    ShapeConfig,
    SolverBodies,
    SolverDEM,
    SolverSPH,
    SolverXPBD,
)

REST = (0.0, 0.0, 0.0, 1.0)
FLAT = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
BOUNDS = ((-0.6, -0.2, -0.6), (0.6, 1.0, 0.6))
DT = 1 / 240
WOOD = ShapeConfig(mu=0.4, restitution=0.2, density=400.0)


def lattice(count, spacing, corner):
    axis = np.arange(count) * spacing
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3) + corner


def add_bodies(builder, shift=0.0):
    """A box and a ball over a floor, and a paddle that a motor turns; joined by nothing."""
    builder.add_ground_plane(0.0, cfg=WOOD)
    box = builder.add_body((0.0, 0.105 + shift, 0.0, *REST))
    builder.add_shape_box(hx=0.1, hy=0.1, hz=0.1, cfg=WOOD, body=box)
    ball = builder.add_body((0.25, 0.12 + shift, 0.02, *REST), (0.0, 0.0, 0.5, -1.0, 0.0, 0.0))
    builder.add_shape_sphere(radius=0.08, cfg=WOOD, body=ball)
    paddle = builder.add_body((-0.35, 0.2, 0.0, *REST))
    builder.add_shape_box(hx=0.1, hy=0.02, hz=0.1, cfg=WOOD, body=paddle)
    builder.add_joint_revolute(-1, paddle, target_velocity=3.0, target_kd=0.5)


def add_cloth(builder, shift=0.0):
    """A sheet that falls on the box and the ball."""
    builder.add_cloth_grid((-0.15, 0.33 + shift, -0.15), FLAT, (0, -1.0, 0), 5, 5, 0.08, 0.08, 0.004, spring_ke=500.0)
    return lambda model: SolverXPBD(model, 6)


def add_soft(builder, shift=0.0):
    """An elastic block that falls on the paddle."""
    elastic = {"youngs_modulus": 1e4, "k_damp": 0.01, "particle_radius": 0.01}
    builder.add_soft_grid((-0.38, 0.28 + shift, -0.04), REST, 0, 2, 2, 2, 0.04, 0.04, 0.04, 300.0, **elastic)
    return lambda model: SolverXPBD(model, 6)


def add_grains(builder, shift=0.0):
    """27 grains that fall on the ball."""
    builder.add_particles(lattice(3, 0.025, [0.2, 0.24 + shift, -0.02]), (0.0, -1.0, 0.0), 0.005, 0.01)
    return lambda model: SolverDEM(model, Material(1e5, restitution=0.3), substeps=10)


def add_water(builder, shift=0.0):
    """A small block of water beside the box, that falls apart between walls."""
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1)):
        builder.add_shape_plane(normal, -0.6 * np.array(normal))
    points = lattice(4, 0.03, [-0.05, 0.02 + shift, 0.125])
    builder.add_particles(points, (0.0, 0.0, -0.3), 1000 * 0.03**3, 0.015)
    return lambda model: SolverSPH(model, Fluid(sound=12.0, alpha=0.1), bounds=BOUNDS, substeps=3, spacing=0.03)


MATTER = {"cloth": add_cloth, "soft": add_soft, "grains": add_grains, "water": add_water}


def scene(*kinds, worlds=None, dtype=wp.float32, requires_grad=False, device="cpu", gravity=-9.81, **options):
    """A coupling of bodies and these kinds of matter, all where none is named.

    worlds: shifts of what lies in each of several worlds [m]; None: a model of one.
    """
    kinds = kinds or tuple(MATTER)

    def model_of(add=None):
        builders, make = [], None
        for shift in (0.0,) if worlds is None else worlds:
            builder, own = ModelBuilder(gravity=gravity), ModelBuilder(gravity=gravity)
            add_bodies(own, shift)
            if add:
                builder.add_ground_plane(0.0, cfg=WOOD)
                builder.add_bodies(own)
                make = add(builder, shift)
            builders.append(builder if add else own)
        if worlds is None:
            whole = builders[0]
        else:
            whole = ModelBuilder(gravity=gravity)
            for builder in builders:
                whole.add_world(builder)
        return whole.finalize(device, requires_grad, dtype), make

    bodies = SolverBodies(model_of()[0], 4)
    matter = []
    for kind in kinds:
        model, make = model_of(MATTER[kind])
        matter.append(make(model))
    return Coupling(bodies, matter, **options)


def numbers(states):
    """All arrays of all states, by place and name."""
    return {(k, name): a.numpy().copy() for k, s in enumerate(states) for name, a in s.arrays.items()}


def assert_same(one, other):
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=str(name))


def run(coupling, steps, dt=DT, states=None):
    """The states after some steps."""
    states = states or coupling.states()
    for _ in range(steps):
        coupling.step(states, states, dt=dt)
    return states
