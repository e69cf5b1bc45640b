"""Modes of the sea: wavenumbers of a periodic tile, and how high a wave stands on each.

A mode (m, n) has the wavenumber k = 2 pi / L (m, n). A sea gives it the variance S(omega) D(theta) (d omega / d k) /
k dk^2 (Horvath 2015), half of the square of its expected amplitude. Its complex amplitude h0 = (xi_1 + i xi_2) / 2
sqrt(variance) has Gaussian numbers xi that depend on the seed, the tile and (m, n) alone: more cells add short waves
and keep the long ones. Only modes that the grid resolves and that lie in the band of their tile have any.

Arrays hold half of the modes, n >= 0, with what belongs to k and to -k side by side.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from ...core.language import Float, array, array3d, float64, int32
from ...core.language import atan2, func, kernel, round, sqrt, standard_names, struct, tanh, tid
from ...core.lib.random import rand_init, randn
from ...fft import fft_index
from .dispersion import angular_frequency, group_velocity
from .spreading import half_cosine_power

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func

vec2d, vec4d = standard_names()["vec2d"], standard_names()["vec4d"]
Number = array(dtype=float64)

_TWO_PI = 2.0 * math.pi
_DIRECTIONS = 128  # of the sum that scales elongated spreadings: exact for what is smooth over some degrees
_KEYS = 4096  # modes along an axis that have numbers of their own


@struct
class ModeGrid:
    """Which modes there are: sizes [m] and bands [rad/m] of tiles, cells along each; tension of water [m^3/s^2]."""

    sizes: array(dtype=float64)
    bands: array(dtype=vec2d)
    cells: int
    tension: float64


@func
def wavevector(i: int, j: int, cells: int, size: float64) -> vec2d:
    """k [rad/m] of element (i, j) of half a spectrum of a tile of some size [m]."""
    return vec2d(float64(fft_index(i, cells)), float64(j)) * (_TWO_PI / size)


@func
def has_waves(i: int, j: int, cells: int, k: float64, band: vec2d) -> bool:
    """Whether a mode is in the band [rad/m], and no derivative of it lost: neither the mean nor beyond Nyquist."""
    resolved = 2 * i != cells and 2 * j != cells
    return resolved and k > 0.0 and k >= band[0] and k < band[1]


@func
def wrap_angle(angle: float64) -> float64:
    """The same angle in [-pi, pi]."""
    return angle - _TWO_PI * round(angle / _TWO_PI)


# ----- variance -----------------------------------------------------------------------------------


@cache
def variance_kernel(density: Func, peak: Func, spreading: Func) -> Any:
    """The kernel that adds a sea with these functions to the variance of all modes."""

    @func
    def elongate(theta: float64, x: float64, age: float64, q: float64, swell: float64) -> float64:
        if swell == 0.0:
            return spreading(theta, x, age, q)
        s = 16.0 * tanh(1.0 / x) * swell * swell
        total = float64(0.0)
        for n in range(_DIRECTIONS):
            other = _TWO_PI * (float64(n) + 0.5) / float64(_DIRECTIONS) - math.pi
            total += spreading(other, x, age, q) * half_cosine_power(other, s)
        shared = spreading(theta, x, age, q) * half_cosine_power(theta, s)
        return shared * float64(_DIRECTIONS) / (_TWO_PI * total)

    @kernel
    def add_variance(
        p0: Number, p1: Number, p2: Number, p3: Number, q: Number, direction: Number, swell: Number, depth: Number,
        grid: ModeGrid, variance: array3d(dtype=vec2d),
    ):  # fmt: skip
        c, i, j = tid()
        w = wavevector(i, j, grid.cells, grid.sizes[c])
        k = sqrt(w[0] * w[0] + w[1] * w[1])
        if has_waves(i, j, grid.cells, k, grid.bands[c]):
            p = vec4d(p0[0], p1[0], p2[0], p3[0])
            omega = angular_frequency(k, depth[0], grid.tension)
            step = _TWO_PI / grid.sizes[c]
            energy = density(omega, k, depth[0], p) * group_velocity(k, depth[0], grid.tension) / k * step * step
            top = peak(p)
            theta, x = wrap_angle(atan2(w[1], w[0]) - direction[0]), omega / top[0]
            along = elongate(theta, x, top[1], q[0], swell[0])
            against = elongate(wrap_angle(theta + math.pi), x, top[1], q[0], swell[0])
            variance[c, i, j] = variance[c, i, j] + vec2d(energy * along, energy * against)

    return add_variance


# ----- amplitudes and frequencies -------------------------------------------------------------------


@kernel
def draw_noise(seed: int, noise: array3d(dtype=Any)):
    """Two Gaussian numbers for every tile and mode (m, n), wherever resolution puts it."""
    c, i, j = tid()
    cells = noise.shape[1]
    key = (c * _KEYS + fft_index(i, cells) + _KEYS // 2) * _KEYS + fft_index(j, cells) + _KEYS // 2
    state = rand_init(seed, int32(key))
    first = randn(state)
    second = randn(state)
    pair = noise.dtype()
    pair[0] = pair.dtype(first)
    pair[1] = pair.dtype(second)
    noise[c, i, j] = pair


@kernel
def amplitudes(variance: array3d(dtype=vec2d), noise: array3d(dtype=Any), amplitude: array3d(dtype=Any)):
    """h0 of k, and h0 of -k, as four numbers."""
    c, i, j = tid()
    cells = noise.shape[1]
    v = variance[c, i, j]
    along, against = noise[c, i, j], noise[c, (cells - i) % cells, (cells - j) % cells]
    a, b = along.dtype(0.5 * root(v[0])), along.dtype(0.5 * root(v[1]))
    waves = amplitude.dtype()
    waves[0] = a * along[0]
    waves[1] = a * along[1]
    waves[2] = b * against[0]
    waves[3] = b * against[1]
    amplitude[c, i, j] = waves


@func
def root(x: Float) -> Float:
    """sqrt(x), whose derivative at 0 is taken as 0: a mode without waves has no neighbour that has some."""
    return sqrt(x) if x > 0.0 else x


@kernel
def frequencies(depth: Number, grid: ModeGrid, period: float64, loops: int, frequency: array3d(dtype=float64)):
    """Oscillations per period [s] of every mode; loops: rounded to whole ones, so that the sea repeats itself."""
    c, i, j = tid()
    w = wavevector(i, j, grid.cells, grid.sizes[c])
    k = sqrt(w[0] * w[0] + w[1] * w[1])
    if k > 0.0:
        turns = angular_frequency(k, depth[0], grid.tension) * period / _TWO_PI
        frequency[c, i, j] = round(turns) if loops == 1 else turns
