"""Particles as an array of structs: load a struct, bounce it on a penalty ground, store it back.

Each particle has position [m], velocity [m/s], mass [kg], radius [m], age [s] and a contact count.
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, single

STIFFNESS, GRAVITY, DT = 1.0e4, -9.81, 1.0e-3
LAYOUT = np.dtype([("x", "f4", 3), ("v", "f4", 3), ("mass", "f4"), ("radius", "f4"),
                   ("age", "f4"), ("contacts", "i4")])


def inputs(n: int) -> np.ndarray:
    """Records of ``LAYOUT``, shape ``(n,)``; a third of them touch the ground."""
    rng = np.random.default_rng(7)
    particles = np.zeros(n, LAYOUT)
    particles["x"] = rng.random((n, 3), dtype=np.float32) * np.float32(0.3)
    particles["v"] = rng.random((n, 3), dtype=np.float32) - np.float32(0.5)
    particles["mass"] = rng.random(n, dtype=np.float32) + np.float32(0.5)
    particles["radius"] = np.float32(0.1)
    return particles


def outputs(particles: Any) -> dict[str, np.ndarray]:
    """The fields by name, from a structured array or a mapping."""
    return {name: np.asarray(particles[name]) for name in ("x", "v", "age", "contacts")}


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """One step in NumPy."""
    p = inputs(size["n"])
    depth = p["radius"] - p["x"][:, 1]
    touching = depth > 0.0
    force = p["mass"] * np.float32(GRAVITY)
    force = np.where(touching, force + np.float32(STIFFNESS) * depth, force)
    p["v"][:, 1] += force / p["mass"] * np.float32(DT)
    p["x"] += p["v"] * np.float32(DT)
    p["age"] += np.float32(DT)
    p["contacts"] += touching
    return outputs(p)


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over an array of structs."""
    @wp.struct
    class Particle:
        x: wp.vec3
        v: wp.vec3
        mass: float
        radius: float
        age: float
        contacts: int

    @wp.kernel
    def bounce(particles: wp.array(dtype=Particle), stiffness: float, gravity: float, dt: float):
        i = wp.tid()
        p = particles[i]
        force = p.mass * gravity
        depth = p.radius - p.x[1]
        if depth > 0.0:
            force = force + stiffness * depth
            p.contacts = p.contacts + 1
        p.v = p.v + wp.vec3(0.0, force / p.mass * dt, 0.0)
        p.x = p.x + p.v * dt
        p.age = p.age + dt
        particles[i] = p

    n = size["n"]
    records = np.zeros(n, Particle.numpy_dtype())
    for name in LAYOUT.names:
        records[name] = inputs(n)[name]
    particles = wp.array(records, dtype=Particle)
    arguments = [particles, STIFFNESS, GRAVITY, DT]
    return single(lambda: wp.launch(bounce, dim=n, inputs=arguments),
                  lambda: outputs(particles.numpy()))


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call over a struct field (array of structs)."""
    n = size["n"]
    vec3 = ti.math.vec3
    kind = ti.types.struct(x=vec3, v=vec3, mass=ti.f32, radius=ti.f32, age=ti.f32, contacts=ti.i32)
    particles = kind.field(shape=n)
    particles.from_numpy({name: np.ascontiguousarray(inputs(n)[name]) for name in LAYOUT.names})

    @ti.kernel
    def bounce(stiffness: ti.f32, gravity: ti.f32, dt: ti.f32):
        for i in particles:
            p = particles[i]
            force = p.mass * gravity
            depth = p.radius - p.x[1]
            if depth > 0.0:
                force += stiffness * depth
                p.contacts += 1
            p.v += vec3(0.0, force / p.mass * dt, 0.0)
            p.x += p.v * dt
            p.age += dt
            particles[i] = p

    return single(lambda: bounce(STIFFNESS, GRAVITY, DT), lambda: outputs(particles.to_numpy()))


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """A ``prange`` over one chunk of records per thread.

    ``prange`` over single records takes four times as long, and a sub-array field makes an array
    view per access: so chunks, and a field per component.
    """
    @nb.njit
    def bounce(p, stiffness, gravity, dt):
        force = p.mass * gravity
        depth = p.radius - p.x1
        if depth > np.float32(0.0):
            force = force + stiffness * depth
            p.contacts += 1
        p.v1 += force / p.mass * dt
        p.x0 += p.v0 * dt
        p.x1 += p.v1 * dt
        p.x2 += p.v2 * dt
        p.age += dt

    @nb.njit
    def bounce_part(particles, begin, end, stiffness, gravity, dt):
        for i in range(begin, end):
            bounce(particles[i], stiffness, gravity, dt)

    @nb.njit(parallel=True)
    def bounce_all(particles, chunks, stiffness, gravity, dt):
        n = particles.shape[0]
        for c in nb.prange(chunks):
            bounce_part(particles, n * c // chunks, n * (c + 1) // chunks, stiffness, gravity, dt)

    records = inputs(size["n"])
    components = [(f"{name}{k}", "f4") for name in "xv" for k in range(3)]
    particles = records.view(np.dtype([*components, *LAYOUT.descr[2:]]))
    constants = [np.float32(value) for value in (STIFFNESS, GRAVITY, DT)]
    chunks = nb.get_num_threads()
    return single(lambda: bounce_all(particles, chunks, *constants), lambda: outputs(records),
                  note="one chunk of records per thread")
