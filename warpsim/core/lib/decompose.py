"""Decompositions of small matrices: `svd2`, `svd3`, `qr3`, `eig3`, in the kernel language.

All are branch-free with a fixed number of steps, scale their input (no overflow or underflow for
any finite matrix), and give orthogonal factors for every finite input: zero, rank 1, rank 2 and
repeated values included. Reconstruction and orthogonality errors are a few units of rounding of
the scalar type, relative to the largest component. A NaN or an infinity in gives NaN out.
float16 matrices are decomposed in float32.

Gradients are declared from closed forms, not derived from the bodies: a square root in every Jacobi
rotation has no derivative where a matrix is diagonal already. A small change of a matrix turns its factors by
angles that are quotients over differences of singular values, or of eigenvalues. Where two values
coincide, vectors to them have no derivative: a quotient over a difference d is taken as d / (d^2 + e^2)
with e of 64 roundings of the largest value, right to (e / d)^2 elsewhere and zero where d is. So all
gradients are finite, and made of operations that can be differentiated again. Written by sums and
differences the quotients do not cancel: functions of the values alone and the rotation U V^T of a polar
decomposition have exact gradients for coinciding values too. U diag(f(sigma)) V^T lacks there what f' adds.
"""

from __future__ import annotations

from ..language import Float, Mat, Vec, abs, adjoint, copysign, dot, float16, float32, float64, func, func_grad, length
from ..language import matrix_from_cols, matrix_from_rows, max, sqrt, transpose, vector, where
from ..types.compounds import standard_names
from .bits import power_of_two

# Cyclic Jacobi on 3x3 converges fast at the end: the largest relative off-diagonal after 9, 10,
# 11 and 12 rotations, over 20 million matrices of all kinds: 2e-5, 2e-8, 6e-13, 1e-20.
ROTATIONS_AFTER_FIRST = 11

# Added to lengths that may vanish: far below rounding of numbers near 1, yet its square is not 0.
TINY = 2.0**-60

ROUNDING = {float16: 2.0**-10, float32: 2.0**-23, float64: 2.0**-52}
"""Of numbers near 1, by scalar type."""

BLUR = {t: 64.0 * rounding for t, rounding in ROUNDING.items()}
"""Differences below this part of the largest value are not told from rounding, by gradients."""

TYPES = standard_names()
mat22f, mat33f = TYPES["mat22f"], TYPES["mat33f"]
mat22h, mat33h, vec2h, vec3h = TYPES["mat22h"], TYPES["mat33h"], TYPES["vec2h"], TYPES["vec3h"]


# ----- pieces -------------------------------------------------------------------------------


@func
def _unit2(x: Float, y: Float) -> tuple[Float, Float, Float]:
    """Direction (cos, sin) and length of (x, y), however small; zero has direction (1, 0)."""
    largest = max(abs(x), abs(y))
    some = largest > 0.0
    size = power_of_two(largest)
    unit = 1.0 / size
    x, y = where(some, x * unit, 1.0), y * unit
    n = sqrt(x * x + y * y)
    return x / n, y / n, where(largest == 0.0, 0.0, n * size)


@func
def _unit3(v: Vec[3, Float]) -> tuple[Vec[3, Float], Float]:
    """Direction and length of `v`, however small; zero has direction x."""
    largest = max(abs(v))
    some = largest > 0.0
    size = power_of_two(largest)
    v = v * (1.0 / size)
    v = vector(where(some, v[0], 1.0), v[1], v[2])
    n = length(v)
    return v / n, where(largest == 0.0, 0.0, n * size)


@func
def _complete_basis(n: Vec[3, Float]) -> tuple[Vec[3, Float], Vec[3, Float]]:
    """Two vectors that make a right-handed orthonormal basis (n, p, q) with the unit vector `n`.

    Duff et al. 2017, Building an Orthonormal Basis, Revisited, with x as the pole.
    """
    s = copysign(1.0, n[0])
    a = -1.0 / (s + n[0])
    b = n[1] * n[2] * a
    p = vector(-s * n[1], 1.0 + s * n[1] * n[1] * a, s * b)
    q = vector(-n[2], b, s + n[2] * n[2] * a)
    return p, q


