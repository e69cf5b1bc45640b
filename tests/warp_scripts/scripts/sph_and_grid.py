"""A small SPH fluid and a particle-in-cell transfer on an array3d, with captured graphs where there are any."""

import numpy as np

import warp as wp

H = wp.constant(0.12)
vec4i = wp.types.vector(4, int)


@wp.struct
class Fluid:
    rest: float
    stiffness: float
    viscosity: float
    mass: float
    lower: wp.vec3
    upper: wp.vec3


@wp.func
def poly6(r2: float) -> float:
    h2 = H * H
    if r2 >= h2:
        return 0.0
    d = h2 - r2
    return 315.0 / (64.0 * wp.pi * wp.pow(H, 9.0)) * d * d * d


@wp.func
def spiky(d: wp.vec3) -> wp.vec3:
    r = wp.length(d)
    if r >= H or r < 1.0e-6:
        return wp.vec3(0.0, 0.0, 0.0)
    return -45.0 / (wp.pi * wp.pow(H, 6.0)) * (H - r) * (H - r) * (d / r)


@wp.kernel
def density(grid: wp.uint64, x: wp.array(dtype=wp.vec3), fluid: Fluid, rho: wp.array(dtype=float)):
    tid = wp.tid()
    i = wp.hash_grid_point_id(grid, tid)
    query = wp.hash_grid_query(grid, x[i], H)
    j = int(0)
    s = float(0.0)
    while wp.hash_grid_query_next(query, j):
        s += fluid.mass * poly6(wp.length_sq(x[i] - x[j]))
    rho[i] = s


@wp.kernel
def accelerate(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    rho: wp.array(dtype=float),
    fluid: Fluid,
    a: wp.array(dtype=wp.vec3),
):
    tid = wp.tid()
    i = wp.hash_grid_point_id(grid, tid)
    p_i = fluid.stiffness * wp.max(rho[i] - fluid.rest, 0.0)
    acc = wp.vec3(0.0, -9.8, 0.0)
    for j in wp.hash_grid_query(grid, x[i], H):
        if j == i:
            continue
        d = x[i] - x[j]
        p_j = fluid.stiffness * wp.max(rho[j] - fluid.rest, 0.0)
        acc -= fluid.mass * (p_i / (rho[i] * rho[i]) + p_j / (rho[j] * rho[j])) * spiky(d)
        acc += fluid.viscosity * fluid.mass / rho[j] * (v[j] - v[i]) * poly6(wp.dot(d, d))
    a[i] = acc


@wp.kernel
def advance(
    x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), a: wp.array(dtype=wp.vec3), fluid: Fluid, dt: float
):
    i = wp.tid()
    vi = v[i] + a[i] * dt
    xi = x[i] + vi * dt
    for c in range(3):
        if xi[c] < fluid.lower[c]:
            xi[c] = fluid.lower[c]
            vi[c] *= -0.3
        elif xi[c] > fluid.upper[c]:
            xi[c] = fluid.upper[c]
            vi[c] *= -0.3
    x[i] = xi
    v[i] = vi


@wp.kernel
def to_grid(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    inv_dx: float,
    mass: wp.array3d(dtype=float),
    momentum: wp.array3d(dtype=wp.vec3),
):
    p = wp.tid()
    g = x[p] * inv_dx
    base = wp.vec3i(int(wp.floor(g[0])), int(wp.floor(g[1])), int(wp.floor(g[2])))
    f = g - wp.vec3(float(base[0]), float(base[1]), float(base[2]))
    for i in range(2):
        for j in range(2):
            for k in range(2):
                wx = wp.lerp(1.0 - f[0], f[0], float(i))
                wy = wp.lerp(1.0 - f[1], f[1], float(j))
                wz = wp.lerp(1.0 - f[2], f[2], float(k))
                w = wx * wy * wz
                wp.atomic_add(mass, base[0] + i, base[1] + j, base[2] + k, w)
                wp.atomic_add(momentum, base[0] + i, base[1] + j, base[2] + k, w * v[p])


@wp.kernel
def extremes(x: wp.array(dtype=wp.vec3), lo: wp.array(dtype=wp.vec3), hi: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_min(lo, 0, x[i])
    wp.atomic_max(hi, 0, x[i])


fluid = Fluid()
fluid.rest = 1000.0
fluid.stiffness = 20.0
fluid.viscosity = 0.2
fluid.mass = 1000.0 * 0.06**3
fluid.lower = wp.vec3(0.0, 0.0, 0.0)
fluid.upper = wp.vec3(0.9, 1.0, 0.6)
g = np.mgrid[0:7, 0:9, 0:7].reshape(3, -1).T * 0.06 + 0.03
g += np.random.default_rng(4).uniform(-1e-3, 1e-3, g.shape)
n = g.shape[0]
x, v, a = wp.array(g, dtype=wp.vec3), wp.zeros(n, dtype=wp.vec3), wp.zeros(n, dtype=wp.vec3)
rho = wp.zeros(n, dtype=float)
grid = wp.HashGrid(dim_x=16, dim_y=16, dim_z=16)
grid.reserve(n)
for step in range(30):
    grid.build(points=x, radius=H)
    wp.launch(density, dim=n, inputs=[grid.id, x, fluid], outputs=[rho])
    wp.launch(accelerate, dim=n, inputs=[grid.id, x, v, rho, fluid], outputs=[a])
    wp.launch(advance, dim=n, inputs=[x, v, a, fluid, 0.002])
    if step % 10 == 0:
        print(
            step,
            "density %.2f" % rho.numpy().mean(),
            "height %.4f" % x.numpy()[:, 1].mean(),
            "speed %.4f" % np.linalg.norm(v.numpy(), axis=1).mean(),
        )
mass, momentum = wp.zeros(shape=(14, 14, 14), dtype=float), wp.zeros((14, 14, 14), dtype=wp.vec3)
wp.launch(to_grid, n, inputs=[x, v, 10.0, mass, momentum])
print(
    "mass %.3f" % mass.numpy().sum(),
    "cells",
    int((mass.numpy() > 0).sum()),
    momentum.numpy().sum(axis=(0, 1, 2)).round(2),
)
print("conserved", np.allclose(momentum.numpy().sum(axis=(0, 1, 2)), v.numpy().sum(axis=0), rtol=1e-3, atol=1e-3))
lo, hi = wp.full(1, value=wp.vec3(1e9), dtype=wp.vec3), wp.full(1, value=wp.vec3(-1e9), dtype=wp.vec3)
wp.launch(extremes, dim=n, inputs=[x], outputs=[lo, hi])
print("bounds", lo.numpy()[0], hi.numpy()[0], vec4i(1, 2, 3, 4) * 2)
