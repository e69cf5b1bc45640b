"""Substeps that choose themselves: how many the next step has, from the state that it begins with.

The number is chosen on the host before a step, and the step is then that of a fixed number: so are its gradients. It
depends on values, on the options, and on the substeps that the state came with; nothing else, so the same steps have
the same numbers again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...core.language import array
from ..contact.contacts import Contacts
from ..contact.surface_contacts import SurfaceContacts
from ..scene.checks import count, positive, refuse
from ..scene.memory import ByObject
from ..scene.world_rows import of_world
from .demands import ball_motions, shape_motions, shortest_edges, surface_motions, unsolved_strains

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model
    from ..scene.state import State

AUTO = "auto"
_HALF_LIFE = 0.5  # of a number that is no longer needed [s]: what swings comes back, and cloth settles meanwhile
_ROUNDING = 1.0e-6
CURE = "help: AutoSubsteps(most=...), shorter steps, or coarser cloth"


@dataclass(frozen=True)
class AutoSubsteps:
    """Substeps of `SolverXPBD` that are chosen before each step, from `least` to `most`.

    strain: how much of the strain of springs, membranes and tetrahedra too few substeps may leave [-]; what the
    material itself gives does not count. travel: how far cloth may move in a substep along what it may touch in the
    step, per half of an edge on shapes, and on surfaces per quarter of an edge or half of their thickness, whichever is
    less; balls, per radius [-].
    Raises `ModelError` for numbers without meaning.
    """

    least: int = 4
    most: int = 128
    strain: float = 0.2
    travel: float = 1.0

    def __post_init__(self) -> None:
        least, most = count(self.least, "least"), count(self.most, "most")
        refuse([(least > most, f"least is {least}, most is {most}", "not more than most")])
        positive(self.strain, "strain")
        positive(self.travel, "travel")


class SubstepChoice(NamedTuple):
    """How many substeps a step had, how many were needed as far as is known, and for what."""

    count: int
    needed: float
    reason: str

    @property
    def bounded(self) -> bool:
        """Whether there were fewer than needed."""
        return self.needed > (1.0 + _ROUNDING) * self.count


class Demand(NamedTuple):
    """Substeps that something asks for."""

    substeps: float
    reason: str


class Chosen(NamedTuple):
    """A choice, the time of one of its substeps [s], that within bounds but before whole numbers, and what strain asked
    for.

    The last is a load: 1 / h^2 of the substeps that would do for it [1/s^2].
    """

    choice: SubstepChoice
    h: float
    level: float
    pull: float


class SubstepChooser:
    """Chooses the substeps of a solver's steps, and remembers what its states came with."""

    def __init__(self, model: Model, iterations: int):
        self.model, self.iterations = model, iterations
        self.sizes = shortest_edges(model)
        edged = self.sizes[np.isfinite(self.sizes)]
        self._cell = float(np.median(edged)) if edged.size else math.inf
        known = np.where(np.isfinite(self.sizes), self.sizes, 0.0)
        self._sizes = array(known, dtype=model.dtype, device=model.device)
        self._last: WeakKeyDictionary[Any, Chosen] = WeakKeyDictionary()

    def choice_of(self, state: State) -> SubstepChoice | None:
        """With how many substeps a state was made; None: by no step of this solver that chose them."""
        last = self._last.get(state)
        return None if last is None else last.choice

    def remember(self, state: State, chosen: Chosen | None) -> None:
        """Note what step a state has come from. None: one that chose nothing."""
        if chosen is None:
            self._last.pop(state, None)
        else:
            self._last[state] = chosen

    def choices(self) -> ByObject:
        """What states came with, to be saved."""
        return ByObject([(state, (*last.choice, *last[1:])) for state, last in self._last.items()])

    def recall(self, choices: Sequence[tuple[Any, Any]]) -> None:
        """Take over what `choices` gave."""
        for state, (number, needed, reason, h, level, pull) in choices:
            self._last[state] = Chosen(SubstepChoice(int(number), float(needed), str(reason)), h, level, pull)

    def choose(
        self, options: AutoSubsteps, state: State, control: Control, contacts: Sequence[Contacts | SurfaceContacts],
        dt: float,
    ) -> Chosen:  # fmt: skip
        """The substeps of a step of `dt` [s] from a state."""
        last = self._last.get(state)
        fall = dt * max(float(np.linalg.norm(pull)) for pull in control.gravity.numpy())
        sag = 2.0 * fall * dt / (self._cell * options.strain)
        h = last.h if last else dt / min(max(sag, options.least), options.most)
        strain = self._strain(options, state, control, dt, h)
        pull = (strain.substeps / dt) ** 2
        demands = [strain, Demand(sag, f"gravity pulls on edges of {self._cell:.3g} m")]
        if last:
            growing = max(2.0 * pull - last.pull, 0.0)
            demands.append(Demand(dt * math.sqrt(growing), f"{strain.reason}, and its load grows"))
            fewer = 0.5 ** (dt / _HALF_LIFE)
            demands.append(Demand(fewer * dt / last.level, "steps before needed as many, and what swings comes back"))
        demands += self._shapes(options, state, control, fall, dt)
        for touching in contacts:
            enough = max(options.least, *(demand.substeps for demand in demands))
            demands.append(self._touching(options, touching, state, dt, enough))
        most = max(demands, key=lambda demand: demand.substeps)
        level = min(max(options.least, most.substeps), options.most)
        count = min(_rung(level), options.most)
        return Chosen(SubstepChoice(count, *most), dt / count, dt / level, pull)

    def _strain(self, options: AutoSubsteps, state: State, control: Control, dt: float, h: float) -> Demand:
        """What brings the strain that substeps of h [s] have left down to what they may leave."""
        worst = Demand(0.0, "nothing")
        square = h * h / self.iterations
        for what, (left, corners) in unsolved_strains(self.model, state, control, square).items():
            row = int(left.argmax())
            substeps = dt / h * math.sqrt(left[row] / options.strain)
            if substeps > worst.substeps:
                particles = corners.numpy()[row]
                name = f"{what} {row}{of_world(self.model, particles[0])}, of particles {particles.tolist()},"
                worst = Demand(substeps, f"{name} is strained by {left[row]:.3g} more than its material is")
        return worst

    def _shapes(
        self, options: AutoSubsteps, state: State, control: Control, fall: float, dt: float
    ) -> list[Demand]:  # fmt: skip
        """What keeps cloth from moving far along shapes; fall: what gravity adds to speeds [m/s]."""
        demands = []
        motions = shape_motions(self.model, state, control, self._sizes, fall, dt)
        for group, moved in zip(self.model.shape_groups, motions, strict=True):
            i = int(moved.argmax()) if moved.size else 0
            if moved.size and moved[i] > 0.0:
                s = group.listed[self.model.particle_world.numpy()[i]]
                name = f"particle {i}{of_world(self.model, i)}"
                reason = f"{name} moves by {0.5 * moved[i]:.3g} of its edges along shape {s} in the step"
                demands.append(Demand(moved[i] / options.travel, reason))
        return demands

    def _touching(
        self, options: AutoSubsteps, touching: Contacts | SurfaceContacts, state: State, dt: float, enough: float
    ) -> Demand:
        """Of things that move against each other; nothing is looked for where nothing is fast enough to matter."""
        none = Demand(0.0, "nothing")
        qd = state.particle_qd.numpy().astype(np.float64)
        mean = qd.mean(axis=0)
        radius = self.model.particle_radius.numpy().astype(np.float64)
        fastest = 2.0 * float(np.linalg.norm(qd - mean, axis=1).max(initial=0.0))
        smallest = float(np.minimum(radius, 0.25 * self.sizes).min(initial=np.inf))
        if not math.isfinite(fastest) or fastest * dt <= smallest * enough * options.travel:
            return none
        if isinstance(touching, SurfaceContacts):
            moved = surface_motions(touching, state, self.model.vec3(*mean), self._sizes, dt)
            e = int(moved.argmax())
            edge = f"the edge of particles {touching.edges.numpy()[e].tolist()}"
            reason = f"{edge} moves {moved[e]:.3g} times as far as is sure along a triangle"
            return Demand(moved[e] / options.travel, reason)
        if isinstance(touching, Contacts):
            moved = ball_motions(touching, state, dt)
            i = int(moved.argmax())
            return Demand(moved[i] / options.travel, f"particle {i} moves by {moved[i]:.3g} radii along another")
        return none


def as_substeps(value: Any) -> int | AutoSubsteps:
    """What `SolverXPBD.substeps` may be: a number, `AutoSubsteps`, or "auto" for those with their defaults."""
    if isinstance(value, AutoSubsteps):
        return value
    return AutoSubsteps() if value is None or (isinstance(value, str) and value == AUTO) else value


def _rung(substeps: float) -> int:
    """The next of 1 to 16, 18, 20, ... 32, 36, ...: eight per octave, as each number is a graph."""
    step = 1
    while 16 * step < substeps:
        step *= 2
    return step * math.ceil(substeps / step - _ROUNDING)
