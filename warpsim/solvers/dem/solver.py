"""`SolverDEM`: grains as spheres with Hertz-Mindlin or linear contacts (P. Cundall and O. Strack 1979)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...core.language import Kernel, float64, launch, zeros
from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.commands.conditional import capture_if
from ...core.runtime.devices.capture import current_graph
from ...core.types.compounds import quaternion as quaternion_type
from ...errors import ModelError, StateError, shown
from ..graph_cache import GraphCache
from ..neighbours.verlet_list import VerletList, vector_of
from ..particles.nozzle import arrival_mask, check_streams
from ..particles.origin import origin_of, place_shapes
from ..particles.statistics import longest
from ..scene.bands import check_contact_bands
from ..scene.checks import check_step, count, flag, model_problem, period_problem, refuse
from ..scene.control import Control
from ..scene.model import Model
from ..scene.riding import Riding
from ..scene.state import State
from . import saved, timestep
from .adhesion import longest_neck
from .checks import OVERLAPS, check_overlaps, require_finite
from .contact import ROLLING_MODELS
from .grains import Pairs, grain_kernel
from .laws import LAWS
from .materials import COLUMNS, Material, Materials
from .packed import Packed, integrate_in, load, store
from .statistics import GrainStatistics
from .stream import GrainNozzle, GrainStream, advance_time
from .walls import Wall, middles, move_walls, wall_kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_GRAPHS = 4  # kept at once: both orders of the grains, for two controls


class SolverDEM(Fixed):
    """Steps the particles of a model as grains; shapes are rigid walls.

    materials: one `Material` or several; particle_material: the number of each particle's, (particles,), or of all.
    substeps: of a step. law: "hertz", "linear" or "jkr", see `laws`. rolling: None, "constant" or "spring", see
    `contact`. force_limit: no contact pulls at the end of an impact, which raises restitution above what was asked for
    (T. Schwager and T. Poeschel 2007). period: lengths after which space repeats along x, y, z [m], 0 for none, with
    all shapes but planes; grains meet the image of a shape whose middle is nearest.
    skin [m]: margin of the neighbour lists, None: 0.3 of the mean radius. overlaps: "warn" of grains that start with an
    overlap above 10 % of their radius, with each other or with walls, raise an "error", or "ignore" them. check: look
    for numbers that are not finite after every step, and raise `DivergenceError` (the host waits for each step).
    streams: of grains that nozzles emit.

    Friction and restitution of walls are those of the shape (`ShapeConfig`), stiffness is that of the grain alone.
    Particles have `particle_w`, angular velocities [rad/s], and `particle_rotation`, quaternions, in states made after
    the solver was; `particle_rest` [m] is what rounding takes from positions far from the origin: the solver measures
    them from an `origin` among the grains. (Give planes a point near them: their tilt is rounded, too.) What contacts
    remember belongs to the solver: `reset` forgets it. With streams states have a `time` [s], float64 (1,), and
    `streams` holds a `GrainNozzle` for each.

    `materials` are arrays that can be written between steps and have gradients. `shape_force`: torque about the origin
    of each shape [N m] and force on it [N], mean over the last step, (shapes,) spatial vectors.

    On a tape a step is recorded launch by launch; neighbours are integers, and gradients flow through distances. A step
    can be captured in a graph, and long runs have gradients in little memory with

        solver.reserve(pairs)
        wp.checkpoint(step, [*state.arrays.values(), *solver.history], steps, scratch=solver.scratch)

    Raises `ModelError` for what no grains are.
    """

    settings: ClassVar[dict[str, Any]] = {"substeps": count, "check": flag}

    def __init__(
        self, model: Model, materials: Material | Sequence[Material] | None = None, particle_material: ArrayLike = 0,
        substeps: int = 1, law: str = "hertz", rolling: str | None = None, force_limit: bool = False,
        period: Sequence[float] = (0.0, 0.0, 0.0), skin: float | None = None, overlaps: str = "warn",
        check: bool = False, streams: Sequence[GrainStream] = (),
    ):  # fmt: skip
        refuse((model_problem(model),))
        kinds = _material_list(materials)
        self.overlaps, self.check = overlaps, check
        self.model, self.substeps, self.law, self.rolling, self.force_limit = model, substeps, law, rolling, force_limit
        radius, number = model.particle_radius.numpy(), _numbers(particle_material, model.particle_count)
        _check(self, radius, number, len(kinds), period, skin)
        check_contact_bands(model)
        check_streams(streams, GrainStream, "grain")
        refuse(((bool(streams) and model.world_count > 1, "streams run in a model of several worlds", "one world"),))
        self._radius, self._number = radius, number
        self._kinds, self._streams = tuple(kinds), tuple(streams)
        self.materials = Materials(kinds, model.dtype, model.device, model.requires_grad)
        skin = 0.3 * float(radius.mean() if radius.size else 1.0) if skin is None else float(skin)
        largest = 2.0 * float(radius.max(initial=0.0))
        self.neighbours = VerletList(
            model.particle_count, skin, largest + skin, period, model.dtype, model.device, model.world_count > 1
        )
        points = model.particle_q.numpy().copy()
        self.streams = [GrainNozzle(stream, model, 0.5 * largest) for stream in streams]
        for stream in streams:
            points[stream.grains.start : stream.grains.stop] = stream.position
        self.origin = vector_of(origin_of(points), model.dtype)
        self._add_state_fields()
        if law == "jkr":
            _check_necks(kinds, 0.25 * largest, skin)
        self._grains = Packed(model, rolling == "spring", law == "jkr")
        self._own, self._watch = self._grains.grains(self.neighbours), self._grains.watch(self.neighbours)
        self.resting, self._riding = model.control(), Riding(model)
        self._graphs = GraphCache(model.device, _GRAPHS)
        self._make_tables()
        self.reset()

    def reset(self) -> None:
        """Forget all contacts and the order of the grains; the next step starts as the first."""
        grains, lists = self._grains, self.neighbours
        grains.number.assign(np.arange(self.model.particle_count, dtype=np.int32))
        grains.kind.assign(self._number.astype(np.int32))
        for springs in (*grains.wall_springs, *grains.wall_wound, *grains.by_row):
            springs.zero_()
        lists.rows.offsets.zero_()
        lists.outdated.fill_(1)
        self._put(steps=0, _checked_dt=0.0, _recalled=False)

    def reserve(self, pairs: int) -> None:
        """Make room for so many pairs of neighbours, for steps that are captured in a graph or run by `wp.checkpoint`.

        A bed has about 5 to 6 pairs per grain, more where radii differ much; `contact_count` tells how many there are.
        Raises `StateError` while a graph holds shorter lists.
        """
        refuse(((not isinstance(pairs, Real), f"pairs is {shown(pairs)}", "a number of pairs"),))
        self.neighbours.reserve(2 * int(pairs))
        self._grains.reserve(self.neighbours.rows.capacity)

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

        control: None is that of the model at rest. contacts: None, grains find their own. Raises `StateError` for
        states and controls of another model, `TimeStepError` for a time step that is too long for the stiffest grain;
        warns with `TimeStepWarning` where it is longer than is exact.
        """
        control = self.resting if control is None else control
        check_step(self, "time" if self.streams else "particle_w", (state_in, state_out), control, contacts, dt)
        self._check_room_and_time(state_in, dt)
        control = self._riding.place(control, state_in)
        self._begin(state_in, control)
        for k in range(self.substeps):
            self._sort_if_needed()
            if not self.steps and not k:
                check_overlaps(self, stacklevel=3)
            self._run_substep(control, dt / self.substeps)
        self._end(state_in, state_out, dt)
        if self.check:
            require_finite(self, state_out)
        self._put(steps=self.steps + 1, _recalled=False)

    def _begin(self, state: State, control: Control) -> None:
        """Tables, walls where the control has them, grains in the order of the cells."""
        model = self.model
        self.materials.tabulate(self._table)
        if model.shape_count:
            self.materials.tabulate_walls(model, self._wall_table)
            poses = [self.origin, control.shape_transform, self._pose]
            launch(place_shapes, model.shape_count, poses, device=model.device)
            self.shape_force.zero_()
        moving = [state.particle_q, state.particle_rest, state.particle_qd, state.particle_w, state.particle_rotation]
        fixed = [model.particle_radius, model.particle_mass, model.particle_world]
        self._run(load, self.origin, *moving, state.particle_f, *fixed, self._own)
        for nozzle in self.streams:
            nozzle.hold(state, self.origin, self._own)

    def _end(self, before: State, state: State, dt: float) -> None:
        if self.streams:
            advance_time(before, state, dt)
        arrays = [state.particle_q, state.particle_rest, state.particle_qd, state.particle_w, state.particle_rotation]
        self._run(store, self.origin, self._own, *arrays)

    def _sort_if_needed(self) -> None:
        """List neighbours anew where the lists may lack a pair. In a capture, each launch of the graph asks again."""
        if current_graph() is not None:
            capture_if(self.neighbours.outdated, self._sort)
        elif self.neighbours.is_outdated:
            self._sort()

    def _sort(self) -> None:
        self._grains.sort(self.neighbours)

    def _run_substep(self, control: Control, h: float) -> None:
        """One substep, as a graph where nothing records it."""
        if saved_contents.active() or current_graph() is not None:
            self._substep(control, h)
            return
        arrays = [self._grains.springs, self.neighbours.rows.ids, control.gravity, control.shape_velocity]
        self._graphs.run((h, *map(id, arrays)), lambda: self._substep(control, h))

    def _substep(self, control: Control, h: float) -> None:
        """Forces between grains, forces of walls, motion."""
        model, g, lists, dt = self.model, self._grains, self.neighbours, self.model.dtype(h)
        touch = grain_kernel(self.law, self.rolling, self.force_limit, any(lists.period))
        pairs = Pairs[model.dtype](lists.rows.offsets, lists.rows.ids, g.bonds, lists.period_vector, dt)
        own = [g.inv_mass, g.kind, g.springs, g.wound, g.force, g.torque]
        self._run(touch, pairs, self._table, g.q, g.v, g.w, *own)
        for number in range(len(model.shape_groups)):
            self._touch_wall(number, control, dt)
        motion = [g.inv_mass, g.force, g.torque, g.pull, g.q, g.v, g.w, g.rotation]
        self._run(integrate_in(lists.grouped), self._watch, control.gravity, g.world, dt, *motion)
        if model.shape_count:
            launch(move_walls, model.shape_count, [control.shape_velocity, dt, self._pose], device=model.device)

    def _touch_wall(self, number: int, control: Control, dt: float) -> None:
        model, lists = self.model, self.neighbours
        s, periodic = model.shape_groups[number].shape, any(lists.period)
        kind = [model.shape_type[s], self.law, self.rolling, self.force_limit]
        touch = wall_kernel(*kind, periodic, lists.grouped)
        surface = [self._wall_table, model.shape_margin, model.shape_scale, model.shape_heights[s]]
        moving = [self._pose, control.shape_velocity, self.shape_force]
        self._run(touch, self.wall(number, dt), self._own, *surface, *moving)

    def wall(self, number: int, dt: float) -> Any:
        """A group of shapes as kernels take it, for a substep [s]."""
        model, g, group = self.model, self._grains, self.model.shape_groups[number]
        source = model.shape_source[group.shape]
        place = [group.shape, group.numbers, source, self._middles[number], self.neighbours.period_vector]
        springs, share = [g.wall_springs[number], g.wall_wound[number]], model.dtype(1.0 / self.substeps)
        return Wall[model.dtype](*place, *springs, dt, share)

    def _run(self, kernel: Kernel, *args: object) -> None:
        launch(kernel, self.model.particle_count, args, device=self.model.device)

    arguments, memory, recall = saved.arguments, saved.memory, saved.recall

    # ----- what is asked of it --------------------------------------------------------------------

    @property
    def history(self) -> list[Any]:
        """What a step hands on to the next besides its state: contacts, lists, the order of the grains."""
        lists = self.neighbours
        return [*self._grains.history, lists.rows.offsets, lists.rows.ids, lists.outdated]

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it: for `wp.checkpoint`, see the class."""
        tables = [self._table, self._wall_table, self._pose, self.shape_force]
        return [*self._grains.scratch, *self.neighbours.scratch, *self._riding.scratch, *tables]

    def present(self, state: State) -> np.ndarray:
        """Which grains do not wait behind a nozzle, bool (particles,)."""
        return arrival_mask(self.streams, state)

    def statistics(self, state: State) -> GrainStatistics:
        """What is asked of a state, computed when it is read."""
        return GrainStatistics(self, state)

    @property
    def contact_count(self) -> int:
        """How many pairs of grains the lists hold, touching or nearly so."""
        return self.neighbours.rows.size // 2

    def time_step_limit(self, speed: float = 0.0) -> tuple[float, str]:
        """The longest substep [s] by the stiffest and lightest grain, and what sets it.

        speed [m/s]: of the fastest impact that is expected; 0 leaves impacts out. Raises `ModelError` where arrays of
        the materials were given numbers that no `Material` has.
        """
        self.materials.check_replaced("materials")
        limits = []
        density, m = timestep.densities(self.model.particle_mass.numpy(), self._radius), self.materials
        kinds = zip(*(a.numpy().tolist() for a in (m.youngs_modulus, m.poissons_ratio, m.stiffness)), strict=True)
        for number, (young, poisson, stiffness) in enumerate(kinds):
            free = (self._number == number) & (density > 0.0)
            if not free.any():
                continue
            Material(young, poisson, stiffness=stiffness)  # the same checks, of what was written later
            if self.law == "linear":
                mass = float(self.model.particle_mass.numpy()[free].min())
                limits.append((timestep.linear_time(mass, stiffness), "the time of a contact"))
                continue
            i = np.flatnonzero(free)[np.argmin(self._radius[free] * np.sqrt(density[free]))]
            grain = (float(self._radius[i]), float(density[i]), young, poisson)
            limits.append((timestep.rayleigh_time(*grain), "the Rayleigh time"))
            limits.append((timestep.impact_time(*grain, speed), f"an impact at {speed:g} m/s"))
        return min(limits, default=(math.inf, ""))

    # ----- arguments ------------------------------------------------------------------------------

    def _add_state_fields(self) -> None:
        add, n, vec3 = self.model.add_state_field, self.model.particle_count, self.model.vec3
        identity = quaternion_type(self.model.dtype)(0.0, 0.0, 0.0, 1.0)
        add("particle_w", vec3, n, unit="rad/s", about="angular velocity")
        add("particle_rest", vec3, n, unit="m", about="what rounding takes from positions")
        add("particle_rotation", type(identity), n, identity, about="orientation")
        if self.streams:
            add("time", float64, 1, unit="s", about="since the first step")

    def _make_tables(self) -> None:
        model, count = self.model, self.materials.count
        options: dict[str, Any] = {"dtype": model.dtype, "device": model.device, "requires_grad": True}
        self._table = zeros((count, count, COLUMNS), **options)
        self._wall_table = zeros((count, model.shape_count, COLUMNS), **options)
        self._middles = [vector_of(middle, model.dtype) for middle in middles(model)]
        self._pose = zeros(model.shape_count, model.transform, device=model.device, requires_grad=True)
        self.shape_force = zeros(model.shape_count, model.spatial_vector, device=model.device, requires_grad=True)

    def _check_room_and_time(self, state: State, dt: float) -> None:
        if current_graph() is not None and not self.neighbours.rows.capacity and self.model.particle_count > 1:
            raise StateError(
                "a step of grains is captured in a graph, and its lists of neighbours have no room\n"
                "help: call solver.reserve(pairs) before, or step once; lists in a graph cannot grow"
            )
        if dt != self._checked_dt:
            speed = longest(state.particle_qd) if current_graph() is None else 0.0
            meeting = 2.0 * speed if math.isfinite(speed) else 0.0
            timestep.check(dt / self.substeps, *self.time_step_limit(meeting))
            self._checked_dt = dt


def _material_list(materials: Material | Sequence[Material] | None) -> list[Material]:
    """The materials as a list. Raises `ModelError` for anything else, and for none."""
    kinds = [Material()] if materials is None else [materials] if isinstance(materials, Material) else materials
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds or {type(k) for k in kinds} != {Material}:
        raise ModelError(f"materials is {shown(materials)}\nexpected: a Material or a list of them")
    return list(kinds)


def _numbers(particle_material: ArrayLike, count: int) -> np.ndarray:
    """The number of each particle's material, (count,). Raises `ModelError` for other shapes and types."""
    number = np.asarray(particle_material)
    if (number.dtype.kind not in "iu" and number.size) or number.shape not in ((), (count,)):
        what = f"{number.dtype} of shape {number.shape}"
        raise ModelError(f"particle_material is {what}\nexpected: an integer, or one for each of {count} particles")
    return np.broadcast_to(number, count)


