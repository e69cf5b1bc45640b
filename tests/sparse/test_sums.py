"""Sums and multiples of sparse matrices against dense ones: patterns, masks, expressions, bad input."""

import numpy as np
import pytest
from random_blocks import DEVICES, EXTENTS, SHAPES, matrix, to_dense

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extents", EXTENTS)
def test_sums(extents, shape, device):
    rng = np.random.default_rng(21)
    (X, M), (Y, N) = (matrix(rng, extents, shape, device=device) for _ in range(2))
    assert (to_dense(X + Y) == M + N).all() and (to_dense(X - 2.0 * Y) == M - 2.0 * N).all()
    assert (to_dense(X) == M).all() and (to_dense(Y) == N).all()
    assert sparse.bsr_axpy(X, Y, 3.0, -0.5) is Y and (to_dense(Y) == 3.0 * M - 0.5 * N).all()
    assert (to_dense(sparse.bsr_axpy(X, alpha=2.0)) == 2.0 * M).all()


def test_transposes_in_sums():
    rng = np.random.default_rng(22)
    (X, M), (Y, N) = matrix(rng, (4, 3), (2, 3)), matrix(rng, (3, 4), (3, 2))
    assert (to_dense(X + 2.0 * Y.T) == M + 2.0 * N.T).all() and (to_dense(X.T - Y) == M.T - N).all()


def test_a_sum_at_the_places_of_y():
    rng = np.random.default_rng(23)
    (X, M), (Y, N) = (matrix(rng, (5, 5), (2, 2), count=count) for count in (14, 6))
    mask = np.zeros((5, 5))
    mask[Y.uncompress_rows().numpy(), Y.columns.numpy()] = 1.0
    arrays = Y.offsets, Y.columns, Y.values
    sparse.bsr_axpy(X, Y, 2.0, 3.0, masked=True)
    assert (to_dense(Y) == 3.0 * N + np.where(np.kron(mask, np.ones((2, 2))), 2.0 * M, 0.0)).all()
    assert (Y.offsets, Y.columns, Y.values) == arrays


def test_a_matrix_and_itself():
    X, M = matrix(np.random.default_rng(24), (4, 4), (2, 2))
    values = X.values
    sparse.bsr_axpy(X, X, 2.0, 3.0)
    assert (to_dense(X) == 5.0 * M).all() and X.values is values
    sparse.bsr_axpy(X.T, X, 1.0, 1.0)
    assert (to_dense(X) == 5.0 * (M + M.T)).all()


def test_a_term_times_zero_is_not_read():
    X, Y = (sparse.bsr_diag(number, 2, block_type=wp.float64) for number in (2.0, np.nan))
    for masked in (False, True):
        assert (to_dense(sparse.bsr_axpy(X, sparse.bsr_copy(Y), 1.0, 0.0, masked=masked)) == 2.0 * np.eye(2)).all()


def test_multiples_in_place_and_of_expressions():
    X, M = matrix(np.random.default_rng(25), (4, 3), (2, 2))
    assert sparse.bsr_scale(X, -3.0) is X and (to_dense(X) == -3.0 * M).all()
    Y = sparse.bsr_scale(X.T, 2.0)
    assert (to_dense(Y) == -6.0 * M.T).all() and (to_dense(X) == -3.0 * M).all()


def test_bad_input():
    rng = np.random.default_rng(26)
    A, B = (matrix(rng, (4, 3), shape)[0] for shape in ((2, 3), (2, 2)))
    with pytest.raises(ArgumentTypeError, match="y has blocks of mat22d\nexpected: mat23d, as x"):
        sparse.bsr_axpy(A, B)
    with pytest.raises(ArrayError, match="y has 3 x 4 blocks\nexpected: 4 x 3, as x"):
        sparse.bsr_axpy(A, matrix(rng, (3, 4), (2, 3))[0])
    with pytest.raises(ArrayError, match=r"y is on interp\nexpected: (cpu|cuda:0), as x"):
        sparse.bsr_axpy(A, matrix(rng, (4, 3), (2, 3), device="interp")[0])
    with pytest.raises(ArgumentTypeError, match=r"y is .*\nexpected: a BsrMatrix"):
        sparse.bsr_axpy(A, 2.0 * A)
    with pytest.raises(ArgumentTypeError, match="second term has blocks of mat22d\nexpected: mat23d"):
        A + B
    single = matrix(rng, (4, 3), (1, 1))[0]
    with pytest.raises(ArgumentTypeError, match="y has blocks of mat11d\nexpected: float64, as x"):
        sparse.bsr_axpy(single, sparse.bsr_zeros(4, 3, wp.types.matrix((1, 1), wp.float64)))
    with pytest.raises(TypeError, match="unsupported operand"):
        A + 1.0
    with pytest.raises(TypeError, match="multiply sequence by non-int"):
        A * "2"
