"""Particles as structs that functions return changed, a grid with atomics, matrices by slots, random numbers."""

import numpy as np
import warp as wp
from typing import Any


# generic structs with arrays, struct mutation in functions, struct return, struct arrays fields atomics, nested arrays of structs
@wp.struct
class Particle:
    x: wp.vec3
    v: wp.vec3
    m: float
    flags: wp.uint32


@wp.struct
class World:
    p: wp.array(dtype=Particle)
    grid: wp.array(dtype=float, ndim=3)
    g: wp.vec3
    bounds: wp.types.matrix((2, 3), wp.float32)


@wp.func
def kick(p: Particle, dt: float, g: wp.vec3) -> Particle:
    p.v += g * dt
    p.x = p.x + p.v * dt
    p.flags = p.flags | wp.uint32(2)
    return p


@wp.func
def mutate(p: Particle):
    p.m = 100.0


@wp.func
def cell(w: World, x: wp.vec3):
    i = int(wp.floor(x[0]))
    j = int(wp.floor(x[1]))
    k = int(wp.floor(x[2]))
    n = w.grid.shape[0]
    return wp.clamp(i, 0, n - 1), wp.clamp(j, 0, n - 1), wp.clamp(k, 0, n - 1)


@wp.kernel
def advance(w: World, dt: float):
    i = wp.tid()
    p = w.p[i]
    mutate(p)
    q = p
    q.m = 50.0
    p = kick(p, dt, w.g)
    for a in range(3):
        if p.x[a] < w.bounds[0, a]:
            p.x[a] = w.bounds[0, a]
            p.v[a] = -p.v[a]
        if p.x[a] > w.bounds[1, a]:
            p.x[a] = w.bounds[1, a]
            p.v[a] *= -0.5
    ci, cj, ck = cell(w, p.x)
    wp.atomic_add(w.grid, ci, cj, ck, p.m)
    w.p[i] = p
    w.p[i].flags |= wp.uint32(i)
    w.p[i].x[2] += 0.25
    w.p[i].m += 1.0


n = 4
w = World()
a = np.zeros(n, dtype=Particle.numpy_dtype())
a["x"] = np.arange(12).reshape(n, 3) * 0.3
a["m"] = 1 + np.arange(n)
a["v"][:, 1] = -3
w.p = wp.array(a, dtype=Particle)
w.grid = wp.zeros((3, 3, 3), dtype=float)
w.g = wp.vec3(0.0, -9.8, 0.0)
w.bounds = wp.types.matrix((2, 3), wp.float32)(0, 0, 0, 3, 3, 3)
for _ in range(5):
    wp.launch(advance, n, [w, 0.1])
r = w.p.numpy()
for f in ("x", "v", "m", "flags"):
    print(f, np.round(r[f], 4).tolist())
print(np.argwhere(w.grid.numpy()).tolist(), w.grid.numpy().sum())


# array of vec types with struct containing matrices, assignment by slices, from_numpy struct
@wp.kernel
def mm(m: wp.array(dtype=wp.mat44), o: wp.array(dtype=wp.mat44), q: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    a = m[i]
    a[1] = wp.vec4(1.0, 2.0, 3.0, 4.0)
    a[2, 2] = a[2, 2] + 10.0
    b = wp.mat44(1.0)
    b[0, 3] -= 2.0
    c = a * b + a - wp.identity(n=4, dtype=float)
    o[i] = c
    r = c[3]
    r[1:3] = wp.vec2(7.0, 8.0)
    q[i] = r + wp.vec4(c[0, 0], c[1, 1], c[2, 2], c[3, 3])


m = wp.array(np.arange(32).reshape(2, 4, 4), dtype=wp.mat44)
o = wp.zeros(2, dtype=wp.mat44)
q = wp.zeros(2, dtype=wp.vec4)
wp.launch(mm, 2, [m, o, q])
print(o.numpy().tolist(), q.numpy().tolist())


# random, noise, sampling
@wp.kernel
def rnd(o: wp.array(dtype=float), s: wp.array(dtype=wp.vec3), u: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    st = wp.rand_init(42, i)
    o[4 * i] = wp.randf(st)
    o[4 * i + 1] = wp.randf(st, -2.0, 3.0)
    o[4 * i + 2] = wp.randn(st)
    o[4 * i + 3] = (
        float(wp.randi(st, 0, 100)) + wp.noise(st, float(i) * 0.37) + wp.pnoise(st, wp.vec2(float(i) * 0.3, 0.1), 4, 5)
    )
    s[i] = wp.sample_unit_sphere(st) + wp.curlnoise(st, wp.vec3(0.1, 0.2, float(i)))
    u[i] = wp.randu(st, wp.uint32(3), wp.uint32(1000))
    u[i] += wp.uint32(wp.poisson(st, 3.0))


o = wp.zeros(16, dtype=float)
s = wp.zeros(4, dtype=wp.vec3)
u = wp.zeros(4, dtype=wp.uint32)
wp.launch(rnd, 4, [o, s, u])
print(np.round(o.numpy(), 4).tolist(), np.round(s.numpy(), 4).tolist(), u.numpy().tolist())
