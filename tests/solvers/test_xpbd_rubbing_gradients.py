"""Gradients of friction in corners and on turning blades are those of differences; to the right where e is 0."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

H = 1.0 / 600.0
ALONG = (0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))


def corner(builder, kind):
    """A particle that meets the floor and then the wall within a substep."""
    builder.add_particle((3.5 * H, 0.8 * H, 0.0), (-5.0, -4.0, 2.0), 1.0, 0.0)
    for normal in np.eye(3)[[1, 0]] if kind == "floor first" else np.eye(3)[[0, 1]]:
        builder.add_shape_box((*-normal, 0, 0, 0, 1), *(3.0 - 2.0 * normal), ShapeConfig(mu=0.2, restitution=0.5))
    return (0.0, 0.0, 0.0)


def blade(builder, kind):
    """Particles that a thin blade strikes, which turns by 0.1 in the substep."""
    angle, far = np.array([0.06, 0.13, 0.2, 0.28]), np.array([0.3, 0.5, 0.4, 0.6])
    builder.add_particles(np.stack([far * np.cos(angle), far * np.sin(angle), 0.01 * far], 1), 0.0, 1.0, 0.004)
    if kind == "box":
        builder.add_shape_box(None, 1.0, 0.002, 0.5, ShapeConfig(mu=0.3))
    else:
        builder.add_shape_capsule(ALONG, 0.002, 1.0, ShapeConfig(mu=0.3, restitution=0.5))
    return (0.0, 0.0, 0.1 / H)


CASES = [(corner, "floor first"), (corner, "wall first"), (blade, "box"), (blade, "capsule")]


@pytest.mark.parametrize(("scene", "kind"), CASES)
def test_gradients_of_rubbing_impacts_are_those_of_differences(scene, kind):
    builder, rng = ModelBuilder(gravity=0.0), np.random.default_rng(1)
    angular = scene(builder, kind)
    model = builder.finalize("cpu", dtype=wp.float64, requires_grad=True)
    solver, start, control = SolverXPBD(model, 1), model.state(requires_grad=True), model.control(requires_grad=True)
    control.set_shape(0, angular_velocity=angular)
    places, speeds = rng.normal(size=(2, model.particle_count, 3)) * [[[1.0]], [[0.01]]]

    def fly():
        end = model.state(requires_grad=True)
        solver.step(start, end, control, None, H)
        return end

    def loss():
        end = fly()
        return (end.particle_q.numpy() * places).sum() + (end.particle_qd.numpy() * speeds).sum()

    with wp.Tape() as tape:
        end = fly()
    seeds = {end.particle_q: places, end.particle_qd: speeds}
    tape.backward(grads={array: wp.array(x, dtype=wp.vec3d) for array, x in seeds.items()})
    arrays = {"q": start.particle_q, "qd": start.particle_qd, "mu": model.shape_mu, "e": model.shape_restitution}
    arrays |= {"pose": control.shape_transform, "twist": control.shape_velocity}
    for name, array in arrays.items():
        before, step = array.numpy().copy(), 1.0e-7
        direction = rng.normal(size=before.shape)
        back = 0.0 if name == "e" else 1.0  # below 0 there are no restitutions
        direction = direction if back else np.abs(direction)
        parts, values = array.grad.numpy() * direction, []
        for way in (1.0, -back):
            array.assign(before + way * step * direction)
            values.append(loss())
        array.assign(before)
        expected = (values[0] - values[1]) / ((1.0 + back) * step)
        assert abs(parts.sum() - expected) <= 1.0e-5 * np.abs(parts).sum() + 1.0e-7, name
