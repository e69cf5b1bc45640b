"""Sparse matrices on CUDA: patterns, blocks, gradients, solves and graphs are those of the host."""

import numpy as np
import pytest
from random_blocks import matrix, to_dense, vector

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArrayError
from warpsim.optim.linear import bicgstab, preconditioner

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]


def chain(device, shape):
    """Most operations one after the other, on a tape; arrays and gradients."""
    rng = np.random.default_rng(61)
    A, _ = matrix(rng, (6, 6), shape, device=device, requires_grad=True, count=14)
    B, _ = matrix(rng, (6, 6), shape[::-1], device=device, requires_grad=True, count=9)
    x = vector(rng, 6, wp.float64 if shape == (1, 1) else wp.types.vector(shape[0], wp.float64), device, True)
    with wp.Tape() as tape:
        C = A @ B + 2.0 * B.T @ A.T
        sparse.bsr_mm(A, B, C, beta=0.5, masked=True)
        D = sparse.bsr_copy(C, block_shape=(1, 1))
        sparse.bsr_axpy(sparse.bsr_diag(sparse.bsr_get_diag(D)), D)
        y = sparse.bsr_mv(sparse.bsr_copy(D, block_shape=C.block_shape), x, transpose=True)
    tape.backward(grads={y: x})
    return [C.offsets, C.columns, C.values, D.columns, D.values, y, A.values.grad, B.values.grad, x.grad]


@pytest.mark.parametrize("shape", [(1, 1), (2, 3)])
def test_operations_and_gradients(shape):
    here, there = (chain(device, shape) for device in ("cpu", "cuda:0"))
    for a, b in zip(here, there, strict=True):
        assert b.device == wp.get_device("cuda:0")
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12, atol=1e-12)


def test_solves():
    rng = np.random.default_rng(62)
    A, _ = matrix(rng, (5, 5), (2, 2), device="cuda:0")
    A = A + 40.0 * sparse.bsr_identity(5, wp.mat22d, "cuda:0")
    b, x = vector(rng, 5, wp.vec2d, "cuda:0"), wp.zeros(5, dtype=wp.vec2d, device="cuda:0")
    assert bicgstab(A, b, x, tol=1e-12, M=preconditioner(A)).converged
    np.testing.assert_allclose(to_dense(A) @ x.numpy().reshape(-1), b.numpy().reshape(-1), atol=1e-11)


def test_graphs_assemble_and_multiply():
    rng = np.random.default_rng(63)
    A, M = matrix(rng, (5, 5), (2, 2), device="cuda:0")
    x, y = (vector(rng, 5, wp.vec2d, "cuda:0") for _ in range(2))
    rows, columns = A.uncompress_rows(), A.columns
    A.transposed_index  # noqa: B018  what a graph would find anew
    with wp.ScopedCapture("cuda:0") as capture:
        B = sparse.bsr_from_triplets(5, 5, rows, columns, A.values)
        sparse.bsr_mv(B, x, y)
    A.values.assign(2.0 * A.values.numpy())
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(y.numpy().reshape(-1), 2.0 * M @ x.numpy().reshape(-1), rtol=1e-12)
    assert B.nnz_sync() == A.nnz and (to_dense(B) == to_dense(A)).all()


def test_another_device_is_refused():
    A = sparse.bsr_identity(2, wp.mat22d, "cuda:0")
    with pytest.raises(ArrayError, match="x is on cpu\nexpected: cuda:0, as the matrix"):
        A @ wp.zeros(2, dtype=wp.vec2d, device="cpu")
