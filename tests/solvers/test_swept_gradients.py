"""Gradients of swept impacts on shapes that are searched or sampled, by central differences and orders of Taylor's
theorem. Meshes and volumes answer in single precision: what that leaves of a difference is allowed for."""

import functools

import numpy as np
import pytest
from dem.grain_scenes import block

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

TILTED = (0, 0, 0, 0, 0, np.sin(0.1), np.cos(0.1))
FAST = [3.0, -30.0, 2.0]  # 25 cm in a substep, more than ten radii
STEP = 1.0e-3


def plate():
    return block((-0.4, -0.01, -0.4), (0.4, 0.01, 0.4))


def ball():
    """Distances from a ball in voxels so large that a difference stays within one."""
    axis = 0.1 * (np.arange(10) - 4.5)
    distance = np.linalg.norm(np.stack(np.meshgrid(axis, axis, axis, indexing="ij")), axis=0) - 0.2
    return wp.Volume.load_from_numpy(distance.astype(np.float32), min_world=(-0.45,) * 3, voxel_size=0.1, bg_value=1.0)


SHAPES = {
    "mesh": (0.0, 1.0e-5, lambda b, cfg: b.add_shape_mesh(TILTED, plate(), (1.0, 1.2, 1.0), cfg)),
    "sdf": (0.0, 1.0e-6, lambda b, cfg: b.add_shape_sdf(TILTED, wp.mesh_to_volume(plate(), 0.005, half_width=7), cfg)),
    "curved sdf": (0.2, 1.0e-6, lambda b, cfg: b.add_shape_sdf(TILTED, ball(), cfg)),
    "capsule": (0.0, 1.0e-9, lambda b, cfg: b.add_shape_capsule(None, 0.04, 0.2, cfg)),
}
"""How far the surface is above the origin [m], the rounding of the loss [m], and what adds it."""


@functools.cache
def flight(shape):
    """Arrays, the loss after impact as a function of them, its gradients, and its rounding."""
    above, rounding, add = SHAPES[shape]
    rng, builder = np.random.default_rng(4), ModelBuilder()
    builder.add_particles(np.add(rng.uniform(-0.002, 0.002, (6, 3)), (0.005, 0.3 + above, 0.01)), FAST, 0.1, 0.002)
    add(builder, ShapeConfig(mu=0.05, restitution=0.5, margin=0.02))
    model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    solver, start = SolverXPBD(model, substeps=2), model.state(requires_grad=True)
    control, weights = model.control(requires_grad=True), rng.normal(size=(6, 3))

    def fly(state):
        solver.step(start, state, control, None, 1.0 / 60.0)
        solver.step(state, state, control, None, 1.0 / 60.0)
        return float((state.particle_q.numpy() * weights).sum())

    after = model.state(requires_grad=True)
    with wp.Tape() as tape:
        fly(after)
    tape.backward(grads={after.particle_q: wp.array(weights, dtype=wp.vec3d)})
    assert (after.particle_q.numpy()[:, 1] > above).all()  # thrown back: nothing went through
    arrays = {"q": start.particle_q, "qd": start.particle_qd, "mu": model.shape_mu, "e": model.shape_restitution}
    arrays |= {"margin": model.shape_margin, "pose": control.shape_transform, "twist": control.shape_velocity}
    arrays |= {"size": model.shape_scale}
    return arrays, lambda: fly(model.state()), {name: a.grad.numpy() for name, a in arrays.items()}, rounding


def moved(array, direction, step, loss):
    before = array.numpy().copy()
    array.assign(before + step * direction)
    after = loss()
    array.assign(before)
    return after


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_swept_impacts_are_those_of_central_differences(shape):
    arrays, loss, gradients, rounding = flight(shape)
    rng = np.random.default_rng(7)
    for name, array in arrays.items():
        direction = rng.normal(size=array.numpy().shape)
        expected = (moved(array, direction, STEP, loss) - moved(array, direction, -STEP, loss)) / (2.0 * STEP)
        parts = gradients[name] * direction
        assert np.abs(parts).sum() > 0.0 or (name == "size" and "sdf" in shape)  # volumes have no scale
        assert abs(parts.sum() - expected) <= 1.0e-3 * np.abs(parts).sum() + rounding / STEP, name


@pytest.mark.parametrize("shape", SHAPES)
def test_what_gradients_of_swept_impacts_leave_is_of_second_order(shape):
    arrays, loss, gradients, _ = flight(shape)
    pose = arrays["pose"]
    direction = np.random.default_rng(8).normal(size=pose.numpy().shape)
    slope, base = (gradients["pose"] * direction).sum(), loss()
    left = [abs(moved(pose, direction, step, loss) - base - step * slope) for step in (2.0 * STEP, STEP)]
    assert 1.9 < np.log2(left[0] / left[1]) < 2.1
