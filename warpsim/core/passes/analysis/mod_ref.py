"""Which arrays of its arguments a kernel reads and writes. An analysis: it changes nothing.

Guarantees: for a kernel whose calls are inlined, every access to an array parameter, to an array in a
struct parameter, and to arrays that elements of an array of structs refer to (path `[]`) is counted;
an access that may go to several arrays counts for each. Gradient arrays do not count. An operation
with an effect that is not known here counts as reading and writing all its arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir.def_use import used_values
from ...ir.nodes import Call, Function, If, Region, Value, walk
from ...ops.registry import ATOMIC, PURE, READ, WRITE
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays
from .alias import array_fields, points_to

Path = tuple[int, str]
"""The position of a parameter, and the fields in it that lead to the array, joined by points."""

NESTED = "[]"
_EXTREMES = ("atomic_min", "atomic_max")


@dataclass
class ModRef:
    """The arrays that a kernel touches, and how."""

    read: set[Path] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)
    extremes: set[Path] = field(default_factory=set)
    """Reached by `atomic_min` or `atomic_max`, whose adjoints look at what is there afterwards."""
    returning: bool = False
    """Whether the result of an atomic is used."""


def mod_ref(fn: Function) -> ModRef:
    """What a kernel touches."""
    arrays_of, found = points_to(fn), ModRef()
    position = {p: k for k, p in enumerate(fn.params)}
    held = {(k, NESTED) for k, p in enumerate(fn.params) if refers(p.type)}

    def paths(array: Value) -> set[Path]:
        known: set[Path] = set()
        for base in arrays_of.get(array, frozenset({None})):
            if base is None:
                known |= held
            elif base.holder in position and not base.is_grad:
                known.add((position[base.holder], base.path))
        return known

    used = used_values(fn.body)
    for node in walk(fn.body):
        if isinstance(node, Call):
            note(node, paths, found)
            effect = PURE if isinstance(node.op, Function) else node.op.effect
            found.returning |= effect == ATOMIC and any(r in used for r in node.results)
    return found


def note(call: Call, paths: Callable[[Value], set[Path]], found: ModRef) -> None:
    """Count one call."""
    arrays = [a for a in call.args if isinstance(a.type, ArrayType)]
    effect = PURE if isinstance(call.op, Function) else call.op.effect
    if isinstance(call.op, Function) or effect not in (PURE, READ, WRITE, ATOMIC):
        for a in arrays:
            found.read |= paths(a)
            found.written |= paths(a)
    elif call.op.opaque:
        for k in call.op.reads:
            found.read |= paths(call.args[k])
        for k in call.op.writes:
            found.written |= paths(call.args[k])
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


def read_after_write(fn: Function, read: Path, written: Path) -> bool:
    """Whether a thread may read one of its arrays after it wrote another one."""
    arrays_of = points_to(fn)

    def goes_to(call: Call, path: Path) -> bool:
        found = arrays_of.get(call.args[0], frozenset({None})) if call.args else frozenset()
        return any(r is None or (r.holder is fn.params[path[0]] and r.path == path[1] and not r.is_grad) for r in found)

    def scan(region: Region, after: bool) -> tuple[bool, bool]:
        """Whether such a read is met, and whether the write was met when the region ends."""
        met = False
        for node in region.nodes:
            if isinstance(node, Call):
                met |= after and node.op.effect in (READ, ATOMIC) and goes_to(node, read)
                after |= node.op.effect in (WRITE, ATOMIC) and node.op.name != "local_array" and goes_to(node, written)
                continue
            rounds = 1 if isinstance(node, If) else 2  # the second round of a loop comes after the first
            ends = [after]
            for inner in node.regions() * rounds:
                found, end = scan(inner, after if isinstance(node, If) else any(ends))
                met |= found
                ends.append(end)
            after = any(ends)
        return met, after

    return scan(fn.body, False)[0]
