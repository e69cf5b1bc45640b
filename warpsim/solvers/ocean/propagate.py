"""The sea at one time: spectra of all that is asked for, two real fields in one complex transform.

h(k, t) = h0(k) exp(-i omega t) + conj(h0(-k)) exp(i omega t): waves of k go along k. Every field is h times a factor of
k, in linear theory (Tessendorf 2001, with coth(k h) for the orbits of finite depth):

    height 1      displacement i k / (|k| tanh(|k| h))      slopes i k      derivatives of the displacement - k k / ...

Fields A and B become the real and the imaginary part of the transform of A + i B = h (a + i b), or i h (a + i b). The
phase is counted in float64 turns, of which the whole ones fall away before sines are taken.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.language import array, array3d, array4d, float64, int32
from ...core.language import cos, floor, func, kernel, min, sin, sqrt, tanh, tid, vector
from ...fft import fft_index
from .modes import wavevector

DISPLACEMENT, HEIGHT, SLOPE, STRAIN, ORBIT, RISE = range(6)
"""Planes: (x, y) of the displacement; height and d D_x / d y; slopes; d D_x / d x and d D_y / d y; the rate of the
displacement; rate and acceleration of the height."""
STILL, MOVING = 4, 6
"""How many planes there are without rates, and with them."""

_TWO_PI = 2.0 * math.pi
_FLAT = 20.0


@kernel
def orbits(depth: array(dtype=float64), sizes: array(dtype=float64), cells: int, orbit: array3d(dtype=Any)):
    """1 / (|k| tanh(|k| h)) [m]: what a displacement is to the slope of the same wave."""
    c, i, j = tid()
    w = wavevector(i, j, cells, sizes[c])
    k = sqrt(w[0] * w[0] + w[1] * w[1]) if i + j > 0 else float64(1.0)
    orbit[c, i, j] = orbit.dtype(1.0 / (k * tanh(min(k * depth[0], _FLAT))))


@kernel
def propagate(
    amplitude: array3d(dtype=Any), frequency: array3d(dtype=float64), orbit: array3d(dtype=Any), time: float64,
    period: float64, sizes: array(dtype=float64), spectra: array4d(dtype=Any),
):  # fmt: skip
    """spectra: (planes, tiles, cells, cells), from amplitudes and turns per period of half of the modes."""
    c, i, j = tid()
    cells = spectra.shape[2]
    h0, turns = amplitude[c, i, j], frequency[c, i, j] * time
    angle = h0.dtype((turns - floor(turns)) * _TWO_PI)
    co, si = cos(angle), sin(angle)
    forth = vector(h0[0] * co + h0[1] * si, h0[1] * co - h0[0] * si)
    back = vector(h0[2] * co + h0[3] * si, h0[2] * si - h0[3] * co)
    h = forth + back
    ih = vector(-h[1], h[0])

    step = h0.dtype(_TWO_PI / sizes[c])
    kx, ky = h0.dtype(fft_index(i, cells)) * step, h0.dtype(j) * step
    u, v = kx * orbit[c, i, j], ky * orbit[c, i, j]
    store(spectra, DISPLACEMENT, c, i, j, ih, u, v)
    store(spectra, HEIGHT, c, i, j, h, h0.dtype(1.0), -kx * v)
    store(spectra, SLOPE, c, i, j, ih, kx, ky)
    store(spectra, STRAIN, c, i, j, h, -kx * u, -ky * v)
    if spectra.shape[0] == MOVING:
        omega = h0.dtype(frequency[c, i, j] / period * _TWO_PI)
        g = omega * (forth - back)  # the rate of h is -i times this
        store(spectra, ORBIT, c, i, j, g, u, v)
        store_pair(spectra, RISE, c, i, j, vector(g[1], -g[0]), -omega * omega * h)


@func
def store(spectra: array4d(dtype=Any), plane: int32, c: int32, i: int32, j: int32, s: Any, a: Any, b: Any):
    """s (a + i b) at k, and conj(s) (a + i b) at -k, where half of the modes do not have it themselves."""
    cells = spectra.shape[2]
    spectra[plane, c, i, j] = vector(s[0] * a - s[1] * b, s[0] * b + s[1] * a)
    if j > 0 and 2 * j != cells:
        spectra[plane, c, (cells - i) % cells, cells - j] = vector(s[0] * a + s[1] * b, s[0] * b - s[1] * a)


@func
def store_pair(spectra: array4d(dtype=Any), plane: int32, c: int32, i: int32, j: int32, a: Any, b: Any):
    """a + i b at k, and conj(a) + i conj(b) at -k."""
    cells = spectra.shape[2]
    spectra[plane, c, i, j] = vector(a[0] - b[1], a[1] + b[0])
    if j > 0 and 2 * j != cells:
        spectra[plane, c, (cells - i) % cells, cells - j] = vector(a[0] + b[1], b[0] - a[1])
