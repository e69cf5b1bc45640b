"""Launching while tapes record.

`watched` runs a launch that is ready, after it has told every tape that may care: contents that the
launch overwrites are saved first, contents that its adjoint needs are registered, and the tapes that
record get a `LaunchEntry`. Kernels whose arrays are arguments of their own go the short way,
which costs half as much as the launch itself; arrays in structs, index tables, one array under two names,
atomics whose results are used, and several tapes at once take the general one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...compile import Form
from ...passes.analysis.mod_ref import NESTED, Path
from ...types.structs import frozen
from ..arrays import saved_contents
from ..arrays.array import array
from ..arrays.call_site import Place
from ..arrays.saved_contents import Writer, meets
from ..devices.capture import recorded
from ..devices.device import INTERP, Device
from ..launches import interp
from ..launches.arguments import adapted
from ..launches.compiled_form import Launcher, execute, prepared
from ..launches.dimensions import extent
from ..launches.graph import InterpretedLaunch, Launch, NativeLaunch
from .adjoint_needs import Always, Needs, arrays_at, has_gradients, have_gradients, needs_of, same_arrays
from .launch_entry import LaunchEntry, LaunchSnapshot

Run = Callable[[Needs, dict[int, Any]], None]
"""Runs a launch; takes its needs, and the arrays that are to note what atomics return, by number."""

new_entry = tuple.__new__  # at half the cost of a call of the class
_USER = 3  # frames from `watched` up to the caller of `launch`


def needs_for(launcher: Launcher) -> Needs:
    """The needs of a compiled form."""
    if launcher.needs is None:
        launcher.needs = needs_of(launcher.kernel, launcher.own_types, launcher.settings)
    needs: Needs = launcher.needs
    return needs


def watched(
    launcher: Launcher, dim: Any, total: int, block: bytes, args: Any, input_count: int, record: bool,
    deterministic: bool,
) -> None:  # fmt: skip
    """Run a packed launch that `launch` was asked for two frames up."""
    needs = launcher.needs or needs_for(launcher)
    tapes = saved_contents.active()
    frame = sys._getframe(_USER)
    special = not needs.plain or len(tapes) > 1 or (tapes and not record)
    # What a kernel needs of arrays that it reads and writes is another thing when they have two names.
    if special or (tapes and needs.overlapping and is_entangled(needs, args)):
        watched_generally(needs, launcher, dim, total, block, args, input_count, record, deterministic, frame)
        return
    reads = None
    if tapes:
        for k in needs.float_arrays:
            if args[k]._memory.has_gradient:
                if needs.overlapping and needs.suited(have_gradients(needs, args)) is not needs:
                    watched_generally(
                        needs, launcher, dim, total, block, args, input_count, record, deterministic, frame
                    )
                    return
                reads = plain_reads(needs.plain_reads, args, tapes[0].session, frame)
                if needs.overlapping:
                    reads += plain_reads(needs.plain_own[0], args, tapes[0].session, frame)
                break
    for k in needs.plain_writes:
        if args[k]._memory.reads:
            if tapes and is_entangled(needs, args):
                watched_generally(needs, launcher, dim, total, block, args, input_count, record, deterministic, frame)
                return
            writer = Writer(f"launch of kernel {needs.kernel.key!r}", Place(frame.f_code, frame.f_lasti))
            args[k]._memory.overwrite(args[k], args[k]._data, tapes, writer, recorded)
    if total <= launcher.serial_limit and not launcher.reports:
        launcher.call(block, 0, total, 0)
    else:
        execute(launcher, block, total, args, deterministic)
    if reads is not None and needs.overlapping:
        reads += plain_reads(needs.plain_own[1], args, tapes[0].session, frame)
    if tapes:
        tapes[0].log.append(new_entry(LaunchEntry, (
            needs, launcher, dim, (*args,), input_count, deterministic, reads, frame.f_code, frame.f_lasti, None
        )))  # fmt: skip


def watched_generally(
    needs: Needs, launcher: Launcher, dim: Any, total: int, block: bytes, args: Any, input_count: int, record: bool,
    deterministic: bool, frame: Any,
) -> None:  # fmt: skip
    """Run a packed launch of any kind."""

    def run(needs: Needs, noted: dict[int, Any]) -> None:
        chosen, given = noting(launcher, args, needs, noted)
        packed = chosen.packed(given, extent(dim, chosen.kernel.key, chosen.ndim)[1]) if noted else block
        execute(chosen, packed, total, given, deterministic)

    place = Place(frame.f_code, frame.f_lasti)
    launch_generally(needs, launcher, dim, args, input_count, record, deterministic, run, place)


def is_entangled(needs: Needs, args: Any) -> bool:
    """Whether the kernel writes memory that it was given under another name too."""
    for k in needs.plain_writes:
        memory = args[k]._memory
        for n in needs.array_positions:
            if args[n]._memory is memory and n != k:
                return True
    return False


def plain_reads(wanted: Any, args: Any, session: Any, frame: Any) -> list[Any]:
    """The reads of the present contents of plain arrays, by position and user; `frame` launched."""
    current, reads = session.current, []
    for k, user in wanted:
        a = args[k]
        read = current.get(id(a))
        if read is None:
            read = a._memory.read(a, session, Place.outside(frame))
        if read.last is not user:
            read.add(user)
        reads.append(read)
    return reads


def launch_generally(
    needs: Needs, launcher: Launcher | None, dim: Any, args: Any, input_count: int, record: bool, deterministic: bool,
    run: Run, place: Place,
) -> None:  # fmt: skip
    """Run a launch of any kind. `launcher` is None on the device `interp`."""
    tapes = saved_contents.active()
    args = needs.whole(args)
    recorders = tapes if record else ()
    if recorders and (same := same_arrays(needs, args)):
        needs = needs_of(needs.kernel, needs.types, needs.settings, same)
    sloped = bool(recorders) and has_gradients(needs, args)
    if sloped:
        needs = needs.suited(have_gradients(needs, args))
    notes = {tape: before_launch(needs, args, tape.session, place) for tape in recorders} if sloped else {}
    writer = Writer(f"launch of kernel {needs.kernel.key!r}", place)
    wrote = [(path, a) for path in needs.written for _, a in arrays_at(args, path, tables=False)]
    for _, a in wrote:
        if a._memory.reads:
            a._memory.overwrite(a, a._data, tapes, writer, recorded)
    noted = noted_arrays(needs, dim, launcher.device if launcher is not None else INTERP) if notes else {}
    run(needs, noted)
    for tape in recorders:
        snapshot = notes.get(tape)
        if snapshot is not None:
            snapshot.recorded, snapshot.overlap_error = noted, overlap_error(needs, args, snapshot, wrote)
            after_launch(needs, args, tape.session, place, snapshot)
        tape.log.append(LaunchEntry(
            needs, launcher, dim, tuple(frozen(a) for a in args), input_count, deterministic,
            [] if sloped else None, place.code, place.offset, snapshot,
        ))  # fmt: skip


def overlap_error(needs: Needs, args: Any, snapshot: LaunchSnapshot, wrote: list[tuple[Path, array]]) -> str:
    """Which arrays of a launch overlap so that it cannot be reversed; nothing when all is well.

    Contents of an array that the launch overwrites under another name, or that it found in an element of
    another array, are taken from before the launch: no thread may read them after it wrote them. And an array
    that the launch reads and writes may not be written under another name.
    """
    memories = {id(b._memory) for _, b in wrote}
    reads = [(path, a) for path, part, a, _ in snapshot.reads if part is None and id(a._memory) in memories]
    reads += [(path, a) for path in needs.overlapping for _, a in arrays_at(args, path, tables=False)]
    for read, a in reads:
        for written, b in wrote:
            other = read != written or read[1] == NESTED
            if other and a._memory is b._memory and meets(a._data, b._data):
                changed = read in needs.overlapping and read[1] != NESTED
                if changed or needs.disorder(read, written):
                    return f"{needs.words(read)} and {needs.words(written)}"
    return ""


def before_launch(needs: Needs, args: tuple[Any, ...], session: Any, place: Place) -> LaunchSnapshot:
    """Register what the adjoint needs of the contents before the launch."""
    snapshot = LaunchSnapshot()
    for path, user in needs.reads:
        for part, a in arrays_at(args, path):
            snapshot.reads.append((path, part, a, register(a, user, session, place)))
    for k, fields in needs.own.before.items():
        users = [(field, needs.user_before(k, field)) for field in fields]
        found = [(field, part, a, user) for field, user in users for part, a in arrays_at(args, (k, field))]
        snapshot.before[k] = [(field, part, a, register(a, user, session, place)) for field, part, a, user in found]
    return snapshot


def after_launch(needs: Needs, args: tuple[Any, ...], session: Any, place: Place, snapshot: LaunchSnapshot) -> None:
    """Register what the adjoint needs of the contents after the launch."""
    for path, user in needs.own.after:
        for part, a in arrays_at(args, path):
            snapshot.reads.append((path, part, a, register(a, user, session, place)))
    for path in needs.written:  # an indexedarray that is only written: where to
        if path[1] != NESTED:
            for part, a in arrays_at(args, path):
                if part is not None:
                    user = Always(f"index table {part} of array {needs.name[path]!r} of kernel {needs.kernel.key!r}")
                    snapshot.reads.append((path, part, a, register(a, user, session, place)))


def register(a: array, user: Any, session: Any, place: Place) -> Any:
    """The read of an array's present contents."""
    read = session.current.get(id(a)) or a._memory.read(a, session, place)
    if read.last is not user:
        read.add(user)
    return read


