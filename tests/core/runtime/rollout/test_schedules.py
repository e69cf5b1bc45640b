"""Schedules of checkpointed loops: right in every step, and with the fewest steps that are possible."""

import math
from functools import cache

import pytest

from warpsim.core.runtime.rollout import schedules
from warpsim.core.runtime.rollout.schedules import Advance, Restore, Reverse, Store, binomial, even

LENGTHS = [1, 2, 3, 4, 5, 7, 10, 16, 31, 57, 100]


def played(actions, steps, slots):
    """Play a schedule by its rules; returns how many steps it advanced, and how many states it kept at most."""
    kept, here, left, advanced, most = {}, 0, steps, 0, 0
    for action in actions:
        if isinstance(action, Store):
            assert action.step == here
            assert 0 <= action.slot < slots
            kept[action.slot] = here
            most = max(most, len(kept))
        elif isinstance(action, Restore):
            assert kept[action.slot] == action.step
            here = action.step
        elif isinstance(action, Advance):
            assert action.start == here < action.stop <= steps
            here, advanced = action.stop, advanced + action.stop - action.start
        else:
            assert isinstance(action, Reverse)
            assert action.start == here < action.stop == left
            here, left = None, action.start
    assert left == 0
    return advanced, most


def fewest_steps(steps, slots):
    """Steps that `binomial` runs forward, besides recording each once: r n - beta(s + 1, r - 1)."""
    r = schedules.repetitions(steps, slots)
    return r * steps - schedules.beta(slots + 1, r - 1)


@cache
def optimum(steps, slots):
    """The fewest steps, by trying every place for the next state."""
    if steps == 1 or slots == 1:
        return steps * (steps - 1) // 2
    return min(m + optimum(steps - m, slots - 1) + optimum(m, slots) for m in range(1, steps))


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 8, 13, 200])
@pytest.mark.parametrize("steps", LENGTHS)
def test_binomial_needs_as_few_steps_as_possible(steps, slots):
    advanced, most = played(binomial(steps, slots), steps, slots)
    assert advanced == optimum(steps, slots) == fewest_steps(steps, slots)
    assert most <= min(slots, steps)


@pytest.mark.parametrize(("slots", "repeats"), [(1, 4), (2, 3), (3, 3), (5, 2), (14, 4)])
def test_the_longest_loop_for_a_number_of_repetitions(slots, repeats):
    longest = math.factorial(slots + repeats) // (math.factorial(slots) * math.factorial(repeats))
    assert schedules.beta(slots, repeats) == longest
    assert schedules.repetitions(longest, slots) == repeats
    assert schedules.repetitions(longest + 1, slots) == repeats + 1
    runs = [0] * longest
    for action in binomial(longest, slots):
        for k in range(action.start, action.stop) if isinstance(action, Advance) else ():
            runs[k] += 1
    assert max(runs) == repeats


def test_a_long_loop_by_the_formula():
    advanced, most = played(binomial(10_000, 14), 10_000, 14)
    assert (advanced, most) == (46_124, 14)
    assert advanced == 5 * 10_000 - math.comb(19, 15)


@pytest.mark.parametrize("slots", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("steps", LENGTHS)
def test_even_runs_every_step_once_before_recording_it(steps, slots):
    advanced, most = played(even(steps, slots), steps, slots)
    assert advanced == steps
    assert most <= min(slots, steps)


def test_even_keeps_states_at_equal_distances():
    stored = [a.step for a in even(10, 4) if isinstance(a, Store)]
    reversed_ = [(a.start, a.stop) for a in even(10, 4) if isinstance(a, Reverse)]
    assert stored == [0, 3, 6, 9]
    assert reversed_ == [(9, 10), (6, 9), (3, 6), (0, 3)]


@pytest.mark.parametrize(
    ("steps", "root", "log"), [(1, 1, 1), (2, 2, 1), (3, 2, 2), (10, 4, 4), (100, 10, 7), (10_000, 100, 14)]
)
def test_slots_when_none_are_asked_for(steps, root, log):
    assert schedules.SCHEDULES["sqrt"][1](steps) == root
    assert schedules.SCHEDULES["binomial"][1](steps) == log
