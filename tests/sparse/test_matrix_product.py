"""Products of sparse matrices against dense ones: blocks, patterns, masks, alpha and beta, bad input."""

import numpy as np
import pytest
from random_blocks import DEVICES, matrix, to_dense

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError, LaunchError

BLOCKS = (((1, 1), (1, 1)), ((3, 3), (3, 3)), ((2, 3), (3, 1)), ((1, 3), (3, 1)), ((1, 1), (1, 3)), ((3, 1), (1, 1)))
EXTENTS = ((6, 5, 4), (1, 3, 1), (0, 2, 3), (3, 0, 2), (4, 4, 0))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("extents", EXTENTS)
def test_products(extents, blocks, device):
    rng = np.random.default_rng(15)
    (X, M), (Y, N) = (matrix(rng, extents[k : k + 2], blocks[k], device=device) for k in range(2))
    Z = X @ Y
    assert (to_dense(Z) == M @ N).all() and Z.block_shape == (blocks[0][0], blocks[1][1])
    before = to_dense(Z)
    assert sparse.bsr_mm(X, Y, Z, alpha=-0.5, beta=2.0) is Z
    assert (to_dense(Z) == 2.0 * before - 0.5 * (M @ N)).all()
    assert (to_dense(sparse.bsr_mm(2.0 * Y.T, X.T)) == 2.0 * (N.T @ M.T)).all()


def test_beta_keeps_blocks_that_the_product_lacks():
    rng = np.random.default_rng(16)
    (X, M), (Y, N), (Z, P) = (matrix(rng, (6, 6), (2, 2), count=count) for count in (4, 4, 12))
    sparse.bsr_mm(X, Y, Z, beta=3.0)
    assert (to_dense(Z) == M @ N + 3.0 * P).all()


@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize("option", ["masked", "reuse_topology"])
def test_a_product_at_the_places_of_z(option, beta):
    rng = np.random.default_rng(17)
    (X, M), (Y, N), (Z, P) = (matrix(rng, (5, 5), (2, 2), count=count) for count in (12, 12, 8))
    mask = np.kron(sparse_places(Z), np.ones((2, 2)))
    arrays = Z.offsets, Z.columns, Z.values
    sparse.bsr_mm(X, Y, Z, beta=beta, **{option: True})
    assert (to_dense(Z) == np.where(mask, M @ N, 0.0) + beta * P).all()
    assert (Z.offsets, Z.columns, Z.values) == arrays


def sparse_places(Z):
    """Where a matrix has blocks."""
    out = np.zeros((Z.nrow, Z.ncol))
    out[Z.uncompress_rows().numpy(), Z.columns.numpy()] = 1.0
    return out


def test_z_may_be_an_operand():
    X, M = matrix(np.random.default_rng(18), (4, 4), (2, 2))
    sparse.bsr_mm(X, X, X, alpha=2.0, beta=1.0)
    assert (to_dense(X) == 2.0 * M @ M + M).all()
    N = to_dense(X)
    sparse.bsr_mm(X, X, X, reuse_topology=True)
    assert (to_dense(X) == np.where(np.kron(sparse_places(X), np.ones((2, 2))), N @ N, 0.0)).all()


def test_graphs_know_no_new_pattern():
    X, M = matrix(np.random.default_rng(19), (4, 4), (2, 2))
    Z = X @ X
    with wp.ScopedCapture() as capture:
        sparse.bsr_mm(X, X, Z, reuse_topology=True)
        with pytest.raises(LaunchError, match="pattern of a product is not known while a graph is captured\nhelp:"):
            sparse.bsr_mm(X, X)
    X.values.assign(2.0 * X.values.numpy())
    wp.capture_launch(capture.graph)
    assert (to_dense(Z) == 4.0 * M @ M).all()


def test_bad_input():
    rng = np.random.default_rng(20)
    A, B, C = (matrix(rng, (4, 3), shape)[0] for shape in ((2, 3), (2, 2), (3, 2)))
    with pytest.raises(ArgumentTypeError, match="y has blocks of 2 x 2\nexpected: 3 rows"):
        sparse.bsr_mm(A, B)
    with pytest.raises(ArrayError, match="y has 4 rows of blocks\nexpected: 3, as many as x has columns"):
        sparse.bsr_mm(A, C)
    with pytest.raises(ArgumentTypeError, match="z has blocks of mat22d\nexpected: mat23d, as the product"):
        sparse.bsr_mm(A, sparse.bsr_identity(3, wp.mat33d), B)
    with pytest.raises(ArgumentTypeError, match="y has numbers of float32\nexpected: float64, as x"):
        sparse.bsr_mm(A, sparse.bsr_identity(3, wp.mat33))
    with pytest.raises(ArrayError, match=r"y is on interp\nexpected: (cpu|cuda:0), as x"):
        sparse.bsr_mm(A, sparse.bsr_identity(3, wp.mat33d, "interp"))
    with pytest.raises(ArrayError, match="z has 4 x 3 blocks\nexpected: 4 x 4, as the product"):
        sparse.bsr_mm(A, A.T, B, masked=True)
    with pytest.raises(ArgumentTypeError, match=r"z is 3\nexpected: a BsrMatrix"):
        sparse.bsr_mm(A, A.T, 3)
