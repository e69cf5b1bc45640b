"""Scenes of bodies with joints, one for each kind, of random masses, frames and motions."""

import numpy as np

from warpsim.solvers import JointAxis, ModelBuilder

KINDS = {
    "fixed": lambda b, *at: b.add_joint_fixed(*at),
    "ball": lambda b, *at: b.add_joint_ball(*at),
    "revolute": lambda b, *at: b.add_joint_revolute(*at, axis=(1.0, 2.0, 0.5)),
    "prismatic": lambda b, *at: b.add_joint_prismatic(*at, axis=(0.3, -1.0, 0.5)),
    "universal": lambda b, *at: b.add_joint_universal(*at),
    "distance": lambda b, *at: b.add_joint_distance(*at),
    "planar": lambda b, *at: b.add_joint_d6(
        *at, linear_axes={"x": JointAxis(), "z": JointAxis()}, angular_axes={"y": JointAxis()}
    ),
}
DRIVEN = {
    "ball": lambda b, *at: b.add_joint_ball(*at, target=0.1, target_ke=30.0, target_kd=0.4),
    "revolute": lambda b, *at: b.add_joint_revolute(
        *at, target=0.4, target_velocity=0.3, target_ke=40.0, target_kd=0.5
    ),
    "prismatic": lambda b, *at: b.add_joint_prismatic(*at, target=0.1, target_ke=300.0, target_kd=5.0),
    "universal": lambda b, *at: b.add_joint_universal(
        *at, first=JointAxis(target=0.2, target_ke=30.0, target_kd=0.2), second=JointAxis(target_ke=20.0, target_kd=0.3)
    ),
    "distance": lambda b, *at: b.add_joint_distance(*at, target=0.3, target_ke=200.0, target_kd=2.0),
}
LIMITED = {
    "revolute": lambda b, *at: b.add_joint_revolute(*at, limit_lower=-0.03, limit_upper=0.02),
    "prismatic": lambda b, *at: b.add_joint_prismatic(*at, limit_lower=-0.01, limit_upper=0.01),
    "universal": lambda b, *at: b.add_joint_universal(*at, first=JointAxis(-0.03, 0.02), second=JointAxis(-0.02, 0.03)),
    "driven": lambda b, *at: b.add_joint_revolute(
        *at, limit_lower=-0.03, limit_upper=0.02, target=0.5, target_ke=20.0, target_kd=0.3
    ),
}


def unit(v):
    return np.asarray(v) / np.linalg.norm(v)


def add_random_body(builder, rng, place, speed=1.0):
    """A body with a centre of mass beside its origin, and an inertia about axes of its own."""
    spread = rng.normal(size=(8, 3)) * (0.1, 0.15, 0.2)
    spread -= spread.mean(axis=0)
    inertia = np.eye(3) * (spread**2).sum() - spread.T @ spread
    pose = [*place, *unit(rng.normal(size=4))]
    twist = speed * rng.normal(size=6) * (2.0, 2.0, 2.0, 1.0, 1.0, 1.0)
    mass = rng.uniform(0.5, 2.0)
    return builder.add_body(pose, qd=twist, mass=mass, com=0.05 * rng.normal(size=3), inertia=mass * inertia)


def random_frame(rng):
    return [*(0.2 * rng.normal(size=3)), *unit(rng.normal(size=4))]


def random_chain(add, seed=0, count=3, held=True, gravity=-9.81, speed=1.0):
    """Bodies in a row, each held to the one before by a joint; held: the first to the world."""
    builder, rng = ModelBuilder(gravity=gravity), np.random.default_rng(seed)
    for k in range(count):
        add_random_body(builder, rng, (0.4 * k, 0.1 * k, 0.0), speed)
        if k or held:
            add(builder, k - 1, k, None, random_frame(rng))
    return builder
