"""Lattice Boltzmann D2Q9 flow past a cylinder: vectors of nine, matrices as constants, array3d of half precision."""

import numpy as np

import warp as wp

vec9 = wp.vec(length=9, dtype=wp.float32) if hasattr(wp, "vec") else wp.types.vector(length=9, dtype=wp.float32)
vec9i = wp.types.vector(length=9, dtype=wp.int32)

NX, NY = 96, 32
OMEGA = wp.constant(1.6)
WEIGHTS = wp.constant(vec9(4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36))
CX = wp.constant(vec9i(0, 1, 0, -1, 0, 1, -1, -1, 1))
CY = wp.constant(vec9i(0, 0, 1, 0, -1, 1, 1, -1, -1))
OPPOSITE = wp.constant(vec9i(0, 3, 4, 1, 2, 7, 8, 5, 6))


@wp.func
def equilibrium(rho: float, u: wp.vec2):
    feq = vec9()
    uu = 1.5 * wp.dot(u, u)
    for k in range(9):
        cu = 3.0 * (float(CX[k]) * u[0] + float(CY[k]) * u[1])
        feq[k] = WEIGHTS[k] * rho * (1.0 + cu + 0.5 * cu * cu - uu)
    return feq


@wp.func
def moments(f: vec9):
    rho = float(0.0)
    m = wp.vec2(0.0)
    for k in range(9):
        rho += f[k]
        m += f[k] * wp.vec2(float(CX[k]), float(CY[k]))
    return rho, m / rho


@wp.kernel
def initialise(f: wp.array2d(dtype=vec9), solid: wp.array2d(dtype=wp.uint8), speed: float):
    i, j = wp.tid()
    dx = i - 20
    dy = j - 15
    if dx * dx + dy * dy <= 16 or j == 0 or j == f.shape[1] - 1:
        solid[i, j] = wp.uint8(1)
    f[i, j] = equilibrium(1.0, wp.vec2(speed, 0.0))


@wp.kernel
def stream_and_collide(
    src: wp.array2d(dtype=vec9), solid: wp.array2d(dtype=wp.uint8), speed: float, dst: wp.array2d(dtype=vec9)
):
    i, j = wp.tid()
    nx, ny = src.shape[0], src.shape[1]
    f = vec9()
    for k in range(9):
        ii = (i - CX[k] + nx) % nx
        jj = (j - CY[k] + ny) % ny
        if solid[ii, jj] == wp.uint8(1):
            f[k] = src[i, j][OPPOSITE[k]]
        else:
            f[k] = src[ii, jj][k]
    rho, u = moments(f)
    if i == 0:
        rho = 1.0
        u = wp.vec2(speed, 0.0)
        dst[i, j] = equilibrium(rho, u)
    elif solid[i, j] == wp.uint8(1):
        dst[i, j] = src[i, j]
    else:
        dst[i, j] = f + OMEGA * (equilibrium(rho, u) - f)


@wp.kernel
def observe(
    f: wp.array2d(dtype=vec9),
    solid: wp.array2d(dtype=wp.uint8),
    rho: wp.array2d(dtype=float),
    u: wp.array3d(dtype=wp.float16),
):
    i, j = wp.tid()
    r, v = moments(f[i, j])
    if solid[i, j] == wp.uint8(0):
        rho[i, j] = r
        for c in range(2):
            u[i, j, c] = wp.float16(v[c])


@wp.kernel
def vorticity(u: wp.array3d(dtype=wp.float16), w: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i >= 1 and i < u.shape[0] - 1 and j >= 1 and j < u.shape[1] - 1:
        w[i, j] = 0.5 * (float(u[i + 1, j, 1] - u[i - 1, j, 1]) - float(u[i, j + 1, 0] - u[i, j - 1, 0]))


f0 = wp.zeros((NX, NY), dtype=vec9)
f1 = wp.zeros_like(f0)
solid = wp.zeros((NX, NY), dtype=wp.uint8)
wp.launch(initialise, dim=f0.shape, inputs=[f0, solid, 0.08])
print("solid", int(solid.numpy().sum()), f0.numpy().shape, f0.dtype is vec9)
rho = wp.zeros((NX, NY), dtype=float)
u = wp.zeros((NX, NY, 2), dtype=wp.float16)
w = wp.zeros((NX, NY), dtype=float)
for step in range(120):
    wp.launch(stream_and_collide, dim=(NX, NY), inputs=[f0, solid, 0.08], outputs=[f1])
    f0, f1 = f1, f0
    if step % 40 == 39:
        wp.launch(observe, dim=(NX, NY), inputs=[f0, solid, rho, u])
        print(step, "mass %.4f" % rho.numpy().sum(), "through %.4f" % u.numpy()[60, :, 0].astype(float).mean())
wp.launch(vorticity, dim=w.shape, inputs=[u, w])
print("vorticity %.3f" % np.abs(w.numpy()).max(), "drag side", bool(rho.numpy()[15, 15] > rho.numpy()[25, 15]))
print(WEIGHTS, OPPOSITE[5], sum(WEIGHTS))
