"""Folding of repeated stretches keeps every step and its order, and finds loops in loops."""

import random

from warpsim.core.runtime.tape.picture.repeats import Group, Repeat, Step, fold_repeats, walk


def steps(text):
    """One step per letter; equal letters are launches from one place."""
    return [Step(letter, place=letter) for letter in text]


def shape(items):
    """The folded items as text: `3(ab)` is three rounds of two steps, `[a]` a scope."""
    out = ""
    for item in items:
        if isinstance(item, Repeat):
            out += f"{len(item.rounds)}({shape(item.rounds[0])})"
        elif isinstance(item, Group):
            out += f"[{shape(item.items)}]"
        else:
            out += item.name
    return out


def test_what_does_not_repeat_stays():
    assert shape(fold_repeats(steps("abcab"))) == "abcab"
    assert shape(fold_repeats([])) == ""


def test_two_rounds_are_not_worth_a_box():
    assert shape(fold_repeats(steps("aabab"))) == "aabab"


def test_a_loop_between_other_steps():
    assert shape(fold_repeats(steps("x" + "ab" * 1000 + "y"))) == "x1000(ab)y"


def test_a_loop_that_stops_in_the_middle_of_a_round():
    assert shape(fold_repeats(steps("abcabcabcab"))) == "3(abc)ab"


def test_loops_in_loops():
    assert shape(fold_repeats(steps(("a" + "b" * 4 + "c") * 5))) == "5(a4(b)c)"
    assert shape(fold_repeats(steps((("ab" * 3 + "c") * 4 + "d") * 3))) == "3(4(3(ab)c)d)"


def test_inner_loops_of_different_length_stay_apart():
    assert shape(fold_repeats(steps("abbbcabbbbcabbbbbc"))) == "a3(b)ca4(b)ca5(b)c"


def test_scopes_are_compared_by_what_they_hold():
    items = [Group("s", steps("abbb")) for _ in range(3)] + [Group("s", steps("ab"))]
    assert shape(fold_repeats(items)) == "3([a3(b)])[ab]"


def test_the_place_tells_launches_of_one_kernel_apart():
    items = [Step("add", place=f"f.py:{k}") for k in range(5)]
    assert shape(fold_repeats(items)) == "add" * 5


def test_walking_visits_every_step_once_and_in_order():
    random.seed(3)
    for _ in range(200):
        text = "".join(random.choice(("a", "b", "ab", "abb", "aab")) * random.randint(1, 5) for _ in range(8))
        recorded = steps(text)
        drawn = fold_repeats(recorded)
        pairs = list(walk(drawn, drawn))
        assert [step for step, _ in pairs] == recorded
        assert all(step.name == shown.name for step, shown in pairs)


def test_a_long_recording_without_repeats_is_quick_enough_to_look_at():
    recorded = [Step(str(k)) for k in range(3000)]
    assert fold_repeats(recorded) == recorded
