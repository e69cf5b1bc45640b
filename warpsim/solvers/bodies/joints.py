"""`JointRows`: the joints of a model in the scheme of `SolverBodies`, all of them solved at once.

Passes over joints one after the other, each with the impulse that it needs by itself (Gauss-Seidel), converge too
slowly for chains: 50 of them do not hold ten welded links together. A pass here solves the equations of all joints,
linearized where the substep begins, by elimination in an order that fills little; what it leaves is of second order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Kernel, array, float64, int32, launch, matrix_type, vector_type, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.saved_contents import active
from ..scene.joint_kind import JointKind
from . import joint_blocks, joint_laws, joint_rows, joint_steps
from .joint_blocks import Lists, mat66d, vec6d
from .joint_elimination import elimination, in_loops, table
from .joint_laws import Equations
from .joint_rows import JointImpulses, Joints, Rows

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model
    from ..scene.state import State
    from .workspace import Workspace

_EPS_TREE, _EPS_LOOP = 1.0e-12, 1.0e-5
"""Of joints of trees and of loops: see `joint_blocks.regularized_inverse`."""


class JointRows(Fixed):
    """The joints of one solver: their arrays, and the launches of a step.

    Which rows are locked, and which have limits or drives, is looked at when this is made; all others stay free.
    """

    def __init__(self, model: Model, workspace: Workspace):
        self.model, self.count, self.workspace = model, model.joint_count, workspace
        locked, guided = rows_of(model)
        self.guided, self.guided_rows = bool(guided.any()), guided
        bodies = np.stack([model.joint_parent.numpy(), model.joint_child.numpy()], axis=1).reshape(-1, 2)
        masses = np.append(model.body_mass.numpy(), 0.0)  # the last one, -1, is the world
        loops = in_loops(np.where(masses[bodies] > 0.0, bodies, -1))
        self._scratch: list[Any] = []
        self._make_lists(bodies)
        self._make_rows(locked, locked | guided)
        self._make_blocks()
        self.eps = self._constant(np.where(loops, _EPS_LOOP, _EPS_TREE), float64)
        self.warm_weight = self._constant(~loops, model.dtype)

    def _constant(self, values: np.ndarray, dtype: type = int32) -> Any:
        """An array that nobody writes to."""
        rows = values.astype(np.int32) if dtype is int32 else values.astype(float)
        return array(rows, dtype=dtype, device=self.model.device)

    def _many(self, dtype: type, count: int, size: int | None = None) -> list[Any]:
        """Arrays with an element for each joint."""
        size = self.count if size is None else size
        arrays = [zeros(size, dtype, self.model.device, requires_grad=dtype is not int32) for _ in range(count)]
        self._scratch += arrays
        return arrays

    def _make_lists(self, bodies: np.ndarray) -> None:
        """The order of elimination, and the joints of each body."""
        self.elimination = plan = elimination(bodies)
        joints: list[list[tuple[int, ...]]] = [[] for _ in range(self.model.body_count)]
        for j, (parent, child) in enumerate(bodies.tolist()):
            joints[child].append((j, 1))
            if parent >= 0:
                joints[parent].append((j, -1))
        tables = (plan.terms, plan.before, plan.after, table(joints, 2))
        flat = [self._constant(a) for one in tables for a in one]
        self.order = self._constant(plan.order)
        self.lists = Lists(self._constant(plan.pairs), *flat)

    def _make_rows(self, locked: np.ndarray, used: np.ndarray) -> None:
        """Coordinates, Jacobian and impulses. locked, used: bool (joints, 6)."""
        model, real = self.model, self.model.dtype
        vec6, matrix = model.spatial_vector, matrix_type((3, 3), real)
        parent, child, intact, self.snapped = self._many(int32, 4)
        self.followed = self._many(int32, 1, self.count + 1)[0]
        kind = self._constant(model.joint_kind.numpy())
        which = [self._constant(rows, vec6) for rows in (used, locked)]
        frames, laws = self._many(model.transform, 2), self._many(vec6, 6)
        self.joints = Joints[real](parent, child, kind, intact, *frames, *which, *laws)
        arms, axes = self._many(model.vec3, 2), self._many(matrix, 3)
        self.rows = Rows[real](*self._many(vec6, 1), *arms, *axes, *self._many(vec6, 1))
        self.lock_before, self.lock_after, self.drive_before, self.drive_after = self._many(vec6, 4)
        self.reaction, self.mean_force = self._many(vec6, 2)
        self.apart_before, self.apart = (zeros(self.count, vector_type(2, real), model.device) for _ in range(2))
        self._scratch += [self.apart_before, self.apart]
        self.impulses = JointImpulses[real](self.lock_before, self.lock_after, self.drive_before, self.drive_after)

    def _make_blocks(self) -> None:
        """Matrices, and vectors of substitution."""
        vec6 = self.model.spatial_vector
        self.rhs, self.softness, active, fixed_change, self.change = self._many(vec6, 5)
        self.equations = Equations[self.model.dtype](self.rhs, self.softness, active, fixed_change)
        self.a, self.x = self._many(mat66d, 2, len(self.elimination.pairs))
        self.inv, (self.y, self.z) = self._many(mat66d, 1)[0], self._many(vec6d, 2)

    @property
    def arrays(self) -> list[Any]:
        """What every step fills before it reads it."""
        return list(self._scratch)

    # ----- a step ---------------------------------------------------------------------------------

    def load(self, state: State, control: Control, h: float) -> None:
        """Where a step begins, with the forces of the step before."""
        m, w = self.model, self.workspace
        for tape in active():
            tape.note_filled(self.arrays)  # blocks are read only where they were written since
        frames = [m.joint_parent_frame, m.joint_child_frame, m.body_com, w.world]
        self._run(joint_steps.load_frames, m.joint_parent, m.joint_child, state.joint_broken, *frames, self.joints)
        laws = [m.joint_lower, m.joint_upper, m.joint_ke, m.joint_kd]
        targets = [control.joint_target, control.joint_target_velocity]
        self._run(joint_steps.load_limits_and_drives, *laws, *targets, self.joints, self.mean_force, self.snapped)
        self._prepare()
        self._run(joint_steps.load_impulses, state.joint_f, self.joints, self.rows, self.impulses, w.moving, h)
        for apart in (self.apart_before, self.apart):
            apart.zero_()
        self._measure(self.apart_before)

    def _measure(self, apart: array) -> None:
        """Note how far joints are open at the poses that their rows are of, where that is more than before."""
        args = [self.joints, self.rows.coordinate, apart]
        launch(joint_steps.measure_openings, self.count, args, device=self.model.device, record_tape=False)

    def warm(self) -> None:
        """Begin the passes over positions with the impulses of the substep before."""
        self._warm_start(self.lock_after, self.drive_after, self.lock_before, self.drive_before)

    def follow(self, h: float) -> None:
        """Between passes over positions: linearize joints anew that are open, where bodies would be.

        Iterations with the Jacobian of the beginning diverge where a light body between heavy ones turns far, and the
        more, the more of them there are; impulses along the end's are those of an implicit method there.
        """
        moving = self.workspace.moving
        self.followed.zero_()
        self._run(joint_rows.follow_motion, self.joints, moving, h, self.rows, self.followed)
        blocks = [self.lists, self.joints, self.rows, moving, self.a, self.followed]
        launch(joint_blocks.refill_blocks, len(self.a), blocks, device=self.model.device)
        if not self.guided:
            for first, count in self.elimination.block_rounds:
                args = [first, self.lists, self.a, self.softness, self.eps, self.x, self.inv, self.followed]
                launch(joint_blocks.refactor, count, args, device=self.model.device)

    def solve(self, h: float) -> None:
        """A pass over positions: constraints hold at the poses that bodies would have."""
        self._set(joint_laws.set_position_equations, h)
        self._solve(self.lock_before, self.drive_before)

    def record_reaction(self) -> None:
        """Before the motion: the reaction that the passes over positions had."""
        self._run(joint_steps.record_reaction, *self._bodies_and_impulses, self.reaction)

    def warm_velocities(self) -> None:
        """After the motion, begin the passes over velocities with the impulses of those over positions."""
        self._prepare()
        self._warm_start(self.lock_before, self.drive_before, self.lock_after, self.drive_after)

    def relax(self, h: float) -> None:
        """A pass over velocities."""
        self._set(joint_laws.set_velocity_equations, h)
        self._solve(self.lock_after, self.drive_after)

    def end(self, h: float, share: float) -> None:
        """Where a substep ends. share: of it in the step."""
        strength, sums = self.model.joint_strength, [self.mean_force, self.snapped]
        self._run(joint_steps.add_reaction, *self._bodies_and_impulses, self.reaction, strength, h, share, *sums)
        self._measure(self.apart)

    def store(self, state: State) -> None:
        """Where a step ends."""
        self._run(joint_steps.store, self.joints, self.mean_force, self.snapped, state.joint_f, state.joint_broken)

    # ----- equations ------------------------------------------------------------------------------

    @property
    def _bodies_and_impulses(self) -> list[Any]:
        """What kernels take that know how joints move bodies."""
        return [self.joints, self.rows, self.impulses, self.workspace.moving]

    def _set(self, law: Kernel, h: float) -> None:
        """Set the equations of a pass."""
        self._run(law, *self._bodies_and_impulses, h, self.equations)

    def _prepare(self) -> None:
        """Jacobian and blocks where bodies are; factors, too, where no row has a limit or drive: they are those of all
        passes then."""
        moving = self.workspace.moving
        self._run(joint_rows.update_rows, self.joints, moving, self.rows)
        blocks = [self.lists, self.joints, self.rows, moving, self.a]
        launch(joint_blocks.fill_blocks, len(self.a), blocks, device=self.model.device)
        if not self.guided:
            self._factor()

    def _factor(self) -> None:
        """Factor the blocks, round by round."""
        for first, count in self.elimination.block_rounds:
            args = [first, self.lists, self.a, self.softness, self.eps, self.x, self.inv]
            launch(joint_blocks.factor, count, args, device=self.model.device)

    def _solve(self, locks: array, drives: array) -> None:
        """Solve the equations of a pass, and add what it changes to impulses and twists."""
        if self.guided:
            self._factor()
        args = [self.order, self.lists, self.x, self.inv]
        rounds, device = self.elimination.joint_rounds, self.model.device
        for first, count in rounds:
            launch(joint_blocks.substitute, count, [first, *args, self.rhs, self.y], device=device)
        for first, count in reversed(rounds):
            launch(joint_blocks.substitute_back, count, [first, *args, self.y, self.z, self.change], device=device)
        self._run(joint_laws.accumulate_impulses, self.change, self.equations, locks, drives)
        self._kick()

    def _warm_start(self, *arrays: array) -> None:
        """Begin passes with the impulses of those before: locks and drives from, locks and drives to."""
        self._run(joint_steps.warm_start, self.warm_weight, *arrays, self.change)
        self._kick()

    def _kick(self) -> None:
        """Change twists by the impulses of `change`."""
        args = [self.lists, self.joints, self.rows, self.change, self.workspace.moving]
        launch(joint_blocks.kick, self.model.body_count, args, device=self.model.device)

    def _run(self, kernel: Kernel, *args: object) -> None:
        launch(kernel, self.count, args, device=self.model.device)


def rows_of(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are locked, and others that have a limit or a drive, bool (joints, 6) each."""
    lower, upper, ke, kd = (
        getattr(model, f"joint_{name}").numpy().reshape(-1, 6) for name in ("lower", "upper", "ke", "kd")
    )
    distance = (model.joint_kind.numpy() == JointKind.DISTANCE)[:, None]
    locked = (lower == upper) & ~distance
    guided = ~locked & (np.isfinite(lower) | np.isfinite(upper) | (ke > 0.0) | (kd > 0.0))
    guided[:, 4:] &= ~distance
    return locked, guided
