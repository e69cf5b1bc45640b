"""Decompositions of small matrices: `svd2`, `svd3`, `qr3`, `eig3`, in the kernel language.

All are branch-free with a fixed number of steps, scale their input (no overflow or underflow for
any finite matrix), and give orthogonal factors for every finite input: zero, rank 1, rank 2 and
repeated values included. Reconstruction and orthogonality errors are a few units of rounding of
the scalar type, relative to the largest component. A NaN or an infinity in gives NaN out.
float16 matrices are decomposed in float32.

Derivatives should be declared from the closed forms that the docstrings cite, not derived from the
bodies: a square root in every Jacobi rotation has no slope where a matrix is diagonal already.
"""

from __future__ import annotations

from ..frontend.function import func
from ..ops import (
    abs,
    copysign,
    dot,
    length,
    matrix_from_cols,
    matrix_from_rows,
    max,
    sqrt,
    transpose,
    vector,
    where,
)
from ..types.compounds import standard_names
from ..types.signatures import Float, Mat, Vec

# Cyclic Jacobi on 3x3 converges fast at the end: the largest relative off-diagonal after 9, 10,
# 11 and 12 rotations, over 20 million matrices of all kinds: 2e-5, 2e-8, 6e-13, 1e-20.
ROTATIONS_AFTER_FIRST = 11

# Added to lengths that may vanish: far below rounding of numbers near 1, yet its square is not 0.
TINY = 2.0**-60

TYPES = standard_names()
mat22f, mat33f = TYPES["mat22f"], TYPES["mat33f"]
mat22h, mat33h, vec2h, vec3h = TYPES["mat22h"], TYPES["mat33h"], TYPES["vec2h"], TYPES["vec3h"]


# ----- pieces -------------------------------------------------------------------------------


@func
def _unit_scale(largest: Float) -> tuple[Float, Float]:
    """The scale, and the factor to multiply *twice* by: 1/scale overflows for subnormal scales."""
    scale = where(largest > 0.0, largest, 1.0)
    return scale, 1.0 / sqrt(scale)


@func
def _unit2(x: Float, y: Float) -> tuple[Float, Float, Float]:
    """Direction (cos, sin) and length of (x, y), however small; zero has direction (1, 0)."""
    largest = max(abs(x), abs(y))
    some = largest > 0.0
    size = where(some, largest, 1.0)
    x, y = where(some, x / size, 1.0), y / size
    n = sqrt(x * x + y * y)
    return x / n, y / n, n * largest


@func
def _unit3(v: Vec[3, Float]) -> tuple[Vec[3, Float], Float]:
    """Direction and length of `v`, however small; zero has direction x."""
    largest = max(abs(v))
    some = largest > 0.0
    v = v / where(some, largest, 1.0)
    v = vector(where(some, v[0], 1.0), v[1], v[2])
    n = length(v)
    return v / n, n * largest


