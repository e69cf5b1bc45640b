"""Branches and loops by what an array holds: `capture_if`, `capture_while`, at once or as steps of a graph.

In a graph the condition is read when the graph runs, each time anew. The host decides, on every device; on a CUDA
device it waits for the condition, and the steps before and after are graphs of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import ArgumentTypeError, LaunchError
from ..arrays import saved_contents
from ..arrays.array import array
from ..devices.capture import current_graph, set_current_graph
from ..devices.stream import Stream
from ..steps.choice import Branch, Repeat, holds
from .graph import Graph, capture_begin, capture_end


def is_conditional_graph_supported() -> bool:
    """Whether graphs may have branches and loops: always."""
    return True


def capture_if(
    condition: array,
    on_true: Callable[..., Any] | Graph | None = None,
    on_false: Callable[..., Any] | Graph | None = None,
    stream: Stream | None = None,
    **kwargs: Any,
) -> None:
    """Run `on_true` where the first number of an integer array is not zero, else `on_false`.

    on_true, on_false: functions, called with `kwargs`, or graphs; None does nothing. While a graph is captured both
    are captured too, and the choice is made when the graph runs. Raises `ArgumentTypeError` for another condition,
    `LaunchError` inside a tape that began in the capture.
    """
    check_condition(condition)
    if current_graph() is None:
        run(on_true if holds(condition._data) else on_false, kwargs)
        return
    Branch(condition._data, capture_branch(on_true, kwargs), capture_branch(on_false, kwargs)).submit()


def capture_while(
    condition: array, while_body: Callable[..., Any] | Graph, stream: Stream | None = None, **kwargs: Any
) -> None:
    """Run `while_body` as long as the first number of an integer array is not zero; otherwise as `capture_if`."""
    check_condition(condition)
    if current_graph() is None:
        while holds(condition._data):
            run(while_body, kwargs)
        return
    Repeat(condition._data, capture_branch(while_body, kwargs)).submit()


def check_condition(condition: array) -> None:
    """Raise unless a condition is an array of integers that has a first element."""
    if not isinstance(condition, array) or condition._data.dtype.kind not in "iub" or not condition.size:
        raise ArgumentTypeError(f"condition is {condition!r}\nexpected: an array of one integer")


def run(branch: Callable[..., Any] | Graph | None, kwargs: dict[str, Any]) -> None:
    """Run a branch now."""
    if isinstance(branch, Graph):
        branch.launch()
    elif branch is not None:
        branch(**kwargs)


def capture_branch(branch: Callable[..., Any] | Graph | None, kwargs: dict[str, Any]) -> Graph | None:
    """A branch as a graph of its own, whatever is captured around it."""
    outer = current_graph()
    if saved_contents.active():
        raise LaunchError(
            "a branch of a graph inside a tape that began in the capture\n"
            "expected: a tape around the launch of the graph"
        )
    if branch is None or isinstance(branch, Graph):
        return branch
    set_current_graph(None)
    try:
        capture_begin(outer.device)
        try:
            branch(**kwargs)
        finally:
            branch_graph = capture_end()
    finally:
        set_current_graph(outer)
    outer.keep(branch_graph)
    return branch_graph
