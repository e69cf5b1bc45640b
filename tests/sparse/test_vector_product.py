"""Products with vectors against NumPy and SciPy: shapes, transposes, alpha and beta, how vectors lie, bad input."""

import numpy as np
import pytest
import scipy.sparse
from random_blocks import DEVICES, EXTENTS, SHAPES, flat, matrix, to_dense, vector

import warpsim as wp
import warpsim.sparse as sparse
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.sparse.blocks import column_type, row_type


def operands(rng, extents, shape, transpose, device=None, scalar=wp.float64):
    """A matrix, a dense one that is what it does, and vectors x and y."""
    A, M = matrix(rng, extents, shape, scalar, device)
    ends = [(extents[1], column_type(A.dtype)), (extents[0], row_type(A.dtype))]
    (n, domain), (m, image) = ends[::-1] if transpose else ends
    return A, M.T if transpose else M, vector(rng, n, domain, device), vector(rng, m, image, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extents", EXTENTS)
def test_products(extents, shape, transpose, device):
    A, M, x, y = operands(np.random.default_rng(7), extents, shape, transpose, device)
    product = sparse.bsr_mv(A, x, transpose=transpose)
    assert product.dtype is y.dtype and (flat(product) == M @ flat(x)).all()
    before = flat(y).copy()
    assert sparse.bsr_mv(A, x, y, 2.0, -0.5, transpose) is y
    assert (flat(y) == 2.0 * (M @ flat(x)) - 0.5 * before).all()


@pytest.mark.parametrize("scalar", [wp.float16, wp.float32, wp.int32])
@pytest.mark.parametrize("transpose", [False, True])
def test_other_numbers(scalar, transpose):
    for shape in ((1, 1), (2, 3)) if scalar is not wp.int32 else ((1, 1),):
        rng = np.random.default_rng(8)
        A, _, x, _ = operands(rng, (4, 5), shape, transpose, scalar=scalar)
        M = sparse.bsr_copy(A, scalar_type=wp.float64)
        N = scipy.sparse.bsr_matrix(
            (M.values.numpy().reshape(-1, *shape), M.columns.numpy(), M.offsets.numpy()), shape=M.shape
        )
        expected = (N.T if transpose else N) @ flat(x).astype(np.float64)
        assert (flat(sparse.bsr_mv(A, x, transpose=transpose)) == expected).all()


def test_beta_zero_does_not_read_y():
    A, M, x, y = operands(np.random.default_rng(9), (5, 5), (2, 2), False)
    y.fill_(np.nan)
    assert (flat(sparse.bsr_mv(A, x, y)) == M @ flat(x)).all()


def test_vectors_are_held_as_vectors_rows_or_numbers():
    A, M, x, _ = operands(np.random.default_rng(10), (4, 6), (2, 3), False)
    for numbers in (x, x.view(wp.float64), x.view(wp.float64).flatten()):
        for y in (wp.zeros(4, dtype=wp.vec2d), wp.zeros((4, 2), dtype=wp.float64), wp.zeros(8, dtype=wp.float64)):
            assert sparse.bsr_mv(A, numbers, y) is y and (flat(y) == M @ flat(x)).all()
    spread = wp.zeros((6, 2), dtype=wp.vec3d)
    spread[:, 0].assign(x)
    assert (flat(A @ spread[:, 0]) == M @ flat(x)).all()


def test_x_may_be_y():
    A, M, x, _ = operands(np.random.default_rng(11), (5, 5), (3, 3), False)
    before = flat(x).copy()
    sparse.bsr_mv(A, x, x, alpha=2.0, beta=1.0)
    assert (flat(x) == 2.0 * (M @ before) + before).all()


def test_operators_are_this_product():
    A, M, x, y = operands(np.random.default_rng(12), (4, 3), (2, 3), False)
    assert (flat(A @ x) == M @ flat(x)).all() and (flat(A.T @ y) == M.T @ flat(y)).all()
    assert (flat(y @ A) == M.T @ flat(y)).all()
    assert (flat((0.5 * A).transpose() @ y) == 0.5 * (M.T @ flat(y))).all()
    assert (flat(-A.T.T @ x) == -(M @ flat(x))).all() and (flat((np.float64(2.0) * A) @ x) == 2.0 * (M @ flat(x))).all()
    assert (flat((A / 2.0 * 3) @ x) == 1.5 * (M @ flat(x))).all()


def test_captured_products_follow_their_matrix():
    A, M, x, y = operands(np.random.default_rng(13), (4, 4), (2, 2), False)
    with wp.ScopedCapture() as capture:
        sparse.bsr_mv(A, x, y)
        sparse.bsr_mv(A, y, x, transpose=True)
    start = flat(x).copy()
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert (flat(x) == M.T @ (M @ (M.T @ (M @ start)))).all()
    A.values.zero_()
    wp.capture_launch(capture.graph)
    assert not flat(x).any()


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_matrix_is_used_between_its_capture_and_the_launch(requires_grad):
    """What a capture finds of a pattern holds nothing yet."""
    A, M, x, y = operands(np.random.default_rng(15), (4, 4), (2, 2), False)
    A.requires_grad = requires_grad
    with wp.ScopedCapture() as capture:
        sparse.bsr_mv(A, y, x, transpose=True)
        B = sparse.bsr_transposed(A)
    assert (flat(A.T @ y) == M.T @ flat(y)).all()
    wp.capture_launch(capture.graph)
    assert (flat(x) == M.T @ flat(y)).all() and (to_dense(B) == M.T).all()


def test_matrices_of_one_pattern_share_its_index():
    A, M, _, y = operands(np.random.default_rng(16), (4, 4), (2, 2), False)
    kept_pattern = A.snapshot()
    assert kept_pattern.transposed_index is A.transposed_index is A.snapshot().transposed_index
    with pytest.raises(ValueError, match="read-only"):
        A.transposed_index.order.numpy()[:] = 10**6
    sparse.bsr_set_identity(A)
    assert A.transposed_index.order.size == 4
    assert (flat(kept_pattern.T @ y) == M.T @ flat(y)).all()


def test_integers_have_integers_for_factors():
    A = sparse.bsr_identity(2, int)
    x = wp.array([3, 4], dtype=int)
    assert (A @ x).numpy().tolist() == [3, 4] and ((3.0 * A) @ x).numpy().tolist() == [9, 12]
    for call in (lambda: (0.5 * A) @ x, lambda: A / 2 + A, lambda: sparse.bsr_scale(A, 0.5), lambda: A @ (0.5 * A)):
        with pytest.raises(ArgumentTypeError, match=r"a factor is 0\.5\nexpected: an integer, for blocks of int32"):
            call()


def test_bad_input():
    A, _, x, y = operands(np.random.default_rng(14), (4, 3), (2, 3), False)
    with pytest.raises(ArgumentTypeError, match=r"A is 3\nexpected: a BsrMatrix"):
        sparse.bsr_mv(3, x)
    with pytest.raises(ArgumentTypeError, match="x is an array of vec3f\nexpected: an array of vec3d"):
        sparse.bsr_mv(A, wp.zeros(3, dtype=wp.vec3))
    with pytest.raises(ArrayError, match=r"x has shape \(4,\) of vec2d\nexpected: 3 elements of vec3d"):
        sparse.bsr_mv(A, y)
    with pytest.raises(ArrayError, match=r"y has shape \(3,\) of vec3d\nexpected: 4 elements of vec2d"):
        sparse.bsr_mv(A, x, x)
    with pytest.raises(ArrayError, match=r"x is on interp\nexpected: (cpu|cuda:0), as the matrix"):
        sparse.bsr_mv(A, x.to("interp"))
    with pytest.raises(ArgumentTypeError, match="a factor is 'two'\nexpected: a number"):
        sparse.bsr_mv(A, x, alpha="two")
    with pytest.raises(TypeError, match="unsupported operand"):
        A @ [1.0, 2.0]
