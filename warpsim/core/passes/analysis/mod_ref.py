"""Mod/ref analysis of a kernel: which arrays of its arguments it may modify, and which it may read.

Guarantees: for a kernel whose calls are inlined, every access to an array parameter, to an array in a
struct parameter, and to arrays that elements of an array of structs refer to (path `[]`) is counted;
an access that may go to several arrays counts for each. Gradient arrays do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...ir.def_use import used_values
from ...ir.nodes import Call, Function, If, Region, Value
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays, is_struct
from .alias import VIEWS, BaseArray, array_fields, points_to
from .effects import array_effects, based_on, calls_in, effects_of

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
    """What a kernel does to arrays that its parameters are, hold, or refer to."""
    arrays, gradients = points_to(fn), gradient_arrays(fn)
    calls, used = array_effects(fn.body, arrays).calls, used_values(fn.body)
    extremes = [v for call, own in calls if call.op.name in _EXTREMES for v in own.updates]

    def paths(values: Iterable[Value]) -> set[Path]:
        return _paths(fn, based_on((v for v in values if v not in gradients), arrays))

    return ModRef(
        read=paths(v for _, own in calls for v in own.reads),
        written=paths(v for _, own in calls for v in (*own.writes, *own.updates)), extremes=paths(extremes),
        returning=any(own.updates and used.intersection(call.results) for call, own in calls),
    )  # fmt: skip


def gradient_arrays(fn: Function) -> set[Value]:
    """The values that are gradient arrays for certain, also of arrays in memory unknown here."""
    known: set[Value] = set()
    for call in calls_in(fn.body):
        if call.op.name == "gradient" or (call.op.name in VIEWS and call.args[0] in known):
            known.update(call.results)
    return known


def _paths(fn: Function, arrays: Iterable[BaseArray | None]) -> set[Path]:
    """The paths to arrays from parameters; unknown memory may be any that elements of parameters refer to."""
    position = {p: k for k, p in enumerate(fn.params)}
    paths: set[Path] = set()
    for base in arrays:
        if base is None:
            paths |= {(k, NESTED) for k, p in enumerate(fn.params) if refers(p.type)}
        elif base.holder in position and not base.is_grad:
            paths.add((position[base.holder], base.path))
    return paths


def refers(t: object) -> bool:
    """Whether arrays are reached through elements of arrays: an array of structs that hold them, a struct with one."""
    if is_struct(t):
        return any(map(refers, t.fields.values()))  # type: ignore[attr-defined]
    return isinstance(t, ArrayType) and holds_arrays(t.dtype)


def array_paths(types: tuple[object, ...]) -> list[tuple[Path, ArrayType]]:
    """Every array among parameters of these types, in order."""
    paths: list[tuple[Path, ArrayType]] = []
    for k, t in enumerate(types):
        if isinstance(t, ArrayType):
            paths.append(((k, ""), t))
        elif holds_arrays(t):
            paths += [((k, path), inner) for path, inner in array_fields(t)]
    return paths


def read_after_write(fn: Function, read: Path, written: Path) -> bool:
    """Whether a thread may read one of its arrays after it wrote another one."""
    arrays = points_to(fn)

    def reaches(values: tuple[Value, ...], path: Path) -> bool:
        bases = based_on(values, arrays)
        return any(b is None or (b.holder is fn.params[path[0]] and b.path == path[1] and not b.is_grad) for b in bases)

    def scan(region: Region, after: bool) -> tuple[bool, bool]:
        """Whether such a read is met, and whether the write was met when the region ends."""
        met = False
        for node in region.nodes:
            if isinstance(node, Call):
                effects = effects_of(node)
                met |= after and reaches(effects.loads, read)
                after |= reaches(effects.stores, written)
                continue
            times = 1 if isinstance(node, If) else 2  # the second iteration of a loop comes after the first
            ends = [after]
            for inner in node.regions() * times:
                inner_met, end = scan(inner, after if isinstance(node, If) else any(ends))
                met |= inner_met
                ends.append(end)
            after = any(ends)
        return met, after

    return scan(fn.body, False)[0]
