"""Random programs with gradients in every subset of their arrays: a tape agrees with a Python twin, or refuses.

An array without gradient holds constants, whatever is written to it and in whatever way. Threads have elements of their
own in every array (`grammar.mixed.apart`), so each of them may have a gradient or none. The twin runs the same text as
plain Python (see `twin`) and knows nothing of adjoints. Forward mode carries tangents through all arrays; the Hessian
product is how the gradients change.

WARPSIM_SUBSET_PROGRAMS=20000 runs that many others, half of them compiled.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter

import pytest
from grammar import mixed
from mixed_checks import check_second_order, check_tangent, outcome

import warpsim as wp

pytestmark = pytest.mark.assembled_one_in(97)
MORE = int(os.environ.get("WARPSIM_SUBSET_PROGRAMS", "0"))
SEEDS = {"interp": range(12), "cpu": range(28, 31)}
if MORE:
    SEEDS = {place: range(k * 10**6, k * 10**6 + MORE // 2) for k, place in enumerate(SEEDS, 1)}


@pytest.fixture(autouse=True)
def _switches():
    wp.config.cache_kernels = False


def subsets(names):
    return [chosen for r in range(1, len(names) + 1) for chosen in itertools.combinations(names, r)]


def nothing_else(*run):
    """Gradients are all that is compared."""


def derived(*run):
    check_tangent(*run)
    check_second_order(*run)


def counted(counts):
    print(dict(counts))
    refused = sum(count for what, count in counts.items() if what.startswith("refused"))
    return counts["right"] / counts.total(), refused / counts.total()


@pytest.mark.parametrize("place", SEEDS)
def test_every_subset_of_gradients(place):
    counts = Counter()
    for seed in SEEDS[place]:
        program, names = mixed.apart(seed)
        for chosen in subsets(names):
            counts[outcome(program.with_gradients(chosen), place, nothing_else)] += 1
    right, refused = counted(counts)
    assert right > 0.35 and refused < 0.5


@pytest.mark.parametrize("place", SEEDS)
def test_tangents_and_hessian_products(place):
    """With gradients in one subset of each program."""
    counts = Counter()
    for seed in SEEDS[place]:
        program, names = mixed.apart(seed)
        chosen = subsets(names)[seed % len(subsets(names))]
        counts[outcome(program.with_gradients(chosen), place, derived)] += 1
    right, _ = counted(counts)
    assert right > 0.25
