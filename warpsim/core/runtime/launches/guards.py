"""Launch guards: checks of array references in memory, before launches of kernels that follow or store them.

A `Guard` belongs to one form of a kernel; kernels that know all their arrays from their arguments have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....errors import ReadOnlyError
from ...emit.program import Program
from ...passes.simplify.handle_params import HandleParam
from ...types import structs
from ...types.array_ref import member_at, refers
from ...types.arrays import type_name
from ...types.handles import LIVE
from ..arrays.host_memory import TypedMemory


def guard_of(program: Program, kernel: str, writes: bool) -> Guard | None:
    """The guard of a program, None for one that needs none; writes: whether it writes to what it is given."""
    uses = program.uses
    stores = uses.stores_arrays and any(refers(p.type) for p in program.fn.params)
    if not (uses.followed or stores):
        return None
    return Guard(kernel, program.handle_params, uses.followed, uses.fields_written if writes else set(), stores)


class Guard:
    """Checks, and keeps alive, what elements of structs among the arguments refer to."""

    def __init__(
        self, kernel: str, handle_params: Sequence[HandleParam], follows: bool, written: set[str | None], stores: bool
    ):
        self.kernel, self.handle_params, self.follows, self.stores = kernel, handle_params, follows, stores
        self.written = sorted(written, key=str)

    def __call__(self, args: Sequence[Any]) -> None:
        """Look at the arguments of a launch. Raises `ArrayError`, `ReadOnlyError`."""
        holders = [(a, held) for a in arrays_in(args) if (held := a._held) is not None]
        for a, held in holders:
            if self.follows and _is_exposed(a):
                held.verify()
            if self.written and (field := held.check_writable(self.written)):
                raise ReadOnlyError(
                    f"kernel {self.kernel!r} writes to {field!r} in elements of {type_name(a.dtype)}, and one of the "
                    "arrays is read-only memory\nexpected: writable arrays\nhelp: refer to a copy: wp.array(x)"
                )
        if self.stores:
            for _, held in holders:
                held.trim()
            arrays = [*arrays_in(args), *arrays_in(self._behind_ids(args))]
            for _, held in holders:
                held.hold(arrays)

    def _behind_ids(self, args: Sequence[Any]) -> Iterator[Any]:
        """The structs of the structures that the kernel reaches by ids."""
        for r in self.handle_params:
            handle = LIVE.get(int(member_at(args[r.position], r.path)))
            if handle is not None:
                yield handle.data


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays among values, in fields of structs, and in elements of arrays of structs."""
    for a in (member for value in values for _, member in structs.members(value)):
        if isinstance(a, TypedMemory):
            yield a
            if (held := a._held) is not None:
                yield from arrays_in([*held.values(), *held.loose.values()])


def _is_exposed(a: TypedMemory) -> bool:
    """Whether NumPy may have written to the elements."""
    return bool(a._array._memory.is_watched())
