"""`Contacts`: which particles of a model may touch in a step, found as it begins and frozen within it.

Pairs of one body that touch in the rest shape are neighbours, not contacts: else a cloth would push itself apart (the
rest-distance filter of position-based cloth). Finding pairs is integer work and has no derivative; gradients flow
through the distances that solvers compute from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...core.language import array, array2d, dot, int32, kernel, launch, tid, uint64, zeros
from ...core.runtime.arrays.saved_contents import active
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ModelError, StateError
from ...geometry.hash_grid.hash_grid import HashGrid
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from ..scene.memory import Memory, require
from .approaches import Approaches
from .bodies import at_rest, bodies_of, may_touch
from .starts import warn_of_balls

if TYPE_CHECKING:
    from ..scene.model import Model


class Contacts(Fixed):
    """Pairs of particles that may touch during a step: near as it begins, or on straight ways at the velocities then.

    margin [m]: how much nearer than on these ways two of them may come, where forces or impacts turn them. What is
    missed nonetheless passes through; a step with `check=True` warns of it. friction, restitution: between particles
    [-], arrays of one number each; made with a restitution of 0, they never bounce. capacity: neighbours kept for each.

    Of one body are particles that springs, triangles, edges or tetrahedra join; those of one body that touch at rest
    never do so later. Particles of different bodies may start in touch; those that start inside of each other are
    left alone, with a `StartWarning`.

    neighbors: (particles, capacity), counts: (particles,) of all that were found, more than capacity ones included;
    marks: bits of neighbours for solvers.
    bodies: the number of each particle's, (particles,).
    Raises `ModelError` for numbers without meaning, and for particles that rest at the same place without a spring
    between them: they are no neighbours, and no direction leads apart.
    """

    replaceable = ("friction", "restitution")
    constant = ("bodies",)
    unfit = StateError

    @checked
    def __init__(
        self, model: Model, margin: float = 0.01, friction: float = 0.3, capacity: int = 32, restitution: float = 0.0
    ):
        if not (math.isfinite(margin) and margin >= 0.0 and friction >= 0.0 and capacity > 0):
            raise ModelError(
                f"margin {margin}, friction {friction}, capacity {capacity}\nexpected: 0 or more, 0 or more, 1 or more"
            )
        if not 0.0 <= restitution <= 1.0:
            raise ModelError(f"restitution is {restitution}\nexpected: 0 to 1")
        _check_apart(model)
        self.model, self.margin, self.friction = model, model.dtype(margin), coefficient_of(model, friction)
        self.restitution, self.bounces = coefficient_of(model, restitution), restitution > 0.0
        bodies, n, radius = bodies_of(model), model.particle_count, model.particle_radius.numpy()
        warn_of_balls(model, bodies, stacklevel=3)
        self.bodies = array(bodies, dtype=int32, device=model.device)
        self._cell = 2.0 * float(radius.max(initial=0.0)) + margin or 1.0  # of the grid, whatever radii come later
        self.neighbors = zeros((n, capacity), int32, model.device)
        self.counts = zeros(n, int32, model.device)
        self.marks = zeros((n, (capacity + 31) // 32), int32, model.device)
        self.grid = HashGrid(64, 64, 64, device=model.device, dtype=model.dtype)
        self.grid.reserve(n, model.world_count > 1)  # steps that are replayed from checkpoints may not allocate
        self.start = zeros(n, model.vec3, model.device)
        self.approaches = Approaches(model, capacity)

    @property
    def arrays(self) -> dict[str, Any]:
        """What a step with these contacts reads and writes."""
        coefficients = {"friction": self.friction, "restitution": self.restitution}
        return {"neighbors": self.neighbors, "counts": self.counts, **coefficients}

    @property
    def readings(self) -> list[Any]:
        """What says something of the last step."""
        return [self.neighbors, self.counts, self.start]

    @property
    def overflow(self) -> int:
        """How many neighbours of the most crowded particle did not fit; 0 is right, else raise `capacity`."""
        return max(0, int(self.counts.numpy().max(initial=0)) - self.neighbors.shape[1])

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it, for `wp.checkpoint`."""
        return [*self._lists, self.marks, self.grid]

    @property
    def _lists(self) -> list[Any]:
        return [self.neighbors, self.counts, self.start, *self.approaches.scratch]

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        own = {"model": self.model, "margin": float(self.margin), "capacity": self.neighbors.shape[1]}
        return {**own, "friction": 0.0, "restitution": float(self.bounces)}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {"friction": self.friction, "restitution": self.restitution, "cell": self._cell}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        cell = memory["cell"]  # it decides the order of neighbours
        require(isinstance(cell, float) and 0.0 < cell < math.inf, f"contacts.cell is {cell}", "a length above 0 [m]")
        self._cell = cell
        self.friction, self.restitution = memory["friction"], memory["restitution"]
        self.check_replaced("contacts")

    def begin_step(self, q: array, qd: array, dt: float) -> None:
        """Find the pairs of the next `dt` [s] from positions [m] and velocities [m/s]."""
        m, approaches = self.model, self.approaches
        if m.particle_count:
            note_filled(self._lists)
            approaches.measure(qd)
            self.grid.build(q, self._cell, m.particle_world if m.world_count > 1 else None)
            args = [self.grid.id, q, at_rest(m, self.bodies), self.margin, approaches.widest]
            args += [self.start, self.neighbors, self.counts]
            launch(find_pairs, m.particle_count, args, device=m.device, record_tape=False)
            approaches.add(self, q, qd, dt)

    def begin_substep(self, q: array, qd: array, h: float) -> None:
        """The pairs of a step are those of its substeps."""


