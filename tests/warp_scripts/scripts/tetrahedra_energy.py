"""Soft body: stable neo-Hookean energy on tetrahedra, forces from the tape, gradient descent and a struct of parameters."""

import numpy as np

import warp as wp


@wp.struct
class Lame:
    mu: float
    la: float
    gravity: wp.vec3


@wp.func
def deformation(x: wp.array(dtype=wp.vec3), t: wp.vec4i, inv: wp.mat33):
    x0 = x[t[0]]
    D = wp.matrix_from_cols(x[t[1]] - x0, x[t[2]] - x0, x[t[3]] - x0)
    return D @ inv


@wp.kernel
def rest_shape(
    x: wp.array(dtype=wp.vec3),
    tets: wp.array(dtype=wp.vec4i),
    inv: wp.array(dtype=wp.mat33),
    volume: wp.array(dtype=float),
):
    i = wp.tid()
    t = tets[i]
    x0 = x[t[0]]
    D = wp.matrix_from_cols(x[t[1]] - x0, x[t[2]] - x0, x[t[3]] - x0)
    inv[i] = wp.inverse(D)
    volume[i] = wp.abs(wp.determinant(D)) / 6.0


@wp.kernel
def elastic(
    x: wp.array(dtype=wp.vec3),
    tets: wp.array(dtype=wp.vec4i),
    inv: wp.array(dtype=wp.mat33),
    volume: wp.array(dtype=float),
    lame: Lame,
    energy: wp.array(dtype=float),
):
    i = wp.tid()
    F = deformation(x, tets[i], inv[i])
    J = wp.determinant(F)
    I1 = wp.ddot(F, F)
    a = 1.0 + lame.mu / lame.la
    psi = 0.5 * lame.mu * (I1 - 3.0) + 0.5 * lame.la * (J - a) * (J - a) - 0.5 * lame.la * (1.0 - a) * (1.0 - a)
    wp.atomic_add(energy, 0, psi * volume[i])


@wp.kernel
def potential(x: wp.array(dtype=wp.vec3), mass: float, lame: Lame, energy: wp.array(dtype=float)):
    i = wp.tid()
    e = -mass * wp.dot(lame.gravity, x[i])
    if x[i][1] < 0.0:
        e += 500.0 * x[i][1] * x[i][1]
    wp.atomic_add(energy, 0, e)


@wp.kernel
def step(
    x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), g: wp.array(dtype=wp.vec3), inv_mass: float, dt: float
):
    i = wp.tid()
    v[i] = 0.995 * (v[i] - g[i] * inv_mass * dt)
    x[i] = x[i] + v[i] * dt


@wp.kernel
def stretches(
    x: wp.array(dtype=wp.vec3),
    tets: wp.array(dtype=wp.vec4i),
    inv: wp.array(dtype=wp.mat33),
    out: wp.array(dtype=wp.vec3),
    rot: wp.array(dtype=wp.quat),
):
    i = wp.tid()
    F = deformation(x, tets[i], inv[i])
    U, s, V = wp.svd3(F)
    out[i] = s
    rot[i] = wp.quat_from_matrix(U @ wp.transpose(V))


def grid(nx, ny, nz, h):
    ids = np.arange((nx + 1) * (ny + 1) * (nz + 1)).reshape(nx + 1, ny + 1, nz + 1)
    pts = np.stack(np.meshgrid(*[np.arange(n + 1) for n in (nx, ny, nz)], indexing="ij"), -1).reshape(-1, 3) * h
    cut = [
        ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)),
        ((0, 0, 0), (1, 1, 0), (0, 1, 0), (1, 1, 1)),
        ((0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1)),
        ((0, 0, 0), (0, 1, 1), (0, 0, 1), (1, 1, 1)),
        ((0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1)),
        ((0, 0, 0), (1, 0, 1), (1, 0, 0), (1, 1, 1)),
    ]
    tets = [
        [ids[i + a, j + b, k + c] for a, b, c in t]
        for i in range(nx)
        for j in range(ny)
        for k in range(nz)
        for t in cut
    ]
    return pts, np.array(tets)


pts, tet = grid(3, 2, 2, 0.1)
tets = wp.array(tet, dtype=wp.vec4i)
x = wp.array(pts, dtype=wp.vec3, requires_grad=True)
v = wp.zeros(len(pts), dtype=wp.vec3)
inv, volume = wp.zeros(len(tet), dtype=wp.mat33), wp.zeros(len(tet), dtype=float)
wp.launch(rest_shape, dim=len(tet), inputs=[x, tets], outputs=[inv, volume])
lame = Lame()
lame.mu, lame.la = 200.0, 800.0
lame.gravity = wp.vec3(0.0, -9.8, 0.0)
energy = wp.zeros(1, dtype=float, requires_grad=True)
mass = 1000.0 * float(volume.numpy().sum()) / len(pts)
print("tets", len(tet), "volume", volume.numpy().sum(), "mass", mass)
lift = x.numpy() + np.array([0.0, 0.05, 0.0], dtype=np.float32)
x.assign(lift)
for k in range(120):
    energy.zero_()
    tape = wp.Tape()
    with tape:
        wp.launch(elastic, dim=len(tet), inputs=[x, tets, inv, volume, lame], outputs=[energy])
        wp.launch(potential, dim=len(pts), inputs=[x, mass, lame], outputs=[energy])
    tape.backward(loss=energy)
    if k == 0:
        print("forces", x.grad.numpy().sum(axis=0), "energy", energy.numpy()[0])
    wp.launch(step, dim=len(pts), inputs=[x, v, x.grad, 1.0 / mass, 0.001])
    tape.zero()
    if k % 40 == 39:
        print(k, "height %.4f" % x.numpy()[:, 1].mean(), "energy %.3f" % energy.numpy()[0])
s, r = wp.zeros(len(tet), dtype=wp.vec3), wp.zeros(len(tet), dtype=wp.quat)
wp.launch(stretches, dim=len(tet), inputs=[x, tets, inv], outputs=[s, r])
print(
    "stretch %.3f %.3f" % (s.numpy().min(), s.numpy().max()),
    "unit",
    np.allclose(np.linalg.norm(r.numpy(), axis=1), 1, atol=1e-4),
)
