"""Locals that a loop rebinds: values travel with the loop, arrays of the stack each have a home.

The home of a name is an array that the name has at the beginning of every iteration and after the loop. Where an
iteration ends with another array in the name, its elements are copied home. Nothing parts from the reference that
Python's name is: what a name had before the loop, and what it has at the end of an iteration, no other name may reach.
What exists when the kernel is compiled only, as a slice or a function, may be given to a name in each iteration anew,
but not be carried to the next; nor is a name that an iteration leaves with another type on some of its paths.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from ....errors import KernelTypeError
from ...ir.nodes import Value
from ...types.arrays import type_name
from ..source import names
from ..translate.assigned import names_assigned
from ..translate.carried import Carried, is_runtime
from ..translate.fresh_arrays import is_local, may_be, may_be_shared
from ..translate.scope import Erroneous, Scope, Unassigned, describe, same
from ..translate.translator import Suppressed, Translator
from .array_slices import ArraySlice
from .tile_elements import copied, copy_elements, is_tile, tile_type

_MISSING = (Unassigned, Erroneous)
_NOTHING = Unassigned("")
CHANGED = Unassigned("a loop changes it, and it is not a number, vector, matrix or struct", conflict=True)


class LoopLocals(Carried):
    """The locals that the body of a loop rebinds, and `extra` ones that travel with it."""

    def __init__(self, tr: Translator, body: Iterable[ast.AST], extra: list[str]):
        nodes = list(body)
        known = [n for n in sorted(names_assigned(tr, nodes)) if not isinstance(tr.scope.get(n, _NOTHING), _MISSING)]
        self.tr, self.scope_before = tr, tr.scope
        self.changed: dict[str, Unassigned] = {}  # names whose contents no iteration hands on, and why
        self.homes = {n: tr.scope[n] for n in known if is_local(tr.scope[n])}
        self.rebound = [n for n in self.homes if n in names.rebound_names(nodes)]
        self.statics = {n: tr.scope[n] for n in known if not is_runtime(tr.scope[n])}
        self.values = [n for n in known if n not in self.homes and n not in self.statics]
        super().__init__([*self.values, *extra], tr.scope)
        for name in self.names:
            if isinstance(tr.scope[name], tuple) and any(map(is_local, tr.scope[name])):
                raise KernelTypeError(f"a loop changes {name!r}, which holds local arrays", help="use a name for each")

    def start(self) -> None:
        """Before the loop: an array of its own for each name that the body gives another one."""
        for name in self.rebound:
            self.homes[name] = self.own_array(name)

    def own_array(self, name: str) -> Value:
        array = self.tr.scope[name]
        others = [o for at in self.tr.callers() for n, o in at.scope.items() if (at, n) != (self.tr, name)]
        if may_be_shared(self.tr, array, others):
            raise _shared(name, "before the loop")
        return copied(self.tr, array)

    def bind(self, scope: Scope, values: tuple[Value, ...]) -> None:
        super().bind(scope, values)
        scope.update(self.homes)
        self.scope_before = scope.copy()

    def collect(self, scope: Scope) -> tuple[Value, ...]:
        self.bring_home(scope)
        self.changed |= {n: CHANGED for n, before in self.statics.items() if not same(before, scope.get(n))}
        unlike = {n: scope[n] for n in self.values if isinstance(scope[n], Unassigned) and scope[n].conflict}
        self.changed |= unlike
        return super().collect(Scope(scope | {n: self.scope_before[n] for n in unlike}))

    def leave(self, scope: Scope, results: tuple[Value, ...]) -> None:
        """After the loop."""
        self.bind(scope, results)
        self.forget(scope)

    def forget(self, scope: Scope) -> None:
        """Take the names away whose contents cannot be carried from iteration to iteration."""
        scope.update(self.changed)

    def bring_home(self, scope: Scope) -> None:
        """At the end of an iteration: copy arrays home, through others where homes change places."""
        moved = {name: scope[name] for name in self.homes if scope[name] is not self.homes[name]}
        for name, operand in moved.items():
            self.check(name, operand, scope)
        sources = {}
        for name, operand in moved.items():
            is_in_home = may_be(self.tr, operand, self.homes.values())
            sources[name] = copied(self.tr, operand) if is_in_home else operand
        for name, source in sources.items():
            copy_elements(self.tr, source, self.homes[name])

    def check(self, name: str, operand: Any, scope: Scope) -> None:
        """Whether the array that an iteration leaves in a name may be copied."""
        if isinstance(operand, Erroneous):
            raise Suppressed
        if isinstance(operand, Unassigned):
            raise KernelTypeError(f"{name!r} has no single type in this loop: {operand.reason}")
        home = tile_type(self.homes[name])
        if not is_tile(operand) or tile_type(operand) is not home:
            shown = type_name(tile_type(operand)) if is_tile(operand) else describe(operand)
            cure = "use another name for the new value"
            raise KernelTypeError(f"{name!r} changes its type in a loop", found=shown, expected=repr(home), help=cure)
        array = operand.array if isinstance(operand, ArraySlice) else operand
        callers = [o for at in self.tr.callers() if at is not self.tr for o in at.scope.values()]
        lasting = [*callers, *(scope[n] for n in self.others_before(name) & set(scope))]
        if may_be_shared(self.tr, array, lasting):
            raise _shared(name, "at the end of an iteration")

    def others_before(self, name: str) -> set[str]:
        """The names that hold something at the beginning of an iteration, but for one."""
        return {n for n, o in self.scope_before.items() if n != name and not isinstance(o, _MISSING)}


def _shared(name: str, when: str) -> KernelTypeError:
    return KernelTypeError(
        f"a loop gives {name!r} another array, and {when} another name may reach the one it has",
        expected="an array that nothing else has, as wp.tile_zeros, wp.tile_map, a + b and the like make them",
        help=f"write into one array ({name} += x, wp.tile_assign), or start with a copy: {name} = wp.tile_astype(...)",
    )
