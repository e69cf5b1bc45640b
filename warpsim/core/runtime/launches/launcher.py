"""Launchers: one form of a kernel on one device, which checks and packs arguments and runs launches.

A `Launcher` belongs to one form of a kernel (itself, its adjoint, ...) at fixed tags of its array arguments. What runs
it is the device's own: machine code on all cores (`cpu`), a stream of a GPU (`cuda`), the interpreter (`interp`).
A `LaunchCall` is one launch of it: what is passed from `wp.launch` to tapes, graphs and checks.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....config import config
from ....errors import LaunchError, StructureIdError
from ....forks import cached_property, fork_safe
from ...emit.program import PRIMAL, Form, FormKind
from ...ir.nodes import Call, walk
from ...types.arrays import ArrayType
from ...types.signatures import is_generic
from ...types.structs import Struct, freeze, holds_arrays
from ..devices.device import Device
from .arguments import (
    UNFIT,
    adapt,
    block_packer,
    check_writable,
    demanding,
    exact_packer,
    id_packer,
    packer,
    refuse_missing,
    unfit,
    written_fields,
)
from .dimensions import extent, rank, threads_of_block, threads_with
from .failed_checks import Report
from .guards import Guard, guard_of
from .kernel import Kernel, Variant
from .shared_memory import alias_test
from .struct_bytes import RefusedField, has_dense_arrays
from .ways import Way


class Prepared(NamedTuple):
    """What is known of a launch that is ready to run.

    total: the number of threads; block: the argument block; input_count: how many arguments are `inputs`; record:
    whether tapes record it; deterministic: whether sums may not depend on scheduling.
    """

    launcher: Launcher
    dim: int | tuple[int, ...]
    total: int
    block: Any
    args: Sequence[Any]
    input_count: int = 0
    record: bool = False
    deterministic: bool = False


class LaunchCall(Prepared):
    """One launch, whatever becomes of it: a tuple, which every launch can afford to make."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def run(self) -> None:
        """Run now; raises what checks report."""
        if self.total <= self.launcher.direct_limit:
            self.launcher.function(self.block, 0, self.total, 0)
        else:
            self.launcher.execute(self)

    def rebind(self, dim: int | tuple[int, ...], args: Sequence[Any]) -> LaunchCall:
        """The same over other threads, with other arguments: structs as they are now. Raises what `launch` raises."""
        launcher, args = self.launcher, [freeze(a) for a in args]
        total, header = launcher.extent(dim)
        block = launcher.pack(args, header) if total >= 0 else None
        if block is None:
            launcher, args = launcher.fitting(args, rank(dim))
            total, header = launcher.extent(dim)
            block = launcher.pack_checked(args, header)
        return self._replace(launcher=launcher, dim=dim, total=total, block=block, args=args)

    def in_blocks_of(self, launcher: Launcher) -> LaunchCall:
        """The same in blocks like those of another launch, where the kernel asks how many threads these have."""
        own = self.launcher.like(launcher)
        if own is self.launcher:
            return self
        return self._replace(launcher=own, block=own.pack_checked(self.args, own.extent(self.dim)[1]))


