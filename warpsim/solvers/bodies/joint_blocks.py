"""Kernels of the direct solver for joints: blocks (6, 6) of A = J W J^T, their factors L D L^T, and substitution.

J has the rows of joints, W the inverse masses and inertias of bodies. Blocks hold X = L D below the diagonal, and the
inverse of D on it: X_ij = A_ij - sum of X_ik D_k^-1 X_jk^T over those k that went before. See `joint_elimination` for
the order.

All of it is in double precision, whatever that of the model is: where rows of J repeat others but for their rounding,
A is singular to the square of that, which doubles tell from directions that are merely soft.
"""

from __future__ import annotations

from typing import Any

from ...core.language import array, array2d, diag, float64, func, get_diag, int32, inverse, kernel
from ...core.language import mat33d, matrix_type, skew, sqrt, struct, tid, transpose, vec3d, vector_type
from .joint_rows import apply_wrench, wrench_in_space

mat66d, vec6d = matrix_type((6, 6), float64), vector_type(6, float64)


@struct
class Lists:
    """Tables of `Elimination`, and for each body its joints, with 1 where it is the child, else -1."""

    pairs: array2d(dtype=int32)
    term_starts: array(dtype=int32)
    terms: array2d(dtype=int32)
    before_starts: array(dtype=int32)
    before: array2d(dtype=int32)
    after_starts: array(dtype=int32)
    after: array2d(dtype=int32)
    body_starts: array(dtype=int32)
    body: array2d(dtype=int32)


# ----- matrices -----------------------------------------------------------------------------------


@func
def block_matrix(a: mat33d, b: mat33d, c: mat33d, d: mat33d) -> mat66d:
    """[[a, b], [c, d]]."""
    return mat66d(
        a[0, 0], a[0, 1], a[0, 2], b[0, 0], b[0, 1], b[0, 2],
        a[1, 0], a[1, 1], a[1, 2], b[1, 0], b[1, 1], b[1, 2],
        a[2, 0], a[2, 1], a[2, 2], b[2, 0], b[2, 1], b[2, 2],
        c[0, 0], c[0, 1], c[0, 2], d[0, 0], d[0, 1], d[0, 2],
        c[1, 0], c[1, 1], c[1, 2], d[1, 0], d[1, 1], d[1, 2],
        c[2, 0], c[2, 1], c[2, 2], d[2, 0], d[2, 1], d[2, 2],
    )  # fmt: skip


@func
def inverse_by_blocks(m: mat66d) -> mat66d:
    """The inverse of a symmetric matrix; zero where it has none."""
    a = mat33d(m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2])
    b = mat33d(m[0, 3], m[0, 4], m[0, 5], m[1, 3], m[1, 4], m[1, 5], m[2, 3], m[2, 4], m[2, 5])
    d = mat33d(m[3, 3], m[3, 4], m[3, 5], m[4, 3], m[4, 4], m[4, 5], m[5, 3], m[5, 4], m[5, 5])
    of_d = inverse(d)
    right = b * of_d
    own = inverse(a - right * transpose(b))
    mixed = -own * right
    return block_matrix(own, mixed, transpose(mixed), of_d - transpose(right) * mixed)


@func
def regularized_inverse(m: mat66d, diagonal: vec6d, eps: float64) -> mat66d:
    """The inverse of a symmetric matrix, but for directions that are nearly singular: there it is nearly zero.

    diagonal: of the matrix before elimination, by which it is scaled. An eigenvalue d of the scaled matrix becomes
    1 / d up to (2 eps / d)^8 of it, or about 8 d / eps^2 where it is small. Rows of loops that repeat others thus bear
    nothing. Three Newton-Schulz iterations begin with (M + eps)^-1 M (M + eps)^-1.
    """
    scale = vec6d()
    for k in range(6):
        if diagonal[k] > 0.0:
            scale[k] = 1.0 / sqrt(diagonal[k])
    scaled = diag(scale) * m * diag(scale)
    shifted = scaled
    for k in range(6):
        shifted[k, k] = shifted[k, k] + eps
    inv = inverse_by_blocks(shifted)
    result = inv * scaled * inv
    for _ in range(3):
        result = result + result - result * scaled * result
    return diag(scale) * result * diag(scale)


@func
def coupling_block(
    angular: mat33d, linear: mat33d, arm: vec3d, other_angular: mat33d, other_linear: mat33d, other_arm: vec3d,
    inv_mass: float64, inv_inertia: mat33d,
) -> mat66d:  # fmt: skip
    """J W J'^T of two joints, J' of the other one, by a body that is the child of both."""
    spun, swung = inv_inertia * transpose(other_angular), inv_inertia * skew(other_arm) * transpose(other_linear)
    across = linear * skew(arm)
    last = inv_mass * linear * transpose(other_linear) - across * swung
    return block_matrix(angular * spun, angular * swung, -across * spun, last)


@kernel
def fill_blocks(lists: Lists, joints: Any, rows: Any, moving: Any, a: array(dtype=mat66d)):
    """Blocks of A; rows that are not used have a 1 on the diagonal."""
    e = tid()
    fill_block(e, lists, joints, rows, moving, a)


@kernel
def refill_blocks(
    lists: Lists, joints: Any, rows: Any, moving: Any, a: array(dtype=mat66d), followed: array(dtype=int32)
):
    """Blocks of joints that `follow_motion` has linearized anew."""
    e = tid()
    if followed[lists.pairs[e, 0]] + followed[lists.pairs[e, 1]] > 0:
        fill_block(e, lists, joints, rows, moving, a)


