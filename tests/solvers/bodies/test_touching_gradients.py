"""Gradients through contact against central differences: of poses, velocities, surfaces, sizes and masses."""

import numpy as np
import pytest
from touching_scenes import CONVEX, FORMS, add_form, random_pose

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverBodies

DT, STEPS, SUBSTEPS = 1 / 60, 8, 4
INPUTS = (
    "body_mass",
    "body_inertia",
    "shape_mu",
    "shape_mu_static",
    "shape_restitution",
    "shape_scale",
    "shape_margin",
)
TURNED = (0.1, 0.2, 0.05, 0.9733961166965892)


def on_a_plane(form, height, qd, turn=TURNED, mu=0.3, restitution=0.6):
    builder = ModelBuilder(gravity=-9.81)
    builder.add_ground_plane(cfg=ShapeConfig(mu=mu, restitution=0.5 * restitution))
    add_form(builder, form, (0, height, 0, *turn), qd, ShapeConfig(mu=mu, restitution=restitution))
    return builder


def colliding(first, second, apart=0.7):
    """Two bodies without weight that hit each other, off the middle."""
    rng = np.random.default_rng(5)
    builder = ModelBuilder(gravity=0.0)
    one, two = random_pose(rng, 0.05), random_pose(rng, 0.05)
    two[0] += apart
    add_form(builder, first, one, [0.5, 0.3, -0.8, 3.0, 0.1, 0.0], ShapeConfig(mu=0.4, restitution=0.5))
    add_form(builder, second, two, [-0.2, 0.9, 0.4, -1.0, 0.0, 0.2], ShapeConfig(mu=0.3, restitution=0.2))
    return builder


SCENES = {
    "ball bounces": lambda: on_a_plane("sphere", 0.25, (0.3, 0.2, -0.5, 1.0, -1.0, 0.4)),
    "ball rolls": lambda: on_a_plane("sphere", 0.2, (0.0, 0.0, -5.0, 1.0, 0.0, 0.0), restitution=0.0, mu=0.8),
    "box bounces": lambda: on_a_plane("box", 0.33, (0.3, 0.2, -0.5, 1.0, -1.0, 0.4)),
    "box slides": lambda: on_a_plane("box", 0.25, (0, 0.4, 0, 1.5, 0, 0.4), (0, 0, 0, 1), restitution=0.0),
    "capsule bounces": lambda: on_a_plane("capsule", 0.25, (0.3, 0.2, -0.5, 1.0, -1.0, 0.4)),
    **{f"{a} bounces": (lambda a=a: on_a_plane(a, 0.27, (0.3, 0.2, -0.5, 1.0, -1.0, 0.4))) for a in CONVEX[3:]},
    **{
        f"{a} hits {b}": (lambda a=a, b=b: colliding(a, b, 0.65 if (a, b) == ("capsule", "cone") else 0.6))
        for i, a in enumerate(CONVEX)
        for b in CONVEX[max(i, 3) :]
    },
    **{f"{a} hits {b}": (lambda a=a, b=b: colliding(a, b)) for i, a in enumerate(FORMS) for b in FORMS[i:]},
}


class Rollout:
    """Some steps of a scene, and a weighted sum of where they end."""

    def __init__(self, builder):
        self.model = builder.finalize("cpu", requires_grad=True, dtype=wp.float64)
        self.solver, self.control = SolverBodies(self.model, substeps=SUBSTEPS), self.model.control()
        self.states = [self.model.state() for _ in range(STEPS + 1)]
        rng = np.random.default_rng(1)
        self.ends = [self.states[-1].body_q, self.states[-1].body_qd]
        self.weights = [rng.normal(size=a.numpy().shape) for a in self.ends]

    def run(self):
        for before, after in zip(self.states, self.states[1:], strict=False):
            self.solver.step(before, after, self.control, dt=DT)
        return sum(float((a.numpy() * w).sum()) for a, w in zip(self.ends, self.weights, strict=True))

    def differentiate(self):
        with wp.Tape() as tape:
            self.run()
        tape.backward(grads={a: wp.array(w, dtype=a.dtype) for a, w in zip(self.ends, self.weights, strict=True)})

    def slope(self, a, direction, eps=1e-6):
        start, sides = a.numpy().copy(), []
        for side in (eps, -eps):
            a.assign(start + side * direction)
            sides.append(self.run())
        a.assign(start)
        return (sides[0] - sides[1]) / (2.0 * eps)


@pytest.mark.filterwarnings("ignore:shape 0 of body 0")  # some start inside of each other
@pytest.mark.parametrize("scene", SCENES)
def test_gradients_are_those_of_differences(scene):
    rollout = Rollout(SCENES[scene]())
    rollout.differentiate()
    start = rollout.states[0]
    inputs = {name: getattr(rollout.model, name) for name in INPUTS}
    inputs |= {"body_q": start.body_q, "body_qd": start.body_qd, "gravity": rollout.control.gravity}
    rng = np.random.default_rng(2)
    seen = 0
    for name, a in inputs.items():
        direction = rng.normal(size=a.numpy().shape)
        if name in ("body_mass", "body_inertia"):  # an inertia stays symmetric
            direction = a.numpy() * rng.normal()
        computed = float((a.grad.numpy() * direction).sum())
        assert computed == pytest.approx(rollout.slope(a, direction), rel=1e-5, abs=1e-6), name
        seen += abs(computed) > 1e-3
    assert seen >= 4


def test_equal_restitutions_share_their_slope():
    builder, cfg = ModelBuilder(), ShapeConfig(mu=0.0, restitution=0.5)
    builder.add_ground_plane(cfg=cfg)
    add_form(builder, "sphere", (0, 0.21, 0, 0, 0, 0, 1), (0, 0, 0, 0, -2, 0), cfg)
    rollout = Rollout(builder)
    rollout.differentiate()
    values = rollout.model.shape_restitution
    for shape, slope in enumerate(values.grad.numpy()):
        assert abs(slope) > 0.1
        assert slope == pytest.approx(rollout.slope(values, np.eye(2)[shape]), rel=1e-5)


def test_forces_of_contacts_have_gradients():
    builder = on_a_plane("box", 0.25, 0.0, (0, 0, 0, 1), restitution=0.0)
    model = builder.finalize("cpu", requires_grad=True, dtype=wp.float64)
    solver, states = SolverBodies(model), [model.state() for _ in range(9)]
    for k in range(7):
        solver.step(states[k], states[k + 1], dt=DT)
    with wp.Tape() as tape:
        solver.step(states[7], states[8], dt=DT)
    weight = np.zeros((1, 3))
    weight[0, 1] = -1.0
    assert (states[8].contact_force.numpy() * weight).sum() == pytest.approx(
        9.81 * model.body_mass.numpy()[0], rel=1e-6
    )
    tape.backward(grads={states[8].contact_force: wp.array(weight, dtype=wp.vec3d)})
    assert abs(model.gravity.grad.numpy()[0, 1] + model.body_mass.numpy()[0]) < 0.05 * model.body_mass.numpy()[0]
