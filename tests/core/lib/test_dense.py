"""Dense products, Cholesky factors and solutions in arrays, with their gradients, against NumPy."""

import numpy as np
import pytest

import warpsim as wp

DEVICES = pytest.mark.parametrize("device", ["cpu", "interp"])
DTYPES = pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
UNTOUCHED = 7.0


def kernels(T):
    Numbers, Ints = wp.array(dtype=T), wp.array(dtype=int)

    @wp.kernel(module="unique")
    def gemm(m: int, n: int, p: int, t1: int, t2: int, A: Numbers, B: Numbers, C: Numbers):
        wp.dense_gemm(m, n, p, t1, t2, A, B, C)

    @wp.kernel(module="unique")
    def gemms(m: Ints, n: Ints, p: Ints, a: Ints, b: Ints, c: Ints, A: Numbers, B: Numbers, C: Numbers):
        wp.dense_gemm_batched(m, n, p, 0, 0, a, b, c, A, B, C)

    @wp.kernel(module="unique")
    def chol(n: int, A: Numbers, regularization: T, L: Numbers):
        wp.dense_chol(n, A, regularization, L)

    @wp.kernel(module="unique")
    def chols(start: Ints, dim: Ints, A: Numbers, regularization: T, L: Numbers):
        wp.dense_chol_batched(start, dim, A, regularization, L)

    @wp.kernel(module="unique")
    def subs(n: int, L: Numbers, b: Numbers, x: Numbers):
        wp.dense_subs(n, L, b, x)

    @wp.kernel(module="unique")
    def solve(n: int, A: Numbers, L: Numbers, b: Numbers, x: Numbers):
        wp.dense_solve(n, A, L, b, x)

    @wp.kernel(module="unique")
    def solves(v: Ints, start: Ints, dim: Ints, A: Numbers, L: Numbers, b: Numbers, x: Numbers):
        wp.dense_solve_batched(v, start, dim, A, L, b, x)

    @wp.kernel(module="unique")
    def both(n: int, A: Numbers, L: Numbers, b: Numbers, x: Numbers):
        wp.dense_chol(n, A, T(0.0), L)
        wp.dense_subs(n, L, b, x)

    every = (gemm, gemms, chol, chols, subs, solve, solves, both)
    return {kernel.function.__name__: kernel for kernel in every}


KERNELS = {T: kernels(T) for T in (wp.float32, wp.float64)}


def array(values, dtype, device, grad=True):
    return wp.array(np.ravel(values), dtype=dtype, device=device, requires_grad=grad)


def tolerance(dtype):
    return {"rtol": 2e-4, "atol": 2e-4} if dtype is wp.float32 else {"rtol": 1e-10, "atol": 1e-10}


def positive(n, seed=0):
    M = np.random.default_rng(seed).standard_normal((n, n))
    return M @ M.T + np.eye(n)


