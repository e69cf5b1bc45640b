"""Random programs: the gradient of a tape is that of central differences in float64, or it is refused.

Every program (see `grammar.smooth`) runs once on a tape and once on perturbed replicas of its memory.
Programs on which differences of several step sizes do not agree, for they have a kink or grow too fast,
are set aside and counted; so are those that are refused. Both counts have a bound.

40 programs every day and 800 at night, three of four differentiated on the interpreter, which need not compile them;
WARPSIM_GRADIENT_PROGRAMS=20000 runs that many others, all compiled.
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
from warpsim.errors import NotDifferentiableError

pytestmark = pytest.mark.assembled_one_in(19)
MORE = int(os.environ.get("WARPSIM_GRADIENT_PROGRAMS", "0"))
COUNT = MORE or 800
CHUNK = 40
SURE = 1e-6  # differences agree to this part of the largest slope, or are no measure
PHASES = (Phase.generate, Phase.shrink)


@pytest.fixture(autouse=True)
def _switches():
    wp.config.cache_kernels = False


def outcome(program, device=None):
    """What became of a program: right, refused, rough. A wrong gradient raises."""
    kernels = program_runs.kernels_of(program)
    numbers = program_runs.start()
    value, measured, doubt = program_runs.by_differences(kernels, program, numbers)
    scale = max(1.0, float(np.abs(measured).max()))
    if not np.isfinite(doubt).all() or doubt.max() > SURE * scale:
        return "rough"
    try:
        loss, gradient = program_runs.by_tape(kernels, program, numbers, device)
    except NotDifferentiableError:
        return "refused"
    assert abs(loss - value) <= 1e-9 * max(1.0, abs(value)), f"loss {loss} on the tape, {value} without\n{program}"
    wrong = ~(np.abs(gradient - measured) <= 4.0 * SURE * scale)
    if wrong.any():
        raise AssertionError(f"{described(wrong, gradient, measured)}\n{program}")
    return "right"


def described(wrong, gradient, measured):
    """The wrong numbers by name."""
    sizes = zip(program_runs.FIELDS, program_runs.SIZES, strict=True)
    names = [f"{name}[{k}]" for (name, _), n in sizes for k in range(n)]
    lines = [f"{names[k]}: tape {gradient[k]:.9g}, differences {measured[k]:.9g}" for k in np.flatnonzero(wrong)]
    return "\n".join(["gradients differ", *lines[:20]])


@pytest.mark.parametrize("chunk", samples.parts(-(-COUNT // CHUNK), MORE or 1))
def test_gradients_of_random_programs(chunk):
    counts: Counter[str] = Counter()
    wanted = min(CHUNK, COUNT - chunk * CHUNK)
    seen = set()

    @seed(chunk + (1000 if MORE else 0))
    @settings(
        max_examples=2 * wanted,
        deadline=None,
        database=None,
        derandomize=False,
        phases=PHASES,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(programs())
    def one(program):
        if program not in seen and counts.total() < wanted:  # hypothesis repeats itself
            counts[outcome(program, None if MORE or counts.total() % 4 == 0 else "interp")] += 1
            seen.add(program)  # not those that fail: they are run again to find smaller ones

    one()
    print(f"\n{dict(counts)}")
    assert counts.total() == wanted
    assert counts["refused"] <= 0.1 * wanted, counts  # chunks differ much
    assert counts["rough"] <= 0.2 * wanted, counts
