"""Launches over tensors on the CPU as in an earlier call: descriptors alone, past all that arrays have besides."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.tag import Tag
from ...core.runtime.devices.capture import current_graph
from ...core.runtime.devices.device import CPU
from ...core.runtime.devices.memory_range import MemoryRange
from ...core.runtime.launch import repeat
from ..operator import KernelOperator
from ..signature import Parameter

if TYPE_CHECKING:
    from .function import Evaluation
    from .operator import TorchOperator

_POINTERS = struct.Struct("<2Q").pack
_MOST_KNOWN = 1024
_CPU = torch.device("cpu")  # said in the backward pass, where `with torch.device(...)` would choose another one


class Layout:
    """How launches see packed tensors of one shape in the place of a parameter; size: their bytes."""

    __slots__ = ("dtype", "extents", "size", "tag")

    def __init__(self, param: Parameter, dtype: torch.dtype, shape: torch.Size):
        outer = shape[: param.type.ndim]
        strides = torch.empty(shape, dtype=dtype, device="meta").stride()[: param.type.ndim]
        self.size = shape.numel() * dtype.itemsize
        words = [*outer, *(n * dtype.itemsize for n in strides)]
        self.tag, self.dtype = Tag(param.type, True, True, CPU.memory_space), dtype
        self.extents = struct.pack(f"<{len(words)}Q", *words)


class Descriptor:
    """A packed tensor, and perhaps that of its gradient, as launches see arrays."""

    __slots__ = ("_range", "_tag", "_words")

    def __init__(self, layout: Layout, data: int, gradient: int = 0):
        self._range = MemoryRange(data, data + layout.size)
        self._tag = layout.tag
        self._words = _POINTERS(data, gradient) + layout.extents


class Layouts(dict[tuple[int, tuple[int, ...]], Layout | None]):
    """Layouts by position of a parameter and shape of its tensors; None for shapes that need a closer look."""

    def __init__(self, op: TorchOperator):
        super().__init__()
        self.op = op

    def __missing__(self, key: tuple[int, tuple[int, ...]]) -> Layout | None:
        position, shape = key[0], torch.Size(key[1])
        param = self.op.signature.params[position]
        if len(self) >= _MOST_KNOWN:
            self.clear()
        fits = param.is_array and len(shape) == param.rank and shape[len(shape) - len(param.inner) :] == param.inner
        layout = Layout(param, self.op.dtypes[param.name], shape) if fits and shape.numel() else None
        self[key] = layout
        return layout

    def of(self, position: int, t: torch.Tensor) -> Layout | None:
        """The layout of a tensor whose elements need not lie side by side; None where there is none."""
        layout = self[position, t.shape]
        if layout is None or t.dtype is not layout.dtype or t.device.type != "cpu" or t.layout is not torch.strided:
            return None
        if t.data_ptr() % layout.dtype.itemsize:
            return None
        return layout


def repeat_launch(evaluation: Evaluation, operands: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """Outputs of a kernel that has been launched over such tensors before; None where more is to be looked at."""
    op, s = evaluation.op, evaluation.op.signature
    if saved_contents.alert or s.in_out or not isinstance(op.operator, KernelOperator):
        return None
    args: list[Any] = list(evaluation.numbers)
    for k, t in zip(evaluation.tensors, operands, strict=True):
        layout = op.layouts.of(k, t)
        if layout is None or not t.is_contiguous():
            return None
        args[k] = Descriptor(layout, t.data_ptr())
    outputs = []
    for k, shape in enumerate(evaluation.shapes, len(args)):
        layout = op.layouts[k, shape]
        if layout is None:
            return None
        outputs.append(torch.zeros(shape, dtype=layout.dtype))
        args.append(Descriptor(layout, outputs[-1].data_ptr()))
    ran = repeat(op.operator.subject, evaluation.dims, args, len(s.inputs), False, CPU)
    return outputs if ran else None


def repeat_adjoint(evaluation: Evaluation, operands: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """Gradients by an adjoint that has been launched over such tensors before; None as above."""
    op, s, active = evaluation.op, evaluation.op.signature, evaluation.active
    if saved_contents.alert or s.in_out or not isinstance(op.operator, KernelOperator):
        return None
    launcher, read = op.operator.adjoint_launcher(active), op.operator.saved_inputs(active)
    if launcher is None or launcher.program.extras or current_graph() is not None:
        return None
    gradients: list[torch.Tensor] = []
    words = described_inputs(evaluation, operands, read, gradients)
    seeded = described_outputs(evaluation, operands[len(evaluation.tensors) :])
    if words is None or seeded is None:
        return None
    total, header = launcher.extent(evaluation.dims)
    if not 0 <= total <= launcher.direct_limit:
        return None
    block = launcher.pack(words + seeded[0], header)
    if block is None:
        return None
    launcher.function(block, 0, total, 0)
    return gradients


def described_inputs(
    evaluation: Evaluation, x: Sequence[torch.Tensor], read: frozenset[int], gradients: list[torch.Tensor]
) -> list[Any] | None:
    """The inputs as an adjoint takes them, without contents those that it does not read; fills `gradients`."""
    args: list[Any] = list(evaluation.numbers)
    for k, t in zip(evaluation.tensors, x, strict=False):
        layout, is_read = evaluation.op.layouts.of(k, t), k in read
        if layout is None or (is_read and not t.is_contiguous()):
            return None
        gradient = 0
        if k in evaluation.active:
            gradients.append(torch.zeros(t.shape, dtype=layout.dtype, device=_CPU))
            gradient = gradients[-1].data_ptr()
        if is_read or gradient:
            args[k] = Descriptor(layout, t.data_ptr() if is_read else gradient, gradient)
    return args


def described_outputs(
    evaluation: Evaluation, w: Sequence[torch.Tensor]
) -> tuple[list[Descriptor], list[torch.Tensor]] | None:
    """The outputs as an adjoint takes them: cotangents, copied as it changes them; and what must live while it runs."""
    op, first = evaluation.op, len(evaluation.numbers)
    args, held, seeds = [], [], iter(w)
    for k, shape in enumerate(evaluation.shapes):
        layout, is_seeded = op.layouts[first + k, shape], k in op.signature.float_outputs
        if layout is None:
            return None
        if is_seeded:
            seed = next(seeds)
            if op.layouts.of(first + k, seed) is not layout:
                return None
            held.append(seed.clone(memory_format=torch.contiguous_format))
        else:
            held.append(torch.empty(shape, dtype=layout.dtype, device=_CPU))
        at = held[-1].data_ptr()
        args.append(Descriptor(layout, at, at if is_seeded else 0))
    return args, held
