"""Semi-implicit Euler of free particles in vec3: the step that every particle solver ends with.

``v += (f / m + g) dt``, then ``x += v dt``. All arrays are float32, positions [m], masses [kg].
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, single

GRAVITY = (0.0, -9.81, 0.0)
DT = 1.0 / 600.0


def inputs(n: int) -> dict[str, np.ndarray]:
    """Positions, velocities and forces of shape ``(n, 3)``; inverse masses of shape ``(n,)``."""
    rng = np.random.default_rng(2)
    state = {name: rng.random((n, 3), dtype=np.float32) - np.float32(0.5) for name in "xvf"}
    return {**state, "inv_mass": rng.random(n, dtype=np.float32) + np.float32(0.5)}


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """One step in NumPy."""
    state = inputs(size["n"])
    gravity = np.array(GRAVITY, np.float32)
    acceleration = state["f"] * state["inv_mass"][:, None] + gravity
    v = state["v"] + acceleration * np.float32(DT)
    return {"x": state["x"] + v * np.float32(DT), "v": v}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over ``n`` particles."""
    @wp.kernel
    def integrate(
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        f: wp.array(dtype=wp.vec3),
        inv_mass: wp.array(dtype=float),
        gravity: wp.vec3,
        dt: float,
    ):
        i = wp.tid()
        v1 = v[i] + (f[i] * inv_mass[i] + gravity) * dt
        x[i] = x[i] + v1 * dt
        v[i] = v1

    state = inputs(size["n"])
    x, v, f = (wp.array(state[name], dtype=wp.vec3) for name in "xvf")
    inv_mass = wp.array(state["inv_mass"], dtype=float)
    arguments = [x, v, f, inv_mass, wp.vec3(*GRAVITY), DT]
    return single(lambda: wp.launch(integrate, dim=size["n"], inputs=arguments),
                  lambda: {"x": x.numpy(), "v": v.numpy()})


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call over vector fields."""
    n, state = size["n"], inputs(size["n"])
    x, v, f = (ti.Vector.field(3, ti.f32, n) for _ in range(3))
    inv_mass = ti.field(ti.f32, n)
    for target, name in ((x, "x"), (v, "v"), (f, "f"), (inv_mass, "inv_mass")):
        target.from_numpy(state[name])

    @ti.kernel
    def integrate(gravity: ti.math.vec3, dt: ti.f32):
        for i in x:
            v1 = v[i] + (f[i] * inv_mass[i] + gravity) * dt
            x[i] = x[i] + v1 * dt
            v[i] = v1

    gravity = ti.math.vec3(*GRAVITY)
    return single(lambda: integrate(gravity, DT),
                  lambda: {"x": x.to_numpy(), "v": v.to_numpy()})


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """One ``prange`` loop with the three components written out by a short inner loop."""
    @nb.njit(parallel=True)
    def integrate(x, v, f, inv_mass, gravity, dt):
        for i in nb.prange(x.shape[0]):
            for k in range(3):
                v1 = v[i, k] + (f[i, k] * inv_mass[i] + gravity[k]) * dt
                x[i, k] = x[i, k] + v1 * dt
                v[i, k] = v1

    state = inputs(size["n"])
    x, v, f = (state[name] for name in "xvf")
    gravity, dt = np.array(GRAVITY, np.float32), np.float32(DT)
    return single(lambda: integrate(x, v, f, state["inv_mass"], gravity, dt),
                  lambda: {"x": x, "v": v})


def cpp_case(cpp: Any, size: dict[str, int]) -> Case:
    """One loop over particles, a short one over components."""
    state, gravity = inputs(size["n"]), np.array(GRAVITY, np.float32)
    x, v = state["x"], state["v"]
    run = cpp.bound("integrate", size["n"], x, v, state["f"], state["inv_mass"], gravity, DT)
    return single(run, lambda: {"x": x, "v": v})
