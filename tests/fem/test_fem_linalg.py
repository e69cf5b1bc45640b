"""Small matrices in kernels against NumPy: eigenvalues, inverses, parts, with gradients; and sums of arrays."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError
from warpsim.fem import linalg


def matrices(n, count=40):
    """Symmetric matrices: zero, one, of rank one, diagonal, tiny, huge, and random."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((count, n, n))
    a = a + a.transpose(0, 2, 1)
    a[0], a[1], a[2], a[3] = 0.0, np.eye(n), np.outer(a[4][0], a[4][0]), np.diag(np.arange(n))
    a[5] *= 1e-20
    a[6] *= 1e15
    return a


def in_kernel(function, a, dtype, results):
    """What a function gives for each of some matrices; results: "m" for a matrix, "v" for a vector."""
    n = a.shape[1]
    types = {"m": wp.types.matrix((n, n), dtype), "v": wp.types.vector(n, dtype)}
    matrix, first, second = types["m"], types[results[0]], types[results[-1]]
    pair = len(results) == 2

    @wp.kernel(module="unique")
    def call(A: wp.array[matrix], x: wp.array[first], y: wp.array[second]):
        i = wp.tid()
        if wp.static(pair):
            x[i], y[i] = function(A[i])
        else:
            x[i] = function(A[i])

    out = [wp.zeros(len(a), dtype=types[r]) for r in (results[0], results[-1])]
    wp.launch(call, len(a), [wp.array(a, dtype=matrix), *out])
    shapes = {"m": (n, n), "v": (n,)}
    return [x.numpy().astype(float).reshape(-1, *shapes[r]) for x, r in zip(out, results, strict=False)]


ROUNDING = {wp.float32: 1e-5, wp.float64: 2e-14}


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_eigenvalues_and_vectors(n, dtype):
    @wp.func
    def eigen(A: wp.types.matrix((n, n), dtype)):
        return linalg.symmetric_eigenvalues_qr(A, dtype(0.0))

    a = matrices(n)
    values, vectors = in_kernel(eigen, a, dtype, "vm")
    size = np.abs(a).max(axis=(1, 2))[:, None, None] + 1e-300
    again = np.einsum("kij,ki,kil->kjl", vectors, values, vectors)
    assert (np.abs(again - a) / size).max() < ROUNDING[dtype]
    np.testing.assert_allclose(vectors @ vectors.transpose(0, 2, 1), np.tile(np.eye(n), (len(a), 1, 1)), atol=1e-5)
    expected = np.linalg.eigvalsh(a) / size[..., 0]
    np.testing.assert_allclose(np.sort(values / size[..., 0]), expected, atol=ROUNDING[dtype])


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_inverses(n, dtype):
    a = np.random.default_rng(n).standard_normal((30, n, n)) + 2.0 * np.eye(n)
    a[0], a[1] = np.roll(np.eye(n), 1, axis=0), 0.0  # a pivot of zero, and a matrix without inverse
    (found,) = in_kernel(linalg.inverse_qr, a, dtype, "m")
    assert not found[1].any()
    keep = np.r_[0, 2:30]
    size = np.abs(found[keep]).max(axis=(1, 2))[:, None, None]
    np.testing.assert_allclose((found[keep] @ a[keep] - np.eye(n)) / size, 0.0, atol=10.0 * n * ROUNDING[dtype])


def test_parts():
    a = np.random.default_rng(0).standard_normal((10, 4, 4))
    (even,) = in_kernel(linalg.symmetric_part, a, wp.float64, "m")
    np.testing.assert_allclose(even, 0.5 * (a + a.transpose(0, 2, 1)), rtol=1e-15)
    (round_part,) = in_kernel(linalg.spherical_part, a, wp.float64, "m")
    traces = np.trace(a, axis1=1, axis2=2)
    np.testing.assert_allclose(round_part, traces[:, None, None] / 4.0 * np.eye(4), rtol=1e-14)


@wp.kernel
def largest(A: wp.array[wp.mat33d], out: wp.array[wp.float64]):
    values, _ = linalg.symmetric_eigenvalues_qr(A[0], wp.float64(0.0))
    out[0] = wp.max(values)


@wp.kernel
def corner(A: wp.array[wp.mat33d], out: wp.array[wp.float64]):
    out[0] = linalg.inverse_qr(A[0])[0, 2]


def test_gradients():
    a = matrices(3)[7]
    vector = np.linalg.eigh(a)[1][:, -1]
    inverse = np.linalg.inv(a)
    cases = {largest: np.outer(vector, vector), corner: -np.outer(inverse[0], inverse[:, 2])}
    for kernel, expected in cases.items():
        A = wp.array(a[None], dtype=wp.mat33d, requires_grad=True)
        out = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, 1, [A, out])
        tape.backward(out)
        slope = A.grad.numpy()[0]
        if kernel is largest:  # of symmetric changes
            slope, expected = slope + slope.T, 2.0 * expected
        np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-12)


def test_sums_of_arrays():
    for dtype, shape in ((wp.float64, (6,)), (wp.vec3d, (2, 3)), (wp.mat22d, (4,))):
        x, y = (wp.ones(shape, dtype=dtype, requires_grad=True) for _ in range(2))
        with wp.Tape() as tape:
            assert linalg.array_axpy(x, y, 2.0, -0.5) is y
        assert set(y.numpy().ravel()) == {1.5}
        tape.backward(grads={y: wp.ones(shape, dtype=dtype)})
        assert set(x.grad.numpy().ravel()) == {2.0}
    with pytest.raises(ArrayError, match=r"x has shape \(2,\) of float32\nexpected: \(3,\) of float32, as y"):
        linalg.array_axpy(wp.zeros(2), wp.zeros(3))
