"""Operators against dense NumPy matrices: products, transposes, alpha and beta, patterns, and bad input."""

import numpy as np
import pytest
import scipy.sparse as sparse

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError, LaunchError
from warpsim.optim.linear import (
    CsrMatrix,
    LinearOperator,
    aslinearoperator,
    bicgstab,
    cg,
    cr,
    gmres,
    preconditioner,
)

METHODS = (cg, cr, bicgstab, gmres)


def matrices(n=9, dtype=np.float64):
    """One matrix as a dense array, a CsrMatrix, and SciPy's formats, with an empty row and a repeated entry."""
    rng = np.random.default_rng(n)
    dense = np.where(rng.random((n, n)) < 0.4, rng.standard_normal((n, n)), 0.0).astype(dtype)
    dense[3] = 0.0
    csr = sparse.csr_matrix(dense)
    twice = sparse.coo_matrix(dense)
    double = sparse.coo_matrix(
        (np.concatenate([twice.data / 2, twice.data / 2]), (np.tile(twice.row, 2), np.tile(twice.col, 2))), (n, n)
    )
    return dense, [wp.array(dense), CsrMatrix.from_scipy(csr), csr, csr.tocsc(), csr.tobsr((3, 3)), double]


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_and_transposes(kind, dtype):
    dense, forms = matrices(dtype=dtype)
    operator = aslinearoperator(forms[kind])
    assert operator.shape == (9, 9)
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 9)).astype(dtype)
    turned = operator.transposed()
    for one, matrix in ((operator, dense), (turned, dense.T), (turned.transposed(), dense)):
        a, b, z = wp.array(x), wp.array(y), wp.zeros(9, dtype=dtype)
        one.matvec(a, b, z, 2.0, -0.5)
        np.testing.assert_allclose(z.numpy(), 2.0 * matrix @ x - 0.5 * y, rtol=1e-4, atol=1e-5)
        one.matvec(a, b, b, 1.0, 3.0)
        np.testing.assert_allclose(b.numpy(), matrix @ x + 3.0 * y, rtol=1e-4, atol=1e-5)


def test_beta_zero_does_not_read_y():
    _, forms = matrices()
    for form in forms[:3]:
        y = wp.full(9, np.nan, wp.float64)
        aslinearoperator(form).matvec(wp.ones(9, dtype=wp.float64), y, y, 1.0, 0.0)
        assert np.isfinite(y.numpy()).all()


def test_vectors_are_read_as_their_components():
    dense, forms = matrices()
    x, z = np.arange(9.0), wp.zeros(3, dtype=wp.vec3d)
    aslinearoperator(forms[0]).matvec(wp.array(x.reshape(3, 3), dtype=wp.vec3d), z, z, 1.0, 0.0)
    np.testing.assert_allclose(z.numpy().ravel(), dense @ x)


def test_scipy_is_copied_and_keeps_its_dtype():
    matrix = sparse.eye(3, format="csr", dtype=np.float32)
    made = CsrMatrix.from_scipy(matrix, requires_grad=True)
    matrix.data[:] = 5.0
    assert made.values.numpy().tolist() == [1.0, 1.0, 1.0] and made.values.dtype is wp.float32
    assert made.values.requires_grad


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_diagonal_preconditioners(kind):
    dense = np.diag([2.0, -4.0, 0.0, 8.0]) + np.eye(4, k=1)
    form = [wp.array(dense), CsrMatrix.from_scipy(sparse.csr_matrix(dense)), sparse.csr_matrix(dense)][kind]
    for name, inverse in (("diag", [0.5, -0.25, 1.0, 0.125]), ("diag_abs", [0.5, 0.25, 1.0, 0.125])):
        z = wp.zeros(4, dtype=wp.float64)
        preconditioner(form, name).matvec(wp.ones(4, dtype=wp.float64), z, z, 1.0, 0.0)
        assert z.numpy().tolist() == inverse
    assert preconditioner(form, "id") is None


def test_operators_of_ones_own_pass_through():
    mine = LinearOperator((2, 2), wp.vec3, None, lambda x, y, z, alpha, beta: None)
    assert aslinearoperator(mine) is mine and mine.transposed() is None
    assert repr(mine) == "LinearOperator(shape=(2, 2), dtype=vec3f)"


