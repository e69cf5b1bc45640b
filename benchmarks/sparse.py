"""Sparse matrices of blocks beside SciPy: products, sums, assembly, and a gradient, in one run and in turn.

    python -m benchmarks.sparse [cells ...]

The matrix couples every corner of a grid of cells to its 27 neighbours by blocks of 3 x 3 of float32, as elasticity
does. SciPy works on one core in float32 too, with a BSR matrix. Values are compared before anything is timed; minima of
runs in turn are shown, and SciPy's time over warpsim's: above 1, warpsim is faster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import scipy.sparse

import warpsim as wp
import warpsim.sparse as sparse
from benchmarks.turns import timed

ROUNDS = 9


def triplets(cells: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """The number of corners, and rows, columns and blocks of cells' matrices: 64 of each cell."""
    rng = np.random.default_rng(0)
    side = cells + 1
    corner = np.arange(side**3).reshape(side, side, side)
    near = (slice(0, cells), slice(1, side))
    corners = np.stack([corner[x, y, z].reshape(-1) for x in near for y in near for z in near], axis=1)
    rows, columns = (np.ascontiguousarray(a) for a in (np.repeat(corners, 8, axis=1), np.tile(corners, 8)))
    blocks = rng.standard_normal((rows.size, 3, 3)).astype(np.float32)
    return side**3, rows.reshape(-1).astype(np.int32), columns.reshape(-1).astype(np.int32), blocks


Side = Callable[[], np.ndarray]


def tasks(cells: int) -> dict[str, tuple[Side, Side | None]]:
    """What warpsim and SciPy do, by name; each returns numbers that must agree."""
    n, rows, columns, blocks = triplets(cells)
    at, values = [wp.array(i) for i in (rows, columns)], wp.array(blocks, dtype=wp.mat33)
    A = sparse.bsr_from_triplets(n, n, *at, values)
    S = sparse.bsr_to_scipy(A, copy=True)
    x = np.random.default_rng(1).standard_normal((n, 3)).astype(np.float32)
    v, y = wp.array(x, dtype=wp.vec3), wp.zeros(n, dtype=wp.vec3)
    turned = sparse.bsr_transposed(A)
    T, product = S.T.tobsr((3, 3)), A @ turned
    A.requires_grad = v.requires_grad = y.requires_grad = True

    def assembled() -> np.ndarray:
        coo = scipy.sparse.coo_matrix((np.ones(rows.size, np.float32), (rows, columns)), shape=(n, n))
        # SciPy adds up numbers, not blocks: nine matrices of numbers are what it can do.
        parts = []
        for k in range(9):
            coo.data = blocks.reshape(-1, 9)[:, k]
            parts.append(coo.tocsr().data)
        return np.stack(parts, axis=1)

    def backward() -> np.ndarray:
        with wp.Tape() as tape:
            sparse.bsr_mv(A, v, y)
        tape.backward(grads={y: v})
        tape.zero()
        return x

    return {
        "A x": (lambda: sparse.bsr_mv(A, v, y).numpy(), lambda: S @ x.reshape(-1)),
        "A^T x": (lambda: sparse.bsr_mv(A, v, y, transpose=True).numpy(), lambda: S.T @ x.reshape(-1)),
        "A + A^T": (lambda: (A + turned).values.numpy(), lambda: (S + T).data),
        "A A^T": (lambda: (A @ turned).values.numpy(), lambda: ordered(S @ T)),
        "A A^T, pattern known": (
            lambda: sparse.bsr_mm(A, turned, product, reuse_topology=True).values.numpy(), lambda: ordered(S @ T)
        ),
        "assembly": (lambda: sparse.bsr_from_triplets(n, n, *at, values).values.numpy(), assembled),
        "transpose": (lambda: sparse.bsr_transposed(A).values.numpy(), lambda: S.T.tobsr((3, 3)).data),
        "A x, and its gradients in A and x": (backward, None),
    }  # fmt: skip


def ordered(matrix: scipy.sparse.bsr_matrix) -> np.ndarray:
    """The blocks of a product, whose columns SciPy leaves in any order."""
    matrix.sort_indices()
    return matrix.data


def main(sizes: list[int], rounds: int = ROUNDS) -> None:
    print("| cells | blocks | task | warpsim [ms] | SciPy [ms] | ratio |\n|---|---:|---|---:|---:|---:|")
    for cells in sizes:
        count = (3 * cells + 1) ** 3
        for name, (own, peer) in tasks(cells).items():
            sides = {"warpsim": own} if peer is None else {"warpsim": own, "SciPy": peer}
            results = [side().reshape(-1) for side in sides.values()]
            if peer is not None:
                np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-3, err_msg=name)
            best = timed(sides, rounds)
            own_time, other_time = best["warpsim"], best.get("SciPy")
            ratio = "- | -" if other_time is None else f"{1e3 * other_time:.2f} | {other_time / own_time:.1f}"
            print(f"| {cells} | {count} | {name} | {1e3 * own_time:.2f} | {ratio} |")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [10, 40])
