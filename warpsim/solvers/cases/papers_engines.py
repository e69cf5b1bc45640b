"""Balls and walls in every solver that has contact, with the same inputs and outputs: for the cases of papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.language import array, float64, int32, kernel, launch, standard_names, tid, zeros
from ...core.runtime.tape.tape import Tape
from ..bodies.solver import SolverBodies
from ..contact.contacts import Contacts
from ..dem.materials import Material
from ..dem.solver import SolverDEM
from ..scene.builder import ModelBuilder
from ..scene.model import Model
from ..scene.shape_builder import ShapeConfig
from ..xpbd.solver import SolverXPBD

vec3d, vec2d = standard_names()["vec3d"], standard_names()["vec2d"]
transformd, spatial_vectord = standard_names()["transformd"], standard_names()["spatial_vectord"]

PENALTY, MASS = 1.0e4, 1.0  # of linear grains [N/m], of every ball [kg]
XPBD, BODIES, LINEAR, HERTZ = "XPBD", "bodies", "grains, linear", "grains, Hertz"
SOLVERS = (XPBD, BODIES, LINEAR, HERTZ)


class Balls(NamedTuple):
    """A scene in a plane: balls of one radius, and walls by normals and points."""

    radius: float
    places: Sequence[Sequence[float]]
    velocities: Sequence[Sequence[float]]
    walls: Sequence[tuple[Sequence[float], Sequence[float]]] = ()
    restitution: float = 1.0
    gravity: float = 0.0


@kernel
def start_particles(x: array(dtype=vec2d), v: array(dtype=vec2d), q: array(dtype=vec3d), qd: array(dtype=vec3d)):
    i = tid()
    q[i] = vec3d(x[i][0], x[i][1], float64(0.0))
    qd[i] = vec3d(v[i][0], v[i][1], float64(0.0))


@kernel
def start_bodies(
    x: array(dtype=vec2d), v: array(dtype=vec2d), q: array(dtype=transformd), qd: array(dtype=spatial_vectord)
):
    i, o, one = tid(), float64(0.0), float64(1.0)
    q[i] = transformd(x[i][0], x[i][1], o, o, o, o, one)
    qd[i] = spatial_vectord(o, o, o, v[i][0], v[i][1], o)


@kernel
def push_particle(u: array(dtype=vec2d), k: int32, force: array(dtype=vec3d)):
    force[0] = vec3d(u[k][0], u[k][1], float64(0.0))


@kernel
def push_body(u: array(dtype=vec2d), k: int32, force: array(dtype=spatial_vectord)):
    o = float64(0.0)
    force[0] = spatial_vectord(o, o, o, u[k][0], u[k][1], o)


@kernel
def end_of_particles(q: array(dtype=vec3d), x: array(dtype=vec2d)):
    i = tid()
    x[i] = vec2d(q[i][0], q[i][1])


@kernel
def end_of_bodies(q: array(dtype=transformd), x: array(dtype=vec2d)):
    i = tid()
    x[i] = vec2d(q[i][0], q[i][1])


class Rollout:
    """A scene in one solver, from `x` and `v` on with forces `u` on the first ball, to `end`; all (n, 2), float64."""

    def __init__(self, solver: str, scene: Balls, steps: int, seconds: float, fine: int = 1):
        self.scene, self.steps, self.dt, self.of_bodies = scene, steps, seconds / steps, solver == BODIES
        self.model, self.count = self._build(), len(scene.places)
        self.solver, self.contacts = self._solver(solver, fine)
        self.states = [self.model.state() for _ in range(steps + 1)]
        make: Callable[..., Any] = partial(array, dtype=vec2d, requires_grad=True)
        self.x, self.v = make(scene.places), make(scene.velocities)
        self.u, self.end = make(np.zeros((steps, 2))), make(np.zeros((self.count, 2)))
        self.loss = zeros(1, float64, "cpu", requires_grad=True)

    def _build(self) -> Model:
        scene = self.scene
        builder = ModelBuilder(gravity=scene.gravity)
        surface = ShapeConfig(mu=0.0, restitution=scene.restitution)
        for place in scene.places:
            if self.of_bodies:
                body = builder.add_body((*place, 0.0, 0.0, 0.0, 0.0, 1.0))
                density = MASS / (4.0 / 3.0 * np.pi * scene.radius**3)
                elastic = ShapeConfig(mu=0.0, restitution=scene.restitution, density=density)
                builder.add_shape_sphere(None, scene.radius, cfg=elastic, body=body)
            else:
                builder.add_particle((*place, 0.0), mass=MASS, radius=scene.radius)
        for normal, point in scene.walls:
            builder.add_shape_plane((*normal, 0.0), (*point, 0.0), surface)
        return builder.finalize("cpu", requires_grad=True, dtype=float64)

    def _solver(self, name: str, fine: int) -> tuple[Any, Any]:
        model, e = self.model, self.scene.restitution
        if name == XPBD:
            touch = Contacts(model, friction=0.0, restitution=e) if self.count > 1 else None
            return SolverXPBD(model, substeps=1), touch
        if name == BODIES:
            return SolverBodies(model, substeps=1), None
        if name == LINEAR:
            return SolverDEM(model, Material(1.0e6, 0.25, e, 0.0, stiffness=PENALTY), substeps=fine, law="linear"), None
        return SolverDEM(model, Material(1.0e6, 0.25, e, 0.0), substeps=fine), None

    def run(self) -> np.ndarray:
        """Where the balls end (n, 2) [m]."""
        first, last, device = self.states[0], self.states[-1], self.model.device
        begin, push, finish = (
            (start_bodies, push_body, end_of_bodies)
            if self.of_bodies
            else (start_particles, push_particle, end_of_particles)
        )
        q, qd, f = ("body_q", "body_qd", "body_f") if self.of_bodies else ("particle_q", "particle_qd", "particle_f")
        launch(begin, self.count, [self.x, self.v, getattr(first, q), getattr(first, qd)], device=device)
        for k, (before, after) in enumerate(zip(self.states, self.states[1:], strict=False)):
            launch(push, 1, [self.u, int32(k), getattr(before, f)], device=device)
            self.solver.step(before, after, None, self.contacts, self.dt)
        launch(finish, self.count, [getattr(last, q), self.end], device=device)
        return np.asarray(self.end.numpy())

    def slopes(self, ball: int, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives of a coordinate at the end by `x`, `v` and `u`."""
        weight = np.zeros((self.count, 2))
        weight[ball, axis] = 1.0
        with Tape() as tape:
            self.run()
        tape.backward(grads={self.end: array(weight, dtype=vec2d)})
        gradients = [a.grad.numpy().copy() for a in (self.x, self.v, self.u)]
        tape.zero()
        return gradients[0], gradients[1], gradients[2]