@func
def _rotation(d: Float, o: Float) -> tuple[Float, Float]:
    """Cosine and sine of the angle t with tan 2t = o / d, |t| <= pi/4; exactly (1, 0) for o = 0."""
    x = abs(d) + sqrt(d * d + o * o) + TINY
    n = sqrt(x * x + o * o)
    return x / n, where(d < 0.0, -o, o) / n


@func
def _diagonalize(
    S: Mat[3, 3, Float],
) -> tuple[Float, Float, Float, Vec[3, Float], Vec[3, Float], Vec[3, Float]]:
    """Eigenvalues and unit eigenvectors (right-handed, in no order) of a symmetric matrix.

    Cyclic Jacobi. A rotation of the axes a and b zeroes `ab`; then the axes are renamed (r, a, b),
    so that every step is the same and `rb` stays zero. Reads the diagonal and upper triangle.
    """
    zero, one = S.dtype(0.0), S.dtype(1.0)
    a, b, r, ab, ra, rb = S[0, 0], S[1, 1], S[2, 2], S[0, 1], S[0, 2], S[1, 2]
    c, s = _rotation(b - a, 2.0 * ab)
    change = s * (s * (b - a) - 2.0 * c * ab)
    a, b, r = r, a + change, b - change
    ab, ra = c * ra - s * rb, s * ra + c * rb
    u, v, w = vector(zero, zero, one), vector(c, -s, zero), vector(s, c, zero)
    for _ in range(ROTATIONS_AFTER_FIRST):
        c, s = _rotation(b - a, 2.0 * ab)
        change = s * (s * (b - a) - 2.0 * c * ab)
        a, b, r = r, a + change, b - change
        ab, ra = c * ra, s * ra
        u, v, w = w, c * u - s * v, s * u + c * v
    return a, b, r, u, v, w


@func
def _svd2(a: Float, b: Float, c: Float, d: Float) -> tuple[Float, Float, Float, Float, Float, Float]:
    """[[a, b], [c, d]] = rotation(cu, su) diag(s0, s1) rotation(cv, sv)^T, s0 >= |s1|.

    Returns cu, su, s0, s1, cv, sv. The right rotation makes the columns orthogonal, the longer
    first (Hestenes 1958); the left one follows the first column.
    """
    excess, o = a * a + c * c - b * b - d * d, 2.0 * (a * b + c * d)
    x = abs(excess) + sqrt(excess * excess + o * o)
    t = o / where(x > 0.0, x, 1.0)  # a tangent, at most 1, keeps the smallest blocks exact too
    near = 1.0 / sqrt(1.0 + t * t)
    far = t * near
    swap = excess < 0.0
    cv = where(swap, far, near)  # continuous where o = 0: `svd3` comes with columns that are orthogonal already
    sv = where(swap, near, far)
    cu, su, s0 = _unit2(a * cv + b * sv, c * cv + d * sv)
    s1 = cu * (d * cv - c * sv) - su * (b * cv - a * sv)
    return cu, su, s0, s1, cv, sv


# ----- pieces of gradients ------------------------------------------------------------------


@func
def blurred_quotient(x: Float, difference: Float, scale: Float) -> Float:
    """x / difference, and zero where the difference is; `scale` is the size of the numbers it is taken of."""
    d = difference / scale
    return x * (d / (d * d + BLUR[type(d)] * BLUR[type(d)])) / scale


@func
def size_or_one(largest: Float) -> Float:
    """The largest value, or one for a zero matrix."""
    return where(largest > 0.0, largest, 1.0)


@func
def _svd_pair(s: Float, t: Float, g: Float, h: Float, scale: Float) -> tuple[Float, Float]:
    """The two components between the singular values s and t of U^T adj(A) V.

    g and h are the components of U^T adj(U) and V^T adj(V) minus those of their transposes.
    """
    even, odd = blurred_quotient(g + h, t - s, scale), blurred_quotient(g - h, t + s, scale)
    return 0.5 * (even + odd), 0.5 * (even - odd)


