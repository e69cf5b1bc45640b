"""Small matrices in kernels against NumPy: eigenvalues, inverses, parts, with gradients; and sums of arrays."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError
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


def shapes(n):
    """Symmetric matrices whose eigenvalues differ, with zeros where rotations have nothing to do in some."""
    dense = matrices(n)[7]
    diagonal = np.diag(np.arange(1.0, n + 1.0))
    blocks = diagonal.copy()
    blocks[0, 1] = blocks[1, 0] = 0.5
    return {"dense": dense, "diagonal": diagonal, "blocks": blocks, "permuted": np.roll(np.eye(n), 1, axis=0) + 0.0}


@pytest.mark.parametrize("shape", ["dense", "diagonal", "blocks", "permuted"])
@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("name", ["eigen", "inverse"])
def test_gradients_are_those_of_differences(name, n, shape):
    """Of a function of all values and components; an eigenproblem is one of symmetric matrices."""
    eigen = name == "eigen"
    if eigen and shape == "permuted":
        shape = "dense"  # its eigenvalues are complex
    M, V = wp.types.matrix((n, n), wp.float64), wp.types.vector(n, wp.float64)

    @wp.kernel(module="unique")
    def measure(A: wp.array[M], w: wp.array[M], v: wp.array[V], out: wp.array[wp.float64]):
        if wp.static(eigen):
            values, vectors = linalg.symmetric_eigenvalues_qr(A[0], wp.float64(0.0))
            out[0] = wp.dot(v[0], values) * wp.ddot(w[0], vectors)
        else:
            out[0] = wp.ddot(w[0], linalg.inverse_qr(A[0]))

    rng = np.random.default_rng(n)
    w, v = wp.array(rng.standard_normal((1, n, n)), dtype=M), wp.array(rng.standard_normal((1, n)), dtype=V)
    a = shapes(n)[shape]

    def value(a, grad=False):
        A, out = wp.array(a[None], dtype=M, requires_grad=grad), wp.zeros(1, dtype=wp.float64, requires_grad=grad)
        with wp.Tape() as tape:
            wp.launch(measure, 1, [A, w, v, out])
        if grad:
            tape.backward(out)
            return A.grad.numpy()[0]
        return out.numpy()[0]

    slope = value(a, grad=True)
    for _ in range(3):
        step = rng.standard_normal((n, n))
        step = step + step.T if eigen else step
        expected = (value(a + 1e-6 * step) - value(a - 1e-6 * step)) / 2e-6
        assert np.sum(slope * step) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_vectors_to_equal_eigenvalues_have_no_gradient_and_values_do():
    @wp.kernel(module="unique")
    def both(A: wp.array[wp.mat33d], out: wp.array[wp.float64]):
        values, vectors = linalg.symmetric_eigenvalues_qr(A[0], wp.float64(0.0))
        out[0] = values[0] + values[1] + values[2] + vectors[0, 1]

    A = wp.array(2.0 * np.eye(3)[None], dtype=wp.mat33d, requires_grad=True)
    out = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(both, 1, [A, out])
    tape.backward(out)
    np.testing.assert_array_equal(A.grad.numpy()[0], np.eye(3))


def test_sums_of_arrays():
    for dtype, shape in ((wp.float64, (6,)), (wp.vec3d, (2, 3)), (wp.mat22d, (4,))):
        x, y = (wp.ones(shape, dtype=dtype, requires_grad=True) for _ in range(2))
        with wp.Tape() as tape:
            assert linalg.array_axpy(x, y, 2.0, -0.5) is y
        assert set(y.numpy().ravel()) == {1.5}
        tape.backward(grads={y: wp.ones(shape, dtype=dtype)})
        assert set(x.grad.numpy().ravel()) == {2.0}
    z = wp.ones(4, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        linalg.array_axpy(z, z, 2.0, 1.0)
    tape.backward(grads={z: wp.ones(4, dtype=wp.float64)})
    assert z.list() == [3.0] * 4 and z.grad.list() == [3.0] * 4
    with pytest.raises(ArgumentTypeError, match=r"x is 1\.0 \(float\)\nexpected: warpsim\.array"):
        linalg.array_axpy(1.0, z)
    with pytest.raises(ArgumentTypeError, match="x has dtype int32\nexpected: floats"):
        linalg.array_axpy(wp.zeros(3, dtype=int), wp.zeros(3, dtype=int))
    with pytest.raises(ArrayError, match=r"x has shape \(2,\) of float32\nexpected: \(3,\) of float32, as y"):
        linalg.array_axpy(wp.zeros(2), wp.zeros(3))
