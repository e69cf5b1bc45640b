"""Factorised approximate inverses: G A G^T has the diagonal 1, whole rows are the Cholesky factor, updates fit anew."""

import numpy as np
import pytest
from scipy.sparse import bsr_matrix, csr_matrix, diags, eye, kron, random

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.optim.linear import FSAI, bicgstab, cg, cr, gmres, preconditioner
from warpsim.sparse import bsr_from_scipy, bsr_get_diag, bsr_zeros

METHODS = {"cg": cg, "cr": cr, "bicgstab": bicgstab, "gmres": gmres}


def plate(n, shift=0.01):
    """The five-point Laplacian of n by n points, (n^2, n^2)."""
    line = diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return (kron(line, eye(n)) + kron(eye(n), line) + shift * eye(n * n)).tocsr()


def scattered(n, seed):
    """A random sparse symmetric positive definite matrix."""
    m = random(n, n, 3.0 / n, random_state=np.random.default_rng(seed))
    return csr_matrix(m @ m.T + 0.1 * eye(n))


def dense(M):
    return csr_matrix((M.values.numpy(), M.columns.numpy(), M.offsets.numpy()), M.shape).toarray().astype(float)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("step", [1, 3])
def test_rows_have_the_energy_one_on_supports_of_the_length_that_was_asked_for(seed, step):
    A = scattered(40, seed)
    M = FSAI(bsr_from_scipy(A), max_row_size=5, kap_tolerance=0.0, max_step_size=step)
    G = dense(M.G)
    np.testing.assert_allclose(np.diag(G @ A.toarray() @ G.T), 1.0, rtol=1e-12)
    assert not np.triu(G, 1).any() and (np.diag(G) > 0.0).all()
    assert (G != 0.0).sum(axis=1).max() <= 5 and M.truncated_rows == 0
    np.testing.assert_array_equal(dense(M.GT), G.T)
    for i in range(40):  # of all rows with such a support and diagonal, the least energy
        support = np.flatnonzero(G[i, :i])
        best = -np.linalg.solve(A.toarray()[np.ix_(support, support)], A.toarray()[support, i])
        np.testing.assert_allclose(G[i, support] / G[i, i], best, rtol=1e-7, atol=1e-9)


def test_rows_without_a_limit_are_the_inverse_of_the_cholesky_factor():
    A = plate(5)
    G = dense(FSAI(bsr_from_scipy(A), max_row_size=64, kap_tolerance=0.0).G)
    np.testing.assert_allclose(G, np.linalg.inv(np.linalg.cholesky(A.toarray())), rtol=1e-9, atol=1e-12)


def test_one_entry_a_row_is_the_diagonal():
    A = bsr_from_scipy(plate(4))
    d = wp.ones(16, dtype=wp.float64)
    found, expected = wp.zeros_like(d), wp.zeros_like(d)
    FSAI(A, max_row_size=1).matvec(d, found, found, 1.0, 0.0)
    preconditioner(A).matvec(d, expected, expected, 1.0, 0.0)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-14)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_iterations_are_saved(name, dtype, tol):
    A = bsr_from_scipy(plate(20).astype(dtype))
    b = wp.array(np.random.default_rng(0).standard_normal(400).astype(dtype))
    options = {"restart": 100} if name == "gmres" else {}
    counts = []
    for M in (preconditioner(A), preconditioner(A, "fsai"), FSAI(A, max_row_size=20, max_step_size=4)):
        result = METHODS[name](A, b, wp.zeros_like(b), M=M, tol=tol, **options)
        assert result.converged
        counts.append(result.iterations)
    assert counts[1] < 0.7 * counts[0] and counts[2] < 0.8 * counts[1]


def test_blocks_are_taken_as_numbers():
    A = scattered(24, 5)
    blocks = bsr_from_scipy(bsr_matrix(A, blocksize=(3, 3)))
    np.testing.assert_allclose(dense(FSAI(blocks).G), dense(FSAI(bsr_from_scipy(A)).G), rtol=1e-14)
    b = wp.array(np.random.default_rng(1).standard_normal((8, 3)), dtype=wp.vec3d)
    x = wp.zeros_like(b)
    assert cg(blocks, b, x, M=FSAI(blocks)).converged
    np.testing.assert_allclose(A @ x.numpy().ravel(), b.numpy().ravel(), rtol=1e-8, atol=1e-8)


def test_halves_and_factors_of_less_digits():
    A = plate(6, shift=0.5)
    half = FSAI(bsr_from_scipy(A.astype(np.float32)), factor_dtype=wp.float32)
    single = FSAI(bsr_from_scipy(A), factor_dtype=float)
    assert single.G.dtype is wp.float32 and single.dtype is wp.float64 and half.G.dtype is wp.float32
    np.testing.assert_allclose(dense(single.G), dense(FSAI(bsr_from_scipy(A)).G), rtol=1e-6)
    b = wp.ones(36, dtype=wp.float64)
    assert cg(bsr_from_scipy(A), b, wp.zeros_like(b), M=single).converged