@func
def _completed(n: Vec[3, Float]) -> tuple[Vec[3, Float], Vec[3, Float]]:
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
def _diagonalized(
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
    cv = where(swap, abs(far), near)
    sv = where(swap, where(far < 0.0, -near, near), far)
    cu, su, s0 = _unit2(a * cv + b * sv, c * cv + d * sv)
    s1 = cu * (d * cv - c * sv) - su * (b * cv - a * sv)
    return cu, su, s0, s1, cv, sv


# ----- the decompositions -------------------------------------------------------------------


@func
def svd2(A: Mat[2, 2, Float]) -> tuple[Mat[2, 2, Float], Vec[2, Float], Mat[2, 2, Float]]:
    """Singular values: A = U diag(sigma) V^T, returned as (U, sigma, V).

    sigma[0] >= sigma[1] >= 0; V is a rotation; U is one unless det A < 0.

    Derivative: as `svd3`.
    """
    scale, h = _unit_scale(max(max(abs(A[0]), abs(A[1]))))
    B = A * h * h
    cu, su, s0, s1, cv, sv = _svd2(B[0, 0], B[0, 1], B[1, 0], B[1, 1])
    across = vector(-su, cu)
    U = matrix_from_cols(vector(cu, su), where(s1 < 0.0, -across, across))
    V = matrix_from_cols(vector(cv, sv), vector(-sv, cv))
    return U, vector(s0, abs(s1)) * scale, V


@func
def svd3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float], Mat[3, 3, Float]]:
    """Singular values: A = U diag(sigma) V^T, returned as (U, sigma, V).

    U and V are rotations (determinant +1); sigma[0] >= sigma[1] >= |sigma[2]|, and sigma[2] has the
    sign of det A: negative where A reflects.

    Jacobi on A^T A for V and QR of A V for U, as McAdams et al. 2011 (Computing the Singular Value
    Decomposition of 3x3 Matrices with Minimal Branching and Elementary Floating Point Operations).
    Only the largest singular vector is taken from A^T A, whose squared condition spoils the small
    ones; the other two come from an exact 2x2 decomposition of what is left of A.

    Derivative, for a declared adjoint: Papadopoulo & Lourakis 2000, Estimating the Jacobian of the
    Singular Value Decomposition. With G = U^T adj U and H = V^T adj V: adj A = U P V^T, where
    P_ii = adj sigma_i and P_ij = (s_j (G_ij - G_ji) + s_i (H_ij - H_ji)) / (s_j^2 - s_i^2). U and V
    have no derivative where two |sigma| coincide.
    """
    scale, h = _unit_scale(max(max(abs(A[0]), max(abs(A[1]), abs(A[2])))))
    B = A * h * h
    a, b, r, u, v, w = _diagonalized(transpose(B) * B)
    first = a >= max(b, r)
    second = b >= r  # asked only where the first is not the largest
    x = where(first, u, where(second, v, w))  # cyclic, so (x, y, z) stays right-handed
    y = where(first, v, where(second, w, u))
    z = where(first, w, where(second, u, v))

    left, s0 = _unit3(B * x)
    p, q = _completed(left)
    By, Bz = B * y, B * z
    cu, su, s1, s2, cv, sv = _svd2(dot(p, By), dot(p, Bz), dot(q, By), dot(q, Bz))
    U = matrix_from_cols(left, cu * p + su * q, cu * q - su * p)
    V = matrix_from_cols(x, cv * y + sv * z, cv * z - sv * y)
    return U, vector(s0, s1, s2) * scale, V


@func
def qr3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Mat[3, 3, Float]]:
    """A = Q R, returned as (Q, R): Q is a rotation, R is upper triangular.

    R[0, 0] and R[1, 1] are not negative; R[2, 2] has the sign of det A.

    Derivative, for a declared adjoint: Seeger et al. 2017, Auto-Differentiating Linear Algebra:
    adj A = (adj Q + Q copyltu(M)) R^-T with M = R adj R^T - adj Q^T Q, where copyltu mirrors the
    lower triangle to the upper one. Only where A is invertible.
    """
    scale, h = _unit_scale(max(max(abs(A[0]), max(abs(A[1]), abs(A[2])))))
    C = transpose(A * h * h)
    first, r00 = _unit3(C[0])
    p, q = _completed(first)
    c, s, r11 = _unit2(dot(p, C[1]), dot(q, C[1]))
    second, third = c * p + s * q, c * q - s * p
    R = matrix_from_rows(
        vector(r00, dot(first, C[1]), dot(first, C[2])),
        vector(A.dtype(0.0), r11, dot(second, C[2])),
        vector(A.dtype(0.0), A.dtype(0.0), dot(third, C[2])),
    )
    return matrix_from_cols(first, second, third), R * scale


@func
def eig3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float]]:
    """A = Q diag(d) Q^T of a symmetric matrix, returned as (Q, d): Q is a rotation, d ascends.

    A matrix that is not symmetric is replaced by its symmetric part. Cyclic Jacobi (Golub & Van
    Loan, Matrix Computations, 8.5) with a fixed number of rotations.

    Derivative, for a declared adjoint: Giles 2008, Collected Matrix Derivative Results: adj A =
    Q (diag(adj d) + F o (Q^T adj Q)) Q^T, F_ij = 1 / (d_j - d_i). Q has no derivative where two
    eigenvalues coincide.
    """
    scale, h = _unit_scale(max(max(abs(A[0]), max(abs(A[1]), abs(A[2])))))
    B = A * h * h
    a, b, r, u, v, w = _diagonalized(0.5 * (B + transpose(B)))
    a, b, u, v = _ascending(a, b, u, v)
    b, r, v, w = _ascending(b, r, v, w)
    a, b, u, v = _ascending(a, b, u, v)
    return matrix_from_cols(u, v, w), vector(a, b, r) * scale


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
