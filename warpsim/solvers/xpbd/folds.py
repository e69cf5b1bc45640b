"""Bending by angles: C = theta - theta_0 over the three edges of a triangle, for any fold.

With the unit normals N of the triangle and M of its neighbour over an edge, the angle changes with their corners by

    across from the edge:  -N / H,  -M / h          at its ends:  (1 - u) N / H + (1 - v) M / h,  u N / H + v M / h

where H and h are their heights over it, u and v where along it they stand (R. Bridson, S. Marino, R. Fedkiw 2003). So
all gradients of a triangle are sums of four normals, and grad C . W grad C needs only the cosines between these.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, Mat, Vec, array, int32
from ...core.language import abs, atan2, cross, dot, func, kernel, length, matrix_from_rows, sqrt, tid, vector, where
from ..scene.fields import vec6i
from .particle import position

_TAU = 6.283185307179586


@func
def reciprocal(pivot: Float, size: Float) -> Float:
    """1 / pivot, or 0 where rounding left nothing of its size."""
    if pivot > 1.0e-5 * size:
        return 1.0 / pivot
    return size * 0.0


@func
def solve_cholesky(k: Vec[6, Float], r: Vec[3, Float]) -> Vec[3, Float]:
    """x of k x = r by Cholesky's method, as determinants overflow float32; k: elements 00, 11, 22, 01, 02, 12.

    Equations that others imply are passed over.
    """
    i = reciprocal(k[0], k[0])
    a, b = k[3] * i, k[4] * i
    rest = k[5] - a * k[4]
    j = reciprocal(k[1] - a * k[3], k[1])
    c = rest * j
    y = r[1] - a * r[0]
    z = (r[2] - b * r[0] - c * y) * reciprocal(k[2] - b * k[4] - c * rest, k[2])
    y = y * j - c * z
    return vector(r[0] * i - a * y - b * z, y, z)


@func
def product(k: Vec[6, Float], r: Vec[3, Float]) -> Vec[3, Float]:
    """k r."""
    return vector(
        k[0] * r[0] + k[3] * r[1] + k[4] * r[2], k[3] * r[0] + k[1] * r[1] + k[5] * r[2],
        k[4] * r[0] + k[5] * r[1] + k[2] * r[2],
    )  # fmt: skip


@func
def flap(
    own: Vec[3, Float], c: Vec[3, Float], d: Vec[3, Float], b: Vec[3, Float]
) -> tuple[Float, Vec[3, Float], Float, Float, Float]:
    """Over the edge (c, d), from a triangle with the normal `own` to (b, d, c): the angle, the other's normal, 1 / h,
    1 / |e| [1/m], and v. All zero where it has no area."""
    edge, side = d - c, b - c
    away = cross(side, edge)
    size, square = length(edge), dot(away, away)
    if square == 0.0:
        return size * 0.0, type(own)(), size * 0.0, size * 0.0, size * 0.0
    inverse, narrow = 1.0 / sqrt(square), 1.0 / size
    steep, normal = size * inverse, inverse * away
    angle = atan2(-steep * dot(own, side), dot(own, normal))
    return angle, normal, steep, narrow, dot(side, edge) * narrow * narrow


@func
def folds(
    a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float], p: Vec[3, Float], q: Vec[3, Float], r: Vec[3, Float]
) -> tuple[Vec[3, Float], Vec[3, Float], Mat[3, 3, Float], Mat[3, 3, Float], Mat[3, 3, Float], Vec[3, Float]]:
    """Angles over the edges of the triangle (a, b, c) to p, q, r; its normal; rows by edge: normals beyond, how the
    angle goes with its corners along N, and along M; 1 / h."""
    e, f, g = c - b, a - c, b - a
    away = cross(g, c - a)
    square = dot(away, away)
    if square == 0.0:
        none = type(a)()
        zero = matrix_from_rows(none, none, none)
        return none, none, zero, zero, zero, none
    size = 1.0 / sqrt(square)
    own = size * away
    s, first, hs, i, v = flap(own, b, c, p)
    t, second, ht, j, w = flap(own, c, a, q)
    o, third, ho, k, z = flap(own, a, b, r)
    # How the angles go along `own`: 1 / H of the edge, times where along it a corner stands.
    i, j, k, zero = size * i, size * j, size * k, size * 0.0
    ee, ff, gg = dot(e, e), dot(f, f), dot(g, g)
    ef, fg, ge = -dot(e, f), -dot(f, g), -dot(g, e)
    along = matrix_from_rows(
        vector(-i * ee, i * ef, i * ge), vector(j * ef, -j * ff, j * fg), vector(k * ge, k * fg, -k * gg)
    )
    beyond = matrix_from_rows(
        vector(zero, (1.0 - v) * hs, v * hs), vector(w * ht, zero, (1.0 - w) * ht), vector((1.0 - z) * ho, z * ho, zero)
    )
    return vector(s, t, o), own, matrix_from_rows(first, second, third), along, beyond, vector(hs, ht, ho)


@func
def row(m: Mat[3, 3, Float], k: int32) -> Vec[3, Float]:
    """A row of a matrix."""
    return vector(m[k, 0], m[k, 1], m[k, 2])


@func
def times(a: Vec[3, Float], b: Vec[3, Float]) -> Vec[3, Float]:
    """Products of components."""
    return vector(a[0] * b[0], a[1] * b[1], a[2] * b[2])


@func
def block(
    w: Vec[3, Float], v: Vec[3, Float], own: Vec[3, Float], normals: Mat[3, 3, Float], along: Mat[3, 3, Float],
    beyond: Mat[3, 3, Float], steep: Vec[3, Float],
) -> Vec[6, Float]:  # fmt: skip
    """grad C . W grad C; w, v: inverse masses of the corners, and of those beyond [1/kg]."""
    n, m, o = row(normals, 0), row(normals, 1), row(normals, 2)
    a, b, c = row(along, 0), row(along, 1), row(along, 2)
    d, e, f = row(beyond, 0), row(beyond, 1), row(beyond, 2)
    x, y, z = dot(own, n), dot(own, m), dot(own, o)
    wa, wb, wd, we = times(w, a), times(w, b), times(w, d), times(w, e)
    wc, wf = times(w, c), times(w, f)
    return vector(
        dot(wa, a + 2.0 * x * d) + dot(wd, d) + v[0] * steep[0] * steep[0],
        dot(wb, b + 2.0 * y * e) + dot(we, e) + v[1] * steep[1] * steep[1],
        dot(wc, c + 2.0 * z * f) + dot(wf, f) + v[2] * steep[2] * steep[2],
        dot(wa, b + y * e) + dot(wd, x * b + dot(n, m) * e),
        dot(wa, c + z * f) + dot(wd, x * c + dot(n, o) * f),
        dot(wb, c + z * f) + dot(we, y * c + dot(m, o) * f),
    )


@func
def impulse(
    change: Vec[3, Float], k: int32, own: Vec[3, Float], normals: Mat[3, 3, Float], along: Mat[3, 3, Float],
    beyond: Mat[3, 3, Float],
) -> Vec[3, Float]:  # fmt: skip
    """On a corner, from the changes of multipliers of all edges."""
    a = change[0] * along[0, k] + change[1] * along[1, k] + change[2] * along[2, k]
    x, y, z = change[0] * beyond[0, k], change[1] * beyond[1, k], change[2] * beyond[2, k]
    return a * own + x * row(normals, 0) + y * row(normals, 1) + z * row(normals, 2)


@func
def excess(angle: Float, rest: Float, steep: Float) -> Float:
    """How much more an angle is than at rest, the shorter way round; 0 where there is none."""
    more = angle - rest
    if steep == 0.0:
        return more * 0.0
    if abs(more) > 0.5 * _TAU:
        return more - where(more > 0.0, more * 0.0 + _TAU, more * 0.0 - _TAU)
    return more


@functools.cache
def project_dihedral(iterated: bool) -> Any:
    """The kernel for bending by angles: impulses of each triangle on its corners."""

    @kernel
    def project(
        first: int32, rows: array(dtype=vec6i), rest: array(dtype=Any), soft: array(dtype=Any),
        multiplier: array(dtype=Any), impulses: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        m, o = first + tid(), 6 * tid()
        i, s = rows[m], soft[m]
        a, b, c, p, q, r = x[i[0]], x[i[1]], x[i[2]], x[i[3]], x[i[4]], x[i[5]]
        angle, own, normals, along, beyond, steep = folds(
            position(a), position(b), position(c), position(p), position(q), position(r)
        )
        t = rest[m]
        error = vector(
            excess(angle[0], t[0], steep[0]), excess(angle[1], t[1], steep[1]), excess(angle[2], t[2], steep[2])
        )
        if iterated:
            error = error + product(s, multiplier[m])
        w, v = vector(a[3], b[3], c[3]), vector(p[3], q[3], r[3])
        change = -solve_cholesky(block(w, v, own, normals, along, beyond, steep) + s, error)
        if iterated:
            multiplier[m] = multiplier[m] + change
        for k in range(3):
            impulses[o + k] = impulse(change, k, own, normals, along, beyond)
            impulses[o + 3 + k] = (-steep[k] * change[k]) * row(normals, k)

    return project


@kernel
def damp_dihedral(
    first: int32, rows: array(dtype=vec6i), rest: array(dtype=Any), shape: array(dtype=Any), drag: array(dtype=Any),
    impulses: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
):  # fmt: skip
    """Impulses along the gradients of the angles against their rates."""
    m, o = first + tid(), 6 * tid()
    i = rows[m]
    a, b, c, p, q, r = x[i[0]], x[i[1]], x[i[2]], x[i[3]], x[i[4]], x[i[5]]
    _, own, normals, along, beyond, steep = folds(
        position(a), position(b), position(c), position(p), position(q), position(r)
    )
    w, u = vector(a[3], b[3], c[3]), vector(p[3], q[3], r[3])
    k, s, n = v[i[0]], v[i[1]], v[i[2]]
    y = along @ vector(dot(own, k), dot(own, s), dot(own, n))
    rate = vector(
        y[0] + dot(row(normals, 0), beyond[0, 1] * s + beyond[0, 2] * n - steep[0] * v[i[3]]),
        y[1] + dot(row(normals, 1), beyond[1, 0] * k + beyond[1, 2] * n - steep[1] * v[i[4]]),
        y[2] + dot(row(normals, 2), beyond[2, 0] * k + beyond[2, 1] * s - steep[2] * v[i[5]]),
    )
    g = drag[m]
    change = -g * solve_cholesky(g * block(w, u, own, normals, along, beyond, steep) + shape[m], rate)
    for j in range(3):
        impulses[o + j] = impulse(change, j, own, normals, along, beyond)
        impulses[o + 3 + j] = (-steep[j] * change[j]) * row(normals, j)
