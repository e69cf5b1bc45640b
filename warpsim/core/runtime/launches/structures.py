"""Structures among launch arguments: from ids to the structs that they stand for.

The *whole* arguments of a launch are its own and, behind them, the struct of each of the kernel's references (see
`passes.references`). Derived programs take whole arguments; what is recorded of a launch are whole arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.handles import found
from ...passes.simplify.handle_params import Reference


def whole_arguments(args: Sequence[Any], references: Sequence[Reference], names: Sequence[str]) -> list[Any]:
    """Arguments, and behind them the structs that they have ids of; names: those of the arguments.

    Raises `StructureIdError` for an id that stands for no structure.
    """
    return [*args, *(_struct(args[r.position], r, names[r.position]) for r in references)]


def _struct(value: Any, reference: Reference, name: str) -> Any:
    for field in reference.path:
        value = getattr(value, field)
    if not value:
        return reference.type()
    return found(int(value), reference.type, f"argument {'.'.join((name, *reference.path))!r}").data
