"""Linear solves against NumPy: every method, matrix and dtype; honest ends; operands that do not fit."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sparse

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError, NotConvergedError
from warpsim.optim.linear import CsrMatrix, LinearOperator, bicgstab, cg, cr, gmres, preconditioner

METHODS = {"cg": cg, "cr": cr, "bicgstab": bicgstab, "gmres": gmres}


def system(n, kind="spd", seed=0):
    """A matrix (n, n) of condition up to 50, and a right side."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.linspace(1.0, 50.0, n)
    if kind == "indefinite":
        values = np.where(np.arange(n) % 3 == 0, -values, values)
    matrix = turn @ np.diag(values) @ turn.T
    if kind == "general":
        matrix = rng.standard_normal((n, n)) + (np.sqrt(n) + 2.0) * np.eye(n)
    return matrix, rng.standard_normal(n)


CASES = [
    ("cg", "spd"),
    ("cr", "spd"),
    ("cr", "indefinite"),
    ("bicgstab", "general"),
    ("gmres", "general"),
    ("gmres", "indefinite"),
]


@pytest.mark.parametrize("n", [1, 2, 9, 60])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 2e-3)])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_solutions_are_those_of_numpy(name, kind, dtype, rtol, form, n):
    matrix, b = system(n, kind)
    A = wp.array(matrix.astype(dtype)) if form == "dense" else sparse.csr_matrix(matrix.astype(dtype))
    options = {"restart": 60} if name == "gmres" else {}
    # The diagonal of an indefinite matrix says nothing about its inverse.
    for M in (None,) if kind == "indefinite" else (None, preconditioner(A, "diag_abs")):
        right = wp.array(b.astype(dtype))
        x = wp.zeros_like(right)
        found = METHODS[name](A, right, x, M=M, **options)
        expected = np.linalg.solve(matrix, b)
        np.testing.assert_allclose(x.numpy(), expected, rtol=rtol, atol=rtol * np.abs(expected).max())
        assert found.converged and found.residual <= found.tolerance
        true = np.linalg.norm(b - matrix @ x.numpy().astype(np.float64))
        assert found.residual == pytest.approx(float(true), rel=0.5, abs=2e-6 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("restart", [1, 2, 5])
def test_gmres_restarts(restart):
    matrix, b = system(20, "general")
    x = wp.zeros(20, dtype=wp.float64)
    assert gmres(wp.array(matrix), wp.array(b), x, restart=restart).converged
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix, b), rtol=1e-8, atol=1e-10)


@wp.kernel
def _stencil(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3), z: wp.array(dtype=wp.vec3), a: float, b: float):
    i = wp.tid()
    total = 2.5 * x[i]
    if i > 0:
        total = total - x[i - 1]
    if i < x.shape[0] - 1:
        total = total - x[i + 1]
    z[i] = a * total + b * y[i]


def test_an_operator_of_ones_own_on_vectors():
    def matvec(x, y, z, alpha, beta):
        wp.launch(_stencil, dim=x.shape[0], inputs=[x, y, z, alpha, beta])

    b = np.random.default_rng(0).standard_normal((30, 3)).astype(np.float32)
    dense = 2.5 * np.eye(30) - np.eye(30, k=1) - np.eye(30, k=-1)
    for method in METHODS.values():
        right = wp.array(b, dtype=wp.vec3)
        x = wp.zeros_like(right)
        assert method(LinearOperator((30, 30), wp.vec3, None, matvec), right, x).converged
        np.testing.assert_allclose(x.numpy(), np.linalg.solve(dense, b), rtol=1e-3, atol=1e-4)


def test_the_first_guess_counts():
    matrix, b = system(40)
    x = wp.array(np.linalg.solve(matrix, b))
    before = x.numpy().copy()
    assert cg(wp.array(matrix), wp.array(b), x)[:1] == (0,)
    assert x.numpy().tobytes() == before.tobytes()


