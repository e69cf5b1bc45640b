"""Compares runs of a random simulation: values, gradients, tangents and Hessian products of warpsim and of the twin."""

from __future__ import annotations

from functools import partial

import dead_code
import mixed_runs
import numpy as np
import twin

import warpsim as wp
from warpsim.errors import CheckpointError, GradientError, NotDifferentiableError

SURE = 1e-8
STEP = 1e-5
LARGEST = 1e5  # larger derivatives are no measure


def differs(result, expected):
    return not np.all(np.abs(result - expected) <= SURE * max(1.0, np.abs(expected).max(initial=0.0)))


def compared(result, expected):
    """What is wrong with a result, or nothing."""
    if differs(np.float64(result.loss), np.float64(expected.loss)):
        return f"loss {result.loss}, twin {expected.loss}"
    for name, contents in expected.contents.items():
        if differs(result.contents[name], contents):
            return f"contents of {name}: {result.contents[name]}, twin {contents}"
    for name, gradient in expected.gradients.items():
        other = result.gradients[name]
        if (other is None) != (gradient is None):
            return f"gradient of {name}: {other}, twin {gradient}"
        if gradient is not None and differs(other, gradient):
            return f"gradient of {name}: {other}, twin {gradient}"
    return ""


def twin_result(program, contents, numbers, tracks=None, moves=(), accesses=dead_code.accesses):
    return mixed_runs.TwinRun(program, contents, numbers, tracks, moves, accesses).run()


def is_chaotic(program, contents, numbers, expected):
    """Whether rounding of the starting values alone moves results as far as a difference counts."""
    rng = np.random.default_rng(program.seed)
    rounded = {name: x * (1.0 + 1e-15 * rng.standard_normal(x.shape)) for name, x in contents.items()}
    return bool(compared(twin_result(program, rounded, numbers), expected))


def is_by_dead_code(program, contents, numbers, run):
    """Whether the twin agrees where it sees as much or as little of what is dead as the compiler may.

    Which code is dead decides what counts as given.
    """
    views = (partial(dead_code.accesses, by_name=True), mixed_runs.compiler_accesses(run))
    return any(not compared(run.result(), twin_result(program, contents, numbers, accesses=view)) for view in views)


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
    slope = directional(expected.gradients, direction)
    assert abs(tangent - slope) <= SURE * scale, f"tangent {tangent}, twin {slope}\n{program}"


def changes(program, contents, numbers, direction):
    """How the gradients of the twin change along a direction, by name; None where two steps do not agree."""
    set_on_tape, slopes = twin_result(program, contents, numbers).given, []
    for step in (STEP, 2.0 * STEP):
        ends = []
        for sign in (1.0, -1.0):
            moves = {name: sign * step * x for name, x in direction.items()}
            at = {name: x + moves.get(name, 0.0) for name, x in contents.items()}
            moves = {name: x for name, x in moves.items() if name in set_on_tape}
            ends.append(twin_result(program, at, numbers, moves=moves).gradients)
            if twin.doubtful():
                return None
        slopes.append({name: (ends[0][name] - ends[1][name]) / (2.0 * step) for name in direction})
    near, far = slopes
    agree = (np.abs(near[name] - far[name]).max() <= 1e-3 * max(1.0, np.abs(near[name]).max()) for name in near)
    extrapolated = {name: near[name] + (near[name] - far[name]) / 3.0 for name in near}  # of the fourth order
    return extrapolated if all(agree) else None


def check_second_order(program, contents, numbers, run, tape):
    """Hessian-vector products are central differences of the gradients of the twin."""
    direction, moved = random_direction(program, run, tape)
    expected = changes(program, contents, numbers, direction) if direction else None
    if expected is None:
        return
    products = wp.autograd.hvp(tape, loss=run.loss, vector=moved)
    for name, slope in expected.items():
        product = products[run.first[name]].numpy()
        near = np.abs(product - slope) <= 1e-4 * max(1.0, np.abs(slope).max())
        assert near.all(), f"hvp of {name}: {product}, differences {slope}\n{program}"


def check_derived(program, contents, numbers, run, tape):
    """Forward mode and second order, for some programs whose steps have them."""
    if {step.kind for step in program.steps} & {"scan", "sum", "inner", "checkpoint"}:
        return
    if program.seed % 3 == 0:
        check_tangent(program, contents, numbers, run, tape)
    elif all(program.graded.values()) and program.threads < 100:
        check_second_order(program, contents, numbers, run, tape)


def outcome(program, device=None, check=check_derived):
    """What became of a program: right, refused, rough. A wrong result raises. check: what else is looked at."""
    contents, numbers = mixed_runs.start(program)
    try:
        expected = twin_result(program, contents, numbers)
    except OverflowError:  # of Python's floats, where arrays would go on with infinity
        return "rough"
    slopes = [g for g in expected.gradients.values() if g is not None]
    if twin.doubtful() or not all(np.abs(g).max(initial=0.0) < LARGEST for g in slopes):
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
                if is_by_dead_code(program, contents, numbers, run):
                    return "rough"
                raise AssertionError(f"{wrong}\n{program}")
            assert not expected.refused, program
            check(program, contents, numbers, run, tape)
        except (NotDifferentiableError, CheckpointError, GradientError) as error:
            assert expected.refused or "set twice" not in str(error), f"{error}\n{program}"
            return f"refused: {type(error).__name__}"
    return "right"
