"""Grain streams: emitters with a nozzle and a constant rate.

A grain that is to come waits in line behind the nozzle: it is held, moves with the stream, passes walls, and is let go
when its time has come. So no grain appears inside of another one, a blocked nozzle presses, and how many have come is
decided by the time of the state alone: in graphs, on tapes and in checkpointed loops as elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, float64, kernel, launch, tid, vector
from ...errors import ModelError, shown
from ..neighbours.verlet_list import note_moved
from ..particles.nozzle import Nozzle, axis_of, check_room, check_stream, turned_along

if TYPE_CHECKING:
    from ..scene.model import Model
    from ..scene.state import State

ROOM = 1.02  # between centres, in diameters of the largest grain


@dataclass(frozen=True)
class GrainStream:
    """Grains that leave a round nozzle.

    grains: which ones, a range as `ModelBuilder.add_particles` returns it; wherever they were put, they come from the
    nozzle. position: its centre [m]. velocity: with which they come [m/s]. radius: of the nozzle [m], 0: in single
    file. rate: of grains [1/s]. seed: of where each comes out. exhausted: "error" when the stream has no grain left, or
    "stop" to let it end.
    """

    grains: range
    position: Any
    velocity: Any
    radius: float
    rate: float
    seed: int = 0
    exhausted: str = "error"


class GrainNozzle(Nozzle):
    """The nozzle of a stream of grains; `due` are times [s]."""

    def __init__(self, stream: GrainStream, model: Model, largest: float):
        _check(stream, model.particle_count)
        due, offset = _schedule(stream, largest)
        end = float(due[-1]) if stream.exhausted == "error" else math.inf
        super().__init__(model, stream.grains, stream.position, stream.velocity, due[:-1], offset, end)

    def released(self, state: State) -> int:
        """How many grains have come: the first ones of the stream's."""
        return self.released_by(state.time.numpy()[0])

    def hold(self, state: State, origin: object, grains: object) -> None:
        """Put those that wait in line, before a step from `state`."""
        self.require_particles(state.time)
        args = [origin, self.line, state.time, self.position, self.velocity, grains]
        launch(_hold_waiting, self.model.particle_count, args, device=self.model.device)


def advance_time(state_in: State, state_out: State, dt: float) -> None:
    """The time of the state after a step."""
    launch(_advance, 1, [state_in.time, dt, state_out.time], device=state_in.model.device)


def _check(stream: GrainStream, count: int) -> None:
    check_stream(stream, "grain", count)
    if not (isinstance(stream.rate, Real) and 0.0 < stream.rate < math.inf):
        raise ModelError(f"a stream has the rate {shown(stream.rate)} 1/s\nexpected: above 0")
    if not (isinstance(stream.seed, Integral) and stream.seed >= 0):
        raise ModelError(f"a stream has the seed {shown(stream.seed)}\nexpected: an integer, 0 or more")


def _schedule(stream: GrainStream, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """When each grain comes, and the one for which there is none (n + 1,) [s]; where from the centre (n, 3) [m].

    Layers of as many grains as the rate needs, at random sites of a lattice that is turned at random. `largest`: the
    radius of the largest grain [m]. Raises `ModelError` for a rate at which grains would overlap.
    """
    rng, n, pitch = np.random.default_rng(stream.seed), len(stream.grains), 2.0 * ROOM * largest
    speed = float(np.linalg.norm(stream.velocity))
    check_room(stream.radius, pitch)
    sites = _sites(stream.radius - largest, pitch)
    most = len(sites) * speed / pitch
    if stream.rate > most:
        raise ModelError(
            f"rate is {stream.rate:g} grains a second\n"
            f"expected: at most {most:.4g}, {len(sites)} side by side at {speed:g} m/s; help: a faster or wider stream"
        )
    each = max(math.ceil(stream.rate * pitch / speed - 1.0e-9), 1)
    interval = each / stream.rate
    layers = n // each + 1
    due = interval * np.repeat(np.arange(1, layers + 1), each) + (interval - pitch / speed) * rng.random(layers * each)
    picked = np.concatenate([rng.permutation(len(sites))[:each] for _ in range(layers)])
    turn = np.exp(2j * math.pi * np.repeat(rng.random(layers), each)) * sites[picked]
    order = np.argsort(due, kind="stable")
    axis = axis_of(stream.velocity)
    side = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    side /= np.linalg.norm(side)
    places = turn.real[:, None] * side + turn.imag[:, None] * np.cross(axis, side)
    return due[order][: n + 1], places[order][:n]


def _sites(radius: float, pitch: float) -> np.ndarray:
    """Complex numbers: the sites of a lattice of triangles within a circle, at least its centre."""
    span = np.arange(-math.ceil(max(radius, 0.0) / pitch) - 2, math.ceil(max(radius, 0.0) / pitch) + 3)
    a, b = np.meshgrid(span, span)
    sites = pitch * (a + b * np.exp(1j * math.pi / 3.0)).reshape(-1)
    return sites[np.abs(sites) <= max(radius, 0.0) + 1.0e-9 * pitch]


@kernel
def _hold_waiting(
    origin: Any, line: Any, time: array(dtype=float64), position: array(dtype=Any), velocity: array(dtype=Any), g: Any
):
    k = tid()
    i = g.number[k] - line.first
    if i >= 0 and i < line.due.shape[0]:
        wait = line.due[i] - time[0]
        if wait > 0.0:
            flow, radius = velocity[0], g.q[k][3]
            p = (position[0] - origin) + turned_along(line.offset[i], line.axis, flow) - flow * radius.dtype(wait)
            packed = vector(p[0], p[1], p[2], radius)
            g.q[k] = packed
            g.v[k] = flow
            g.w[k] = flow * 0.0
            g.inv_mass[k] = radius * 0.0
            note_moved(g.outdated, g.limit, packed, g.seen[k])


@kernel
def _advance(time: array(dtype=float64), dt: float64, after: array(dtype=float64)):
    after[0] = time[0] + dt
