"""A line that calls a built-in function, with the result that it has: computed when the site is built."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import warpsim as wp
from warpsim.core.frontend.functions.functions import Func
from warpsim.core.ops.registry import Op
from warpsim.core.types import scalars
from warpsim.core.types.signatures import CompoundPattern, TypeVariable

IN_KERNELS = {
    "tid": "i, j = wp.tid()",
    "block_dim": "n = wp.block_dim()",
    "load": "y = wp.load(x, i)            # x[i]",
    "store": "wp.store(x, i, 1.0)          # x[i] = 1.0",
    "view": "row = wp.view(image, i)      # image[i]",
    "atomic_add": "before = wp.atomic_add(total, 0, x[i])",
    "atomic_cas": "before = wp.atomic_cas(lock, 0, 0, 1)",
    "printf": 'wp.printf("%d %f\\n", i, x[i])',
    "breakpoint": 'wp.breakpoint()              # on device="interp"',
    "mesh_query_ray": "hit = wp.mesh_query_ray(mesh, start, direction, 100.0)",
    "mesh_query_point": "near = wp.mesh_query_point(mesh, x[i], 1.0)",
    "hash_grid_query": "for j in wp.hash_grid_query(grid, x[i], radius): ...",
    "hash_grid_neighbors": "for j in wp.hash_grid_neighbors(grid, x[i], radius): ...",
    "bvh_query_aabb": "for k in wp.bvh_query_aabb(bvh, low, high): ...",
    "volume_sample": "d = wp.volume_sample(volume, wp.volume_world_to_index(volume, x[i]), wp.Volume.LINEAR, float)",
}
"""What needs a kernel around it."""

NUMBERS = (0.5, 0.25, 2.0, 0.75, 1.5, 3.0)
_VALUES = {"vector": "vec{n}", "matrix": "mat{n}{n}", "quaternion": "quat", "transform": "transform"}


def example(name: str, function: Op | Func) -> str:
    """The line in Markdown, or nothing where no call outside of a kernel works."""
    line = IN_KERNELS.get(name) or next(filter(None, (_called(name, p) for p in _patterns(function))), "")
    if not line and name.startswith("atomic_"):
        line = f"before = wp.{name}(x, 0, value)"
    return f"```python\n{line}\n```" if line else ""


def _patterns(function: Op | Func) -> list[list[Any]]:
    if isinstance(function, Op):
        return [[p.annotation for p in row.params] for row in function.rows if row.rule is None]
    return [list(o.patterns.values()) for o in function.overloads if not o.returned or len(o.patterns) == 1]


def _called(name: str, patterns: list[Any]) -> str:
    numbers = itertools.count()
    words = [_word(p, numbers) for p in patterns]
    if not all(words):
        return ""
    try:
        with np.errstate(all="ignore"):
            result = eval(f"wp.{name}({', '.join(words)})", {"wp": wp})
    except Exception:  # what has no value on the host has no line here
        return ""
    return f"wp.{name}({', '.join(words)})  # {_shown(result)}"


def _word(pattern: Any, numbers: Any) -> str:
    """An argument of a type, as a program writes it."""
    k = next(numbers)
    if isinstance(pattern, CompoundPattern):
        return _compound(pattern, k)
    if isinstance(pattern, TypeVariable):
        number = 3 + k if pattern.name == "Int" else NUMBERS[k % len(NUMBERS)]
        return "" if pattern.name == "Element" else str(number)
    t = scalars.canonical(pattern)
    if t in (wp.float32, wp.int32, wp.bool):
        return {wp.float32: str(NUMBERS[k % len(NUMBERS)]), wp.int32: str(k + 1), wp.bool: "True"}[t]
    if t is wp.uint32:
        return "wp.uint32(42)"
    known = {wp.vec2: "wp.vec2(1.0, 2.0)", wp.vec3: "wp.vec3(1.0, 2.0, 3.0)", wp.vec4: "wp.vec4(1.0, 2.0, 3.0, 4.0)"}
    return known.get(t, "")


def _compound(pattern: CompoundPattern, k: int) -> str:
    integer = getattr(pattern.dtype, "name", "") == "Int"
    sizes = [e if isinstance(e, int) else 3 for e in pattern.shape]
    if pattern.kind == "quaternion":
        return "wp.quat(0.0, 0.0, 0.6, 0.8)"
    if pattern.kind == "transform":
        return "wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat(0.0, 0.0, 0.6, 0.8))"
    if pattern.kind == "matrix":
        n = sizes[0]
        if integer or n not in (2, 3, 4):
            return ""
        entries = [float((2 + k) * (i == j) + (j == i + 1)) for i in range(n) for j in range(n)]
        return f"wp.mat{n}{n}({', '.join(map(str, entries))})"
    if sizes[0] == 6:
        return "wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 2.0, 0.0)"
    entries = [i + 1 + k for i in range(sizes[0])]
    return f"wp.vec{sizes[0]}{'i' * integer}({', '.join(str(e if integer else float(e)) for e in entries)})"


def _shown(result: Any) -> str:
    if isinstance(result, tuple):
        return f"({', '.join(map(_shown, result))})"
    if isinstance(result, float | np.floating):
        return f"{float(result):.6g}"
    if isinstance(result, int | np.integer | np.bool_):
        return str(result)
    return f"({' '.join(f'{x:.5g}' for x in np.ravel(np.asarray(result)))})"
