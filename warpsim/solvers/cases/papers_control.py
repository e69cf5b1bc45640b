"""Forces on one ball that send another to the origin, as papers on differentiable contact set them: P3 and P4."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import array, dot, float64, func, int32, kernel, launch, length, sqrt, standard_names, zeros
from ...core.runtime.tape.tape import Tape
from ...optim import LBFGS
from ..validate import FULL, Measurement, at_most, case, near
from .papers_contact import descend
from .papers_engines import XPBD, Balls, Rollout

vec2d = standard_names()["vec2d"]
RADIUS, STEPS, NOWHERE = 0.2, 480, 1.0e3
AT_END, AT_END_TIMED, AT_IMPACT = 0, 1, 2  # normals of the step's end; the same with the time of impact; all of impact


@func
def when(offset: vec2d, way: vec2d, keep: float64) -> float64:
    """Which part of a step two balls move until they are `keep` apart."""
    air, along, far = dot(offset, offset) - keep * keep, dot(offset, way), dot(way, way)
    return air / (sqrt(along * along - far * air) - along)


@kernel
def play(
    places: array(dtype=vec2d), u: array(dtype=vec2d), weight: float64, wall: float64, radius: float64, h: float64,
    mode: int32, loss: array(dtype=float64),
):  # fmt: skip
    """Two elastic balls of 1 kg at rest, forces u on the first; how far the second is from the origin, and the effort.

    Impacts are those of the velocities before the step's forces. wall: the height at which balls bounce off.
    """
    zero = vec2d(float64(0.0), float64(0.0))
    p, q, v, w, effort, keep = places[0], places[1], zero, zero, float64(0.0), 2.0 * radius
    for k in range(u.shape[0]):
        offset, coming, next = q - p, w - v, w - v - h * u[k]
        then = offset + h * coming
        jump, early, up, up_early = zero, zero, float64(0.0), float64(0.0)
        if length(then) < keep and dot(then, coming) < 0.0:
            normal = then / length(then)
            t = h + (keep - length(then)) / dot(coming, normal)
            if mode == 2:
                t = h * when(offset, h * next, keep)
                normal = (offset + t * next) / keep
                coming = coming - t * u[k]
            jump = dot(coming, normal) * normal
            if mode > 0:
                early = t * jump
        if q[1] + h * w[1] + radius > wall and w[1] > 0.0:
            up = -2.0 * w[1]
            up_early = up * (wall - radius - q[1]) / w[1]
        v = v + h * u[k] + jump
        w = w - jump + vec2d(float64(0.0), up)
        p = p + h * v - early
        q = q + h * w + early - vec2d(float64(0.0), up_early)
        effort = effort + h * dot(u[k], u[k])
    loss[0] = dot(q, q) + weight * effort


class Game:
    """`play` from a constant force on; `u` (480, 2) [N] is free."""

    def __init__(self, places: Any, force: Any, weight: float, mode: int, wall: float = NOWHERE):
        self.places, self.mode = array(places, dtype=vec2d), int32(mode)
        self.numbers = [float64(number) for number in (weight, wall, RADIUS, 1.0 / STEPS)]
        self.u = array(np.tile(force, (STEPS, 1)), dtype=vec2d, requires_grad=True)
        self.loss = zeros(1, float64, "cpu", requires_grad=True)

    def closure(self) -> float:
        """The loss, with its gradient."""
        with Tape() as tape:
            launch(play, 1, [self.places, self.u, *self.numbers, self.mode, self.loss], device="cpu")
        tape.backward(self.loss)
        return float(self.loss.numpy()[0])


@kernel
def judge(x: array(dtype=vec2d), u: array(dtype=vec2d), weight: float64, loss: array(dtype=float64)):
    """The same loss of a solver's rollout."""
    effort = float64(0.0)
    for k in range(u.shape[0]):
        effort = effort + dot(u[k], u[k])
    loss[0] = dot(x[1], x[1]) + weight * effort / float64(u.shape[0])


def search(solver: str, places: Any, force: Any, weight: float, most: int) -> tuple[float, int]:
    """The loss that L-BFGS reaches with the contact of a solver, and after how many evaluations."""
    rollout = Rollout(solver, Balls(RADIUS, places, [(0.0, 0.0)] * 2), STEPS, 1.0)
    rollout.u.assign(np.tile(force, (STEPS, 1)))

    def closure() -> float:
        with Tape() as tape:
            rollout.run()
            launch(judge, 1, [rollout.end, rollout.u, float64(weight), rollout.loss], device="cpu")
        tape.backward(rollout.loss)
        return float(rollout.loss.numpy()[0])

    fit = LBFGS([rollout.u]).minimize(closure, most)
    return fit.loss, fit.evaluations


