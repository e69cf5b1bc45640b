"""Constant writes: launches inside a tape that cut the gradient of exactly the elements that they store.

Such a launch runs in the marking form of its kernel (`passes.reverse.marking`), with marks in the place of the
gradients of arrays that the tape knows already. What it updates by atomics (`x[i] += 1.0` too) is neither constant nor
what it was before: `backward` raises if a gradient arrives there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....errors import TapeOverwriteError
from ...emit.program import Form, FormKind
from ...ir.nodes import Function
from ...passes.reverse.marking import is_opaque
from ...types import structs
from ...types.answers import per_object
from ...types.array_ref import ArrayRef, Fields
from ...types.cotangents import has_cotangent
from ...types.scalars import holds_floats
from ..arrays.allocation import Allocation
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.host_memory import allocate_like
from ..arrays.indexed import indexedarray
from ..arrays.mirrors import Mirror
from ..devices.capture import current_graph
from ..devices.memory_range import range_of
from ..launches.for_device import LaunchOptions, prepare
from ..launches.launcher import LaunchCall
from ..steps.host_call import HostCall, call_or_record
from ..steps.step import Step
from .entry import MovedEntry, TapeEntry, UsedArray, gradient_in
from .kernel_arrays import KernelArrays
from .stand_ins import stand_in

if TYPE_CHECKING:
    from .tape import Tape


MARKING = Form(FormKind.MARKING)
Wrote = Sequence[tuple[ArrayRef, array]]


class ConstantWrite(TapeEntry):
    """What a launch that counts as constant stored. marks: by place, the array and the marks in it."""

    def __init__(self, arrays: KernelArrays, marks: dict[ArrayRef, tuple[array, array]], place: CallSite):
        self.marks, self.place = marks, place
        self.name, self.parameters = arrays.kernel.key, arrays.name
        self.title = f"kernel {self.name!r}"
        self.known: dict[ArrayRef, list[Marked]] = {}

    def compress(self) -> None:
        """Keep of the marks what they say, now that the launch has run."""
        self.known = {path: [read_marks(part) for part in parts(m._data)] for path, (_, m) in self.marks.items()}
        self.marks = {path: (a, a) for path, (a, _) in self.marks.items()}

    def uses(self) -> Iterator[UsedArray]:
        return (UsedArray(self.parameters[path], a, writes=True) for path, (a, _) in self.marks.items())

    @property
    def step(self) -> Step | None:  # type: ignore[override]
        return HostCall(self.run, words=f"{self.name} (adjoint)")

    def run(self) -> None:
        """Cut the gradients."""
        self.cut(lambda a: a._gradient)

    def cut(self, mirror_of: Callable[[array], array | None]) -> None:
        """Zero what belongs to stored elements, in the arrays that mirror those that were written."""
        for path, (a, marks) in self.marks.items():
            mirror = mirror_of(a)
            if mirror is None:
                continue
            known = self.known.get(path) or [read_marks(part) for part in parts(marks._data)]
            for part, (constant, updated) in zip(parts(mirror._data), known, strict=True):
                part[constant] = 0
                if updated is not None and part[updated].any():
                    raise self.refusal(path)

    def refusal(self, path: ArrayRef) -> TapeOverwriteError:
        return TapeOverwriteError(
            f"a gradient arrives at elements of array {self.parameters[path]!r} that {self.title} updated in a launch "
            f"whose results count as constant\nfound: the launch at {self.place}, with record_tape=False or of a "
            "kernel with enable_backward=False, adds to them, or updates them by another atomic\n"
            "expected: elements that it stores, which are constant then, or does not touch\n"
            "help: record the launch, or let it write to another array and add that in a launch that is recorded"
        )

    def push(self, tangents: Mirror, numbers: Mapping[str, Any], later: set[Any] | None) -> MovedEntry | None:
        self.cut(tangents.of)
        return None if later is None else self

    def reverse(self, gradients: Mirror, tangents: Mirror) -> None:
        """Cut the tangents of the gradients, too."""
        for mirror in (gradients, tangents):
            self.cut(lambda a, mirror=mirror: gradient_in(mirror, a))  # type: ignore[misc]


class ConstantLaunch(NamedTuple):
    """A launch that counts as constant: the call to run, and what tapes get after it."""

    call: LaunchCall
    entries: list[tuple[Any, ConstantWrite]]
    marks: dict[ArrayRef, array]

    def record(self) -> None:
        """Let the tapes know what was stored, now that the launch has run."""
        for tape, entry in self.entries:
            if current_graph() is None:
                entry.compress()
            tape.log.append(entry)


Marked = tuple[Any, Any]
"""Where an array was stored to, and where it was updated alone; `...` for everywhere, None for nowhere."""


def read_marks(marks: np.ndarray) -> Marked:
    """What marks say."""
    constant, updated = marks == 0, marks > 1
    return ... if constant.all() else constant, updated if updated.any() else None


def parts(memory: np.ndarray) -> Iterator[np.ndarray]:
    """The floats in memory: of structs field by field."""
    if memory.dtype.names is not None:
        for name in memory.dtype.names:
            yield from parts(memory[name])
    elif holds_floats(memory.dtype):
        yield memory


def constant_launch(
    call: LaunchCall, arrays: KernelArrays, args: list[Any], wrote: Wrote, tapes: Sequence[Any], place: CallSite
) -> ConstantLaunch | None:
    """A launch whose results count as constant, ready to run; None where it writes nothing that a gradient passes.

    What cannot be marked becomes a write that the tapes did not see.
    """
    graded = [(path, a) for path, a in wrote if a._memory.has_gradient and has_cotangent(a.dtype)]
    known = [(tape, used) for tape in tapes if (used := {path: a for path, a in graded if is_used(a._memory, tape)})]
    if not known:
        return None
    for tape, used in known:  # even if this overwrites what the tape reads, which is all it knows of it
        for a in used.values():
            a._memory.join((tape.session,))
    if not can_be_marked(call, arrays, args, wrote):
        words = f"launch of kernel {arrays.kernel.key!r} at {place}"
        for tape, used in known:
            for a in used.values():
                tape.session.note_unseen(a._memory, range_of(a), words, len(tape.log) + call.record)
        return None
    marks = {path: (a, marks_for(a)) for path, a in graded}
    plain = {path: m for path, (_, m) in marks.items()}
    call_or_record(partial(reset, [*plain.values()]))
    entries = [(tape, ConstantWrite(arrays, {path: marks[path] for path in used}, place)) for tape, used in known]
    marked_args = [marked_argument(value, k, marks) for k, value in enumerate(args)]
    launcher = call.launcher
    options = LaunchOptions(call.deterministic)
    ready = prepare(launcher.kernel, call.dim, marked_args, launcher.device, MARKING, options)
    return ConstantLaunch(ready.in_blocks_of(launcher), entries, plain)


def reset(marks: Sequence[array]) -> None:
    """Mark nothing."""
    for m in marks:
        for part in parts(m._data):
            part[...] = 1


def is_used(memory: Allocation, tape: Tape) -> bool:
    """Whether a tape has recorded an operation on memory."""
    return tape.session in memory.users or any(r.session is tape.session for r in memory.reads)


def can_be_marked(call: LaunchCall, arrays: KernelArrays, args: list[Any], wrote: Wrote) -> bool:
    """Whether the marking form sees every write of a launch to memory that has gradients."""
    if not call.launcher.device.shares_host_memory or has_opaque_writes(arrays.fn):
        return False
    if any(map(structs.is_in_pieces, arrays.arguments)) or any(ref.in_elements for ref in arrays.written):
        return False
    graded = [a for _, a in wrote if a._memory.has_gradient]
    return all(a._gradient is not None and a._tag.apart for a in graded)


@per_object
def has_opaque_writes(fn: Function) -> bool:
    return is_opaque(fn)


def marks_for(a: array) -> array:
    """Marks for the elements of an array."""
    assert a._gradient is not None
    return array._wrap(allocate_like(a._gradient._data), a.dtype, a.device)


def marked_argument(value: object, k: int, marks: Mapping[ArrayRef, tuple[array, array]], path: Fields = ()) -> Any:
    """An argument with marks in the place of gradients."""
    if isinstance(value, structs.Struct):
        copied = object.__new__(type(value))
        for name in type(value).fields:
            inner = marked_argument(getattr(value, name), k, marks, (*path, name))
            object.__setattr__(copied, name, inner)
        return copied
    if isinstance(value, indexedarray):
        return indexedarray(marked_array(value.data, marks.get(ArrayRef(k, path))), value.indices)
    return marked_array(value, marks.get(ArrayRef(k, path))) if isinstance(value, array) else value


def marked_array(a: array, known: tuple[array, array] | None) -> array:
    replacement = stand_in(a, a._data, grad=False)
    replacement._memory, replacement._owner = a._memory, a
    replacement._cut = known is None
    if known is not None:
        replacement._grad = known[1]
        replacement._pack()
    return replacement
