"""Copies with other blocks and numbers against dense matrices, and bad input."""

import numpy as np
import pytest
from random_blocks import DEVICES, SHAPES, matrix, to_dense

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("other", [(1, 1), (2, 2), (4, 6), (3, 1), (12, 12)])
def test_blocks_of_another_shape(shape, other, device):
    extents = 24 // shape[0], 24 // shape[1]
    A, M = matrix(np.random.default_rng(32), extents, shape, device=device, count=12)
    B = sparse.bsr_copy(A, block_shape=other)
    assert B.block_shape == other and (to_dense(B) == M).all()
    C = sparse.bsr_copy(2.0 * A.T, wp.float32, other[::-1])
    assert C.scalar_type is wp.float32 and (to_dense(C) == 2.0 * M.T).all()
    blocks = M.reshape(24 // other[0], other[0], 24 // other[1], other[1])
    assert B.nnz >= blocks.any(axis=(1, 3)).sum()


def test_copies_are_their_own():
    A, M = matrix(np.random.default_rng(33), (4, 5), (2, 2))
    for B in (sparse.bsr_copy(A), sparse.bsr_copy(A, wp.float64, (2, 2))):
        B.values.zero_()
        B.columns.zero_()
        assert (to_dense(A) == M).all()
    C = sparse.bsr_copy(A, structure_only=True)
    assert C.columns.numpy().tolist() == A.columns.numpy().tolist() and not to_dense(C).any()


def test_assignment_at_the_places_of_dest():
    rng = np.random.default_rng(34)
    (A, M), (B, _) = matrix(rng, (6, 6), (2, 2), count=20), matrix(rng, (4, 4), (3, 3), count=6)
    mask = np.zeros((4, 4))
    mask[B.uncompress_rows().numpy(), B.columns.numpy()] = 1.0
    sparse.bsr_assign(B, A, masked=True)
    assert (to_dense(B) == np.where(np.kron(mask, np.ones((3, 3))), M, 0.0)).all()
    sparse.bsr_assign(B, A)
    assert (to_dense(B) == M).all()


def test_more_columns_of_numbers_than_integers_count():
    """Blocks keep their places where their numbers have places beyond 2**31."""
    n = 3 * 2**28
    at = wp.array([0], dtype=int), wp.array([n - 1], dtype=int)
    A = sparse.bsr_from_triplets(2, n, *at, wp.full(1, 5.0, wp.types.matrix((1, 4), float)))
    B = sparse.bsr_copy(A, block_shape=(2, 3))
    assert (B.nrow, B.ncol, B.nnz) == (1, 2**30, 2) and B.columns.numpy().tolist() == [2**30 - 2, 2**30 - 1]
    assert B.values.numpy().tolist() == [[[0.0, 0.0, 5.0], [0.0] * 3], [[5.0] * 3, [0.0] * 3]]


def test_bad_input():
    A, _ = matrix(np.random.default_rng(35), (4, 5), (2, 2))
    with pytest.raises(ArrayError, match="src has 8 x 10 numbers\nexpected: whole blocks of 3 x 3"):
        sparse.bsr_copy(A, block_shape=(3, 3))
    with pytest.raises(ArrayError, match="dest has 1 x 1 blocks\nexpected: 4 x 5, as src"):
        sparse.bsr_assign(sparse.bsr_zeros(1, 1, wp.mat22d), A, masked=True)
    with pytest.raises(ArrayError, match=r"dest is on interp\nexpected: (cpu|cuda:0), as src"):
        sparse.bsr_assign(sparse.bsr_zeros(1, 1, wp.mat22d, "interp"), A)
    with pytest.raises(ArgumentTypeError, match=r"scalar_type is .*\nexpected: a scalar type"):
        sparse.bsr_copy(A, wp.mat22)
    with pytest.raises(ArgumentTypeError, match=r"A is 3\nexpected: a BsrMatrix"):
        sparse.bsr_copy(3)
    for shape in (2, (2,), (0, 2), (2, 2.5), "22"):
        with pytest.raises(ArgumentTypeError, match=r"block_shape is .*\nexpected: two positive integers"):
            sparse.bsr_copy(A, block_shape=shape)
    with pytest.raises(ArgumentTypeError, match=r"scalar_type is \[\]\nexpected: a scalar type"):
        sparse.bsr_copy(A, [])