def test_a_right_side_of_zero_has_the_solution_zero():
    matrix, _ = system(5)
    for name, method in METHODS.items():
        x = wp.zeros(5, dtype=wp.float64)
        assert method(wp.array(matrix), wp.zeros(5, dtype=wp.float64), x) == (0, 0.0, 0.0), name


@pytest.mark.cpu(reason="thousands of launches, which others make too")
def test_a_preconditioner_saves_iterations():
    scales = np.geomspace(1.0, 1e4, 200)
    matrix = np.diag(scales) + 0.1 * (np.eye(200, k=1) + np.eye(200, k=-1))
    b = np.ones(200)
    for method in METHODS.values():
        counts = []
        for M in (None, preconditioner(wp.array(matrix))):
            x = wp.zeros(200, dtype=wp.float64)
            counts.append(method(wp.array(matrix), wp.array(b), x, M=M, tol=1e-8, maxiter=3000).iterations)
            np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix, b), rtol=1e-4, atol=1e-9)
        assert counts[1] < 0.25 * counts[0]


def test_tolerances():
    matrix, b = system(30)
    size = float(np.linalg.norm(b))
    A, right = wp.array(matrix), wp.array(b)
    for options, expected in (
        ({"tol": 1e-3}, 1e-3 * size),
        ({"atol": 0.2}, 0.2),
        ({"tol": 1e-3, "atol": 0.2}, 0.2),
        ({}, np.finfo(float).eps ** 0.75 * size),
    ):
        found = cg(A, right, wp.zeros(30, dtype=wp.float64), **options)
        assert found.tolerance == pytest.approx(expected) and found.residual <= found.tolerance


def test_the_callback_is_called_as_often_as_asked():
    matrix, b = system(30)
    seen = []
    found = cg(
        wp.array(matrix),
        wp.array(b),
        wp.zeros(30, dtype=wp.float64),
        check_every=3,
        callback=lambda k, residual, tolerance: seen.append((k, residual, tolerance)),
    )
    assert [k for k, _, _ in seen] == list(range(3, found.iterations + 1, 3))
    assert seen[-1][1] < seen[0][1] and {t for _, _, t in seen} == {found.tolerance}


@pytest.mark.parametrize(
    ("method", "matrix", "reason"),
    [
        (cg, np.diag([1.0, -2.0]), "indefinite"),
        (cg, np.zeros((2, 2)), "indefinite"),
        (cr, np.array([[0.0, 1.0], [1.0, 0.0]]), None),
        (cr, np.diag([1.0, -1.0]), "breakdown"),
        (bicgstab, np.array([[0.0, 1.0], [-1.0, 0.0]]), "breakdown"),
        (gmres, np.diag([1.0, 0.0]), "breakdown"),
        (gmres, np.array([[0.0, 1.0], [-1.0, 0.0]]), None),
        (gmres, np.diag([np.nan, 1.0]), "not finite"),
        (cg, np.diag([np.inf, 1.0]), "not finite"),
    ],
)
def test_ends_without_a_solution(method, matrix, reason):
    found = method(wp.array(matrix), wp.ones(2, dtype=wp.float64), wp.zeros(2, dtype=wp.float64))
    assert found.reason == (reason or "converged")
    if reason is None:
        assert found.checked() is found
        return
    with pytest.raises(NotConvergedError, match=f"iterations: {reason}\nfound: a residual of .*\nexpected: at most"):
        found.checked()


def test_maxiter_is_kept():
    matrix, b = system(60, "general")
    spd, _ = system(60)
    for name, method in METHODS.items():
        A = spd if name in ("cg", "cr") else matrix
        found = method(wp.array(A), wp.array(b), wp.zeros(60, dtype=wp.float64), maxiter=4)
        assert (found.iterations, found.reason) == (4, "maxiter"), name
        assert found.residual < np.linalg.norm(b), "four iterations must help"


