"""`SolverSPH`: weakly compressible smoothed particle hydrodynamics (R. Gingold, J. Monaghan 1977; J. Monaghan 1992)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...core.language import Kernel, array, float64, launch, zeros
from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.creation import copy
from ...core.runtime.devices.capture import current_graph
from ...core.runtime.rollout.footprint import may_run_again
from ...errors import StateError
from ..graph_cache import GraphCache
from ..neighbours.verlet_list import vector_of
from ..particles.nozzle import arrival_mask, check_streams
from ..particles.origin import origin_of, place_shapes
from ..particles.statistics import longest
from ..scene.checks import check_step, count_or_none, flag, model_problem, refuse
from ..scene.control import Control, advance_shapes
from ..scene.model import Model
from ..scene.riding import Riding, poses_at_start
from ..scene.rotations import rotate
from ..scene.state import State
from . import saved, timestep
from .checks import FASTEST, MARGIN, check_choices, check_lengths, check_sheet, check_tension, corners_of
from .checks import require_finite, require_pace, spacing_of
from .barriers import Barriers
from .cohesion import cohesion_pressure
from .density import continuity_kernel, halfway_kernel, press_kernel, sum_kernel
from .fluid import SOUND, Fluid
from .around import Launched, Near
from .forces import Forces, drift, force_kernel, kick
from .particles import Particles, load, store
from .sampling import Lattice, sample_shapes
from .shifting import move_shifted, shift_kernel
from .smoothing import smoothing
from .spin import spin_kernel
from .start import check_starts
from .statistics import FluidStatistics
from .stream import FluidNozzle, FluidStream, without_streams
from .walls import Walls, middle_poses, place_walls, sum_forces, wall_force_kernel, wall_pressure_kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_GRAPHS = 4  # kept at once
_SKIN = 0.3  # of the spacing: margin of lists of neighbours
_COLUMN = {2: 4.0, 3: 2.0}  # spacings: clusters of a lattice are then 4 x 4, or 4 x 2 x 2


class SolverSPH(Fixed):
    """Steps the particles of a model as a weakly compressible fluid; shapes are walls, filled with rows of particles.

    fluid: what it is made of. dim: 2 for a sheet of constant z, where masses are those of one metre of depth, or 3.
    kernel: "wendland2", "wendland4", "cubic" or "quintic"; smoothing: its length in spacings, 1.5 makes gradients on a
    lattice exact to 0.3 %. density: "continuity", which keeps surfaces sharp, or "summation". suction: let pressure be
    negative, as inside a fluid; free surfaces are better without. no_slip: walls hold the fluid by its laminar
    viscosity. substeps: of a step, None: as many as are stable. period: lengths after which space repeats along x, y, z
    [m], 0 for none. bounds: corners (low, high) [m] of where planes and other endless shapes are walls, of all worlds,
    or (worlds, 2, 3) of each. spacing [m]: of particles, None: the cube root, or square root, of the volume of the
    largest. overlaps: "warn" of particles that start less than half a spacing from each other or
    from a wall's filling, raise an "error", or "ignore" them. check: look for numbers that are not finite after each
    step, and raise `DivergenceError`. streams: of fluid that nozzles emit, in a model of one world.

    Velocities leapfrog: forces at the begin of a step, continuity half-way, positions at the end. States made after the
    solver have `particle_rho`, densities [kg/m^3], and `particle_rest` [m], what rounding takes from positions far from
    the world's origin: the solver measures them from an `origin` among the particles. (Give planes a point near them.)
    `fluid_numbers` are those of `fluid` as an array that can be written between steps and has gradients; laminar
    viscosity, XSPH and tension that are 0 in `fluid` stay so, unless the model requires gradients; shifting always
    stays 0. `shape_force`: torque about the origin of each shape [N m] and force on it [N], mean over the last step,
    (shapes,) spatial vectors; of sheets per metre of depth. With streams states know how far each has run, `poured`
    [m], float64 (streams,), and `streams` holds a `FluidNozzle` for each.

    Worlds of a model do not see each other. They share what is said here, so also the number of substeps: that of the
    world that needs most. A shape of all worlds is filled for each, and feels the sum.

    On a tape a step is recorded launch by launch: neighbours are integers, found once a substep. With a number of
    substeps it can be captured, and be the step of `wp.checkpoint(..., scratch=solver.scratch)`. Raises `ModelError`
    for what is no fluid.
    """

    settings: ClassVar[dict[str, Any]] = {"substeps": count_or_none, "check": flag}
    replaceable = ("fluid_numbers",)
    _farthest = 1.0  # spacings: how far nothing goes in a substep that sound allows

    def __init__(
        self, model: Model, fluid: Fluid | None = None, dim: int = 3, kernel: str = "wendland2", smoothing: float = 1.5,
        density: str = "continuity", suction: bool = False, no_slip: bool = False, substeps: int | None = None,
        period: Sequence[float] = (0.0, 0.0, 0.0), bounds: ArrayLike | None = None, spacing: float | None = None,
        overlaps: str = "warn", check: bool = False, streams: Sequence[FluidStream] = (),
    ):  # fmt: skip
        refuse((model_problem(model),))
        self.model, self.fluid, self.dim, self.kernel = model, fluid or Fluid(), dim, kernel
        self.density, self.suction, self.no_slip, self.substeps = density, suction, no_slip, substeps
        self.check, self.steps, self._checked_dt = check, 0, 0.0
        check_choices(self, smoothing, spacing, period, overlaps)
        self.period = tuple(float(length) for length in period)
        self.spacing = spacing_of(model, self.fluid, dim) if spacing is None else float(spacing)
        self.smoothing = smoothing * self.spacing
        self._smoothing, self._bounds, self.overlaps = smoothing, bounds, overlaps
        corners = None if bounds is None else corners_of(bounds, model.world_count)
        check_lengths(self, smoothing, corners)
        check_tension(self)
        check_streams(streams, FluidStream, "particle")
        refuse(((bool(streams) and model.world_count > 1, "streams run in a model of several worlds", "one world"),))
        self.streams = [FluidNozzle(s, model, self.spacing, dim, number) for number, s in enumerate(streams)]
        check_sheet(self, streams)
        self._add_state_fields()
        options: dict[str, Any] = {"device": model.device, "requires_grad": True}
        self.fluid_numbers = array(
            self.fluid.numbers, dtype=model.dtype, device=model.device, requires_grad=model.requires_grad
        )
        self.shape_force = zeros(model.shape_count, model.spatial_vector, **options)
        self._pose, self._halfway = (zeros(model.shape_count, model.transform, **options) for _ in range(2))
        self._poured = zeros(len(streams), float64, **options)
        self._streams = tuple(streams)
        self.particles = self._make_particles(corners, streams, overlaps)
        self._forces = Forces[model.dtype](self.particles.pull, self.particles.a, self.particles.mix)
        self._graphs = GraphCache(model.device, _GRAPHS)
        self.resting, self._riding = model.control(), Riding(model)

    @property
    def support(self) -> float:
        """How far a particle reaches [m]."""
        return smoothing(self.kernel, self.dim).support * self.smoothing

    @property
    def cohesion_pressure(self) -> float:
        """The pressure inside of the fluid that bears its cohesion [Pa]: start from `fluid.density_at` of it."""
        return cohesion_pressure(self.fluid.tension, self.support, self.dim)

    def _make_particles(self, bounds: np.ndarray | None, streams: Sequence[FluidStream], overlaps: str) -> Particles:
        model, dx = self.model, self.spacing
        q = without_streams(model.particle_q.numpy().astype(np.float64), streams)
        there = np.concatenate([q, *([s.position] for s in streams)])
        many, ranges = model.world_count > 1, model.world_rows["particle"]
        parts = [there[first:last] for first, last in ranges] if many else [there]
        low = np.array([part.min(axis=0) if len(part) else np.zeros(3) for part in parts])
        origin = origin_of(there)
        self.origin = vector_of(origin, model.dtype)
        corner = low - 0.5 * dx if bounds is None else bounds[:, 0].copy()
        if self.dim == 2:
            corner[:, 2] = low[:, 2]
        self._plane = (there[:, 2].min() if len(there) else 0.0) - origin[2]
        depth = math.ceil(self.support / dx - 1.0e-9) * dx
        lattice = Lattice(dx, depth, self.dim, self.period)
        rows = sample_shapes(model, lattice, corner, bounds)
        check_starts(model, q, rows, lattice, overlaps)
        width = dx * _COLUMN[self.dim]
        edges = None if bounds is None else bounds - origin + np.array([[-depth], [depth]])
        self.barriers = Barriers(model, dx, self._farthest, _SKIN * dx, self.dim, self.period, edges)
        return Particles(model, rows, self.fluid.density * dx**self.dim, width, _SKIN * dx, self.period)

    # ----- one step -------------------------------------------------------------------------------

    def step(
        self, state_in: State, state_out: State, control: Control | None = None, contacts: None = None,
        dt: float | None = None,
    ) -> None:  # fmt: skip
        """Advance by `dt` [s] from one state to another, or in place.

        control: None is that of the model at rest. contacts: None, a fluid finds its own neighbours. Raises
        `StateError` for states and controls of another model, `TimeStepError` for substeps that are not stable,
        `DivergenceError` where asked for.
        """
        control = self.resting if control is None else control
        check_step(self, "poured" if self.streams else "particle_rho", (state_in, state_out), control, contacts, dt)
        control = self._riding.place(control, state_in)
        substeps = self._choose_substeps(state_in, dt)
        self._begin(state_in, control)
        for _ in range(substeps):
            self._run_substep(control, dt / substeps, substeps)
        p = self.particles
        into = [state_out.particle_q, state_out.particle_rest, state_out.particle_qd, state_out.particle_rho]
        self._run(store, p.water, self.origin, p._moving, *into)
        if self.streams:
            copy(state_out.poured, self._poured)
        self._put(steps=self.steps + 1)
        if self.check:
            require_finite(self, state_out)
        if current_graph() is None and not may_run_again():
            self.barriers.warn(self.steps)

    def _begin(self, state: State, control: Control) -> None:
        """The state and the poses of shapes into the solver's arrays."""
        p, model = self.particles, self.model
        p.weigh_as(model.particle_mass)
        moving = [state.particle_q, state.particle_rest, state.particle_qd, state.particle_rho, state.particle_f]
        self._run(load, p.water, self.origin, *moving, model.particle_mass, p._moving)
        if model.shape_count:
            self._run(place_shapes, model.shape_count, self.origin, control.shape_transform, self._pose)
            self.shape_force.zero_()
        if self.streams:
            copy(self._poured, state.poured)
        for nozzle in self.streams:
            nozzle.require_particles(self._poured[nozzle.number :])
        self._hold_streams()

    def _hold_streams(self) -> None:
        for nozzle in self.streams:
            reach = self.model.dtype(self.support)
            args = [self.particles, self.barriers.waiting, self.fluid_numbers, reach]
            nozzle.hold(self.origin, self._poured, *args)

    def _run_substep(self, control: Control, h: float, substeps: int) -> None:
        """One substep: as a graph, or recorded launch by launch."""
        self._place_walls(control, h)
        p, listed = self.particles, self._find_neighbours()
        if not listed or saved_contents.active():
            self._substep(control, h, substeps, self._near(listed))
            return
        arrays = [control.gravity, control.shape_velocity, p.around_water.ids, p.around_walls.ids]
        self._graphs.run((h, substeps, *map(id, arrays)), lambda: self._substep(control, h, substeps, self._near(True)))

    def _near(self, listed: bool) -> Near:
        return self.particles.near(listed, MARGIN * self.support, self.smoothing)

    def _find_neighbours(self) -> bool:
        """List them anew where they must be; in what may run again build the grid instead. Whether they are listed."""
        p = self.particles
        again = current_graph() is not None or may_run_again()
        if again:
            p.build_grid(self.support, self.period)
        elif p.is_outdated:
            p.rebuild(self.support, MARGIN * self.support, self.period)
            self.barriers.watch(p.x, self._pose)
        return not again

    def _substep(self, control: Control, h: float, substeps: int, near: Near) -> None:
        """Forces, velocities, densities, positions."""
        p, dt, model = self.particles, self.model.dtype(h), self.model
        fluid = self.fluid_numbers
        if self.density == "summation":
            self._run_near(sum_kernel, near.water, (), p.x, p.mass, p.rho)
            self._hold_streams()
        self._run(press_kernel(self.suction), p.water, fluid, p.rho, p.p, p.push)
        if p.walls:
            self._press_walls(control, near)
        self._spin_fluid(near)
        if p.walls:
            self._push_walls(control, substeps, near)
        self._accelerate(control, near)
        for nozzle in self.streams:
            nozzle.calm(self._poured, p)
        self._run(kick, p.water, dt, p.a, p.mix, p.v)
        if self.density == "continuity":
            self._change_density(control, h, near)
        self._move(dt, near)
        self._hold_fluid(control, dt, substeps, near)
        for nozzle in self.streams:
            nozzle.run_on(h, self._poured)
        self._hold_streams()
        if model.shape_count:
            self._run(advance_shapes, model.shape_count, control.shape_velocity, dt, self._pose)

    def _accelerate(self, control: Control, near: Near) -> None:
        """Accelerations by all forces."""
        p, fluid = self.particles, self.fluid
        terms = (self._viscous, self._turning, *(self._has(number) for number in (fluid.xsph, fluid.tension)))
        others = [control.gravity, p.x, p.v, p.slip, p.spin, p.rho, p.push, p.mass]
        self._run_near(force_kernel, near.water, (self.no_slip, *terms), self._forces, self.fluid_numbers, *others)

    def _spin_fluid(self, near: Near) -> None:
        """How the fluid turns around each particle, where viscosity asks for it."""
        p = self.particles
        if self._turning:
            self._run_near(spin_kernel, near.water, (self.no_slip,), p.x, p.v, p.slip, p.rho, p.mass, p.spin)

    def _has(self, number: float) -> bool:
        """Whether a number of the fluid acts: what is zero has a derivative too."""
        return self.model.requires_grad or number > 0.0

    @property
    def _viscous(self) -> bool:
        return self._has(self.fluid.viscosity)

    @property
    def _turning(self) -> bool:
        """Whether viscosity leaves rotations alone; where space repeats along all axes, nothing turns as a whole."""
        return self._viscous and not all(self.period[: self.dim])

    def _change_density(self, control: Control, h: float, near: Near) -> None:
        """Densities by the equation of continuity."""
        p, dtype, fluid = self.particles, self.model.dtype, [self.fluid_numbers, control.gravity]
        weighed = not (any(self.period) or self.no_slip)
        there = [p.x, p.v, p.rho, p.mass, p.middle, p.level, p.volume]
        halfway = halfway_kernel(weighed, self.model.world_count > 1)
        self._run(halfway, p.total, dtype(0.5 * h), p.water, *fluid, p.world, *there)
        rates = [p.a, p.x, p.middle, p.v, p.level, p.mass, p.volume, p.rho]
        options = (weighed, self.no_slip, self.suction)
        self._run_near(continuity_kernel, near.water, options, dtype(h), *fluid, *rates)

    def _move(self, dt: float, near: Near) -> None:
        """Positions by velocities, and by what keeps particles in order."""
        p = self.particles
        if not self.fluid.shifting:
            self._run(drift, p.water, dt, p.v, p.begin, p.x)
            return
        moved = [self.model.dtype(self.spacing), self.fluid_numbers, p.x, p.rho, p.mass, p.drift]
        self._run_near(shift_kernel, near.water, (), *moved)
        self._run(move_shifted, p.water, dt, p.v, p.drift, p.begin, p.x)

    def _hold_fluid(self, control: Control, dt: float, substeps: int, near: Near) -> None:
        """Put particles back before the surfaces of walls."""
        if self.model.shape_count and self.particles.water:
            share = self.model.dtype(1.0 / substeps)
            moving = [self._pose, control.shape_velocity, dt, share, near.listed, self.shape_force]
            self.barriers.hold(self.particles, *moving)

    def _place_walls(self, control: Control, h: float) -> None:
        """Put wall particles where their shapes are, with the velocities of the substep."""
        p, dtype = self.particles, self.model.dtype
        if p.walls:
            twist, poses = control.shape_velocity, [self._pose, self._halfway]
            self._run(middle_poses, self.model.shape_count, self._pose, twist, dtype(0.5 * h), self._halfway)
            sheet = [dtype(self.dim == 2), dtype(self._plane)]
            self._run(place_walls, p.walls, p.water, *sheet, p.number, p.shape, p.local, *poses, twist, p.x, p.v)
        p.note_moved()

    def _press_walls(self, control: Control, near: Near) -> None:
        """Pressures in walls, and the velocities that make fluid stick to them."""
        p, dtype = self.particles, self.model.dtype
        own = [a[p.water :] for a in (p.rho, p.p, p.push)]
        walls = Walls[dtype](p.number[p.water :], p.shape, p.toward, *own, p.slip, dtype(self.spacing))
        water = [p.x, p.v, p.mass, p.rho[: p.water], p.p[: p.water], self._pose, control.shape_velocity]
        options = (self.suction, self.no_slip)
        self._run_near(wall_pressure_kernel, near.walls, options, walls, self.fluid_numbers, control.gravity, *water)

    def _push_walls(self, control: Control, substeps: int, near: Near) -> None:
        """Forces on particles of walls, and their sums over shapes."""
        p, options = self.particles, (self.no_slip, self._turning)
        moving = [p.x, p.v, p.slip, p.spin, p.rho, p.push, p.mass, p.force]
        self._run_near(wall_force_kernel, near.walls, options, self.fluid_numbers, *moving)
        share, frames = self.model.dtype(1.0 / substeps), [p.first, p.slot, self._pose]
        count = self.model.shape_count
        self._run(sum_forces, count, p.water, *frames, share, p.x, p.force, self.shape_force)

    def _run_near(
        self, kernel_of: Callable[..., Kernel], near: Launched, options: tuple[Any, ...], *args: object
    ) -> None:
        """Launch the kernel with neighbours that is made for this fluid, options and search."""
        kernel = kernel_of(self.kernel, self.dim, any(self.period), *options, search=near.search)
        self._run(kernel, near.dim, near.around, *args)

    def _run(self, kernel: Kernel, dim: int | tuple[int, ...], *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)

    arguments, memory, recall = saved.arguments, saved.memory, saved.recall

    # ----- what is asked of it --------------------------------------------------------------------

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it, for `wp.checkpoint(..., scratch=solver.scratch)`."""
        waiting = [self.barriers.waiting] if self.streams else []  # none writes it elsewhere
        own = [self._pose, self._halfway, self._poured, self.shape_force]
        return [*self.particles.scratch, *self.barriers.scratch, *self._riding.scratch, *waiting, *own]

    @property
    def wall_count(self) -> int:
        """How many particles walls have."""
        return self.particles.walls

    @property
    def walls(self) -> np.ndarray:
        """Where wall particles were at the end of the last step, (walls, 3) [m]."""
        shape, places = self.particles.shape.numpy(), self.particles.local.numpy().astype(np.float64)
        for s, pose in enumerate(self.poses):
            places[shape == s] = pose[:3] + rotate(pose[3:], places[shape == s])
        if self.dim == 2:
            places[:, 2] = self._plane
        return places + np.array(self.origin, dtype=np.float64)

    @property
    def poses(self) -> np.ndarray:
        """Of shapes at the end of the last step, from `origin` [m], (shapes, 7); before any, as the model has them."""
        if self.steps:
            return self._pose.numpy().astype(np.float64)
        poses = poses_at_start(self.model)
        return poses - np.concatenate([np.array(self.origin, dtype=np.float64), np.zeros(4)])

    def present(self, state: State) -> np.ndarray:
        """Which particles do not wait behind a nozzle, bool (particles,)."""
        return arrival_mask(self.streams, state)

    def statistics(self, state: State, world: int | None = None) -> FluidStatistics:
        """What is asked of a state, computed when it is read. world: of that one alone, None: of all."""
        return FluidStatistics(self, state, world)

    def time_step_limits(self, state: State) -> dict[str, float]:
        """The longest substeps [s] of a state, by reason: "sound", "forces", "viscosity".

        Accelerations are those of the last step of the solver.
        """
        sound, viscosity = (float(n) for n in self.fluid_numbers.numpy()[[1, 3]])
        return timestep.limits(self.smoothing, sound, *self._pace(state), viscosity)

    def _pace(self, state: State) -> tuple[float, float]:
        """The highest speed [m/s] and acceleration [m/s^2]."""
        pull = max(longest(self.particles.a), longest(self.model.gravity))
        return longest(state.particle_qd), pull

    def pressure(self, state: State) -> np.ndarray:
        """Of every particle by Tait's law, (particles,) [Pa]."""
        compression = state.particle_rho.numpy().astype(np.float64) / self.fluid.density
        pressure = self.fluid.stiffness * (compression**7 - 1.0)
        return pressure if self.suction else np.maximum(pressure, 0.0)

    # ----- arguments ------------------------------------------------------------------------------

    def _add_state_fields(self) -> None:
        add, n = self.model.add_state_field, self.model.particle_count
        add("particle_rest", self.model.vec3, n, unit="m", about="what rounding takes from positions")
        add("particle_rho", self.model.dtype, n, self.fluid.density, unit="kg/m^3", about="density")
        if self.streams:
            add("poured", float64, len(self.streams), unit="m", about="how far each stream has run")

    def _choose_substeps(self, state: State, dt: float) -> int:
        """How many substeps a step has. Raises `TimeStepError` where the number that was asked for is too small."""
        if self.substeps is not None:
            if dt != self._checked_dt:
                timestep.check(dt / self.substeps, self._limits_at_rest())
                self._checked_dt = dt
            return self.substeps
        if current_graph() is not None:
            raise StateError(
                "a step of a fluid is captured in a graph, but the host chooses its substeps\n"
                "help: SolverSPH(..., substeps=...) with a number"
            )
        require_pace(self, state, self._fastest)
        return math.ceil(dt / min(self.time_step_limits(state).values()) - 1.0e-9)

    @property
    def _fastest(self) -> float:
        """A speed that nothing which flows has [m/s]."""
        return FASTEST * float(self.fluid_numbers.numpy()[SOUND])

    def _limits_at_rest(self) -> dict[str, float]:
        """The longest substeps [s] of the fluid as it is now, whatever moves."""
        sound, viscosity = (float(n) for n in self.fluid_numbers.numpy()[[1, 3]])
        return timestep.limits(self.smoothing, sound, 0.0, 0.0, viscosity)
