"""A robot of masses and springs that learns to walk, and a ground whose moments of impact spoil its gradient: P7."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import array, exp, float64, int32, kernel, launch, length, sin, standard_names, tanh, tid, zeros
from ...optim import Problem
from ..validate import Measurement, at_least, at_most, case

vec2d = standard_names()["vec2d"]
vec2i = standard_names()["vec2i"]

PLACES = [(0.2, 0.1), (0.3, 0.13), (0.4, 0.1), (0.2, 0.2), (0.3, 0.2), (0.4, 0.2)]  # [m]
LINKS = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (2, 5), (0, 4), (1, 4), (2, 4), (3, 1), (5, 1)]
STIFFNESS, ACTUATION, DAMPING, GRAVITY, GROUND = 14000.0, 0.1, 15.0, -4.8, 0.1  # [N/m], [-], [1/s], [m/s^2], [m]
STEPS, DT, SINES, HIDDEN, GOAL = 682, 0.004, 10, 32, (0.9, 0.2)
INPUTS = SINES + 4 * len(PLACES) + 2


@kernel
def feel(
    x: array(dtype=vec2d), v: array(dtype=vec2d), weights: array(dtype=float64, ndim=2), bias: array(dtype=float64),
    goal: vec2d, time: float64, hidden: array(dtype=float64),
):  # fmt: skip
    """The hidden layer: sines of time, offsets from the middle, velocities, and the way to the goal."""
    j = tid()
    middle = vec2d()
    for i in range(6):
        middle += x[i] / float64(6.0)
    total = bias[j]
    for k in range(10):
        total += weights[j, k] * sin(float64(10.0) * time + float64(0.6283185307179586) * float64(k))
    for i in range(6):
        offset, speed = float64(0.05) * (x[i] - middle), float64(0.05) * v[i]
        total += weights[j, 10 + 4 * i] * offset[0] + weights[j, 11 + 4 * i] * offset[1]
        total += weights[j, 12 + 4 * i] * speed[0] + weights[j, 13 + 4 * i] * speed[1]
    total += weights[j, 34] * (goal[0] - middle[0]) + weights[j, 35] * (goal[1] - middle[1])
    hidden[j] = tanh(total)


@kernel
def drive(
    hidden: array(dtype=float64), weights: array(dtype=float64, ndim=2), bias: array(dtype=float64),
    activation: array(dtype=float64),
):  # fmt: skip
    """The output layer: how far each spring contracts."""
    s = tid()
    total = bias[s]
    for j in range(hidden.shape[0]):
        total += weights[s, j] * hidden[j]
    activation[s] = tanh(total)


@kernel
def advance(
    x: array(dtype=vec2d), v: array(dtype=vec2d), links: array(dtype=vec2i), rest: array(dtype=float64),
    activation: array(dtype=float64), timed: int32, x_next: array(dtype=vec2d), v_next: array(dtype=vec2d),
):  # fmt: skip
    """One step of a mass of 1 kg: springs, gravity, damping, and a ground at which it stops.

    timed: a mass that meets the ground moves until the moment of impact, and the step's rest without velocity.
    """
    i = tid()
    h = float64(DT)
    push = vec2d(float64(0.0), float64(GRAVITY))
    for s in range(links.shape[0]):
        a, b = links[s][0], links[s][1]
        if a == i or b == i:
            reach = x[b] - x[a]
            pull = float64(STIFFNESS) * (length(reach) - rest[s] * (float64(1.0) + float64(ACTUATION) * activation[s]))
            force = pull * reach / length(reach)
            if b == i:
                force = -force
            push += force
    speed = exp(float64(-DAMPING * DT)) * v[i] + h * push
    place, above = x[i] + h * speed, x[i][1] - float64(GROUND)
    if timed == 1 and place[1] < float64(GROUND) and speed[1] < float64(-1.0e-4):
        place = x[i] - (above / speed[1]) * speed
        speed = vec2d()
    if timed == 0 and above < float64(0.0) and speed[1] < float64(0.0):
        place = x[i]
        speed = vec2d()
    x_next[i] = place
    v_next[i] = speed


@kernel
def rate(x: array(dtype=vec2d), loss: array(dtype=float64)):
    loss[0] = -x[0][0]


class Robot:
    """The robot in all steps, and the weights of its controller as a problem."""

    def __init__(self, timed: bool):
        rng = np.random.default_rng(0)
        span = 2.0 * math.sqrt(2.0 / (HIDDEN + INPUTS))
        sizes = {"in": (HIDDEN, INPUTS), "bias in": (HIDDEN,), "out": (len(LINKS), HIDDEN), "bias out": (len(LINKS),)}
        starts = {name: rng.normal(size=size) * (span if len(size) > 1 else 0.0) for name, size in sizes.items()}
        self.weights = {name: array(value, dtype=float64, requires_grad=True) for name, value in starts.items()}
        self.x, self.v = ([_states(len(PLACES), vec2d) for _ in range(STEPS + 1)] for _ in range(2))
        self.x[0].assign(PLACES)
        ends = np.array(PLACES)[np.array(LINKS)]
        self.rest = array(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), dtype=float64)
        self.links, self.timed = array(LINKS, dtype=vec2i), int32(timed)
        self.hidden = [_states(HIDDEN, float64) for _ in range(STEPS)]
        self.activation = [_states(len(LINKS), float64) for _ in range(STEPS)]
        self.loss = _states(1, float64)
        self.problem = Problem(self.walk, self.weights, self.loss)

    def walk(self) -> None:
        first, first_bias, second, second_bias = self.weights.values()
        for k in range(STEPS):
            x, v, hidden, activation = self.x[k], self.v[k], self.hidden[k], self.activation[k]
            inputs = [x, v, first, first_bias, vec2d(*GOAL), float64(DT * k), hidden]
            launch(feel, HIDDEN, inputs, device="cpu")
            launch(drive, len(LINKS), [hidden, second, second_bias, activation], device="cpu")
            step = [x, v, self.links, self.rest, activation, self.timed, self.x[k + 1], self.v[k + 1]]
            launch(advance, len(PLACES), step, device="cpu")
        launch(rate, 1, [self.x[STEPS], self.loss], device="cpu")

    def learn(self, rounds: int) -> tuple[list[float], list[float]]:
        """Steps of 0.2 against the gradient; the losses and the norms of gradients."""
        z, losses, norms = self.problem.start(), [], []
        for _ in range(rounds):
            loss, gradient = self.problem.value_and_gradient(z)
            losses.append(loss)
            norms.append(float(np.linalg.norm(gradient)))
            z = z - 0.2 * gradient / norms[-1]
        return [*losses, self.problem.value(z)], norms


def _states(count: int, dtype: Any) -> array:
    return zeros(count, dtype=dtype, device="cpu", requires_grad=True)


@case("P7", "papers", "a robot whose feet graze the ground")
def grazing_robot() -> Iterator[Measurement]:
    """Y. Hu et al. 2020 (DiffTaichi, mass_spring, robot A): 6 masses, 11 springs, a network of 36, 32 and 11 neurons,
    682 steps of 4 ms, steps of 0.2 along the gradient. On a ground that stops masses at the end of the step the robot
    learns at first. With the moment of impact, places follow heights by v_x / v_y: where feet rest and graze, the
    gradient grows without bound, in the authors' rule as in this one, and `Problem.report` says so."""
    sticky, timed = Robot(False), Robot(True)
    reports = {"end": sticky.problem, "moment": timed.problem}
    kinds = {name: problem.report(samples=2, directions=1).kinds for name, problem in reports.items()}
    yield at_most("end of the step: the report calls a step steep", 0.0, "steep" in kinds["end"])
    yield at_least("moment of impact: the report calls a step steep", 1.0, "steep" in kinds["moment"])
    losses, norms = sticky.learn(5)
    yield at_most("end of the step: loss after 5 rounds [m]", -0.19, min(losses))
    yield at_most("end of the step: the largest gradient [m]", 1.0, max(norms))
    yield at_least("moment of impact: the largest gradient of 12 rounds [m]", 5.0, max(timed.learn(12)[1]))
