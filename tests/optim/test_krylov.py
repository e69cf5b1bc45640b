"""Parts of Krylov methods: orthogonal bases, exactness after n steps, and what stops an iteration."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim import krylov
from warpsim.optim.operators import aslinearoperator
from warpsim.optim.subproblems import Whole
from warpsim.optim.vectors import vector


class Watch(list):
    """The norms of residuals that a cycle reports, which may be so many."""

    def __init__(self, budget=1):
        self.budget, self.count = budget, 0

    def __call__(self, sizes):
        self.count += 1
        self.append(sizes[0])
        return (sizes < 1e-12) | (self.count >= self.budget)


def system_of(A, like, watch):
    system = krylov.System(aslinearoperator(wp.array(A)), None, krylov.Room(like.typed), Whole(like.flat.size))
    system.watch = watch
    return system


def residuals(method, A, b, budget):
    """What stopped one cycle from zero, the residual norms it reported, and the solution."""
    x, r, seen = vector(wp.zeros(len(b), dtype=wp.float64)), vector(wp.array(b)), Watch(budget)
    system = system_of(A, x, seen)
    method(system, x, r, 31 if method is krylov.gmres else None)
    return system.trouble[0], seen, x.typed.numpy()


def spd(n, seed=0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return turn @ np.diag(np.linspace(1.0, 30.0, n)) @ turn.T, rng.standard_normal(n)


@pytest.mark.parametrize("method", [krylov.cg, krylov.cr, krylov.bicgstab, krylov.gmres])
def test_reported_residuals_are_true_ones(method):
    A, b = spd(12)
    for budget in (1, 2, 5, 12):
        _, seen, x = residuals(method, A, b, budget)
        assert seen[-1] == pytest.approx(float(np.linalg.norm(b - A @ x)), rel=1e-6, abs=1e-11)


def test_conjugate_gradients_minimise_the_energy_over_the_krylov_space():
    A, b = spd(10)
    for steps in (1, 2, 4):
        space = np.stack([np.linalg.matrix_power(A, k) @ b for k in range(steps)], axis=1)
        best = space @ np.linalg.solve(space.T @ A @ space, space.T @ b)
        np.testing.assert_allclose(residuals(krylov.cg, A, b, steps)[2], best, rtol=1e-8)


@pytest.mark.parametrize("method", [krylov.gmres, krylov.cr])
def test_minimal_residuals_are_minimal_over_the_krylov_space(method):
    A, b = spd(10)
    for steps in (1, 3, 5):
        space = np.stack([np.linalg.matrix_power(A, k) @ b for k in range(steps)], axis=1)
        weights = np.linalg.lstsq(A @ space, b, rcond=None)[0]
        np.testing.assert_allclose(residuals(method, A, b, steps)[2], space @ weights, rtol=1e-6)


def test_gram_schmidt_keeps_a_nearly_dependent_basis_orthonormal():
    rng = np.random.default_rng(2)
    basis = []
    for _ in range(8):
        new = vector(wp.array(1.0 + 1e-7 * rng.standard_normal(50)))
        before = new.typed.numpy().copy()
        parts = krylov.orthogonalise(system_of(np.eye(50), new, Watch()), new, basis)[0]
        basis.append(new)
        rows = np.stack([v.typed.numpy() for v in basis])
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(basis)), atol=1e-12)
        np.testing.assert_allclose(parts @ rows, before, rtol=1e-13)


def test_gram_schmidt_finds_a_dependent_vector():
    first = vector(wp.array([1.0, 0.0], dtype=wp.float64))
    system = system_of(np.eye(2), first, Watch())
    assert krylov.orthogonalise(system, first, []).tolist() == [[1.0]]
    second = vector(wp.array([3.0, 0.0], dtype=wp.float64))
    assert krylov.orthogonalise(system, second, [first]).tolist() == [[3.0, 0.0]]


@pytest.mark.parametrize(
    ("method", "A", "problem"),
    [
        (krylov.cg, [[1.0, 0.0], [0.0, -3.0]], krylov.INDEFINITE),
        (krylov.cg, [[0.0, 0.0], [0.0, 0.0]], krylov.INDEFINITE),
        (krylov.cg, [[np.nan, 0.0], [0.0, 1.0]], krylov.NOT_FINITE),
        (krylov.cr, [[1.0, 0.0], [0.0, -1.0]], krylov.BREAKDOWN),
        (krylov.bicgstab, [[0.0, 1.0], [-1.0, 0.0]], krylov.BREAKDOWN),
        (krylov.bicgstab, [[np.inf, 0.0], [0.0, 1.0]], krylov.NOT_FINITE),
        (krylov.gmres, [[0.0, 0.0], [0.0, 0.0]], krylov.BREAKDOWN),
        (krylov.gmres, [[np.nan, 0.0], [0.0, 1.0]], krylov.NOT_FINITE),
    ],
)
def test_what_stops_an_iteration(method, A, problem):
    with np.errstate(invalid="ignore"):
        assert residuals(method, np.array(A), np.ones(2), 10)[0] == problem
