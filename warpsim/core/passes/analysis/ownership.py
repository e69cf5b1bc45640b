"""Ownership: which arrays each thread reaches at elements of its own alone, so that launches need not wait for others.

Guarantees: where an array has for every axis of the launch an index that is the thread's along it in all accesses, no
two threads reach the same element, whatever their other indices are.
"""

from __future__ import annotations

from ...ir.nodes import Call, Function, walk
from ...ops.registry import ATOMIC, READ, WRITE
from ...types.array_ref import ArrayRef
from .affine import AffineForms
from .dependence import Access, Dependences

Own = frozenset[tuple[int, int]]
"""Pairs of an axis of the launch and an index of an array that is the thread's along it in every access."""


def own_indices(fn: Function, ndim: int) -> dict[ArrayRef, Own] | None:
    """What is a thread's own of the arrays that a kernel reaches; None if it does anything else than that.

    ndim: the indices of a thread.
    """
    where = Dependences(fn)
    for call in (node for node in walk(fn.body) if isinstance(node, Call)):
        if isinstance(call.op, Function) or call.op.opaque or call.op.effect not in ("", READ, WRITE, ATOMIC):
            return None
        arrays = [where.points_to[a] for a in call.args if a in where.points_to]
        if call.op.effect and (not arrays or any(None in bases for bases in arrays)):
            return None
    affine = AffineForms(where.definitions, exact=True)
    own: dict[ArrayRef, Own] = {}
    for base in {*where.by_base, *where.vague}:
        if base.holder in fn.params:
            accesses = [] if base in where.vague else where.by_base[base]
            axes = [_own(access, affine, ndim) for access in accesses]
            ref = ArrayRef(fn.params.index(base.holder), base.path, base.is_grad)
            own[ref] = frozenset.intersection(*axes) if axes else frozenset()
    return own


def _own(access: Access, affine: AffineForms, ndim: int) -> Own:
    """Which indices of an access are the thread's, and along which axis."""
    forms = [affine.of(index) for index in access.indices]
    return frozenset(
        (axis, k)
        for axis in range(ndim)
        for k, form in enumerate(forms)
        if form.terms == {(("tid", axis), 1)} and not form.constant and not access.indexed
    )
