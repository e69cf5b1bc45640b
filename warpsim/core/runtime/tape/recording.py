"""Launching while tapes record.

`run_recorded` runs a launch that is ready, after it has told every tape that may care: contents that the
launch overwrites are saved first, contents that its adjoint needs are registered, and the tapes that
record get a `LaunchEntry`. Kernels whose arrays are arguments of their own go the short way (`run_plain`),
which costs half as much as the launch itself; arrays in structs, index tables, one array under two names,
atomics whose results are used, and several tapes at once take the general one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...emit.program import Form, FormKind
from ...types.array_ref import ArrayRef
from ...types.structs import frozen
from ..arrays import saved_contents
from ..arrays.array import array
from ..arrays.call_site import CallSite, user_frame
from ..arrays.in_pieces import give_gradients
from ..arrays.saved_contents import Writer
from ..devices.device import Device
from ..devices.memory_range import range_of, share_elements
from ..launches.for_device import prepare
from ..launches.launcher import LaunchCall, Launcher
from .adjoint_needs import Always, Needs, arrays_at, has_gradients, have_gradients, needs_of, same_arrays
from .constant_writes import constant_launch
from .launch_entry import LaunchEntry, LaunchSnapshot

Run = Callable[[LaunchCall, Mapping[Any, Any]], None]
"""Runs a launch; takes the arrays in which it notes what atomics return, by number, or what it stores, by path."""

new_entry = tuple.__new__  # at half the cost of a call of the class


def needs_for(launcher: Launcher) -> Needs:
    """The needs of a launcher's form of a kernel."""
    if launcher.needs is None:
        launcher.needs = needs_of(launcher.kernel, launcher.own_types, launcher.settings)
    needs: Needs = launcher.needs
    return needs


def run_recorded(call: LaunchCall) -> None:
    """Run a launch that tapes record, or that may overwrite what one needs."""
    fields = (call.launcher, call.dim, call.total, call.block, call.args, call.input_count, call.record)
    if not run_plain(*fields, call.deterministic):
        run_generally(call, CallSite.outside())


def run_plain(
    launcher: Launcher, dim: Any, total: int, block: Any, args: Any, input_count: int, record: bool,
    deterministic: bool,
) -> bool:  # fmt: skip
    """Run a launch on one tape, or none, if all its arrays are arguments of their own. Returns whether it did.

    It takes the fields of a `LaunchCall` one by one, as making one costs a tenth of the launch. `launch` is at least
    two frames up.
    """
    needs = launcher.needs or needs_for(launcher)
    tapes = saved_contents.active()
    if not needs.plain or len(tapes) > 1 or (tapes and (launcher.is_constant or not record)):
        return False
    # What a kernel needs of arrays that it reads and writes is another thing when they have two names.
    if needs.overlapping and tapes and is_entangled(needs, args):
        return False
    frame = user_frame(2)
    reads = known = watched = None
    if tapes:
        known = tapes[0].session
        for k in needs.float_arrays:
            if args[k]._memory.has_gradient:
                if needs.overlapping:
                    present = have_gradients(needs, args)
                    if present not in needs.enough and needs.suited(present) is not needs:
                        return False
                reads = plain_reads(needs.plain_before, args, tapes[0].session, frame)
                break
    for k in needs.plain_writes:
        memory = args[k]._memory
        if memory.reads:
            if tapes and is_entangled(needs, args):
                return False
            writer = Writer(f"launch of kernel {needs.kernel.key!r}", CallSite(frame.f_code, frame.f_lasti))
            memory.overwrite(args[k], args[k]._data, tapes, writer)
        if memory.known is not known and not memory.take(known):
            writer = Writer(f"launch of kernel {needs.kernel.key!r}", CallSite(frame.f_code, frame.f_lasti))
            if memory.meet((known,) if tapes else (), range_of(args[k]), writer):
                watched = [*(watched or ()), args[k]]
    if total <= launcher.serial_limit and not launcher.reports:
        launcher.function(block, 0, total, 0)
    else:
        launcher.execute(LaunchCall(launcher, dim, total, block, args, input_count, record, deterministic))
    if reads is not None and needs.plain_after:
        reads += plain_reads(needs.plain_after, args, tapes[0].session, frame)
    if watched is not None:
        for a in watched:
            a._memory.read(a, tapes[0].session, CallSite(frame.f_code, frame.f_lasti))
    if tapes:
        tapes[0].log.append(new_entry(LaunchEntry, (
            needs, launcher, dim, (*args,), input_count, deterministic, reads, frame.f_code, frame.f_lasti, None
        )))  # fmt: skip
    return True


def is_entangled(needs: Needs, args: Any) -> bool:
    """Whether the kernel writes memory that it was given under another name too."""
    for k, n in needs.disjoint:
        if args[k]._memory is args[n]._memory:
            return True
    return False


def plain_reads(positions: Any, args: Any, session: Any, frame: Any) -> list[Any]:
    """The reads of the present contents of plain arrays, by position and user; `frame` launched."""
    current, reads = session.current, []
    for k, user in positions:
        a = args[k]
        read = current.get(id(a))
        if read is None:
            read = a._memory.read(a, session, CallSite(frame.f_code, frame.f_lasti))
        if read.last is not user:
            read.add(user)
        reads.append(read)
    return reads


def run_now(call: LaunchCall, noted: Mapping[Any, Any]) -> None:
    """Run a launch at once."""
    call.run()


