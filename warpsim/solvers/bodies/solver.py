"""`SolverBodies`: rigid bodies with joints, by impulses in small substeps.

M. Mueller, M. Macklin, N. Chentanez, S. Jeschke, T.-Y. Kim 2020 (Detailed rigid body simulation with extended position
based dynamics) take constraints at predicted poses in many small substeps. Here each correction is the impulse that
makes it, with the direction that it has at the beginning of the substep, and a second pass over velocities follows the
motion (H. C. Andersen 1983, RATTLE): motion along constraints loses no energy, and is of second order in the substep.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ...core.language import Kernel, launch
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.saved_contents import active
from ...core.runtime.devices.capture import current_graph
from ...errors import DivergenceError, ModelError
from ..graph_cache import GraphCache
from ..scene.checks import check_gradients, check_state, check_step, count, flag, model_problem, refuse
from ..scene.control import Control, follow_model
from ..scene.model import Model
from ..scene.state import State
from . import alarms, contact_reports, motion
from .contact_reports import ContactForces, pairs_problem
from .joints import JointRows
from .pairs import possible_pairs
from .touching import Touching
from .workspace import Workspace

_START = 1.0e-3  # how far ahead a new solver looks for what overlaps [s]
_LOOKS = 64  # steps between looks for lost contacts on devices other than the CPU, where a look waits for them
_GRAPHS = 8  # how many combinations of states and controls are kept as graphs


class SolverBodies(Fixed):
    """Steps the rigid bodies of a model.

    substeps: of a step, more make joints and contact harder and motion more exact. iterations: over all constraints in
    a substep, once for positions and once for velocities; high stacks ask for more. check: look for numbers that are
    not finite after every step, and raise `DivergenceError` (the host waits for each step). contact_pairs: how many
    pairs of shapes may be near each other at once, None: enough for heaps; where there are more, a `PairsWarning` says
    so.

    Spheres, capsules, boxes, cylinders, cones and convex meshes on bodies touch each other and obstacles of every kind:
    these as they are if they are convex, others by ends, corners and points of rims, but spheres as they are. Coulomb
    friction has the
    geometric mean of both coefficients, static and sliding; restitution is the larger one, and counts from where what
    closes is faster than what rests. States made after the solver hold the impulses of contacts, for the next step to
    begin with; `contact_forces(state)` tells forces. Bodies that a joint connects do not touch each other.

    What is off its joint or limit returns with a bounded speed. A `DivergenceWarning` tells of joints that open, as a
    step is too long for them, and of numbers that are not finite, where `check` does not raise.

    A step with the same states, control and time step as an earlier one is replayed as one native call. On a tape a
    step is recorded launch by launch. Particles of the model are left as they are.

    Raises `ModelError` for a model without bodies, and for numbers that no step can have.
    """

    settings: ClassVar[dict[str, Any]] = {"substeps": count, "iterations": count, "check": flag}

    def __init__(self, model: Model, substeps: int = 10, iterations: int = 2, check: bool = False,
                 contact_pairs: int | None = None):  # fmt: skip
        refuse((model_problem(model),))
        refuse((pairs_problem(contact_pairs),))
        if not model.body_count:
            raise ModelError("the model has no bodies\nhelp: builder.add_body(...), and shapes with body=...")
        self.model, self.substeps, self.iterations, self.check = model, substeps, iterations, check
        self.steps, self._told = 0, False
        self._workspace = w = Workspace(model)
        self._touching = Touching(model, w.shape_row, w.rows, contact_pairs) if possible_pairs(model) else None
        self._joints = JointRows(model, w) if model.joint_count else None
        self._rest = model.control()
        self._graphs = GraphCache(model.device, _GRAPHS)
        self._alarms = alarms.Alarms(model, self._joints)
        self._look_at_start()

    def _look_at_start(self) -> None:
        """Warn of what starts where contact or joints do not let it be."""
        start = self.model.state()
        self._load(start, self._rest, self.model.dtype(_START))
        if self._joints is not None:
            alarms.warn_of_limits(self.model, self._joints, stacklevel=3)
        if self._touching is not None:
            self._touching.begin(start, self._rest, self._workspace, _START)
            contact_reports.warn_of_overlap(self._touching, stacklevel=3)

    # ----- one step -------------------------------------------------------------------------------

    def step(
        self,
        state_in: State,
        state_out: State,
        control: Control | None = None,
        contacts: None = None,
        dt: float | None = None,
    ) -> None:
        """Advance by `dt` [s] from one state to another, or in place.

        control: None is rest, in the gravity and with the shapes and targets of the model. contacts: None, bodies find
        their own. Raises `StateError` for states and controls of another model, for time steps that are not above
        zero, and on a tape for a `state_out` without gradients, where what it depends on has some.
        """
        control = self.resting if control is None else control
        check_step(self, self._field, (state_in, state_out), control, contacts, dt)
        if active():
            check_gradients(self.model, (state_in, state_out), control, ("body_q", "body_qd"))
        arguments = (state_in, state_out, control, float(dt))
        if active() or current_graph() is not None:
            self._advance(*arguments)
        else:
            self._graphs.run(self._key(*arguments), lambda: self._advance(*arguments), eager=True)
        if current_graph() is None:
            self._look(state_out)
        self._put(steps=self.steps + 1)

    def _advance(self, state_in: State, state_out: State, control: Control, dt: float) -> None:
        """Half a kick, positions, motion, half a kick, velocities: in each substep."""
        w, h = self._workspace, self.model.dtype(dt / self.substeps)
        self._load(state_in, control, h)
        contact = self._touching
        if contact is not None:
            contact.begin(state_in, control, w, dt)
        for k in range(self.substeps):
            if contact is not None:
                contact.note_cones(w, k)
            self._run(motion.half_kick, self.model.body_count, w.free, h, w.moving)
            self._solve(k, h)
            self._run(motion.drift_and_kick, self.model.body_count, w.free, h, w.moving)
            if len(w.obstacles):
                self._run(motion.drift_obstacles, len(w.obstacles), w.world + 1, h, w.moving)
            if contact is not None:
                contact.touch(control, w, k)
            self._relax(k, h)
            if contact is not None:
                contact.note_forces(w, k, self.model.dtype(1.0 / dt))
        self._store(state_out)
        if contact is not None:
            contact.end(state_out, self.substeps)

    def _solve(self, substep: int, h: Any) -> None:
        """Twists with which constraints hold at the end of a substep."""
        w, contact, joints = self._workspace, self._touching, self._joints
        if joints is not None:
            joints.warm()
        if contact is not None:
            contact.warm(w, substep, h)
        for k in range(self.iterations):
            if joints is not None:
                if k:
                    joints.follow(h)
                joints.solve(h)
            if contact is not None:
                contact.solve(w, substep, h)
        if joints is not None:
            joints.record_reaction()

    def _relax(self, substep: int, h: Any) -> None:
        """Twists that constraints allow at the new poses."""
        w, contact, joints = self._workspace, self._touching, self._joints
        if joints is not None:
            joints.warm_velocities()
        if contact is not None:
            contact.warm_velocities(w, substep, h)
        for _ in range(self.iterations):
            if joints is not None:
                joints.relax(h)
            if contact is not None:
                contact.relax(w, substep, h)
        if joints is not None:
            joints.end(h, self.model.dtype(1.0 / self.substeps))

    def _load(self, state: State, control: Control, h: float) -> None:
        """Where a step begins: poses, twists, masses and forces, of bodies and of obstacles."""
        model, w = self.model, self._workspace
        masses = [model.body_mass, model.body_com, model.body_inertia]
        forces = [state.body_f, state.body_added_mass, state.body_added_inertia, control.gravity, model.body_world]
        self._run(motion.load, model.body_count, state.body_q, state.body_qd, *masses, *forces, w.moving, w.free)
        if len(w.obstacles):
            poses = [control.shape_transform, control.shape_velocity, w.world + 1]
            self._run(motion.load_obstacles, len(w.obstacles), w.obstacles, *poses, w.moving)
        if self._joints:
            self._joints.load(state, control, h)

    def _store(self, state: State) -> None:
        """Where a step ends."""
        model = self.model
        self._run(motion.store, model.body_count, self._workspace.moving, model.body_com, state.body_q, state.body_qd)
        if self._joints:
            self._joints.store(state)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)

    # ----- what is asked of it --------------------------------------------------------------------

    @property
    def resting(self) -> Control:
        """The control of steps that are given none: gravity, obstacles and targets are the model's own arrays."""
        return follow_model(self._rest)

    def contact_forces(self, state: State) -> ContactForces:
        """What pressed in the step that led to a state, one row for each pair of shapes; the host waits for it.

        No rows where the model has nothing that can touch. Raises `StateError` for states that steps do not take.
        """
        check_state(self, self._field, "state", state)
        return contact_reports.contact_forces(state, self._touching is not None)

    @property
    def scratch(self) -> list[Any]:
        """Arrays that every step fills before it reads them, for `wp.checkpoint(..., scratch=solver.scratch)`."""
        constraints = [c for c in (self._touching, self._joints) if c is not None]
        return [*self._workspace.arrays, *(a for c in constraints for a in c.arrays)]

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        own = {name: getattr(self, name) for name in ("model", "substeps", "iterations", "check")}
        return {**own, "contact_pairs": self._touching.capacity if self._touching is not None else None}

    def memory(self) -> dict[str, Any]:
        """See `Savable`."""
        return {"steps": self.steps}

    def recall(self, memory: Any) -> None:
        """See `Savable`."""
        self._put(steps=int(memory["steps"]))

    # ----- graphs ---------------------------------------------------------------------------------

    def _key(self, *arguments: Any) -> tuple[Any, ...]:
        """What a graph depends on beside contents of arrays: which arrays there are, and numbers."""
        state_in, state_out, control, dt = arguments
        arrays = [a for o in (state_in, state_out, control) for a in o.arrays.values()]
        arrays += vars(self.model).values()
        return (dt, self.substeps, self.iterations, *map(id, arrays))

    @property
    def _field(self) -> str:
        """What states have that were made after the solver."""
        return "body_q" if self._touching is None else "contact_key"

    def _look(self, state: State) -> None:
        """Raise for numbers that are not finite, if asked to; warn of contacts that were lost, of joints that opened
        and of such numbers, where a look is free, or asked for."""
        if self.check:
            problem = alarms.not_finite(self.steps, state)
            if problem:
                raise DivergenceError(problem)
        if self.check or not self.model.device.has_stream or self.steps % _LOOKS == 0:
            self._alarms.look(self.steps, state, stacklevel=3)
            if self._touching is not None and not self._told:
                if contact_reports.warn_of_overflow(self._touching, self.steps, stacklevel=3):
                    self._put(_told=True)
