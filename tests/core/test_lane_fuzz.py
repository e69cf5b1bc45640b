"""Random kernels compute the same bits in lanes as thread by thread, forwards and backwards.

Texts and memory are those of `test_fuzz`; strips have four lanes, so that the eight threads make two of them. Kernels
that cannot run in lanes are counted: enough must be left.

WARPSIM_FUZZ=5000 runs that many random examples instead of the fixed ones of every day.
"""

from __future__ import annotations

import os

import pytest
from fuzz_runs import TYPES, assert_same, inputs, on_device
from grammar.bits import SIZE, texts
from hypothesis import HealthCheck, given, note, settings
from kernel_text import module

import warpsim as wp
from warpsim.core.emit.cpu.cpu import CpuTarget
from warpsim.core.emit.cpu.lanes import Lanes
from warpsim.core.emit.native import native
from warpsim.errors import NotDifferentiableError

pytestmark = [pytest.mark.cpu(reason="lanes are those of the host"), pytest.mark.assembled_one_in(11)]
EXAMPLES = int(os.environ.get("WARPSIM_FUZZ", "0"))


@pytest.fixture(autouse=True)
def strips(monkeypatch):
    """The strips that were emitted."""
    wp.config.check_numbers = wp.config.cache_kernels = wp.config.verify = False
    emitted = []
    strip = Lanes.strip
    monkeypatch.setattr(native, "lanes", lambda: 4)
    # In registers, sums at one address have the order that LLVM chooses, and it chooses by the code around them.
    monkeypatch.setattr(CpuTarget, "open_accumulators", lambda self: None)
    monkeypatch.setattr(Lanes, "strip", lambda self, body: emitted.append(body) or strip(self, body))
    return emitted


def gradients(kernel, struct):
    """Every gradient after a launch was run backwards from ones; None where that is refused."""
    arrays = [wp.array(a, dtype=t, requires_grad=a.dtype.kind == "f") for a, t in zip(inputs(), TYPES, strict=True)]
    args = [*arrays, wp.zeros(SIZE, dtype=struct), wp.zeros(SIZE, dtype=int)]
    tape = wp.Tape()
    try:
        with tape:
            wp.launch(kernel, dim=SIZE, inputs=args)
        for a in arrays[5:]:
            if a.grad is not None:
                a.grad.fill_(1.0)
        tape.backward()
    except NotDifferentiableError:
        return None
    return [a.grad.numpy() for a in arrays if a.grad is not None]


def results(text, lanes):
    """What a text does to memory and to gradients, with or without lanes."""
    found = module(text, {"wp": wp})
    wp.config.lanes = lanes
    return on_device(found["k"], found["S"], None), gradients(found["k"], found["S"])


def test_random_kernels_compute_the_same_bits_in_lanes(strips):
    counts = {"kernels": 0, "in lanes": 0}

    @settings(
        derandomize=not EXAMPLES,
        max_examples=EXAMPLES or 15,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(texts(most=20 if EXAMPLES else 10))
    def one(text):
        note(text)
        before = len(strips)
        values, slopes = results(text, "always")
        counts["kernels"] += 1
        counts["in lanes"] += len(strips) > before
        wanted, wanted_slopes = results(text, "off")
        assert_same(wanted, values, "in lanes")
        assert (slopes is None) == (wanted_slopes is None)
        assert_same(wanted_slopes or [], slopes or [], "of gradients in lanes")

    one()
    print(counts)
    assert counts["in lanes"] >= 0.15 * counts["kernels"], counts  # 12,000 programs: 0.2 to 0.5 of fifty
