"""Gradient noise: smooth pseudo-random fields of position, on a lattice of unit cells.

Improved Perlin noise (Perlin 2002, Improving noise) with hashed gradients: every lattice point has a
direction drawn from `random.py`, its rise towards the query point is blended over the 2^n corners of
the cell with a quintic. Fields are zero at lattice points, twice continuously differentiable, and
bounded by sqrt(n)/2; equal seeds give Warp's fields up to rounding. `state` chooses the field and
does not advance. Derivatives to the position follow from the code.

Coordinates are float32: cells beyond 2^23 have no inside any more.
"""

from __future__ import annotations

from itertools import product

from ..language import N, Vec, cross, dot, float32, floor, func, int32, normalize, uint32, vector_type
from .random import mixed_state, next_state, unit_float

# Multipliers of the lattice coordinates in the hash; the first two after Teschner et al. 2003.
_PRIMES = (uint32(73856093), uint32(19349663), uint32(53471161), uint32(10000019))

# Offsets that take one state to the next independent one, for potentials of curl noise.
_SECOND, _THIRD = uint32(10019689), uint32(13112221)

# Compile-time tables by dimension: loops over them are unrolled and their tests decided.
_AXES = tuple(tuple(range(n)) for n in range(5))
_CORNERS = tuple(tuple(product((0, 1), repeat=n)) for n in range(5))
_CELL = (None, *(vector_type(n, int32) for n in range(1, 5)))

vec1, vec2, vec3, vec4 = (vector_type(n, float32) for n in range(1, 5))


# ----- the lattice ----------------------------------------------------------------------------


@func
def _floor(p: Vec[N, float32]) -> Vec[N, float32]:
    low = type(p)()
    for a in _AXES[len(p)]:
        low[a] = floor(p[a])
    return low


@func
def _wrap(cell: Vec[N, int32], period: Vec[N, int32]) -> Vec[N, int32]:
    """`cell` modulo `period`, never negative: the field repeats across zero too."""
    inside = type(cell)()
    for a in _AXES[len(cell)]:
        rest = cell[a] % period[a]  # the sign of the remainder is that of the cell
        inside[a] = rest + period[a] if rest < 0 else rest
    return inside


@func
def _gradient(state: uint32, cell: Vec[N, int32], p: Vec[N, float32]) -> Vec[N, float32]:
    """The direction at a lattice point: normalised draws from [-1, 1)^n; in 1-D the draw itself.

    `p` only tells the number of dimensions.
    """
    last = len(cell) - 1
    key = uint32(int32(cell[last])) * _PRIMES[last] + state
    for a in _AXES[last]:
        key = key ^ (uint32(int32(cell[a])) * _PRIMES[a])
    g = type(p)()
    for a in _AXES[len(cell)]:
        key = next_state(key)
        g[a] = 2.0 * unit_float(key) - 1.0
    return normalize(g) if last > 0 else g


@func
def _fade(p: Vec[N, float32]) -> Vec[N, float32]:
    """The quintic 6 t^5 - 15 t^4 + 10 t^3 of every component: the weight of the upper corner."""
    weight = type(p)()
    for a in _AXES[len(p)]:
        weight[a] = p[a] * p[a] * p[a] * (p[a] * (6.0 * p[a] - 15.0) + 10.0)
    return weight


@func
def _fade_slope(p: Vec[N, float32]) -> Vec[N, float32]:
    """The derivative of the quintic: 30 t^2 (1 - t)^2."""
    slope = type(p)()
    for a in _AXES[len(p)]:
        hump = p[a] * (1.0 - p[a])
        slope[a] = 30.0 * hump * hump
    return slope


# ----- value and slope in a cell --------------------------------------------------------------


@func
def _value(state: uint32, low: Vec[N, int32], high: Vec[N, int32], p: Vec[N, float32]) -> float32:
    """The field at `p` in [0, 1]^n of the cell whose corners have lattice coordinates `low` and `high`."""
    upper = _fade(p)
    lower = type(p)(1.0) - upper
    total = float32(0.0)
    for corner in _CORNERS[len(p)]:
        at = type(low)()
        away = type(p)()
        weight = float32(1.0)
        for a in _AXES[len(p)]:
            at[a] = high[a] if corner[a] == 1 else low[a]
            away[a] = p[a] - corner[a]
            weight = weight * (upper[a] if corner[a] == 1 else lower[a])
        total = total + weight * dot(_gradient(state, at, away), away)
    return total


@func
def _slope(state: uint32, position: Vec[N, float32]) -> Vec[N, float32]:
    """The derivative of the field with respect to `position`."""
    origin = _floor(position)
    low = _CELL[len(position)](origin)
    p = position - origin
    upper, steep = _fade(p), _fade_slope(p)
    lower = type(p)(1.0) - upper
    total = type(p)()
    for corner in _CORNERS[len(p)]:
        at = type(low)()
        away = type(p)()
        weight = type(p)()
        for a in _AXES[len(p)]:
            at[a] = low[a] + corner[a]
            away[a] = p[a] - corner[a]
            weight[a] = upper[a] if corner[a] == 1 else lower[a]
        g = _gradient(state, at, away)
        rise = dot(g, away)
        for a in _AXES[len(p)]:
            change = weight[a] * g[a] + (rise if corner[a] == 1 else -rise) * steep[a]
            for b in _AXES[len(p)]:
                if b != a:
                    change = change * weight[b]
            total[a] = total[a] + change
    return total


