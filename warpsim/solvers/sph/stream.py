"""Fluid streams: emitters with a nozzle and a round jet in layers of a lattice.

A particle that is to come waits in line behind the nozzle: it is held, moves with the stream, passes walls, and is let
go when its layer has come through. Those near the nozzle press on the fluid before it as a piston does; those that wait
farther off than kernels reach have next to no mass, and nothing feels them. A layer comes when the stream has run one
spacing further, so a faster nozzle emits more, at the same density; how far it has run is part of the state: in graphs,
on tapes and in checkpointed loops as elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, float64, int32, kernel, launch, length, tid
from ...errors import ModelError
from ..particles.nozzle import Nozzle, axis_of, check_room, check_stream, turned_along
from .fluid import DENSITY

if TYPE_CHECKING:
    from ..scene.model import Model
    from ..scene.state import State
    from .particles import Particles

_TURN = math.pi * (3.0 - math.sqrt(5.0))  # between layers, the golden angle
_UNFELT = 1.0e-6  # of their mass: that of particles which wait far off


@dataclass(frozen=True)
class FluidStream:
    """Fluid that leaves a round nozzle; of a sheet, a slot.

    particles: which ones, a range as `ModelBuilder.add_particles` returns it; wherever they were put, they come from
    the nozzle. position: its centre [m]. velocity: with which they come [m/s]. radius: of the nozzle [m], 0: in single
    file. exhausted: "error" when the stream has no particle left, or "stop" to let it end.
    """

    particles: range
    position: Any
    velocity: Any
    radius: float
    exhausted: str = "error"


class FluidNozzle(Nozzle):
    """The nozzle of a stream of fluid; `due` are lengths of the stream [m]. layer: how many particles come at once."""

    def __init__(self, stream: FluidStream, model: Model, spacing: float, dim: int, number: int):
        _check(stream, model.particle_count, dim)
        due, offset, self.layer = _layers(stream, spacing, dim)
        end = float(due[-1]) if stream.exhausted == "error" else math.inf
        super().__init__(model, stream.particles, stream.position, stream.velocity, due[:-1], offset, end)
        self.number = number

    def released(self, state: State) -> int:
        """How many particles have come: the first ones of the stream's."""
        return self.released_by(state.poured.numpy()[self.number])

    def run_on(self, h: float, poured: array) -> None:
        """Let the stream run for a time [s]."""
        launch(_run_on, 1, [self.velocity, h, poured[self.number :]], device=self.model.device)

    def hold(self, origin: object, poured: array, p: Particles, waiting: array, fluid: object, reach: float) -> None:
        """Put those that wait in line, note in `waiting` that they do, and give all the mass that is felt."""
        nozzle = [self.line, poured[self.number :], self.position, self.velocity, self.model.particle_mass]
        launch(_hold_waiting, p.water, [origin, *nozzle, fluid, reach, p._moving, waiting], device=self.model.device)

    def calm(self, poured: array, p: Particles) -> None:
        """Let no force act on those that wait."""
        args = [self.particles.start, poured[self.number :], self.due, p.number, p.a, p.mix]
        launch(_calm_waiting, p.water, args, device=self.model.device)


def without_streams(points: np.ndarray, streams: Sequence[FluidStream]) -> np.ndarray:
    """Positions (n, 3) of those that come from no nozzle."""
    apart = np.ones(len(points), dtype=bool)
    for stream in streams:
        apart[stream.particles.start : stream.particles.stop] = False
    return points[apart]


def _check(stream: FluidStream, count: int, dim: int) -> None:
    check_stream(stream, "particle", count)
    if dim == 2 and stream.velocity[2] != 0.0:
        raise ModelError(f"a stream of a sheet has the velocity {stream.velocity} m/s\nexpected: none along z")


def _layers(stream: FluidStream, spacing: float, dim: int) -> tuple[np.ndarray, np.ndarray, int]:
    """When particles are due, and the one that is not there (n + 1,) [m]; where from the centre (n, 3) [m]; how many
    are in a layer.

    Sites of a square lattice within a circle, or of a row within a slot. Each layer in space is turned against the one
    before it: rows that follow each other would part into as many jets.
    """
    check_room(stream.radius, spacing)
    half = math.floor(stream.radius / spacing) + 1
    span = spacing * (np.arange(-half, half) + 0.5)
    if 2.0 * stream.radius < spacing:
        span = np.zeros(1)
    axis = axis_of(stream.velocity)
    side = np.array([-axis[1], axis[0], 0.0]) if dim == 2 else np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    side /= np.linalg.norm(side)
    sites = np.stack(np.meshgrid(span, span if dim == 3 else np.zeros(1), indexing="ij"), axis=-1).reshape(-1, 2)
    sites = sites[np.linalg.norm(sites, axis=1) <= max(stream.radius, 0.75 * spacing)]
    n, each = len(stream.particles), len(sites)
    layers = n // each + 1
    turn = np.exp(1j * _TURN * np.arange(layers if dim == 3 else 1))[:, None]
    places = (turn * (sites[:, 0] + 1j * sites[:, 1])).reshape(-1, 1)
    offsets = np.resize(places.real * side + places.imag * np.cross(axis, side), (layers * each, 3))
    return spacing * np.repeat(np.arange(1, layers + 1), each)[: n + 1], offsets[:n], each


@kernel
def _run_on(velocity: array(dtype=Any), h: float64, poured: array(dtype=float64)):
    poured[0] = poured[0] + float64(length(velocity[0])) * h


@kernel
def _hold_waiting(
    origin: Any, line: Any, poured: array(dtype=float64), position: array(dtype=Any), velocity: array(dtype=Any),
    particle_mass: array(dtype=Any), fluid: array(dtype=Any), reach: Any, p: Any, waiting: array(dtype=int32),
):  # fmt: skip
    k = tid()
    i = p.number[k] - line.first
    if i >= 0 and i < line.due.shape[0]:
        wait = reach.dtype(line.due[i] - poured[0])
        felt = particle_mass[i + line.first]
        waiting[i + line.first] = int32(2)
        if wait > 0.0:
            waiting[i + line.first] = int32(1)
            flow, along = velocity[0], line.axis
            if length(flow) > 0.0:  # one that is shut points where it did first
                along = flow / length(flow)
            p.x[k] = (position[0] - origin) + turned_along(line.offset[i], line.axis, along) - along * wait
            p.v[k] = flow
            if wait > reach:
                felt = felt * reach.dtype(_UNFELT)
                p.rho[k] = fluid[DENSITY]
        p.mass[k] = felt


@kernel
def _calm_waiting(
    first: int32, poured: array(dtype=float64), due: array(dtype=float64), number: array(dtype=int32),
    a: array(dtype=Any), mix: array(dtype=Any),
):  # fmt: skip
    k = tid()
    i = number[k] - first
    if i >= 0 and i < due.shape[0] and due[i] > poured[0]:
        a[k] = a[k] * 0.0
        mix[k] = mix[k] * 0.0
