"""Two-way branches, and the phis that join what their sides did to the scope.

Both `if` statements and the operators that evaluate only one side are built on `either`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import KernelTypeError
from ...ir.nodes import Constant, Region, Value
from ...ops.registry import TABLE
from ...types.arrays import type_name
from .fresh_arrays import note_alias
from .scope import (
    FLAGS,
    RESULT,
    Erroneous,
    Parted,
    Scope,
    Unassigned,
    describe,
    is_number,
    placeholder,
    same,
    typed_value,
)
from .translator import Translator

Pending = list[tuple[Any, Value, Value]]
"""Results that an If will have: what stands for each until then, and its values on both sides."""


class Arm:
    """One side of a branch: its region, the scope at its end, and whether it was left before it began."""

    def __init__(self, scope: Scope, left: bool = False):
        self.region, self.scope, self.left = Region(), scope, left

    @property
    def leaves(self) -> bool:
        """Whether every path through this side returns, breaks or continues."""
        return self.left or any(self.scope.get(flag) is True for flag in FLAGS)

    @property
    def may_leave(self) -> bool:
        return self.left or any(self.scope.get(flag, False) is not False for flag in FLAGS)

    def get(self, name: str) -> Any:
        """The operand of a name; a flag that nobody touched is not set."""
        return self.scope.get(name, False if name in FLAGS else None)


def choose(tr: Translator, condition: Value, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """The value of one of two expressions; names they rebind are joined."""
    slot = "<chosen>"

    def keep(side: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            tr.scope[slot] = side()

        return run

    either(tr, condition, keep(yes), keep(no))
    chosen = tr.scope.pop(slot)
    if isinstance(chosen, Unassigned):
        raise KernelTypeError(f"the two sides do not fit together: {chosen.reason}")
    return chosen


def either(tr: Translator, condition: Value, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Translate both sides and join."""
    then, orelse = Arm(tr.scope.copy()), Arm(tr.scope.copy())
    fill(tr, then, yes)
    fill(tr, orelse, no)
    join(tr, condition, then, orelse)


def fill(tr: Translator, arm: Arm, side: Callable[[], None]) -> None:
    """Run `side` appending to the arm; may be called again to append more."""
    outer, tr.scope = tr.scope, arm.scope
    try:
        with tr.builder.inside(arm.region):
            side()
        arm.scope = tr.scope
    finally:
        tr.scope = outer


def join(tr: Translator, condition: Value, then: Arm, orelse: Arm) -> None:
    """Append the If; names whose operands differ become its results."""
    merged = Scope()
    pending: Pending = []
    for name in {**then.scope, **orelse.scope}:
        merged[name] = join_operands(name, then.get(name), orelse.get(name), then, orelse, pending)
    then.region.yields = tuple(a for _, a, _ in pending)
    orelse.region.yields = tuple(b for _, _, b in pending)
    results = tr.builder.branch(condition, then.region, orelse.region)
    for chosen, (_, a, b) in zip(results, pending, strict=True):
        note_alias(tr, chosen, a, b)
    values = iter(results)
    replacement = {id(key): next(values) for key, _, _ in pending}
    tr.scope = Scope({name: _resolve(operand, replacement) for name, operand in merged.items()})


def join_operands(name: str, a: object, b: object, then: Arm, orelse: Arm, pending: Pending) -> Any:
    """The operand after the branch; `pending` collects pairs that need a result."""
    if isinstance(a, Erroneous) or isinstance(b, Erroneous):
        return Erroneous()
    # A side that leaves never hands its names on, and a result is read only where its flag is set.
    if (then.leaves or name == RESULT) and (a is None or isinstance(a, Unassigned)):
        a = stand_in(b)
    if (orelse.leaves or name == RESULT) and (b is None or isinstance(b, Unassigned)):
        b = stand_in(a)
    for missing, where in ((a, "when the condition holds"), (b, "when the condition does not hold")):
        if missing is None:
            return Unassigned(f"it is not assigned {where}")
        if isinstance(missing, Unassigned):
            return missing
    if same(a, b):
        return a
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        parts = [join_operands(name, x, y, then, orelse, pending) for x, y in zip(a, b, strict=True)]
        return next((p for p in parts if isinstance(p, (Unassigned, Erroneous))), tuple(parts))
    x, y = as_parted(a, b), as_parted(b, a)
    if x is not None and y is not None and x.like(y):
        pairs = zip(x.parts, y.parts, strict=True)
        return x.of_parts([join_operands(name, p, q, then, orelse, pending) for p, q in pairs])
    return phi(a, b, pending)


def as_parted(operand: object, other: object) -> Parted | None:
    """An operand that is made of parts, or could be as the other one is."""
    if isinstance(operand, Parted):
        return operand
    return other.whole_of(operand) if isinstance(other, Parted) else None


def phi(a: object, b: object, pending: Pending) -> Any:
    """A pair of run-time values of one type; a literal takes the type of the other side."""
    try:
        x = typed_value(a, b.type if isinstance(b, Value) else _common(a, b))
        y = typed_value(b, x.type)
        x = typed_value(a, y.type)
    except KernelTypeError:
        return Unassigned(f"it is {describe(a)} on one path and {describe(b)} on the other", conflict=True)
    if x.type is not y.type:
        reason = f"it is {type_name(x.type)} on one path and {type_name(y.type)} on the other"
        return Unassigned(reason, conflict=True)
    key = _Key()
    pending.append((key, x, y))
    return key


def exit_condition(tr: Translator) -> Any:
    """Whether the current point is already left: False, True, or a Value."""
    flags = [tr.scope.get(flag, False) for flag in FLAGS]
    if any(flag is True for flag in flags):
        return True
    open_flags = [flag for flag in flags if flag is not False]
    if not open_flags:
        return False
    open_flag = open_flags[0]
    for flag in open_flags[1:]:
        open_flag = tr.emit(TABLE["bit_or"], open_flag, flag)
    return open_flag


class _Key:
    """Marks the place of a result that does not exist yet."""


def _resolve(operand: object, replacement: dict[int, Value]) -> Any:
    if isinstance(operand, tuple):
        return tuple(_resolve(x, replacement) for x in operand)
    if isinstance(operand, Parted) and any(isinstance(x, _Key) for x in operand.parts):
        return operand.of_parts([_resolve(x, replacement) for x in operand.parts])
    return replacement[id(operand)] if isinstance(operand, _Key) else operand


def _common(a: object, b: object) -> Any:
    """Two literals of different kinds meet in float."""
    if is_number(a) and is_number(b) and isinstance(a, float) != isinstance(b, float):
        return typed_value(a if isinstance(a, float) else b).type
    return None


def stand_in(operand: object) -> Any:
    """Something of the operand's type for a side on which it is never read."""
    if isinstance(operand, tuple):
        return tuple(stand_in(x) for x in operand)
    if isinstance(operand, Value) and not isinstance(operand, Constant):
        return placeholder(operand.type) or Unassigned("an array has no value on the other path")
    return operand