class Launcher:
    """One form of a kernel on a device, for fixed tags of its array arguments.

    types, args: those of the kernel's parameters, then those of the extra parameters of the form.
    """

    code: Any = None
    """What the device made of the program."""
    function: Callable[[Any, int, int, int], None]
    """`function(block, 0, total, 0)` runs launches of up to `serial_limit` threads whose checks nobody reads."""
    serial_limit = -1
    direct_limit = -1
    """The same where nothing else is to be done: -1 where checks are read, or while every launch is watched."""
    sums: Any = None
    """What a device that runs sums in parts knows of them beforehand."""
    reports = False
    """Whether threads may report failed checks."""

    def __init__(self, kernel: Kernel, device: Device, types: tuple[Any, ...], args: Sequence[Any], variant: Variant):
        self.kernel, self.device, self.types, self.variant = kernel, device, types, variant
        self.settings, self.aliased, self.form = settings, aliased, form = variant
        own = types[: len(kernel.patterns)]
        self.own_types = own
        self.program = kernel.program(own, settings, aliased, form)
        whole = kernel.program(own, settings, False, form).plan
        summed, lone = whole.uses.summed, whole.lone()
        self.is_aliased = alias_test(form, summed, types, lone) if summed or lone or form is not PRIMAL else None
        tags = [a._tag if isinstance(t, ArrayType) else None for a, t in zip(args, types, strict=True)]
        self.layouts = tuple("C" if _is_contiguous(a, t) else "" for a, t in zip(args, types, strict=True))
        self.packers = self._packers()
        always = [ref for ref, use in self.program.uses.items() if use.always and not ref.is_grad]
        self.demands = frozenset(always if form is PRIMAL else ())
        """The arrays that no thread goes without."""
        for k in {ref.position for ref in self.demands if ref.path}:
            inner = self.packers[k]
            assert inner is not None
            self.packers[k] = demanding(inner, [ref.path for ref in self.demands if ref.position == k])
        self.join = block_packer(tags, self.packers)
        self.guard = guard_of(self.program, kernel.key, form.kind is not FormKind.ADJOINT)
        if self.guard is not None:
            self.pack = guard_packing(self.guard, self.pack)  # type: ignore[method-assign]
        self.ndim = self.program.ndim
        self.threads = threads_with(self.ndim, kernel.rank)
        plan = self.program.plan
        self.has_atomics = bool(plan.atomics())
        self.generation = config.generation
        self.deterministic = bool(kernel.option("deterministic"))
        self.is_constant = not kernel.option("enable_backward")
        """Whether tapes take what it writes for constant."""
        self.needs: Any = None  # what recording a launch has to look at, see `adjoint_needs`
        self.in_blocks: dict[int, Launcher] = {1: self}
        """The same in blocks of so many threads, where those are no matter of the device's."""
        self.reverses: dict[Any, tuple[Launcher, ...]] = {}
        """The steps of the adjoint used last, by which arrays have gradients; empty where none passes through."""
        self.load(self.layouts)
        with _listing:
            _present.add(self)
            self.set_direct_limit()

    def set_direct_limit(self) -> None:
        """Choose which launches are a bare call of `function`."""
        self.direct_limit = -1 if self.reports or _watched else self.serial_limit

    def load(self, layouts: tuple[str, ...]) -> None:
        """Make what runs the program; layouts: of the array parameters, as machine code is made for them."""
        raise NotImplementedError

    @property
    def block_dim(self) -> int:
        """The threads of a block."""
        return self.threads.block_dim

    def extent(self, dim: int | tuple[int, ...]) -> tuple[int, bytes]:
        """The number of threads and the header of the argument block, see `dimensions.extent`."""
        return extent(dim, self.kernel.key, self.threads)

    @property
    def written(self) -> frozenset[int]:
        """The positions of the arrays among the arguments that threads write to."""
        return self.program.written

    @cached_property
    def asks_for_blocks(self) -> bool:
        """Whether the kernel asks how many threads a block has."""
        return any(isinstance(node, Call) and node.op.name == "block_dim" for node in walk(self.program.fn.body))

    def _packers(self) -> list[Callable[[Any], bytes] | None]:
        """What packs each argument, None for arrays."""
        generic = [is_generic(p) for p in self.kernel.patterns.values()]
        generic += [False] * (len(self.types) - len(generic))
        fields = written_fields(self.program.uses) if self.form.kind is not FormKind.ADJOINT else {}
        packers = [
            (exact_packer if is_open else packer)(t, self.device, fields.get(k, frozenset()), self.layouts[k] == "C")
            for k, (t, is_open) in enumerate(zip(self.types, generic, strict=True))
        ]
        for r in self.program.handle_params:
            pack = packers[r.position]
            if not r.path and pack is not None:
                packers[r.position] = id_packer(r.type, pack, self.device)
        return packers

    # ----- arguments --------------------------------------------------------------------------

    def pack(self, args: Sequence[Any], header: bytes) -> Any:
        """The argument block, or None when an argument needs a closer look."""
        try:
            block = self.join(args, header)
        except UNFIT:
            return None
        if block is not None and self.is_aliased is not None and self.is_aliased(args) is not self.aliased:
            return None
        return block

    def pack_checked(self, args: Sequence[Any], header: bytes) -> Any:
        """The argument block; raises `ArgumentTypeError` when an argument does not fit."""
        block = self.pack(args, header)
        if block is None:
            explain(self, args)
        return block

    @classmethod
    def of(
        cls, kernel: Kernel, args: Sequence[Any], device: Device, form: Form = PRIMAL, rank: int = 0
    ) -> tuple[Launcher, list[Any]]:
        """The launcher for these arguments, made once, and the arguments with foreign arrays wrapped.

        args: those of the kernel, then one for every extra parameter of the form. rank: of the launch.
        """
        generation = config.generation  # read before the switches: one that changes meanwhile must be seen next time
        names, settings = list(kernel.patterns), kernel.settings()
        own = kernel.types_for(args[: len(names)] if form is not PRIMAL else args)
        adapted_args = [adapt(a, t, n, kernel.key, device) for a, t, n in zip(args, own, names, strict=False)]
        args = [*adapted_args, *args[len(names) :]]
        kernel = kernel.over(rank, own) if rank else kernel
        program = kernel.program(own, settings, False, form)
        types = tuple(p.type for p in program.fn.params) if form is not PRIMAL else own
        tags = tuple(_kind_of_arrays(a, t) for a, t in zip(args, types, strict=True))
        aliased = alias_test(form, program.uses.summed, types, program.plan.lone())(args)
        key = (types, tags, settings, aliased, form, device.alias)
        launcher = kernel.launchers.get(key)
        if launcher is None:
            launcher = kernel.launchers[key] = cls(kernel, device, types, args, Variant(settings, aliased, form))
        launcher.generation = -1 if config.print_launches else generation  # -1: no launch takes the fast path
        launcher.deterministic = bool(kernel.option("deterministic"))
        launcher.is_constant = not kernel.option("enable_backward")
        refuse_missing([ref for ref in launcher.demands if not ref.path], args, names, kernel.key)
        for k in sorted(launcher.program.written) if form.kind is not FormKind.ADJOINT else ():
            check_writable(args[k], names[k] if k < len(names) else "", kernel.key)
        if form is PRIMAL and kernel.is_current:
            kernel.latest[device.alias] = launcher
        return launcher, args

    def fitting(self, args: Sequence[Any], rank: int = 0) -> tuple[Launcher, list[Any]]:
        """The launcher of the same form for other arguments, and these as it takes them. rank: of the launch."""
        launcher, adapted_args = self.of(self.kernel, args, self.device, self.form, rank)
        return launcher.like(self), adapted_args

    def with_shape(self, block_dim: int | None, max_blocks: int) -> Launcher:
        """The same with another number of threads in a block, or of blocks on devices that have such.

        Raises `DimensionError` for a block that cannot be.
        """
        return self._of_block(threads_of_block(block_dim, self.device))

    def like(self, other: Launcher) -> Launcher:
        """The same in blocks like those of another launcher on the device, where the kernel asks for them."""
        return self._of_block(other.block_dim) if self.asks_for_blocks else self

    def variants(self) -> list[Launcher]:
        """The launcher in blocks of all numbers of threads that it has been asked for."""
        return list(self.in_blocks.values())

    def _of_block(self, block_dim: int) -> Launcher:
        if block_dim == self.block_dim:
            return self
        if block_dim not in self.in_blocks:
            launcher = copy.copy(self)
            launcher.threads = self.threads.in_blocks(block_dim)
            launcher.reverses = {}
            self.in_blocks[block_dim] = launcher
        return self.in_blocks[block_dim]

    # ----- runs -------------------------------------------------------------------------------

    def execute(self, call: LaunchCall, in_order: bool = False) -> None:
        """Run a launch of any kind; raises what its checks report. in_order: one thread after the other."""
        run = self.run_in_order if in_order else self.run
        if not self.reports:
            run(call)
            return
        report = Report(self)
        run(call._replace(block=report.attach(call.block)))
        report.raise_if_failed()

    def run(self, call: LaunchCall) -> None:
        """Run a launch of any size, whose checks nobody asks for."""
        raise NotImplementedError

    def run_in_order(self, call: LaunchCall) -> None:
        """The same, one thread after the other."""
        raise NotImplementedError

    def way_of(self, call: LaunchCall) -> Way:
        """How `run` runs a launch; for devices that have machine code."""
        raise NotImplementedError

    def serialize_code(self) -> bytes:
        """The machine code as bytes for another process. Raises `CompilerError` where it is of this process alone."""
        return self.kernel.serialize_code(self.own_types, self.layouts, self.device, self.variant)

    def command(self, call: LaunchCall) -> bytes | None:
        """The launch as a command for the pool of threads, or None where that is not all there is to do."""
        return None

    @property
    def stream_device(self) -> Device | None:
        """The device on whose current stream a launch is all work for it, None where it is anything else."""
        return None


