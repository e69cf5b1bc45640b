"""Random simulations with gradients on some arrays: values and gradients are those of a Python twin, or refused.

Every program (see `mixed_programs`) runs on a tape and, as plain Python on numbers that record their past, by `twin`.
The twin knows neither arrays of warpsim nor its adjoint. Programs whose outcome hangs on rounding (a decision, or what
iterations make of the sixteenth digit) are set aside and counted; so are those that are refused. Both counts have a
bound.

160 programs every day, half of them on the interpreter; WARPSIM_MIXED_PROGRAMS=20000 runs that many others.
"""

from __future__ import annotations

import os
from collections import Counter

import mixed_programs
import mixed_runs
import numpy as np
import pytest
import samples
import twin

import warpsim as wp
from warpsim.errors import CheckpointError, GradientError, NotDifferentiableError

pytestmark = [pytest.mark.assembled_one_in(19)]
MORE = int(os.environ.get("WARPSIM_MIXED_PROGRAMS", "0"))
FIRST = int(os.environ.get("WARPSIM_MIXED_PROGRAMS_FROM", "100000" if MORE else "0"))
COUNT = MORE or 160
CHUNK = 40
SURE = 1e-8


@pytest.fixture(autouse=True)
def _switches():
    verify = wp.config.verify
    wp.config.cache_kernels = False
    yield
    wp.config.verify = verify


def differs(found, expected):
    return not np.all(np.abs(found - expected) <= SURE * max(1.0, np.abs(expected).max(initial=0.0)))


def compared(found, expected):
    """What is wrong with a result, or nothing."""
    if differs(np.float64(found.loss), np.float64(expected.loss)):
        return f"loss {found.loss}, twin {expected.loss}"
    for name, contents in expected.contents.items():
        if differs(found.contents[name], contents):
            return f"contents of {name}: {found.contents[name]}, twin {contents}"
    for name, gradient in expected.gradients.items():
        other = found.gradients[name]
        if (other is None) != (gradient is None):
            return f"gradient of {name}: {other}, twin {gradient}"
        if gradient is not None and differs(other, gradient):
            return f"gradient of {name}: {other}, twin {gradient}"
    return ""


def twin_result(program, contents, numbers, tracks=None, moves=()):
    return mixed_runs.TwinRun(program, contents, numbers, tracks, moves).run()


def is_chaotic(program, contents, numbers, expected):
    """Whether rounding of the starting values alone moves results as far as a difference counts."""
    rng = np.random.default_rng(program.seed)
    rounded = {name: x * (1.0 + 1e-15 * rng.standard_normal(x.shape)) for name, x in contents.items()}
    return bool(compared(twin_result(program, rounded, numbers), expected))


def directional(gradients, direction):
    return sum(float((gradients[name] * u).sum()) for name, u in direction.items())


def random_direction(program, run, tape):
    """A direction for every array with a gradient, and those of them that the tape saw, by array."""
    rng = np.random.default_rng(program.seed)
    known = {id(a) for a in tape.arrays()}
    arrays = {name: a for name, a in run.first.items() if a.requires_grad and id(a) in known}
    direction = {name: rng.uniform(-1.0, 1.0, a.numpy().shape) for name, a in arrays.items()}
    return direction, {arrays[name]: u for name, u in direction.items()}


def check_tangent(program, contents, numbers, run, tape):
    """Forward mode follows every array, with gradient or without: the twin tracks all."""
    expected = twin_result(program, contents, numbers, dict.fromkeys(program.graded, True))
    direction, moved = random_direction(program, run, tape)
    if twin.doubtful() or not moved:
        return
    tangent = float(wp.autograd.jvp(tape, tangents=moved)[run.loss].numpy()[0])
    scale = max(1.0, *(np.abs(expected.gradients[name]).max() for name in direction))
    wanted = directional(expected.gradients, direction)
    assert abs(tangent - wanted) <= SURE * scale, f"tangent {tangent}, twin {wanted}\n{program}"


def check_second_order(program, contents, numbers, run, tape):
    """Hessian-vector products are central differences of the gradients of the twin."""
    direction, moved = random_direction(program, run, tape)
    step, ends = 1e-5, []
    given = twin_result(program, contents, numbers).given
    for sign in (1.0, -1.0):
        moves = {name: sign * step * x for name, x in direction.items()}
        at = {name: x + moves.get(name, 0.0) for name, x in contents.items()}
        moves = {name: x for name, x in moves.items() if name in given}
        ends.append(twin_result(program, at, numbers, moves=moves).gradients)
        if twin.doubtful():
            return
    products = wp.autograd.hvp(tape, loss=run.loss, vector=moved)
    for name in direction:
        expected = (ends[0][name] - ends[1][name]) / (2.0 * step)
        found = products[run.first[name]].numpy()
        near = np.abs(found - expected) <= 1e-4 * max(1.0, np.abs(expected).max())
        assert near.all(), f"hvp of {name}: {found}, differences {expected}\n{program}"


def check_derived(program, contents, numbers, run, tape):
    """Forward mode and second order, for some programs whose steps have them."""
    if {step.kind for step in program.steps} & {"scan", "sum", "inner", "checkpoint"}:
        return
    if program.seed % 3 == 0:
        check_tangent(program, contents, numbers, run, tape)
    elif all(program.graded.values()) and program.threads < 100:
        check_second_order(program, contents, numbers, run, tape)


def outcome(seed, device=None):
    """What became of a program: right, refused, rough. A wrong result raises."""
    program = mixed_programs.program(seed)
    contents, numbers = mixed_runs.start(program)
    expected = twin_result(program, contents, numbers)
    if twin.doubtful():
        return "rough"
    wp.config.verify = program.verify
    with wp.ScopedDevice(device):
        run = mixed_runs.RealRun(program, contents, numbers)
        try:
            tape = run.record()
            tape.backward(run.loss)
            if wrong := compared(run.result(), expected):
                if is_chaotic(program, contents, numbers, expected):
                    return "rough"
                raise AssertionError(f"{wrong}\n{program}")
            assert not expected.refused, program
            check_derived(program, contents, numbers, run, tape)
        except (NotDifferentiableError, CheckpointError, GradientError) as error:
            assert expected.refused or "set twice" not in str(error), f"{error}\n{program}"
            return f"refused: {type(error).__name__}"
    return "right"


def device_of(seed):
    """The interpreter for every other program of few threads: it need not compile them."""
    return "interp" if not MORE and seed % 2 and mixed_programs.program(seed).threads < 100 else None


@pytest.mark.parametrize("chunk", samples.parts(-(-COUNT // CHUNK), MORE or 2))
def test_values_and_gradients_of_random_simulations(chunk):
    wanted = min(CHUNK, COUNT - chunk * CHUNK)
    first = FIRST + chunk * CHUNK
    counts = Counter(outcome(seed, device_of(seed)) for seed in range(first, first + wanted))
    print(f"\n{dict(counts)}")
    assert counts["rough"] <= 0.4 * wanted, counts  # one in ten on average
    assert counts["right"] >= 0.5 * wanted, counts
