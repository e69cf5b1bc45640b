"""`SolverXPBD`: extended position-based dynamics with small substeps.

M. Macklin, M. Mueller, N. Chentanez 2016 (XPBD); M. Macklin et al. 2019 (Small Steps in Physics Simulation): many
substeps with one iteration each converge faster than the same work in iterations.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

from ...core.language import Kernel, array, launch
from ...core.runtime.arrays.creation import copy
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.saved_contents import active
from ...core.runtime.devices.capture import current_graph
from ...core.runtime.rollout.footprint import may_run_again
from ...errors import DivergenceError, ModelError, StateError
from ..contact.contacts import Contacts
from ..contact.surface_contacts import SurfaceContacts
from ..graph_cache import GraphCache
from ..particles.statistics import first_not_finite
from ..scene.bands import check_contact_bands
from ..scene.checks import check_call, check_gradients, count, flag, model_problem, refuse
from ..scene.control import Control, follow_model
from ..scene.model import Model
from ..scene.riding import Riding
from ..scene.state import State
from ..scene.world_rows import of_world
from . import saved
from .aerodynamics import AIR, Aerodynamics
from .alarms import Alarms
from .attachment import Attachments
from .bending import DIHEDRAL, ISOMETRIC, Bending
from .checks import as_contacts, as_time, check_numbers, check_owners, is_number
from .contact import ShapeContactConstraints, place_shapes
from .distance import Springs
from .hits import retract
from .membrane import Membranes, has_membranes
from .particle import pack, predict_in, unpack, update_velocity
from .pressure import Pressures
from .residuals import Residual, keep_contents, residuals
from .self_contact import ParticleContactConstraints
from .statistics import XPBDStatistics
from .substeps import AutoSubsteps, Chosen, SubstepChooser, as_substeps
from .surface_contact import SurfaceContactConstraints
from .sweeps import Sweeps
from .tether import Tethers
from .tetrahedron import Tetrahedra
from .workspace import Workspace

COLORED, JACOBI = "colored", "jacobi"
_GRAPHS = 8  # how many combinations of states and controls are kept as graphs


class SolverXPBD(Fixed):
    """Steps the particles of a model: springs, bending, membranes, tetrahedra, attachments, contact.

    substeps: of a step, more make it stiffer, less damped and more exact; "auto", or `AutoSubsteps` with bounds: as
    strains and speeds ask before each step, with a `SubstepWarning` where they ask for too many. iterations: of the
    constraints in a substep, for those that one does not reach. damping: of all velocities [1/s]. bending: "dihedral",
    or "isometric" for sheets that are flat at rest. contact_depth [m]: how deep in a mesh or a volume particles are
    still found. air_density [kg/m^3]: for wind on triangles with drag or lift. order: "colored" is Gauss-Seidel between
    colors; "jacobi" takes all constraints of a kind at once, and needs more iterations. relaxation: of Jacobi's
    corrections, above 0, up to 1. check: look for numbers that are not finite after every stage of every substep, and
    raise `DivergenceError`; warn of the first spring or membrane with a strain above 0.5 (`StrainWarning`), of the
    first particle or edge in a shape, with `SurfaceContacts` of the first edge through a triangle, and with `Contacts`
    of the first two particles that they missed (`CrossingWarning`). Slow: the host waits for each of them.
    shape_forces: whether `shape_force` is measured; it always is in models with bodies.

    A step with the same states, control and time step as an earlier one is replayed as one native call. On a tape a
    step is recorded launch by launch; states may be fresh for each step or overwritten.

    Raises `ModelError` for numbers that no step can have.
    """

    settings: ClassVar[dict[str, Any]] = {"check": flag}

    def __init__(
        self, model: Model, substeps: int | str | AutoSubsteps = 10, iterations: int = 1, damping: float = 0.0,
        bending: str = DIHEDRAL, contact_depth: float = 0.05, air_density: float = AIR, check: bool = False,
        order: str = COLORED, relaxation: float = 1.0, shape_forces: bool = False,
    ):  # fmt: skip
        refuse((model_problem(model),))
        check_contact_bands(model)
        check_numbers(contact_depth=contact_depth, air_density=air_density)
        if not is_number(relaxation) or not 0.0 < relaxation <= 1.0:
            raise ModelError(f"relaxation is {relaxation}\nexpected: above 0, up to 1")
        for name, word, known in (("bending", bending, (DIHEDRAL, ISOMETRIC)), ("order", order, (COLORED, JACOBI))):
            if word not in known:
                raise ModelError(f"{name} is {word!r}\nexpected: {known[0]!r} or {known[1]!r}")
        self.model, self._iterations, self.check = model, count(iterations, "iterations"), check
        self._chooser = SubstepChooser(model, self.iterations)
        self.substeps, self.damping = substeps, damping
        self.steps = 0
        self.workspace = Workspace(model, flag(shape_forces, "shape_forces") or model.body_count > 0)
        self.bending, self.order, self.relaxation = bending, order, float(relaxation)
        self.constraints = self._constraints(self.iterations > 1)
        self.contact = ShapeContactConstraints(model, contact_depth)
        self.self_contact = ParticleContactConstraints(model)
        self.surface_contact = SurfaceContactConstraints(model)
        self.sweeps = Sweeps(model)
        self.aerodynamics = Aerodynamics(model, air_density)
        self._rest, self._riding = model.control(), Riding(model)
        self._graphs = GraphCache(model.device, _GRAPHS)
        self._alarms = Alarms(model)
        self._damped: list[str] = []
        """Kinds of constraints that damp velocities in the present step."""
        self._count = 0
        """Substeps of the present step."""

    def _constraints(self, iterated: bool) -> dict[str, Any]:
        """The kinds that the model has; iterated: they remember their multipliers."""
        model = self.model
        kinds = {
            "springs": (model.spring_count, Springs),
            "membranes": (model.tri_count * has_membranes(model), Membranes),
            "tetrahedra": (model.tet_count, Tetrahedra),
            "bending": (model.bend_count, functools.partial(Bending, kind=self.bending)),
            "attachments": (model.attachment_count, Attachments),
            "tethers": (model.tether_count, Tethers),
            "pressure": (model.pressure_count, Pressures),
        }
        present = {name: kind(model, iterated) for name, (count, kind) in kinds.items() if count}
        if self.order == JACOBI:
            for constraint in present.values():
                constraint.solve_at_once(self.relaxation)
        return present

    # ----- one step -------------------------------------------------------------------------------

    def step(
        self, state_in: State, state_out: State, control: Control | None = None,
        contacts: Contacts | SurfaceContacts | Sequence[Contacts | SurfaceContacts] | None = None,
        dt: float | None = None,
    ) -> None:  # fmt: skip
        """Advance by `dt` [s] from one state to another, or in place.

        control: None is rest, in the gravity and with the shapes and targets of the model. contacts: `Contacts` for
        particles that touch each other, `SurfaceContacts` for triangles and edges, or a list of both; None: they pass
        through.
        Raises `StateError` for states and controls of another model, for what is none, and for time steps that are not
        above zero; on a tape for a `state_out` without gradients, where what it depends on has some; in a capture or a
        loop with checkpoints for substeps that are to be chosen.
        """
        check_call(control, contacts, dt)
        control = self.resting if control is None else control
        contacts, dt = as_contacts(contacts), as_time(dt)
        check_owners(self.model, state_in, state_out, control, contacts)
        if active():
            check_gradients(self.model, (state_in, state_out), control, ("particle_q", "particle_qd"))
        control = self._riding.place(control, state_in)
        arguments = (state_in, state_out, control, contacts, dt)
        chosen = self._choose_substeps(state_in, control, contacts, dt)
        differentiable = bool(active()) or current_graph() is not None or may_run_again()
        self._damped = [name for name, c in self.constraints.items() if c.damps(differentiable)]
        if self.check or active() or current_graph() is not None:
            self._advance(*arguments)
        else:
            self._graphs.run(self._key(*arguments), lambda: self._advance(*arguments), eager=True)
        self._chooser.remember(state_out, chosen)
        bounded = chosen is not None and self._alarms.tell_bound(self.steps, chosen.choice, stacklevel=2)
        if (self.check or bounded) and current_graph() is None:
            self._alarms.look(self.steps, state_out, self.workspace.pose, contacts, stacklevel=2)
        self._put(steps=self.steps + 1)

    def _choose_substeps(
        self, state: State, control: Control, contacts: Sequence[Contacts | SurfaceContacts], dt: float
    ) -> Chosen | None:
        """Settle how many substeps a step has; None: as many as the solver was told.

        Raises `StateError` where they are to be chosen from values that nobody can look at, or that come again.
        """
        if not isinstance(self.substeps, AutoSubsteps):
            self._count = self.substeps
            return None
        if current_graph() is not None or may_run_again():
            what = "captured in a graph" if current_graph() is not None else "in a loop with checkpoints"
            raise StateError(
                f"a step is {what}, but the host chooses its substeps\nhelp: solver.substeps = ... with a number; "
                "statistics(state).substeps has those of steps before"
            )
        chosen = self._chooser.choose(self.substeps, state, control, contacts, dt)
        self._count = chosen.choice.count
        return chosen

    def _advance(
        self, state_in: State, state_out: State, control: Control, contacts: Sequence[Contacts | SurfaceContacts],
        dt: float,
    ) -> None:  # fmt: skip
        """The algorithm of XPBD with substeps."""
        h = dt / self._count
        self._load(state_in)
        self.workspace.begin_step(dt)
        self._require_finite("its beginning")
        for touching in contacts:
            touching.begin_step(state_in.particle_q, state_in.particle_qd, dt)
        for constraint in self.constraints.values():
            constraint.prepare(control, self.model.dtype(h))
        for k in range(self._count):
            self._blow(control, state_in, k, h)
            self._predict(control, h, (k + 1) * h)
            for touching in contacts:
                touching.begin_substep(self.workspace.start, self.workspace.v, h)
                if isinstance(touching, Contacts):
                    self.self_contact.forget(self.workspace)
            self._require_finite(f"the prediction of substep {k}")
            for constraint in self.constraints.values():
                constraint.reset(self.workspace.x)
            for iteration in range(self.iterations):
                for name, constraint in self.constraints.items():
                    constraint.project(self.workspace.x)
                    self._require_finite(f"{name} in substep {k}")
                self._collide(control, contacts, h, iteration == 0)
                self._require_finite(f"contact in substep {k}")
            self._update_velocity(control, contacts, h)
        self._store(state_out)

    def _blow(self, control: Control, state: State, substep: int, h: float) -> None:
        """Forces from outside: those of the state, and the wind's."""
        w = self.workspace
        if self.aerodynamics.acts:
            self.aerodynamics.blow(control, state.particle_f, w, self.model.dtype(h))
        elif substep == 0:
            copy(w.force, state.particle_f)

    def _predict(self, control: Control, h: float, t: float) -> None:
        """Free motion; shapes and targets where they are at the end of the substep."""
        w, real = self.workspace, self.model.dtype
        pull = [control.gravity, self.model.particle_world, w.force]
        free = predict_in(self.model.world_count > 1)
        self._run(free, self.model.particle_count, *pull, self.damping, real(h), w.v, w.x, w.start)
        if self.model.shape_count:
            self.contact.forget(w)
            poses = [control.shape_transform, control.shape_velocity, real(t), w.pose]
            self._run(place_shapes, self.model.shape_count, *poses)
        if "attachments" in self.constraints:
            self.constraints["attachments"].aim(control, w, real(t), real(h))

    def _collide(
        self, control: Control, contacts: Sequence[Contacts | SurfaceContacts], h: float, first: bool
    ) -> None:  # fmt: skip
        w, h, shove = self.workspace, self.model.dtype(h), self._shove(contacts)

        def shapes() -> None:
            self.contact.resolve(control, w, shove, h)
            self.contact.recheck(control, w, shove, h)

        def touch() -> None:
            for touching in contacts:
                if isinstance(touching, SurfaceContacts):
                    self.surface_contact.resolve(touching, w.inv_mass, w.start, w.x)
                else:
                    self.self_contact.resolve(touching, control.gravity, w, h, first)
            shapes()

        surfaces = [touching for touching in contacts if isinstance(touching, SurfaceContacts)]
        if surfaces:
            self.sweeps.collide(surfaces[0], control, w, h, touch, shapes)
        else:
            touch()

    def _update_velocity(self, control: Control, contacts: Sequence[Contacts | SurfaceContacts], h: float) -> None:
        w, h, shove = self.workspace, self.model.dtype(h), self._shove(contacts)
        balls = [touching for touching in contacts if isinstance(touching, Contacts)]
        bouncing = [touching for touching in balls if touching.bounces]
        if bouncing:
            copy(w.arrival, w.v)
            copy(w.onward, w.v)
        if self.model.shape_count:
            if bouncing:
                self.contact.carry_on(w, shove)
            self.contact.bounce(control, w, shove, h)
        else:
            self._run(update_velocity, self.model.particle_count, w.x, w.start, h, w.v)
            if balls:
                self._run(retract, self.model.particle_count, shove, h, w.v)
        for touching in bouncing:
            self.self_contact.bounce(touching, control.gravity, w, h)
        for name in self._damped:
            self.constraints[name].damp(w.x, w.v)

    def _shove(self, contacts: Sequence[Contacts | SurfaceContacts]) -> array:
        """How far impacts with particles move each one; empty where they do not meet."""
        met = any(isinstance(touching, Contacts) for touching in contacts)
        return self.workspace.shove if met else self.workspace.still

    def _load(self, state: State) -> None:
        w = self.workspace
        arrays = [state.particle_q, state.particle_qd, self.model.particle_mass, w.inv_mass, w.x, w.v]
        self._run(pack, self.model.particle_count, *arrays)

    def _store(self, state: State) -> None:
        w = self.workspace
        self._run(unpack, self.model.particle_count, w.x, w.v, state.particle_q, state.particle_qd)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)

    arguments, memory, recall = saved.arguments, saved.memory, saved.recall

    # ----- what a step is given -------------------------------------------------------------------

    @property
    def substeps(self) -> int | AutoSubsteps:
        """Of a step; may be changed between steps. Raises `ModelError` for what is neither a whole number from 1 to
        1,000,000, nor `AutoSubsteps`, nor "auto"."""
        return self._substeps

    @substeps.setter
    def substeps(self, number: int | str | AutoSubsteps) -> None:
        value = as_substeps(number)
        known = isinstance(value, AutoSubsteps)
        self._substeps = value if known else count(value, "substeps", ', "auto", or AutoSubsteps')

    @property
    def damping(self) -> Any:
        """Of all velocities [1/s]; may be changed between steps. Raises `ModelError` for numbers below 0, or none."""
        return self._damping

    @damping.setter
    def damping(self, rate: float) -> None:
        check_numbers(damping=rate)
        self._damping = self.model.dtype(rate)

    @property
    def resting(self) -> Control:
        """The control of steps that are given none: gravity, shapes and targets are the model's own arrays."""
        return follow_model(self._rest)

    @property
    def iterations(self) -> int:
        """Of the constraints in a substep: as the solver was made, since with one none remembers its multiplier."""
        return self._iterations

    @property
    def shape_force(self) -> array:
        """Torque about the origin of each shape [N m] and force on it [N], mean over the last step, (shapes,) spatial
        vectors: zeros but with `shape_forces=True`, or bodies."""
        return self.workspace.shape_force

    @property
    def scratch(self) -> list[Any]:
        """Arrays that every step fills before it reads them, for `wp.checkpoint(..., scratch=solver.scratch)`."""
        own = [*self.workspace.arrays, *self.sweeps.arrays, *self.aerodynamics.scratch, *self._riding.scratch]
        return [*own, *(a for c in self.constraints.values() for a in c.scratch)]

    def statistics(self, state: State) -> XPBDStatistics:
        """What is asked of a state, computed when it is read."""
        return XPBDStatistics(self.model, state, self._chooser.choice_of(state))

    def residuals(
        self, state: State, control: Control | None = None,
        contacts: Contacts | SurfaceContacts | Sequence[Contacts | SurfaceContacts] | None = None,
        dt: float = 1.0 / 60.0,
    ) -> dict[str, Residual]:  # fmt: skip
        """How well one step from `state` solves its constraints, by kind: what is left, and the stiffness that acts.

        The state is left as it is, and so is what contacts say of steps. Constraints without compliance are rigid, and
        do not count; nor do tethers. A stiffness far below 1 asks for more substeps, or more iterations. Slow, and not
        for tapes: it makes all constraints anew.
        Raises `StateError` as `step` does, and in a capture, where nothing can be read.
        """
        if current_graph() is not None:
            raise StateError("residuals are asked in a capture\nexpected: outside, as the host reads them")
        control = self.resting if control is None else control
        contacts, dt = as_contacts(contacts), as_time(dt)
        check_owners(self.model, state, state, control, contacts)
        trial, own = self.model.state(requires_grad=False), self.constraints
        trial.assign(state)
        with keep_contents(a for touching in contacts for a in touching.readings):
            control = self._riding.place(control, state)
            self._choose_substeps(state, control, contacts, dt)
            self._put(constraints=self._constraints(True))
            try:
                self._damped = [name for name, c in self.constraints.items() if c.damps(False)]
                self._advance(trial, trial, control, contacts, dt)
                return residuals(self.constraints, self.workspace.x)
            finally:
                self._put(constraints=own)

    # ----- graphs ---------------------------------------------------------------------------------

    def _key(self, *arguments: Any) -> tuple[Any, ...]:
        """What a graph depends on beside contents of arrays: which arrays there are, and numbers."""
        state_in, state_out, control, contacts, dt = arguments
        arrays = [a for o in (state_in, state_out, control, self.model) for a in vars(o).values()]
        arrays += [a for touching in contacts for a in touching.arrays.values()]
        margins = [float(touching.margin) for touching in contacts]
        return (dt, *self._damped, self._count, float(self.damping), *margins, *map(id, arrays))

    def _require_finite(self, stage: str) -> None:
        """Raise `DivergenceError` for the first particle with NaN or infinity, if that was asked for."""
        w = self.workspace
        first = first_not_finite(w.x, w.v) if self.check and current_graph() is None else None
        if first is not None:
            raise DivergenceError(
                f"step {self.steps}: after {stage}, particle {first}{of_world(self.model, first)} has numbers that are "
                "not finite\n"
                "help: more substeps, less stiffness, or look for particles that start inside of each other"
            )
