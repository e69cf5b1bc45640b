"""Gradients through joints against central differences of the same steps in float64, of all that a step depends on."""

import numpy as np
import pytest
from joint_scenes import DRIVEN, KINDS, LIMITED, random_chain

import warpsim as wp
from warpsim.solvers import SolverBodies

DT, STEPS = 1.0 / 60.0, 3
UNIT = {"body_q": (3, 7), "joint_parent_frame": (3, 7), "joint_child_frame": (3, 7)}


@wp.kernel
def weigh(q: wp.array(dtype=wp.transformd), qd: wp.array(dtype=wp.spatial_vectord), a: wp.array2d(dtype=wp.float64),
          loss: wp.array(dtype=wp.float64)):  # fmt: skip
    b = wp.tid()
    for i in range(7):
        wp.atomic_add(loss, 0, a[b, i] * q[b][i])
    for i in range(6):
        wp.atomic_add(loss, 0, a[b, 7 + i] * qd[b][i])


@wp.kernel
def weigh_forces(
    f: wp.array(dtype=wp.spatial_vectord), a: wp.array2d(dtype=wp.float64), loss: wp.array(dtype=wp.float64)
):
    j = wp.tid()
    for i in range(6):
        wp.atomic_add(loss, 0, a[j, i] * f[j][i])


class Run:
    """A loss of poses, twists and forces after some steps, with all that it depends on by name."""

    def __init__(self, builder, steps=STEPS, substeps=2, iterations=2):
        self.model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
        self.solver = SolverBodies(self.model, substeps, iterations)
        self.start, self.control, self.steps = self.model.state(), self.model.control(), steps
        rng = np.random.default_rng(9)
        self.weights = wp.array(rng.normal(size=(self.model.body_count, 13)), dtype=wp.float64)
        self.force_weights = wp.array(0.01 * rng.normal(size=(self.model.joint_count, 6)), dtype=wp.float64)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.inputs = {name: getattr(self.start, name) for name in ("body_q", "body_qd", "body_f", "joint_f")}
        self.inputs |= {name: a for name, a in self.control.arrays.items() if a.size}
        for name, value in vars(self.model).items():
            if isinstance(value, wp.array) and value.requires_grad and value.size and name not in self.inputs:
                self.inputs[name] = value

    def forward(self):
        self.loss.zero_()
        state = self.model.state()
        state.assign(self.start)
        for _ in range(self.steps):
            after = self.model.state()
            wp.copy(after.body_f, state.body_f)
            self.solver.step(state, after, self.control, None, DT)
            state = after
        wp.launch(weigh, self.model.body_count, [state.body_q, state.body_qd, self.weights, self.loss])
        wp.launch(weigh_forces, self.model.joint_count, [state.joint_f, self.force_weights, self.loss])
        return self.loss

    def gradients(self):
        with wp.Tape() as tape:
            self.forward()
        tape.backward(self.loss)
        gradients = {name: a.grad.numpy().copy() for name, a in self.inputs.items()}
        tape.zero()
        return gradients

    def difference(self, name, direction, eps):
        a = self.inputs[name]
        before, losses = a.numpy().copy(), []
        for side in (1.0, -1.0):
            a.assign(before + side * eps * direction)
            losses.append(self.forward().numpy()[0])
        a.assign(before)
        return (losses[0] - losses[1]) / (2.0 * eps)


def direction_of(name, values, rng):
    """A random direction along which an input may change."""
    direction = rng.normal(size=values.shape)
    if name in UNIT:  # rotations stay unit quaternions
        q = values[..., 3:]
        direction[..., 3:] -= (direction[..., 3:] * q).sum(axis=-1, keepdims=True) * q
    if name == "body_inertia":
        direction = 0.1 * (direction + np.swapaxes(direction, 1, 2)) * np.abs(values).max()
    if name in ("joint_ke", "joint_kd"):
        direction = direction * values
    if name in ("joint_lower", "joint_upper"):
        direction[~np.isfinite(values)] = 0.0
    return direction


def check(run, tolerance=1e-5, seed=0):
    """Compare gradients with differences; returns the names of inputs with a gradient."""
    gradients, rng, moved = run.gradients(), np.random.default_rng(seed), set()
    locked = run.model.joint_lower.numpy() == run.model.joint_upper.numpy()
    for name, gradient in gradients.items():
        assert np.isfinite(gradient).all(), name
        direction = direction_of(name, run.inputs[name].numpy(), rng)
        if name in ("joint_lower", "joint_upper"):
            direction[locked] = 0.0  # these belong together
        expected = run.difference(name, direction, 1e-6)
        found = (gradient * direction).sum()
        size = np.linalg.norm(gradient) * np.linalg.norm(direction)
        assert abs(found - expected) <= tolerance * max(abs(expected), 0.01 * size, 1e-3), (name, found, expected)
        if np.abs(gradient).max() > 1e-12:
            moved.add(name)
    return moved


ALWAYS = {"body_q", "body_qd", "body_f", "body_mass", "body_com", "body_inertia", "gravity", "joint_parent_frame",
          "joint_child_frame", "joint_f"}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_go_through_joints(kind):
    assert ALWAYS - {"joint_f"} <= check(Run(random_chain(KINDS[kind], seed=1, held=kind != "fixed")))


@pytest.mark.parametrize("kind", DRIVEN)
def test_gradients_reach_drives(kind):
    drives = {"joint_ke", "joint_kd", "joint_target", "joint_target_velocity"}
    assert ALWAYS - {"joint_f"} | drives <= check(Run(random_chain(DRIVEN[kind], seed=2)))


@pytest.mark.parametrize("kind", LIMITED)
def test_gradients_reach_limits(kind):
    moved = check(Run(random_chain(LIMITED[kind], seed=3), steps=4))
    assert moved & {"joint_lower", "joint_upper"}
