"""Random simulations with gradients on some arrays: values and gradients are those of a Python twin, or refused.

Every program (see `grammar.mixed`) runs on a tape and, as plain Python on numbers that record their past, by `twin`.
The twin knows neither arrays of warpsim nor its adjoint. Programs whose outcome hangs on rounding (a decision, or what
iterations make of the sixteenth digit) are set aside and counted; so are those that are refused. Both counts have a
bound.

40 programs every day and 160 at night, half of them on the interpreter; WARPSIM_MIXED_PROGRAMS=20000 runs that many
others.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
import samples
from grammar import mixed
from mixed_checks import outcome

import warpsim as wp

pytestmark = [pytest.mark.assembled_one_in(19)]
MORE = int(os.environ.get("WARPSIM_MIXED_PROGRAMS", "0"))
FIRST = int(os.environ.get("WARPSIM_MIXED_PROGRAMS_FROM", "100000" if MORE else "0"))
COUNT = MORE or 160
CHUNK = 40


@pytest.fixture(autouse=True)
def _switches():
    wp.config.cache_kernels = False


def device_of(program):
    """The interpreter for every other program of few threads: it need not compile them."""
    return "interp" if not MORE and program.seed % 2 and program.threads < 100 else None


@pytest.mark.parametrize("chunk", samples.parts(-(-COUNT // CHUNK), MORE or 1))
def test_values_and_gradients_of_random_simulations(chunk):
    count, first = min(CHUNK, COUNT - chunk * CHUNK), FIRST + chunk * CHUNK
    programs = [mixed.program(seed) for seed in range(first, first + count)]
    counts = Counter(outcome(program, device_of(program)) for program in programs)
    print(f"\n{dict(counts)}")
    assert counts["rough"] <= 0.4 * count, counts  # one in ten on average
    assert counts["right"] >= 0.5 * count, counts
