"""Sparse matrices in iterative solvers: solutions, preconditioners and implicit gradients against dense algebra."""

from itertools import product

import numpy as np
import pytest
from random_blocks import flat, matrix, to_dense, vector

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.optim.linear import CG, aslinearoperator, bicgstab, cg, cr, gmres, preconditioner

METHODS = {"cg": cg, "cr": cr, "bicgstab": bicgstab, "gmres": gmres}


def system(shape, symmetric=True, device=None):
    """A regular matrix with blocks of a shape, and what it is as a dense one."""
    rng = np.random.default_rng(51)
    rows = 12 // shape[0], 12 // shape[1]
    A, _ = matrix(rng, rows, shape, device=device, count=2 * rows[0])
    if symmetric:
        A = A + A.T
    shift = sparse.bsr_copy(sparse.bsr_identity(12, wp.float64, device), block_shape=shape)
    A = A + 30.0 * shift
    A.requires_grad = True
    return A, to_dense(A), rng


@pytest.mark.parametrize("M", ["id", "diag", "diag_abs"])
@pytest.mark.parametrize(
    ("shape", "name"), [*product(((1, 1), (3, 3)), METHODS), *product([(2, 3)], ("bicgstab", "gmres"))]
)
def test_solutions_and_gradients(shape, name, M):
    A, dense, rng = system(shape, symmetric=name in ("cg", "cr"))
    for element in {wp.float64, wp.vec3d}:
        b = vector(rng, 12 if element is wp.float64 else 4, element, requires_grad=True)
        x, weights = wp.zeros_like(b, requires_grad=True), rng.standard_normal(12)
        with wp.Tape() as tape:
            result = METHODS[name](A, b, x, tol=1e-13, M=preconditioner(A, M))
        assert result.converged
        solution, adjoint = np.linalg.solve(dense, flat(b)), np.linalg.solve(dense.T, weights)
        np.testing.assert_allclose(flat(x), solution, rtol=1e-10)
        tape.backward(grads={x: wp.array(weights.reshape(x.numpy().shape), dtype=element)})
        np.testing.assert_allclose(flat(b.grad), adjoint, rtol=1e-9)
        slopes = (-np.outer(adjoint, solution)).reshape(12 // shape[0], shape[0], 12 // shape[1], shape[1])
        at = A.uncompress_rows().numpy(), A.columns.numpy()
        expected = slopes.transpose(0, 2, 1, 3)[at].reshape(A.values.numpy().shape)
        np.testing.assert_allclose(A.values.grad.numpy(), expected, rtol=1e-8, atol=1e-12)
        A.values.grad.zero_()


def test_operators_and_their_transposes():
    A, dense, rng = system((2, 3), symmetric=False)
    operator = aslinearoperator(2.0 * A.T)
    assert operator.shape == (12, 12) and operator.dtype is wp.float64
    for one, D in ((operator, 2.0 * dense.T), (operator.transposed(), 2.0 * dense)):
        x, y = (vector(rng, 12, wp.float64) for _ in range(2))
        z = wp.zeros(6, dtype=wp.vec2d)
        one.matvec(x, y, z, 0.5, -1.0)
        np.testing.assert_allclose(flat(z), 0.5 * D @ flat(x) - flat(y), rtol=1e-14)


def test_an_operator_is_the_matrix_as_it_was_with_blocks_as_they_are():
    A, dense, rng = system((3, 3))
    operator, x = aslinearoperator(A), vector(rng, 4, wp.vec3d)
    sparse.bsr_scale(A, 2.0)
    sparse.bsr_set_identity(A)
    z = wp.zeros(4, dtype=wp.vec3d)
    operator.matvec(x, z, z, 1.0, 0.0)
    np.testing.assert_allclose(flat(z), 2.0 * dense @ flat(x), rtol=1e-14)


def test_a_matrix_assembled_and_solved_with_on_a_tape():
    """Stiffnesses of springs in a chain: the gradient of a displacement against central differences."""
    n, rows, columns = 5, [], []
    for i in range(n):
        rows += [i, i, i - 1, i - 1]
        columns += [i, i - 1, i, i - 1]  # the first spring is held at a wall, row -1
    signs = wp.array(np.tile([1.0, -1.0, -1.0, 1.0], n))
    rows, columns = (wp.array(np.array(i, np.int32)) for i in (rows, columns))
    force = wp.ones(n, dtype=wp.float64)

    def displacement(stiffness):
        blocks = wp.zeros(4 * n, dtype=wp.float64, requires_grad=True)
        wp.launch(spread, 4 * n, [stiffness, signs, blocks])
        A = sparse.bsr_from_triplets(n, n, rows, columns, blocks)
        x = wp.zeros(n, dtype=wp.float64, requires_grad=True)
        CG(A, force, x, tol=1e-14)()
        return x

    start = np.array([2.0, 3.0, 4.0, 5.0, 6.0])
    k = wp.array(start, requires_grad=True)
    with wp.Tape() as tape:
        x = displacement(k)
    np.testing.assert_allclose(x.numpy(), np.cumsum(np.arange(n, 0, -1) / start), rtol=1e-12)
    tape.backward(grads={x: force})
    np.testing.assert_allclose(k.grad.numpy(), -(np.arange(n, 0, -1) ** 2) / start**2, rtol=1e-10)


@wp.kernel
def spread(k: wp.array(dtype=wp.float64), signs: wp.array(dtype=wp.float64), blocks: wp.array(dtype=wp.float64)):
    t = wp.tid()
    blocks[t] = signs[t] * k[t // 4]


def test_bad_matrices():
    b = wp.zeros(4, dtype=wp.float64)
    with pytest.raises(ArrayError, match=r"shape \(4, 6\)\nexpected: as many rows as columns"):
        cg(sparse.bsr_zeros(2, 3, wp.mat22d), b, wp.zeros_like(b))
    with pytest.raises(ArrayError, match=r"A has shape \(6, 6\)\nexpected: \(4, 4\)"):
        cg(sparse.bsr_zeros(3, 3, wp.mat22d), b, wp.zeros_like(b))
    with pytest.raises(ArrayError, match="A has dtype float32\nexpected: numbers of float64, as b"):
        cg(sparse.bsr_zeros(2, 2, wp.mat22), b, wp.zeros_like(b))
    with pytest.raises(ArrayError, match=r"A is on interp\nexpected: (cpu|cuda:0), as b"):
        cg(sparse.bsr_zeros(2, 2, wp.mat22d, "interp"), b, wp.zeros_like(b))
    with pytest.raises(ArgumentTypeError, match="A has blocks of int32\nexpected: floats"):
        aslinearoperator(sparse.bsr_zeros(2, 2, int))
    assert not cg(sparse.bsr_zeros(2, 2, wp.mat22d), wp.ones(4, dtype=wp.float64), b).converged