def test_updates_fit_the_same_supports_to_other_numbers():
    A = scattered(30, 7)
    matrix = bsr_from_scipy(A)
    M = FSAI(matrix, reuse_pattern=True)
    before = dense(M.G)
    matrix.values = wp.array(2.0 * matrix.values.numpy())
    M.update()
    np.testing.assert_allclose(dense(M.G), before / np.sqrt(2.0), rtol=1e-12)
    other = bsr_from_scipy(csr_matrix(A + diags(np.linspace(0.0, 1.0, 30))))
    M.update(other)
    G = dense(M.G)
    np.testing.assert_array_equal(G != 0.0, before != 0.0)
    np.testing.assert_allclose(np.diag(G @ dense(other) @ G.T), 1.0, rtol=1e-12)
    assert M.source is other


def test_an_update_that_fails_changes_nothing():
    matrix = bsr_from_scipy(scattered(10, 8))
    M = FSAI(matrix, reuse_pattern=True)
    before = dense(M.G)
    with pytest.raises(
        ArrayError, match=r"10 entries of the diagonal are not positive, the first is -.* in row 0\nexpect"
    ):
        M.update(bsr_from_scipy(-scattered(10, 8)))
    with pytest.raises(ValueError, match=r"expected: one of shape \(10, 10\), float64"):
        M.update(bsr_from_scipy(scattered(11, 8)))
    np.testing.assert_array_equal(dense(M.G), before)
    with pytest.raises(ValueError, match="keeps no supports\nhelp: make it with reuse_pattern=True"):
        FSAI(matrix).update()


def test_pivots_cut_rows_of_matrices_that_are_nearly_singular():
    A = csr_matrix(np.ones((4, 4)) + 1e-9 * np.eye(4))
    M = FSAI(bsr_from_scipy(A), kap_tolerance=0.0, pivot_floor=1e-6)
    assert M.truncated_rows == 3 and np.isfinite(dense(M.G)).all()
    indefinite = FSAI(bsr_from_scipy(csr_matrix(np.array([[1.0, 5.0], [5.0, 1.0]]))))
    assert indefinite.truncated_rows == 1 and dense(indefinite.G).tolist() == np.eye(2).tolist()


def test_gradients_go_through_solves_with_it():
    A = scattered(12, 9)
    matrix = bsr_from_scipy(A)
    matrix.values.requires_grad = True
    b = wp.array(np.random.default_rng(2).standard_normal(12), requires_grad=True)
    x = wp.zeros_like(b)
    with wp.Tape() as tape:
        cg(matrix, b, x, M=FSAI(matrix), tol=1e-13)
    seed = wp.array(np.arange(12.0))
    tape.backward(grads={x: seed})
    back = np.linalg.solve(A.toarray(), np.arange(12.0))
    np.testing.assert_allclose(b.grad.numpy(), back, rtol=1e-8)
    diagonal = wp.zeros(12, dtype=wp.float64)
    slopes = bsr_from_scipy(A)
    slopes.values = matrix.values.grad
    bsr_get_diag(slopes, diagonal)
    np.testing.assert_allclose(diagonal.numpy(), -back * np.linalg.solve(A.toarray(), b.numpy()), rtol=1e-7, atol=1e-9)


def test_an_empty_matrix():
    M = FSAI(bsr_zeros(0, 0, wp.float64))
    assert M.shape == (0, 0) and M.truncated_rows == 0


def test_what_it_does_not_take():
    good = bsr_from_scipy(plate(3))
    for A in (wp.array(np.eye(3)), bsr_zeros(2, 3, wp.float32), bsr_zeros(2, 3, wp.types.matrix((3, 2), float))):
        with pytest.raises(ValueError, match="expected: a square BsrMatrix with square blocks, for FSAI"):
            FSAI(A)
    with pytest.raises(ArgumentTypeError, match="A has blocks of int32\nexpected: float16"):
        FSAI(bsr_zeros(2, 2, int))
    with pytest.raises(ArrayError, match=r"2 entries of the diagonal are not positive, the first is 0\.0 in row 0"):
        FSAI(bsr_zeros(2, 2, wp.float64))
    wrong = {
        "max_row_size": 65,
        "max_step_size": 0,
        "kap_tolerance": 1.0,
        "pivot_floor": 0.0,
        "factor_dtype": wp.float16,
    }
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=f"{name} is .*\nexpected"):
            FSAI(good, **{name: value})
    for name, value in {"max_row_size": 1.5, "kap_tolerance": "1", "pivot_floor": "1"}.items():
        with pytest.raises(ArgumentTypeError, match=f"{name} is {value!r}"):
            FSAI(good, **{name: value})
    with pytest.raises(ValueError, match="max_row_size is True\nexpected: 1 to 64"):
        FSAI(good, max_row_size=True)
