"""`LaunchEntry`: a recorded launch, with its arguments and what the reverse computed for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, NamedTuple

from ...passes.analysis.mod_ref import Path
from ...types.answers import per_object
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.mirrors import Mirror
from ..arrays.saved_contents import Read
from ..devices.device import Device
from ..steps.step import Step
from .adjoint_launch import reverse_step
from .adjoint_needs import Needs, arrays_at
from .entry import ArrayUse, MovedEntry, TapeEntry
from .tangent_launch import MovedLaunch, gradient_names


class LaunchSnapshot:
    """Records of a launch beyond its array arguments: arrays in structs, index tables, contents from before it."""

    def __init__(self) -> None:
        self.reads: list[tuple[Path, int | None, array, Read]] = []
        """Path of the array; which index table of an indexedarray, or None; the array; its contents."""
        self.before: dict[int, list[tuple[str, int | None, array, Read]]] = {}
        """Contents from before the launch, by parameter: field of a struct, index table, array, contents."""
        self.recorded: dict[int, array] = {}
        """What atomics returned, by the number of the atomic."""
        self.overlap_error = ""
        """Names of arrays that overlap so that the launch cannot be reversed."""


class Launched(NamedTuple):
    """What is noted of every launch: a tuple, as its making is a part of the cost of launches on tapes.

    reads: of `needs.plain_before`, then of `needs.plain_after`; None when nothing had a gradient. snapshot: None for
    launches whose arrays are all arguments of their own.
    """

    needs: Needs
    launcher: Any
    dim: Any
    args: tuple[Any, ...]
    input_count: int
    deterministic: bool
    reads: list[Read] | None
    code: CodeType | None
    offset: int
    snapshot: LaunchSnapshot | None


class LaunchEntry(Launched, TapeEntry):
    """A recorded launch.

    kernel, dim, args: those of the launch (`inputs` and `outputs` as they were given), and behind them the
    structures that it reached by ids; device;
    deterministic; place: where `wp.launch` was called (file, line); metadata: that of `record_launch`.
    """

    metadata: Any = None
    max_blocks = 0
    block_dim: int | None = None
    _step: Step | bool | None = False  # False: not made yet

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def kernel(self) -> Any:
        return self.needs.kernel

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.kernel.key)

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"kernel {self.name!r}"

    @property
    def about(self) -> str:  # type: ignore[override]
        return f"dim={self.dim}"

    @property
    def inputs(self) -> list[Any]:
        return list(self.args[: self.input_count])

    @property
    def outputs(self) -> list[Any]:
        return list(self.args[self.input_count : len(self.needs.types)])

    @property
    def place(self) -> CallSite:  # type: ignore[override]
        return CallSite(self.code, self.offset)

    @property
    def device(self) -> Device:  # type: ignore[override]
        device: Device = self.launcher.device
        return device

    # ----- arrays -----------------------------------------------------------------------------

    def uses(self) -> Iterator[ArrayUse]:
        for path, name, reads, writes, depends, direct in parameter_uses(self.needs):
            for table, a in arrays_at(self.args, path):
                if table is None:
                    yield ArrayUse(name, a, reads, writes, depends, direct)
                else:
                    yield ArrayUse(name, a, reads=True, depends=True, direct=False)

    def words(self, use: ArrayUse) -> str:
        return f"argument {use.name!r} of {self.title}, launched at"

    def written(self) -> Iterator[array]:
        if self.needs.plain:
            return (self.args[k] for k in self.needs.plain_writes)
        return (a for path in self.needs.written for _, a in arrays_at(self.args, path, tables=False))

    def arrays(self) -> Iterator[array]:
        """The arrays of floats among the arguments, and in elements of arguments."""
        if self.needs.plain:
            return (self.args[k] for k in self.needs.float_arrays)
        paths = (*self.needs.floats, *self.needs.held)
        reached = (a for path in paths for _, a in arrays_at(self.args, path, tables=False))
        return (a for a in reached if has_cotangent(a.dtype))

    # ----- reverse ----------------------------------------------------------------------------

    @property
    def step(self) -> Step | None:  # type: ignore[override]
        assert not isinstance(self._step, bool), "prepare comes first"
        return self._step

    def prepare(self, anew: bool) -> None:
        if anew or self._step is False:
            self._step = reverse_step(self)

    # ----- forward ----------------------------------------------------------------------------

    def passes_gradient(self) -> bool:
        return bool(gradient_names(self))

    def push(self, tangents: Mirror, numbers: Mapping[str, Any], later: set[Any] | None) -> MovedEntry | None:
        launch = MovedLaunch(self, tangents, numbers)
        if later is None:
            launch.forward()
            return None
        launch.keep_before()
        launch.forward()
        launch.keep(later)
        return launch

    def __repr__(self) -> str:
        return f"LaunchEntry({self.name!r}, dim={self.dim}, at {self.place})"


@per_object
def parameter_uses(needs: Needs) -> tuple[tuple[Path, str, bool, bool, bool, bool], ...]:
    """The arrays that a kernel is given or reaches: path, and the fields of their `ArrayUse`."""
    mod_ref = needs.mod_ref
    depends = mod_ref.read | mod_ref.extremes | (mod_ref.written if mod_ref.returning else set())
    paths = [*needs.name, *sorted((depends | mod_ref.written) - set(needs.name))]
    return tuple(
        (p, needs.name.get(p, "?"), p in mod_ref.read, p in mod_ref.written, p in depends, p in needs.name)
        for p in paths
    )