# ----- the decompositions -------------------------------------------------------------------


@func
def svd2(A: Mat[2, 2, Float]) -> tuple[Mat[2, 2, Float], Vec[2, Float], Mat[2, 2, Float]]:
    """Singular values: A = U diag(sigma) V^T, returned as (U, sigma, V).

    sigma[0] >= sigma[1] >= 0; V is a rotation; U is one unless det A < 0.
    """
    scale = power_of_two(max(max(abs(A[0]), abs(A[1]))))
    B = A * (1.0 / scale)
    cu, su, s0, s1, cv, sv = _svd2(B[0, 0], B[0, 1], B[1, 0], B[1, 1])
    across = vector(-su, cu)
    U = matrix_from_cols(vector(cu, su), where(s1 < 0.0, -across, across))
    V = matrix_from_cols(vector(cv, sv), vector(-sv, cv))
    return U, vector(s0, abs(s1)) * scale, V


@func_grad(svd2)
def _adj_svd2(A: Mat[2, 2, Float], dU: Mat[2, 2, Float], ds: Vec[2, Float], dV: Mat[2, 2, Float]):
    """As `_adj_svd3`."""
    U, s, V = svd2(A)
    G, H = transpose(U) * dU, transpose(V) * dV
    p01, p10 = _svd_pair(s[0], s[1], G[0, 1] - G[1, 0], H[0, 1] - H[1, 0], size_or_one(s[0]))
    adjoint[A] += U * matrix_from_rows(vector(ds[0], p01), vector(p10, ds[1])) * transpose(V)


@func
def svd3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float], Mat[3, 3, Float]]:
    """Singular values: A = U diag(sigma) V^T, returned as (U, sigma, V).

    U and V are rotations (determinant +1); sigma[0] >= sigma[1] >= |sigma[2]|, and sigma[2] has the
    sign of det A: negative where A reflects.

    Jacobi on A^T A for V and QR of A V for U, as McAdams et al. 2011 (Computing the Singular Value
    Decomposition of 3x3 Matrices with Minimal Branching and Elementary Floating Point Operations).
    Only the largest singular vector is taken from A^T A, whose squared condition spoils the small
    ones; the other two come from an exact 2x2 decomposition of what is left of A.
    """
    scale = power_of_two(max(max(abs(A[0]), max(abs(A[1]), abs(A[2])))))
    B = A * (1.0 / scale)
    a, b, r, u, v, w = _diagonalize(transpose(B) * B)
    first = a >= max(b, r)
    second = b >= r  # asked only where the first is not the largest
    x = where(first, u, where(second, v, w))  # cyclic, so (x, y, z) stays right-handed
    y = where(first, v, where(second, w, u))
    z = where(first, w, where(second, u, v))

    left, s0 = _unit3(B * x)
    p, q = _complete_basis(left)
    By, Bz = B * y, B * z
    cu, su, s1, s2, cv, sv = _svd2(dot(p, By), dot(p, Bz), dot(q, By), dot(q, Bz))
    U = matrix_from_cols(left, cu * p + su * q, cu * q - su * p)
    V = matrix_from_cols(x, cv * y + sv * z, cv * z - sv * y)
    return U, vector(s0, s1, s2) * scale, V


@func_grad(svd3)
def _adj_svd3(A: Mat[3, 3, Float], dU: Mat[3, 3, Float], ds: Vec[3, Float], dV: Mat[3, 3, Float]):
    """adj(A) = U P V^T: P has adj(sigma) on its diagonal, and between two values the part that turns U and V.

    Papadopoulo & Lourakis 2000, Estimating the Jacobian of the Singular Value Decomposition; Townsend 2016,
    Differentiating the Singular Value Decomposition.
    """
    U, s, V = svd3(A)
    G, H = transpose(U) * dU, transpose(V) * dV
    scale = size_or_one(s[0])
    p01, p10 = _svd_pair(s[0], s[1], G[0, 1] - G[1, 0], H[0, 1] - H[1, 0], scale)
    p02, p20 = _svd_pair(s[0], s[2], G[0, 2] - G[2, 0], H[0, 2] - H[2, 0], scale)
    p12, p21 = _svd_pair(s[1], s[2], G[1, 2] - G[2, 1], H[1, 2] - H[2, 1], scale)
    P = matrix_from_rows(vector(ds[0], p01, p02), vector(p10, ds[1], p12), vector(p20, p21, ds[2]))
    adjoint[A] += U * P * transpose(V)


