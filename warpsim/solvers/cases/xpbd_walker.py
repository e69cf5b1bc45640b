"""A walker of springs: what its springs do through hundreds of steps of contact is learnt by descent of a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from ...core.language import array, array2d, cos, float64, kernel, launch, sin, tanh, tid, zeros
from ...core.runtime.tape.tape import Tape
from ...optim import Adam
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import FULL, Measurement, at_least, at_most, case
from ..xpbd.solver import SolverXPBD

CELL, CELLS = 0.1, ((0, 0), (2, 0), (0, 1), (1, 1), (2, 1))  # two legs under a back of three squares [m]
LENGTH = 3.0 * CELL  # of the body [m]
STEPS, DT = 682, 0.004  # [s]
STRIDE, REACH = 15.0, 0.15  # angular frequency of the gait [rad/s], largest relative change of a spring of a leg
MASS, STIFFNESS, DAMPING, DRAG = 0.01, 300.0, 0.5, 2.0  # [kg], [N/m], [N s/m], [1/s]
RATE, LARGEST = 0.07, 3.0  # of Adam; of the norm of a gradient [m]
ROUNDS = 24


@kernel
def drive(weights: array2d(dtype=Any), reach: array(dtype=Any), phase: Any, activation: array(dtype=Any)):
    """Relative changes of rest lengths: two harmonics of a period for every spring, kept within its reach."""
    s = tid()
    slow = weights[s, 1] * sin(phase) + weights[s, 2] * cos(phase)
    fast = weights[s, 3] * sin(2.0 * phase) + weights[s, 4] * cos(2.0 * phase)
    activation[s] = reach[s] * tanh(weights[s, 0] + slow + fast)


@kernel
def advance(first: array(dtype=Any), last: array(dtype=Any), loss: array(dtype=Any)):
    """Minus how far the middle of all particles has moved along x [m]."""
    moved = loss[0] * 0.0
    for i in range(last.shape[0]):
        moved = moved + last[i][0] - first[i][0]
    loss[0] = -moved / float64(last.shape[0])


def body() -> tuple[ModelBuilder, list[float]]:
    """Squares of springs with diagonals on a floor, held between two plates without friction; reaches of the springs:
    upright ones and diagonals of legs are muscles."""
    corners = [[(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)] for i, j in CELLS]
    places = list(dict.fromkeys(place for square in corners for place in square))
    reaches: dict[tuple[int, ...], float] = {}
    for (_, row), square in zip(CELLS, corners, strict=True):
        for one, other in combinations(square, 2):
            pair = tuple(sorted((places.index(one), places.index(other))))
            muscle = row == 0 and one[1] != other[1]
            reaches[pair] = max(reaches.get(pair, 0.0), REACH if muscle else 0.0)
    builder = ModelBuilder(gravity=-9.81)
    builder.add_particles([[CELL * x, CELL * y, 0.0] for x, y in places], mass=MASS, radius=0.0)
    builder.add_springs(list(reaches), STIFFNESS, DAMPING)
    builder.add_ground_plane(cfg=ShapeConfig(mu=1.0, margin=0.0))
    for side in (1.0, -1.0):
        builder.add_shape_plane((0.0, 0.0, side), (0.0, 0.0, 0.0), ShapeConfig(mu=0.0, margin=0.0))
    return builder, list(reaches.values())


class Walk:
    """The walker over all steps, in states of their own."""

    def __init__(self, steps: int = STEPS):
        builder, reaches = body()
        self.model = builder.finalize("cpu", requires_grad=True, dtype=float64)
        self.solver, self.control = SolverXPBD(self.model, substeps=2, damping=DRAG), self.model.control()
        self.states = [self.model.state() for _ in range(steps + 1)]
        self.reach = array(reaches, dtype=float64, device="cpu")
        weights = 0.1 * np.random.default_rng(0).normal(size=(len(reaches), 5))
        self.weights = array(weights, dtype=float64, device="cpu", requires_grad=True)
        self.loss = zeros(1, float64, "cpu", requires_grad=True)

    def go(self) -> float:
        """How far [m] the middle gets."""
        for k, (before, after) in enumerate(zip(self.states, self.states[1:], strict=False)):
            inputs = [self.weights, self.reach, float64(STRIDE * DT * k), self.control.spring_activation]
            launch(drive, self.model.spring_count, inputs, device="cpu")
            self.solver.step(before, after, self.control, None, DT)
        ends = [self.states[0].particle_q, self.states[-1].particle_q, self.loss]
        launch(advance, 1, ends, device="cpu")
        return -float(self.loss.numpy()[0])

    def differentiate(self) -> float:
        """The same, with its negative gradient in `weights.grad`."""
        with Tape() as tape:
            distance = self.go()
        self.weights.grad.zero_()
        tape.backward(self.loss)
        return distance

    def depth(self) -> float:
        """How deep [m] the lowest particle was below the floor, over all states."""
        return max(0.0, -min(float(state.particle_q.numpy()[:, 1].min()) for state in self.states))

    def error_of_gradient(self, eps: float = 1e-6) -> float:
        """Of the slope along a random direction, relative to central differences."""
        direction, before = np.random.default_rng(1).normal(size=self.weights.shape), self.weights.numpy().copy()
        self.differentiate()
        slope, ends = -float((self.weights.grad.numpy() * direction).sum()), []
        for side in (eps, -eps):
            self.weights.assign(before + side * direction)
            ends.append(self.go())
        self.weights.assign(before)
        difference = (ends[0] - ends[1]) / (2.0 * eps)
        return abs(slope - difference) / abs(difference)


def learn(walk: Walk, rounds: int = ROUNDS) -> tuple[list[float], np.ndarray]:
    """Distances [m] before each round of Adam, and the weights of the farthest."""
    optimizer, distances, best = Adam([walk.weights], lr=RATE), [], walk.weights.numpy().copy()
    for _ in range(rounds):
        distances.append(walk.differentiate())
        if distances[-1] == max(distances):
            best = walk.weights.numpy().copy()
        gradient = walk.weights.grad.numpy()
        walk.weights.grad.assign(gradient * min(1.0, LARGEST / np.linalg.norm(gradient)))
        optimizer.step([walk.weights.grad])
    return distances, best


@case("T7", "xpbd", "a walker of springs learns to walk", tier=FULL)
def walker() -> Iterator[Measurement]:
    """Twelve masses on a floor with friction; a periodic change of the rest lengths of its legs, of two harmonics each,
    is learnt by 24 rounds of Adam through 682 steps. Every touch of a foot is a kink, so that distances go up and down
    between rounds, and the best counts: at least the length of the body, 0.3 m, and three times that of the start. The
    gait must not live on the time step: it gets as far with four times the substeps."""
    walk, error = Walk(), Walk(100).error_of_gradient()
    yield at_most("error of the gradient of 100 steps, relative", 1e-5, error)
    distances, best = learn(walk)
    yield at_least("distance of the best round [m]", LENGTH, max(distances))
    yield at_least("the same per distance before learning", 3.0, max(distances) / abs(distances[0]))
    walk.weights.assign(best)
    walk.solver.substeps *= 4
    yield at_least("distance with four times the substeps [m]", LENGTH, walk.go())
    yield at_most("deepest particle in the floor [m]", 1e-9, walk.depth())
