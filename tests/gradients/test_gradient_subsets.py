"""Random programs with gradients in every subset of their arrays: a tape agrees with a Python twin, or refuses.

An array without gradient holds constants, whatever is written to it and in whatever way (see `subset_programs`).
The twin runs the same text as plain Python (see `twin`) and knows nothing of adjoints. Forward mode carries
tangents through all arrays; the Hessian product is how the gradients change.

WARPSIM_SUBSET_PROGRAMS=20000 runs that many others, half of them compiled.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
import subset_programs
import twin

import warpsim as wp
from warpsim.errors import NotDifferentiableError

pytestmark = pytest.mark.assembled_one_in(97)
MORE = int(os.environ.get("WARPSIM_SUBSET_PROGRAMS", "0"))
FIRST = 1_000_000 if MORE else 0
COUNTS = {"interp": MORE // 2 or 28, "cpu": MORE // 2 or 6}
LARGEST = 1e5  # larger derivatives are no measure
TOLERANCE = 1e-8


@pytest.fixture(autouse=True)
def _switches():
    wp.config.cache_kernels = False


def judged(program):
    """What became of the subsets of a program: right, refused, unclear. A wrong gradient raises."""
    found, kernels, numbers = Counter(), subset_programs.compiled(program), subset_programs.start(program.seed)
    for chosen in program.subsets():
        value, want = subset_programs.by_twin(program, numbers, chosen)
        if twin.doubtful() or not np.abs(want).max() < LARGEST:
            found["unclear"] += 1
            continue
        try:
            run = subset_programs.Run(program, kernels, numbers, chosen)
            got = run.gradient()
        except NotDifferentiableError:
            found["refused"] += 1
            continue
        there = f"gradients in {sorted(chosen)} of {program}"
        assert abs(run.loss.numpy()[0] - value) <= TOLERANCE * max(1.0, abs(value)), there
        close(got, want, there)
        found["right"] += 1
    return found


def close(got, want, there):
    """Equal where there is a gradient."""
    known = ~np.isnan(got)
    scale = max(1.0, np.abs(want).max())
    np.testing.assert_allclose(got[known], want[known], rtol=0.0, atol=TOLERANCE * scale, err_msg=there)


@pytest.mark.parametrize("place", ["interp", "cpu"])
def test_every_subset_of_gradients(place):
    found = Counter()
    with wp.ScopedDevice(place):
        for seed in range(FIRST, FIRST + COUNTS[place]):
            found += judged(subset_programs.Program(seed))
    print(dict(found))
    assert found["right"] > 0.4 * found.total()
    assert found["refused"] < 0.5 * found.total()


def direction(seed, name):
    """A direction for the numbers of an array that the kernels know."""
    found = np.zeros(subset_programs.SIZES[name])
    places = range(len(found)) if name == "v" else subset_programs.PLACES[name]
    found[places] = np.random.default_rng(seed + 1).uniform(-1.0, 1.0, len(places))
    return found


def moved(numbers, name, along, distance):
    return {**numbers, name: numbers[name] + distance * along}


@pytest.mark.parametrize("place", ["interp", "cpu"])
def test_tangents_and_hessian_products(place):
    """Along one array, with gradients in one subset of each program."""
    found = Counter()
    with wp.ScopedDevice(place):
        for seed in range(FIRST, FIRST + COUNTS[place]):
            found[along_a_direction(subset_programs.Program(seed))] += 1
    print(dict(found))
    assert found["right"] > 0.25 * found.total()


def along_a_direction(program):
    kernels, numbers = subset_programs.compiled(program), subset_programs.start(program.seed)
    chosen = program.random.choice(program.subsets())
    name = program.random.choice(sorted(chosen))
    along, there = direction(program.seed, name), f"gradients in {sorted(chosen)}, along {name} of {program}"
    tangent, sure = tangent_by_twin(program, numbers, name, along)
    product = change_by_twin(program, numbers, chosen, name, along)
    if product is None or not sure or not np.abs(product).max() < LARGEST:
        return "unclear"
    try:
        run = subset_programs.Run(program, kernels, numbers, chosen)
        numbers_of = along[subset_programs.PLACES["u"]] if name == "u" else along
        given = {run.recorded(name): numbers_of.reshape(run.recorded(name).numpy().shape)}
        moves = wp.autograd.jvp(run.tape, tangents=given)
        changes = wp.autograd.hvp(run.tape, loss=run.loss, vector=given)
    except NotDifferentiableError:
        return "refused"
    close(moves[run.loss].numpy(), np.array([tangent]), f"tangent, {there}")
    got = run.row({n: changes[a] for n in run.arrays if (a := run.recorded(n)) in changes})
    known = ~np.isnan(got)
    scale = max(1.0, np.abs(product).max())
    np.testing.assert_allclose(got[known], product[known], rtol=0.0, atol=1e-5 * scale, err_msg=there)
    return "right"


def tangent_by_twin(program, numbers, name, along):
    """How the loss changes along a direction, and whether that is sure; all arrays pass derivatives on."""
    _, slopes = subset_programs.by_twin(program, numbers, frozenset(subset_programs.ARRAYS))
    first = subset_programs.FIRST[name]
    return float(slopes[first : first + len(along)] @ along), not twin.doubtful()


def change_by_twin(program, numbers, chosen, name, along):
    """How the gradients change along a direction, by central differences; None if two steps disagree, or signs do."""
    sides = []
    for distance in (1e-4, -1e-4, 2e-4, -2e-4):
        _, slopes = subset_programs.by_twin(program, moved(numbers, name, along, distance), chosen)
        if twin.doubtful():
            return None
        sides.append(slopes)
    near, far = (sides[0] - sides[1]) / 2e-4, (sides[2] - sides[3]) / 4e-4
    if not np.abs(near - far).max() <= 1e-3 * max(1.0, np.abs(near).max()):
        return None
    return near + (near - far) / 3.0
