"""Subproblems of linear systems: each solution is that of its own system, each end its own, and so are gradients."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError, NotConvergedError
from warpsim.optim.linear import CG, LinearOperator, aslinearoperator, bicgstab, cg, cr, gmres, preconditioner
from warpsim.sparse import bsr_from_scipy

METHODS = {"cg": cg, "cr": cr, "bicgstab": bicgstab, "gmres": gmres}
SIZES = [7, 1, 0, 12, 4]


def offsets_of(sizes, first=0):
    return wp.array(np.concatenate([[first], first + np.cumsum(sizes)]).astype(np.int32))


def matrices(sizes, symmetric=True, seed=0):
    """Matrices of condition below 50, and right sides."""
    rng = np.random.default_rng(seed)
    parts = []
    for n in sizes:
        m = rng.standard_normal((n, n)) / 4.0
        parts.append((m @ m.T if symmetric else m) + (0.3 if symmetric else 1.5) * np.eye(n))
    return parts, [rng.standard_normal(n) for n in sizes]


def together(parts, idle=0):
    """Matrices along a diagonal, with some idle rows and columns behind, whose diagonal is 1."""
    n = sum(map(len, parts))
    whole, at = np.eye(n + idle), 0
    for part in parts:
        whole[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return whole


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("with_m", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("name", METHODS)
def test_each_solution_is_that_of_its_own_system(name, dtype, tol, with_m, sparse):
    parts, rights = matrices(SIZES, symmetric=name in ("cg", "cr"))
    whole = together(parts).astype(dtype)
    A = bsr_from_scipy(csr_matrix(whole)) if sparse else wp.array(whole)
    b = wp.array(np.concatenate(rights).astype(dtype))
    x = wp.zeros_like(b)
    operator = aslinearoperator(A, batch_offsets=offsets_of(SIZES), max_batch_length=12)
    assert (operator.batch_count, operator.max_batch_length, operator.scalar_type) == (5, 12, b.dtype)
    result = METHODS[name](operator, b, x, tol=tol, M=preconditioner(A) if with_m else None)
    assert result.converged and len(result.batches) == 5
    at = 0
    for part, right, end in zip(parts, rights, result.batches, strict=True):
        found = x.numpy()[at : at + len(part)].astype(np.float64)
        residual = np.linalg.norm(right - part @ found)
        assert end.converged and residual <= 1.001 * tol * np.linalg.norm(right) + 1e-30
        assert end.iterations <= result.iterations
        at += len(part)
    assert result.batches[2] == (0, 0.0, 0.0)


def test_iterations_are_those_of_systems_alone():
    parts, rights = matrices([20, 20, 20], seed=1)
    parts[1] = np.eye(20)
    for name in ("cg", "cr", "gmres"):
        alone = []
        for part, right in zip(parts, rights, strict=True):
            x = wp.zeros(20, dtype=wp.float64)
            alone.append(METHODS[name](wp.array(part), wp.array(right), x).iterations)
        b = wp.array(np.concatenate(rights))
        operator = aslinearoperator(wp.array(together(parts)), offsets_of([20] * 3))
        result = METHODS[name](operator, b, wp.zeros_like(b))
        assert [end.iterations for end in result.batches] == alone and result.iterations == max(alone)


@pytest.mark.parametrize("name", METHODS)
def test_what_fails_leaves_the_others_alone(name):
    parts, rights = matrices([6, 6, 6, 6], seed=2)
    parts[1] = np.zeros((6, 6))
    rights[2] = np.full(6, np.nan)
    b = wp.array(np.concatenate(rights))
    x = wp.zeros_like(b)
    result = METHODS[name](aslinearoperator(wp.array(together(parts)), offsets_of([6] * 4)), b, x)
    reasons = [end.reason for end in result.batches]
    assert reasons[0] == reasons[3] == "converged" and reasons[2] == "not finite" and reasons[1] != "converged"
    assert not result.converged and result.reason == "not finite"
    for k in (0, 3):
        np.testing.assert_allclose(x.numpy()[6 * k : 6 * k + 6], np.linalg.solve(parts[k], rights[k]), rtol=1e-8)
    assert not x.numpy()[6:18].any()
    with pytest.raises(NotConvergedError, match=r"in 2 of 4 subproblems, \[1, 2\]: not finite"):
        result.checked()
    assert repr(pickle.loads(pickle.dumps(result)).batches) == repr(result.batches)


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("name", METHODS)
def test_idle_components_are_constants(name, first):
    """Rows of idle components may couple to others in any way; what they hold counts in the equations of others."""
    rng = np.random.default_rng(3)
    parts, rights = matrices([5, 4], seed=3)
    n = first + 9 + 3
    whole = np.diag(rng.uniform(1.0, 2.0, n))
    whole[first : first + 9, first : first + 9] = together(parts)
    whole[-1, :] = whole[:, 0] = 0.3  # an idle row that reads all, and a column that all read
    start = rng.standard_normal(n)
    b = np.concatenate([rng.standard_normal(first), *rights, rng.standard_normal(3)])
    operator = aslinearoperator(wp.array(whole), offsets_of([5, 4], first))
    x = wp.array(start)
    if first == 0:
        whole[:, 0] = np.r_[parts[0][:, 0], np.zeros(4), np.full(3, 0.3)]
        operator = aslinearoperator(wp.array(whole), offsets_of([5, 4], first))
    assert METHODS[name](operator, wp.array(b), x, tol=1e-12).converged
    inside = slice(first, first + 9)
    outside = np.r_[0:first, first + 9 : n]
    right = b[inside] - whole[inside, outside] @ start[outside]
    np.testing.assert_allclose(x.numpy()[inside], np.linalg.solve(whole[inside, inside], right), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(x.numpy()[outside], start[outside])


@pytest.mark.parametrize("name", METHODS)
def test_gradients_are_those_of_each_system(name):
    rng = np.random.default_rng(4)
    parts, rights = matrices([4, 3], symmetric=name in ("cg", "cr"), seed=4)
    whole = together(parts, idle=2)
    whole[:4, -1] = 0.0 if name in ("cg", "cr") else 0.2
    weights, b0, x0 = rng.standard_normal(9), np.r_[np.concatenate(rights), 1.0, 2.0], np.r_[np.zeros(7), 0.5, -0.7]

    def solution(whole, b, x):
        inside = slice(0, 7)
        return np.r_[np.linalg.solve(whole[inside, inside], b[inside] - whole[inside, 7:] @ x[7:]), x[7:]]

    A, b, x, w = (wp.array(v, requires_grad=True) for v in (whole, b0, x0, weights))
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        METHODS[name](aslinearoperator(A, offsets_of([4, 3])), b, x, tol=1e-13)
        wp.launch(weigh, 9, [x, w, loss])
    tape.backward(loss)
    back = np.r_[np.linalg.solve(whole[:7, :7].T, weights[:7]), 0.0, 0.0]
    np.testing.assert_allclose(b.grad.numpy(), back, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(A.grad.numpy(), -np.outer(back, solution(whole, b0, x0)), rtol=1e-7, atol=1e-9)
    idle = weights[7:] - whole[:7, 7:].T @ back[:7]
    np.testing.assert_allclose(x.grad.numpy(), np.r_[np.zeros(7), idle], rtol=1e-8, atol=1e-10)


@wp.kernel
def weigh(x: wp.array[wp.float64], w: wp.array[wp.float64], loss: wp.array[wp.float64]):
    i = wp.tid()
    wp.atomic_add(loss, 0, w[i] * x[i])


def test_vectors_are_counted_in_components():
    d = wp.array([[2.0, 4.0, 5.0], [1.0, 3.0, 10.0]], dtype=wp.vec3)
    b = wp.array([[2.0, 2.0, 15.0], [3.0, 3.0, 20.0]], dtype=wp.vec3)
    for method in METHODS.values():
        x = wp.zeros_like(b)
        result = method(aslinearoperator(d, offsets_of([3, 3])), b, x, tol=1e-6)
        np.testing.assert_allclose(x.numpy(), [[1.0, 0.5, 3.0], [3.0, 1.0, 2.0]], rtol=1e-5)
        assert len(result.batches) == 2


def test_solvers_that_are_kept_solve_in_batches():
    parts, rights = matrices([9, 9], seed=5)
    b = wp.array(np.concatenate(rights))
    x = wp.zeros_like(b)
    solver = CG(aslinearoperator(wp.array(together(parts)), offsets_of([9, 9])), b, x)
    assert solver().converged
    other = wp.array(2.0 * b.numpy())
    assert solver(b=other).converged
    np.testing.assert_allclose(together(parts) @ x.numpy(), other.numpy(), rtol=1e-8, atol=1e-8)


def test_cycles_of_a_fixed_length_look_at_residuals_in_their_ends():
    parts, rights = matrices([30, 30], seed=6)
    for batches in (None, offsets_of([30, 30])):
        operator, b = aslinearoperator(wp.array(together(parts)), batches), wp.array(np.concatenate(rights))
        for method in (cg, cr):
            calls, x = [], wp.zeros_like(b)
            result = method(operator, b, x, callback=lambda *told, calls=calls: calls.append(told), restart=4)
            assert result.converged and result.iterations % 4 == 0
            assert [told[0] for told in calls] == list(range(0, result.iterations + 1, 4))
            assert calls[-1][1:] == (result.residual, result.tolerance)
            np.testing.assert_allclose(together(parts) @ x.numpy(), b.numpy(), rtol=1e-8, atol=1e-8)


def test_the_farthest_residual_is_told():
    parts, rights = matrices([15, 15], seed=7)
    parts[0], told = np.eye(15), []
    b = wp.array(np.concatenate(rights))
    operator = aslinearoperator(wp.array(together(parts)), offsets_of([15, 15]))
    cg(operator, b, wp.zeros_like(b), callback=lambda *now: told.append(now), check_every=1)
    assert all(tolerance == told[-1][2] for _, _, tolerance in told)
    assert told[-1][2] == pytest.approx(np.linalg.norm(rights[1]) * np.finfo(np.float64).eps ** 0.75)


WRONG = {
    "offsets that fall": ([0, 5, 3], None, ArrayError, "expected: offsets that never fall, from 0 to 6"),
    "offsets behind the end": ([0, 9], None, ArrayError, "number of components of b"),
    "offsets below 0": ([-1, 6], None, ArrayError, "never fall, from 0"),
    "one offset": ([0], None, ArrayError, "batch_offsets has 1 element\nexpected: 2, or more"),
    "a longest that is too short": ([0, 2, 6], 3, ArrayError, "a subproblem has 4 components\nexpected: at most"),
    "a negative longest": ([0, 6], -1, ValueError, "max_batch_length is -1\nexpected"),
    "a longest alone": (None, 6, ValueError, "max_batch_length is 6 alone\nhelp: it requires batch_offsets"),
}


@pytest.mark.parametrize("what", WRONG)
def test_offsets_that_are_none(what):
    offsets, longest, error, message = WRONG[what]
    A, b = wp.array(np.eye(6)), wp.ones(6, dtype=wp.float64)
    with pytest.raises(error, match=message):
        batches = None if offsets is None else wp.array(offsets, dtype=int)
        cg(aslinearoperator(A, batches, longest), b, wp.zeros_like(b))


def test_offsets_are_an_array_of_int32():
    for offsets in ([0, 6], wp.array([0.0, 6.0]), wp.zeros((2, 2), dtype=int)):
        with pytest.raises(ArgumentTypeError, match=r"batch_offsets is .*\nexpected: an array of int32 of rank 1"):
            aslinearoperator(wp.array(np.eye(6)), offsets)
    one = LinearOperator((6, 6), float, None, lambda *a: None)
    assert aslinearoperator(one) is one and one.batch_count == 1