@func
def qr3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Mat[3, 3, Float]]:
    """A = Q R, returned as (Q, R): Q is a rotation, R is upper triangular.

    R[0, 0] and R[1, 1] are not negative; R[2, 2] has the sign of det A.
    """
    scale = power_of_two(max(max(abs(A[0]), max(abs(A[1]), abs(A[2])))))
    C = transpose(A * (1.0 / scale))
    first, r00 = _unit3(C[0])
    p, q = _complete_basis(first)
    c, s, r11 = _unit2(dot(p, C[1]), dot(q, C[1]))
    second, third = c * p + s * q, c * q - s * p
    R = matrix_from_rows(
        vector(r00, dot(first, C[1]), dot(first, C[2])),
        vector(A.dtype(0.0), r11, dot(second, C[2])),
        vector(A.dtype(0.0), A.dtype(0.0), dot(third, C[2])),
    )
    return matrix_from_cols(first, second, third), R * scale


@func_grad(qr3)
def _adj_qr3(A: Mat[3, 3, Float], dQ: Mat[3, 3, Float], dR: Mat[3, 3, Float]):
    """adj(A) = Q N: N is adj(R) on and above the diagonal, and below it the part that turns Q.

    With dQ = Q W the antisymmetric W follows column by column from the part of Q^T dA = W R + dR below the
    diagonal (Walter & Lehmann 2010, Algorithmic Differentiation of Linear Algebra Functions with Application in
    Optimum Experimental Design; Seeger et al. 2017, Auto-Differentiating Linear Algebra). It divides by R_00 and
    R_11 but not by R_22, so A may have rank 2. Where the first column is zero, or the second lies along it, Q has no
    derivative and the rotations that it leaves open count as none.
    """
    Q, R = qr3(A)
    G = transpose(Q) * dQ
    along = ROUNDING[A.dtype] * abs(R[0, 1])
    over0 = where(R[0, 0] > 0.0, 1.0 / where(R[0, 0] > 0.0, R[0, 0], 1.0), 0.0)
    over1 = where(R[1, 1] > along, 1.0 / where(R[1, 1] > along, R[1, 1], 1.0), 0.0)
    w10 = G[1, 0] - G[0, 1] + dR[0, 1] * R[1, 1] + dR[0, 2] * R[1, 2] - dR[1, 1] * R[0, 1] - dR[1, 2] * R[0, 2]
    w20 = G[2, 0] - G[0, 2] + dR[0, 2] * R[2, 2] - dR[2, 2] * R[0, 2]
    w21 = G[2, 1] - G[1, 2] + dR[1, 2] * R[2, 2] - dR[2, 2] * R[1, 2]
    n21 = w21 * over1
    n20 = (w20 - n21 * R[0, 1]) * over0
    N = matrix_from_rows(
        vector(dR[0, 0], dR[0, 1], dR[0, 2]), vector(w10 * over0, dR[1, 1], dR[1, 2]), vector(n20, n21, dR[2, 2])
    )
    adjoint[A] += Q * N


@func
def eig3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float]]:
    """A = Q diag(d) Q^T of a symmetric matrix, returned as (Q, d): Q is a rotation, d ascends.

    A matrix that is not symmetric is replaced by its symmetric part. Cyclic Jacobi (Golub & Van
    Loan, Matrix Computations, 8.5) with a fixed number of rotations.
    """
    scale = power_of_two(max(max(abs(A[0]), max(abs(A[1]), abs(A[2])))))
    B = A * (1.0 / scale)
    a, b, r, u, v, w = _diagonalize(0.5 * (B + transpose(B)))
    a, b, u, v = _ascending(a, b, u, v)
    b, r, v, w = _ascending(b, r, v, w)
    a, b, u, v = _ascending(a, b, u, v)
    return matrix_from_cols(u, v, w), vector(a, b, r) * scale


