"""`Ocean`: a sea of random waves on periodic tiles, evaluated at any time by fast Fourier transforms.

The steps, one kernel each: variance of all modes from the seas (`modes.variance_kernel`), amplitudes and frequencies
(`update`); spectra at a time (`propagate`), transforms, and the surface (`field.compose`) (`evaluate`). Tapes record
all of them: everything has gradients to wind, fetch, depth, direction and the other parameters, and to every amplitude.
"""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...core.language import array, empty, float32, float64, get_device, int32, launch, zeros
from ...core.runtime.arrays.fixed import Fixed, Layout, check_fits
from ...errors import ArgumentTypeError, ArrayError, instance
from ...fft import ifft2
from ..scene.memory import Memory, refill_all
from .dispersion import DEEP
from .field import COMPLEX, QUADRUPLE, TRIPLE, Field, compose, compose_velocity
from .modes import ModeGrid, amplitudes, draw_noise, frequencies, variance_kernel, vec2d, vec4d
from .propagate import MOVING, STILL, orbits, propagate
from .query import surface_of
from .spectrum import Spectrum, as_number, on_device
from .spreading import CosineSquared, Spreading
from .statistics import wavenumbers

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

_UPDATED = ("variance", "amplitude", "frequency", "orbit")
"""What `Ocean.update` computes."""


class ResolutionWarning(UserWarning):
    """The grid of an ocean cannot hold the waves that its spectrum has most of."""


class Sea(Fixed):
    """One system of waves: a spectrum, a spreading, the direction that it goes to, and swell elongation.

    direction [rad]: counter-clockwise from x. swell: 0 for none to 1 for waves that all go one way. Both may be arrays
    of one float64, with gradients. An ocean takes several: swell from afar beside the sea that the wind makes here.
    """

    replaceable = ("direction", "swell")

    def __init__(
        self, spectrum: Spectrum, spreading: Spreading | None = None, direction: float | array = 0.0,
        swell: float | array = 0.0,
    ):  # fmt: skip
        if not isinstance(spectrum, Spectrum):
            raise ArgumentTypeError(
                f"spectrum is {type(spectrum).__name__}\nexpected: JONSWAP(...), SeaState(...), ..."
            )
        self.spectrum = spectrum
        self.spreading = CosineSquared() if spreading is None else instance(spreading, Spreading, "spreading")
        self.direction = as_number(direction, "direction", positive=False)
        self.swell = as_number(swell, "swell", positive=False)
        if not 0.0 <= float(self.swell.numpy()[0]) <= 1.0:
            raise ArrayError(f"swell is {float(self.swell.numpy()[0]):g}\nexpected: 0 to 1")

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        return {name: getattr(self, name) for name in ("spectrum", "spreading", "direction", "swell")}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""

    def parameters(self) -> list[array]:
        """All arrays that the sea follows from. Raises `ArrayError` for one that was replaced by what is no number."""
        for part, name in ((self, "sea"), (self.spectrum, "spectrum"), (self.spreading, "spreading")):
            part.check_replaced(name)
        return [*self.spectrum.parameters.values(), self.spreading.parameter, self.direction, self.swell]

    def peak(self, device: Device) -> float:
        """The peak frequency [rad/s]."""
        p = [float(a.numpy()[0]) for a in self.spectrum.arrays(device)]
        return float(self.spectrum.peak(vec4d(*p))[0])


