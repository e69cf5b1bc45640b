"""Forces of a cloth's springs, added to both ends by scattered atomics.

The network is a square sheet of ``side * side`` vertices with the springs in the order in which a
mesh builder makes them: all horizontal ones, then vertical, diagonal and bending (two vertices
apart) springs, about five per vertex.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Timed, single

STIFFNESS = 1.0e3


def network(side: int) -> dict[str, np.ndarray]:
    """Positions ``x`` (vertices, 3) [m], ``ends`` (2 * springs,) int32 and ``rest`` lengths [m]."""
    vertex = np.arange(side * side, dtype=np.int32).reshape(side, side)
    pairs = [
        (vertex[:, :-1], vertex[:, 1:]),
        (vertex[:-1, :], vertex[1:, :]),
        (vertex[:-1, :-1], vertex[1:, 1:]),
        (vertex[:, :-2], vertex[:, 2:]),
        (vertex[:-2, :], vertex[2:, :]),
    ]
    ends = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    flat = np.zeros((side * side, 3), np.float32)
    flat[:, 0], flat[:, 2] = np.divmod(np.arange(side * side), side)
    flat /= np.float32(side)
    rest = np.linalg.norm(flat[ends[:, 1]] - flat[ends[:, 0]], axis=1).astype(np.float32)
    shake = np.random.default_rng(3).random(flat.shape, dtype=np.float32) - np.float32(0.5)
    x = flat + shake * np.float32(0.2 / side)
    return {"x": x, "ends": np.ascontiguousarray(ends.reshape(-1)), "rest": rest}


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The forces in float64, summed by ``bincount``."""
    sheet = network(size["side"])
    a, b = sheet["ends"][0::2], sheet["ends"][1::2]
    d = sheet["x"].astype(np.float64)[b] - sheet["x"].astype(np.float64)[a]
    length = np.linalg.norm(d, axis=1)
    pull = d * (STIFFNESS * (length - sheet["rest"]) / length)[:, None]
    count = len(sheet["x"])
    total = [np.bincount(a, pull[:, k], count) - np.bincount(b, pull[:, k], count)
             for k in range(3)]
    return {"f": np.stack(total, axis=1)}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch, one thread per spring."""
    run, f = warp_run(wp, size)
    return single(run, lambda: {"f": f.numpy()})


def warp_run(wp: Any, size: dict[str, int], **options: Any) -> tuple[Any, Any]:
    """The launch, with ``options`` of its own, and the array of forces that it adds to."""
    @wp.kernel
    def springs(
        x: wp.array(dtype=wp.vec3),
        ends: wp.array(dtype=int),
        rest: wp.array(dtype=float),
        stiffness: float,
        f: wp.array(dtype=wp.vec3),
    ):
        s = wp.tid()
        a = ends[2 * s]
        b = ends[2 * s + 1]
        d = x[b] - x[a]
        length = wp.length(d)
        pull = d * (stiffness * (length - rest[s]) / length)
        wp.atomic_add(f, a, pull)
        wp.atomic_sub(f, b, pull)

    sheet = network(size["side"])
    x, ends = wp.array(sheet["x"], dtype=wp.vec3), wp.array(sheet["ends"], dtype=int)
    rest, f = wp.array(sheet["rest"], dtype=float), wp.zeros(len(sheet["x"]), dtype=wp.vec3)
    return partial(wp.launch, springs, dim=len(sheet["rest"]),
                   inputs=[x, ends, rest, STIFFNESS], outputs=[f], **options), f


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call over the springs; ``+=`` on a field is atomic."""
    sheet = network(size["side"])
    count = len(sheet["rest"])
    x, f = (ti.Vector.field(3, ti.f32, len(sheet["x"])) for _ in range(2))
    ends, rest = ti.Vector.field(2, ti.i32, count), ti.field(ti.f32, count)
    x.from_numpy(sheet["x"])
    ends.from_numpy(sheet["ends"].reshape(-1, 2))
    rest.from_numpy(sheet["rest"])

    @ti.kernel
    def springs(stiffness: ti.f32):
        for s in rest:
            a, b = ends[s][0], ends[s][1]
            d = x[b] - x[a]
            length = d.norm()
            pull = d * (stiffness * (length - rest[s]) / length)
            ti.atomic_add(f[a], pull)
            ti.atomic_sub(f[b], pull)

    return single(lambda: springs(STIFFNESS), lambda: {"f": f.to_numpy()})


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """A serial loop: Numba has no atomics on the CPU, and ``+=`` in ``prange`` would race."""
    @nb.njit
    def springs(x, ends, rest, stiffness, f):
        for s in range(rest.shape[0]):
            a, b = ends[2 * s], ends[2 * s + 1]
            d0, d1, d2 = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
            length = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
            k = stiffness * (length - rest[s]) / length
            f[a, 0] += d0 * k
            f[a, 1] += d1 * k
            f[a, 2] += d2 * k
            f[b, 0] -= d0 * k
            f[b, 1] -= d1 * k
            f[b, 2] -= d2 * k

    sheet = network(size["side"])
    f, stiffness = np.zeros_like(sheet["x"]), np.float32(STIFFNESS)
    return single(lambda: springs(sheet["x"], sheet["ends"], sheet["rest"], stiffness, f),
                  lambda: {"f": f}, note="serial: Numba has no CPU atomics")


def cpp_case(cpp: Any, size: dict[str, int]) -> Case:
    """Plain sums on one thread; on several, sums in a copy of each, which are added up."""
    sheet = network(size["side"])
    f = np.zeros_like(sheet["x"])
    counts = len(sheet["rest"]), len(f)
    run = cpp.bound("springs", *counts, sheet["x"], sheet["ends"], sheet["rest"], STIFFNESS, f)
    return single(run, lambda: {"f": f})


def both_modes(wp: Any, size: dict[str, int]) -> Case:
    """The springs with ``deterministic=True`` and by default, for the cost of the former."""
    exact, f = warp_run(wp, size, deterministic=True)
    default, _ = warp_run(wp, size)
    return Case({"time": Timed(exact), "default": Timed(default)}, lambda: {"f": f.numpy()})
