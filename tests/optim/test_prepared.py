"""Prepared solvers, `CG(A, b, x)` and its kin: run many times, with other operands, on tapes; restarts."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError
from warpsim.optim.linear import CG, CR, GMRES, BiCGSTAB, LinearSolverState, bicgstab, cg, cr, gmres, preconditioner

SOLVERS = {CG: cg, CR: cr, BiCGSTAB: bicgstab, GMRES: gmres}


def system(n=12, seed=0):
    """A symmetric positive definite matrix (n, n) and a right side."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, n))
    return factor @ factor.T + n * np.eye(n), rng.standard_normal(n)


def close(x, matrix, b):
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix, b), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_a_prepared_solver_runs_again_and_again(solver, scale):
    matrix, b = system()
    A, right, x = wp.array(matrix), wp.array(scale * b), wp.zeros(12, dtype=wp.float64)
    state = solver(A, right, x)
    for _ in range(3):
        x.zero_()
        assert state().converged
        close(x, matrix, scale * b)
    right.assign(-b)  # what the arrays hold when it is called counts
    assert state().converged
    close(x, matrix, -b)


@pytest.mark.parametrize("solver", SOLVERS)
def test_other_operands_stand_in_for_one_call(solver):
    (matrix, b), (other, c) = system(), system(seed=1)
    A, right, x = wp.array(matrix), wp.array(b), wp.zeros(12, dtype=wp.float64)
    state = solver(A, right, x)
    y = wp.zeros_like(x)
    assert state(A=wp.array(other), b=wp.array(c), x=y, M=preconditioner(wp.array(other))).converged
    close(y, other, c)
    assert not x.numpy().any()
    assert state().converged
    close(x, matrix, b)


@pytest.mark.parametrize("solver", SOLVERS)
def test_functions_hand_out_the_solver_instead_of_running_it(solver):
    matrix, b = system()
    x = wp.zeros(12, dtype=wp.float64)
    state = SOLVERS[solver](wp.array(matrix), wp.array(b), x, run=False)
    assert type(state) is solver and isinstance(state, LinearSolverState) and not x.numpy().any()
    once = wp.zeros_like(x)
    assert tuple(state()) == tuple(SOLVERS[solver](wp.array(matrix), wp.array(b), once))
    assert x.numpy().tobytes() == once.numpy().tobytes()


def test_what_a_failed_solve_left_in_the_vectors_does_not_matter():
    matrix, b = system()
    A, right, x = wp.array(matrix), wp.array(b), wp.zeros(12, dtype=wp.float64)
    state = CG(A, right, x)
    assert state(A=wp.full((12, 12), np.nan, dtype=wp.float64)).reason == "not finite"
    x.zero_()
    assert state().converged
    close(x, matrix, b)


@pytest.mark.parametrize("solver", [CG, CR])
@pytest.mark.parametrize("restart", [1, 2, 5, 100])
def test_restarts_reach_the_solution(solver, restart):
    matrix, b = system()
    x = wp.zeros(12, dtype=wp.float64)
    ended = solver(wp.array(matrix), wp.array(b), x, restart=restart, maxiter=2000)()
    assert ended.converged
    close(x, matrix, b)


def test_a_restart_each_step_is_steepest_descent():
    matrix, b = system()
    x, expected = wp.zeros(12, dtype=wp.float64), np.zeros(12)
    cg(wp.array(matrix), wp.array(b), x, restart=1, maxiter=4)
    for _ in range(4):
        r = b - matrix @ expected
        expected = expected + (r @ r) / (r @ matrix @ r) * r
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_calls_on_a_tape_have_gradients(solver):
    matrix, b = system(5)
    A = wp.array(matrix)
    right, x = wp.array(b, requires_grad=True), wp.zeros(5, dtype=wp.float64, requires_grad=True)
    state = solver(A, right, x, tol=1e-13)
    for _ in range(2):
        with wp.Tape() as tape:
            state()
        tape.backward(grads={x: wp.ones_like(x)})
        np.testing.assert_allclose(right.grad.numpy(), np.linalg.solve(matrix.T, np.ones(5)), rtol=1e-9)
        tape.zero()


def test_operands_that_do_not_fit():
    matrix, b = system()
    A, right, x = wp.array(matrix), wp.array(b), wp.zeros(12, dtype=wp.float64)
    with pytest.raises(ValueError, match="restart is 0\nexpected: at least 1"):
        CG(A, right, x, restart=0)
    with pytest.raises(TypeError, match="expected: CG, CR, BiCGSTAB or GMRES"):
        LinearSolverState(A, right, x, None, None)
    with pytest.raises(ArrayError, match="x has"):
        CG(A, right, wp.zeros(11, dtype=wp.float64))
    state = CG(A, right, x)
    for operands in (
        {"x": wp.zeros(11, dtype=wp.float64)},
        {"b": wp.zeros(11, dtype=wp.float64)},
        {"b": wp.zeros(12)},
        {"A": wp.zeros((3, 3), dtype=wp.float64)},
    ):
        with pytest.raises(ArrayError):
            state(**operands)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_runs_on_devices(device):
    matrix, b = system(4)
    x = wp.zeros(4, dtype=wp.float64, device=device)
    state = CG(wp.array(matrix, device=device), wp.array(b, device=device), x)
    for _ in range(2):
        x.zero_()
        assert state().converged
    close(x, matrix, b)