# ----- noise ----------------------------------------------------------------------------------


@func
def noise(state: uint32, x: float) -> float32:
    """1-D noise in [-1/2, 1/2]."""
    return _field(state, vec1(x))


@func(overload_of=noise)
def noise(state: uint32, xy: vec2) -> float32:
    """2-D noise within sqrt(2)/2 of zero."""
    return _field(state, xy)


@func(overload_of=noise)
def noise(state: uint32, xyz: vec3) -> float32:
    """3-D noise within sqrt(3)/2 of zero."""
    return _field(state, xyz)


@func(overload_of=noise)
def noise(state: uint32, xyzt: vec4) -> float32:
    """4-D noise within 1 of zero."""
    return _field(state, xyzt)


@func
def _field(state: uint32, p: Vec[N, float32]) -> float32:
    corner = _floor(p)
    low = _CELL[len(p)](corner)
    return _value(state, low, low + type(low)(1), p - corner)


@func
def _periodic(state: uint32, p: Vec[N, float32], period: Vec[N, int32]) -> float32:
    corner = _floor(p)
    low = type(period)(corner)
    return _value(state, _wrap(low, period), _wrap(low + type(low)(1), period), p - corner)


@func
def pnoise(state: uint32, x: float, px: int) -> float32:
    """1-D noise that repeats after `px` > 0 cells, on both sides of zero."""
    return _periodic(state, vec1(x), _CELL[1](px))


@func(overload_of=pnoise)
def pnoise(state: uint32, xy: vec2, px: int, py: int) -> float32:
    """2-D noise that repeats after `px` and `py` cells."""
    return _periodic(state, xy, _CELL[2](px, py))


@func(overload_of=pnoise)
def pnoise(state: uint32, xyz: vec3, px: int, py: int, pz: int) -> float32:
    """3-D noise that repeats after `px`, `py` and `pz` cells."""
    return _periodic(state, xyz, _CELL[3](px, py, pz))


@func(overload_of=pnoise)
def pnoise(state: uint32, xyzt: vec4, px: int, py: int, pz: int, pt: int) -> float32:
    """4-D noise that repeats after `px`, `py`, `pz` and `pt` cells."""
    return _periodic(state, xyzt, _CELL[4](px, py, pz, pt))


# ----- curl noise -----------------------------------------------------------------------------


@func
def curlnoise(state: uint32, xy: vec2, octaves: uint32 = 1, lacunarity: float = 2.0, gain: float = 0.5) -> vec2:
    """A field without divergence: the gradient of noise turned by +90 degrees (Bridson et al. 2007).

    Octave i has frequency lacunarity^i and weight gain^i; zero octaves give zero. 3-D and 4-D points
    (the fourth coordinate is time) give the 3-D curl of three independent potentials.
    """
    total = vec2()
    frequency = float32(1.0)
    weight = float32(1.0)
    for _ in range(int32(octaves)):
        g = _slope(state, frequency * xy)
        total = total + weight * vec2(-g[1], g[0])
        frequency = frequency * lacunarity
        weight = weight * gain
    return total


@func(overload_of=curlnoise)
def curlnoise(state: uint32, xyz: vec3, octaves: uint32 = 1, lacunarity: float = 2.0, gain: float = 0.5) -> vec3:
    """3-D: the curl of three noise potentials."""
    return _curl(state, xyz, octaves, lacunarity, gain)


@func(overload_of=curlnoise)
def curlnoise(state: uint32, xyzt: vec4, octaves: uint32 = 1, lacunarity: float = 2.0, gain: float = 0.5) -> vec3:
    """3-D and time: the spatial curl of three 4-D potentials, without divergence at any instant."""
    return _curl(state, xyzt, octaves, lacunarity, gain)


@func
def _curl(state: uint32, p: Vec[N, float32], octaves: uint32, lacunarity: float32, gain: float32) -> vec3:
    """The curl of the vector (f, g, h) of three potentials, each with a state of its own in every octave.

    It is the sum of grad f x e_x, grad g x e_y and grad h x e_z; a loop keeps the program small.
    """
    total = vec3()
    frequency = float32(1.0)
    weight = float32(1.0)
    for _ in range(int32(octaves)):
        for axis in range(3):
            if axis > 0:
                state = mixed_state(state, _SECOND if axis == 1 else _THIRD)
            slope = _slope(state, frequency * p)
            along = vec3()
            along[axis] = weight
            total = total + cross(vec3(slope[0], slope[1], slope[2]), along)
        frequency = frequency * lacunarity
        weight = weight * gain
    return total
