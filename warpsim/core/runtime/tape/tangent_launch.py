"""Forward mode of a recorded launch: its tangent (jvp), and the tangent of its adjoint (hvp, forward over reverse).

Contents are those of the launch, in the arrays or in what the tape kept. Programs whose tangents depend on the order
of threads run on one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import GradientError, LaunchError, NotDifferentiableError
from ...emit.program import Form, FormKind, Program
from ...ir.def_use import used_values
from ...ir.nodes import Function, Value
from ...passes.forward.derived import moving_floats
from ...passes.forward.gradients_as_params import gradient_arrays
from ...passes.forward.tangent import Floats, needs_one_thread
from ...passes.reverse.extra_params import Before, GradientArray, GradientSum, Returned, TangentOf
from ...types.answers import per_object
from ...types.array_ref import ArrayRef, member_at
from ...types.arrays import ArrayType
from ...types.structs import Struct, freeze
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..arrays.mirrors import Mirror
from ..devices.capture import current_graph
from ..devices.device import Device
from ..launches.arguments import empty_array
from ..launches.for_device import prepare
from ..launches.kernel import Kernel
from ..launches.launcher import Launcher
from .adjoint_launch import check_reversible, extra_argument, stand_in_arguments
from .adjoint_needs import have_gradients

if TYPE_CHECKING:
    from .launch_entry import LaunchEntry

Numbers = Mapping[str, Any]
"""Tangents of numbers among the arguments, by the name of the parameter; for tapes of one launch."""


class MovedLaunch:
    """A recorded launch with the tangents that its arguments had then."""

    def __init__(self, entry: LaunchEntry, tangents: Mirror, numbers: Numbers):
        self.entry, self.arrays, self.tangents, self.numbers = entry, entry.needs.arrays, tangents, numbers
        self.own = len(self.arrays.arguments)
        if any(ref.in_elements for ref in (*self.arrays.floats, *self.arrays.written)):
            raise GradientError(
                f"elements of arguments of kernel {self.arrays.kernel.key!r} refer to arrays\n"
                "expected: arrays as parameters, or in struct parameters\n"
                "help: tangents of arrays that lie in arrays are not known"
            )
        if entry.needs.gradients is not None and entry.needs.general is None:
            raise NotDifferentiableError(
                f"kernel {self.arrays.kernel.key!r}, launched at {entry.place}, has no adjoint for gradients in all of "
                "its arrays: the tape kept nothing for tangents of the others",
                expected="for derivatives along a direction, a kernel that can be differentiated in all arrays",
                help="split it, so that what cannot be differentiated is a launch of its own",
            )
        if entry.reads is None:
            raise GradientError(
                f"no argument of kernel {self.arrays.kernel.key!r} had a gradient when it was launched at {entry.place}"
                ": the tape kept nothing for tangents\nexpected: requires_grad=True for one of them before the launch"
            )
        check_reversible(entry, frozenset(self.arrays.name[ref] for ref in self.arrays.floats))
        self.before: dict[int, Any] = {}
        self.moving: Floats = {}
        self.kept: list[Any] = []
        self.sums: dict[int, array] = {}
        """After `reverse` the tangents of the gradients of numbers, by position."""

    def program(self, kind: FormKind, names: Iterable[str]) -> tuple[Form, Program]:
        parameters = [name.partition(".")[0] for name in self.numbers]  # a struct, where it is a field
        form = self.arrays.form(kind, frozenset((*names, *parameters)))
        return form, self.arrays.program(form)

    def run(self, form: Form, further: list[Any]) -> None:
        args = [*stand_in_arguments(self.entry), *further]
        run_form(self.arrays.kernel, self.entry.dim, args, self.entry.device, form, self.entry.launcher)

    # ----- forward --------------------------------------------------------------------------------

    def forward(self) -> None:
        """Carry tangents through the launch."""
        form, program = self.program(FormKind.RECOMPUTED_TANGENT, [self.arrays.name[ref] for ref in self.arrays.floats])
        contents = [extra_argument(self.entry, e) for e in program.extras if not isinstance(e, TangentOf)]
        moving = moving_floats(program.fn.params[: self.own], form.gradients)
        self.run(form, [*contents, *(self.now(ref, t) for ref, t in moving.items())])

    def now(self, ref: ArrayRef, t: Any) -> Any:
        """The present tangent of an argument or of a part of it."""
        if isinstance(t, ArrayType):
            a = ref.of(self.entry.args)
            return empty_array(t, self.entry.device) if a is None else self.tangents.of(a)
        return as_type(t, self.numbers.get(ref.name(self.arrays.names)))

    # ----- what the way back needs ------------------------------------------------------------------

    def adjoint(self) -> tuple[Form, Program]:
        """The adjoint in forward mode, for the arrays that have gradients."""
        return self.program(FormKind.ADJOINT_TANGENT, gradient_names(self.entry))

    def keep_before(self) -> None:
        """Keep tangents of contents from before the launch."""
        for extra in self.adjoint()[1].extras:
            if isinstance(extra, Before):
                self.before[extra.position] = self.tangents_in(self.entry.args[extra.position])

    def tangents_in(self, value: Any) -> Any:
        """Copies of the tangents of an array, or of the arrays in a struct."""
        if not isinstance(value, Struct):
            return copy_strided(self.tangents.of(value)) if isinstance(value, array | indexedarray) else value
        tangents = freeze(value)
        for name in type(value).fields:
            object.__setattr__(tangents, name, self.tangents_in(getattr(value, name)))
        return tangents

    def keep(self, later: set[Any]) -> None:
        """Keep tangents of contents from after the launch, where something overwrites them later."""
        form, program = self.adjoint()
        others = sum(not isinstance(extra, TangentOf) for extra in program.extras)
        params = program.fn.params
        self.moving = moving_floats(params[: self.own + others], form.gradients)
        used = used_in(program.fn)
        for (ref, t), param in zip(self.moving.items(), params[self.own + others :], strict=True):
            if ref.position >= self.own:
                break
            tangent = self.now(ref, t)
            a = ref.of(self.entry.args)
            if isinstance(t, ArrayType) and param in used and a is not None:
                tangent = copy_strided(tangent) if a._array._memory in later else tangent
            self.kept.append(tangent)

    # ----- back -----------------------------------------------------------------------------------

    def reverse(self, gradients: Mirror, tangents: Mirror) -> None:
        """Run the adjoint in forward mode."""
        form, program = self.adjoint()
        arrays = iter(self._arrays_with_gradients(program, form))
        pairs: list[tuple[Any, Any]] = []
        for extra in program.extras:
            if isinstance(extra, Before):
                pairs.append((extra_argument(self.entry, extra), self.before[extra.position]))
            elif isinstance(extra, Returned):
                noted = extra_argument(self.entry, extra)
                pairs.append((noted, self.zeros(noted.dtype, noted.shape)))  # atomics return no derivative
            elif isinstance(extra, GradientSum):
                t = self.arrays.types[extra.position]
                pairs.append((self.zeros(t, 1), self.zeros(t, 1)))
                self.sums[extra.position] = pairs[-1][1]
            elif isinstance(extra, GradientArray):
                a = next(arrays)
                pairs.append((gradients.of(a), tangents.of(a)))
        own = self.own
        further = [member_at(pairs[r.position - own][1], r.path) for r in self.moving if r.position >= own]
        self.run(form, [*(value for value, _ in pairs), *self.kept, *further])

    def zeros(self, dtype: Any, shape: Any) -> array:
        """A fresh array on the device of the launch."""
        return array(dtype=dtype, shape=shape, device=self.entry.device)

    def _arrays_with_gradients(self, program: Program, form: Form) -> list[Any]:
        """The arguments that have gradient parameters, in their order."""
        refs = gradient_arrays(program.fn.params[: self.own], form.gradients)
        return [ref.of(self.entry.args) for ref in refs]


# ----- running -----------------------------------------------------------------------------------


def run_form(
    kernel: Kernel,
    dim: int | tuple[int, ...],
    args: list[Any],
    device: Device,
    form: Form,
    like: Launcher | None = None,
) -> None:
    """Run a form of a kernel now, on one thread where its tangents depend on the order of threads.

    like: a launch whose blocks these are.
    """
    if current_graph() is not None:
        raise LaunchError(
            "derivatives along a direction run at once: the graph that is captured cannot hold them\n"
            "help: end the capture first"
        )
    call = prepare(kernel, dim, args, device, form)
    call = call if like is None else call.in_blocks_of(like)
    call.launcher.execute(call, in_order=_in_order(call.launcher.program.fn))


def as_type(t: Any, value: Any) -> Any:
    """The tangent of a number or vector; zero where none is given."""
    if hasattr(t, "wrap"):
        return t.wrap(np.zeros(t.shape, t.dtype) if value is None else np.asarray(value, t.dtype))
    return t(0 if value is None else value)


@per_object
def _in_order(fn: Function) -> bool:
    return needs_one_thread(fn)


def gradient_names(entry: LaunchEntry) -> frozenset[str]:
    """The arrays of a launch that have gradients now; none when no gradient passes through the launch."""
    arrays = entry.needs.arrays
    names = arrays.names_with_gradients(have_gradients(entry.needs, entry.args))
    return names if any(arrays.name[ref] in names for ref in arrays.written) else frozenset()


@per_object
def used_in(fn: Function) -> frozenset[Value]:
    """All values that a program uses, found once."""
    return frozenset(used_values(fn.body))


def copy_strided(a: Any) -> Any:
    """A copy of an array with its strides."""
    mirror = Mirror([a]).of(a)
    mirror._array._data[...] = a._array._data
    return mirror
