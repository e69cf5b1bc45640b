"""Eleven balls and the cue ball's place and velocity that bring the last one to a target: P6."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.language import array, array2d, dot, float64, kernel, launch, length, max, min, standard_names, tid, zeros
from ...core.runtime.tape.tape import Tape
from ..validate import Measurement, at_most, case, near
from .papers_contact import descend

vec2d = standard_names()["vec2d"]
RADIUS, STEPS, BALLS = 0.03, 1023, 11


@kernel
def rack(cue: array(dtype=vec2d), placed: array(dtype=vec2d), x: array2d(dtype=vec2d), v: array2d(dtype=vec2d)):
    i = tid()
    if i == 0:
        x[0, 0], v[0, 0] = cue[0], cue[1]
    else:
        x[0, i], v[0, i] = placed[i], vec2d(float64(0.0), float64(0.0))


@kernel
def roll(x: array2d(dtype=vec2d), v: array2d(dtype=vec2d), h: float64, e: float64, keep: float64):
    """Every ball takes its half of the impulses of all that it meets, at the moment of the impact; all steps.

    Overlap and normal are those of the step's end, at the velocities before it, and the normal is divided by its
    length and 1e-6 more: whatever differs from that changes all digits later.
    """
    for k in range(x.shape[0] - 1):
        for i in range(x.shape[1]):
            place, coming = x[k, i], v[k, i]
            shift, jump = vec2d(float64(0.0), float64(0.0)), vec2d(float64(0.0), float64(0.0))
            for j in range(x.shape[1]):
                apart, slip = place + h * coming - (x[k, j] + h * v[k, j]), coming - v[k, j]
                if j != i and dot(apart, apart) < keep * keep:
                    normal = apart / (length(apart) + 1.0e-6)
                    against = dot(normal, slip)
                    if against < 0.0:
                        push = -0.5 * (1.0 + e) * against * normal
                        early = h - (length(apart) - keep) / min(against, float64(-1.0e-3))
                        jump = jump + push
                        shift = shift - max(early, float64(0.0)) * push
            v[k + 1, i] = coming + jump
            x[k + 1, i] = place + h * (coming + jump) + shift


@kernel
def miss(x: array2d(dtype=vec2d), target: vec2d, loss: array(dtype=float64)):
    last = x[x.shape[0] - 1, x.shape[1] - 1] - target
    loss[0] = dot(last, last)


class Table:
    """A game: `cue` is (2, 2), place [m] and velocity [m/s]."""

    def __init__(self) -> None:
        rows = [(i, j) for i in range(4) for j in range(i + 1)]
        d = 2.0 * RADIUS
        placed = [(0.0, 0.0), *((0.5 + i * d, 0.5 + j * d - 0.7 * i * RADIUS) for i, j in rows)]
        self.placed = array(placed, dtype=vec2d)
        self.cue = array([(0.1, 0.5), (0.3, 0.0)], dtype=vec2d, requires_grad=True)
        self.x, self.v = (zeros((STEPS + 1, BALLS), vec2d, "cpu", requires_grad=True) for _ in range(2))
        self.loss = zeros(1, float64, "cpu", requires_grad=True)

    def play(self) -> float:
        """The squared distance of the last ball from the target [m^2]."""
        launch(rack, BALLS, [self.cue, self.placed, self.x, self.v], device="cpu")
        launch(roll, 1, [self.x, self.v, float64(0.003), float64(0.8), float64(2.0 * RADIUS)], device="cpu")
        launch(miss, 1, [self.x, vec2d(0.9, 0.75), self.loss], device="cpu")
        return float(self.loss.numpy()[0])

    def closure(self) -> float:
        """The same, with its gradient in the cue."""
        self.cue.grad.zero_()
        with Tape() as tape:
            loss = self.play()
        tape.backward(self.loss)
        return loss


@case("P6", "papers", "billiards")
def billiards() -> Iterator[Measurement]:
    """Y. Hu et al. 2020 (DiffTaichi, billiards): e = 0.8, 1023 steps of 3 ms; gradient descent with 0.01 on place
    and velocity of the cue ball. Numbers by an independent program in float64."""
    table = Table()
    yield near("loss at the start [m^2]", 0.0454166, table.closure(), absolute=1.0e-7)
    gradient = table.cue.grad.numpy().ravel().copy()
    for what, expected, measured in zip(
        ("x", "y", "vx", "vy"), (-0.5183188, 1.1283947, -0.6967855, 1.2795996), gradient, strict=True
    ):
        yield near(f"gradient by {what}", expected, measured, absolute=1.0e-6)
    worst, start = 0.0, table.cue.numpy().copy()
    for k in range(4):
        step = 1.0e-6 * np.eye(4)[k].reshape(2, 2)
        sides = []
        for side in (1.0, -1.0):
            table.cue.assign(start + side * step)
            sides.append(table.play())
        worst = max(worst, abs((sides[0] - sides[1]) / 2.0e-6 - gradient[k]))
    table.cue.assign(start)
    yield at_most("largest difference from central differences", 1.0e-6, worst)
    losses = descend(table.closure, table.cue, 0.01, 200)
    for iteration, expected in ((1, 0.0293009), (20, 5.637e-3), (50, 5.714e-4), (100, 2.257e-5), (200, 2.208e-5)):
        yield near(f"loss after {iteration} iterations [m^2]", expected, losses[iteration], relative=1.0e-2)
    for axis, expected in enumerate((0.500246, -0.000885)):
        yield near(f"v{'xy'[axis]} after 200 [m/s]", expected, table.cue.numpy()[1, axis], absolute=1.0e-4)
