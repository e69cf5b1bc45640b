"""Matrices whose offsets, columns, blocks and extents a program wrote anyhow: errors or numbers, never the end."""

import numpy as np
import pytest
from random_blocks import matrix

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import WarpsimError

NUMBERS = (-(2**31), -7, -1, 0, 3, 6, 100, 2**31 - 1)
OPERATIONS = {
    "A x": lambda A, B: A @ wp.ones(max(1, int(A.ncol)), dtype=wp.vec2d, requires_grad=True),
    "A^T x": lambda A, B: A.T @ wp.ones(5, dtype=wp.vec2d, requires_grad=True),
    "A B": lambda A, B: (A @ B).values,
    "B A": lambda A, B: (B @ A).values,
    "B B at places of A": lambda A, B: sparse.bsr_mm(B, B, A, masked=True).values,
    "A + B": lambda A, B: (A + B).values,
    "B + A^T": lambda A, B: (B + A.T).values,
    "transpose": lambda A, B: sparse.bsr_transposed(A).values,
    "blocks of another shape": lambda A, B: sparse.bsr_copy(A, block_shape=(1, 2)).values,
    "B at places of A": lambda A, B: sparse.bsr_assign(A, B, masked=True),
    "diagonal": lambda A, B: sparse.bsr_get_diag(A),
    "compression": lambda A, B: sparse.bsr_compress(A),
    "number of blocks": lambda A, B: A.nnz_sync(),
    "A in place": lambda A, B: sparse.bsr_scale(A, 2.0),
    "A + B at places of A": lambda A, B: sparse.bsr_axpy(B, A, masked=True),
    "A B at places of A": lambda A, B: sparse.bsr_mm(A, B, A, reuse_topology=True),
    "transpose at places of A": lambda A, B: sparse.bsr_set_transpose(A, B, masked=True),
    "triplets at places of A": lambda A, B: sparse.bsr_set_from_triplets(
        A, B.uncompress_rows(), B.columns, B.values, masked=True
    ),
    "rows": lambda A, B: A.uncompress_rows(),
    "entries by column": lambda A, B: A.transposed_index.rows,
}


def damaged(rng):
    """A matrix with wrong numbers in some of its parts."""
    A, _ = matrix(rng, (5, 5), (2, 2), requires_grad=True, count=12)
    if rng.random() < 0.5:
        assert A.transposed_index
    for a in (A.offsets, A.columns):
        if rng.random() < 0.6:
            contents = a.numpy().copy()
            contents[rng.integers(0, contents.size, 3)] = rng.choice(NUMBERS, 3)
            a.assign(contents)
    if rng.random() < 0.2:
        A.nnz = int(rng.choice([-5, 0, 3, 9, 40]))
    for name in ("offsets", "columns"):
        if rng.random() < 0.1:
            setattr(A, name, wp.array(rng.choice(NUMBERS, int(rng.integers(0, 20))).astype(np.int32)))
    if rng.random() < 0.2:
        A.values = wp.ones(int(rng.integers(0, 20)), dtype=wp.mat22d, requires_grad=True)
    if rng.random() < 0.2:
        A.ncol = int(rng.choice([-3, 0, 3, 8]))
    if rng.random() < 0.1:
        A.nrow = int(rng.choice([-3, 0, 4, 6]))
    return A


@pytest.mark.parametrize("name", OPERATIONS)
def test_errors_or_numbers(name):
    rng, ended = np.random.default_rng(81), []
    B, _ = matrix(rng, (5, 5), (2, 2), count=12)
    for _ in range(60):
        A = damaged(rng)
        try:
            with wp.Tape() as tape:
                out = OPERATIONS[name](A, B)
            if isinstance(out, wp.array) and out.requires_grad and tape.records:
                tape.backward(grads={out: wp.ones_like(out)})
            ended.append(True)
        except WarpsimError:
            ended.append(False)
    assert any(ended)
