"""`Touching`: contact of a model's bodies, from finding pairs to impulses that the state hands on.

Pairs and colors are found once a step. Then, in every substep: impulses that keep shapes apart at its end, motion,
manifolds at the new poses, and impulses on velocities there; the next substep goes on with these manifolds. What states
remember is in `contact_memory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Kernel, Vec, array, generic_struct, int32, launch
from ...core.language import uint64, vec2i, vec4i, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.saved_contents import active
from ...core.runtime.devices.capture import current_graph
from . import contact_memory, contact_solve, manifold
from .contact_memory import add_contact_fields, memory_of
from .contact_solve import Pass
from .colors import MOST, Colors, clear_taken, color_pairs
from .kinds import Kinds
from .manifold import POINTS, Forms, Impulses, Manifolds, Patches
from .pairs import Pairs, possible_pairs

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model
    from ..scene.state import State
    from .workspace import Workspace

_PAIRS = 12  # for each shape of a body, and twice as many as a pair is kept as, unless the model has fewer


@generic_struct
class Felt:
    """What contacts of pairs did in a step. force [N]. middle: sum of points, each times how it presses [N m].
    pressing: along the normal [N]."""

    force: Array[Vec[3, Float]]
    middle: Array[Vec[3, Float]]
    pressing: Array[Float]


class Touching(Fixed):
    """Contact of one solver. capacity: how many pairs are kept."""

    def __init__(self, model: Model, row: np.ndarray, rows: int, capacity: int | None):
        self.model = model
        self.kinds = Kinds(model)
        most = max(self.kinds.parts, default=1)
        possible, shapes = most * possible_pairs(model), int((model.shape_body.numpy() >= 0).sum())
        self.capacity = min(possible, (_PAIRS + 2 * most) * shapes) if capacity is None else capacity
        self.colors = min(MOST, possible)
        self._may_be_left = possible > self.colors
        self._make_arrays(row, rows)
        self.pairs = Pairs(model, self.kinds, self.capacity)
        add_contact_fields(model, self.capacity)

    def _make_arrays(self, row: np.ndarray, rows: int) -> None:
        model, n, device = self.model, self.capacity, self.model.device
        real: dict[str, Any] = {"device": device, "requires_grad": True}
        self.pose = zeros(model.shape_count, model.transform, **real)
        self._source = array(np.array(model.shape_source, np.uint64), dtype=uint64, device=device)
        self._row = array(row.astype(np.int32), dtype=int32, device=device)
        hulls, kinds = self.kinds.hulls, np.array([int(kind) for kind in model.shape_type], np.int32)
        ints = [array(rows, dtype=int32, device=device) for rows in (kinds, hulls.start, hulls.table)]
        self._solids = (*ints, array(hulls.point, dtype=model.vec3, device=device))
        self.shapes, self.rows, self.part = zeros(n, vec2i, device), zeros(n, vec2i, device), zeros(n, int32, device)
        self.near = zeros(n, int32, device)
        self.code, self.aim = zeros(n, vec4i, device), zeros(n, model.vec3, device)
        self.reach, self.still = (zeros(n, model.dtype, device) for _ in range(2))
        self.surface = zeros(n, model.vec3, **real)
        self.torsional, self.rolling = (zeros(n, model.dtype, **real) for _ in range(2))
        self.normal, self.arm, self.far_arm = (zeros(POINTS * n, model.vec3, **real) for _ in range(3))
        self.gap, self.hard = (zeros(POINTS * n, model.dtype, **real) for _ in range(2))
        points = [self.normal, self.gap, self.arm, self.far_arm, self.hard]
        self.manifolds = Manifolds[model.dtype](
            self.shapes, self.rows, self.part, self.near, self.code, self.aim, self.reach, self.still, self.surface,
            self.torsional, self.rolling, int(model.shape_mu_rolling.requires_grad), *points,
        )  # fmt: skip
        self.up, self.patch_arm, self.patch_far_arm = (zeros(n, model.vec3, **real) for _ in range(3))
        self.grip, self.roll = (zeros(n, model.vec3, **real) for _ in range(2))
        self.spin, self.firm, self.cone = (zeros(n, model.dtype, **real) for _ in range(3))
        self.points = zeros(n, int32, device)
        arms, holds = [self.up, self.patch_arm, self.patch_far_arm], [self.grip, self.spin, self.roll, self.firm]
        self.patches = Patches[model.dtype](*arms, *holds, self.cone, self.points)
        self.features = [zeros(n, vec4i, device) for _ in range(2)]
        self.firsts, self.seconds = ([zeros(POINTS * n, model.dtype, **real) for _ in range(2)] for _ in range(2))
        self.rubs, self.laters = ([zeros(n, model.vec4, **real) for _ in range(2)] for _ in range(2))
        self.approaches = [zeros(POINTS * n, model.dtype, **real) for _ in range(2)]
        self.rolls, self.roll_laters = ([zeros(n, model.vec3, **real) for _ in range(2)] for _ in range(2))
        self.sets = [Impulses[model.dtype](*one) for one in zip(*self._both, strict=True)]
        self.force, self.middle = (zeros(n, model.vec3, **real) for _ in range(2))
        self.pressing = zeros(n, model.dtype, **real)
        self.felt = Felt[model.dtype](self.force, self.middle, self.pressing)
        self._taken, self._color = zeros(rows, uint64, device), zeros(n, int32, device)
        self._order, self._first = zeros(n, int32, device), zeros(self.colors + 2, int32, device)
        self.sorted = Colors[model.dtype](self._order, self._first)

    @property
    def forms(self) -> Any:
        """`Forms`, of the arrays that the model has now."""
        model = self.model
        return Forms[model.dtype](
            self.pose, model.shape_scale, model.shape_margin, self._source, self._row, *self._solids
        )

    @property
    def arrays(self) -> list[Any]:
        """Arrays that every step fills before it reads them."""
        own = [a for a in vars(self).values() if isinstance(a, array) and a not in (self._source, self._row)]
        return [*own, *(a for two in self._both for a in two), *self.pairs.scratch]

    @property
    def _both(self) -> list[list[Any]]:
        """The arrays of both sets of impulses, see `Impulses`."""
        rubbing = [self.rubs, self.laters, self.rolls, self.roll_laters]
        return [self.features, self.firsts, self.seconds, *rubbing, self.approaches]

    # ----- one step -------------------------------------------------------------------------------

    def begin(self, state: State, control: Control, workspace: Workspace, dt: float) -> None:
        """Pairs, colors, manifolds, and the impulses of the step before."""
        model, m, pairs = self.model, self.manifolds, self.pairs
        for tape in active():
            tape.note_filled([a for a in self.arrays if isinstance(a, array)])  # a tree tells of itself
        self._place(control, workspace)
        pairs.find(workspace, self.forms, m, dt)
        friction = [model.shape_mu, model.shape_mu_static, model.shape_mu_torsional, model.shape_mu_rolling]
        surfaces = manifold.Surfaces[model.dtype](*friction, model.shape_restitution)
        self._run(manifold.join_surfaces, pairs.count, surfaces, m)
        memory = memory_of(model, state)
        self._list(contact_memory.recall_features, self.capacity, pairs.count, pairs.keys, memory, self.sets[1])
        self._run(contact_memory.recall_impulses, pairs.count, pairs.keys, memory, self.sets[1])
        for felt in (self.force, self.middle, self.pressing):
            felt.zero_()
        self._measure(0, workspace)
        self._list(clear_taken, len(self._taken), self._taken)
        colors = [self.rows, workspace.inv_mass, self._taken, self._color, self.sorted]
        self._list(color_pairs, 1, pairs.count, self.near, *colors)

    def touch(self, control: Control, workspace: Workspace, substep: int) -> None:
        """Manifolds at the poses after a substep's motion."""
        self._place(control, workspace)
        self._measure((substep + 1) % 2, workspace)

    def _place(self, control: Control, w: Workspace) -> None:
        model = self.model
        arguments = [control.shape_transform, model.shape_body, model.body_com, w.moving, self.forms]
        launch(manifold.place_forms, model.shape_count, arguments, device=model.device)

    def _measure(self, into: int, w: Workspace) -> None:
        """Manifolds, and impulses from the other set. into: which of the two sets takes them."""
        m, pairs = self.manifolds, self.pairs
        for k, kind in enumerate(self.kinds.table):
            heights = self.model.shape_heights[kind.heights]
            arguments = [int32(k), pairs.ranges, self.forms, heights, m, self.sets[into]]
            self._list(kind.choose, self.capacity, *arguments)
            launch(kind.measure, self.capacity, [*arguments, w.moving], device=self.model.device)
        self._list(manifold.count_points, self.capacity, pairs.count, self.sets[into], self.patches)
        self._run(manifold.make_patches, pairs.count, m, self.sets[into], w.moving, self.patches)
        self._run(manifold.carry, pairs.count, m, self.patches, self.sets[1 - into], self.sets[into])

    def note_cones(self, workspace: Workspace, substep: int) -> None:
        """What sticks and what slides in a substep, as it begins."""
        p = self.sets[substep % 2]
        self._run(contact_solve.note_cones, self.pairs.count, self.manifolds, p, workspace.moving, self.patches)

    def warm(self, workspace: Workspace, substep: int, h: Any) -> None:
        """Begin a substep's solution of positions."""
        w, p = workspace, self.sets[substep % 2]
        self._run(contact_solve.note_approach, self.pairs.count, self.manifolds, p, w.pull, h, w.moving)
        self._each_color(contact_solve.BEGIN_POSITIONS, p, h, w)

    def solve(self, workspace: Workspace, substep: int, h: Any) -> None:
        """One pass over positions."""
        self._each_color(contact_solve.POSITIONS, self.sets[substep % 2], h, workspace)

    def warm_velocities(self, workspace: Workspace, substep: int, h: Any) -> None:
        """Begin a substep's solution of velocities."""
        self._each_color(contact_solve.BEGIN_VELOCITIES, self.sets[(substep + 1) % 2], h, workspace)

    def relax(self, workspace: Workspace, substep: int, h: Any) -> None:
        """One pass over velocities."""
        self._each_color(contact_solve.VELOCITIES, self.sets[(substep + 1) % 2], h, workspace)

    def note_forces(self, workspace: Workspace, substep: int, share: Any) -> None:
        """Add what a substep's impulses are as forces. share: 1 / dt [1/s]."""
        p = self.sets[(substep + 1) % 2]
        contact = [self.manifolds, self.patches, p]
        self._run(contact_solve.add_forces, self.pairs.count, *contact, share, workspace.moving, self.felt)

    def end(self, state: State, substeps: int) -> None:
        """Hand on impulses, and report forces."""
        pairs, last = self.pairs, self.sets[substeps % 2]
        memory = memory_of(self.model, state)
        self._list(
            contact_memory.keep_features,
            self.capacity,
            pairs.count,
            pairs.keys,
            last,
            self.shapes,
            memory,
            state.contact_shapes,
        )
        self._run(contact_memory.keep_impulses, pairs.count, self.manifolds, last, memory)
        report = [state.contact_point, state.contact_normal, state.contact_force]
        self._run(contact_memory.report_forces, pairs.count, self.manifolds, self.felt, *report)

    def _each_color(self, work: Pass, p: Any, h: Any, w: Workspace) -> None:
        """A pass over all pairs, color by color, and then what no color has.

        On a tape each of those is a launch of its own, as their order is part of the result.
        """
        most, last = min(self.capacity, max(1, self.model.body_count)), int32(self.colors)
        arguments = [self.sorted, self.manifolds, self.patches, p, h, w.moving]
        for number in range(self.colors):
            launch(work.color, most, [int32(number), int32(0), *arguments], device=self.model.device)
        if not self._may_be_left:
            return
        if active():
            for start in range(self._left()):
                launch(work.color, 1, [last, int32(start), *arguments], device=self.model.device)
        else:
            launch(work.rest, 1, [last, *arguments], device=self.model.device)

    def _left(self) -> int:
        """How many pairs have no color, as the host sees it; as many as may be, where a graph is captured."""
        if current_graph() is not None:
            return self.capacity
        first = self._first.numpy()
        return int(first[-1] - first[-2])

    def _run(self, kernel: Kernel, *args: object) -> None:
        launch(kernel, self.capacity, args, device=self.model.device)

    def _list(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device, record_tape=False)
