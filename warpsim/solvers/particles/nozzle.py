"""Nozzles: where streams of particles come from, and what those that wait in line behind one are held by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...core.language import Array, Float, Vec, array, float64, int32
from ...core.language import cross, dot, func, generic_struct, kernel, launch, length, vector
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ModelError, shown
from ..scene.memory import Memory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..scene.model import Model
    from ..scene.state import State


_WIDEST = 10_000_000  # places side by side


@generic_struct
class Line:
    """Particles of a stream that wait in line: `first` and those behind it; due, offset and axis as in `Nozzle`."""

    first: int32
    due: array(dtype=float64)
    offset: Array[Vec[3, Float]]
    axis: Vec[3, Float]


class Stream(Protocol):
    """What streams of fluid and of grains have in common: a round nozzle."""

    @property
    def position(self) -> ArrayLike: ...

    @property
    def velocity(self) -> ArrayLike: ...

    @property
    def radius(self) -> float: ...

    @property
    def exhausted(self) -> str: ...


class Nozzle(Fixed):
    """A stream as arrays that can be written between steps and have gradients.

    position: centre, vec3 (1,) [m]. velocity: of the stream, vec3 (1,) [m/s]; those that wait follow both. due: when
    each is let go, float64 (particles,), increasing: a time [s] or a length of the stream [m]. offset: from the centre,
    at right angles to `axis`, vec3 (particles,) [m]. particles: which ones, a range. end: when one is due that is not
    there.
    """

    replaceable = ("position", "velocity")

    def __init__(
        self,
        model: Model,
        particles: range,
        position: ArrayLike,
        velocity: ArrayLike,
        due: np.ndarray,
        offset: np.ndarray,
        end: float,
    ):
        self.model, self.particles, self.end = model, particles, end
        options: dict[str, Any] = {"device": model.device, "requires_grad": model.requires_grad}
        self.due = array(due, dtype=float64, device=model.device)
        self.offset = array(offset, dtype=model.vec3, device=model.device)
        self.position = array([position], dtype=model.vec3, **options)
        self.velocity = array([velocity], dtype=model.vec3, **options)
        axis = vector(*(model.dtype(x) for x in axis_of(velocity)))
        self.line = Line[model.dtype](particles.start, self.due, self.offset, axis)
        self._due = due

    def memory(self) -> Memory:
        """What a saved scene keeps of it."""
        return {"position": self.position, "velocity": self.velocity}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take that over."""
        self.position, self.velocity = memory["position"], memory["velocity"]
        self.check_replaced("stream")

    def released_by(self, now: float) -> int:
        """How many have come when that is due: the first ones of `particles`."""
        return int(np.searchsorted(self._due, now, side="right"))

    def require_particles(self, now: array) -> None:
        """Make a step fail where the stream has none left at `now`, a float64 of the device."""
        if self.end < math.inf:
            launch(_require_particles, 1, [now, self.end], device=self.model.device, record_tape=False)


def arrival_mask(nozzles: Sequence[Any], state: State) -> np.ndarray:
    """Which particles of a state do not wait behind a nozzle, bool (particles,)."""
    there = np.ones(state.model.particle_count, dtype=bool)
    for nozzle in nozzles:
        there[nozzle.particles[nozzle.released(state) :]] = False
    return there


def check_streams(streams: Sequence[Any], kind: type, what: str) -> None:
    """Raise `ModelError` for what are no streams, and for particles that are of two. what: a particle is."""
    if not isinstance(streams, Sequence):
        raise ModelError(f"streams is {shown(streams)}\nexpected: a list of {kind.__name__}")
    for number, stream in enumerate(streams):
        if not isinstance(stream, kind):
            raise ModelError(f"stream {number} is {type(stream).__name__}\nexpected: a {kind.__name__}")
    ranges = [getattr(stream, f"{what}s") for stream in streams]
    for a, b in ((a, b) for k, a in enumerate(ranges) for b in ranges[:k]):
        both = range(max(a.start, b.start), min(a.stop, b.stop))
        if len(both):
            raise ModelError(f"{what} {both.start} belongs to two streams\nexpected: streams of {what}s of their own")


def check_stream(stream: Stream, what: str, count: int) -> None:
    """Raise `ModelError` for particles that are not there, for places and velocities that are none."""
    chosen = getattr(stream, f"{what}s")
    if not isinstance(chosen, range) or chosen.step != 1 or not len(chosen) or chosen.start < 0 or chosen.stop > count:
        expected = f"a range of some of the model's {count} particles"
        raise ModelError(f"{what}s of a stream are {chosen}\nexpected: {expected}")
    if not (_is_point(stream.position) and _is_point(stream.velocity) and np.any(stream.velocity)):
        where = f"position {shown(stream.position)} m, velocity {shown(stream.velocity)} m/s"
        raise ModelError(f"a stream has {where}\nexpected: three finite numbers each, and a speed above 0")
    if not (isinstance(stream.radius, Real) and 0.0 <= stream.radius < math.inf):
        raise ModelError(f"a stream has the radius {shown(stream.radius)} m\nexpected: 0 or more")
    if stream.exhausted not in ("error", "stop"):
        raise ModelError(f"exhausted is {stream.exhausted!r}\nexpected: 'error' or 'stop'")


def check_room(radius: float, pitch: float) -> None:
    """Raise `ModelError` for a nozzle so wide [m] that no memory holds its sites, a pitch [m] apart."""
    if (2.0 * radius / pitch) ** 2 > _WIDEST:
        raise ModelError(
            f"a stream has the radius {radius:g} m, with places {pitch:g} m apart\n"
            f"expected: at most {0.5 * pitch * math.sqrt(_WIDEST):.3g} m"
        )


def _is_point(numbers: ArrayLike) -> bool:
    """Whether something is three finite numbers."""
    try:
        return np.shape(numbers) == (3,) and bool(np.isfinite(np.asarray(numbers, np.float64)).all())
    except (TypeError, ValueError):
        return False


def axis_of(velocity: ArrayLike) -> np.ndarray:
    """The unit vector along a velocity, (3,)."""
    return np.asarray(velocity, np.float64) / np.linalg.norm(velocity)


@func
def turned_along(offset: Vec[3, Any], axis: Vec[3, Any], flow: Vec[3, Any]):
    """An offset at right angles to the unit vector `axis`, turned the shortest way that turns axis to `flow`."""
    n = flow / length(flow)
    c = cross(axis, n)
    along, across = dot(axis, n), dot(c, c)
    if along < 0.0 and across < 1.0e-10:  # against the axis all ways are as short: half a turn about one across it
        u = type(axis)(-axis[2], axis.dtype(0.0), axis[0])
        if abs(axis[0]) < 0.5:
            u = type(axis)(axis.dtype(0.0), axis[2], -axis[1])
        return u * (2.0 * dot(u, offset) / dot(u, u)) - offset
    both = 1.0 + along
    if along < 0.0:
        both = across / (1.0 - along)  # the same without cancellation
    twice = cross(c, offset)
    return offset + twice + cross(c, twice) / both


@kernel(enable_backward=False)
def _require_particles(now: array(dtype=float64), end: float64):
    assert now[0] < end, "a stream has no particles left; help: give it more of them, or exhausted='stop'"
