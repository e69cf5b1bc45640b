"""Which arrays of its arguments a kernel reads and writes. An analysis: it changes nothing.

Guarantees: for a kernel whose calls are inlined, every access to an array parameter, to an array in a
struct parameter, and to arrays that elements of an array of structs refer to (path `[]`) is counted;
an access that may go to several arrays counts for each. Gradient arrays do not count. An operation
with an effect that is not known here counts as reading and writing all its arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.nodes import Call, Function, Value, walk
from ..ops.registry import ATOMIC, PURE, READ, WRITE
from ..types.arrays import ArrayType
from .roots import array_fields, holds_arrays, roots_of

Path = tuple[int, str]
"""The position of a parameter, and the fields in it that lead to the array, joined by points."""

HELD = "[]"
_EXTREMES = ("atomic_min", "atomic_max")


@dataclass
class Touched:
    """The arrays that a kernel touches, and how."""

    read: set[Path] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)
    extremes: set[Path] = field(default_factory=set)
    """Reached by `atomic_min` or `atomic_max`, whose adjoints look at what is there afterwards."""
    returning: bool = False
    """Whether the result of an atomic is used."""


def touched(fn: Function) -> Touched:
    """What a kernel touches."""
    roots, found = roots_of(fn), Touched()
    position = {p: k for k, p in enumerate(fn.params)}
    held = {(k, HELD) for k, p in enumerate(fn.params) if refers(p.type)}

    def paths(array: Value) -> set[Path]:
        known: set[Path] = set()
        for root in roots.get(array, frozenset({None})):
            if root is None:
                known |= held
            elif root.holder in position and not root.slope:
                known.add((position[root.holder], root.path))
        return known

    used = {v for node in walk(fn.body) for v in node.operands()} | set(fn.body.yields)
    for node in walk(fn.body):
        for region in node.regions():
            used.update(region.yields)
    for node in walk(fn.body):
        if isinstance(node, Call):
            note(node, paths, found)
            effect = PURE if isinstance(node.op, Function) else node.op.effect
            found.returning |= effect == ATOMIC and any(r in used for r in node.results)
    return found


def note(call: Call, paths: object, found: Touched) -> None:
    """Count one call."""
    assert callable(paths)
    arrays = [a for a in call.args if isinstance(a.type, ArrayType)]
    effect = PURE if isinstance(call.op, Function) else call.op.effect
    if isinstance(call.op, Function) or effect not in (PURE, READ, WRITE, ATOMIC):
        for a in arrays:
            found.read |= paths(a)
            found.written |= paths(a)
    elif arrays and effect == READ:
        found.read |= paths(arrays[0])
    elif arrays and effect in (WRITE, ATOMIC):
        found.written |= paths(arrays[0])
        if call.op.name in _EXTREMES:
            found.extremes |= paths(arrays[0])


def refers(t: object) -> bool:
    """Whether elements of an array type are structs that refer to arrays."""
    return isinstance(t, ArrayType) and holds_arrays(t.dtype)


def array_paths(types: tuple[object, ...]) -> list[tuple[Path, ArrayType]]:
    """Every array among parameters of these types, in order."""
    found: list[tuple[Path, ArrayType]] = []
    for k, t in enumerate(types):
        if isinstance(t, ArrayType):
            found.append(((k, ""), t))
        elif holds_arrays(t):
            found += [((k, path), inner) for path, inner in array_fields(t)]
    return found
