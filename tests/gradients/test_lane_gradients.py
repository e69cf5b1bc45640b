"""Adjoints in lanes, with large variables in buffers and few states for a loop: the bits of single threads.

Every random program is differentiated twice: thread by thread with the usual limits, and with room for so few states
that loops need several blocks and checkpoints, as lanes of vectors or with all compounds that are indexed in buffers.

10 programs every day; WARPSIM_LANE_PROGRAMS=5000 runs that many others.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager

import numpy as np
import program_runs
import pytest
from grammar.smooth import programs
from hypothesis import HealthCheck, Phase, given, seed, settings

import warpsim as wp
from warpsim.core.emit.cpu.lanes import Lanes
from warpsim.core.passes.analysis import large_compounds
from warpsim.core.passes.reverse import checkpoints
from warpsim.errors import NotDifferentiableError

pytestmark = [pytest.mark.cpu(reason="lanes are those of the host"), pytest.mark.assembled_one_in(19)]
MORE = int(os.environ.get("WARPSIM_LANE_PROGRAMS", "0"))
COUNT = MORE or 10
CHUNK = 100
REPLICAS = 20  # of two threads each: two strips of 16 lanes and a rest
LIMITS = ((large_compounds, "LARGE"), (checkpoints, "_MOST_STATES"), (checkpoints, "_FEWEST_STATES"))


@pytest.fixture(autouse=True)
def _switches():
    wp.config.cache_kernels = False


@contextmanager
def limits(lanes, *numbers):
    """Compile in lanes or not, with these limits."""
    before = wp.config.lanes, [getattr(module, name) for module, name in LIMITS]
    wp.config.lanes = lanes
    for (module, name), number in zip(LIMITS, numbers, strict=True):
        setattr(module, name, number)
    yield
    wp.config.lanes = before[0]
    for (module, name), number in zip(LIMITS, before[1], strict=True):
        setattr(module, name, number)


def gradients(program):
    """The gradients of the losses of all replicas, which start from different numbers."""
    kernels = program_runs.kernels_of(program)
    rows = program_runs.start() + np.random.default_rng(5).uniform(-0.2, 0.2, (REPLICAS, program_runs.NUMBERS))
    arrays = program_runs.memory(rows, requires_grad=True)
    with wp.Tape() as tape:
        loss = program_runs.launch(kernels, program, arrays, REPLICAS)
    tape.backward(grads={loss: wp.ones_like(loss)})
    return {name: a.grad.numpy() for name, a in arrays.items()}


def outcome(program, large, states, strips):
    """Whether the adjoints of a program could run in lanes. Different bits raise."""
    try:
        with limits("off", 16, 256, 4):
            wanted = gradients(program)
    except NotDifferentiableError:
        return "refused"
    before = len(strips)
    with limits("always", large, states, states):
        found = gradients(program)
    for name, numbers in wanted.items():
        assert found[name].tobytes() == numbers.tobytes() or equal(found[name], numbers), f"{name}\n{program}"
    return "in lanes" if len(strips) > before else "thread by thread"


def equal(found, wanted):
    """Whether numbers are the same but for the sign of zeros."""
    names = wanted.dtype.names
    return all(equal(found[n], wanted[n]) for n in names) if names else np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("chunk", range(-(-COUNT // CHUNK)))
def test_lanes_buffers_and_blocks_change_no_bits(chunk, monkeypatch):
    counts: Counter[str] = Counter()
    wanted, seen, strips = min(CHUNK, COUNT - chunk * CHUNK), set(), []
    strip = Lanes.strip
    monkeypatch.setattr(Lanes, "strip", lambda self, body: strips.append(body) or strip(self, body))

    @seed(chunk + (3000 if MORE else 2000))
    @settings(
        max_examples=2 * wanted,
        deadline=None,
        database=None,
        derandomize=False,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(programs())
    def one(program):
        if program not in seen and counts.total() < wanted:
            large = (2, 16)[counts.total() % 2]
            counts[outcome(program, large, 2 + counts.total() % 3, strips)] += 1
            seen.add(program)

    one()
    print(f"\n{dict(counts)}")
    assert counts.total() == wanted
