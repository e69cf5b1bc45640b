"""Random programs: forward mode is the dual of reverse mode, and second order is symmetric and the slope of slopes.

Duality and symmetry hold to rounding whatever a program does, kinks included, so they need no tolerance for
differences; those of gradients are taken where two step sizes agree. Programs that reverse mode refuses are
left out and counted.

10 programs by day and 80 by night; WARPSIM_TANGENT_PROGRAMS=2000 runs that many others.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import program_runs
import pytest
import samples
from grammar.smooth import programs
from hypothesis import HealthCheck, Phase, given, seed, settings

import warpsim as wp
from warpsim.autograd.forward import hvp, jvp
from warpsim.errors import NotDifferentiableError

pytestmark = pytest.mark.assembled_one_in(19)
MORE = int(os.environ.get("WARPSIM_TANGENT_PROGRAMS", "0"))
COUNT = MORE or 80
CHUNK = 10
ROUNDING = 1e-9  # of sums that cancel, at numbers up to the largest in play
STEP = 1e-4


@pytest.fixture(autouse=True)
def _switches():
    wp.config.cache_kernels = False
    wp.config.check_numbers = False  # a program that grows makes NaN on either side


class Recorded:
    """One run of a program on a tape."""

    def __init__(self, kernels, program, numbers):
        self.arrays = program_runs.memory(numbers[None], requires_grad=True)
        with wp.Tape() as self.tape:
            self.loss = program_runs.launch(kernels, program, self.arrays, 1)

    def gradient(self):
        self.tape.backward(self.loss)
        return flat({name: a.grad for name, a in self.arrays.items()})

    def along(self, direction):
        rows = program_runs.memory(direction[None], requires_grad=False)
        structs = rows["sa"].numpy()
        structs["n"] = 0
        rows["sa"].assign(structs)
        return {a: rows[name] for name, a in self.arrays.items()}

    def tangent(self, direction):
        return float(jvp(self.tape, tangents=self.along(direction))[self.loss].numpy()[0])

    def product(self, direction):
        found = hvp(self.tape, loss=self.loss, vector=self.along(direction))
        return flat({name: found[a] for name, a in self.arrays.items()})


def flat(found):
    """Numbers of all arrays in a row, in the order of `program_runs.FIELDS`."""
    memory = {name: a.numpy() for name, a in found.items()}
    memory["sa.x"], memory["sa.v"] = memory["sa"]["x"], memory["sa"]["v"]
    return np.concatenate([memory[name].reshape(-1) for name, _ in program_runs.FIELDS])


def outcome(program, device):
    """What became of a program: right, refused, rough. A wrong derivative raises."""
    kernels, numbers = program_runs.kernels_of(program), program_runs.start()
    u, v = np.random.default_rng(5).uniform(-1, 1, (2, len(numbers)))
    with wp.ScopedDevice(device):
        try:
            here = Recorded(kernels, program, numbers)
            gradient = here.gradient()
            slope, one, two = here.tangent(u), here.product(u), here.product(v)
        except NotDifferentiableError:
            return "refused"
        ends = [Recorded(kernels, program, numbers + by * u).gradient() for by in (STEP, -STEP, STEP / 2, -STEP / 2)]
    if not np.isfinite([gradient, one, two]).all():
        return "rough"
    scale = 1.0 + np.abs([gradient, one, two]).max()
    assert abs(slope - gradient @ u) <= ROUNDING * scale * len(u), f"forward {slope}, reverse {gradient @ u}\n{program}"
    assert abs(one @ v - two @ u) <= ROUNDING * scale * len(u), f"u H v {one @ v}, v H u {two @ u}\n{program}"
    coarse, fine = (ends[0] - ends[1]) / (2 * STEP), (ends[2] - ends[3]) / STEP
    if not np.abs(fine - coarse).max() <= 1e-6 * scale:
        return "rough"
    wrong = np.abs(one - fine) > 4e-6 * scale
    assert not wrong.any(), f"products {one[wrong]}, differences {fine[wrong]}\n{program}"
    return "right"


@pytest.mark.parametrize("chunk", samples.parts(-(-COUNT // CHUNK), MORE or 1))
def test_tangents_and_products_of_random_programs(chunk):
    counts: Counter[str] = Counter()
    seen = set()
    device = None if chunk % 6 == 0 else "interp"

    @seed(chunk + (5000 if MORE else 3000))
    @settings(
        max_examples=2 * CHUNK,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def one(program):
        if program not in seen and counts.total() < CHUNK:
            counts[outcome(program, device)] += 1
            seen.add(program)

    one()
    print(f"\n{device or 'compiled'}: {dict(counts)}")
    assert counts.total() == CHUNK
    assert counts["right"] >= 0.6 * CHUNK, counts
