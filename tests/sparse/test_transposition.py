"""Transposes and what expressions stand for, against dense matrices."""

import numpy as np
import pytest
from random_blocks import DEVICES, EXTENTS, SHAPES, matrix, to_dense

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extents", EXTENTS)
def test_transposes(extents, shape, device):
    A, M = matrix(np.random.default_rng(27), extents, shape, device=device)
    B = sparse.bsr_transposed(A)
    assert (to_dense(B) == M.T).all() and B.block_shape == shape[::-1]
    C = sparse.bsr_zeros(1, 1, B.dtype, device)
    sparse.bsr_set_transpose(C, 2.0 * A)
    assert (to_dense(C) == 2.0 * M.T).all()


def test_a_transpose_at_the_places_of_dest():
    rng = np.random.default_rng(28)
    (A, M), (B, _) = matrix(rng, (5, 4), (2, 3), count=12), matrix(rng, (4, 5), (3, 2), count=9)
    mask = np.zeros((4, 5))
    mask[B.uncompress_rows().numpy(), B.columns.numpy()] = 1.0
    sparse.bsr_set_transpose(B, A, masked=True)
    assert (to_dense(B) == np.where(np.kron(mask, np.ones((3, 2))), M.T, 0.0)).all()


def test_expressions_describe_themselves():
    A, M = matrix(np.random.default_rng(29), (4, 3), (2, 5))
    E = 2.0 * A.T
    assert (E.nrow, E.ncol, E.shape, E.block_shape) == (3, 4, (15, 8), (5, 2))
    assert E.scalar_type is wp.float64 and E.device == A.device and repr(E).startswith("2.0 * BsrMatrix(4 x 3")
    B = sparse.bsr_copy(E)
    assert (to_dense(B) == 2.0 * M.T).all()
    A.values.zero_()
    assert not to_dense(sparse.bsr_copy(E)).any() and to_dense(B).any()  # computed where it is used


def test_bad_input():
    A, _ = matrix(np.random.default_rng(30), (4, 3), (2, 5))
    with pytest.raises(ArgumentTypeError, match=r"dest has blocks of mat25d\nexpected: .* with blocks of mat52d"):
        sparse.bsr_set_transpose(A, A)
    with pytest.raises(ArgumentTypeError, match=r"dest is int\nexpected: a BsrMatrix"):
        sparse.bsr_set_transpose(3, A)
    with pytest.raises(ArgumentTypeError, match=r"src is 3\nexpected: a BsrMatrix"):
        sparse.bsr_set_transpose(A, 3)
    B = sparse.bsr_zeros(4, 3, wp.types.matrix((5, 2), wp.float64))
    with pytest.raises(ArrayError, match="dest has 4 x 3 blocks\nexpected: 3 x 4, as the transpose of src"):
        sparse.bsr_set_transpose(B, A, masked=True)
    with pytest.raises(ArrayError, match=r"dest is on interp\nexpected: (cpu|cuda:0), as src"):
        sparse.bsr_set_transpose(sparse.bsr_zeros(3, 4, B.dtype, "interp"), A)