@func_grad(eig3)
def _adj_eig3(A: Mat[3, 3, Float], dQ: Mat[3, 3, Float], dd: Vec[3, Float]):
    """adj(A) = Q P Q^T: P has adj(d) on its diagonal and (G_ij - G_ji) / 2 (d_j - d_i) beside it, G = Q^T adj(Q).

    Magnus 1985, On Differentiating Eigenvalues and Eigenvectors. Symmetric, because A's symmetric part counts.
    """
    Q, d = eig3(A)
    G = transpose(Q) * dQ
    scale = size_or_one(max(abs(d[0]), abs(d[2])))
    p01 = 0.5 * blurred_quotient(G[0, 1] - G[1, 0], d[1] - d[0], scale)
    p02 = 0.5 * blurred_quotient(G[0, 2] - G[2, 0], d[2] - d[0], scale)
    p12 = 0.5 * blurred_quotient(G[1, 2] - G[2, 1], d[2] - d[1], scale)
    P = matrix_from_rows(vector(dd[0], p01, p02), vector(p01, dd[1], p12), vector(p02, p12, dd[2]))
    adjoint[A] += Q * P * transpose(Q)


@func
def _ascending(
    a: Float, b: Float, u: Vec[3, Float], v: Vec[3, Float]
) -> tuple[Float, Float, Vec[3, Float], Vec[3, Float]]:
    """Two eigenpairs in order of their values; a swap is a quarter turn, which keeps handedness."""
    swap = b < a
    return where(swap, b, a), where(swap, a, b), where(swap, v, u), where(swap, -u, v)


# ----- float16, through float32 -------------------------------------------------------------


@func(overload_of=svd2)
def _svd2_half(A: mat22h) -> tuple[mat22h, vec2h, mat22h]:
    U, sigma, V = svd2(mat22f(A))
    return mat22h(U), vec2h(sigma), mat22h(V)


@func(overload_of=svd3)
def _svd3_half(A: mat33h) -> tuple[mat33h, vec3h, mat33h]:
    U, sigma, V = svd3(mat33f(A))
    return mat33h(U), vec3h(sigma), mat33h(V)


@func(overload_of=qr3)
def _qr3_half(A: mat33h) -> tuple[mat33h, mat33h]:
    Q, R = qr3(mat33f(A))
    return mat33h(Q), mat33h(R)


@func(overload_of=eig3)
def _eig3_half(A: mat33h) -> tuple[mat33h, vec3h]:
    Q, d = eig3(mat33f(A))
    return mat33h(Q), vec3h(d)


# ----- into variables of the caller ----------------------------------------------------------------


@func(overload_of=svd2, inout=("U", "sigma", "V"))
def _svd2_into(
    A: Mat[2, 2, Float], U: Mat[2, 2, Float], sigma: Vec[2, Float], V: Mat[2, 2, Float]
) -> tuple[Mat[2, 2, Float], Vec[2, Float], Mat[2, 2, Float]]:
    return svd2(A)


@func(overload_of=svd3, inout=("U", "sigma", "V"))
def _svd3_into(
    A: Mat[3, 3, Float], U: Mat[3, 3, Float], sigma: Vec[3, Float], V: Mat[3, 3, Float]
) -> tuple[Mat[3, 3, Float], Vec[3, Float], Mat[3, 3, Float]]:
    return svd3(A)


@func(overload_of=qr3, inout=("Q", "R"))
def _qr3_into(
    A: Mat[3, 3, Float], Q: Mat[3, 3, Float], R: Mat[3, 3, Float]
) -> tuple[Mat[3, 3, Float], Mat[3, 3, Float]]:
    return qr3(A)


@func(overload_of=eig3, inout=("Q", "d"))
def _eig3_into(A: Mat[3, 3, Float], Q: Mat[3, 3, Float], d: Vec[3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float]]:
    return eig3(A)