@func
def fill_block(e: int32, lists: Lists, joints: Any, rows: Any, moving: Any, a: array(dtype=mat66d)):
    """One block of A."""
    i, j = lists.pairs[e, 0], lists.pairs[e, 1]
    block = mat66d()
    if joints.intact[i] == 1 and joints.intact[j] == 1:
        angular, linear = mat33d(rows.angular[i]), mat33d(rows.linear[i])
        other_angular, other_linear = mat33d(rows.angular[j]), mat33d(rows.linear[j])
        for side in range(2):
            body, sign, arm = joints.child[i], float64(1.0), rows.child_arm[i]
            if side == 1:
                body, sign, arm = joints.parent[i], float64(-1.0), rows.parent_arm[i]
            for other in range(2):
                body2, sign2, arm2 = joints.child[j], sign, rows.child_arm[j]
                if other == 1:
                    body2, sign2, arm2 = joints.parent[j], -sign, rows.parent_arm[j]
                w = float64(moving.inv_mass[body])
                if body == body2 and w > 0.0:
                    inv = mat33d(moving.inv_inertia[body])
                    inv = 0.5 * (inv + transpose(inv))
                    part = coupling_block(angular, linear, vec3d(arm), other_angular, other_linear, vec3d(arm2), w, inv)
                    block = block + sign2 * part
    block = diag(vec6d(joints.used[i])) * block * diag(vec6d(joints.used[j]))
    if i == j:
        for k in range(6):
            if joints.used[i][k] == 0.0:
                block[k, k] = float64(1.0)
    a[e] = block


# ----- factors and substitution -------------------------------------------------------------------


@kernel
def factor(
    first: int32, lists: Lists, a: array(dtype=mat66d), softness: array(dtype=Any), eps: array(dtype=float64),
    x: array(dtype=mat66d), inv: array(dtype=mat66d),
):  # fmt: skip
    """Blocks of a round. softness: of rows, added to the diagonal. eps: see `regularized_inverse`."""
    factor_block(first + tid(), lists, a, softness, eps, x, inv)


@kernel
def refactor(
    first: int32, lists: Lists, a: array(dtype=mat66d), softness: array(dtype=Any), eps: array(dtype=float64),
    x: array(dtype=mat66d), inv: array(dtype=mat66d), followed: array(dtype=int32),
):  # fmt: skip
    """The same, where blocks have changed since."""
    if followed[followed.shape[0] - 1] > 0:
        factor_block(first + tid(), lists, a, softness, eps, x, inv)


@func
def factor_block(
    e: int32, lists: Lists, a: array(dtype=mat66d), softness: array(dtype=Any), eps: array(dtype=float64),
    x: array(dtype=mat66d), inv: array(dtype=mat66d),
):  # fmt: skip
    """One block of the factors."""
    i, j = lists.pairs[e, 0], lists.pairs[e, 1]
    block = a[e]
    for t in range(lists.term_starts[e], lists.term_starts[e + 1]):
        left, right, k = lists.terms[t, 0], lists.terms[t, 1], lists.terms[t, 2]
        block = block - x[left] * inv[k] * transpose(x[right])
    if i == j:
        added = vec6d(softness[j])
        inv[j] = regularized_inverse(block + diag(added), get_diag(a[e]) + added, eps[j])
    else:
        x[e] = block


@kernel
def substitute(
    first: int32, order: array(dtype=int32), lists: Lists, x: array(dtype=mat66d), inv: array(dtype=mat66d),
    b: array(dtype=Any), y: array(dtype=vec6d),
):  # fmt: skip
    """Forwards, for the joints of a round: y = D^-1 L^-1 b."""
    j = order[first + tid()]
    value = vec6d(b[j])
    for t in range(lists.before_starts[j], lists.before_starts[j + 1]):
        value = value - x[lists.before[t, 0]] * y[lists.before[t, 1]]
    y[j] = inv[j] * value


@kernel
def substitute_back(
    first: int32, order: array(dtype=int32), lists: Lists, x: array(dtype=mat66d), inv: array(dtype=mat66d),
    y: array(dtype=vec6d), z: array(dtype=vec6d), result: array(dtype=Any),
):  # fmt: skip
    """Backwards: z = L^-T y; result: in the precision of the model."""
    j = order[first + tid()]
    value = vec6d()
    for t in range(lists.after_starts[j], lists.after_starts[j + 1]):
        value = value + transpose(x[lists.after[t, 0]]) * z[lists.after[t, 1]]
    value = y[j] - inv[j] * value
    z[j] = value
    result[j] = type(result[j])(value)


@kernel
def kick(lists: Lists, joints: Any, rows: Any, x: array(dtype=Any), moving: Any):
    """Twists of bodies after impulses x along rows of their joints."""
    b = tid()
    if moving.inv_mass[b] > 0.0:
        twist, w, inv = moving.twist[b], moving.inv_mass[b], moving.inv_inertia[b]
        for t in range(lists.body_starts[b], lists.body_starts[b + 1]):
            j, sign = lists.body[t, 0], w.dtype(lists.body[t, 1])
            arm = rows.child_arm[j]
            if sign < 0.0:
                arm = rows.parent_arm[j]
            if joints.intact[j] == 1:
                twist = apply_wrench(twist, w, inv, arm, sign * wrench_in_space(rows, j, x[j]))
        moving.twist[b] = twist