class Ocean(Fixed):
    """Random waves on a square tile of the sea, or on several tiles with disjoint bands of waves.

    seas: a spectrum, a `Sea`, or several. size [m]: of the tile; of several tiles, each of which divides the first a
    whole number of times, for cascades. cells: along each side. depth [m] (None: deep), tension [m^3/s^2]: of the
    dispersion. choppiness: of horizontal displacements, 1 in theory. loop_period [s]: after which the sea repeats.
    shortest, longest [m]: wavelengths beyond which there are no waves. trough_damping: in [0, 1], of all tiles but the
    first in troughs deeper than trough_scale [m] (default: the standard deviation of the first tile). seed: of noise.
    dtype: float32 or float64. depth and choppiness may be arrays of one float64, with gradients.

    noise (tiles, cells, cells): complex numbers as pairs, Gaussian with variance 1 in both parts, by mode: change them,
    or give them a gradient, for waves and phases of your own; then call `update`.

    Raises `ArrayError` for numbers that no sea has, and warns (`ResolutionWarning`) where the grid misses the peak.
    """

    replaceable = ("depth", "choppiness", "noise")
    variance: array
    amplitude: array
    frequency: array
    orbit: array

    def __init__(
        self, seas: Spectrum | Sea | list[Spectrum | Sea] | tuple[Spectrum | Sea, ...],
        size: float | Sequence[float] = 1000.0, cells: int = 256, *, depth: float | array | None = None,
        tension: float = 0.0, choppiness: float | array = 1.0, loop_period: float | None = None, shortest: float = 0.0,
        longest: float = math.inf, trough_damping: float = 0.0, trough_scale: float | None = None, seed: int = 0,
        dtype: type = float32, device: Any = None,
    ):  # fmt: skip
        several = seas if isinstance(seas, list | tuple) else [seas]
        self.seas = tuple(s if isinstance(s, Sea) else Sea(s) for s in several)
        if not self.seas:
            raise ArrayError("no seas\nexpected: a spectrum, a `Sea`, or several")
        self.device, self.dtype, self.cells = get_device(device), dtype, _checked_cells(cells)
        self.tiles = _checked_tiles(size)
        self.size = self.tiles[0]
        self.depth = as_number(DEEP if depth is None else depth, "depth")
        self.choppiness = as_number(choppiness, "choppiness", positive=False)
        self.tension, self.loop_period, self.shortest, self.longest = tension, loop_period, shortest, longest
        _check_numbers(dtype, tension, loop_period, shortest, longest, trough_damping, trough_scale)
        self.bands = _bands(self.tiles, self.cells, shortest, longest)
        self._sizes = array(self.tiles, dtype=float64, device=self.device)
        self._bands = array(self.bands, dtype=vec2d, device=self.device)
        self._ratios = array([round(self.size / s) for s in self.tiles], dtype=int32, device=self.device)
        self.noise = zeros((len(self.tiles), self.cells, self.cells), COMPLEX[dtype], self.device)
        launch(draw_noise, self.noise.shape, [int(seed)], [self.noise], device=self.device, record_tape=False)
        self.update()
        self.trough_damping = trough_damping
        self.trough_scale = trough_scale or max(math.sqrt(self.variances()[0]), 1e-9)
        self._warn_of_missed_peaks()

    # ----- amplitudes -----------------------------------------------------------------------------

    def update(self) -> None:
        """Compute amplitudes and frequencies from the present parameters and noise; recorded on tapes."""
        self.check_replaced("ocean")
        shape = (len(self.tiles), self.cells, self.cells // 2 + 1)
        wants = any(a.requires_grad for sea in self.seas for a in sea.parameters()) or self.depth.requires_grad
        depth = on_device(self.depth, self.device)
        grid = ModeGrid(self._sizes, self._bands, self.cells, float64(self.tension))
        self._put(variance=zeros(shape, vec2d, self.device, requires_grad=wants))
        for sea in self.seas:
            kernel = variance_kernel(sea.spectrum.density, sea.spectrum.peak, sea.spreading.density)
            own = [on_device(a, self.device) for a in (sea.spreading.parameter, sea.direction, sea.swell)]
            inputs = [*sea.spectrum.arrays(self.device), *own, depth, grid]
            launch(kernel, shape, inputs, [self.variance], device=self.device)
        self._put(amplitude=empty(shape, QUADRUPLE[self.dtype], self.device, wants or self.noise.requires_grad))
        launch(amplitudes, shape, [self.variance, self.noise], [self.amplitude], device=self.device)
        self._put(frequency=zeros(shape, float64, self.device, requires_grad=self.depth.requires_grad))
        period = [float64(self.loop_period or 1.0), int(self.loop_period is not None)]
        launch(frequencies, shape, [depth, grid, *period], [self.frequency], device=self.device)
        self._put(orbit=empty(shape, self.dtype, self.device, requires_grad=self.depth.requires_grad))
        launch(orbits, shape, [depth, self._sizes, self.cells], [self.orbit], device=self.device)

    def variances(self) -> np.ndarray:
        """The expected variance of the height on each tile [m^2]: 16 of their sum is the significant height squared."""
        v = self.variance.numpy()
        once = v[:, :, 1:].sum((1, 2, 3))
        return once + v[:, :, 0, 0].sum(1)  # of n = 0 the element at -m has what belongs to -k

    @property
    def significant_height(self) -> float:
        """4 sqrt(m0) of the waves that the tiles hold, on average over seeds [m]."""
        return 4.0 * math.sqrt(float(self.variances().sum()))

    # ----- the surface ----------------------------------------------------------------------------

    @checked
    def spectra(self, time: float, velocity: bool = False, out: array | None = None) -> array:
        """Spectra (planes, tiles, cells, cells) at a time, see `propagate`. Raises `ArrayError` for an `out` of another
        layout."""
        self.check_replaced("ocean")
        moving = velocity or (isinstance(out, array) and out.shape[0] == MOVING)
        shape = (MOVING if moving else STILL, len(self.tiles), self.cells, self.cells)
        wants = self.amplitude.requires_grad or self.frequency.requires_grad
        spectra = empty(shape, COMPLEX[self.dtype], self.device, requires_grad=wants) if out is None else out
        check_fits(spectra, Layout(COMPLEX[self.dtype], shape, self.device), "out")
        period = self.loop_period or 1.0
        inputs = [self.amplitude, self.frequency, self.orbit, float64(time / period), float64(period), self._sizes]
        launch(propagate, self.amplitude.shape, inputs, [spectra], device=self.device)
        return spectra

    @checked
    def evaluate(self, time: float, velocity: bool = False, out: Field | None = None) -> Field:
        """The surface at a time [s]. out: a field of this ocean, whose arrays are overwritten; new ones by default.

        Raises `ArrayError` for a time that is not finite, and for a field of another ocean or without the velocity.
        """
        if not math.isfinite(time):
            raise ArrayError(f"time is {time}\nexpected: a finite number of seconds")
        if out is not None:
            self._check_field(out, velocity)
        planes = self.spectra(time, velocity, None if out is None else out.planes)
        ifft2(planes, out=planes, norm="forward")
        field = out or self._new_field(planes, velocity)
        chop = on_device(self.choppiness, self.device)
        surface = surface_of(planes, self._ratios, chop, self.trough_damping, self.trough_scale, self.size)
        field._put(time=time, surface=surface)
        damping = [self.dtype(self.trough_damping), self.dtype(self.trough_scale)]
        inputs = [planes, self._ratios, chop, *damping]
        results = [field.height, field.displacement, field.normals, field.jacobian, field.stretch]
        launch(compose, field.height.shape, inputs, results, device=self.device)
        if field.velocity is not None:
            launch(compose_velocity, field.height.shape, inputs, [field.velocity], device=self.device)
        return field

    def _check_field(self, field: Field, velocity: bool) -> None:
        instance(field, Field, "out")
        planes = STILL if field.velocity is None else MOVING
        expected = Layout(COMPLEX[self.dtype], (planes, len(self.tiles), self.cells, self.cells), self.device)
        if Layout.of(field.planes) != expected:
            raise ArrayError(
                f"out has planes of {Layout.of(field.planes)}\nexpected: {expected}: a field that this ocean made"
            )
        if velocity and field.velocity is None:
            raise ArrayError(
                "out was made without velocity, and has no room for it\nhelp: make it by evaluate(t, velocity=True)"
            )

    def _new_field(self, planes: array, velocity: bool) -> Field:
        shape = (self.cells, self.cells)
        wants = planes.requires_grad or self.choppiness.requires_grad
        height, jacobian, stretch = (empty(shape, self.dtype, self.device, wants) for _ in range(3))
        displacement = empty(shape, COMPLEX[self.dtype], self.device, wants)
        normals, moving = (empty(shape, TRIPLE[self.dtype], self.device, wants) for _ in range(2))
        return Field(
            0.0, self.size, height, displacement, normals, jacobian, stretch, moving if velocity else None, planes
        )

    # ----- saved scenes ---------------------------------------------------------------------------

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        same = ("seas", "cells", "depth", "tension", "choppiness", "loop_period", "shortest", "longest", "dtype")
        more = {"trough_damping": self.trough_damping, "trough_scale": self.trough_scale}
        return {**{name: getattr(self, name) for name in same}, "size": self.tiles, **more}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {name: getattr(self, name) for name in ("noise", *_UPDATED)}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        self.noise = memory["noise"]
        self.check_replaced("ocean")
        refill_all(memory, {name: getattr(self, name) for name in _UPDATED})

    # ----- warnings -------------------------------------------------------------------------------

    def _warn_of_missed_peaks(self) -> None:
        depth = float(self.depth.numpy()[0])
        least, most = 2.0 * self.tiles[-1] / self.cells, self.size
        for sea in self.seas:
            length = 2.0 * math.pi / float(wavenumbers(sea.peak(self.device), depth)[0])
            included = self.shortest <= length <= self.longest  # else its peak was left out on purpose
            if included and not least <= length <= most:
                warnings.warn(
                    f"the peak of the spectrum has waves of {length:.4g} m; {self.cells} cells on {most:g} m hold "
                    f"waves of {least:.4g} to {most:g} m\nhelp: {self._better_grid(length)}",
                    ResolutionWarning, stacklevel=3,
                )  # fmt: skip

    def _better_grid(self, length: float) -> str:
        """Four waves on the tile at least, and eight cells on each."""
        smallest, largest = 4.0 * length, length * self.cells / 8.0
        if smallest > largest:
            return f"choose a size of {smallest:.3g} m, and at least {math.ceil(8.0 * smallest / length)} cells"
        return f"choose size between {smallest:.3g} m and {largest:.3g} m"


# ----- arguments ----------------------------------------------------------------------------------


def _checked_cells(cells: int) -> int:
    if not hasattr(cells, "__index__") or not 4 <= operator.index(cells) <= 4096:
        raise ArrayError(f"cells is {cells!r}\nexpected: a whole number, 4 to 4096 along a side")
    return operator.index(cells)


def _checked_tiles(size: float | Sequence[float]) -> list[float]:
    tiles = [float(s) for s in np.atleast_1d(size)]
    if not tiles or not all(math.isfinite(s) and s > 0.0 for s in tiles):
        raise ArrayError(f"size is {size}\nexpected: lengths above zero [m]")
    for s in tiles[1:]:
        ratio = tiles[0] / s
        if abs(ratio - round(ratio)) > 1e-9 * ratio:
            raise ArrayError(
                f"a tile of {s:g} m does not divide {tiles[0]:g} m\nexpected: a whole number of tiles in the first, so "
                f"that the sea is periodic\nhelp: {tiles[0] / max(1, round(ratio)):g} m does"
            )
    return tiles


def _check_numbers(
    dtype: type, tension: float, period: float | None, shortest: float, longest: float, damping: float,
    scale: float | None,
) -> None:  # fmt: skip
    if dtype not in COMPLEX:
        raise ArgumentTypeError(f"dtype is {dtype!r}\nexpected: float32 or float64")
    if not 0.0 <= tension < math.inf:
        raise ArrayError(f"tension is {tension}\nexpected: a finite number, at least 0 [m^3/s^2]")
    if period is not None and not 0.0 < period < math.inf:
        raise ArrayError(f"loop_period is {period}\nexpected: above zero [s], or None")
    if not 0.0 <= shortest < longest:
        raise ArrayError(f"waves from {shortest} to {longest} m\nexpected: 0 <= shortest < longest")
    if not 0.0 <= damping <= 1.0:
        raise ArrayError(f"trough_damping is {damping}\nexpected: 0 to 1")
    if scale is not None and not 0.0 < scale < math.inf:
        raise ArrayError(f"trough_scale is {scale}\nexpected: above zero [m], or None")


def _bands(tiles: list[float], cells: int, shortest: float, longest: float) -> list[tuple[float, float]]:
    """From which wavenumber to which each tile has waves: a smaller one from its fourth harmonic on."""
    limits = [0.0, *(8.0 * math.pi / s for s in tiles[1:]), math.inf]
    for tile, limit in zip(tiles, limits[1:-1], strict=False):
        if limit > math.pi * cells / tile or sorted(limits) != limits:
            raise ArrayError(
                f"tiles of {tiles} m with {cells} cells leave a gap between their bands\n"
                f"expected: each smaller than the one before, by a factor of up to {cells // 8}"
            )
    low, high = (2.0 * math.pi / w if w else math.inf for w in (longest, shortest))
    return [(max(a, low), min(b, high)) for a, b in itertools.pairwise(limits)]
