"""Preconditioners by blocks: inverses of what is on the diagonal, identities for what has none, refusals."""

import numpy as np
import pytest
from scipy.sparse import bsr_matrix, csr_matrix, diags, eye, kron

import warpsim as wp
from warpsim.errors import ArgumentTypeError
from warpsim.optim.linear import LinearOperator, bicgstab, cg, preconditioner
from warpsim.sparse import bsr_from_scipy, bsr_from_triplets, bsr_zeros

BLOCKS = ("block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile")


def diagonal(blocks, dtype=np.float64):
    """A sparse matrix with these blocks on its diagonal."""
    count, k, _ = blocks.shape
    places = wp.array(np.arange(count, dtype=np.int32))
    values = wp.array(blocks.astype(dtype), dtype=wp.types.matrix((k, k), wp.dtype_from_numpy(np.dtype(dtype))))
    return bsr_from_triplets(count, count, places, places, values, prune_numerical_zeros=False)


def applied(M, x):
    """M x by its product."""
    x = wp.array(x)
    z = wp.zeros_like(x)
    M.matvec(x, z, z, 1.0, 0.0)
    return z.numpy()


def definite(count, k, seed=0):
    m = np.random.default_rng(seed).standard_normal((count, k, k))
    return m @ m.transpose(0, 2, 1) + k * np.eye(k)


ROUNDING = [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 3e-2)]
TAKEN = [(ptype, *kind) for ptype in BLOCKS for kind in ROUNDING if ptype != BLOCKS[2] or kind[0] is not np.float16]


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize(("ptype", "dtype", "rtol"), TAKEN)
def test_blocks_are_inverted(ptype, k, dtype, rtol):
    blocks = definite(4, k).astype(dtype)
    x = np.random.default_rng(1).standard_normal((4, k)).astype(dtype)
    exact = np.linalg.solve(blocks.astype(float), x.astype(float)[..., None]).ravel()
    found = applied(preconditioner(diagonal(blocks, dtype), ptype), x.ravel())
    np.testing.assert_allclose(found, exact, rtol=rtol, atol=rtol * np.abs(exact).max())


def test_blocks_without_an_inverse_are_identities():
    rng = np.random.default_rng(2)
    good, skew = definite(1, 3)[0], np.array([[4.0, 1.0, 0.0], [0.1, 3.0, 0.0], [0.0, 0.0, 2.0]])
    v = rng.standard_normal(3)
    blocks = {
        "regular": good, "zero": np.zeros((3, 3)), "of rank one": np.outer(v, v), "negative": -good,
        "skew": skew, "not a number": np.full((3, 3), np.nan),
    }  # fmt: skip
    x = rng.standard_normal((len(blocks), 3))
    for ptype in BLOCKS:
        found = applied(preconditioner(diagonal(np.stack(list(blocks.values()))), ptype), x.ravel()).reshape(-1, 3)
        inverted = {"regular", "negative", "skew"} if ptype == "block_jacobi_direct" else {"regular"}
        for k, (name, block) in enumerate(blocks.items()):
            expected = np.linalg.solve(block, x[k]) if name in inverted else x[k]
            np.testing.assert_allclose(found[k], expected, rtol=1e-12, err_msg=f"{ptype}: {name}")


@pytest.mark.parametrize(("dtype", "scale"), [(np.float64, 1e-8), (np.float32, 1e-4), (np.float16, 1e-2)])
def test_scaled_blocks_are_regular(dtype, scale):
    block = np.diag([1.0, scale]).astype(dtype)[None]
    for ptype in BLOCKS[:2]:
        found = applied(preconditioner(diagonal(block, dtype), ptype), np.ones(2, dtype))
        np.testing.assert_allclose(found, [1.0, 1.0 / float(block[0, 1, 1])], rtol=2e-3)


def test_blocks_save_iterations():
    stiff = kron(diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(30, 30)), np.array([[4.0, 3.9], [3.9, 4.0]]))
    A = bsr_from_scipy(bsr_matrix(stiff + 0.01 * eye(60), blocksize=(2, 2)))
    b = wp.array(np.random.default_rng(3).standard_normal(60))
    for method in (cg, bicgstab):
        inverses = [preconditioner(A, ptype) for ptype in ("diag", *BLOCKS)]
        counts = [method(A, b, wp.zeros_like(b), M=M) for M in inverses]
        assert all(result.converged for result in counts)
        assert all(result.iterations < 0.8 * counts[0].iterations for result in counts[1:]), method


def test_numbers_as_blocks_are_those_of_the_diagonal():
    A = bsr_from_scipy(csr_matrix(np.diag([2.0, -4.0, 5.0])))
    for ptype in BLOCKS:
        np.testing.assert_array_equal(applied(preconditioner(A, ptype), np.ones(3)), [0.5, -0.25, 0.2])
    assert preconditioner(A, "id") is None


def test_what_has_no_blocks_is_refused():
    unlike = bsr_zeros(2, 3, wp.types.matrix((3, 2), wp.float64))
    wide = bsr_zeros(3, 5, wp.types.matrix((3, 3), wp.float64))
    for ptype in BLOCKS:
        with pytest.raises(ValueError, match=r"expected: a sparse matrix with square blocks"):
            preconditioner(wp.array(np.eye(4)), ptype)
        for A in (unlike, wide):
            with pytest.raises(ValueError, match=r"expected: a square matrix with square matrix blocks"):
                preconditioner(A, ptype)
    with pytest.raises(ValueError, match=r"blocks of float16\nexpected: float32 or float64"):
        preconditioner(diagonal(definite(2, 3), np.float16), "block_jacobi_tile")
    with pytest.raises(ValueError, match=r"ptype is 'block_jacobi'\nexpected: one of 'diag', 'diag_abs'"):
        preconditioner(wide, "block_jacobi")
    own = LinearOperator((3, 3), wp.float64, None, lambda *a: None)
    with pytest.raises(ArgumentTypeError, match="the entries of LinearOperator are not known"):
        preconditioner(own)
