"""Diagonals, identities and empty matrices against NumPy, and bad input."""

import numpy as np
import pytest
from random_blocks import DEVICES, EXTENTS, SHAPES, matrix, to_dense

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.sparse.blocks import block_type


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extents", EXTENTS)
def test_diagonals_there_and_back(extents, shape, device):
    A, M = matrix(np.random.default_rng(31), extents, shape, device=device)
    (r, c), n = shape, min(extents)
    blocks = np.array([M[i * r : i * r + r, i * c : i * c + c] for i in range(n)]).reshape(n, r, c)
    diag = sparse.bsr_get_diag(A)
    assert diag.dtype is A.dtype and (diag.numpy().reshape(n, r, c) == blocks).all()
    out = wp.zeros((n, r, c), dtype=wp.float64, device=device)
    assert sparse.bsr_get_diag(A, out) is out and (out.numpy() == blocks).all()
    assert (sparse.bsr_get_diag(2.0 * A.T).numpy().reshape(n, c, r) == 2.0 * blocks.transpose(0, 2, 1)).all()
    D = np.zeros_like(M)
    for i in range(n):
        D[i * r : i * r + r, i * c : i * c + c] = blocks[i]
    assert (to_dense(sparse.bsr_diag(out, *extents)) == D).all()
    sparse.bsr_set_diag(A, diag, *extents)
    assert (to_dense(A) == D).all() and A.values is not diag


def test_extents_of_diagonals():
    diag = wp.ones(3, dtype=wp.mat22d)
    A = sparse.bsr_zeros(7, 7, wp.mat22d)
    sparse.bsr_set_diag(A, diag)
    assert (A.nrow, A.ncol, A.nnz) == (3, 3, 3)
    assert sparse.bsr_diag(diag, 3, 5).shape == (6, 10) and sparse.bsr_diag(diag, cols_of_blocks=3).shape == (6, 6)
    sparse.bsr_set_diag(A, wp.mat22d(1.0, 2.0, 3.0, 4.0), 2)
    assert A.values.numpy().tolist() == 2 * [[[1.0, 2.0], [3.0, 4.0]]]
    sparse.bsr_set_diag(A, 5.0)
    assert (to_dense(A) == 5.0 * np.eye(4)).all()
    B = sparse.bsr_diag(block_type=wp.mat33, rows_of_blocks=2)
    assert B.nnz == 2 and not to_dense(B).any()
    assert sparse.bsr_diag(2.0, 3).dtype is wp.float32 and sparse.bsr_diag(wp.mat22(), 3).dtype is wp.mat22


@pytest.mark.parametrize("shape", [(1, 1), (3, 3)])
def test_identities_and_empty_matrices(shape):
    t = block_type(shape, wp.float64)
    A = sparse.bsr_identity(4, t)
    assert (to_dense(A) == np.eye(4 * shape[0])).all()
    sparse.bsr_set_identity(A, 2)
    assert (to_dense(A) == np.eye(2 * shape[0])).all()
    sparse.bsr_set_zero(A)
    assert (A.nrow, A.ncol, A.nnz) == (2, 2, 0)
    sparse.bsr_set_zero(A, cols_of_blocks=5)
    assert (A.nrow, A.ncol) == (2, 5) and not to_dense(A).any()
    sparse.bsr_set_identity(A)
    assert (to_dense(A) == np.eye(2 * shape[0])).all()


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_multiples_of_the_identity_are_zero_beside_the_diagonal(number):
    A = sparse.bsr_diag(number, 2, block_type=wp.mat22d)
    np.testing.assert_array_equal(to_dense(A), np.where(np.eye(4), number, 0.0))


def test_entries_in_any_order_and_more_than_once():
    A = sparse.bsr_zeros(2, 2, float)
    A.offsets, A.columns = wp.array([0, 3, 5], dtype=int), wp.array([1, 0, 0, 1, 1], dtype=int)
    A.values = wp.array([1.0, 2.0, 3.0, 4.0, 5.0], dtype=float)
    A.notify_nnz_changed()
    assert sparse.bsr_get_diag(A).numpy().tolist() == [5.0, 9.0]


def test_bad_input():
    A = sparse.bsr_zeros(3, 2, wp.mat22)
    with pytest.raises(ArrayError, match="out has 3 blocks\nexpected: 2, those of the diagonal"):
        sparse.bsr_get_diag(A, wp.zeros(3, dtype=wp.mat22))
    with pytest.raises(ArrayError, match="diag has 2 blocks\nexpected: 3, the diagonal of 3 x 3"):
        sparse.bsr_set_diag(A, wp.zeros(2, dtype=wp.mat22), 3)
    with pytest.raises(ArgumentTypeError, match=r"diag is an array of float32 of shape .*\nexpected: .*mat22f"):
        sparse.bsr_set_diag(A, wp.zeros(2, dtype=float))
    with pytest.raises(ArgumentTypeError, match="diag is 'one'\nexpected: a block of mat22f, or a number"):
        sparse.bsr_set_diag(A, "one")
    with pytest.raises(ArrayError, match="neither diag is an array, nor are there extents"):
        sparse.bsr_diag(1.0)
    with pytest.raises(ArgumentTypeError, match="blocks of mat23f\nexpected: as many rows as columns"):
        sparse.bsr_identity(2, wp.types.matrix((2, 3), float))
    with pytest.raises(ArgumentTypeError, match=r"bsr is None\nexpected: a BsrMatrix"):
        sparse.bsr_set_zero(None)
    with pytest.raises(ArgumentTypeError, match=r"rows_of_blocks is 2.5 \(float\)\nexpected:"):
        sparse.bsr_set_zero(A, 2.5)
    with pytest.raises(ArgumentTypeError, match="cols_of_blocks is"):
        sparse.bsr_diag(1.0, 2, wp.zeros(1, dtype=int))
    with pytest.raises(ArrayError, match="rows_of_blocks is -2\nexpected: 0 to"):
        sparse.bsr_identity(-2)
