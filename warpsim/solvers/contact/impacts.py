"""When corners meet triangles and edges meet edges on straight ways, and where: moments of impact within a substep.

Four points on straight ways are in a plane at the roots of a cubic (X. Provot 1997, "Collision and self-collision
handling in cloth model dedicated to design garments"). The first root at which the corner is in the triangle, or the
crossing in both edges, is the impact. Its derivative is that of a root: one step of Newton's method from a moment
without derivative, which moves it by rounding only.

Points are given where they are when the substep begins, and with their ways in it: as rows of matrices, a corner and
three of a triangle, or two of each edge. Moments are parts of the substep, 0 to 1.
"""

from __future__ import annotations

from ...core.language import Float, Mat, Vec, abs, cross, dot, func, length, max, min, sqrt, vector, where

NEVER = -1.0
_BISECTIONS = 64  # at most; Newton's method ends far earlier
_SLACK = 1.0e-6  # relative to borders: no gap between a triangle and its edges
_PARALLEL = 1.0e-12  # squared sine of the angle below which lines have no crossing


# ----- a cubic in 0 to 1 --------------------------------------------------------------------------


@func
def cubic(c: Vec[4, Float], t: Float) -> Float:
    return c[0] + t * (c[1] + t * (c[2] + t * c[3]))


@func
def cubic_slope(c: Vec[4, Float], t: Float) -> Float:
    return c[1] + t * (2.0 * c[2] + 3.0 * t * c[3])


@func
def turning(c: Vec[4, Float]) -> Vec[2, Float]:
    """Where a cubic turns within 0 to 1, in order; the ends where it does not."""
    zero, one = c[0] * 0.0, c[0] * 0.0 + 1.0
    first, second = zero, one
    under = c[2] * c[2] - 3.0 * c[3] * c[1]
    if under > 0.0:
        root = where(c[2] < 0.0, c[2] - sqrt(under), c[2] + sqrt(under))
        other = zero
        if c[3] != 0.0:
            first = -root / (3.0 * c[3])
        if root != 0.0:
            other = -c[1] / root
        second = other
        if c[3] == 0.0:
            first = other
    low, high = min(first, second), max(first, second)
    return vector(min(max(low, zero), one), min(max(high, zero), one))


@func
def root_between(c: Vec[4, Float], low: Float, high: Float) -> Float:
    """Of a cubic without a turn in between, by Newton's method within bisection."""
    left, right = low, high
    rises = cubic(c, right) > cubic(c, left)
    t = 0.5 * (left + right)
    for _ in range(_BISECTIONS):
        value, slope = cubic(c, t), cubic_slope(c, t)
        if (value > 0.0) == rises:
            right = t
        else:
            left = t
        after = 0.5 * (left + right)
        if slope != 0.0:
            tried = t - value / slope
            if tried > left and tried < right:
                after = tried
        if after == t:
            return t
        t = after
    return t


# ----- four points --------------------------------------------------------------------------------


@func
def product(a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]) -> Float:
    return dot(cross(a, b), c)


@func
def flattening(face: bool, p: Mat[4, 3, Float], way: Mat[4, 3, Float]) -> Vec[4, Float]:
    """Coefficients, from that of 1, of the volume between a corner and a triangle, or between two edges."""
    a, b, c = p[2] - p[1], p[3] - p[1], p[0] - p[1]
    u, v, w = way[2] - way[1], way[3] - way[1], way[0] - way[1]
    if not face:
        a, b, c = p[1] - p[0], p[3] - p[2], p[2] - p[0]
        u, v, w = way[1] - way[0], way[3] - way[2], way[2] - way[0]
    return vector(
        product(a, b, c), product(u, b, c) + product(a, v, c) + product(a, b, w),
        product(u, v, c) + product(u, b, w) + product(a, v, w), product(u, v, w),
    )  # fmt: skip


@func
def face_shares(p: Mat[4, 3, Float]) -> Vec[4, Float]:
    """Weights of a point and of the foot of its perpendicular on a plane; zero for a triangle without area."""
    ab, ac, ap = p[2] - p[1], p[3] - p[1], p[0] - p[1]
    n = cross(ab, ac)
    area = dot(n, n)
    if area > 0.0:
        v, w = dot(cross(ap, ac), n) / area, dot(cross(ab, ap), n) / area
        return vector(area / area, v + w - 1.0, -v, -w)
    return vector(area, area, area, area) * 0.0


