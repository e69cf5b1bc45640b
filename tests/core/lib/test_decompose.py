"""svd2, svd3, qr3 and eig3 keep what they promise, for every kind of matrix, type and device."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import warpsim as wp

DEVICES = ("interp", "cpu")
SCALARS = ("f", "d")
COUNT, MANY = {"interp": 4}, 400  # matrices per family; the interpreter is slow
ROUNDINGS = 16  # allowed error, in units of rounding of the scalar type


def eps(values: np.ndarray) -> float:
    return ROUNDINGS * float(np.finfo(values.dtype).eps)


def kernels(suffix: str) -> dict:
    """One kernel per decomposition for the scalar type with this suffix."""
    mat22, mat33 = getattr(wp, f"mat22{suffix}"), getattr(wp, f"mat33{suffix}")
    vec2, vec3 = getattr(wp, f"vec2{suffix}"), getattr(wp, f"vec3{suffix}")

    @wp.kernel
    def svd2(
        A: wp.array(dtype=mat22),
        U: wp.array(dtype=mat22),
        s: wp.array(dtype=vec2),
        V: wp.array(dtype=mat22),
    ):
        i = wp.tid()
        u, sigma, v = wp.svd2(A[i])
        U[i] = u
        s[i] = sigma
        V[i] = v

    @wp.kernel
    def svd3(
        A: wp.array(dtype=mat33),
        U: wp.array(dtype=mat33),
        s: wp.array(dtype=vec3),
        V: wp.array(dtype=mat33),
    ):
        i = wp.tid()
        u, sigma, v = wp.svd3(A[i])
        U[i] = u
        s[i] = sigma
        V[i] = v

    @wp.kernel
    def qr3(A: wp.array(dtype=mat33), Q: wp.array(dtype=mat33), R: wp.array(dtype=mat33)):
        i = wp.tid()
        q, r = wp.qr3(A[i])
        Q[i] = q
        R[i] = r

    @wp.kernel
    def eig3(A: wp.array(dtype=mat33), Q: wp.array(dtype=mat33), d: wp.array(dtype=vec3)):
        i = wp.tid()
        q, values = wp.eig3(A[i])
        Q[i] = q
        d[i] = values

    types = {
        "svd2": (mat22, vec2, mat22),
        "svd3": (mat33, vec3, mat33),
        "qr3": (mat33, mat33),
        "eig3": (mat33, vec3),
    }
    return {k.key.split(".")[-1]: (k, types[k.key.split(".")[-1]]) for k in (svd2, svd3, qr3, eig3)}


KERNELS = {suffix: kernels(suffix) for suffix in SCALARS}


def decompose(name: str, matrices: np.ndarray, device: str) -> list[np.ndarray]:
    """The factors of a stack of matrices, computed on a device in the type of the stack."""
    kernel, result_types = KERNELS["f" if matrices.dtype == np.float32 else "d"][name]
    mat = result_types[0]
    given_matrices = wp.array(matrices, dtype=mat, device=device)
    results = [wp.zeros(len(matrices), dtype=t, device=device) for t in result_types]
    wp.launch(kernel, dim=len(matrices), inputs=[given_matrices, *results], device=device)
    return [r.numpy() for r in results]


def families(n: int, count: int, seed: int) -> dict[str, np.ndarray]:
    """Stacks of n x n matrices of many kinds, in float64."""
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(count, n, n))
    left = np.linalg.qr(rng.normal(size=(count, n, n)))[0]
    right = np.linalg.qr(rng.normal(size=(count, n, n)))[0]
    repeated = np.ones((count, n))
    repeated[:, -1] = 10.0 ** rng.uniform(-9, 0, count)
    return {
        "full": full,
        "uneven columns": full * 10.0 ** rng.uniform(-6, 0, (count, 1, n)),
        "uneven rows": full * 10.0 ** rng.uniform(-6, 0, (count, n, 1)),
        "orthogonal": left,
        "rank 1": full[:, :, :1] * full[:, :1, :],
        "rank n - 1": left * np.where(np.arange(n) == 0, 0.0, rng.normal(size=(count, 1, n))) @ right,
        "wide spectrum": left * 10.0 ** rng.uniform(-8, 0, (count, 1, n)) @ right,
        "repeated": left * repeated[:, None, :] @ right,
        "nearly repeated": left * (1 + 1e-6 * rng.normal(size=(count, 1, n))) @ right,
        "small integers": rng.integers(-2, 3, (count, n, n)).astype(float),
        "diagonal": np.eye(n) * rng.integers(-3, 4, (count, n, 1)),
        "zero": np.zeros((1, n, n)),
    }


def stacks(n: int, device: str, suffix: str, seed: int):
    """(name, stack) in the scalar type, with stacks near both ends of its range."""
    dtype = np.float32 if suffix == "f" else np.float64
    found = families(n, COUNT.get(device, MANY), seed)
    limits = np.finfo(dtype)
    found["huge"] = found["full"] / 8 * float(limits.max)
    found["tiny"] = found["full"] * float(limits.tiny) * 64
    for name, stack in found.items():
        yield name, stack.astype(dtype)


def in_float64(matrices: np.ndarray, *factors: np.ndarray) -> list[np.ndarray]:
    """The matrix divided by its largest component, and the factors, in float64.

    The last factor carries the scale of the matrix and is divided too.
    """
    largest = np.abs(matrices).max(axis=(1, 2)).astype(np.float64)
    largest[largest == 0] = 1
    *rotations, scaled = (f.astype(np.float64) for f in factors)
    return [
        matrices / largest[:, None, None],
        *rotations,
        scaled / largest.reshape(-1, *[1] * (scaled.ndim - 1)),
    ]


def assert_orthogonal(q: np.ndarray, tolerance: float, determinant: float | None = 1.0) -> None:
    np.testing.assert_allclose(q @ q.transpose(0, 2, 1), np.broadcast_to(np.eye(q.shape[1]), q.shape), atol=tolerance)
    if determinant is not None:
        np.testing.assert_allclose(np.linalg.det(q), determinant, atol=4 * tolerance)


def assert_svd(A: np.ndarray, U: np.ndarray, s: np.ndarray, V: np.ndarray) -> None:
    tolerance = eps(A)
    n = A.shape[1]
    A, U, V, s = in_float64(A, U, V, s)
    np.testing.assert_allclose(U * s[:, None, :] @ V.transpose(0, 2, 1), A, atol=n * tolerance)
    assert_orthogonal(V, tolerance)
    assert_orthogonal(U, tolerance, 1.0 if n == 3 else None)
    assert (np.diff(np.abs(s), axis=1) <= tolerance).all(), "singular values must descend"
    assert (s[:, : 2 if n == 3 else n] >= 0).all()
    np.testing.assert_allclose(np.abs(s), np.linalg.svd(A, compute_uv=False), atol=n * tolerance)
    det = np.linalg.det(A)
    clear = np.abs(det) > 100 * tolerance
    found_sign = np.sign(s[:, 2]) if n == 3 else np.linalg.det(U)
    np.testing.assert_allclose(found_sign[clear], np.sign(det[clear]), atol=4 * tolerance)


def assert_qr(A: np.ndarray, Q: np.ndarray, R: np.ndarray) -> None:
    tolerance = eps(A)
    A, Q, R = in_float64(A, Q, R)
    np.testing.assert_allclose(Q @ R, A, atol=3 * tolerance)
    assert_orthogonal(Q, tolerance)
    assert (np.tril(R, -1) == 0).all()
    assert (R[:, 0, 0] >= 0).all() and (R[:, 1, 1] >= 0).all()


def assert_eig(A: np.ndarray, Q: np.ndarray, d: np.ndarray) -> None:
    tolerance = eps(A)
    A, Q, d = in_float64(A, Q, d)
    np.testing.assert_allclose(Q * d[:, None, :] @ Q.transpose(0, 2, 1), A, atol=3 * tolerance)
    assert_orthogonal(Q, tolerance)
    np.testing.assert_allclose(d, np.linalg.eigvalsh(A), atol=3 * tolerance)
    assert (np.diff(d, axis=1) >= 0).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("suffix", SCALARS)
@pytest.mark.parametrize("n", [2, 3])
def test_singular_values_of_every_kind_of_matrix(n, suffix, device):
    for _, A in stacks(n, device, suffix, seed=1):
        assert_svd(A, *decompose(f"svd{n}", A, device))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("suffix", SCALARS)
def test_qr_of_every_kind_of_matrix(suffix, device):
    for _, A in stacks(3, device, suffix, seed=2):
        assert_qr(A, *decompose("qr3", A, device))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("suffix", SCALARS)
def test_eigenvectors_of_every_kind_of_matrix(suffix, device):
    for _, A in stacks(3, device, suffix, seed=3):
        S = (0.5 * A + 0.5 * A.transpose(0, 2, 1)).astype(A.dtype)
        assert_eig(S, *decompose("eig3", S, device))


def test_eigenvectors_use_the_symmetric_part():
    A = np.random.default_rng(4).normal(size=(50, 3, 3))
    Q, d = decompose("eig3", A, None)
    assert_eig(0.5 * (A + A.transpose(0, 2, 1)), Q, d)


@pytest.mark.parametrize("name", ["svd3", "qr3", "eig3"])
def test_identity_decomposes_exactly(name):
    for factor in decompose(name, np.eye(3, dtype=np.float32)[None], None):
        np.testing.assert_array_equal(factor[0], np.ones(3) if factor.ndim == 2 else np.eye(3))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("suffix", SCALARS)
def test_diagonal_matrices_decompose_exactly(suffix, device):
    dtype = {"f": np.float32, "d": np.float64}[suffix]
    diagonals = np.random.default_rng(3).integers(-9, 10, (12, 3)) * np.array([[1.0], [1e-3], [3e20]]).repeat(4, axis=0)
    matrices = (np.eye(3) * diagonals[:, None, :]).astype(dtype)
    for name, values in (("svd3", np.sort(abs(diagonals))[:, ::-1]), ("eig3", np.sort(diagonals))):
        result = decompose(name, matrices, device)[1]
        np.testing.assert_array_equal(abs(result) if name == "svd3" else result, values.astype(dtype))


@pytest.mark.parametrize(("name", "n"), [("svd2", 2), ("svd3", 3), ("qr3", 3), ("eig3", 3)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_a_number_in_gives_not_a_number_out(name, n, bad):
    A = np.eye(n, dtype=np.float32)[None].copy()
    A[0, 0, 1] = A[0, 1, 0] = bad
    for factor in decompose(name, A, None):
        assert np.isnan(factor).any()


ENTRIES = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 2.0**-27, -(2.0**-13)]),
    st.floats(-(2.0**100), 2.0**100, allow_subnormal=False, width=32),
    st.floats(-2, 2, width=32),
)


def any_matrices(n: int) -> st.SearchStrategy:
    return arrays(np.float32, (3, n, n), elements=ENTRIES)


@settings(deadline=None, max_examples=100)
@given(any_matrices(3))
def test_any_matrix_of_three(A):
    assert_svd(A, *decompose("svd3", A, None))
    assert_qr(A, *decompose("qr3", A, None))
    S = (A + A.transpose(0, 2, 1)).astype(np.float32)
    assert_eig(S, *decompose("eig3", S, None))


@settings(deadline=None, max_examples=100)
@given(any_matrices(2))
def test_any_matrix_of_two(A):
    assert_svd(A, *decompose("svd2", A, None))


@settings(deadline=None, max_examples=100)
@given(any_matrices(3))
def test_any_matrix_in_double_precision(A):
    wide = A.astype(np.float64)
    assert_svd(wide, *decompose("svd3", wide, None))
    S = wide + wide.transpose(0, 2, 1)
    assert_eig(S, *decompose("eig3", S, None))


@pytest.mark.parametrize(("suffix", "tolerance"), [("h", 0.05), ("f", 1e-5), ("d", 1e-13)])
def test_called_from_python_keeps_the_type(suffix, tolerance):
    mat33, vec3 = getattr(wp, f"mat33{suffix}"), getattr(wp, f"vec3{suffix}")
    A = mat33(1.0, 2.0, 3.0, -4.0, 5.0, 6.0, 7.0, 8.0, -10.0)
    U, sigma, V = wp.svd3(A)
    assert (type(U), type(sigma), type(V)) == (mat33, vec3, mat33)
    u, s, v = (np.asarray(x, np.float64) for x in (U, sigma, V))
    np.testing.assert_allclose(u * s @ v.T, np.asarray(A), atol=tolerance)
    np.testing.assert_allclose(s, [15.137630, 8.329361, -2.339660], rtol=tolerance + 1e-6)  # as Warp 1.19


@pytest.mark.parametrize("device", DEVICES)
def test_half_precision_is_as_good_as_its_rounding(device):
    @wp.kernel
    def every(
        A: wp.array(dtype=wp.mat33h),
        S: wp.array(dtype=wp.mat33h),
        B: wp.array(dtype=wp.mat22h),
        three: wp.array(dtype=wp.mat33h),
        two: wp.array(dtype=wp.mat22h),
    ):
        U, s, V = wp.svd3(A[0])
        three[0] = U * wp.diag(s) * wp.transpose(V)
        Q, R = wp.qr3(A[0])
        three[1] = Q * R
        W, d = wp.eig3(S[0])
        three[2] = W * wp.diag(d) * wp.transpose(W)
        X, t, Y = wp.svd2(B[0])
        two[0] = X * wp.diag(t) * wp.transpose(Y)

    rng = np.random.default_rng(5)
    A, B = (
        rng.normal(size=(1, 3, 3)).astype(np.float16),
        rng.normal(size=(1, 2, 2)).astype(np.float16),
    )
    S = A + A.transpose(0, 2, 1)
    three, two = (
        wp.zeros(3, dtype=wp.mat33h, device=device),
        wp.zeros(1, dtype=wp.mat22h, device=device),
    )
    inputs = [wp.array(x, dtype=t, device=device) for x, t in ((A, wp.mat33h), (S, wp.mat33h), (B, wp.mat22h))]
    wp.launch(every, dim=1, inputs=[*inputs, three, two], device=device)
    np.testing.assert_allclose(three.numpy(), np.concatenate([A, A, S]), atol=0.01)
    np.testing.assert_allclose(two.numpy(), B, atol=0.01)
