"""Recorded launches: a packed argument block whose parameters can be exchanged, run any number of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....errors import LaunchError, counted, instance
from ...emit.program import FormKind
from ...types import compounds
from ...types.arrays import ArrayType
from ...types.cotangents import has_cotangent
from ...types.signatures import is_generic
from ...types.structs import Struct, StructType, set_field
from ..arrays.creation import zeros
from ..arrays.indexed import indexedarray
from ..devices.device import Device, DeviceLike, get_device
from ..devices.stream import ScopedStream, Stream
from ..devices.unique import Unique
from ..launches.dimensions import normalize_dim
from ..launches.for_device import LaunchOptions, prepare
from ..launches.kernel import Kernel
from ..launches.launcher import LaunchCall
from ..launches.struct_bytes import RefusedField, struct_packer
from ..steps.launch import LaunchStep
from ..tape.relaunch import Relaunch


def _blank(t: Any, device: Device, graded: bool = False) -> Any:
    """What a parameter is before it is set: zero, or an array without elements; graded: with a gradient."""
    if isinstance(t, ArrayType):
        nothing = zeros((0,) * t.ndim, t.dtype, device, requires_grad=graded and has_cotangent(t.dtype))
        return indexedarray(nothing) if t.indexed else nothing
    if graded and isinstance(t, StructType):
        value = t()
        for name, field in t.fields.items():
            set_field(value, name, _blank(field, device, graded))
        return value
    return t.wrap(np.zeros(t.shape)) if compounds.is_compound(t) else t()


def ready(call: LaunchCall) -> LaunchStep:
    """The step that runs a launch as often as wanted, each time as tapes want it; they do not record adjoints."""
    return LaunchStep(call, None if call.launcher.form.kind is FormKind.ADJOINT else Relaunch()).for_later()


class LiveStruct(NamedTuple):
    """A struct among the arguments of a recorded launch. content: the bytes that the launch has of it, by `pack`."""

    position: int
    struct: Struct
    pack: Callable[[Struct], bytes]
    content: bytes


class Launch(Unique):
    """A launch that is repeated: change parameters, then `launch()` again. `wp.launch(..., record_cmd=True)` gives one.

    `Launch(kernel, device)` has no threads yet, zeros for numbers and arrays without elements: `set_dim`
    and `set_param_by_name` follow. block_dim, max_blocks: as of `wp.launch`. adjoint: of the adjoint of the kernel, to
    all whose arrays gradients belong: those of the arrays that are set, else what `set_param_by_name(adjoint=True)`
    says; numbers have none. Raises `LaunchError` for a generic kernel.

    Fields of a struct that change after it was given change the launch. A change that does not fit raises what
    `wp.launch` would raise, and leaves the launch as it was.
    """

    ready: LaunchStep
    """The launch with its present arguments."""
    with_gradient: Callable[[list[Any], int, Any], list[Any]] | None = None
    """The arguments with another gradient at a position."""
    check_gradients: Callable[[list[Any]], None] | None = None
    """Raises for arguments without the gradients that an adjoint launch adds to."""
    checked = True
    """Whether the present arguments have these gradients; arrays are set one by one, gradients after them."""
    live: tuple[LiveStruct, ...] = ()
    """The structs among the arguments as the user has them. Adjoint launches have copies alone."""
    unset: frozenset[int] = frozenset()
    """Arrays that were None when it was recorded, although every thread uses them."""

    def __init__(
        self,
        kernel: Kernel,
        device: DeviceLike = None,
        *,
        max_blocks: int = 0,
        block_dim: int | None = None,
        adjoint: bool = False,
    ):
        if not isinstance(kernel, Kernel):
            raise LaunchError(f"{kernel!r} is not a kernel\nhelp: decorate the function with @wp.kernel")
        if kernel.generic:
            cure = "wp.launch(..., record_cmd=True) tells its types"
            raise LaunchError(f"kernel {kernel.key!r} is generic\nhelp: {cure}")
        place, options = get_device(device), LaunchOptions(block_dim=block_dim, max_blocks=max_blocks)
        blanks = [_blank(t, place, adjoint) for t in kernel.patterns.values()]
        if adjoint:
            from .adjoint_by_hand import WithAdjoints, launch_adjoint  # noqa: PLC0415 - it makes launches of this class

            command = launch_adjoint(kernel.current, 0, WithAdjoints(blanks), place, options, record_cmd=True)
            vars(self).update(vars(command))
        else:
            self.ready = ready(prepare(kernel.current, 0, blanks, place, options=options))

    @classmethod
    def of(cls, call: LaunchCall) -> Launch:
        """A launch with threads and arguments."""
        command = cls.__new__(cls)
        command.ready = ready(call)
        return command

    @classmethod
    def record(cls, kernel: Kernel, args: Sequence[Any], device: Device, ready: Callable[..., LaunchCall]) -> Launch:
        """A launch whose arrays may be None for now: those that every thread uses must be set before it runs.

        ready: the call for a list of arguments.
        """
        command = cls._with_blanks(kernel, args, device, ready)
        command._watch(args)
        return command

    @classmethod
    def _with_blanks(
        cls, kernel: Kernel, args: Sequence[Any], device: Device, ready: Callable[..., LaunchCall]
    ) -> Launch:
        """The launch with empty arrays for those that every thread uses and that are None."""
        pairs = list(zip(args, kernel.patterns.values(), strict=False))
        absent = {k for k, (a, t) in enumerate(pairs) if a is None and isinstance(t, ArrayType) and not is_generic(t)}
        if not absent:
            return cls.of(ready(args))
        filled = [_blank(t, device) if k in absent else a for k, (a, t) in enumerate(pairs)] + list(args[len(pairs) :])
        unset = absent & {ref.position for ref in ready(filled).launcher.demands if not ref.path}
        command = cls.of(ready([None if k in absent - unset else a for k, a in enumerate(filled)]))
        command.unset = frozenset(unset)
        return command

    def __copy__(self) -> Launch:
        """The launch with its present arguments, to be given others."""
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    @property
    def kernel(self) -> Kernel:
        return self.ready.call.launcher.kernel

    @property
    def dim(self) -> Any:
        return self.ready.call.dim

    @property
    def block_dim(self) -> int:
        """The threads of a block."""
        return self.ready.call.launcher.block_dim

    @property
    def args(self) -> list[Any]:
        """The present arguments; of adjoint launches structs as they were when they were given."""
        args = list(self.ready.call.args)
        for live in self.live:
            args[live.position] = live.struct
        return args

    def _bind(self, dim: int | tuple[int, ...], args: list[Any]) -> None:
        """Take other dimensions and arguments, or raise and keep the present ones."""
        self.ready = ready(self.ready.call.rebind(dim, args))
        self._watch(args)
        self.checked = self.check_gradients is None

    def _watch(self, args: Sequence[Any]) -> None:
        """Keep the structs among the arguments, to see before each run whether they changed."""
        launcher = self.ready.call.launcher
        live = () if launcher.form.kind is FormKind.ADJOINT else enumerate(args)
        structs = [(k, a) for k, a in live if isinstance(a, Struct)]
        packers = [(k, a, struct_packer(type(a), launcher.device)) for k, a in structs]
        self.live = tuple(LiveStruct(k, a, pack, pack(a)) for k, a, pack in packers)

    def _take_changes(self) -> None:
        """Take structs anew whose fields changed."""
        try:
            same = [live.content for live in self.live] == [live.pack(live.struct) for live in self.live]
        except RefusedField:  # which is said with the name of the argument
            same = False
        if not same:
            self._bind(self.dim, self.args)

    @property
    def device(self) -> Device | None:
        """The device whose current stream is given the launch, if that is all there is to do."""
        return self.ready.device

    def set_dim(self, dim: int | Sequence[int]) -> None:
        """Change the launch dimensions."""
        self._bind(normalize_dim(dim), self.args)

    def set_param_at_index(self, index: int, value: object, adjoint: bool = False) -> None:
        """Change one argument by position; adjoint: its gradient, of an adjoint launch."""
        if not isinstance(index, int | np.integer) or not 0 <= index < len(self.args):
            raise LaunchError(f"parameter {index} of kernel {self.kernel.key!r}\nexpected: 0 to {len(self.args) - 1}")
        args = list(self.args)
        if not adjoint:
            args[index] = value
        elif self.with_gradient is None:
            raise LaunchError(
                f"the gradient of parameter {index} of a launch of kernel {self.kernel.key!r}\n"
                "expected: an adjoint launch: wp.launch(..., adjoint=True, record_cmd=True)"
            )
        else:
            args = self.with_gradient(args, index, value)
        self._bind(self.dim, args)
        self.unset -= {index}

    def set_param_by_name(self, name: str, value: object, adjoint: bool = False) -> None:
        """Change one argument by name; adjoint: its gradient, of an adjoint launch."""
        names = list(self.kernel.patterns)
        if name not in names:
            raise LaunchError(f"kernel {self.kernel.key!r} has no parameter {name!r}\nexpected: {', '.join(names)}")
        self.set_param_at_index(names.index(name), value, adjoint)

    def set_param_at_index_from_ctype(self, index: int, value: object) -> None:
        """Change a number by position, given as a ctypes value."""
        self.set_param_at_index(index, getattr(value, "value", value))

    def set_param_by_name_from_ctype(self, name: str, value: object) -> None:
        """Change a number by name, given as a ctypes value."""
        self.set_param_by_name(name, getattr(value, "value", value))

    def set_params(self, values: Sequence[object]) -> None:
        """Change all arguments."""
        if len(instance(values, (list, tuple), "values")) != len(self.args):
            raise LaunchError(
                f"{counted(len(values), 'value')} for kernel {self.kernel.key!r}\n"
                f"expected: {len(self.args)}, one per parameter"
            )
        self._bind(self.dim, list(values))
        self.unset = frozenset()

    def launch(self, stream: Stream | None = None) -> None:
        """Run with the present arguments; while a graph is captured, record the launch as it is now.

        Raises `LaunchError` when an array that was None at first is still to be set, `GradientError` when one has no
        gradient that the adjoint adds to.
        """
        if self.live:
            self._take_changes()
        if not self.checked and self.check_gradients is not None:
            self.check_gradients(self.args)
            self.checked = True
        if self.unset:
            names = [name for k, name in enumerate(self.kernel.patterns) if k in self.unset]
            raise LaunchError(f"{', '.join(names)} of kernel {self.kernel.key!r} are not set\nhelp: set_param_by_name")
        if stream is not None:
            with ScopedStream(stream, sync_enter=False):
                self.launch()
        else:
            self.ready.replay()  # as it is now: parameters that are set later belong to later launches
