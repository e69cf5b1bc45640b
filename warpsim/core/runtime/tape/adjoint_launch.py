"""The reverse of a recorded launch: its adjoint, with saved contents in the place of present ones."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ....config import config
from ....errors import GradientError, NotDifferentiableError
from ...emit.program import Form, FormKind
from ...passes.reverse.extra_params import Extent, ExtraParam, Returned
from ...types.array_ref import ArrayRef
from ...types.scalars import int32
from ..arrays.array import array
from ..devices.memory_range import share_elements
from ..launches.dimensions import as_indexed
from ..launches.for_device import LaunchOptions, prepare
from ..launches.launcher import LaunchCall, Launcher
from ..launches.shared_memory import gradients_meet
from ..steps.host_call import HostCall
from ..steps.in_turn import InTurn
from ..steps.launch import LaunchStep
from ..steps.step import Step
from .adjoint_needs import SavedRef, have_gradients
from .kernel_arrays import KernelArrays, has_gradients
from .stand_ins import Copies, Restored, substitute

if TYPE_CHECKING:
    from .launch_entry import LaunchEntry


def reverse_step(entry: LaunchEntry) -> Step | None:
    """What runs the adjoint of a recorded launch, or None when no gradient passes through it."""
    needs, arrays, forward = entry.needs, entry.needs.arrays, entry.launcher
    present = have_gradients(needs, entry.args)
    key = (present, arrays.same) if arrays.same else present
    if key in forward.reverses:  # as in the last launch of this form
        launchers = forward.reverses[key]
        if not launchers:
            return None
        sound = entry.reads is not None and not entry.record.overlap
        if sound and needs.changing:
            sound = needs.serves(arrays.names_with_gradients(present))
        if sound and launchers[0].generation == config.generation:
            calls = calls_again(entry, launchers)
            if calls is not None:
                return around(entry, in_turn(calls))
    names = arrays.names_with_gradients(present)
    if not any(ref.in_elements or arrays.name[ref] in names for ref in arrays.written):
        forward.reverses[key] = ()
        return None
    if not names and not has_gradients(arrays, entry.args):
        return None
    if not arrays.kernel.option("enable_backward"):
        warn_passed_by(entry)
        return None
    check_reversible(entry, names)
    return first_step(entry, key, arrays.form(FormKind.ADJOINT, names))


def warn_passed_by(entry: LaunchEntry) -> None:
    """Say that a launch takes no part in a backward pass, as its kernel asks."""
    warnings.warn(
        f"kernel {entry.name!r}, launched at {entry.place}, has enable_backward=False: backward passes it by, and what "
        "it wrote counts as constant\nhelp: launch it with record_tape=False, which says so without this warning",
        UserWarning,
        stacklevel=2,
    )


def check_reversible(entry: LaunchEntry, names: frozenset[str]) -> None:
    """Raise when gradients should pass through a launch that cannot be reversed."""
    needs, arrays = entry.needs, entry.needs.arrays
    if entry.record.overlap:
        raise NotDifferentiableError(
            f"arrays {entry.record.overlap} of kernel {entry.name!r} overlap in the launch at "
            f"{entry.place}, and a thread may read the one after it wrote the other",
            expected="arrays that do not overlap, or one and the same array for both",
            help="pass a copy: wp.clone(x)",
        )
    check_names(arrays, names)
    for ref in arrays.written:
        if not (ref.path or ref.in_elements) and not entry.args[ref.position]._tag.apart:
            raise NotDifferentiableError(
                f"elements of array {arrays.name[ref]!r} share memory, and kernel {entry.name!r} writes to "
                f"it in the launch at {entry.place}",
                expected="an array whose elements are apart",
                help="write to a copy: wp.clone(x)",
            )
    if arrays.reaches and needs.hidden is not None:
        raise NotDifferentiableError(
            f"kernel {entry.name!r}, launched at {entry.place}, reaches a structure by an id that is no "
            "argument of the launch",
            needs.hidden,
            expected="ids that are parameters of the kernel, or fields of struct parameters, and resolved outside of "
            "functions with gradients of their own",
            help="pass the id to the kernel, or launch it with record_tape=False",
        )
    if entry.reads is None:
        raise GradientError(
            f"the arguments of kernel {entry.name!r} had no gradients when it was launched at {entry.place}, "
            f"and {min(names, default='an array in an element')!r} has one now\n"
            "expected: requires_grad=True before the launch, so that the tape keeps what the gradient needs"
        )
    if not needs.serves(names):
        before = "others" if needs.gradients is None else arrays_in_words(needs.gradients)
        raise GradientError(
            f"arrays of kernel {entry.name!r} got or lost gradients after the launch at {entry.place}\n"
            f"found: gradients in {arrays_in_words(names)}; at the launch in {before}\n"
            "expected: the same, as the kernel overwrites what it reads, and other gradients need other contents of it"
        )


def check_names(arrays: KernelArrays, names: frozenset[str]) -> None:
    """Raise when one array has a gradient under one name, and none under another."""
    for pair in arrays.same:
        words = [arrays.name[ArrayRef(k)] for k in pair]
        if (words[0] in names) != (words[1] in names):
            first, second = sorted(words, key=lambda name: name not in names)
            raise NotDifferentiableError(
                f"{first!r} and {second!r} of kernel {arrays.kernel.key!r} are one array in a launch, which the kernel "
                f"writes; {first!r} has a gradient and {second!r} has none",
                expected="a gradient under both names, or under none",
                help=f"pass a copy for {second!r}: wp.clone(x)",
            )


def check_aliases(written: Iterable[array], arrays: Sequence[array]) -> None:
    """Raise when an array was written that shares elements with one that has a gradient, but not that gradient."""
    written = list(written)
    for a in written:
        if a._memory.aliased and a._gradient is not None:
            check_one_gradient(a, arrays)
    for a in [a for a in written if a._grad is None and a._memory.has_gradient]:
        if a._gradient is not None:
            continue  # a view that takes its part of the owner's gradient only now
        others = [b for b in arrays if b._memory is a._memory and b._gradient is not None]
        for b in others:
            if share_elements(a._data, b._data):
                raise NotDifferentiableError(
                    f"{a!r} without gradient was written on the tape, and shares memory with {b!r}, which has one",
                    expected="arrays that have gradients under all names by which they are written",
                    help="write to the array itself, or give the view its gradient back: requires_grad=True",
                )


def check_one_gradient(a: array, arrays: Sequence[array]) -> None:
    """Raise when an array was written whose elements have another gradient under another name."""
    assert a._gradient is not None
    for b in arrays:
        if b._memory is a._memory and b._gradient is not None and share_elements(a._data, b._data):
            if b._gradient._address - b._address != a._gradient._address - a._address:
                raise NotDifferentiableError(
                    f"{a!r} was written on the tape, and shares memory with {b!r}, which has a gradient of its own",
                    expected="one gradient for the same elements under all names by which they are used",
                    help="make a view of the array, x[:], or make the other one with grad=x.grad",
                )


def arrays_in_words(names: Iterable[str]) -> str:
    """Names of arrays in words."""
    return ", ".join(sorted(names)) or "none"


def first_step(entry: LaunchEntry, key: Any, form: Form) -> Step:
    """The reverse of the first launch of its form."""
    arrays, forward = entry.needs.arrays, entry.launcher
    args = stand_in_arguments(entry)
    calls, options = [], LaunchOptions(entry.deterministic)
    for part in phases(arrays, form, args):
        program = arrays.program(part)
        operands = [*args, *(extra_argument(entry, extra) for extra in program.extras)]
        dim = threads(arrays, part, args, entry.dim)
        call = prepare(arrays.kernel, dim, operands, forward.device, part, options)
        calls.append(call.in_blocks_of(forward))
    forward.reverses[key] = tuple([call.launcher for call in calls])
    return around(entry, in_turn(calls))


def phases(arrays: KernelArrays, form: Form, args: Sequence[Any]) -> list[Form]:
    """The adjoint in two steps, of which the first gathers sums at each element, where that can be; else in one.

    Checks of indices are about the threads that were launched, and are left to one step.
    """
    whole = arrays.program(form).gathered
    if whole is None or arrays.settings.verify or gradients_meet(args):
        return [form]
    if not all(args[k]._tag.apart for k, _ in whole.arrays):
        return [form]
    return [form._replace(phase=phase) for phase in ("gathered", *(["rest"] if whole.rest else []))]


def threads(arrays: KernelArrays, form: Form, args: Sequence[Any], dim: int | tuple[int, ...]) -> Any:
    """The launch dimensions of a step of the adjoint: where each element gathers, a thread for each."""
    if form.phase != "gathered":
        return dim
    program = arrays.program(form._replace(phase=""))
    assert program.gathered is not None
    return program.gathered.dims(as_indexed(dim, program.ndim), args)


def calls_again(entry: LaunchEntry, launchers: Sequence[Launcher]) -> list[LaunchCall] | None:
    """The steps of an adjoint by launchers that had another launch of its form; None if one does not fit."""
    args, calls = stand_in_arguments(entry), []
    for launcher in launchers:
        operands = args
        if len(launcher.types) > len(args):
            operands = [*args, *(extra_argument(entry, extra) for extra in launcher.program.extras)]
        dim = threads(entry.needs.arrays, launcher.form, args, entry.dim)
        total, header = launcher.extent(dim)
        block = launcher.pack(operands, header)
        if block is None:
            return None
        calls.append(LaunchCall(launcher, dim, total, block, operands, deterministic=entry.deterministic))
    return calls


def in_turn(calls: Sequence[LaunchCall]) -> Step:
    """One launch after the other."""
    steps = [LaunchStep(call) for call in calls]
    return steps[0] if len(steps) == 1 else InTurn(steps)


def overwritten_contents(entry: LaunchEntry) -> list[tuple[SavedRef, Any]]:
    """What the memory of a launch held that holds something else now, with the copy of that."""
    for read in entry.reads or ():
        if read.copy is not None:
            break
    else:  # as of nearly all launches
        return []
    pairs = zip(entry.record.saved, entry.reads or (), strict=True)
    return [(saved, read.copy) for saved, read in pairs if read.copy is not None]


def stand_in_arguments(entry: LaunchEntry) -> list[Any]:
    """The arguments, with saved contents where the present ones are others."""
    args, changed = list(entry.args), overwritten_contents(entry)
    if not changed:
        return args
    copies = defaultdict[int, Copies](dict)
    for saved, copy in changed:
        if not (saved.before or saved.ref.in_elements):
            copies[saved.ref.position][saved.ref.path, saved.table] = copy
    for k, contents in copies.items():
        args[k] = substitute(args[k], contents)
    return args


def around(entry: LaunchEntry, step: Step) -> Step:
    """`step`, run while arrays that elements of structs refer to hold their saved contents."""
    if not entry.needs.arrays.in_elements:
        return step
    pairs = zip(entry.record.saved, entry.reads or (), strict=True)
    held = [(read.view, read) for saved, read in pairs if saved.ref.in_elements and read.copy is not None]
    if not held:
        return step

    def run() -> None:
        with Restored(held):
            step.run()

    return HostCall(run, entry.device, words=step.name)


def extra_argument(entry: LaunchEntry, extra: ExtraParam) -> Any:
    """The argument of an extra parameter of the adjoint."""
    if isinstance(extra, Extent):
        return int32(as_indexed(entry.dim, entry.launcher.ndim)[extra.position])
    if isinstance(extra, Returned):
        return entry.record.returned[extra.position]
    copies: Copies = {}
    for (ref, table, before), copy in overwritten_contents(entry):
        if before and ref.position == extra.position:
            copies[ref.path, table] = copy
    return substitute(entry.args[extra.position], copies, grad=False)