def run_generally(call: LaunchCall, place: CallSite, run: Run = run_now) -> None:
    """Run a launch of any kind, and tell tapes."""
    needs, launcher, tapes = needs_for(call.launcher), call.launcher, saved_contents.active()
    args = needs.whole(call.args)
    recorders = tapes if call.record else ()
    sessions = tuple([tape.session for tape in tapes])
    known = sessions[0] if len(sessions) == 1 else None
    if recorders:
        give_gradients(args)
    if recorders and (same := same_arrays(needs, args)):
        needs = needs_of(needs.kernel, needs.types, needs.settings, same)
    differentiable = bool(recorders) and has_gradients(needs, args)
    if differentiable:
        needs = needs.suited(have_gradients(needs, args))
    notes = {tape: before_launch(needs, args, tape.session, place) for tape in recorders} if differentiable else {}
    writer = Writer(f"launch of kernel {needs.kernel.key!r}", place)
    wrote = [(ref, a) for ref in needs.written for _, a in arrays_at(args, ref, tables=False)]
    constant = None
    if tapes and (launcher.is_constant or not call.record):
        constant = constant_launch(call, needs, args, wrote, tapes, place)
    for _, a in wrote:
        memory = a._memory
        if memory.reads:
            memory.overwrite(a, a._data, tapes, writer)
        if memory.known is not known and memory.known != sessions and not (recorders and known and memory.take(known)):
            memory.meet(sessions, range_of(a), writer, bool(recorders))
    noted = noted_arrays(needs, call.dim, launcher.device) if notes and constant is None else {}
    if constant is not None:
        run(constant.call, constant.marks)
    else:
        run(noting(call, needs, noted) if noted else call, noted)
    for tape in recorders:
        snapshot = notes.get(tape)
        if snapshot is not None:
            snapshot.recorded, snapshot.overlap_error = noted, overlap_error(needs, args, snapshot, wrote)
            after_launch(needs, args, tape.session, place, snapshot)
        tape.log.append(LaunchEntry(
            needs, launcher, call.dim, tuple(frozen(a) for a in args), call.input_count, call.deterministic,
            [] if differentiable else None, place.code, place.offset, snapshot,
        ))  # fmt: skip
        for _, a in wrote:
            if a._memory.exposed or a._memory.exports or a._memory.tensors:
                a._memory.read(a, tape.session, place, 0)
    if constant is not None:
        constant.record()


def overlap_error(needs: Needs, args: Any, snapshot: LaunchSnapshot, wrote: list[tuple[ArrayRef, array]]) -> str:
    """Which arrays of a launch overlap so that it cannot be reversed; nothing when all is well.

    Contents of an array that the launch overwrites under another name, or that it found in an element of
    another array, are taken from before the launch: no thread may read them after it wrote them. And an array
    that the launch reads and writes may not be written under another name.
    """
    memories = {id(b._memory) for _, b in wrote}
    reads = [(ref, a) for ref, part, a, _ in snapshot.reads if part is None and id(a._memory) in memories]
    reads += [(ref, a) for ref in needs.overlapping for _, a in arrays_at(args, ref, tables=False)]
    for read, a in reads:
        for written, b in wrote:
            nested = read.in_elements
            if (nested or read != written) and a._memory is b._memory and share_elements(a._data, b._data):
                changed = read in needs.overlapping and not nested
                if changed or (needs.disorder(read, written) and (not nested or read in needs.looked_at)):
                    return f"{needs.words(read)} and {needs.words(written)}"
    return ""


def before_launch(needs: Needs, args: list[Any], session: Any, place: CallSite) -> LaunchSnapshot:
    """Register what the adjoint needs of the contents before the launch."""
    snapshot = LaunchSnapshot()
    for ref, user in needs.reads:
        for part, a in arrays_at(args, ref):
            snapshot.reads.append((ref, part, a, register(a, user, session, place)))
    for k, refs in needs.own.before.items():
        users = [(ref, needs.user_before(ref)) for ref in refs]
        accessed = [(ref, part, a, user) for ref, user in users for part, a in arrays_at(args, ref)]
        snapshot.before[k] = [(ref, part, a, register(a, user, session, place)) for ref, part, a, user in accessed]
    return snapshot


def after_launch(needs: Needs, args: list[Any], session: Any, place: CallSite, snapshot: LaunchSnapshot) -> None:
    """Register what the adjoint needs of the contents after the launch."""
    for ref, user in needs.own.after:
        for part, a in arrays_at(args, ref):
            snapshot.reads.append((ref, part, a, register(a, user, session, place)))
    for ref in needs.written:  # an indexedarray that is only written: where to
        if not ref.in_elements:
            for part, a in arrays_at(args, ref):
                if part is not None:
                    table = Always(f"index table {part} of array {needs.name[ref]!r} of kernel {needs.kernel.key!r}")
                    snapshot.reads.append((ref, part, a, register(a, table, session, place)))


def register(a: array, user: Any, session: Any, place: CallSite) -> Any:
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
    return needs.form(FormKind.RECORDING, frozenset(needs.name[ref] for ref in needs.floats))


def noting(call: LaunchCall, needs: Needs, noted: dict[int, array]) -> LaunchCall:
    """The launch in the form of the kernel that fills `noted`."""
    args, form = [*needs.whole(call.args), *noted.values()], recording_form(needs)
    launcher = call.launcher
    ready = prepare(launcher.kernel, call.dim, args, launcher.device, form, call.deterministic)
    return ready.in_blocks_of(launcher)
