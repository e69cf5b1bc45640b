"""Matrices of SciPy, there and back: every format, shared memory, copies, numbers, bad input."""

import numpy as np
import pytest
import scipy.sparse
from random_blocks import EXTENTS, SHAPES, matrix, to_dense

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extents", [e for e in EXTENTS if all(e)])
def test_there_and_back(extents, shape):
    A, M = matrix(np.random.default_rng(71), extents, shape)
    S = sparse.bsr_to_scipy(A)
    assert S.format == ("csr" if shape == (1, 1) else "bsr") and (S.toarray() == M).all()
    B = sparse.bsr_from_scipy(S)
    assert B.block_shape == shape and (to_dense(B) == M).all() and B.nnz == A.nnz
    assert (sparse.bsr_to_scipy(2.0 * A.T).toarray() == 2.0 * M.T).all()


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_other_formats_become_matrices_of_numbers(form, kind):
    M = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0], [0.0, 5.0, 0.0]])
    A = sparse.bsr_from_scipy(getattr(scipy.sparse, f"csr_{kind}")(M).asformat(form), requires_grad=True)
    assert A.dtype is wp.float64 and A.requires_grad and (to_dense(A) == M).all()


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(1, 1), (2, 3)])
def test_memory_is_shared_where_it_fits(shape):
    A, M = matrix(np.random.default_rng(72), (4, 5), shape)
    S = sparse.bsr_to_scipy(A)
    S.data *= 2.0
    assert (to_dense(A) == 2.0 * M).all()
    B = sparse.bsr_from_scipy(S)
    assert all(np.shares_memory(a, b.numpy()) for a, b in ((S.data, B.values), (S.indices, B.columns)))
    sparse.bsr_scale(B, 3.0)
    assert (S.toarray() == 6.0 * M).all()
    S.data[...] = 0.0
    C, D = sparse.bsr_from_scipy(S, copy=True), sparse.bsr_to_scipy(B, copy=True)
    S.data[...] = 1.0
    assert not to_dense(C).any() and not D.toarray().any() and to_dense(B).any()


def test_what_is_out_of_order_is_copied():
    data, indices, indptr = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 3, 4])
    S = scipy.sparse.csr_matrix((data, indices, indptr), shape=(3, 3))
    for form in (S, S.copy().astype(np.float32)):
        A = sparse.bsr_from_scipy(form)
        assert to_dense(A).tolist() == [[2.0, 0.0, 4.0], [0.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    assert S.indices.tolist() == [2, 0, 2, 1]
    T = scipy.sparse.bsr_matrix((data.reshape(2, 1, 2), [1, 0], [0, 2]), shape=(1, 4))
    assert to_dense(sparse.bsr_from_scipy(T)).tolist() == [[3.0, 4.0, 1.0, 2.0]]
    wide = scipy.sparse.csr_array(np.eye(3))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert (to_dense(sparse.bsr_from_scipy(wide)) == np.eye(3)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_numbers_keep_their_type(dtype):
    A = sparse.bsr_from_scipy(scipy.sparse.eye(3, format="csr", dtype=dtype))
    assert np.dtype(A.scalar_type) == dtype and sparse.bsr_to_scipy(A).dtype == dtype


def test_bad_input():
    with pytest.raises(ArgumentTypeError, match="matrix is ndarray\nexpected: a sparse matrix of SciPy"):
        sparse.bsr_from_scipy(np.eye(3))
    with pytest.raises(ArgumentTypeError, match="matrix has numbers of complex128\nexpected: integers or floats"):
        sparse.bsr_from_scipy(scipy.sparse.eye(3, dtype=complex, format="csr"))
    with pytest.raises(ArgumentTypeError, match="A has blocks of mat22h\nexpected: numbers that SciPy takes"):
        sparse.bsr_to_scipy(sparse.bsr_identity(2, wp.mat22h))
