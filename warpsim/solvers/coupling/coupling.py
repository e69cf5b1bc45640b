"""`Coupling`: bodies and the cloth, grains, fluids and seas around them push each other.

A partitioned scheme: solvers of matter step with bodies as moving walls, and say what these felt; the bodies take that
as a force, mean over the same time. Staggered, each once; or iterated, until walls have moved as bodies do. Staggered,
a body is unstable that is lighter than the matter which it has to move along with itself, however short the steps are
(P. Causin, J.-F. Gerbeau and F. Nobile 2005); not where matter tells its added mass, which bodies then move with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...core.language import array, atomic_add, clone, cross, int32, kernel, launch, tid, zeros
from ...core.lib.spatial import spatial_bottom, spatial_joined, spatial_top
from ...core.lib.transforms import transform_get_translation
from ...core.runtime.arrays.creation import copy
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.saved_contents import active
from ...errors import ModelError, StateError, shown
from ..bodies.solver import SolverBodies
from ..scene.checks import count, positive, refuse
from ..scene.control import Control
from ..scene.model import Model
from ..scene.shapes import to_world
from ..scene.state import State
from .stability import Watch


def share(value: object, name: str) -> float:
    """A number above 0, up to 1. Raises `ModelError` for what is none."""
    number = positive(value, name)
    refuse(((number > 1.0, f"{name} is {number:g}", "above 0, up to 1"),))
    return number


class Coupling(Fixed):
    """Steps bodies, and the matter around them.

    bodies: their solver. matter: solvers of particles, whose models have the same bodies: one model for all that a
    solver of particles steps, which may be that of `bodies`, and others made with `ModelBuilder.add_bodies`. An ocean,
    which moves none, may have the model of any of these. None at all: bodies move as by their solver alone.
    substeps: how often forces are handed over in a step. iterations: rounds of both in such a part; 1 is staggered.
    relaxation: which part of a change of the forces a round takes over, above 0, up to 1.

    Where forces on a body are thrown to and fro more and more from one hand-over to the next, a `CouplingWarning` says
    so, once. A step can be captured in a graph, once grains have room (`SolverDEM.reserve`); and long runs have
    gradients in little memory with

        arrays = [a for state in states for a in state.arrays.values()]
        wp.checkpoint(step, [*arrays, *coupling.history], steps, scratch=coupling.scratch)

    A state is a tuple of those of the solvers, see `states`. Momentum of the whole stays as it is to rounding, but for
    forces from outside; angular momentum to second order in the time between two hand-overs.
    Raises `ModelError` for models of other bodies, or of other worlds.
    """

    settings: ClassVar[dict[str, Any]] = {"substeps": count, "iterations": count, "relaxation": share}

    def __init__(
        self, bodies: SolverBodies, matter: Sequence[Any], substeps: int = 1, iterations: int = 1,
        relaxation: float = 0.5,
    ):  # fmt: skip
        if not isinstance(matter, Sequence):
            raise ModelError(f"matter is {shown(matter)}\nexpected: a list of solvers of particles")
        self.bodies, self.matter = bodies, tuple(matter)
        self.substeps, self.iterations, self.relaxation = substeps, iterations, relaxation
        _check(bodies, self.matter)
        model = bodies.model
        self.force = zeros(model.body_count, model.spatial_vector, device=model.device, requires_grad=True)
        self._round = zeros(model.body_count, model.spatial_vector, device=model.device, requires_grad=True)
        self._twist = zeros(model.body_count, model.spatial_vector, device=model.device, requires_grad=True)
        self._starts: dict[int, State] = {}
        self._watch = Watch(bodies)
        self._heavy = [s for s in self.matter if hasattr(s, "body_added_mass")]
        fresh = model.state(requires_grad=True)
        self._added = {name: getattr(fresh, name) for name in ("body_added_mass", "body_added_inertia")}
        plain = model.state(requires_grad=False)
        self._still = {name: getattr(plain, name) for name in ("body_f", *self._added)}

    @property
    def solvers(self) -> tuple[Any, ...]:
        """That of bodies, then those of matter."""
        return (self.bodies, *self.matter)

    def states(self, requires_grad: bool | None = None) -> tuple[State, ...]:
        """A new state for each solver; solvers of one model have the same one."""
        return self._each(lambda model: model.state(requires_grad))

    def controls(self) -> tuple[Control, ...]:
        """A new control for each solver; solvers of one model have the same one."""
        return self._each(lambda model: model.control())

    def _each(self, make: Any) -> tuple[Any, ...]:
        made_by: dict[int, Any] = {}
        for solver in self.solvers:
            if id(solver.model) not in made_by:
                made_by[id(solver.model)] = make(solver.model)
        return tuple(made_by[id(solver.model)] for solver in self.solvers)

    # ----- one step -------------------------------------------------------------------------------

    def step(
        self, states_in: Sequence[State], states_out: Sequence[State], controls: Sequence[Control] | None = None,
        contacts: Sequence[Any] | None = None, dt: float | None = None,
    ) -> None:  # fmt: skip
        """Advance by `dt` [s] from states to others, or in place.

        controls, contacts: one for each solver, in the order of `solvers`; None: what each takes for None.
        Raises `StateError` for lists of other lengths, and what the solvers raise.
        """
        rest: list[Any] = [None] * len(self.solvers)
        lists = {"states_in": states_in, "states_out": states_out}
        lists |= {"controls": controls or rest, "contacts": contacts or rest}
        for name, listed in lists.items():
            if not isinstance(listed, Sequence) or len(listed) != len(self.solvers):
                expected = f"{len(self.solvers)} in a list or tuple, one for each solver"
                raise StateError(f"{name} is {type(listed).__name__}\nexpected: {expected}")
        h = positive(dt, "dt") / self.substeps
        before = tuple(states_in)
        for _ in range(self.substeps):
            self._part(before, tuple(states_out), lists["controls"], lists["contacts"], h)
            before = tuple(states_out)
        self._watch.warn(self, h, stacklevel=2)

    def _part(
        self, before: tuple[State, ...], after: tuple[State, ...], controls: Sequence[Any], contacts: Sequence[Any],
        h: float,
    ) -> None:  # fmt: skip
        """Rounds over the same time [s]: matter among moving bodies, then bodies under what they felt."""
        start = self._copies(before) if self.iterations > 1 else before
        history = [(a, clone(a)) for s in self.matter for a in getattr(s, "history", ()) if self.iterations > 1]
        clocks = [(s, s.time) for s in self.matter if hasattr(s, "time")]
        twist = start[0].body_qd
        for number in range(self.iterations):
            for a, kept_before in history if number else ():
                copy(a, kept_before)
            for solver, time in clocks:
                solver.time = time
            for solver, old, new, control, touching in zip(
                self.matter, start[1:], after[1:], controls[1:], contacts[1:], strict=True
            ):
                solver.step(_among(old, start[0], twist), new, control, touching, h)
            self._gather(start[0], number, h)
            pushed = _alias(start[0], **self._for_bodies(start[0], (*before, *after, *controls)))
            self.bodies.step(pushed, after[0], controls[0], contacts[0], h)
            if number + 1 < self.iterations:
                self._run(mean_twist, start[0].body_qd, after[0].body_qd, self._twist)
                twist = self._twist
        for state in {id(s): s for s in after[1:] if s is not after[0]}.values():
            copy(state.body_q, after[0].body_q)
            copy(state.body_qd, after[0].body_qd)

    def _gather(self, state: State, number: int, h: float) -> None:
        """The force on each body: from outside, and of all matter, relaxed after the first round."""
        total = self._round
        copy(total, state.body_f)
        for solver in self.matter:
            m = solver.model
            args = [m.shape_body, m.shape_transform, state.body_q, m.body_com, solver.shape_force, total]
            launch(add_forces, m.shape_count, args, device=m.device)
        self._watch.look(self, total, number, h)
        if number:
            self._run(relax, self.bodies.model.dtype(self.relaxation), total, self.force)
        else:
            copy(self.force, total)

    def _copies(self, states: tuple[State, ...]) -> tuple[State, ...]:
        """Copies of states, one each however often it is there: a round may write over those that it begins with.

        They are the same ones in each step, for which solvers keep graphs.
        """
        for state in {id(s): s for s in states}.values():
            copied = self._start_of(state.model)
            for name, a in state.arrays.items():
                copy(getattr(copied, name), a)
        return tuple(self._start_of(state.model) for state in states)

    def _start_of(self, model: Model) -> State:
        if id(model) not in self._starts:
            self._starts[id(model)] = model.state(requires_grad=True)
        return self._starts[id(model)]

    def _moved_along(self, state: State) -> dict[str, array]:
        """What moves along with bodies by what all matter tells, if some does."""
        if not self._heavy:
            return {}
        for name, total in self._added.items():
            copy(total, getattr(state, name))
            for solver in self._heavy:
                self._run(add, getattr(solver, name), total)
        return self._added

    def _for_bodies(self, state: State, others: Sequence[Any]) -> dict[str, array]:
        """What bodies feel and what moves along with them, without gradients where nothing else on a tape has any:
        solvers refuse such ends."""
        felt = {"body_f": self.force, **self._moved_along(state)}
        arrays = [a for o in (*others, *(s.model for s in self.solvers)) if o is not None for a in vars(o).values()]
        if not active() or any(getattr(a, "requires_grad", False) for a in arrays):
            return felt
        for name, a in felt.items():
            copy(self._still[name], a)
        return {name: self._still[name] for name in felt}

    def _run(self, kernel: Any, *args: object) -> None:
        launch(kernel, self.bodies.model.body_count, args, device=self.bodies.model.device)

    # ----- what is asked of it --------------------------------------------------------------------

    @property
    def history(self) -> list[Any]:
        """Arrays that a step hands on to the next beside the states, for `wp.checkpoint`."""
        return [a for solver in self.matter for a in getattr(solver, "history", ())]

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it, for `wp.checkpoint(..., scratch=coupling.scratch)`."""
        models = {id(s.model): s.model for s in self.solvers if self.iterations > 1}
        copied = [a for model in models.values() for a in self._start_of(model).arrays.values()]
        parts = [a for solver in self.solvers for a in getattr(solver, "scratch", ())]
        return [self.force, self._round, self._twist, *self._added.values(), *self._still.values(), *copied, *parts]

    # ----- saved scenes ---------------------------------------------------------------------------

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        return {name: getattr(self, name) for name in ("bodies", "matter", "substeps", "iterations", "relaxation")}

    def memory(self) -> dict[str, Any]:
        """See `Savable`."""
        return {}

    def recall(self, memory: Any) -> None:
        """See `Savable`."""