_present: weakref.WeakSet[Launcher] = weakref.WeakSet()
_listing = fork_safe(threading.Lock())
_watched = False


def watch_launches(watched: bool) -> None:
    """Let every launch go through `Launcher.execute`, or only those that have more to do than to call machine code."""
    global _watched
    with _listing:
        _watched = watched
        for launcher in _present:
            for one in launcher.variants():
                one.set_direct_limit()


def guard_packing(guard: Guard, pack: Callable[..., Any]) -> Callable[..., Any]:
    """Packing, and a look at what elements of structs refer to."""

    def pack_guarded(args: Sequence[Any], header: bytes) -> Any:
        block = pack(args, header)
        if block is not None:
            guard(args)
        return block

    return pack_guarded


def explain(launcher: Launcher, args: Sequence[Any]) -> None:
    """Raise the error that `pack` did not."""
    for name, t, arg, pack in zip(launcher.kernel.patterns, launcher.types, args, launcher.packers, strict=False):
        if pack is None:
            continue
        try:
            pack(arg)
        except RefusedField as error:
            raise error.error(name, launcher.kernel.key) from None
        except StructureIdError as error:
            raise StructureIdError(f"parameter {name!r} of kernel {launcher.kernel.key!r}: {error}") from None
        except UNFIT as error:
            raise unfit(arg, t, name, launcher.kernel.key, error) from None
    raise LaunchError(
        f"arguments of kernel {launcher.kernel.key!r} changed during the launch\n"
        "help: let no other thread change an array while it is being passed"
    )


def _kind_of_arrays(arg: Any, t: object) -> Any:
    """What machine code depends on of an argument beside its type: the tag of an array; of a struct, see `_Writer`."""
    return arg._tag if isinstance(t, ArrayType) else _is_contiguous(arg, t)


def _is_contiguous(arg: Any, t: object) -> bool:
    if isinstance(t, ArrayType):
        return bool(not t.indexed and arg._tag.contiguous)
    return holds_arrays(t) and isinstance(arg, Struct) and has_dense_arrays(arg)
