"""Gradients of a fluid to states, what it is made of, walls and controls: differences, Taylor's test, checkpoints."""

import dataclasses
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from fluid_scenes import WATER, splash

import warpsim as wp
from warpsim.solvers.sph.particles import Particles

STEPS, DT = 6, 2.0e-3


@wp.kernel
def add_loss(
    q: wp.array(dtype=wp.vec3d),
    v: wp.array(dtype=wp.vec3d),
    rho: wp.array(dtype=wp.float64),
    loss: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    moved = wp.dot(q[i], wp.vec3d(1.0, 2.0, 0.0)) + wp.float64(0.1) * wp.dot(v[i], v[i])
    wp.atomic_add(loss, 0, moved + wp.float64(1.0e-3) * rho[i])


class Rollout:
    """Some steps on a tape; `changes` are added to inputs by name."""

    def __init__(self, changes=None, checkpointed=False, steps=STEPS, **options):
        model, self.solver = splash(requires_grad=True, **options)
        self.state, control = model.state(), model.control()
        count = model.particle_count
        pressed = self.solver.fluid.density_at(np.linspace(500.0, 3000.0, count))  # away from where pressure is cut
        self.state.particle_rho.assign(pressed)
        start = {name: getattr(self.state, name) for name in ("particle_q", "particle_qd", "particle_rho")}
        self.inputs = {**start, "particle_f": self.state.particle_f, "mass": model.particle_mass}
        self.inputs |= {"gravity": control.gravity, "pose": control.shape_transform, "twist": control.shape_velocity}
        self.inputs |= {"fluid": self.solver.fluid_numbers}
        for name, change in (changes or {}).items():
            self.inputs[name].assign(self.inputs[name].numpy() + change)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.tape, state = wp.Tape(), self.state

        def step(k):
            self.solver.step(state, state, control, dt=DT)

        with self.tape:
            if checkpointed:
                carried = [*state.arrays.values()]
                wp.checkpoint(step, carried, steps, scratch=self.solver.scratch)
            else:
                for k in range(steps):
                    step(k)
            wp.launch(add_loss, count, [state.particle_q, state.particle_qd, state.particle_rho, self.loss])
        self.value = float(self.loss.numpy()[0])

    def gradients(self):
        self.tape.backward(self.loss)
        return {name: a.grad.numpy().copy() for name, a in self.inputs.items()}


OPTIONS = [
    {"fluid": dataclasses.replace(WATER, tension=10.0)},
    {"density": "summation", "kernel": "wendland4", "suction": True},
    {"suction": True, "fluid": dataclasses.replace(WATER, shifting=0.5)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["continuity", "summation", "shifting"])
def test_gradients_are_those_of_differences(options):
    gradients = Rollout(**options).gradients()
    rng = np.random.default_rng(7)
    values = {name: a.numpy() for name, a in Rollout(**options).inputs.items()}
    unused = {"particle_rho"} if "density" in options else set()
    for name, gradient in gradients.items():
        if name in unused:
            assert (gradient == 0.0).all()
            continue
        value = values[name]
        direction = rng.normal(size=value.shape) * (0.1 * np.abs(value) + (0.01 if name != "particle_f" else 1.0))
        if name == "pose":
            direction[:, 3:] = 0.0
        if name in ("particle_q", "pose"):
            direction *= 0.1
        if name in ("particle_q", "particle_qd", "particle_f", "pose", "gravity"):
            direction[:, 2] = 0.0
        step = 4.0e-6
        ends = [Rollout({name: sign * step * direction}, **options).value for sign in (1.0, -1.0)]
        measured = (ends[0] - ends[1]) / (2.0 * step)
        expected = float((gradient * direction).sum())
        assert abs(expected) > 1e-7, name
        assert measured == pytest.approx(expected, rel=1e-5, abs=3e-8), name


def test_viscosities_and_tension_that_are_zero_have_gradients():
    """Against one-sided differences, as none may be negative."""
    inviscid = dataclasses.replace(WATER, viscosity=0.0, xsph=0.0)
    start, step = Rollout(fluid=inviscid), 1.0e-7
    gradient = start.gradients()["fluid"]
    for name in ("viscosity", "xsph", "tension"):
        change = inviscid.numbers * 0.0
        change[list(dataclasses.replace(inviscid, **{name: 0.125}).numbers).index(0.125)] = step
        measured = (Rollout({"fluid": change}, fluid=inviscid).value - start.value) / step
        expected = float((gradient * change).sum() / step)
        assert abs(expected) > 1e-7 and measured == pytest.approx(expected, rel=1e-3), name


def test_checkpointed_rollouts_have_the_gradients_of_full_tapes():
    full, checkpointed = Rollout().gradients(), Rollout(checkpointed=True).gradients()
    for name, gradient in full.items():
        # threads add to neighbours' gradients in any order
        scale = np.abs(gradient).max()
        np.testing.assert_allclose(checkpointed[name], gradient, rtol=1e-9, atol=1e-12 * scale, err_msg=name)


def test_lists_that_are_made_anew_on_a_tape_have_the_gradients_of_a_grid(monkeypatch):
    """Particles change places when lists are made anew; loops with checkpoints look neighbours up in a grid."""
    builds, rebuild = [], Particles.rebuild
    monkeypatch.setattr(Particles, "rebuild", lambda self, *args: builds.append(1) or rebuild(self, *args))
    listed = Rollout(steps=40).gradients()
    assert len(builds) > 2
    checkpointed = Rollout(steps=40, checkpointed=True).gradients()
    for name, gradient in listed.items():
        scale = np.abs(gradient).max()
        np.testing.assert_allclose(checkpointed[name], gradient, rtol=1e-6, atol=1e-8 * scale, err_msg=name)


def test_lists_are_made_anew_without_a_warning_where_states_alone_have_gradients():
    """Of arrays set on a tape, which users are warned of; tests do not show that warning by themselves."""
    model, solver = splash()
    state = model.state()
    for array in (state.particle_q, state.particle_qd, state.particle_rho):
        array.requires_grad = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with wp.Tape() as tape:
            solver.step(state, state, dt=DT)
        tape.backward(grads={state.particle_q: wp.ones_like(state.particle_q)})
    assert np.abs(state.particle_qd.grad.numpy()).max() > 0.0


def test_the_remainder_of_first_order_falls_with_the_square_of_the_step():
    """Taylor's test: |J(x + e d) - J(x) - e dJ d| falls four times when e halves.

    Of what is smooth: artificial viscosity resists approach alone, and without suction pressure ends at zero. Among 200
    particles some pair changes sides however small e is, which leaves slopes between 1.75 and 2.1.
    """
    smooth = {"suction": True, "fluid": dataclasses.replace(WATER, alpha=0.0)}
    many = {"cells": (5, 40), "steps": 20, **smooth}
    rollout = Rollout(**many)
    assert rollout.state.particle_q.shape == (200,)
    gradient = rollout.gradients()["particle_qd"]
    direction = np.random.default_rng(8).normal(size=gradient.shape) * [1.0, 1.0, 0.0]
    steps = 4.0e-4 * 0.5 ** np.arange(5)
    slope = (gradient * direction).sum()
    rests = [abs(Rollout({"particle_qd": e * direction}, **many).value - rollout.value - e * slope) for e in steps]
    slopes = np.log2(np.array(rests[:-1]) / np.array(rests[1:]))
    assert ((slopes > 1.9) & (slopes < 2.1)).all(), slopes


PROGRAM = """
import hashlib
import warpsim as wp
from warpsim.solvers import Fluid, ModelBuilder, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
builder = ModelBuilder()
add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0.06)
builder.add_ground_plane()
model = builder.finalize()
solver = SolverSPH(model, Fluid(sound=30.0), substeps=2, bounds=((-0.2, 0.0, -0.2), (1.2, 1.2, 1.2)))
state = model.state()
for array in (state.particle_q, state.particle_qd):
    array.requires_grad = True
with wp.Tape() as tape:
    solver.step(state, state, dt=1.0e-3)
tape.backward(grads={state.particle_q: wp.ones_like(state.particle_q)})
gradients = [a.grad.numpy().tobytes() for a in (state.particle_q, state.particle_qd)]
print(len(state.particle_q), hashlib.md5(b"".join(gradients)).hexdigest())
"""


def test_gradients_of_any_number_of_threads_have_the_same_bits():
    shown = set()
    for threads in (1, 2, 4):
        environment = os.environ | {"WARPSIM_NUM_THREADS": str(threads)}
        command = [sys.executable, "-c", PROGRAM]
        shown.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(shown) == 1
