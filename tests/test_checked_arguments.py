"""Arguments of public functions, checked by their annotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.arguments import checked, integers, numbers
from warpsim.core.passes.reverse import checkpoints
from warpsim.errors import ArgumentCountError, ArgumentTypeError

if TYPE_CHECKING:
    from warpsim.solvers.scene.state import State


@checked
def takes(
    number: float = 0.0, whole: int = 0, text: str = "", maybe: float | None = None, path: str | os.PathLike[str] = "",
    row: Sequence[float] = (), names: list[str] | None = None, call: Callable[[], Any] | None = None,
    table: Mapping[str, Any] | None = None, grid: wp.HashGrid | None = None, anything: Any = None, odd: Nowhere = None,  # noqa: F821
    *rest: Any, flag: bool = False, **options: Any,
):  # fmt: skip
    return "taken"


class Items:
    def __iter__(self) -> Iterator[float]:
        return iter((1.0, 2.0))


GOOD = {
    "number": [1, 2.5, True, np.float32(1.0), np.array(2.0), np.array([2.0]), wp.float64(3.0), wp.int8(3), 10**30],
    "whole": [1, True, np.int64(3), np.array(3), wp.int32(2)],
    "text": ["", "x"],
    "maybe": [None, 1.0],
    "path": ["x", Path("x")],
    "row": [(), [1.0, 2], np.ones(3), range(3), wp.vec3(1.0, 2.0, 3.0), wp.zeros(3), Items()],
    "names": [None, ["x"], ("x", "y")],
    "call": [None, len, lambda: None],
    "table": [None, {}, {"x": 1}],
    "grid": [None, wp.HashGrid(1, 1, 1, device="cpu")],
    "anything": [object()],
    "odd": [object()],
    "flag": [True, 3, None],
}
BAD = {
    "number": ["1", None, 1j, [1.0], np.ones(2), float, object(), b"1", np.array("x"), wp.vec3()],
    "whole": [1.0, "1", None, np.ones(2, int), int, np.array(1.5)],
    "text": [1, b"x", None, str],
    "maybe": ["x", [], {}],
    "path": [3, None, b"x"],
    "row": ["text", 3, None, {1.0}, {}, list, [1.0, "x"], [[1.0]], np.array(2.0)],
    "names": ["x", [1], 3],
    "call": [3, "len"],
    "table": [[], 3],
    "grid": [3, wp.HashGrid, "grid"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_values_of_the_annotation_are_taken(name, value):
    assert takes(**{name: value}) == "taken"


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_others_are_refused_by_name(name, value):
    with pytest.raises(ArgumentTypeError, match=rf"^{name} is (.|\n)*\nexpected: "):
        takes(**{name: value})


def test_messages_say_what_is_expected():
    for arguments, expected in (
        ({"maybe": "x"}, "maybe is 'x' \\(str\\)\nexpected: a number or None"),
        ({"row": 3}, "expected: a sequence of numbers"),
        ({"call": 3}, "expected: a function or None"),
        ({"grid": 3}, "expected: HashGrid or None"),
    ):
        with pytest.raises(ArgumentTypeError, match=expected):
            takes(**arguments)


def test_calls_that_do_not_bind():
    @checked
    def two(a: int, b: int) -> int:
        return a + b

    assert two(1, b=2) == 3
    for call in (lambda: two(1), lambda: two(1, 2, 3), lambda: two(1, c=2)):
        with pytest.raises(ArgumentCountError, match=r"two\(\): "):
            call()


def test_errors_of_the_function_itself_come_through():
    @checked
    def fails(a: int) -> int:
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        fails(3)


def test_numbers():
    assert numbers([[1, 2], [3, 4]], "x", (-1, 2)).dtype == np.float64
    for value, shape in (("x", None), ([[1.0], [1.0, 2.0]], None), (object(), None), ([1.0], (2,)), (3.0, (3,))):
        with pytest.raises(ArgumentTypeError, match=r"^x is (.|\n)*expected: numbers"):
            numbers(value, "x", shape)


def test_integers():
    assert integers([], "x").dtype.kind == "i" and integers([[1, 2]], "x").shape == (1, 2)
    for value in ([1.5], "x", [[1], [1, 2]], object()):
        with pytest.raises(ArgumentTypeError, match="expected: integers"):
            integers(value, "x")


def test_names_that_other_modules_use_for_something_else(monkeypatch):
    """A name imported for type checkers alone is looked up by the class's own name, and an alias is none."""

    @checked
    def takes_state(state: State):
        return state.particle_q.shape

    monkeypatch.setattr(checkpoints, "State", type("Alias", (), {}))
    assert takes_state(wp.solvers.ModelBuilder().finalize().state()) == (0,)
    with pytest.raises(ArgumentTypeError, match="expected: State"):
        takes_state(None)
