"""Structures among launch arguments: from ids to the structs that they stand for.

The *whole* arguments of a launch are its own and, behind them, the struct of each of the kernel's handle parameters
(see `passes.simplify.handle_params`). Derived programs take whole arguments, and they are what is recorded of a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.handles import open_handle
from ...passes.simplify.handle_params import HandleParam
from ...types.array_ref import member_at


def whole_arguments(args: Sequence[Any], handle_params: Sequence[HandleParam], names: Sequence[str]) -> list[Any]:
    """Arguments, and behind them the structs that they have ids of; names: those of the arguments.

    Raises `StructureIdError` for an id that stands for no structure.
    """
    return [*args, *(_struct(args[r.position], r, names[r.position]) for r in handle_params)]


def _struct(value: Any, param: HandleParam, name: str) -> Any:
    value = member_at(value, param.path)
    if not value:
        return param.type()
    return open_handle(int(value), param.type, f"argument {'.'.join((name, *param.path))!r}").data
