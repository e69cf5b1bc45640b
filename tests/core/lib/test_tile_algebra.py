"""Linear algebra of tiles against NumPy, with gradients: products, Cholesky factors, triangular systems."""

import numpy as np
import pytest
from tile_runs import check

import warpsim as wp
from warpsim.errors import KernelError

D = wp.float64
DEVICES = ["cpu", "interp"]
rng = np.random.default_rng(19)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1, 3, 2), (3, 2, 4), (4, 4, 4)])
def test_products(device, shape):
    m, k, n = shape

    @wp.kernel
    def products(a: wp.array2d[D], b: wp.array2d[D], out: wp.array2d[D], half: wp.array2d[D], turned: wp.array2d[D]):
        x, y = wp.tile_load(a, shape=(m, k)), wp.tile_load(b, shape=(k, n))
        total = wp.tile_ones((m, n), dtype=D)
        wp.tile_matmul(x, y, total)
        wp.tile_matmul(x, y, total, alpha=y[0, 0], beta=0.5)
        wp.tile_store(out, total)
        wp.tile_store(half, wp.tile_matmul(x, y, alpha=0.5))
        u = wp.tile_zeros((n, m), dtype=D)
        wp.tile_matmul(wp.tile_transpose(y), wp.tile_transpose(x), u, 1.0, 0.0)
        v = wp.tile_transpose(u)
        wp.tile_matmul(x, y, v)
        wp.tile_store(turned, u)

    def oracle(a, b):
        return 0.5 * (1.0 + a @ b) + b[0, 0] * (a @ b), 0.5 * a @ b, 2.0 * (a @ b).T

    check(products, [rng.normal(size=(m, k)), rng.normal(size=(k, n))], oracle, device)


@pytest.mark.parametrize("device", DEVICES)
def test_products_summed_over_blocks(device):
    @wp.kernel
    def blocks(a: wp.array2d[D], b: wp.array2d[D], count: int, out: wp.array2d[D], same: wp.array2d[D]):
        total, carried = wp.tile_zeros((2, 2), dtype=D), wp.tile_zeros((2, 2), dtype=D)
        for k in range(count):
            x = wp.tile_load(a, shape=(2, 2), offset=(0, 2 * k))
            y = wp.tile_load(b, shape=(2, 2), offset=(2 * k, 0))
            wp.tile_matmul(x, y, total)
            carried = carried + wp.tile_matmul(x, y)
        wp.tile_store(out, total)
        wp.tile_store(same, carried)

    a, b = rng.normal(size=(2, 6)), rng.normal(size=(6, 2))
    check(blocks, [a, b], lambda a, b: (a @ b, a @ b), device, [3])


def positive(n):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("mode", ["lower", "upper"])
def test_cholesky_factors_and_solutions(device, n, mode):
    @wp.kernel
    def solve(a: wp.array2d[D], b: wp.array2d[D], c: wp.array[D], f: wp.array2d[D], x: wp.array2d[D], z: wp.array[D]):
        factor = wp.tile_cholesky(wp.tile_load(a, shape=(n, n)), fill_mode=mode)
        wp.tile_store(f, factor)
        wp.tile_store(x, wp.tile_cholesky_solve(factor, wp.tile_load(b, shape=(n, 2)), fill_mode=mode))
        same, right = wp.tile_load(a, shape=(n, n)), wp.tile_load(c, shape=n)
        wp.tile_cholesky_inplace(same, fill_mode=mode)
        wp.tile_cholesky_solve_inplace(same, right, fill_mode=mode)
        wp.tile_store(z, right)

    def oracle(a, b, c):
        one = np.tril(a) if mode == "lower" else np.triu(a)  # the triangle that is read
        whole = one + one.T - np.diag(np.diag(a))
        factor = np.linalg.cholesky(whole)
        f = factor if mode == "lower" else factor.T
        return f, np.linalg.solve(whole, b), np.linalg.solve(whole, c)

    inputs = [positive(n), rng.normal(size=(n, 2)), rng.normal(size=n)]
    check(solve, inputs, oracle, device, rtol=1e-10)


