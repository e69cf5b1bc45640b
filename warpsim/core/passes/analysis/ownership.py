"""Ownership: which arrays each thread reaches at elements of its own alone, so that launches need not wait for others.

Guarantees: where a `Reach` tells for every axis of the launch an index that is the thread's along it in all accesses
of the array, no two threads reach the same element, whatever their other indices are.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.nodes import Call, Function, walk
from ...ops.registry import ATOMIC, READ, WRITE
from .affine import AffineForms
from .alias import BaseArray
from .dependence import Access, Dependences


class Reach(NamedTuple):
    """How a kernel reaches an array that comes with a parameter."""

    position: int
    """Of the parameter."""
    path: str
    """The fields that lead from it to the array."""
    is_grad: bool
    """Whether the gradient array is meant."""
    writes: bool
    own: frozenset[tuple[int, int]]
    """Pairs of an axis of the launch and an index of the array that is the thread's along it in every access."""


def reaches(fn: Function, ndim: int) -> tuple[Reach, ...] | None:
    """How a kernel whose threads have `ndim` indices reaches its arrays; None if it does anything else than that."""
    where = Dependences(fn)
    for call in (node for node in walk(fn.body) if isinstance(node, Call)):
        if isinstance(call.op, Function) or call.op.opaque or call.op.effect not in ("", READ, WRITE, ATOMIC):
            return None
        arrays = [where.points_to[a] for a in call.args if a in where.points_to]
        if call.op.effect and (not arrays or any(None in bases for bases in arrays)):
            return None
    affine = AffineForms(where.definitions, exact=True)
    bases = {*where.by_base, *where.vague}
    return tuple(_reach(fn, base, where, affine, ndim) for base in bases if base.holder in fn.params)


def _reach(fn: Function, base: BaseArray, where: Dependences, affine: AffineForms, ndim: int) -> Reach:
    accesses = where.by_base.get(base, []) if base not in where.vague else []
    owns = [_own(access, affine, ndim) for access in accesses]
    own = frozenset.intersection(*owns) if owns else frozenset()
    return Reach(fn.params.index(base.holder), base.path, base.is_grad, base in where.written, own)


def _own(access: Access, affine: AffineForms, ndim: int) -> frozenset[tuple[int, int]]:
    """Which indices of an access are the thread's, and along which axis."""
    forms = [affine.of(index) for index in access.indices]
    return frozenset(
        (axis, k)
        for axis in range(ndim)
        for k, form in enumerate(forms)
        if form.terms == {(("tid", axis), 1)} and not form.constant and not access.indexed
    )
