"""Matrices as objects and in kernels: what they are, numbers of blocks, indices, kernels that take them, bad fields."""

from typing import Any

import numpy as np
import pytest
from random_blocks import DEVICES, SHAPES, matrix, to_dense, vector

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError, FieldNameError
from warpsim.sparse.blocks import block_type


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_matrix_is(shape):
    A, _ = matrix(np.random.default_rng(0), (5, 7), shape)
    assert (A.nrow, A.ncol, A.block_shape, A.block_size) == (5, 7, shape, shape[0] * shape[1])
    assert (A.shape, A.scalar_type, A.dtype) == ((5 * shape[0], 7 * shape[1]), wp.float64, A.values.dtype)
    assert A.device == wp.get_device() and not A.requires_grad
    A.requires_grad = True
    assert A.values.grad.shape == A.values.shape
    assert "5 x 7 blocks" in repr(A) and isinstance(A, sparse.BsrMatrix) and A == A and len({A, A}) == 1


def test_types_are_made_once():
    assert sparse.bsr_matrix_t(wp.mat33) is sparse.bsr_matrix_t(wp.mat33f) is type(sparse.bsr_zeros(1, 1, wp.mat33))
    assert sparse.bsr_matrix_t(float) is type(sparse.bsr_zeros(1, 1, wp.float32))


@wp.kernel
def sum_rows(A: sparse.bsr_matrix_t(wp.mat22d), out: wp.array(dtype=wp.mat22d)):
    i = wp.tid()
    total = wp.mat22d()
    for k in range(A.offsets[i], A.offsets[i + 1]):
        total += A.values[k]
    out[i] = total


@wp.kernel
def diagonal(A: Any, out: wp.array(dtype=Any), rows: wp.array(dtype=int)):
    i = wp.tid()
    k = sparse.bsr_block_index(i, i, A.offsets, A.columns)
    rows[i] = sparse.bsr_row_index(A.offsets, A.nrow, k)
    if k >= 0:
        out[i] = A.values[k]


@pytest.mark.parametrize("device", DEVICES)
def test_kernels_take_matrices_and_tapes_differentiate_them(device):
    A, M = matrix(np.random.default_rng(1), (4, 4), (2, 2), device=device, requires_grad=True)
    out, rows = wp.zeros(4, dtype=wp.mat22d, device=device, requires_grad=True), wp.zeros(4, dtype=int, device=device)
    wp.launch(diagonal, 4, [A, out, rows], device=device)
    blocks = M.reshape(4, 2, 4, 2).transpose(0, 2, 1, 3)
    stored = [any(A.columns.numpy()[k] == i for k in range(*A.offsets.numpy()[i : i + 2])) for i in range(4)]
    assert rows.numpy().tolist() == [i if there else -1 for i, there in enumerate(stored)] and any(stored)
    assert out.numpy().tolist() == [blocks[i, i].tolist() for i in range(4)]
    with wp.Tape() as tape:
        wp.launch(sum_rows, 4, [A, out], device=device)
    assert out.numpy().tolist() == blocks.sum(1).tolist()
    tape.backward(grads={out: wp.ones_like(out)})
    assert (A.values.grad.numpy() == 1.0).all()


@wp.kernel
def find(
    offsets: wp.array(dtype=int), columns: wp.array(dtype=int), rows: wp.array(dtype=int), at: wp.array(dtype=int)
):
    i, j = wp.tid()
    width = columns.shape[0] + 2
    rows[i * width + j] = sparse.bsr_row_index(offsets, offsets.shape[0] - 1, j - 1)
    at[i * width + j] = sparse.bsr_block_index(i - 1, j - 1, offsets, columns)


@pytest.mark.parametrize("device", DEVICES)
def test_indices_of_rows_and_blocks_beside_a_search(device):
    offsets, columns = [0, 2, 2, 5], [0, 3, 1, 2, 4]
    places = {(0, 0): 0, (0, 3): 1, (2, 1): 2, (2, 2): 3, (2, 4): 4}
    rows, at = (wp.zeros(5 * 7, dtype=int, device=device) for _ in range(2))
    indices = [wp.array(x, dtype=int, device=device) for x in (offsets, columns)]
    wp.launch(find, (5, 7), [*indices, rows, at], device=device)
    assert rows.numpy().reshape(5, 7).tolist() == 5 * [[-1, 0, 0, 2, 2, 2, -1]]
    assert at.numpy().tolist() == [places.get((i - 1, j - 1), -1) for i in range(5) for j in range(7)]


