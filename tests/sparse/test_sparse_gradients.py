"""Gradients of all operations in blocks and vectors, against central differences and PyTorch, in float64."""

import numpy as np
import pytest
from random_blocks import DEVICES, flat, matrix, to_dense, vector

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.sparse.blocks import column_type, row_type

EXTENTS, SHAPES = (4, 5), ((1, 1), (2, 3))
STEP = 1e-6


class Inputs:
    """A matrix, two like it (one with another pattern), vectors on both sides: all with gradients."""

    def __init__(self, shape, device):
        rng = np.random.default_rng(41)
        self.A, self.B, self.C = (
            matrix(rng, EXTENTS, shape, device=device, requires_grad=True, count=count)[0] for count in (16, 9, 7)
        )
        assert 0 in self.A.columns.numpy()[: self.A.offsets.numpy()[1]]  # a block on the diagonal
        t = self.A.dtype
        self.x = vector(rng, EXTENTS[1], column_type(t), device, requires_grad=True)
        self.y = vector(rng, EXTENTS[0], row_type(t), device, requires_grad=True)
        self.blocks = wp.clone(self.A.values)
        self.rows = wp.array(rng.integers(-1, EXTENTS[0], self.blocks.size).astype(np.int32), device=device)
        self.columns = wp.array(rng.integers(0, EXTENTS[1], self.blocks.size).astype(np.int32), device=device)
        self.rows.assign([1, *self.rows.numpy()[1:-1], 1])
        self.columns.assign([2, *self.columns.numpy()[1:-1], 2])
        self.diagonal = wp.clone(self.A.values[:4])
        self.arrays = [self.A.values, self.B.values, self.C.values, self.x, self.y, self.blocks, self.diagonal]


def assembled(s):
    return sparse.bsr_from_triplets(*EXTENTS, s.rows, s.columns, s.blocks).values


def assembled_masked(s):
    sparse.bsr_set_from_triplets(s.A, s.rows, s.columns, s.blocks, masked=True)
    return s.A.values


def product_into(s):
    sparse.bsr_mv(s.A, s.x, s.y, alpha=1.5, beta=-0.5)
    return s.y


def product_turned_into(s):
    sparse.bsr_mv(s.A, s.y, s.x, alpha=1.5, beta=-0.5, transpose=True)
    return s.x


def product_added(s):
    return sparse.bsr_mm(s.A.T, s.B, s.A.T @ s.C, alpha=1.5, beta=-0.5).values


def product_masked(s):
    return sparse.bsr_mm(s.A.T, s.B, s.C.T @ s.B, alpha=1.5, beta=-0.5, masked=True).values


def product_of_one(s):
    return (s.A @ s.A.T).values


def product_twice(s):
    """A matrix that is written to between its uses."""
    first = s.A @ s.x
    sparse.bsr_scale(s.A, 2.0)
    sparse.bsr_axpy(s.B, s.A, masked=True)
    return sparse.bsr_mv(s.A, s.x, first, beta=1.0)


def summed(s):
    return (s.A - 2.0 * s.B).values


def summed_masked(s):
    return sparse.bsr_axpy(s.A, s.B, 2.0, 3.0, masked=True).values


def summed_with_itself(s):
    return sparse.bsr_axpy(s.A, s.A, 2.0, 3.0).values


def transposed(s):
    return sparse.bsr_transposed(2.0 * s.A).values


def transposed_masked(s):
    dest = sparse.bsr_copy(s.B.T)
    sparse.bsr_set_transpose(dest, s.A, masked=True)
    return dest.values


def scaled(s):
    return sparse.bsr_scale(s.A, -3.0).values


def diagonal_of(s):
    return sparse.bsr_get_diag(s.A)


def diagonal_set(s):
    sparse.bsr_set_diag(s.A, s.diagonal, *EXTENTS)
    return s.A @ s.x


def copied(s):
    return sparse.bsr_copy(s.A).values


def regrouped(s):
    return sparse.bsr_copy(s.A, block_shape=(2 * s.A.block_shape[0], s.A.block_shape[1])).values


def assigned_masked(s):
    sparse.bsr_assign(s.B, s.A, masked=True)
    return s.B.values


OPERATIONS = {
    f.__name__: f
    for f in (
        assembled, assembled_masked, product_into, product_turned_into, product_added, product_masked, product_of_one,
        product_twice, summed, summed_masked, summed_with_itself, transposed, transposed_masked, scaled, diagonal_of,
        diagonal_set, copied, regrouped, assigned_masked,
    )
}  # fmt: skip


def recorded(operation, shape, device, change=None):
    """The result, the tape and the inputs; change: which input gets what added before."""
    s = Inputs(shape, device)
    if change is not None:
        k, step = change
        s.arrays[k].assign(s.arrays[k].numpy() + step)
    with wp.Tape() as tape:
        out = operation(s)
    return out, tape, s