@func
def edge_shares(p: Mat[4, 3, Float]) -> Vec[4, Float]:
    """Weights of the feet of the common perpendicular of two lines; zero for lines that are parallel."""
    ab, cd, r = p[1] - p[0], p[3] - p[2], p[2] - p[0]
    n = cross(ab, cd)
    area = dot(n, n)
    if area > _PARALLEL * dot(ab, ab) * dot(cd, cd):
        s, t = dot(cross(r, cd), n) / area, dot(cross(r, ab), n) / area
        return vector(1.0 - s, s, t - 1.0, -t)
    return vector(area, area, area, area) * 0.0


@func
def shares_of(face: bool, p: Mat[4, 3, Float]) -> Vec[4, Float]:
    """Weights of the points that meet: they add up to 1 and -1."""
    if face:
        return face_shares(p)
    return edge_shares(p)


@func
def is_inside(face: bool, shares: Vec[4, Float]) -> bool:
    """Whether what meets is within the triangle or both edges."""
    inside = max(shares[2], shares[3]) < _SLACK and dot(shares, shares) > 0.0
    if face:
        return inside and shares[1] < _SLACK
    return inside and min(shares[0], shares[1]) > -_SLACK


@func
def weighted_sum(b: Vec[4, Float], p: Mat[4, 3, Float]) -> Vec[3, Float]:
    return b[0] * p[0] + b[1] * p[1] + b[2] * p[2] + b[3] * p[3]


@func
def normal_of(face: bool, p: Mat[4, 3, Float]) -> Vec[3, Float]:
    """Of a triangle, or of two edges; not of unit length."""
    if face:
        return cross(p[2] - p[1], p[3] - p[1])
    return cross(p[1] - p[0], p[3] - p[2])


@func
def ends_close(face: bool, p: Mat[4, 3, Float], way: Mat[4, 3, Float], least: Float) -> bool:
    """Whether two things are closer than `least` at the end, and half as far apart as at the beginning."""
    end = p + way
    n = normal_of(face, end)
    other = end[2]
    if face:
        other = end[1]
    far, gap = length(n), abs(dot(n, end[0] - other))
    close = False
    if gap < least * far:
        b = shares_of(face, end)
        close = is_inside(face, b) and 2.0 * gap < abs(dot(n, weighted_sum(b, p)))
    return close


@func
def first_impact(face: bool, p: Mat[4, 3, Float], way: Mat[4, 3, Float], least: Float) -> Float:
    """The moment at which a corner first goes through a triangle, or an edge through another; or `NEVER`.

    It is 1 for what does not, and is closer than `least` at the end.
    """
    volume = flattening(face, p, way)
    turns = turning(volume)
    low = volume[0] * 0.0
    for k in range(3):
        high = low * 0.0 + 1.0
        if k < 2:
            high = turns[k]
        before, after = cubic(volume, low), cubic(volume, high)
        if before * after < 0.0 or (after == 0.0 and before != 0.0):
            t = root_between(volume, low, high)
            if is_inside(face, shares_of(face, p + t * way)):
                return t
        low = high
    if ends_close(face, p, way, least):
        return low * 0.0 + 1.0
    return low * 0.0 + NEVER


@func
def impact_plane(
    face: bool, moment: Float, p: Mat[4, 3, Float], way: Mat[4, 3, Float]
) -> tuple[Vec[4, Float], Vec[3, Float]]:
    """Weights of what meets at a moment, and the unit normal from the second to the first as they began."""
    volume = flattening(face, p, way)
    t = moment
    slope = cubic_slope(volume, moment)
    if moment < 1.0 and slope != 0.0:
        t = moment - cubic(volume, moment) / slope
    at = p + t * way
    b, n = shares_of(face, at), normal_of(face, at)
    far = length(n)
    if far > 0.0:
        n = n / far
    if dot(n, weighted_sum(b, p)) < 0.0:
        n = -n
    return b, n