def _check(bodies: SolverBodies, matter: Sequence[Any]) -> None:
    """Raise `ModelError` for what cannot be coupled."""
    if not isinstance(bodies, SolverBodies):
        raise ModelError(f"bodies is {type(bodies).__name__}\nexpected: a SolverBodies")
    for k, solver in enumerate(matter):
        model: Model = getattr(solver, "model", None)
        if not hasattr(solver, "shape_force") or not isinstance(model, Model):
            raise ModelError(f"matter {k} is {type(solver).__name__}\nexpected: a solver of particles, or an ocean")
        same = model.body_count == bodies.model.body_count and model.dtype is bodies.model.dtype
        if not same or model.device != bodies.model.device:
            raise ModelError(
                f"the model of matter {k} has {model.body_count} bodies of {model.dtype.__name__} on {model.device}\n"
                f"expected: the {bodies.model.body_count} bodies of the solver of bodies, of "
                f"{bodies.model.dtype.__name__} on {bodies.model.device}\nhelp: builder.add_bodies(other)"
            )
        if not np.array_equal(model.body_world.numpy(), bodies.model.body_world.numpy()):
            raise ModelError(
                f"the model of matter {k} has {model.world_count} worlds, and that of bodies "
                f"{bodies.model.world_count}\nexpected: the same bodies in each\n"
                "help: add_world for both, of builders with the same bodies"
            )
    models = [solver.model for solver in matter if getattr(solver, "moves_particles", True)]
    if len({id(model) for model in models}) < len(models):
        raise ModelError("two solvers of matter have one model\nexpected: one for each, as it moves all particles")


