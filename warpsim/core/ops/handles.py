"""`resolve`: from the id of a structure to its struct, in kernels.

The row reads memory, yet counts as pure: no kernel writes records, and the host writes them between launches
only. Derivatives flow through the arrays in the struct; a derived program takes the struct as a parameter
instead (see `passes.references`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from ...errors import StructureIdError
from ..types import structs
from ..types.arrays import type_name
from ..types.handles import ADDRESS_BITS, HEADER, LIVE
from ..types.scalars import uint64
from .registry import op


def _rule(types: list[Any], attributes: dict) -> Any:
    return (types, [attributes["to"]]) if types == [uint64] and structs.is_struct(attributes["to"]) else None


def _value(target: Any, call: Any, args: list[list[Any]]) -> list[Any]:
    [[number]], b = args, target.builder
    kind = number.type
    at = b.and_(number, ll.Constant(kind, (1 << ADDRESS_BITS) - 1))
    record = b.inttoptr(at, ll.IntType(8).as_pointer())
    target.check_record(record, number, call)
    return target.load_constant(b.gep(record, [ll.Constant(ll.IntType(64), HEADER)]), call.attributes["to"])


def _oracle(number: Any, to: Any) -> Any:
    return found(int(number), to).interpreted()


def found(number: int, t: Any, what: str = "an id") -> Any:
    """The open structure of an id. Raises `StructureIdError` for one that is closed, unknown, or of another type."""
    handle = LIVE.get(number)
    if handle is None:
        raise StructureIdError(
            f"{what} is {number:#x}, which is not the id of a structure that exists\n"
            f"expected: the `id` of one that holds {type_name(t)}\n"
            "help: keep the object (HashGrid, Mesh, Volume, ...) alive as long as kernels use its id"
        )
    if handle.type is not t:
        raise StructureIdError(f"{what} is the id of a {type_name(handle.type)}\nexpected: one of {type_name(t)}")
    return handle


@op(_value, numpy=_oracle, rule=_rule, name="resolve", nondiff="gradients flow through the arrays of the struct")
def resolve_row(id: uint64) -> Any:
    """The struct that an id stands for."""


def resolve(id: Any, to: Any) -> Any:
    """In a kernel: the struct of type `to` that the id of a structure stands for.

    On the host, see `runtime.handles`.
    """
    raise TypeError("resolve works inside kernels only")


resolve.kernel_form = "resolve"  # type: ignore[attr-defined]
