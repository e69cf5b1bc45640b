"""Adjoint launches: the reverse of one launch, by hand or for a tape.

By hand: `wp.launch(kernel, dim, inputs, outputs, adj_inputs=[...], adj_outputs=[...], adjoint=True)`.
An entry of the lists is None (the array's own `.grad`, if it has one), an array that takes the place of
`.grad` for this launch, or, for a number, vector or struct, an array of one element to which its gradient
is added. The arrays must hold what they held after the forward launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....config import config
from ....errors import GradientError, NotDifferentiableError
from ...emit.program import Form
from ...passes.analysis.mod_ref import NESTED
from ...types.arrays import ArrayType, type_name
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..arrays.host_memory import allocate_like
from ..arrays.indexed import indexedarray
from ..arrays.saved_contents import meets
from ..devices.capture import recorded
from ..devices.device import Device
from ..launches.arguments import adapted
from ..launches.dimensions import extent
from ..launches.for_device import prepare
from ..launches.graph import Launch
from ..launches.kernel import Kernel
from ..launches.launcher import LaunchCall
from .adjoint_needs import Needs, arrays_at, has_gradients, have_gradients, needs_of, same_arrays
from .entry import Step
from .stand_ins import Copies, Restored, stand_in, substituted

if TYPE_CHECKING:
    from .launch_entry import LaunchEntry

# ----- the reverse of a recorded launch -----------------------------------------------------------


def reverse_step(record: LaunchEntry) -> Step | None:
    """What runs the adjoint of a recorded launch, or None when no gradient passes through it."""
    needs, forward = record.needs, record.launcher
    given = have_gradients(needs, record.args)
    key = (given, needs.same) if needs.same else given
    if key in forward.reverses:  # as in the last launch of this form
        launcher = forward.reverses[key]
        if launcher is None:
            return None
        sound = record.reads is not None and (record.snapshot is None or not record.snapshot.overlap_error)
        if sound and needs.changing:
            sound = needs.serves(needs.chosen(given))
        if sound and launcher.generation == config.generation:
            args = stand_in_arguments(record)
            if len(launcher.types) > len(args):
                args += [extra_argument(record, extra) for extra in launcher.program.extras]
            total, header = extent(record.dim, needs.kernel.key, forward.ndim)
            block = launcher.pack(args, header)
            if block is not None:
                call = LaunchCall(launcher, record.dim, total, block, args, len(args), False, record.deterministic)
                return around(record, adjoint_step(call))
    names = needs.chosen(given)
    if not any(path[1] == NESTED or needs.name[path] in names for path in needs.written):
        forward.reverses[key] = None
        return None
    if not names and not has_gradients(needs, record.args):
        return None
    check_reversible(record, names)
    return first_step(record, key, needs.form("adjoint", names))


def check_reversible(record: LaunchEntry, names: frozenset[str]) -> None:
    """Raise when gradients should pass through a launch that cannot be reversed."""
    needs = record.needs
    if not needs.kernel.option("enable_backward"):
        raise NotDifferentiableError(
            f"kernel {needs.kernel.key!r} was launched on a tape at {record.place}, and has enable_backward=False",
            expected="enable_backward=True (the default) for kernels on a tape",
            help="launch it with record_tape=False when gradients should pass it by",
        )
    if record.snapshot is not None and record.snapshot.overlap_error:
        raise NotDifferentiableError(
            f"arrays {record.snapshot.overlap_error} of kernel {needs.kernel.key!r} overlap in the launch at "
            f"{record.place}, and a thread may read the one after it wrote the other",
            expected="arrays that do not overlap, or one and the same array for both",
            help="pass a copy: wp.clone(x)",
        )
    check_names(needs, names)
    for k, field in needs.written:
        if not field and not record.args[k]._tag.apart:
            raise NotDifferentiableError(
                f"elements of array {needs.name[k, field]!r} share memory, and kernel {needs.kernel.key!r} writes to "
                f"it in the launch at {record.place}",
                expected="an array whose elements are apart", help="write to a copy: wp.clone(x)",
            )
    if needs.reaches and needs.hidden is not None:
        raise NotDifferentiableError(
            f"kernel {needs.kernel.key!r}, launched at {record.place}, reaches a structure by an id that is no "
            "argument of the launch", needs.hidden,
            expected="ids that are parameters of the kernel, or fields of struct parameters, and resolved outside of "
            "functions with gradients of their own",
            help="pass the id to the kernel, or launch it with record_tape=False",
        )  # fmt: skip
    if record.reads is None:
        raise GradientError(
            f"the arguments of kernel {needs.kernel.key!r} had no gradients when it was launched at {record.place}, "
            f"and {min(names, default='an array in an element')!r} has one now\n"
            "expected: requires_grad=True before the launch, so that the tape keeps what the gradient needs"
        )
    if not needs.serves(names):
        before = "others" if needs.gradients is None else listed(needs.gradients)
        raise GradientError(
            f"arrays of kernel {needs.kernel.key!r} got or lost gradients after the launch at {record.place}\n"
            f"found: gradients in {listed(names)}; at the launch in {before}\n"
            "expected: the same, as the kernel overwrites what it reads, and other gradients need other contents of it"
        )


def check_names(needs: Needs, names: frozenset[str]) -> None:
    """Raise when one array has a gradient under one name, and none under another."""
    for pair in needs.same:
        words = [needs.name[k, ""] for k in pair]
        if (words[0] in names) != (words[1] in names):
            first, second = sorted(words, key=lambda name: name not in names)
            raise NotDifferentiableError(
                f"{first!r} and {second!r} of kernel {needs.kernel.key!r} are one array in a launch, which the kernel "
                f"writes; {first!r} has a gradient and {second!r} has none",
                expected="a gradient under both names, or under none", help=f"pass a copy for {second!r}: wp.clone(x)",
            )  # fmt: skip


def check_aliases(written: Iterable[array], arrays: Sequence[array]) -> None:
    """Raise when an array without gradient was written that shares elements with one that has a gradient."""
    for a in [a for a in written if a._grad is None and a._memory.has_gradient]:
        if a._slopes is not None:
            continue  # a view that takes its part of the owner's gradient only now
        others = [b for b in arrays if b._memory is a._memory and b._slopes is not None]
        for b in others:
            if meets(a._data, b._data):
                raise NotDifferentiableError(
                    f"{a!r} without gradient was written on the tape, and shares memory with {b!r}, which has one",
                    expected="arrays that have gradients under all names by which they are written",
                    help="write to the array itself, or give the view its gradient back: requires_grad=True",
                )


def listed(names: Iterable[str]) -> str:
    """Names of arrays in words."""
    return ", ".join(sorted(names)) or "none"


def first_step(record: LaunchEntry, key: Any, form: Form) -> Step:
    """The reverse of the first launch of its form."""
    needs, forward = record.needs, record.launcher
    args = stand_in_arguments(record)
    program = needs.kernel.program(needs.types, needs.settings, False, form)
    if program.extras:
        args += [extra_argument(record, extra) for extra in program.extras]
    call = prepare(needs.kernel, record.dim, args, forward.device, form, record.deterministic)
    forward.reverses[key] = call.launcher
    return around(record, adjoint_step(call))


def adjoint_step(call: LaunchCall) -> Step:
    """What runs an adjoint: if it is small, the call of machine code itself."""
    if call.total <= call.launcher.serial_limit and not call.launcher.reports:
        return partial(call.launcher.function, call.block, 0, call.total, 0)
    return call.run


def stand_in_arguments(record: LaunchEntry) -> list[Any]:
    """The arguments, with saved contents where the present ones are others."""
    args, needs = list(record.args), record.needs
    for (k, _), read in zip(needs.plain_reads, record.reads or (), strict=False):
        if read.copy is not None:
            args[k] = stand_in(args[k], read.copy)
    if record.snapshot is None and needs.overlapping and record.reads:
        before, after = needs.plain_own
        for (k, _), read in zip(after, record.reads[len(needs.plain_reads) + len(before) :], strict=True):
            if read.copy is not None:
                args[k] = stand_in(args[k], read.copy)
    if record.snapshot is None:
        return args
    copies: dict[int, Copies] = {}
    for (k, field), part, _, read in record.snapshot.reads:
        if read.copy is not None and field != NESTED:
            copies.setdefault(k, {})[field, part] = read.copy
    for k, found in copies.items():
        args[k] = substituted(args[k], found)
    return args


def around(record: LaunchEntry, step: Step) -> Step:
    """`step`, run while arrays that elements of structs refer to hold their saved contents."""
    if record.snapshot is None:
        return step
    reads = record.snapshot.reads
    held = [(a._data, read) for (_, field), _, a, read in reads if field == NESTED and read.copy is not None]
    if not held:
        return step

    def run() -> None:
        with Restored(held):
            step()

    return run


def extra_argument(record: LaunchEntry, extra: Any) -> Any:
    """The argument of an extra parameter of the adjoint."""
    if record.snapshot is None:
        first, position = len(record.needs.plain_reads), list(record.needs.own.before).index(extra.position)
        assert record.reads is not None
        before = [("", None, record.reads[first + position])]
    elif extra.kind == "recorded":
        return record.snapshot.recorded[extra.position]
    else:
        before = [(field, part, read) for field, part, _, read in record.snapshot.before[extra.position]]
    copies: Copies = {(field, part): read.copy for field, part, read in before if read.copy is not None}
    return substituted(record.args[extra.position], copies, slopes=False)


# ----- by hand --------------------------------------------------------------------------------------


def adjoint_launch(
    kernel: Kernel, dim: Any, inputs: Sequence[Any], outputs: Sequence[Any], adj_inputs: Sequence[Any],
    adj_outputs: Sequence[Any], device: Device, deterministic: bool | None, record_cmd: bool,
) -> Any:  # fmt: skip
    """Run the adjoint of a kernel with gradients given by hand, or return it as a `Launch`."""
    if not kernel.option("enable_backward"):
        raise NotDifferentiableError(
            f"kernel {kernel.key!r} has enable_backward=False", help="make it with enable_backward=True"
        )
    given = [*adjoints(adj_inputs, inputs, "adj_inputs"), *adjoints(adj_outputs, outputs, "adj_outputs")]
    args = [*inputs, *outputs]
    types, settings = kernel.types_for(args), kernel.settings()
    named = zip(args, types, kernel.patterns, strict=True)
    args = [adapted(a, t, name, kernel.key, device) for a, t, name in named]
    needs = needs_of(kernel, types, settings)
    needs = needs_of(kernel, types, settings, same_arrays(needs, args))
    sums: dict[int, array] = {}
    backs: list[tuple[array, np.ndarray]] = []
    for k, (name, t, slopes) in enumerate(zip(kernel.patterns, types, given, strict=True)):
        if slopes is None:
            continue
        check_adjoint(args[k], t, slopes, f"argument {name!r} of kernel {kernel.key!r}")
        if isinstance(t, ArrayType):
            args[k] = with_gradient(args[k], slopes, backs)
        else:
            sums[k] = slopes
    names = names_given(needs, needs.whole(args), sums)
    check_names(needs, names)
    form = needs.form("adjoint", names)
    program = kernel.program(types, settings, False, form)
    more = [extra_by_hand(kernel, needs, extra, sums) for extra in program.extras]
    launch = Launch(prepare(kernel, dim, [*needs.whole(args), *more], device, form, deterministic))
    launch.with_gradient = partial(regraded, needs, program.extras)
    if record_cmd and not backs:
        return launch
    if record_cmd:
        raise GradientError(
            "record_cmd=True with gradients whose strides differ from those of their arrays\n"
            "help: give gradients with the layout of the arrays"
        )
    launch.launch()
    for target, source in backs:
        recorded(partial(np.copyto, target._data, source))
    return None


def regraded(needs: Needs, extras: Sequence[Any], args: list[Any], k: int, slopes: Any) -> list[Any]:
    """The arguments of an adjoint launch with another gradient of parameter `k`, which had one before."""
    name, t = list(needs.kernel.patterns)[k], needs.types[k]
    what = f"argument {name!r} of kernel {needs.kernel.key!r}"
    check_adjoint(args[k], t, slopes, what)
    backs: list[Any] = []
    made = list(args)
    if isinstance(t, ArrayType) and args[k]._array._slopes is not None:
        made[k] = with_gradient(args[k], slopes, backs)
    elif any(e.kind == "sum" and e.position == k for e in extras):
        made[len(needs.arguments) + [(e.kind, e.position) for e in extras].index(("sum", k))] = slopes
    else:
        raise GradientError(f"{what} had no gradient when the launch was recorded\nexpected: one, to be replaced")
    if backs:
        raise GradientError(f"the gradient of {what} has other strides than the array\nexpected: the same layout")
    return made


def adjoints(given: Sequence[Any], args: Sequence[Any], name: str) -> list[Any]:
    """One entry per argument. Raises `GradientError`."""
    if not isinstance(given, list | tuple):
        raise GradientError(f"{name} is {type(given).__name__}\nexpected: a list, one entry per argument")
    if given and len(given) != len(args):
        raise GradientError(
            f"{name} has {len(given)} entries\nexpected: {len(args)}, one for each of "
            f"{name.removeprefix('adj_')}, or none\nhelp: None stands for the array's own gradient"
        )
    return list(given) or [None] * len(args)


def check_adjoint(arg: Any, t: Any, slopes: Any, what: str) -> None:
    """Raise unless `slopes` can be the gradient of an argument."""
    wanted = t.dtype if isinstance(t, ArrayType) else t
    if not has_cotangent(wanted):
        raise GradientError(f"a gradient for {what}, which is {type_name(t)}\nexpected: None, as it has no derivative")
    if not isinstance(slopes, array):
        raise GradientError(
            f"the gradient of {what} is {type(slopes).__name__}\nexpected: an array"
            + ("" if isinstance(t, ArrayType) else f" of one {type_name(t)}, to which the gradient is added")
        )
    shape = arg._array.shape if isinstance(t, ArrayType) else (1,)
    if slopes.dtype is not wanted or slopes.shape != shape:
        raise GradientError(
            f"the gradient of {what} has shape {slopes.shape} and dtype {type_name(slopes.dtype)}\n"
            f"expected: shape {shape} and dtype {type_name(wanted)}"
        )


def with_gradient(arg: Any, slopes: array, backs: list[tuple[array, np.ndarray]]) -> Any:
    """An array argument with another gradient; `backs` gets what must be copied back after the launch."""
    owner = arg._array
    made = array._wrap(owner._data, owner.dtype, owner.device, owner=owner)
    made._held = owner._held
    if slopes.strides == owner.strides:
        made._grad = slopes
    else:
        memory = allocate_like(owner._data)
        memory[...] = slopes._data
        made._grad = array._wrap(memory, owner.dtype, owner.device)
        backs.append((slopes, memory))
    made._pack()
    return indexedarray(made, arg.indices) if isinstance(arg, indexedarray) else made


def names_given(needs: Needs, args: list[Any], sums: dict[int, array]) -> frozenset[str]:
    """The names of everything that has a gradient in a launch by hand."""
    found = {needs.names[k] for k in sums}
    for path in needs.floats:
        if any(a._slopes is not None for _, a in arrays_at(args, path, tables=False) if isinstance(a, array)):
            found.add(needs.name[path])
    return frozenset(found)


def extra_by_hand(kernel: Kernel, needs: Needs, extra: Any, sums: dict[int, array]) -> array:
    """The argument of an extra parameter. Raises where only a tape can give it."""
    if extra.kind == "sum":
        return sums[extra.position]
    if extra.kind == "before":
        name = list(kernel.patterns)[extra.position]
        what = f"needs array {name!r} as it was before the launch, which overwrites it"
    else:
        what = "needs what its atomics returned in the launch"
    raise GradientError(
        f"the adjoint of kernel {kernel.key!r} {what}\n"
        "expected: a kernel whose arrays hold all that its adjoint reads\n"
        "help: launch it inside `with wp.Tape() as tape:`, which keeps that, and call tape.backward()"
    )


