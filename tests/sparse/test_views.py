"""Blocks and vectors as views with gaps, parts of others, and their numbers; matrices of one number among them."""

import numpy as np
import pytest
from random_blocks import LAYOUTS, dense, flat, laid_out, to_dense, triplets

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArrayError
from warpsim.sparse.blocks import block_type, column_type, row_type

TYPES = (wp.float64, block_type((1, 1), wp.float64, wp.mat22), block_type((2, 3), wp.float64))
EXTENTS = 4, 5


def operands(t, layout):
    """A random matrix of blocks laid out so, and what it is made of."""
    shape = (1, 1) if t is wp.float64 else t.shape
    rows, columns, blocks = triplets(np.random.default_rng(91), EXTENTS, shape)
    blocks[::5] = 0.0
    values = laid_out(blocks, t, layout, requires_grad=True)
    A = sparse.bsr_zeros(*EXTENTS, t)
    return A, (wp.array(rows), wp.array(columns), values), dense(EXTENTS, rows, columns, blocks)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("t", TYPES)
def test_assembly(t, layout):
    A, (rows, columns, values), M = operands(t, layout)
    for pruned in (True, False):
        values.requires_grad = not pruned
        sparse.bsr_set_from_triplets(A, rows, columns, values, prune_numerical_zeros=pruned)
        assert (to_dense(A) == M).all()
    sparse.bsr_set_zero(A)
    with wp.Tape() as tape:
        sparse.bsr_set_from_triplets(A, rows, columns, values)
    tape.backward(grads={A.values: wp.ones_like(A.values)})
    assert (values.grad.numpy() == 1.0).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("t", TYPES)
def test_operations(t, layout):
    A, parts, M = operands(t, layout)
    sparse.bsr_set_from_triplets(A, *parts)
    blocks = A.values.numpy().reshape(A.nnz, *A.block_shape)
    if layout != "as numbers":
        A.values = laid_out(blocks, t, layout)
    for s, D in ((A, M), (A.T, M.T)):
        assert (to_dense(sparse.bsr_copy(2.0 * s)) == 2.0 * D).all()
        assert (to_dense(sparse.bsr_copy(s, float, (s.shape[0], 1))) == D).all()
        assert (to_dense(s @ s.T) == D @ D.T).all() and (to_dense(s + s) == 2.0 * D).all()
    sparse.bsr_assign(A, sparse.bsr_copy(3.0 * A), masked=True)
    assert (to_dense(A) == 3.0 * M).all()
    diagonal, k = laid_out(np.zeros((4, *A.block_shape)), t, layout), np.arange(4)
    sparse.bsr_get_diag(A, out=diagonal)
    expected = 3.0 * M.reshape(4, A.block_shape[0], 5, A.block_shape[1]).transpose(0, 2, 1, 3)[k, k]
    assert (flat(diagonal) == expected.reshape(-1)).all()
    sparse.bsr_set_diag(A, diagonal)
    assert (flat(A.values) == expected.reshape(-1)).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("t", TYPES)
def test_vectors(t, layout):
    A, parts, M = operands(t, layout)
    sparse.bsr_set_from_triplets(A, *parts)
    rng = np.random.default_rng(92)
    for s, D, inner, outer in ((A, M, column_type(t), row_type(t)), (A.T, M.T, row_type(t), column_type(t))):
        u, w = rng.integers(-9, 10, D.shape[1]) / 4.0, rng.integers(-9, 10, D.shape[0]) / 4.0
        x, y = laid_out(u.reshape(s.ncol, -1), inner, layout), laid_out(w.reshape(s.nrow, -1), outer, layout)
        assert (flat(s @ x) == D @ u).all()
        sparse.bsr_mv(s, x, y, alpha=2.0, beta=-1.0)
        assert (flat(y) == 2.0 * D @ u - w).all()


def test_numbers_with_gaps_are_no_vectors():
    A, _, _ = operands(TYPES[2], "in a row")
    with pytest.raises(ArrayError, match=r"x has strides \(16,\)\nexpected: a contiguous array, unless .* of vec3d"):
        A @ wp.zeros(30, dtype=wp.float64)[::2]
