"""Assembly from triplets against sums by NumPy: shapes, duplicates, what is left out, masks, counts, bad input."""

import numpy as np
import pytest
from random_blocks import DEVICES, EXTENTS, SHAPES, dense, to_dense, triplets

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.sparse.blocks import block_type

SCALARS = (wp.float16, wp.float32, wp.float64, wp.int32)


def arrays(rows, columns, blocks, device=None, scalar=wp.float64):
    """Triplets as arrays, blocks as numbers of shape (n, rows, columns)."""
    indices = [wp.array(np.asarray(i, np.int32), device=device) for i in (rows, columns)]
    return *indices, wp.array(np.asarray(blocks).astype(np.dtype(scalar)), dtype=scalar, device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extents", EXTENTS)
def test_sums_of_triplets(extents, shape, device):
    found = triplets(np.random.default_rng(3), extents, shape)
    A = sparse.bsr_from_triplets(*extents, *arrays(*found, device))
    assert (to_dense(A) == dense(extents, *found)).all()
    assert A.dtype is block_type(shape, wp.float64)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 2)])
def test_numbers_of_all_types(scalar, shape):
    rows, columns, blocks = triplets(np.random.default_rng(4), (5, 5), shape)
    blocks = np.floor(blocks)
    A = sparse.bsr_from_triplets(5, 5, *arrays(rows, columns, blocks, scalar=scalar))
    assert (to_dense(A) == dense((5, 5), rows, columns, blocks)).all() and A.scalar_type is scalar


def test_blocks_as_matrices_or_as_numbers():
    rows, columns, numbers = arrays(*triplets(np.random.default_rng(5), (4, 4), (3, 3)))
    A = sparse.bsr_from_triplets(4, 4, rows, columns, numbers)
    B = sparse.bsr_from_triplets(4, 4, rows, columns, numbers.view(wp.mat33d))
    assert A.values.numpy().tolist() == B.values.numpy().tolist()
    C = sparse.bsr_from_triplets(4, 4, rows, columns, numbers[:, 0, 0].contiguous())
    assert C.dtype is wp.float64 and C.nnz == A.nnz


def test_blocks_of_one_place_add_up_in_their_order():
    numbers = [1.0, 1e16, -1e16, 3.0]
    for order in ([0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 0, 3]):
        total = 0.0
        for k in order:
            total += numbers[k]
        values = [numbers[k] for k in order]
        A = sparse.bsr_from_triplets(1, 1, *arrays(4 * [0], 4 * [0], values))
        assert A.values.numpy().tolist() == [total]


def test_negative_places_are_left_out_and_those_beyond_are_named():
    rows, columns = [-1, 0, 1, 0], [0, -3, 1, 0]
    A = sparse.bsr_from_triplets(2, 2, *arrays(rows, columns, [1.0, 2.0, 3.0, 4.0]))
    assert to_dense(A).tolist() == [[4.0, 0.0], [0.0, 3.0]]
    for rows, columns, at in (([0, 2, 9], [1, 0, 0], r"triplet 1 is at \(2, 0\)"), ([0], [2], r"0 is at \(0, 2\)")):
        with pytest.raises(ArrayError, match=at + "\nexpected: rows below 2 and columns below 2"):
            sparse.bsr_from_triplets(2, 2, *arrays(rows, columns, np.ones(len(rows))))


def test_blocks_of_zeros():
    given = arrays([0, 0, 1], [0, 1, 1], [[[0.0, 1e-200]], [[0.0, 0.0]], [[-0.0, 0.0]]])
    assert sparse.bsr_from_triplets(2, 2, *given).nnz == 1
    assert sparse.bsr_from_triplets(2, 2, *given, prune_numerical_zeros=False).nnz == 3
    given[2].requires_grad = True
    assert sparse.bsr_from_triplets(2, 2, *given).nnz == 3
    nan = arrays([0], [0], [np.nan])
    assert sparse.bsr_from_triplets(1, 1, *nan).nnz == 1