@pytest.mark.parametrize("device", DEVICES)
def test_triangular_systems(device):
    n = 3

    @wp.kernel
    def triangles(
        a: wp.array2d[D], b: wp.array2d[D], c: wp.array[D], x: wp.array2d[D], y: wp.array2d[D], z: wp.array[D]
    ):  # fmt: skip
        t, right, one = wp.tile_load(a, shape=(n, n)), wp.tile_load(b, shape=(n, 2)), wp.tile_load(c, shape=n)
        wp.tile_store(x, wp.tile_lower_solve(t, right))
        wp.tile_store(y, wp.tile_upper_solve(t, right))
        wp.tile_upper_solve_inplace(t, one)
        wp.tile_lower_solve_inplace(wp.tile_transpose(t), one)
        wp.tile_store(z, one)

    def oracle(a, b, c):
        low, up = np.tril(a), np.triu(a)
        return np.linalg.solve(low, b), np.linalg.solve(up, b), np.linalg.solve(up.T, np.linalg.solve(up, c))

    check(triangles, [positive(n), rng.normal(size=(n, 2)), rng.normal(size=n)], oracle, device, rtol=1e-10)


@pytest.mark.parametrize("device", DEVICES)
def test_blocks_of_a_matrix_factored_in_place(device):
    """The factor of a matrix of four blocks, through views of it."""
    n, h = 4, 2

    @wp.kernel
    def blocked(a: wp.array2d[D], out: wp.array2d[D]):
        t = wp.tile_load(a, shape=(n, n))
        first, below = wp.tile_view(t, (0, 0), shape=(h, h)), wp.tile_view(t, (h, 0), shape=(h, h))
        last = wp.tile_view(t, (h, h), shape=(h, h))
        wp.tile_cholesky_inplace(first)
        wp.tile_lower_solve_inplace(first, wp.tile_transpose(below))
        wp.tile_matmul(below, wp.tile_transpose(below), last, alpha=-1.0)
        wp.tile_cholesky_inplace(last)
        wp.tile_assign(t, wp.tile_zeros((h, h), dtype=D), offset=(0, h))
        wp.tile_store(out, t)

    def oracle(a):
        low = np.tril(a) + np.tril(a, -1).T
        return np.linalg.cholesky(low)

    check(blocked, [positive(n)], oracle, device, rtol=1e-10)


@pytest.mark.parametrize("device", DEVICES)
def test_dot_axpy_and_diagonals(device):
    @wp.kernel
    def sums(a: wp.array2d[D], d: wp.array[D], dots: wp.array[D], out: wp.array2d[D], diagonal: wp.array2d[D]):
        t, u = wp.tile_load(a, shape=(3, 3)), wp.tile_ones((3, 3), dtype=D)
        dots[0] = wp.tile_dot(t, wp.tile_transpose(t))[0]
        wp.tile_axpy(t[0, 1], t, u)
        wp.tile_axpy(2.0, u, wp.tile_transpose(u))
        wp.tile_store(out, u)
        wp.tile_store(diagonal, wp.tile_diag_add(t, wp.tile_load(d, shape=3)))

    def oracle(a, d):
        u = 1.0 + a[0, 1] * a
        return np.array([(a * a.T).sum()]), u + 2.0 * u.T, a + np.diag(d)

    check(sums, [rng.normal(size=(3, 3)), rng.normal(size=3)], oracle, device)