def test_a_tolerance_below_rounding_ends_in_stagnation():
    matrix, b = system(30)
    found = cg(
        wp.array(matrix.astype(np.float32)),
        wp.array(b.astype(np.float32)),
        wp.zeros(30, dtype=wp.float32),
        tol=1e-12,
        maxiter=100_000,
    )
    assert found.reason == "stagnated" and found.iterations < 1000
    assert found.residual < 1e-4 * np.linalg.norm(b)


def test_unpacks_as_three_numbers():
    matrix, b = system(3)
    found = cg(wp.array(matrix), wp.array(b), wp.zeros(3, dtype=wp.float64))
    iterations, residual, tolerance = found
    assert iterations == 3 and residual <= tolerance
    assert repr(found).startswith("Solve(iterations=3, residual=") and repr(found).endswith("reason='converged')")


def test_outcomes_are_copied_and_pickled():
    matrix, b = system(3)
    found = cg(wp.array(matrix), wp.array(b), wp.zeros(3, dtype=wp.float64), maxiter=1)
    for other in (copy.copy(found), pickle.loads(pickle.dumps(found))):
        assert other == found and other.reason == "maxiter"


def test_scripts_for_warp_name_what_only_cuda_needs():
    matrix, b = system(3)
    for method in METHODS.values():
        x = wp.zeros(3, dtype=wp.float64)
        assert method(wp.array(matrix), wp.array(b), x, tol=1e-9, check_every=5, use_cuda_graph=False).converged


@pytest.mark.cpu
def test_the_same_bits_on_any_number_of_threads():
    n = 20_000
    A = CsrMatrix.from_scipy(sparse.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(n, n), format="csr", dtype=np.float32))
    b = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    for method in METHODS.values():
        ends = []
        for threads in (1, 2):
            wp.set_num_threads(threads)
            x = wp.zeros(n, dtype=float)
            method(A, wp.array(b), x)
            ends.append(x.numpy().tobytes())
        assert ends[0] == ends[1]


def test_runs_on_the_interpreter():
    matrix, b = system(4)
    for method in METHODS.values():
        A, right = wp.array(matrix, device="interp"), wp.array(b, device="interp")
        x = wp.zeros(4, dtype=wp.float64, device="interp")
        assert method(A, right, x).converged
        np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix, b), rtol=1e-9)


def test_operands_that_do_not_fit():
    A, b = wp.array(np.eye(3)), wp.ones(3, dtype=wp.float64)
    with pytest.raises(ArrayError, match=r"x has shape \(2,\) and dtype float64\nexpected: shape \(3,\)"):
        cg(A, b, wp.zeros(2, dtype=wp.float64))
    with pytest.raises(ArrayError, match=r"A has shape \(3, 3\)\nexpected: \(2, 2\), for b of 2 elements"):
        cg(A, wp.ones(2, dtype=wp.float64), wp.zeros(2, dtype=wp.float64))
    with pytest.raises(ArrayError, match=r"\(2, 2\), for b of 2 elements, or 3 times as many"):
        cg(A, wp.ones(2, dtype=wp.vec3d), wp.zeros(2, dtype=wp.vec3d))
    with pytest.raises(ArrayError, match="A has dtype float64\nexpected: numbers of float32, as b"):
        cg(A, wp.ones(3, dtype=float), wp.zeros(3, dtype=float))
    with pytest.raises(ArrayError, match="M has shape"):
        cg(A, b, wp.zeros(3, dtype=wp.float64), M=preconditioner(wp.array(np.eye(4))))
    with pytest.raises(ArrayError, match="x shares memory with b\nhelp: give the solution an array of its own"):
        cg(A, b, b)
    with pytest.raises(ArrayError, match=f"A is on {wp.get_device()}\nexpected: interp"):
        cg(A, b.to("interp"), wp.zeros(3, dtype=wp.float64, device="interp"))
    with pytest.raises(ArgumentTypeError, match="b is ndarray\nexpected: a warpsim array"):
        cg(A, np.ones(3), b)
    with pytest.raises(ValueError, match="restart is 0\nexpected: at least 1"):
        gmres(A, b, wp.zeros(3, dtype=wp.float64), restart=0)
