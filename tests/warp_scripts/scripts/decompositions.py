"""SVD, QR and eigenvalues of small matrices, in kernels and on the host; polar decomposition of deformations."""

import numpy as np

import warp as wp

mat32 = wp.types.matrix(shape=(3, 2), dtype=wp.float32)
mat55 = wp.types.matrix(shape=(5, 5), dtype=wp.float64)
vec5 = wp.types.vector(length=5, dtype=wp.float64)


@wp.kernel
def decompose(
    a: wp.array(dtype=wp.mat33),
    sigma: wp.array(dtype=wp.vec3),
    err: wp.array2d(dtype=float),
    rot: wp.array(dtype=wp.mat33),
):
    i = wp.tid()
    A = a[i]
    U, s, V = wp.svd3(A)
    sigma[i] = s
    d = U * wp.diag(s) * wp.transpose(V) - A
    err[i, 0] = wp.sqrt(wp.ddot(d, d))
    Q, R = wp.qr3(A)
    d = Q @ R - A
    err[i, 1] = wp.sqrt(wp.ddot(d, d))
    S = 0.5 * (A + wp.transpose(A))
    E, lam = wp.eig3(S)
    d = E @ wp.diag(lam) @ wp.transpose(E) - S
    err[i, 2] = wp.sqrt(wp.ddot(d, d))
    err[i, 3] = R[1, 0]
    R2 = U @ wp.transpose(V)
    rot[i] = R2


@wp.kernel
def small(a: wp.array(dtype=wp.mat22), out: wp.array(dtype=wp.vec2), inv: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    U, s, V = wp.svd2(a[i])
    out[i] = s
    inv[i] = wp.inverse(a[i])


@wp.kernel
def rectangular(
    b: wp.array(dtype=mat32), v: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec3), gram: wp.array(dtype=wp.mat22)
):
    i = wp.tid()
    m = b[i]
    out[i] = m * v[i]
    gram[i] = wp.transpose(m) * m
    m[2, 1] = 10.0
    m[0] = wp.vec2(7.0, 8.0)
    b[i] = m


@wp.kernel
def cholesky(a: wp.array(dtype=mat55), b: wp.array(dtype=vec5), x: wp.array(dtype=vec5)):
    t = wp.tid()
    A = a[t]
    L = mat55()
    for j in range(5):
        s = A[j, j]
        for k in range(j):
            s -= L[j, k] * L[j, k]
        L[j, j] = wp.sqrt(s)
        for i in range(j + 1, 5):
            r = A[i, j]
            for k in range(j):
                r -= L[i, k] * L[j, k]
            L[i, j] = r / L[j, j]
    y = vec5()
    for i in range(5):
        r = b[t][i]
        for k in range(i):
            r -= L[i, k] * y[k]
        y[i] = r / L[i, i]
    z = vec5()
    for ii in range(5):
        i = 4 - ii
        r = y[i]
        for k in range(i + 1, 5):
            r -= L[k, i] * z[k]
        z[i] = r / L[i, i]
    x[t] = z


rng = np.random.default_rng(77)
n = 16
A = rng.normal(size=(n, 3, 3))
a = wp.array(A, dtype=wp.mat33)
sigma = wp.zeros(n, dtype=wp.vec3)
err = wp.zeros((n, 4), dtype=float)
rot = wp.zeros(n, dtype=wp.mat33)
wp.launch(decompose, dim=n, inputs=[a], outputs=[sigma, err, rot])
exact = np.linalg.svd(A, compute_uv=False)
print(
    "singular values",
    np.sort(np.abs(sigma.numpy()), axis=1)[0],
    "good",
    np.allclose(np.sort(np.abs(sigma.numpy())), np.sort(exact), atol=1e-4),
)
print(
    "residuals",
    (err.numpy() < 2e-4).all(axis=0),
    "rotations",
    np.allclose(np.abs(np.linalg.det(rot.numpy())), 1.0, atol=1e-4),
)
m = wp.array(rng.normal(size=(4, 2, 2)), dtype=wp.mat22)
o, inv = wp.zeros(4, dtype=wp.vec2), wp.zeros(4, dtype=wp.mat22)
wp.launch(small, dim=4, inputs=[m, o, inv])
print("2x2", np.sort(o.numpy(), axis=1)[1], np.allclose(inv.numpy() @ m.numpy(), np.eye(2), atol=1e-4))

b = wp.array(np.arange(12).reshape(2, 3, 2), dtype=mat32)
v = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=wp.vec2)
res, gram = wp.zeros(2, dtype=wp.vec3), wp.zeros(2, dtype=wp.mat22)
wp.launch(rectangular, dim=2, inputs=[b, v, res, gram])
print(res.numpy().tolist(), gram.numpy()[1].tolist(), b.numpy()[1].tolist())

spd = rng.normal(size=(3, 5, 5))
spd = spd @ spd.transpose(0, 2, 1) + 0.5 * np.eye(5)
rhs = rng.normal(size=(3, 5))
x = wp.zeros(3, dtype=vec5)
wp.launch(cholesky, dim=3, inputs=[wp.array(spd, dtype=mat55), wp.array(rhs, dtype=vec5), x])
print("solve", np.allclose(x.numpy(), np.linalg.solve(spd, rhs[..., None])[..., 0]), x.numpy()[0])

M = wp.mat33(2.0, 1.0, 0.0, 1.0, 3.0, 0.5, 0.0, 0.5, 1.0)
print("host", wp.determinant(M), wp.trace(M), wp.inverse(M)[1, 1], (M * wp.vec3(1.0, 2.0, 3.0)))
print(M[0], M[1, 2], mat32(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
print(wp.skew(wp.vec3(1.0, 2.0, 3.0)), wp.get_diag(M), wp.outer(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)))
print(
    wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)), wp.matrix_from_cols(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
)
print(M + M, 2.0 * M - M * 0.5, M == M, np.array(M).shape, len(M))
