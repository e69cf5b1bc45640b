"""`resolve`: from the id of a structure to its struct, in kernels.

The row reads memory, yet counts as pure: no kernel writes records, and the host writes them between launches
only. The id 0 stands for a structure in which everything is 0 or empty. Derivatives flow through the arrays in
the struct; a derived program takes the struct as a parameter instead (see `passes.simplify.handle_params`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir as ll

from ...errors import KernelCallError, StructureIdError
from ..ir.host_arrays import HostArray
from ..ir.nodes import Call
from ..types import structs
from ..types.arrays import ArrayType
from ..types.compounds import is_compound
from ..types.handles import HEADER, LIVE, structure_name
from ..types.scalars import uint64
from ..types.structs import StructType
from .registry import op
from .target import Target


def _rule(types: list[Any], attributes: dict[str, Any]) -> Any:
    return (types, [attributes["to"]]) if types == [uint64] and structs.is_struct(attributes.get("to")) else None


def _value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    [[number]], b, t = args, target.builder, call.attributes["to"]
    nothing = _empty_record(b.module, HEADER + structs.numpy_dtype(t).itemsize)
    struct = target.structure(number, b.bitcast(nothing, ll.IntType(8).as_pointer()), call)
    leaves: list[Any] = target.load_constant(struct, t)
    return leaves


def _empty_record(module: ll.Module, size: int) -> Any:
    """A record of zeros: what the id 0 stands for."""
    name = f"warpsim_empty_{size}"
    if name in module.globals:
        return module.globals[name]
    kind = ll.ArrayType(ll.IntType(8), size)
    record = ll.GlobalVariable(module, kind, name)
    record.linkage, record.global_constant = "internal", True
    record.initializer, record.align = ll.Constant(kind, None), 16
    return record


def _oracle(number: Any, to: StructType) -> Any:
    return open_handle(int(number), to).for_interpreter() if number else _empty(to)


def _empty(t: StructType) -> Any:
    """What the interpreter holds for a value of zeros."""
    if structs.is_struct(t):
        return {name: _empty(field) for name, field in t.fields.items()}
    if isinstance(t, ArrayType):
        return HostArray(np.zeros((0,) * t.ndim, structs.numpy_dtype(t.dtype)), t, "array of no structure")
    return np.zeros(t.shape, t.dtype) if is_compound(t) else t(0)


def open_handle(number: int, t: StructType, what: str = "an id") -> Any:
    """The open structure of an id. Raises `StructureIdError` for one that is closed, unknown, or of another type."""
    handle = LIVE.get(number)
    if handle is None:
        raise StructureIdError(
            f"{what} is {number:#x}, which is not the id of a structure that exists\n"
            f"expected: the `id` of an open {structure_name(t)}\n"
            "help: keep the object (HashGrid, Mesh, Volume, ...) alive as long as kernels use its id"
        )
    if handle.type is not t:
        kinds = structure_name(handle.type), structure_name(t)
        raise StructureIdError(f"{what} is the id of a {kinds[0]}\nexpected: one of a {kinds[1]}")
    return handle


@op(_value, numpy=_oracle, rule=_rule, name="resolve", nondiff="gradients flow through the arrays of the struct")
def resolve_row(id: uint64) -> Any:
    """The struct that an id stands for."""


def resolve(id: Any, to: Any) -> Any:
    """In a kernel: the struct of type `to` that the id of a structure stands for.

    On the host, see `runtime.handles`.
    """
    raise KernelCallError("resolve works inside kernels only")


resolve.kernel_form = "resolve"  # type: ignore[attr-defined]