@pytest.mark.parametrize("device", DEVICES)
def test_the_first_triplets_alone(device):
    given = arrays([0, 1, 1], [1, 0, 0], [1.0, 2.0, 4.0], device)
    for count in (2, wp.array([2], dtype=int, device=device)):
        assert to_dense(sparse.bsr_from_triplets(2, 2, *given, count)).tolist() == [[0.0, 1.0], [2.0, 0.0]]
    assert sparse.bsr_from_triplets(2, 2, *given, 0).nnz == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3)])
def test_masked_assembly_keeps_the_pattern(shape, device):
    rng = np.random.default_rng(6)
    first, second = (triplets(rng, (5, 4), shape) for _ in range(2))
    A = sparse.bsr_from_triplets(5, 4, *arrays(*first, device), prune_numerical_zeros=False)
    offsets, columns = A.offsets, A.columns
    sparse.bsr_set_from_triplets(A, *arrays(*second, device), masked=True)
    assert A.offsets is offsets and A.columns is columns
    mask = dense((5, 4), *first[:2], np.ones_like(first[2])) > 0
    assert (to_dense(A) == np.where(mask, dense((5, 4), *second), 0.0)).all()


def test_a_pattern_without_values():
    A = sparse.bsr_zeros(2, 3, wp.mat22)
    sparse.bsr_set_from_triplets(A, wp.array([1, 1, 0], dtype=int), wp.array([2, 2, 1], dtype=int))
    assert A.columns.numpy().tolist() == [1, 2] and A.values.numpy().tolist() == np.zeros((2, 2, 2)).tolist()


def test_another_pattern_leaves_the_old_arrays():
    """What was made of a matrix stays what it was."""
    A = sparse.bsr_from_triplets(2, 2, *arrays([0], [0], [1.0]))
    old = A.offsets, A.columns, A.values
    sparse.bsr_set_from_triplets(A, *arrays([1, 1], [0, 1], [5.0, 6.0]))
    assert [a.numpy().tolist() for a in old] == [[0, 1, 1], [0], [1.0]]
    assert to_dense(A).tolist() == [[0.0, 0.0], [5.0, 6.0]]


def test_compression_sorts_adds_and_drops():
    A = sparse.bsr_zeros(2, 3, wp.float64)
    A.offsets = wp.array([0, 4, 5], dtype=int)
    A.columns, A.values = wp.array([2, 0, 2, 1, 1, 7], dtype=int), wp.array([1.0, 2.0, 4.0, 0.0, 5.0, 9.0])
    sparse.bsr_compress(A)
    assert to_dense(A).tolist() == [[2.0, 0.0, 5.0], [0.0, 5.0, 0.0]] and A.nnz == 3
    A.columns.assign([0, 3, 1])
    with pytest.raises(ArrayError, match=r"triplet 1 is at \(0, 3\)"):
        sparse.bsr_compress(A)


def test_bad_input():
    rows, columns, values = arrays([0, 1], [0, 1], [1.0, 2.0])
    A = sparse.bsr_zeros(2, 2, wp.mat22d)
    assemble = sparse.bsr_set_from_triplets
    with pytest.raises(ArgumentTypeError, match=r"dest is 3\nexpected: a BsrMatrix"):
        assemble(3, rows, columns, values)
    with pytest.raises(ArgumentTypeError, match=r"rows is .*\nexpected: an array of int32 of rank 1"):
        assemble(A, values, columns, values)
    with pytest.raises(ArgumentTypeError, match=r"values is an array of float64 of shape \(2,\)\nexpected: .*mat22d"):
        assemble(A, rows, columns, values)
    with pytest.raises(ArrayError, match=r"have \[2, 2, 3\] elements\nexpected: as many of each"):
        assemble(A, rows, columns, wp.zeros(3, dtype=wp.mat22d))
    with pytest.raises(ArrayError, match=r"columns is on interp\nexpected: (cpu|cuda:0), as the matrix"):
        assemble(A, rows, columns.to("interp"), wp.zeros(2, dtype=wp.mat22d))
    with pytest.raises(ArgumentTypeError, match="rows is list\nexpected: an array of int32"):
        sparse.bsr_from_triplets(2, 2, [0, 1], columns, values)
    with pytest.raises(ArgumentTypeError, match="values are an array of rank 2\nexpected: an array of blocks"):
        sparse.bsr_from_triplets(2, 2, rows, columns, wp.zeros((2, 2)))