def weights_like(out):
    return np.random.default_rng(42).standard_normal(out.numpy().shape)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_against_central_differences(name, shape, device):
    operation = OPERATIONS[name]
    out, tape, s = recorded(operation, shape, device)
    weights = weights_like(out)
    tape.backward(grads={out: wp.array(weights, dtype=out.dtype, device=device)})
    used = 0
    for k, a in enumerate(s.arrays):
        direction = np.random.default_rng(k).standard_normal(a.numpy().shape)
        up, down = (recorded(operation, shape, device, (k, sign * STEP * direction))[0].numpy() for sign in (1.0, -1.0))
        expected = ((up - down) * weights).sum() / (2.0 * STEP)
        assert (a.grad.numpy() * direction).sum() == pytest.approx(expected, rel=1e-7, abs=1e-7)
        used += bool(expected)
    assert used


@pytest.mark.cpu
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_same_bits_for_any_number_of_threads(name):
    """Forwards and backwards."""
    results = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        out, tape, s = recorded(OPERATIONS[name], (2, 3), "cpu")
        tape.backward(grads={out: wp.array(weights_like(out), dtype=out.dtype)})
        results.append([out.numpy().tobytes(), *(a.grad.numpy().tobytes() for a in s.arrays)])
    assert results[0] == results[1] == results[2]


@pytest.mark.cpu
def test_large_products_have_the_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(43)
    n, count = 2000, 12000
    rows, columns = (rng.integers(0, n, count).astype(np.int32) for _ in range(2))
    blocks = rng.standard_normal((count, 2, 2)).astype(np.float32)
    results = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        values = wp.array(blocks, dtype=wp.mat22, requires_grad=True)
        x = wp.array(blocks[:n, 0], dtype=wp.vec2, requires_grad=True)
        with wp.Tape() as tape:
            A = sparse.bsr_from_triplets(n, n, wp.array(rows), wp.array(columns), values)
            B = A @ A + 0.5 * A.T
            y = A.T @ (B @ x)
        tape.backward(grads={y: x})
        results.append([a.numpy().tobytes() for a in (B.columns, B.values, y, values.grad, x.grad)])
    assert results[0] == results[1] == results[2]


def test_against_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rng = np.random.default_rng(44)
    (A, M), (B, N) = (matrix(rng, extents, (2, 2), requires_grad=True) for extents in ((4, 5), (5, 4)))
    x = vector(rng, 4, wp.vec2d, requires_grad=True)
    with wp.Tape() as tape:
        C = 2.0 * (A @ B + A.T.T @ B).T
        y = (sparse.bsr_copy(C) - B.T @ A.T) @ x
    weights = rng.standard_normal(8)
    tape.backward(grads={y: wp.array(weights.reshape(4, 2), dtype=wp.vec2d)})
    M, N, v = (torch.tensor(a, requires_grad=True) for a in (M, N, flat(x)))
    ((2.0 * (2.0 * M @ N).T - N.T @ M.T) @ v).backward(torch.tensor(weights))
    np.testing.assert_allclose(flat(x.grad), v.grad.numpy(), rtol=1e-13)
    for S, dense in ((A, M), (B, N)):
        places = sparse.bsr_copy(S)
        places.values.assign(S.values.grad)
        mask = np.zeros((S.nrow, S.ncol))
        mask[S.uncompress_rows().numpy(), S.columns.numpy()] = 1.0
        np.testing.assert_allclose(to_dense(places), dense.grad.numpy() * np.kron(mask, np.ones((2, 2))), rtol=1e-12)


def test_second_derivatives_along_a_direction():
    rng = np.random.default_rng(45)
    A, M = matrix(rng, (3, 3), (2, 2), requires_grad=True)
    x, loss = vector(rng, 3, wp.vec2d, requires_grad=True), wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        y = A.T @ (A @ x)
        wp.utils.array_inner(y, x, out=loss)
    direction = rng.standard_normal((3, 2))
    product = wp.autograd.hvp(tape, loss=loss, vector={x: direction})[x].numpy()
    np.testing.assert_allclose(product.reshape(-1), 2.0 * M.T @ M @ direction.reshape(-1), rtol=1e-12)


def test_results_with_gradients_of_operands_without():
    """Nothing passes, and nothing fails; a tangent passes."""
    A, M = matrix(np.random.default_rng(46), (3, 3), (2, 2))
    x, y = vector(np.random.default_rng(47), 3, wp.vec2d), wp.zeros(3, dtype=wp.vec2d, requires_grad=True)
    B = A @ A
    B.requires_grad = True
    with wp.Tape() as tape:
        sparse.bsr_mm(A, A, B, reuse_topology=True)
        sparse.bsr_mv(A, x, y, transpose=True)
    tape.backward(grads={y: wp.ones_like(y), B.values: wp.ones_like(B.values)})
    assert x.grad is None and A.values.grad is None
    direction = np.ones((3, 2))
    along = wp.autograd.jvp(tape, tangents={x: direction})[y].numpy()
    assert (along.reshape(-1) == M.T @ direction.reshape(-1)).all()
