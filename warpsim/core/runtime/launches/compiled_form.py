"""Compiled forms of kernels, ready for launches: arguments to an argument block, a block to a run.

A `Launcher` belongs to one form of a kernel (itself, or its adjoint) at fixed tags of its array
arguments. A launch of few threads runs on the calling thread; a large one is cut into chunks whose
boundaries depend on the number of threads alone, and all cores take chunks. Float atomics that scatter
go to private copies (see `scatter`), so results do not depend on scheduling. Launches on CUDA devices go
to the current stream (see `cuda.function`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ....config import config
from ....errors import LaunchError, StructureIdError
from ...compile import FORWARD, Form
from ...emit.cuda_code import KERNEL
from ...passes.analysis.atomics import Part
from ...passes.analysis.demanded import demanded
from ...types.arrays import ArrayType
from ...types.signatures import is_generic
from ..arrays.array import array, overlap
from ..arrays.indexed import indexedarray
from ..devices.cuda.function import MOST_BLOCKS
from ..devices.device import CPU, Device
from . import graph, pool, private_sums
from .arguments import (
    UNFIT,
    adapted,
    block_packer,
    check_writable,
    demanding,
    exact_packer,
    id_packer,
    packer,
    refuse_missing,
    unfit,
    written_fields,
)  # fmt: skip
from .failed_checks import Report, unread
from .guards import Guard, guard_of
from .kernel import Kernel, Settings
from .struct_bytes import RefusedField


class Launcher:
    """One form of a kernel compiled for the CPU, for fixed tags of its array arguments.

    types, args: those of the kernel's parameters, then those of the extra parameters of the form.
    """

    device: Device = CPU

    def __init__(
        self, kernel: Kernel, types: tuple[Any, ...], args: list[Any], settings: Settings, aliased: bool,
        form: Form = FORWARD,
    ):  # fmt: skip
        self.kernel, self.types, self.aliased, self.form, self.settings = kernel, types, aliased, form, settings
        own = types[: len(kernel.patterns)]
        self.own_types = own
        self.program = kernel.program(own, settings, aliased, form)
        whole = kernel.program(own, settings, False, form).plan
        self.summed, self.lone = whole.summed(), whole.lone()
        layouts = tuple("C" if _contiguous(a, t) else "" for a, t in zip(args, types, strict=True))
        tags = [a._tag if isinstance(t, ArrayType) else None for a, t in zip(args, types, strict=True)]
        open_types = [is_generic(p) for p in kernel.patterns.values()] + [False] * (len(types) - len(own))
        fields = written_fields(self.program.fn) if form.kind != "adjoint" else {}
        self.packers = [
            (exact_packer if generic else packer)(t, self.device, fields.get(k, frozenset()))
            for k, (t, generic) in enumerate(zip(types, open_types, strict=True))
        ]
        for r in self.program.handle_params:
            if not r.path:
                self.packers[r.position] = id_packer(r.type, self.packers[r.position], self.device)
        self.demands = demanded(self.program.fn) if form is FORWARD else frozenset()
        for k in {k for k, path in self.demands if path}:
            inner = self.packers[k]
            assert inner is not None
            self.packers[k] = demanding(inner, [path for at, path in self.demands if at == k])
        self.join = block_packer(tags, self.packers)
        self.guard = guard_of(self.program.fn, kernel.key, self.program.handle_params, form.kind != "adjoint")
        if self.guard is not None:
            self.pack = guarded(self.guard, self.pack)  # type: ignore[method-assign]
        self.ndim = self.program.ndim
        self._load(own, layouts)
        self.reports = bool(self.code.sites)
        plan = self.program.plan
        self.sums = plan.summed()
        self.has_atomics = bool(plan.atomics())
        self.generation = config.generation
        self.deterministic = bool(kernel.option("deterministic"))
        self.needs: Any = None  # what recording a launch has to look at, see `needs`
        self.reverses: dict[Any, Launcher | None] = {}  # adjoint forms used last, by which arrays have gradients

    def _load(self, own: tuple[Any, ...], layouts: tuple[str, ...]) -> None:
        """Make the machine code, and `call(block, 0, total, 0)`, which runs it whole and without checks."""
        self.code = self.kernel.compiled(own, layouts, self.settings, self.aliased, self.form)
        self.call: Any = self.code.native.function(KERNEL, pool.KERNEL_PROTOTYPE)
        self.cost = max(0.25, self.program.nanoseconds)
        self.serial_limit = serial_limit(self.cost)
        """The largest launch that `call` is right for."""

    def pack(self, args: Sequence[Any], header: bytes) -> bytes | None:
        """The argument block, or None when an argument needs a closer look."""
        try:
            block = self.join(args, header)
        except UNFIT:
            return None
        if block is not None and (self.summed or self.lone or self.form is not FORWARD):
            if is_aliased(self.form, args, self.summed, self.types, self.lone) is not self.aliased:
                return None
        return block

    def packed(self, args: list[Any], header: bytes) -> bytes:
        """The argument block; raises `ArgumentTypeError` when an argument does not fit."""
        block = self.pack(args, header)
        if block is None:
            explain(self, args)
        assert block is not None
        return block

    def prepared(self, args: list[Any]) -> tuple[Launcher, list[Any]]:
        """The same form of the kernel for other arguments."""
        return prepared(self.kernel, args, self.device, self.form)

    def execute(self, block: bytes, total: int, args: list[Any], deterministic: bool) -> None:
        """Run with an argument block."""
        execute(self, block, total, args, deterministic)

    def command(self, block: bytes, total: int) -> bytes | None:
        """The launch as a command for the pool, or None where that is not all there is to do."""
        if self.reports or self.guard is not None or (total > self.serial_limit and self.has_atomics):
            return None
        size = pool.chunk_size(total, self.cost)
        return pool.COMMAND.pack(self.code.address, graph.address_of(block), 0, total, size, 0)

    def run(self, block: bytes, total: int, args: Any, deterministic: bool) -> None:
        """Run a launch of any size, whose checks nobody asks for."""
        if total <= self.serial_limit:
            self.call(block, 0, total, 0)
            return
        size = pool.chunk_size(total, self.cost)
        if self.has_atomics:
            private_sums.execute(self, block, total, size, args, deterministic)
        else:
            work = pool.COMMAND.pack(self.code.address, graph.address_of(block), 0, total, size, 0)
            pool.get_pool().run(work, 1)

    def run_in_order(self, block: bytes, total: int) -> None:
        """Run a launch of any size, one thread after the other."""
        self.call(block, 0, total, 0)


class CudaLauncher(Launcher):
    """One form of a kernel compiled for a CUDA device."""

    def __init__(self, device: Any, *given: Any, block_dim: int | None = None, max_blocks: int = 0):
        self.device, self.block_dim, self.max_blocks = device, block_dim, max_blocks
        self.shapes: dict[tuple[int | None, int], CudaLauncher] = {}
        super().__init__(*given)

    def _load(self, own: tuple[Any, ...], layouts: tuple[str, ...]) -> None:
        self.code: Any = self.kernel.loaded(own, layouts, self.settings, self.device, self.aliased, self.form)
        self.threads = self.code.checked_block_dim(self.block_dim, self.kernel.key)
        run, threads, blocks = self.code.run, self.threads, self.max_blocks
        self.call = lambda block, begin, total, flags: run(block, total, threads, blocks)
        # Launches that the order of threads may show in are looked at one by one.
        self.serial_limit = -1 if self.program.plan.atomics() else 1 << 63

    def command(self, block: bytes, total: int) -> bytes | None:
        return None

    def prepared(self, args: list[Any]) -> tuple[Launcher, list[Any]]:
        other, ready = super().prepared(args)
        assert isinstance(other, CudaLauncher)
        return other.shaped(self.block_dim, self.max_blocks), ready

    def shaped(self, block_dim: int | None, max_blocks: int) -> CudaLauncher:
        """The same with another number of threads in a block (None: as usual), or of blocks (0: as many as fit)."""
        key = (block_dim, max(0, min(max_blocks, MOST_BLOCKS)))
        if key == (self.block_dim, self.max_blocks):
            return self
        if key not in self.shapes:
            made = copy.copy(self)
            made.block_dim, made.max_blocks = key
            made.threads = self.code.checked_block_dim(block_dim, self.kernel.key)
            run, threads, blocks = self.code.run, made.threads, made.max_blocks
            made.call = lambda block, begin, total, flags: run(block, total, threads, blocks)
            self.shapes[key] = made
        return self.shapes[key]

    def run(self, block: bytes, total: int, args: Any, deterministic: bool) -> None:
        """Run a launch: by one thread, one element after the other, where the order of threads would show."""
        plan = self.program.plan
        if (deterministic and private_sums.is_ordered(plan)) or (plan.injective and private_sums.any_overlap(args)):
            self.run_in_order(block, total)
        else:
            self.call(block, 0, total, 0)

    def run_in_order(self, block: bytes, total: int) -> None:
        self.code.run(block, total, 1, 1)


def guarded(guard: Guard, pack: Callable[..., bytes | None]) -> Callable[..., bytes | None]:
    """Packing, and a look at what elements of structs refer to."""

    def packed(args: Sequence[Any], header: bytes) -> bytes | None:
        block = pack(args, header)
        if block is not None:
            guard(args)
        return block

    return packed


def is_aliased(
    form: Form, args: Sequence[Any], summed: list[Part], types: tuple[Any, ...], lone: Sequence[Part] = ()
) -> bool:
    """Whether sums may be kept neither in registers nor in private copies: another name would not see them."""
    return gradients_meet(args) if form.kind == "adjoint" else meets_others(args, summed, types, lone)


def meets_others(
    args: Sequence[Any], summed: list[Part], types: tuple[Any, ...], lone: Sequence[Part] = ()
) -> bool:
    """Whether an array that is only summed into shares memory with one that is used otherwise, a lone one with any."""
    arrays = [k for k, t in enumerate(types) if isinstance(t, ArrayType)]
    others = [k for k in arrays if (k, False) not in summed]
    if any(overlap(args[k], args[other]) for k, slope in summed if not slope for other in others):
        return True
    return any(overlap(args[k], args[other]) for k, slope in lone if not slope for other in arrays if other != k)


def gradients_meet(args: Sequence[Any]) -> bool:
    """Whether two arguments share gradients."""
    slopes = []
    for a in args:
        if a.__class__ is indexedarray:
            a = a.data
        if a.__class__ is array and a._grad is not None:
            slopes.append(a._grad)
    if len({id(g._memory) for g in slopes}) == len(slopes):
        return False
    return any(overlap(a, b) for k, a in enumerate(slopes) for b in slopes[:k])


def serial_limit(cost: float) -> int:
    """The largest launch that `pool.chunk_size` leaves whole."""
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pool.chunk_size(middle, cost) >= middle else (low, middle)
    return low


def _contiguous(arg: Any, t: Any) -> bool:
    return isinstance(t, ArrayType) and not t.indexed and arg._tag.contiguous


def prepared(kernel: Kernel, args: list[Any], place: Device, form: Form = FORWARD) -> tuple[Launcher, list[Any]]:
    """The compiled form for these arguments, and the arguments with foreign arrays wrapped.

    args: those of the kernel, then one for every extra parameter of the form.
    """
    generation = config.generation  # read before the switches: one that changes meanwhile must be seen next time
    names, settings = list(kernel.patterns), kernel.settings()
    own = kernel.types_for(args[: len(names)] if form is not FORWARD else args)
    ready = [adapted(a, t, n, kernel.key, place) for a, t, n in zip(args, own, names, strict=False)]
    args = [*ready, *args[len(names) :]]
    program = kernel.program(own, settings, False, form)
    types = tuple(p.type for p in program.fn.params) if form is not FORWARD else own
    tags = tuple(a._tag if isinstance(t, ArrayType) else None for a, t in zip(args, types, strict=True))
    aliased = is_aliased(form, args, program.plan.summed(), types, program.plan.lone())
    key = (types, tags, settings, aliased, form, place.alias)
    launcher = kernel.launchers.get(key)
    if launcher is None:
        made = CudaLauncher(place, kernel, types, args, settings, aliased, form) if place.is_cuda else None
        launcher = made or Launcher(kernel, types, args, settings, aliased, form)
        kernel.launchers[key] = launcher
    launcher.generation, launcher.deterministic = generation, bool(kernel.option("deterministic"))
    refuse_missing([d for d in launcher.demands if not d[1]], args, names, kernel.key)
    for k, use in launcher.program.plan.uses.items():
        if use.written and form.kind != "adjoint":
            check_writable(args[k], names[k] if k < len(names) else "", kernel.key)
    if form is FORWARD and kernel.is_current:
        kernel.latest[place.alias] = launcher
    return launcher, args


def explain(launcher: Launcher, args: list[Any]) -> None:
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


def execute(launcher: Launcher, block: bytes, total: int, args: Sequence[Any], deterministic: bool) -> None:
    """Run a kernel of any kind; raises what its checks report."""
    if not launcher.reports:
        launcher.run(block, total, args, deterministic)
        return
    if launcher.device.is_cuda and not launcher.settings.verify:
        unread(launcher.device).run(launcher, block, total, args, deterministic)
        return
    report = Report(launcher, list(args))
    launcher.run(report.attached(block), total, args, deterministic)
    report.raise_if_failed()
