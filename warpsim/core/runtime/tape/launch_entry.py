"""`LaunchEntry`: a recorded launch, with its arguments and what the reverse computed for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

from ...types.answers import per_object
from ...types.array_ref import ArrayRef
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.mirrors import Mirror
from ..arrays.saved_contents import Read
from ..devices.device import Device
from ..steps.step import Step
from .adjoint_launch import reverse_step
from .adjoint_needs import LaunchRecord, Needs
from .entry import MovedEntry, TapeEntry, UsedArray
from .kernel_arrays import arrays_at
from .tangent_launch import MovedLaunch, gradient_names


class Launched(NamedTuple):
    """What is noted of every launch: a tuple, as its making is a part of the cost of launches on tapes.

    reads: the registered contents that `record` names; None when nothing had a gradient.
    """

    needs: Needs
    launcher: Any
    dim: Any
    args: tuple[Any, ...]
    input_count: int
    deterministic: bool
    reads: Sequence[Read] | None
    code: CodeType | None
    offset: int
    record: LaunchRecord


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
        return self.needs.arrays.kernel

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
        return list(self.args[self.input_count : len(self.needs.arrays.types)])

    @property
    def place(self) -> CallSite:  # type: ignore[override]
        return CallSite(self.code, self.offset)

    @property
    def device(self) -> Device:  # type: ignore[override]
        device: Device = self.launcher.device
        return device

    # ----- arrays -----------------------------------------------------------------------------

    def uses(self) -> Iterator[UsedArray]:
        for ref, name, *facts in parameter_uses(self.needs):
            for table, a in arrays_at(self.args, ref):
                if table is None:
                    yield UsedArray(name, a, *facts)
                else:
                    yield UsedArray(name, a, reads=True, depends=True, direct=False)

    def words(self, use: UsedArray) -> str:
        return f"argument {use.name!r} of {self.title}, launched at"

    def written_arrays(self) -> Iterator[array]:
        flat = self.needs.flat(self.args)
        if flat is not None:
            return (flat[k] for k in self.needs.plain.writes)  # type: ignore[union-attr]
        return (a for ref in self.needs.arrays.written for _, a in arrays_at(self.args, ref, tables=False))

    def arrays(self) -> Iterator[array]:
        """The arrays of floats among the arguments, and in elements of arguments."""
        flat = self.needs.flat(self.args)
        if flat is not None:
            return (flat[k] for k in self.needs.plain.floats)  # type: ignore[union-attr]
        refs = (*self.needs.arrays.floats, *self.needs.arrays.in_elements)
        reached = (a for ref in refs for _, a in arrays_at(self.args, ref, tables=False))
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
def parameter_uses(needs: Needs) -> tuple[tuple[ArrayRef, str, bool, bool, bool, bool], ...]:
    """The arrays that a kernel is given or reaches, and the fields of `UsedArray` for each but the array."""
    name, uses, changed = needs.arrays.name, needs.arrays.uses, needs.arrays.uses.changed
    depends = needs.read | uses.extremes | (changed if uses.returns else set())
    refs = [*name, *sorted((depends | changed) - set(name))]
    return tuple(
        (ref, name.get(ref, "?"), ref in needs.read, ref in changed, ref in depends, ref in name) for ref in refs
    )