@pytest.mark.parametrize("device", DEVICES)
def test_dot_products_of_vectors_and_matrices(device):
    @wp.kernel
    def dots(v: wp.array[wp.vec3d], m: wp.array[wp.mat22d], out: wp.array[D]):
        t, q = wp.tile_load(v, shape=4), wp.tile_load(m, shape=4)
        wp.tile_store(out, wp.tile_dot(t, t))
        wp.tile_store(out, wp.tile_dot(q, q), offset=1)

    v, m = rng.normal(size=(4, 3)), rng.normal(size=(4, 2, 2))
    with wp.ScopedDevice(device):
        out = wp.zeros(2, dtype=D)
        wp.launch(dots, 1, inputs=[wp.array(v, dtype=wp.vec3d), wp.array(m, dtype=wp.mat22d), out], block_dim=1)
    np.testing.assert_allclose(out.numpy(), [(v * v).sum(), (m * m).sum()], rtol=1e-13)


@wp.kernel
def factored(a: wp.array2d[float], b: wp.array[float], f: wp.array2d[float], x: wp.array[float]):
    factor = wp.tile_cholesky(wp.tile_load(a, shape=(3, 3)))
    wp.tile_store(f, factor)
    wp.tile_store(x, wp.tile_cholesky_solve(factor, wp.tile_load(b, shape=3)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pivot", [0, 1, 2])
@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan])
def test_a_matrix_that_is_not_positive_definite_gives_nan(device, pivot, value):
    a = np.eye(3)
    a[pivot, pivot] = value
    with wp.ScopedDevice(device):
        f, x = wp.zeros((3, 3)), wp.zeros(3)
        wp.launch(factored, 1, inputs=[wp.array(a, dtype=float), wp.ones(3), f, x], block_dim=1)
    assert np.all(np.isnan(np.diag(f.numpy())[pivot:])) and np.all(np.isnan(x.numpy()))


def refused(body, match):
    with pytest.raises(KernelError, match=match):
        wp.launch(wp.Kernel(func=body, key=body.__name__), 1, inputs=[wp.zeros(4), wp.zeros((4, 4))])


@pytest.mark.parametrize("device", DEVICES)
def test_a_factor_in_place_of_out_may_be_known_at_run_time(device):
    @wp.kernel
    def scaled(a: wp.array2d[D], out: wp.array2d[D]):
        t = wp.tile_load(a, shape=(2, 2))
        wp.tile_store(out, wp.tile_matmul(t, t, t[0, 1]) + wp.tile_matmul(t, t, 0.5))

    check(scaled, [rng.normal(size=(2, 2))], lambda a: (a[0, 1] + 0.5) * (a @ a), device)


def test_matrices_that_do_not_fit_are_refused():
    def inner(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_matmul(wp.tile_load(b, shape=(2, 3)), wp.tile_load(b, shape=(2, 3)))

    def out(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_matmul(wp.tile_load(b, shape=(2, 3)), wp.tile_load(b, shape=(3, 2)), wp.tile_zeros((3, 3)))

    def types(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_matmul(wp.tile_load(b, shape=(2, 2)), wp.tile_zeros((2, 2), dtype=D))

    def square(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_cholesky(wp.tile_load(b, shape=(2, 3)))

    def mode(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_cholesky(wp.tile_load(b, shape=(2, 2)), fill_mode="left")

    def right(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_lower_solve(wp.tile_load(b, shape=(3, 3)), wp.tile_load(a, shape=2))

    def factor(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_axpy(D(1.0), wp.tile_load(a, shape=2), wp.tile_load(a, shape=2))

    def factors(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_matmul(wp.tile_load(b, shape=(2, 2)), wp.tile_load(b, shape=(2, 2)), 2.0, 3.0)

    refused(factors, "the product has two factors alpha")
    refused(inner, r"the product of tiles of shapes \(2, 3\) and \(2, 3\)")
    refused(out, r"out is of shape \(3, 3\)")
    refused(types, "the product of a tile of float32 and one of float64")
    refused(square, "expected: a square matrix of floats")
    refused(mode, "fill_mode is text 'left'")
    refused(right, "the right-hand side is")
    refused(factor, "alpha is")
