"""Random sparse matrices of blocks, with the dense matrices that they are."""

import numpy as np

import warpsim as wp
from warpsim.core.types import compounds
from warpsim.sparse.blocks import block_shape, block_type

D = wp.float64
SHAPES = ((1, 1), (2, 2), (3, 3), (2, 3), (4, 1), (1, 3))
EXTENTS = ((6, 6), (5, 7), (1, 4), (0, 3), (3, 0), (0, 0))
DEVICES = ("cpu", "interp")
LAYOUTS = ("in a row", "with gaps", "amid others", "as numbers")


def triplets(rng, extents, shape, scalar=np.float64, count=None):
    """Rows, columns, with duplicates and rows without any, and blocks."""
    rows, columns = extents
    count = (2 * rows * columns) // 3 if count is None else count
    count = count if rows and columns else 0
    places = rng.integers(0, max(1, rows // 2 + 1), count), rng.integers(0, max(1, columns), count)
    blocks = rng.integers(-9, 10, (count, *shape)) / 4.0
    return *(p.astype(np.int32) for p in places), blocks.astype(scalar)


def dense(extents, rows, columns, blocks):
    """The matrix that triplets add up to."""
    shape = blocks.shape[1:]
    out = np.zeros((extents[0], extents[1], *shape))
    np.add.at(out, (rows, columns), blocks)
    return out.transpose(0, 2, 1, 3).reshape(extents[0] * shape[0], extents[1] * shape[1])


def matrix(rng, extents, shape, scalar=D, device=None, requires_grad=False, count=None):
    """A random matrix, and what it is as a dense one."""
    rows, columns, blocks = triplets(rng, extents, shape, count=count)
    A = wp.sparse.bsr_zeros(*extents, block_type(shape, scalar), device)
    values = laid_out(blocks, A.dtype, LAYOUTS[len(blocks) % len(LAYOUTS)], device)
    indices = (wp.array(i, dtype=int, device=device) for i in (rows, columns))
    wp.sparse.bsr_set_from_triplets(A, *indices, values)
    A.requires_grad = requires_grad
    return A, dense(extents, rows, columns, blocks)


def laid_out(numbers, t, layout, device=None, requires_grad=False):
    """Blocks or vectors as an array of them, in one of some layouts. numbers: (n, rows, columns) or (n, parts)."""
    scalar = compounds.scalar_of(t)
    numbers = numbers.astype(np.dtype(scalar))
    n, options = len(numbers), {"device": device, "requires_grad": requires_grad}
    if layout == "as numbers":
        return wp.array(numbers, dtype=scalar, **options)
    elements = numbers.reshape(n) if t is scalar else numbers
    if layout == "with gaps":
        return wp.array(np.repeat(elements, 2, axis=0), dtype=t, **options)[::2]
    if layout == "amid others":
        return wp.array(np.concatenate([elements, elements, elements]), dtype=t, **options)[n : 2 * n]
    return wp.array(elements, dtype=t, **options)


def to_dense(A):
    """A sparse matrix as a dense one, read entry by entry; checks that its pattern is in order."""
    offsets, columns, values = (a.numpy() for a in (A.offsets, A.columns, A.values))
    r, c = block_shape(A.dtype)
    assert offsets.shape == (A.nrow + 1,) and offsets[0] == 0 and offsets[-1] == A.nnz <= columns.size
    out = np.zeros((A.nrow * r, A.ncol * c))
    for i in range(A.nrow):
        mine = columns[offsets[i] : offsets[i + 1]]
        assert (np.diff(mine) > 0).all() and (mine >= 0).all() and (mine < A.ncol).all()
        for k in range(offsets[i], offsets[i + 1]):
            j = columns[k]
            out[i * r : (i + 1) * r, j * c : (j + 1) * c] = values[k]
    return out


def vector(rng, count, element, device=None, requires_grad=False):
    """A random array of vectors or numbers."""
    parts, scalar = compounds.size_of(element), compounds.scalar_of(element)
    numbers = rng.integers(-9, 10, (count, parts)) / 4.0
    return wp.array(
        numbers if parts > 1 or element is not scalar else numbers[:, 0],
        dtype=element, device=device, requires_grad=requires_grad,
    )  # fmt: skip


def flat(a):
    """The numbers of an array in one line."""
    return a.numpy().reshape(-1)
