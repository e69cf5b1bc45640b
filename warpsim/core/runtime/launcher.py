"""Compiled forms of kernels, ready for launches: arguments to an argument block, a block to a run.

A `Launcher` belongs to one form of a kernel (itself, or its adjoint) at fixed tags of its array
arguments. A launch of few threads runs on the calling thread; a large one is cut into chunks whose
boundaries depend on the number of threads alone, and all cores take chunks. Float atomics that scatter
go to private copies (see `scatter`), so results do not depend on scheduling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...config import config
from ...errors import LaunchError, StructureIdError
from ..compile import FORWARD, Form
from ..passes.access import Part
from ..types.arrays import ArrayType
from ..types.signatures import is_generic
from . import graph, pool, scatter
from .arguments import UNFIT, adapted, block_packer, check_writable, exact_packer, id_packer, mismatch, packer, unfit
from .array import array, overlap
from .device import CPU, Device
from .indexed import indexedarray
from .kernel import Kernel, Settings
from .report import Report


class Launcher:
    """One compiled form of a kernel, for fixed tags of its array arguments.

    types, args: those of the kernel's parameters, then those of the extra parameters of the form.
    """

    def __init__(
        self, kernel: Kernel, types: tuple[Any, ...], args: list[Any], settings: Settings, aliased: bool,
        form: Form = FORWARD,
    ):  # fmt: skip
        self.kernel, self.types, self.aliased, self.form, self.settings = kernel, types, aliased, form, settings
        own = types[: len(kernel.patterns)]
        self.own_types = own
        self.program = kernel.program(own, settings, aliased, form)
        self.summed = kernel.program(own, settings, False, form).plan.summed()
        layouts = tuple("C" if _contiguous(a, t) else "" for a, t in zip(args, types, strict=True))
        tags = [a._tag if isinstance(t, ArrayType) else None for a, t in zip(args, types, strict=True)]
        open_types = [is_generic(p) for p in kernel.patterns.values()] + [False] * (len(types) - len(own))
        self.packers = [exact_packer(t) if generic else packer(t) for t, generic in zip(types, open_types, strict=True)]
        for r in self.program.references:
            if not r.path:
                self.packers[r.position] = id_packer(r.type, self.packers[r.position])
        self.join = block_packer(tags, self.packers)
        self.code = kernel.compiled(own, layouts, settings, aliased, form)
        self.call = pool.KERNEL_PROTOTYPE(self.code.address)
        self.ndim = self.program.ndim
        self.cost = max(0.25, self.program.nanoseconds)
        self.serial_limit = serial_limit(self.cost)
        self.reports = bool(self.code.sites)
        plan = self.program.plan
        self.sums = plan.summed()
        self.has_atomics = bool(plan.atomics())
        self.generation = config.generation
        self.deterministic = bool(kernel.option("deterministic"))
        self.needs: Any = None  # what recording a launch has to look at, see `needs`
        self.reverses: dict[Any, Launcher | None] = {}  # adjoint forms used last, by which arrays have gradients

    def pack(self, args: Sequence[Any], header: bytes) -> bytes | None:
        """The argument block, or None when an argument needs a closer look."""
        try:
            block = self.join(args, header)
        except UNFIT:
            return None
        if block is not None and (self.summed or self.form is not FORWARD):
            if is_aliased(self.form, args, self.summed, self.types) is not self.aliased:
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
        return prepared(self.kernel, args, CPU, self.form)

    def execute(self, block: bytes, total: int, args: list[Any], deterministic: bool) -> None:
        """Run with an argument block."""
        execute(self, block, total, args, deterministic)


def is_aliased(form: Form, args: Sequence[Any], summed: list[Part], types: tuple[Any, ...]) -> bool:
    """Whether sums may be kept neither in registers nor in private copies: another name would not see them."""
    return gradients_meet(args) if form.kind == "adjoint" else meets_others(args, summed, types)


def meets_others(args: Sequence[Any], summed: list[Part], types: tuple[Any, ...]) -> bool:
    """Whether an array that is only summed into shares memory with one that is used otherwise."""
    others = [k for k, t in enumerate(types) if isinstance(t, ArrayType) and (k, False) not in summed]
    return any(overlap(args[k], args[other]) for k, slope in summed if not slope for other in others)


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
    aliased = is_aliased(form, args, program.plan.summed(), types)
    key = (types, tags, settings, aliased, form)
    launcher = kernel.launchers.get(key)
    if launcher is None:
        launcher = kernel.launchers[key] = Launcher(kernel, types, args, settings, aliased, form)
    launcher.generation, launcher.deterministic = generation, bool(kernel.option("deterministic"))
    for k, use in launcher.program.plan.uses.items():
        if use.written and form.kind != "adjoint":
            check_writable(args[k], names[k] if k < len(names) else "", kernel.key)
    if form is FORWARD:
        kernel.latest = launcher
    return launcher, args


def explain(launcher: Launcher, args: list[Any]) -> None:
    """Raise the error that `pack` did not."""
    for name, t, arg, pack in zip(launcher.kernel.patterns, launcher.types, args, launcher.packers, strict=False):
        if pack is None:
            continue
        try:
            pack(arg)
        except StructureIdError as error:
            raise StructureIdError(f"parameter {name!r} of kernel {launcher.kernel.key!r}: {error}") from None
        except UNFIT as error:
            raise unfit(arg, t, name, launcher.kernel.key, error) from error
    raise LaunchError(mismatch("?", launcher.kernel.key, "changed during the launch", launcher.types[0]))


def command(launcher: Launcher, block: bytes, total: int, size: int) -> bytes:
    return pool.COMMAND.pack(launcher.code.address, graph.address_of(block), 0, total, size, 0)


def execute(launcher: Launcher, block: bytes, total: int, args: Sequence[Any], deterministic: bool) -> None:
    """Run a kernel of any kind; raises what its checks report."""
    if not launcher.reports:
        execute_unchecked(launcher, block, total, args, deterministic)
        return
    report = Report(launcher, list(args))
    execute_unchecked(launcher, report.attached(block), total, args, deterministic)
    report.raise_if_failed()


def execute_unchecked(launcher: Launcher, block: bytes, total: int, args: Any, deterministic: bool) -> None:
    if total <= launcher.serial_limit:
        launcher.call(block, 0, total, 0)
        return
    size = pool.chunk_size(total, launcher.cost)
    if launcher.has_atomics:
        scatter.execute(launcher, block, total, size, args, deterministic)
    else:
        pool.get_pool().run(command(launcher, block, total, size), 1)