def best_push() -> float:
    """The optimum of P3 in closed form: of the moment s of the impact, force falls linearly until then."""
    d, best = 1.0 - 0.4 / math.sqrt(2.0), math.inf
    for s in np.linspace(0.5, 0.9, 40001):
        a, b = 0.8 / s + 2.0 * (1.0 - s) ** 2, -(4.0 * (1.0 - s) + 2.4 * d / s**2)
        best = min(best, 2.0 + 2.4 * d * d / s**3 - b * b / (4.0 * a))
    return best


@case("P3", "papers", "control of a ball by another, head-on")
def head_on() -> Iterator[Measurement]:
    """Zhong et al. 2022, task 3: balls of 0.2 m at rest on a diagonal, |x2(1)|^2 + 0.1 int |u|^2, 480 forces, gradient
    descent with 10, 1000 iterations. The authors reach 1.395813 with velocity impulses and the moment of impact and
    2.001444 (no force at all) without; convex 1.408, Nimble 1.409, PBD 1.430, Warp's compliant 1.662, Brax 2.000."""
    places, force = [(-2.0, -2.0), (-1.0, -1.0)], (3.0, 3.0)
    optimum = best_push()
    yield near("optimum in closed form", 1.3965422, optimum, absolute=1.0e-6)
    timed, late = Game(places, force, 0.1, AT_END_TIMED), Game(places, force, 0.1, AT_END)
    yield near("by hand: loss at the start", 2.0585382, timed.closure(), absolute=1.0e-6)
    yield near("by hand: gradient by the first force", -2.4809e-4, timed.u.grad.numpy()[0, 0], absolute=1.0e-8)
    yield Measurement("by hand", optimum, descend(timed.closure, timed.u, 10.0, 1000)[-1], 1.39, 1.41)
    lost = descend(late.closure, late.u, 10.0, 1000)[-1]
    yield near("by hand, without the moment of impact", 2.0014316, lost, absolute=1.0e-5)


@case("P3-XPBD", "papers", "control of a ball by another, head-on, with a solver", tier=FULL)
def head_on_xpbd() -> Iterator[Measurement]:
    """The scene of P3 with particles that touch, one substep for each force."""
    loss, evaluations = search(XPBD, [(-2.0, -2.0), (-1.0, -1.0)], (3.0, 3.0), 0.1, 25)
    yield Measurement("XPBD, L-BFGS", 1.3965422, loss, 1.39, 1.41)
    yield at_most("XPBD, L-BFGS: evaluations", 60, evaluations)


@case("P4", "papers", "control of a ball by another, from the side")
def from_the_side() -> Iterator[Measurement]:
    """Y. Zhong et al. 2023 (arXiv 2305.00092): as P3 from (-1, -2), with 0.01 and gradient descent with 200, 500
    iterations; normal and velocity of the moment of impact (best 0.3148), or the normal of the step's end (best
    0.3942). Then a ball that meets a wall first, with 50, 1500 iterations; its optimum is that of a mirror image."""
    places, force = [(-1.0, -2.0), (-1.0, -1.0)], (0.0, 3.0)
    exact, plain = Game(places, force, 0.01, AT_IMPACT), Game(places, force, 0.01, AT_END_TIMED)
    yield near("by hand: loss at the start", 1.1810888, exact.closure(), absolute=1.0e-6)
    yield Measurement("by hand", 0.3114169, min(descend(exact.closure, exact.u, 200.0, 500)), 0.311, 0.318)
    losses = descend(plain.closure, plain.u, 200.0, 500)
    yield near("by hand, with the normal of the step's end", 0.3942, min(losses), absolute=3.0e-3)
    twice = Game([(0.25, -0.3), (-0.5, 0.6)], (-3.5, 3.0), 0.01, AT_IMPACT, 1.0)
    yield Measurement("wall, by hand", 0.3736364, min(descend(twice.closure, twice.u, 50.0, 1500)), 0.3733, 0.38)


@case("P4-XPBD", "papers", "control of a ball by another, from the side, with a solver", tier=FULL)
def from_the_side_xpbd() -> Iterator[Measurement]:
    """The scene of P4 with particles that touch: normals of the moment of impact, velocities of the substep's end. In
    25 iterations it comes to 0.3205, not to the 0.318 that is asked for of velocities of that moment."""
    loss, evaluations = search(XPBD, [(-1.0, -2.0), (-1.0, -1.0)], (0.0, 3.0), 0.01, 25)
    yield Measurement("XPBD, L-BFGS", 0.3114169, loss, 0.311, 0.325)
    yield at_most("XPBD, L-BFGS: evaluations", 60, evaluations)