def test_what_is_no_matrix_is_refused():
    with pytest.raises(ArgumentTypeError, match="A is ndarray\nexpected: a 2-D or 1-D array, a BsrMatrix, a CsrMatrix"):
        aslinearoperator(np.eye(3))
    with pytest.raises(ArgumentTypeError, match="the diagonal has dtype int32"):
        aslinearoperator(wp.zeros(3, dtype=int))
    with pytest.raises(ArgumentTypeError, match="A is a 2-D array of mat22f"):
        aslinearoperator(wp.zeros((2, 2), dtype=wp.mat22))
    with pytest.raises(ArgumentTypeError, match="A is a 2-D array of int32"):
        aslinearoperator(wp.zeros((2, 2), dtype=int))
    with pytest.raises(ArrayError, match=r"shape \(2, 3\)\nexpected: as many rows as columns"):
        aslinearoperator(wp.zeros((2, 3), dtype=float))
    with pytest.raises(ArrayError, match=r"shape \(2, 3\)\nexpected: as many rows as columns"):
        aslinearoperator(sparse.csr_matrix((2, 3)))
    with pytest.raises(ArrayError, match=r"sparse matrix of shape \(2, 3\)"):
        CsrMatrix.from_scipy(sparse.csr_matrix((2, 3)))
    with pytest.raises(ValueError, match="ptype is 'ilu'\nexpected: one of 'diag', 'diag_abs'"):
        preconditioner(wp.zeros((2, 2), dtype=float), "ilu")
    with pytest.raises(ArgumentTypeError, match="the entries of LinearOperator are not known"):
        preconditioner(aslinearoperator(wp.zeros((2, 2), dtype=float)))


@pytest.mark.parametrize(
    ("offsets", "columns", "values", "message"),
    [
        ([0, 2, 1, 2], [0, 1], [1.0, 1.0], "never falling"),
        ([0, 1, 1], [0, 1], [1.0, 1.0], "from 0 to the number of values, 2"),
        ([1, 1, 2], [0, 1], [1.0, 1.0], "from 0"),
        ([0, 1, 2], [0, 2], [1.0, 1.0], "each from 0 to 1"),
        ([0, 1, 2], [-1, 1], [1.0, 1.0], "each from 0 to 1"),
        ([0, 1, 2], [0], [1.0, 1.0], "2 columns"),
    ],
)
def test_patterns_that_make_no_matrix(offsets, columns, values, message):
    with pytest.raises(ArrayError, match=message):
        CsrMatrix(wp.array(offsets, dtype=int), wp.array(columns, dtype=int), wp.array(values, dtype=float))


def test_patterns_of_wrong_dtypes():
    whole, floats = wp.array([0, 1], dtype=int), wp.array([1.0], dtype=float)
    with pytest.raises(ArgumentTypeError, match=r"offsets is array\(.* dtype=float32.*\)\nexpected: an array of int32"):
        CsrMatrix(floats, whole, floats)
    with pytest.raises(ArgumentTypeError, match=r"columns is \[0\]"):
        CsrMatrix(whole, [0], floats)
    with pytest.raises(ArgumentTypeError, match="values is an array of float32 of rank 2"):
        CsrMatrix(whole, whole, wp.ones((1, 1), dtype=float))
    with pytest.raises(ArrayError, match=r"columns is on interp\nexpected: "):
        CsrMatrix(whole, whole.to("interp"), floats)
    with pytest.raises(ArgumentTypeError, match="values has dtype int32"):
        CsrMatrix(whole, whole, whole)


