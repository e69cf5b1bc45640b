"""Maps of triplets: assembly by one has the bits and the gradients of assembly by places, and knows its pattern."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.sparse import (
    BsrTripletMap,
    bsr_axpy,
    bsr_from_triplets,
    bsr_set_from_mapped_values,
    bsr_set_from_triplets,
    bsr_set_transpose,
    bsr_zeros,
)

MAT23 = wp.types.matrix((2, 3), float)


def triplets(n, count, seed, block=MAT23):
    """Places, some of which repeat and some of which are left out, and blocks."""
    rng = np.random.default_rng(seed)
    rows, columns = (wp.array(rng.integers(-1, n, count).astype(np.int32)) for _ in range(2))
    shape = block._shape_ if block is not float else ()
    return rows, columns, wp.array(rng.standard_normal((count, *shape)).astype(np.float32), dtype=block)


@pytest.mark.parametrize("block", [float, wp.mat22, MAT23])
@pytest.mark.parametrize("count", [0, 1, 300])
@pytest.mark.parametrize("reduction", ["gather", "atomic"])
def test_blocks_are_those_of_assembly_by_places(block, count, reduction):
    rows, columns, first = triplets(8, count, 0, block)
    second = triplets(8, count, 1, block)[2]
    matrix = bsr_zeros(8, 8, block)
    mapping = bsr_set_from_triplets(matrix, rows, columns, first, build_mapping=True)
    assert (mapping.triplet_count, mapping.capacity) == (count, count)
    values = matrix.values
    bsr_set_from_mapped_values(matrix, mapping, second, reduction)
    direct = bsr_from_triplets(8, 8, rows, columns, second, prune_numerical_zeros=False)
    assert matrix.values is values
    for name in ("offsets", "columns", "values"):
        assert getattr(matrix, name).numpy().tobytes() == getattr(direct, name).numpy().tobytes(), name


def test_gradients_reach_the_blocks():
    rows, columns, blocks = triplets(5, 60, 2)
    matrix = bsr_zeros(5, 5, MAT23)
    mapping = bsr_set_from_triplets(matrix, rows, columns, build_mapping=True)
    grads = []
    for by_map in (True, False):
        blocks.requires_grad = True
        with wp.Tape() as tape:
            if by_map:
                bsr_set_from_mapped_values(matrix, mapping, blocks)
            else:
                matrix = bsr_from_triplets(5, 5, rows, columns, blocks, prune_numerical_zeros=False)
        seed = np.random.default_rng(3).standard_normal(matrix.values.numpy().shape).astype(np.float32)
        tape.backward(grads={matrix.values: wp.array(seed, dtype=MAT23)})
        grads.append(blocks.grad.numpy().copy())
        tape.zero()
    assert np.abs(grads[0]).max() > 0.0
    np.testing.assert_array_equal(*grads)


def test_a_graph_assembles_again():
    rows, columns, blocks = triplets(6, 80, 4)
    matrix = bsr_zeros(6, 6, MAT23)
    mapping = bsr_set_from_triplets(matrix, rows, columns, blocks, build_mapping=True)
    with wp.ScopedCapture() as capture:
        bsr_set_from_mapped_values(matrix, mapping, blocks)
    other = triplets(6, 80, 5)[2]
    blocks.assign(other)
    wp.capture_launch(capture.graph)
    direct = bsr_from_triplets(6, 6, rows, columns, other, prune_numerical_zeros=False)
    assert matrix.values.numpy().tobytes() == direct.values.numpy().tobytes()


def test_a_map_is_built_anew_for_other_places():
    mapping = BsrTripletMap(capacity=100)
    matrix = bsr_zeros(4, 4, float)
    for seed, count in ((6, 30), (7, 50), (8, 0)):
        rows, columns, blocks = triplets(4, count, seed, float)
        assert bsr_set_from_triplets(matrix, rows, columns, build_mapping=mapping) is mapping
        assert (mapping.triplet_count, mapping.capacity) == (count, 100)
        bsr_set_from_mapped_values(matrix, mapping, blocks)
        direct = bsr_from_triplets(4, 4, rows, columns, blocks, prune_numerical_zeros=False)
        assert matrix.values.numpy().tobytes() == direct.values.numpy().tobytes()


def test_maps_and_blocks_that_do_not_fit():
    rows, columns, blocks = triplets(4, 10, 9, float)
    matrix = bsr_zeros(4, 4, float)
    with pytest.raises(ArrayError, match="the mapping has not been built\nhelp: bsr_set_from_triplets"):
        bsr_set_from_mapped_values(matrix, BsrTripletMap(), blocks)
    mapping = bsr_set_from_triplets(matrix, rows, columns, blocks, build_mapping=True)
    with pytest.raises(ArrayError, match="values has 9 blocks\nexpected: 10, as the mapping"):
        bsr_set_from_mapped_values(matrix, mapping, blocks[:9])
    with pytest.raises(ArrayError, match="reduction is 'sum'\nexpected: 'gather' or 'atomic'"):
        bsr_set_from_mapped_values(matrix, mapping, blocks, "sum")
    with pytest.raises(ArgumentTypeError, match="mapping is None\nexpected: a BsrTripletMap"):
        bsr_set_from_mapped_values(matrix, None, blocks)
    with pytest.raises(ArgumentTypeError, match="build_mapping is 'yes'\nexpected: True, False or a BsrTripletMap"):
        bsr_set_from_triplets(matrix, rows, columns, blocks, build_mapping="yes")
    with pytest.raises(ArrayError, match="a mapping of masked triplets"):
        bsr_set_from_triplets(matrix, rows, columns, blocks, masked=True, build_mapping=True)
    bsr_set_from_triplets(matrix, columns, rows, blocks)
    with pytest.raises(ArrayError, match="the matrix has another pattern than when the mapping was built"):
        bsr_set_from_mapped_values(matrix, mapping, blocks)


def test_topologies_are_words_for_masks():
    rows, columns, blocks = triplets(4, 12, 10, float)
    for topology, masked in ((None, False), ("compact", False), ("masked", True)):
        ours, theirs = (bsr_from_triplets(4, 4, *triplets(4, 6, 11, float)) for _ in range(2))
        source = bsr_from_triplets(4, 4, rows, columns, blocks)
        for call in (
            lambda dest, source=source, **how: bsr_axpy(source, dest, **how),
            lambda dest, source=source, **how: bsr_set_transpose(dest, source, **how),
            lambda dest, **how: bsr_set_from_triplets(dest, rows, columns, blocks, **how),
        ):
            call(ours, topology=topology)
            call(theirs, masked=masked)
            assert ours.columns.list() == theirs.columns.list() and ours.values.list() == theirs.values.list()
    with pytest.raises(ArrayError, match=r"topology is 'padded'\nexpected: 'compact' or 'masked'; rows with room"):
        bsr_axpy(source, ours, topology="padded")
    assert source.row_counts is None and source.status_sync() == 0
    source.row_counts = None
    with pytest.raises(ArrayError, match="row_counts of a BsrMatrix\nexpected: None"):
        source.row_counts = wp.zeros(4, dtype=int)


def test_expressions_become_matrices():
    source = bsr_from_triplets(4, 4, *triplets(4, 12, 12, float))
    turned = (2.0 * source).transpose().eval()
    assert type(turned) is type(source)
    bsr_set_transpose(twice := bsr_zeros(4, 4, float), 2.0 * source)
    assert turned.values.list() == twice.values.list() and turned.columns.list() == twice.columns.list()