def _alias(state: State, **arrays: array) -> State:
    """A state of the same arrays, but for these; made without a look at any."""
    other = object.__new__(State)
    vars(other).update(vars(state) | arrays)
    return other


def _among(state: State, bodies: State, twist: array) -> State:
    """The state of matter, with bodies where they are, that move so."""
    return _alias(state, body_q=bodies.body_q, body_qd=twist)


@kernel
def add_forces(
    body: array(dtype=int32), local: array(dtype=Any), q: array(dtype=Any), com: array(dtype=Any),
    force: array(dtype=Any), total: array(dtype=Any),
):  # fmt: skip
    """Torques about shapes' origins and forces on them, as torques about centres of mass and forces on their bodies."""
    s = tid()
    b = body[s]
    if b >= 0:
        f = spatial_bottom(force[s])
        arm = to_world(q[b], transform_get_translation(local[s])) - to_world(q[b], com[b])
        atomic_add(total, b, spatial_joined(spatial_top(force[s]) + cross(arm, f), f))


@kernel
def add(part: array(dtype=Any), total: array(dtype=Any)):
    """Each number's part of a sum."""
    b = tid()
    total[b] = total[b] + part[b]


@kernel
def relax(part: Any, total: array(dtype=Any), force: array(dtype=Any)):
    """A part of the change since the last round."""
    b = tid()
    force[b] = force[b] + part * (total[b] - force[b])


@kernel
def mean_twist(before: array(dtype=Any), after: array(dtype=Any), twist: array(dtype=Any)):
    """How bodies moved, mean over the time."""
    b = tid()
    twist[b] = 0.5 * (before[b] + after[b])