def _check_necks(kinds: list[Material], radius: float, skin: float) -> None:
    """Raise `ModelError` where grains hold on to each other further than lists of neighbours reach."""
    softest = min(k.youngs_modulus / (2.0 * (1.0 - k.poissons_ratio**2)) for k in kinds)
    neck = longest_neck(max(k.adhesion for k in kinds), softest, radius) if radius else 0.0
    if neck >= skin:
        raise ModelError(
            f"adhesion holds grains until they are {neck:.3g} m apart, skin is {skin:.3g} m\n"
            "expected: a longer skin, stiffer grains or less adhesion"
        )


def _check(
    solver: SolverDEM, radius: np.ndarray, number: np.ndarray, kinds: int, period: Sequence[float], skin: float | None
) -> None:
    """Raise `ModelError` for arguments that are no grains."""
    refuse(
        (
            (solver.law not in tuple(LAWS), f"law is {solver.law!r}", ", ".join(map(repr, LAWS))),
            (solver.rolling not in ROLLING_MODELS, f"rolling is {solver.rolling!r}", "None, 'constant' or 'spring'"),
            (bool((radius <= 0.0).any()), f"a grain has the radius {radius.min(initial=1.0):g} m", "above 0"),
            (not np.isfinite(radius).all(), f"a grain has the radius {radius.max(initial=0.0):g} m", "a finite number"),
            (
                bool(((number < 0) | (number >= kinds)).any()),
                "particle_material names a material that is not there",
                f"0 to {kinds - 1}",
            ),
            (solver.overlaps not in OVERLAPS, f"overlaps is {solver.overlaps!r}", ", ".join(map(repr, OVERLAPS))),
            (
                skin is not None and not (isinstance(skin, Real) and 0.0 < skin < math.inf),
                f"skin is {shown(skin)}",
                "above 0 [m]",
            ),
            period_problem(period),
        )
    )
    reach = 2.0 * float(radius.max(initial=0.0))
    if any(0.0 < length < 2.0 * reach for length in period):
        expected = f"at least two diameters of the largest grain, {2.0 * reach:g} m"
        raise ModelError(f"period is {tuple(period)} m\nexpected: {expected}")