def noted_arrays(needs: Needs, dim: Any, device: Device) -> dict[int, array]:
    """Fresh arrays for what atomics return, in the order in which the recording form of the kernel takes them."""
    if not needs.own.recording:
        return {}
    program = needs.kernel.program(needs.types, needs.settings, False, recording_form(needs))
    shape = (dim,) if isinstance(dim, int) else dim
    pairs = zip(program.extras, program.fn.params[len(needs.arguments) :], strict=True)
    return {extra.position: array(dtype=p.type.dtype, shape=shape, device=device) for extra, p in pairs}


def recording_form(needs: Needs) -> Form:
    """The form of a kernel that notes what its atomics return."""
    return needs.form("recording", frozenset(needs.name[path] for path in needs.floats))


def noting(launcher: Launcher, args: Any, needs: Needs, noted: dict[int, array]) -> tuple[Launcher, list[Any]]:
    """The form of a kernel, and its arguments, for a launch that fills `noted`."""
    if not noted:
        return launcher, args
    return prepared(launcher.kernel, [*needs.whole(args), *noted.values()], launcher.device, recording_form(needs))


def run_command(launch: Launch) -> None:
    """Run a command that was recorded with `record_cmd=True`, or captured in a graph, as a launch of its own."""
    plain = launch.plain or launch
    kernel, launcher = launch.kernel, getattr(plain, "launcher", None)
    place, settings = Place.outside(), kernel.settings()
    types = kernel.types_for(plain.args)
    named = zip(plain.args, types, kernel.patterns, strict=True)
    device = INTERP if launcher is None else launcher.device
    args = [adapted(a, t, name, kernel.key, device) for a, t, name in named]
    needs = needs_of(kernel, types, settings) if launcher is None else needs_for(launcher)

    def run(needs: Needs, noted: dict[int, Any]) -> None:
        (with_notes(plain, args, needs, noted) if noted else launch).submit()
        if noted:
            for number, own in launch.noted.items():
                recorded(partial(np.copyto, own._data, noted[number]._data))

    deterministic = bool(getattr(plain, "deterministic", False))
    launch_generally(needs, launcher, plain.dim, args, plain.input_count, plain.record, deterministic, run, place)


def with_notes(plain: Launch, args: Any, needs: Needs, noted: dict[int, array]) -> Launch:
    """A launch that fills `noted` besides."""
    made: Launch
    if isinstance(plain, NativeLaunch):
        chosen, given = noting(plain.launcher, args, needs, noted)
        made = NativeLaunch(chosen, plain.dim, given, plain.deterministic)
    else:
        form, given = recording_form(needs), [*needs.whole(args), *noted.values()]
        made = InterpretedLaunch(
            plain.kernel, plain.dim, given, lambda n, a: interp.prepared(plain.kernel, n, a, INTERP, form)
        )
    made.plain, made.noted, made.reverse = plain, noted, plain.reverse
    return made


Launch.watched = run_command
