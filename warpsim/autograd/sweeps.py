"""Derivatives along a direction of what a tape recorded: once forward for tangents, and back for their gradients.

Guarantees: nothing that the tape's arrays hold changes, gradients included. Contents are those of the
recorded launches, as `Tape.backward` finds them: in the arrays, or in what the tape kept when it overwrote
them. Tangents that a later record overwrites are kept when the way back needs them, as the tape keeps contents.
Launches that no tangent reaches are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.emit.program import Form, Program
from ..core.ir.def_use import used_values
from ..core.ir.nodes import Function, Value
from ..core.language import array
from ..core.passes.analysis.mod_ref import NESTED
from ..core.passes.forward.derived import moving_slots
from ..core.passes.forward.gradients_as_params import gradient_slots
from ..core.passes.forward.tangent import Slot
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.launches.arguments import empty_array
from ..core.runtime.tape.adjoint_launch import check_aliases, check_reversible, extra_argument, stand_in_arguments
from ..core.runtime.tape.adjoint_needs import have_gradients
from ..core.runtime.tape.entries import WriteEntry
from ..core.runtime.tape.entry import TapeEntry
from ..core.runtime.tape.launch_entry import LaunchEntry
from ..core.runtime.tape.tape import Tape
from ..core.types.arrays import ArrayType
from ..core.types.structs import Struct, frozen
from ..errors import GradientError, NotDifferentiableError, TapeError, instance
from .dual import as_type, fitting, part, run_form
from .mirrors import Mirror

Numbers = Mapping[str, Any]
"""Tangents of numbers among the arguments, by the name of the parameter; for tapes of one launch."""


class ForwardSweep:
    """Tangents of all arrays of a tape. With `for_reverse`, what the way back needs is kept."""

    def __init__(self, tape: Tape, numbers: Numbers | None = None, for_reverse: bool = False):
        if not tape.records:
            raise TapeError("nothing is recorded on this tape\nexpected: launches inside `with tape:`")
        tape._check_contents()
        self.tape, self.numbers, self.for_reverse = tape, numbers, for_reverse
        self.tangents = Mirror(tape.arrays())
        self.moving: set[Any] = set()
        self.later = _written_later(tape)
        self.launches: dict[int, MovedLaunch] = {}

    def set(self, tangents: Mapping[Any, Any]) -> None:
        """The direction: tangents of arrays, as arrays or numbers of the same shape."""
        write(self.tape, self.tangents, tangents)
        self.moving.update(a._array._memory for a in tangents)

    def run(self) -> None:
        for k, record in enumerate(self.tape.records):
            moves = self.numbers is not None or any(a._memory in self.moving for a in record.arrays())
            if isinstance(record, LaunchEntry):
                if moves or (self.for_reverse and gradient_names(record)):
                    self.launch(k, record)
            elif isinstance(record, WriteEntry):
                if moves:
                    record.carry(*sides(record, self.tangents))
            elif moves or (self.for_reverse and record.step):
                refuse(record)
            if moves:
                self.moving.update(a._memory for a in record.written())

    def launch(self, k: int, record: LaunchEntry) -> None:
        launch = self.launches[k] = MovedLaunch(record, self.tangents, self.numbers or {})
        if self.for_reverse:
            launch.keep_before()
        launch.forward()
        if self.for_reverse:
            launch.keep(self.later[k])


class MovedLaunch:
    """A recorded launch with the tangents that it had when it was recorded."""

    def __init__(self, record: LaunchEntry, tangents: Mirror, numbers: Numbers):
        self.record, self.needs, self.tangents, self.numbers = record, record.needs, tangents, numbers
        self.own = len(self.needs.arguments)
        if any(path[1] == NESTED for path in (*self.needs.floats, *self.needs.written)):
            raise GradientError(
                f"elements of arguments of kernel {self.needs.kernel.key!r} refer to arrays\n"
                "expected: arrays as parameters, or in struct parameters\n"
                "help: tangents of arrays that lie in arrays are not known"
            )
        if self.needs.gradients is not None and self.needs.general is None:
            raise NotDifferentiableError(
                f"kernel {self.needs.kernel.key!r}, launched at {record.place}, has no adjoint for gradients in all of "
                "its arrays: the tape kept nothing for tangents of the others",
                expected="for derivatives along a direction, a kernel that can be differentiated in all arrays",
                help="split it, so that what cannot be differentiated is a launch of its own",
            )
        check_reversible(record, frozenset(self.needs.name[path] for path in self.needs.floats))
        self.before: dict[int, Any] = {}
        self.slots: list[Slot] = []
        self.kept: list[Any] = []

    def program(self, kind: str, names: Iterable[str]) -> tuple[Form, Program]:
        parameters = [name.partition(".")[0] for name in self.numbers]  # a struct, where it is a field
        form = self.needs.form(kind, frozenset((*names, *parameters)))
        return form, self.needs.kernel.program(self.needs.types, self.needs.settings, False, form)

    def run(self, form: Form, further: list[Any]) -> None:
        args = [*stand_in_arguments(self.record), *further]
        run_form(self.needs.kernel, self.record.dim, args, self.record.device, form)

    # ----- forward --------------------------------------------------------------------------------

    def forward(self) -> None:
        """Carry tangents through the launch."""
        form, program = self.program("replayed tangent", [self.needs.name[path] for path in self.needs.floats])
        kept = [extra_argument(self.record, e) for e in program.extras if e.kind != "tangent"]
        slots = moving_slots(program.fn.params[: self.own], form.gradients)
        self.run(form, [*kept, *(self.now(slot) for slot in slots)])

    def now(self, slot: Slot) -> Any:
        """The present tangent of an argument or of a part of it."""
        if isinstance(slot.type, ArrayType):
            given = part(self.record.args[slot.position], slot)
            return empty_array(slot.type, self.record.device) if given is None else self.tangents.of(given)
        return as_type(slot.type, self.numbers.get(slot.name))

    # ----- what the way back needs ------------------------------------------------------------------

    def adjoint(self) -> tuple[Form, Program]:
        """The adjoint in forward mode, for the arrays that have gradients."""
        return self.program("adjoint tangent", gradient_names(self.record))

    def keep_before(self) -> None:
        """Keep tangents of contents from before the launch."""
        for extra in self.adjoint()[1].extras:
            if extra.kind == "before":
                self.before[extra.position] = self.tangents_in(self.record.args[extra.position])

    def tangents_in(self, value: Any) -> Any:
        """Copies of the tangents of an array, or of the arrays in a struct."""
        if not isinstance(value, Struct):
            return copied(self.tangents.of(value)) if isinstance(value, array | indexedarray) else value
        made = frozen(value)
        for name in type(value).fields:
            object.__setattr__(made, name, self.tangents_in(getattr(value, name)))
        return made

    def keep(self, later: set[Any]) -> None:
        """Keep tangents of contents from after the launch, where something overwrites them later."""
        form, program = self.adjoint()
        others = sum(extra.kind != "tangent" for extra in program.extras)
        params = program.fn.params
        self.slots = moving_slots(params[: self.own + others], form.gradients)
        used = used_in(program.fn)
        for slot, param in zip(self.slots, params[self.own + others :], strict=True):
            if slot.position >= self.own:
                break
            found = self.now(slot)
            given = part(self.record.args[slot.position], slot)
            if isinstance(slot.type, ArrayType) and param in used and given is not None:
                found = copied(found) if given._array._memory in later else found
            self.kept.append(found)

    # ----- back -----------------------------------------------------------------------------------

    def reverse(self, gradients: Mirror, slopes: Mirror) -> dict[int, Any]:
        """Run the adjoint in forward mode; gives tangents of the gradients of numbers, by position."""
        form, program = self.adjoint()
        arrays = iter(self._arrays_with_gradients(program, form))
        pairs: list[tuple[Any, Any]] = []
        sums: dict[int, Any] = {}
        for extra in program.extras:
            if extra.kind == "before":
                pairs.append((extra_argument(self.record, extra), self.before[extra.position]))
            elif extra.kind == "recorded":
                noted = extra_argument(self.record, extra)
                pairs.append((noted, self.zeros(noted.dtype, noted.shape)))  # atomics return no derivative
            elif extra.kind == "sum":
                t = self.needs.types[extra.position]
                pairs.append((self.zeros(t, 1), self.zeros(t, 1)))
                sums[extra.position] = pairs[-1][1]
            elif extra.kind == "gradient":
                a = next(arrays)
                pairs.append((gradients.of(a), slopes.of(a)))
        further = [part(pairs[slot.position - self.own][1], slot) for slot in self.slots if slot.position >= self.own]
        self.run(form, [*(value for value, _ in pairs), *self.kept, *further])
        return sums

    def zeros(self, dtype: Any, shape: Any) -> array:
        """A fresh array on the device of the launch."""
        return array(dtype=dtype, shape=shape, device=self.record.device)

    def _arrays_with_gradients(self, program: Program, form: Form) -> list[Any]:
        """The arguments that have gradient parameters, in their order."""
        slots = gradient_slots(program.fn.params[: self.own], form.gradients)
        return [part(self.record.args[slot.position], slot) for slot in slots]


class ReverseSweep:
    """Gradients of a tape and their tangents, after a `ForwardSweep` that kept what is needed."""

    def __init__(self, forward: ForwardSweep):
        self.forward, self.tape = forward, forward.tape
        check_aliases([a for record in self.tape.records for a in record.written()], self.tape.arrays())
        self.gradients, self.slopes = Mirror(self.tape.arrays()), Mirror(self.tape.arrays())
        self.sums: dict[int, Any] = {}

    def set(self, cotangents: Mapping[Any, Any]) -> None:
        """The gradients to start from."""
        write(self.tape, self.gradients, cotangents)

    def run(self) -> None:
        for k, record in reversed(list(enumerate(self.tape.records))):
            launch = self.forward.launches.get(k)
            if launch is not None and gradient_names(launch.record):
                self.sums = launch.reverse(self.gradients, self.slopes)
            elif isinstance(record, WriteEntry) and record.step is not None:
                record.move(*sides(record, self.gradients))
                record.move(*sides(record, self.slopes))


def write(tape: Tape, mirror: Mirror, values: Mapping[Any, Any]) -> None:
    """Write numbers that are given for arrays of a tape into a mirror. Raises `GradientError`."""
    for a, numbers in instance(values, Mapping, "what is given for arrays of a tape").items():
        if not isinstance(a, array | indexedarray) or not any(a._array is known for known in tape.arrays()):
            raise GradientError(
                f"a tangent or cotangent is given for {a!r}\nexpected: an array of floats that the tape recorded"
            )
        mirror.set(a, fitting(repr(a), a.dtype, a.shape, numbers))


def sides(record: WriteEntry, mirror: Mirror) -> tuple[np.ndarray, np.ndarray | None]:
    """What mirrors the array that was written, and its source."""
    source = None if record.source is None else mirror.of(record.source._array)._data
    return mirror.of(record.dest._array)._data, source


@lru_cache(maxsize=256)
def used_in(fn: Function) -> frozenset[Value]:
    """All values that a program uses, found once."""
    return frozenset(used_values(fn.body))


def gradient_names(record: LaunchEntry) -> frozenset[str]:
    """The arrays of a launch that have gradients now; none when no gradient passes through the launch."""
    needs = record.needs
    names = needs.chosen(have_gradients(needs, record.args))
    return names if any(needs.name[path] in names for path in needs.written) else frozenset()


def refuse(entry: TapeEntry) -> None:
    raise TapeError(
        f"{entry.title} at {entry.place}: its derivative along a direction is not known\n"
        "expected: launches, copies and assignments on the tape"
    )


def _written_later(tape: Tape) -> list[set[Any]]:
    """For each record the memory that records after it write."""
    found: list[set[Any]] = []
    later: set[Any] = set()
    for record in reversed(tape.records):
        found.append(set(later))
        later.update(a._memory for a in record.written())
    return found[::-1]


def copied(a: Any) -> Any:
    """A copy of an array with its strides."""
    made = Mirror([a]).of(a)
    made._array._data[...] = a._array._data
    return made