def test_entries_in_any_order_and_more_than_once():
    """As a CsrMatrix takes them: products, transposes, diagonals, gradients, and what `bsr_compress` makes of it."""
    rng = np.random.default_rng(39)
    n, count = 8, 40
    rows, columns, values = np.sort(rng.integers(0, n, count)), rng.integers(0, n, count), rng.standard_normal(count)
    dense = sparse.coo_matrix((values, (rows, columns)), (n, n)).toarray()
    offsets = np.append(0, np.cumsum(np.bincount(rows, minlength=n))).astype(np.int32)
    assert (np.diff(columns) < 0).any() and len(set(zip(rows, columns, strict=True))) < count
    entries = wp.array(values, requires_grad=True)
    A = CsrMatrix(wp.array(offsets), wp.array(columns.astype(np.int32)), entries)
    np.testing.assert_array_equal(A.rows, rows)
    np.testing.assert_allclose(A.diagonal(), np.diagonal(dense), rtol=1e-14)
    x, y = (wp.array(a, requires_grad=True) for a in rng.standard_normal((2, n)))
    for operator, D, at in ((A.operator(), dense, rows), (A.operator().transposed(), dense.T, columns)):
        z = wp.zeros(n, dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            operator.matvec(x, y, z, 2.0, -0.5)
        np.testing.assert_allclose(z.numpy(), 2.0 * D @ x.numpy() - 0.5 * y.numpy(), rtol=1e-12)
        tape.backward(grads={z: y})
        other = columns if at is rows else rows
        np.testing.assert_allclose(entries.grad.numpy(), 2.0 * y.numpy()[at] * x.numpy()[other], rtol=1e-12)
        np.testing.assert_allclose(x.grad.numpy(), 2.0 * D.T @ y.numpy(), rtol=1e-12)
        tape.zero()
    B = A.matrix()
    wp.sparse.bsr_compress(B)
    assert B.nnz == np.count_nonzero(dense) and A.matrix().nnz == count
    np.testing.assert_allclose(wp.sparse.bsr_to_scipy(B).toarray(), dense, rtol=1e-12)


def test_a_matrix_in_compressed_rows_keeps_its_pattern():
    """It notices what becomes of its arrays, on a GPU what replaces them; values may be written to and replaced."""
    matrix = sparse.csr_matrix(np.arange(1.0, 10.0).reshape(3, 3))
    for name in ("offsets", "columns"):
        A = CsrMatrix.from_scipy(matrix)
        old = getattr(A, name)
        if old.device.shares_host_memory:
            old.assign(old.numpy()[::-1].copy())
            with pytest.raises(ArrayError, match=f"^offsets|{name} of a CsrMatrix changed since it was made"):
                A.operator()
        A = CsrMatrix.from_scipy(matrix)
        old = getattr(A, name)
        setattr(A, name, wp.zeros_like(old))
        with pytest.raises(ArrayError, match=f"^offsets|{name} of a CsrMatrix changed since it was made"):
            A.diagonal()
        setattr(A, name, wp.zeros(2, dtype=int))
        with pytest.raises(ArrayError, match=f"CsrMatrix.{name} is int32 of shape"):
            A.operator()
        setattr(A, name, old)
        assert A.diagonal().tolist() == [1.0, 5.0, 9.0]
        if old.device.shares_host_memory:
            with pytest.raises(ValueError, match="read-only"):
                getattr(A.matrix(), name).numpy()[:] = 0
    A.values.assign(2.0 * A.values.numpy())
    assert A.diagonal().tolist() == [2.0, 10.0, 18.0]
    A.values = wp.full(9, 7.0, wp.float64)
    assert A.diagonal().tolist() == [7.0, 7.0, 7.0]


def test_what_a_capture_cannot_know_is_refused():
    A, b = wp.array(np.eye(2)), wp.ones(2, dtype=wp.float64)
    arrays = wp.array([0, 1, 2], dtype=int), wp.array([0, 1], dtype=int), b
    made = CsrMatrix(*arrays)
    with wp.ScopedCapture() as capture:
        with pytest.raises(LaunchError, match=r"CsrMatrix\(...\) while a graph is captured: the host looks at numbers"):
            CsrMatrix(*arrays)
        for method in METHODS:
            with pytest.raises(LaunchError, match=rf"{method.__name__}\(...\) while a graph is captured"):
                method(A, b, wp.zeros_like(b))
        forms = A, made, sparse.eye(2, format="csr"), wp.sparse.bsr_identity(2, wp.float64)
        inverses = [preconditioner(form).arrays[0] for form in forms]
    wp.capture_launch(capture.graph)
    assert [a.numpy().tolist() for a in inverses] == 4 * [[1.0, 1.0]]
