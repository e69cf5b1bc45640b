"""A step of the pipeline ends here: the program verified, and printed where `config.dump` names the step."""

from __future__ import annotations

from collections.abc import Callable

from ...config import config
from .nodes import Function
from .printer import print_function
from .verify import verify


def step(name: str, fn: Function) -> Function:
    """Verify and, on request, print a program after the pass `name`."""
    verify(fn, name)
    show(name, fn.name, lambda: print_function(fn, lines=True, hints=True))
    return fn


def show(stage: str, name: str, text: Callable[[], str]) -> None:
    """Print what a stage made of a kernel, if that is wanted."""
    if is_dumped(stage):
        print(f"# ---- {name} after {stage}\n{text()}")


def is_dumped(stage: str) -> bool:
    """Whether programs are printed after a stage."""
    return config.dump in (stage, "all")