@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_blocks_and_the_transposed_index(device):
    A, _ = matrix(np.random.default_rng(2), (6, 5), (1, 2), device=device)
    rows = A.uncompress_rows().numpy()
    assert rows.tolist() == np.repeat(np.arange(6), np.diff(A.offsets.numpy())).tolist()
    longer = wp.zeros(A.nnz + 2, dtype=int, device=device)
    assert A.uncompress_rows(longer) is longer and longer.numpy().tolist() == [*rows, -1, -1]
    index, columns = A.transposed_index, A.columns.numpy()
    order = np.argsort(columns, kind="stable")
    assert index.order.numpy().tolist() == order.tolist() and index.rows.numpy().tolist() == rows[order].tolist()
    assert index.starts.numpy().tolist() == np.searchsorted(columns[order], np.arange(6)).tolist()
    assert A.transposed_index is index


@wp.kernel
def write_diagonal(A: sparse.bsr_matrix_t(float)):
    i = wp.tid()
    A.offsets[i] = i
    if i < A.nrow:
        A.columns[i] = A.nrow - 1 - i
        A.values[i] = float(i + 1)


def test_a_pattern_that_a_kernel_writes():
    A = sparse.bsr_zeros(3, 3, float)
    A.columns, A.values = wp.zeros(8, dtype=int), wp.zeros(8, dtype=float)
    assert A.transposed_index.order.size == 0
    wp.launch(write_diagonal, 4, [A])
    A.notify_nnz_changed()
    assert A.nnz == 3 and to_dense(A).tolist() == [[0, 0, 1], [0, 2, 0], [3, 0, 0]]
    x = wp.array([1.0, 10.0, 100.0], dtype=float)
    assert (A @ x).numpy().tolist() == [100.0, 20.0, 3.0] and (A.T @ x).numpy().tolist() == [300.0, 20.0, 1.0]
    A.offsets = wp.array([0, 1, 2, 2], dtype=int)
    A.copy_nnz_async()
    assert A.nnz_sync() == 2 and (A.T @ x).numpy().tolist() == [0.0, 20.0, 1.0]
    A.notify_nnz_changed(1)
    assert A.nnz == 1


def test_entries_outside_of_a_matrix_are_left_out():
    """Whatever a program writes into offsets and columns, nothing beyond arrays is read."""
    A = sparse.bsr_from_triplets(2, 2, *(wp.array(x, dtype=int) for x in ([0, 0, 1], [0, 1, 1])), wp.ones(3))
    A.columns.assign([0, 9, -4])
    A.notify_nnz_changed()
    x = wp.array([3.0, 4.0], dtype=float)
    assert (A @ x).numpy().tolist() == [3.0, 0.0] and (A.T @ x).numpy().tolist() == [3.0, 0.0]
    A.offsets.assign([-5, 2, 70])
    assert (A @ x).numpy().tolist() == [3.0, 0.0]
    with pytest.raises(ArrayError, match="offsets end at 70\nexpected: 0 to 3"):
        A.nnz_sync()


def test_other_extents_make_another_index():
    A = sparse.bsr_from_triplets(2, 2, *(wp.array(x, dtype=int) for x in ([0, 1], [0, 1])), wp.ones(2))
    assert A.transposed_index.starts.numpy().tolist() == [0, 1, 2]
    A.ncol = 4
    assert (A.T @ wp.array([3.0, 4.0], dtype=float)).numpy().tolist() == [3.0, 4.0, 0.0, 0.0]
    A.ncol = 1
    assert (A.T @ wp.array([3.0, 4.0], dtype=float)).numpy().tolist() == [3.0]


def test_bad_types_extents_and_fields():
    with pytest.raises(ArgumentTypeError, match="blocks of vec3f\nexpected: a scalar type, or a matrix type"):
        sparse.bsr_zeros(1, 1, wp.vec3)
    with pytest.raises(ArgumentTypeError, match="blocks of"):
        sparse.bsr_matrix_t("mat33")
    with pytest.raises(ArrayError, match="cols_of_blocks is -1\nexpected: 0 to"):
        sparse.bsr_zeros(1, -1, float)
    A = sparse.bsr_zeros(2, 2, float)
    A.offsets = wp.zeros(2, dtype=int)
    with pytest.raises(ArrayError, match="have \\(2, 0, 0\\) elements\nexpected: 3 offsets"):
        A @ vector(np.random.default_rng(0), 2, wp.float32)
    with pytest.raises(FieldNameError, match="has no field 'rows'"):
        A.rows = 3
    assert block_type((1, 1), wp.float32) is wp.float32 and block_type((1, 1), wp.float32, wp.mat22).shape == (1, 1)
