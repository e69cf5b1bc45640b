"""Derivatives through a minimisation, and what checkpoints cost against what is optimal: P20 and P21."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...core.language import array, array2d, dot, float64, int32, kernel, launch, length, round, standard_names, tid
from ...core.language import atomic_add, zeros
from ...core.runtime.rollout.checkpoint import checkpoint
from ...core.runtime.tape.tape import Tape
from ..validate import Measurement, at_least, at_most, case, near

vec2d = standard_names()["vec2d"]
DISCS, STEPS, FRACTION, RATE = 128, 300, 0.98, 0.01


@kernel
def relax(side: array(dtype=float64), d: array(dtype=float64), s: array2d(dtype=vec2d), k: int32):
    """One step of gradient descent of the energy of overlaps, in parts of the side of the periodic square."""
    i = tid()
    pull = vec2d(float64(0.0), float64(0.0))
    size = side[0]
    for j in range(s.shape[1]):
        if j != i:
            apart = s[k, i] - s[k, j]
            apart = size * vec2d(apart[0] - round(apart[0]), apart[1] - round(apart[1]))
            reach = 0.5 * (d[i % 2] + d[j % 2])
            if dot(apart, apart) < reach * reach:
                r = length(apart)
                pull = pull + (2.0 * (1.0 - r / reach) / (reach * r)) * apart
    s[k + 1, i] = s[k, i] + (RATE / size) * pull


@kernel
def energy_of(
    side: array(dtype=float64), d: array(dtype=float64), s: array2d(dtype=vec2d), energy: array(dtype=float64)
):
    """The sum of (1 - r / sigma)^2 over pairs at the end."""
    i = tid()
    total, last = float64(0.0), s.shape[0] - 1
    for j in range(s.shape[1]):
        if j != i:
            apart = s[last, i] - s[last, j]
            apart = side[0] * vec2d(apart[0] - round(apart[0]), apart[1] - round(apart[1]))
            reach = 0.5 * (d[i % 2] + d[j % 2])
            if dot(apart, apart) < reach * reach:
                total = total + 0.5 * (1.0 - length(apart) / reach) * (1.0 - length(apart) / reach)
    atomic_add(energy, 0, total)


@kernel
def square_side(d: array(dtype=float64), side: array(dtype=float64)):
    """The side of a square that discs of both diameters fill to a fraction."""
    side[0] = (64.0 * 3.141592653589793 * (d[0] * d[0] + d[1] * d[1]) / (4.0 * FRACTION)) ** 0.5


class Raft:
    """A raft of discs, half of diameter 1 and half of diameter `d[1]`, from random places."""

    def __init__(self, seed: int):
        self.start = np.random.default_rng(seed).uniform(0.0, 1.0, (DISCS, 2))
        self.d = array([1.0, 1.0], dtype=float64, requires_grad=True)
        self.side, self.energy = (zeros(1, float64, "cpu", requires_grad=True) for _ in range(2))
        self.s = zeros((STEPS + 1, DISCS), vec2d, "cpu", requires_grad=True)

    def run(self, diameter: float) -> float:
        """The energy at the end."""
        self.d.assign([1.0, diameter])
        places = self.s.numpy()
        places[0] = self.start
        self.s.assign(places)
        self.energy.zero_()
        launch(square_side, 1, [self.d, self.side], device="cpu")
        for k in range(STEPS):
            launch(relax, DISCS, [self.side, self.d, self.s, int32(k)], device="cpu")
        launch(energy_of, DISCS, [self.side, self.d, self.s, self.energy], device="cpu")
        return float(self.energy.numpy()[0])

    def slope(self, diameter: float) -> float:
        """Its derivative by the diameter."""
        self.d.grad.zero_()
        with Tape() as tape:
            self.run(diameter)
        tape.backward(self.energy)
        return float(self.d.grad.numpy()[1])


@case("P20", "papers", "bubble raft: derivatives through a minimisation")
def raft() -> Iterator[Measurement]:
    """S. Schoenholz, E. Cubuk 2020 (JAX-MD, meta-optimisation): 128 discs that fill 0.98 of a periodic square, 300
    steps of 0.01 down the energy of their overlaps; its derivative by the diameter of one half of them against central
    differences (1e-7), over 8 seeds. Equal discs find the most order, so energy rises away from a ratio of 1."""
    errors, energies = [], {1.0: 0.0, 1.3: 0.0}
    for seed in range(8):
        one = Raft(seed)
        for diameter in (1.1, 1.3):
            slope, eps = one.slope(diameter), 1.0e-7
            difference = (one.run(diameter + eps) - one.run(diameter - eps)) / (2.0 * eps)
            errors.append(abs(slope - difference) / abs(difference))
        for diameter in energies:
            energies[diameter] += one.run(diameter) / 8.0
    yield at_most("dE/dD, median difference from central differences, relative", 1.0e-5, float(np.median(errors)))
    yield at_most("dE/dD, largest difference, relative", 1.0e-2, max(errors))
    yield at_least("energy at D = 1.3 by that at D = 1", 1.0, energies[1.3] / energies[1.0])


# ----- checkpoints --------------------------------------------------------------------------------


@kernel
def swing(x: array(dtype=float64)):
    i = tid()
    x[i] = x[i] + 0.001 * (1.0 - x[i] * x[i])


def fewest_steps(steps: int, slots: int) -> int:
    """How many steps are run forward again at least, with so many states kept (Griewank and Walther 2000)."""
    times = 1
    while math.comb(slots + times, slots) < steps:
        times += 1
    return (times - 1) * steps - math.comb(slots + times, times - 1)


@case("P21", "papers", "checkpoints against the least that can be")
def checkpoints() -> Iterator[Measurement]:
    """A. Griewank, A. Walther 2000: s states and each step at most r times reverse C(s + r, s) steps, 286 for (10, 3),
    1771 for (20, 3). Steps that are run again besides those recorded, against the least for that many states."""
    yield near("steps with 10 states, 3 times", 286, math.comb(13, 3))
    yield near("steps with 20 states, 3 times", 1771, math.comb(23, 3))
    for steps, slots in ((100, 5), (286, 10), (1000, 10), (1771, 20), (10000, 14)):
        x = array(np.linspace(0.1, 0.5, 4), dtype=float64, requires_grad=True)
        with Tape() as tape:
            report = checkpoint(lambda k, x=x: launch(swing, 4, [x]), [x], steps, schedule="binomial", slots=slots)
        tape.backward(grads={x: array(np.ones(4), dtype=float64)})
        least = fewest_steps(steps, slots)
        yield at_most(f"{steps} steps, {slots} states: steps run again", least + 5, report.replayed, least)
        yield at_most(
            f"{steps} steps, {slots} states: states at the peak", slots + 2.0, report.peak_states, slots + 1.0
        )
