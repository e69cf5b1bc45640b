"""Optimizers and linear algebra on CUDA arrays: large arrays stay on the device, small results come to the host."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim.history import History
from warpsim.optim.linear import CsrMatrix, bicgstab, preconditioner
from warpsim.optim.vectors import inner, largest

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]
rng = np.random.default_rng(2)


def matrix(n, device):
    """A diagonally dominant sparse matrix, with repeated entries and empty columns."""
    counts = rng.integers(1, 6, n)
    rows = np.repeat(np.arange(n), counts)
    columns = rng.integers(0, n, rows.size) // 2 * 2
    offsets = np.concatenate([[0], np.cumsum(counts)])
    columns[offsets[:-1]] = np.arange(n)
    values = rng.normal(size=rows.size)
    values[offsets[:-1]] += 9.0
    parts = [wp.array(x.astype(np.int32), device=device) for x in (offsets, columns)]
    return rows, columns, values, CsrMatrix(*parts, wp.array(values, device=device))


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 5000])
def test_sums_and_magnitudes(downloads, n):
    x, y = rng.normal(size=(2, n))
    a, b = wp.array(x, device="cuda:0"), wp.array(y, device="cuda:0")
    assert inner(a, b) == pytest.approx((x * y).sum(), rel=1e-12, abs=1e-12)
    assert largest(a) == np.abs(x).max(initial=0.0)
    assert downloads == [8, 8]


@pytest.mark.parametrize("at", [0, 40, 999])
def test_the_largest_magnitude_is_nan_wherever_there_is_one(at):
    x = rng.normal(size=1000)
    x[at] = np.nan
    assert np.isnan(largest(wp.array(x, device="cuda:0")))


def test_the_memory_of_lbfgs_brings_inner_products_alone(downloads):
    found = {}
    rows = rng.normal(size=(9, 3000))
    for device in ("cuda:0", "cpu"):
        history = History(3000, 4, wp.float64, wp.get_device(device))
        history.rows.assign(rows)
        history.refresh()
        found[device] = history.gram
    np.testing.assert_allclose(found["cuda:0"], found["cpu"], rtol=1e-12, atol=1e-10)
    assert sum(downloads) == 9 * 3 * 8


def test_sparse_matrices_are_checked_and_turned_on_the_device(downloads):
    n = 200
    rows, columns, values, A = matrix(n, "cuda:0")
    dense = np.zeros((n, n))
    np.add.at(dense, (rows, columns), values)
    x, out = rng.normal(size=n), wp.zeros(n, dtype=wp.float64, device="cuda:0")
    turned = A.operator().transposed()
    turned.matvec(wp.array(x, device="cuda:0"), out, out, 1.0, 0.0)
    assert downloads == [4]  # whether something is wrong
    np.testing.assert_allclose(out.numpy(), dense.T @ x, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(A.diagonal(), np.diagonal(dense))


def test_the_preconditioner_of_a_dense_matrix_stays_on_the_device(downloads):
    dense = rng.normal(size=(40, 40)) + 30.0 * np.eye(40)
    A, b, x = (wp.array(a, device="cuda:0") for a in (dense, dense @ np.ones(40), np.zeros(40)))
    M = preconditioner(A)
    assert downloads == []
    assert bicgstab(A, b, x, tol=1e-12, M=M).converged
    np.testing.assert_allclose(x.numpy(), 1.0, rtol=1e-9)