def coefficient_of(model: Model, coefficient: float) -> Any:
    """A coefficient as an array of one number, so that it may change between steps and have a gradient."""
    return array([coefficient], dtype=model.dtype, device=model.device, requires_grad=model.requires_grad)


def _check_apart(model: Model) -> None:
    """Refuse free particles with a radius that rest at the same place, unless a spring joins them."""
    q, world = model.particle_q.numpy(), model.particle_world.numpy()
    solid = np.flatnonzero((model.particle_radius.numpy() > 0.0) & (model.particle_mass.numpy() > 0.0))
    order = solid[np.lexsort((*q[solid].T, world[solid]))]
    same = (q[order[:-1]] == q[order[1:]]).all(axis=1) & (world[order[:-1]] == world[order[1:]])
    joined = {tuple(sorted(pair)) for pair in model.spring_indices.numpy().tolist()} if same.any() else set()
    for pair in zip(order[:-1][same].tolist(), order[1:][same].tolist(), strict=True):
        if pair not in joined:
            raise ModelError(
                f"particles {pair[0]} and {pair[1]} both rest at {q[pair[0]]}\nexpected: places of their own, or a "
                "spring between them\nhelp: merge equal vertices of a mesh, or give the particles a radius of 0"
            )


def note_filled(arrays: Iterable[Any]) -> None:
    """Tell loops with checkpoints that launches which tapes do not record are about to fill these arrays."""
    for tape in active():
        tape.note_filled(arrays)


@kernel
def find_pairs(
    grid: uint64, q: array(dtype=Any), rest: Any, margin: Any, widest: array(dtype=Any), start: array(dtype=Any),
    neighbors: array2d(dtype=int32), counts: array(dtype=int32),
):  # fmt: skip
    """All that is near a particle, in the order of the grid."""
    i = tid()
    p, r = q[i], rest.radius[i]
    count = int32(0)
    for j in hash_grid_neighbors(grid, p, 2.0 * widest[0] + margin, rest.world[i]):
        if j != i:
            touch = r + rest.radius[j]
            apart = q[j] - p
            near = touch + margin
            once, same = rest.place[j] - rest.place[i], rest.body[i] == rest.body[j]
            if dot(apart, apart) < near * near and may_touch(once, touch, same):
                if count < neighbors.shape[1]:
                    neighbors[i, count] = j
                count += 1
    start[i], counts[i] = p, count
