"""Launches over tensors on the CPU as in an earlier call: descriptors alone, past all that arrays have besides."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..core.runtime.arrays import saved_contents
from ..core.runtime.arrays.array import Tag
from ..core.runtime.devices.capture import current_graph
from ..core.runtime.devices.device import CPU
from ..core.runtime.launch import repeat
from ..core.runtime.launches.dimensions import extent
from ..core.types.arrays import MAX_NDIM
from .operator import KernelOperator
from .signature import Parameter

if TYPE_CHECKING:
    from .torch_function import Evaluation

_WORDS = [struct.Struct(f"<{2 + 2 * n}Q") for n in range(MAX_NDIM + 1)]


class Descriptor:
    """A packed tensor, and perhaps that of its gradient, as launches see arrays."""

    __slots__ = ("_tag", "_words")

    def __init__(self, t: torch.Tensor, param: Parameter, gradient: int = 0):
        rank = param.type.ndim
        size = t.element_size()
        self._tag = Tag(param.type, True, True, CPU.memory_space)
        self._words = _WORDS[rank].pack(
            t.data_ptr(), gradient, *t.shape[:rank], *[n * size for n in t.stride()[:rank]]
        )


def repeated(evaluation: Evaluation, operands: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """Outputs of a kernel that has been launched over such tensors before; None where more is to be looked at."""
    op, s = evaluation.op, evaluation.op.signature
    if saved_contents.alert or s.in_out or not isinstance(op.operator, KernelOperator):
        return None
    args: list[Any] = list(evaluation.numbers)
    for k, t in zip(evaluation.tensors, operands, strict=True):
        if not is_plain(evaluation, t, s.inputs[k]):
            return None
        args[k] = Descriptor(t, s.inputs[k])
    outputs = [torch.zeros(n, dtype=op.dtypes[p.name]) for p, n in zip(s.outputs, evaluation.shapes, strict=True)]
    args += [Descriptor(t, p) for t, p in zip(outputs, s.outputs, strict=True)]
    ran = repeat(op.operator.subject, evaluation.dims, args, len(s.inputs), False, CPU)
    return outputs if ran else None


def repeated_adjoint(evaluation: Evaluation, operands: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """Gradients by an adjoint that has been launched over such tensors before; None as above."""
    op, s, active = evaluation.op, evaluation.op.signature, evaluation.active
    if saved_contents.alert or s.in_out or not isinstance(op.operator, KernelOperator):
        return None
    launcher, read = op.operator.adjoint_launcher(active), op.operator.saved(active)
    if launcher is None or launcher.program.extras or current_graph() is not None:
        return None
    parts = evaluation.split(operands)
    given = dict(zip(evaluation.tensors, parts["x"], strict=True))
    if not all(is_plain(evaluation, t, s.inputs[k], k in read) for k, t in given.items()):
        return None
    if not all(is_plain(evaluation, w, s.outputs[k], False) for k, w in zip(s.float_outputs, parts["w"], strict=True)):
        return None
    found = {k: torch.zeros(given[k].shape, dtype=given[k].dtype) for k in active}
    args, held = described(evaluation, {k: t if k in read else None for k, t in given.items()}, found, parts["w"])
    total, header = extent(evaluation.dims, op.operator.subject.key, launcher.ndim)
    block = launcher.pack(args, header) if total <= launcher.serial_limit and not launcher.reports else None
    if block is None:
        return None
    launcher.function(block, 0, total, 0)
    del held
    return [found[k] for k in active]


def described(
    evaluation: Evaluation, given: dict[int, Any], found: dict[int, torch.Tensor], w: Sequence[torch.Tensor]
) -> tuple[list[Any], list[torch.Tensor]]:
    """The arguments of an adjoint, and what must live while it runs.

    given: inputs by position, None for those whose contents it does not read. found: where their gradients go.
    w: cotangents of the outputs, which are copied, as the adjoint changes them.
    """
    s, held = evaluation.op.signature, []
    args: list[Any] = list(evaluation.numbers)
    for k, t in given.items():
        t = found.get(k) if t is None else t
        args[k] = None if t is None else Descriptor(t, s.inputs[k], found[k].data_ptr() if k in found else 0)
    seeds = dict(zip(s.float_outputs, w, strict=True))
    for k, (param, shape) in enumerate(zip(s.outputs, evaluation.shapes, strict=True)):
        t = torch.empty(shape, dtype=evaluation.op.dtypes[param.name])
        held.append(t.copy_(seeds[k]) if k in seeds else t)
        args.append(Descriptor(t, param, t.data_ptr() if k in seeds else 0))
    return args, held


def is_plain(evaluation: Evaluation, t: torch.Tensor, param: Parameter, packed: bool = True) -> bool:
    """Whether a tensor may be described as it is. packed: its elements have to lie side by side."""
    inner = param.inner
    if not param.is_array or t.dtype is not evaluation.op.dtypes[param.name] or t.dim() != param.rank:
        return False
    if not t.numel() or t.device.type != "cpu" or t.shape[t.dim() - len(inner) :] != inner:
        return False
    return not packed or t.is_contiguous()