def numbers(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def difference(f, x, step=1e-6):
    """The gradient of the number f(x) by central differences."""
    slopes = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[k] = step
        slopes[k] = (f(x + e) - f(x - e)) / (2.0 * step)
    return slopes


@DEVICES
@DTYPES
@pytest.mark.parametrize(("t1", "t2"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_products_and_their_gradients(t1, t2, dtype, device):
    m, n, p = 2, 3, 4
    A, B, weights = numbers(m, p), numbers(p, n, seed=2), numbers(m, n, seed=3)
    a, b = array(A.T if t1 else A, dtype, device), array(B.T if t2 else B, dtype, device)
    c = array(np.full((m, n), UNTOUCHED), dtype, device)
    with wp.Tape() as tape:
        wp.launch(KERNELS[dtype]["gemm"], 1, [m, n, p, t1, t2, a, b, c], device=device)
    np.testing.assert_allclose(c.numpy().reshape(m, n), A @ B, **tolerance(dtype))
    tape.backward(grads={c: array(weights, dtype, device)})
    for gradient, want, transposed in ((a.grad, weights @ B.T, t1), (b.grad, A.T @ weights, t2)):
        np.testing.assert_allclose(gradient.numpy(), np.ravel(want.T if transposed else want), **tolerance(dtype))


@DEVICES
@DTYPES
def test_factors_and_their_gradients(dtype, device):
    n, lower = 4, np.tril(np.ones((4, 4)))
    A, weights = positive(n), np.tril(numbers(n, n, seed=4))
    a, factor = array(A, dtype, device), array(np.full((n, n), UNTOUCHED), dtype, device)
    regularization = dtype(0.25)
    with wp.Tape() as tape:
        wp.launch(KERNELS[dtype]["chol"], 1, [n, a, regularization, factor], device=device)
    want = np.linalg.cholesky(A + 0.25 * np.eye(n)) + UNTOUCHED * (1.0 - lower)
    np.testing.assert_allclose(factor.numpy().reshape(n, n), want, **tolerance(dtype))
    tape.backward(grads={factor: array(weights, dtype, device)})

    def loss(x):  # of the lower triangle, which is all that is read
        return np.sum(np.linalg.cholesky(np.tril(x) + np.tril(x, -1).T + 0.25 * np.eye(n)) * weights)

    np.testing.assert_allclose(a.grad.numpy().reshape(n, n), difference(loss, A) * lower, rtol=1e-3, atol=1e-3)


@DEVICES
@DTYPES
@pytest.mark.parametrize("graded", ["L b x", "L x", "b x", "x", ""])
def test_solutions_from_a_factor_and_the_gradients_that_are_wanted(graded, dtype, device):
    n = 4
    L, b, weights = np.linalg.cholesky(positive(n)), numbers(n), numbers(n, seed=5)
    args = [array(v, dtype, device, name in graded) for name, v in (("L", L), ("b", b), ("x", np.full(n, UNTOUCHED)))]
    with wp.Tape() as tape:
        wp.launch(KERNELS[dtype]["subs"], 1, [n, *args], device=device)
    np.testing.assert_allclose(args[2].numpy(), np.linalg.solve(L @ L.T, b), **tolerance(dtype))
    if not graded:
        return
    tape.backward(grads={args[2]: array(weights, dtype, device)})
    if "b" in graded:
        np.testing.assert_allclose(args[1].grad.numpy(), np.linalg.solve(L @ L.T, weights), **tolerance(dtype))
    if "L" in graded:
        want = difference(lambda x: np.linalg.solve(np.tril(x) @ np.tril(x).T, b) @ weights, L)
        np.testing.assert_allclose(args[0].grad.numpy().reshape(n, n), np.tril(want), rtol=1e-3, atol=1e-3)


@DEVICES
@DTYPES
def test_solutions_have_the_gradient_of_the_matrix(dtype, device):
    n = 4
    A, b, weights = positive(n), numbers(n), numbers(n, seed=5)
    a, factor, right = array(A, dtype, device), array(np.linalg.cholesky(A), dtype, device), array(b, dtype, device)
    x = array(np.zeros(n), dtype, device)
    with wp.Tape() as tape:
        wp.launch(KERNELS[dtype]["solve"], 1, [n, a, factor, right, x], device=device)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(A, b), **tolerance(dtype))
    tape.backward(grads={x: array(weights, dtype, device)})
    g = np.linalg.solve(A, weights)
    np.testing.assert_allclose(right.grad.numpy(), g, **tolerance(dtype))
    np.testing.assert_allclose(a.grad.numpy().reshape(n, n), -np.outer(g, np.linalg.solve(A, b)), **tolerance(dtype))
    assert not factor.grad.numpy().any()


@DEVICES
@pytest.mark.parametrize("name", ["both", "chol and subs"])
def test_a_factor_and_a_solution_in_one_launch_or_two(name, device):
    n, dtype = 3, wp.float64
    A, b, weights = positive(n), numbers(n), numbers(n, seed=5)
    a, right = array(A, dtype, device), array(b, dtype, device)
    factor, x = array(np.zeros((n, n)), dtype, device), array(np.zeros(n), dtype, device)
    made_by = KERNELS[dtype]
    with wp.Tape() as tape:
        if name == "both":
            wp.launch(made_by["both"], 1, [n, a, factor, right, x], device=device)
        else:
            wp.launch(made_by["chol"], 1, [n, a, dtype(0.0), factor], device=device)
            wp.launch(made_by["subs"], 1, [n, factor, right, x], device=device)
            factor.zero_()  # what a gradient needs is kept
    tape.backward(grads={x: array(weights, dtype, device)})
    g, solution = np.linalg.solve(A, weights), np.linalg.solve(A, b)
    outer = -np.outer(g, solution)
    want = np.tril(outer) + np.tril(outer.T, -1)  # of the lower triangle alone
    np.testing.assert_allclose(a.grad.numpy().reshape(n, n), want, **tolerance(dtype))
    np.testing.assert_allclose(right.grad.numpy(), g, **tolerance(dtype))


@DEVICES
@DTYPES
def test_every_thread_of_a_batch_has_its_own_matrices(dtype, device):
    by_name, dims = KERNELS[dtype], [3, 1, 2]
    matrices, vectors = [positive(n, seed=n) for n in dims], [numbers(n, seed=n) for n in dims]
    starts, heads = np.cumsum([0, *(n * n for n in dims)])[:3], np.cumsum([0, *dims])[:3]
    ints = [wp.array(v, dtype=int, device=device) for v in (starts, heads, dims)]
    start, head, dim = ints
    a = array(np.concatenate([np.ravel(m) for m in matrices]), dtype, device)
    b, x = array(np.concatenate(vectors), dtype, device), array(np.zeros(6), dtype, device)
    factors, squares = array(np.zeros(14), dtype, device), array(np.zeros(14), dtype, device)
    wp.launch(by_name["chols"], 3, [start, dim, a, dtype(0.5), factors], device=device)
    shifted = [m + 0.5 * np.eye(len(m)) for m in matrices]
    want = np.concatenate([np.ravel(np.linalg.cholesky(m)) for m in shifted])
    np.testing.assert_allclose(factors.numpy(), want, **tolerance(dtype))
    with wp.Tape() as tape:
        wp.launch(by_name["solves"], 3, [head, start, dim, a, factors, b, x], device=device)
    solutions = np.concatenate([np.linalg.solve(m, v) for m, v in zip(shifted, vectors, strict=True)])
    np.testing.assert_allclose(x.numpy(), solutions, **tolerance(dtype))
    tape.backward(grads={x: b})
    np.testing.assert_allclose(b.grad.numpy(), solutions, **tolerance(dtype))
    wp.launch(by_name["gemms"], 3, [dim, dim, dim, start, start, start, a, a, squares], device=device)
    want = np.concatenate([np.ravel(m @ m) for m in matrices])
    np.testing.assert_allclose(squares.numpy(), want, **tolerance(dtype))


@DEVICES
def test_a_factor_in_the_place_of_its_matrix(device):
    n, dtype = 4, wp.float64
    A, weights = positive(n), np.tril(numbers(n, n, seed=4))
    a = array(A, dtype, device)
    with wp.Tape() as tape:
        wp.launch(KERNELS[dtype]["chol"], 1, [n, a, dtype(0.0), a], device=device)
    np.testing.assert_allclose(a.numpy().reshape(n, n), np.linalg.cholesky(A) + np.triu(A, 1), **tolerance(dtype))
    tape.backward(grads={a: array(weights, dtype, device)})

    def loss(x):
        return np.sum(np.linalg.cholesky(np.tril(x) + np.tril(x, -1).T) * weights)

    want = np.tril(difference(loss, A))
    np.testing.assert_allclose(a.grad.numpy().reshape(n, n), want, rtol=1e-6, atol=1e-6)


@DEVICES
def test_a_solution_in_the_place_of_the_right_hand_side(device):
    n, dtype = 4, wp.float64
    A, b, weights = positive(n), numbers(n), numbers(n, seed=5)
    factor, x = array(np.linalg.cholesky(A), dtype, device), array(b, dtype, device)
    with wp.Tape() as tape:
        wp.launch(KERNELS[dtype]["subs"], 1, [n, factor, x, x], device=device)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(A, b), **tolerance(dtype))
    tape.backward(grads={x: array(weights, dtype, device)})
    np.testing.assert_allclose(x.grad.numpy(), np.linalg.solve(A, weights), **tolerance(dtype))
