"""`SolverSPH`: weakly compressible smoothed particle hydrodynamics (R. Gingold, J. Monaghan 1977; J. Monaghan 1992)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from ...core.language import array, float64, int32, launch, zeros
from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.creation import copy
from ...core.runtime.commands.graph import ScopedCapture, capture_launch
from ...core.runtime.devices.capture import current_graph
from ...errors import DivergenceError, ModelError, StateError
from ..checks import period_problem, refuse, substeps_problem
from ..control import Control, advance_shapes
from ..model import Model
from ..neighbours.cluster_list import ClusterList
from ..nozzle import check_streams
from ..state import State
from ..statistics import longest
from . import timestep
from .cohesion import cohesion_pressure
from .density import continuity_kernel, press_kernel, sum_kernel
from .fluid import Fluid
from .forces import drift, force_kernel, kick
from .particles import Particles, load, store, take_density
from .sampling import in_world, sample_shapes
from .shifting import move_shifted, shift_kernel
from .smoothing import KERNELS, smoothing
from .start import warn_of_close_starts
from .statistics import FluidStatistics
from .stream import FluidNozzle, FluidStream, without_streams
from .walls import place_walls, sum_forces, wall_force_kernel, wall_pressure_kernel

_GRAPHS = 4  # kept at once
_SKIN = 0.3  # of the spacing: margin of lists of neighbours
_COLUMN = {2: 4.0, 3: 2.0}  # spacings: clusters of a lattice are then 4 x 4, or 4 x 2 x 2
_MARGIN = 1.04  # of the support: how much nearer two particles can be half a step later
_MOST_SHIFTING = 1.0  # particles that shift further in a substep overshoot
_COMPRESSED = 0.05  # of the density at rest, by cohesion
THINNEST = 0.998  # the least density without suction, in that at rest: spray does not forget its volume


class SolverSPH:
    """Steps the particles of a model as a weakly compressible fluid; shapes are walls, filled with rows of particles.

    fluid: what it is made of. dim: 2 for a sheet of constant z, where masses are those of one metre of depth, or 3.
    kernel: "wendland2", "wendland4", "cubic" or "quintic"; smoothing: its length in spacings, 1.5 makes gradients on a
    lattice exact to 0.3 %. density: "continuity", which keeps surfaces sharp, or "summation". suction: let pressure be
    negative, as inside a fluid; free surfaces are better without. no_slip: walls hold the fluid by its laminar
    viscosity. substeps: of a step, None: as many as are stable. period: lengths after which space repeats along x, y, z
    [m], 0 for none. bounds: corners (low, high) [m] of where planes and other endless shapes are walls. spacing [m]: of
    particles, None: the cube root, or square root, of the volume of the largest. check: look for numbers that are not
    finite after each step, and raise `DivergenceError`. streams: of fluid that nozzles emit.

    Velocities leapfrog: forces at the begin of a step, continuity half-way, positions at the end. States made after the
    solver have `particle_rho`, densities [kg/m^3]. `fluid_numbers` are those of `fluid` as an array that can be
    written between steps and has gradients; laminar viscosity, XSPH and tension that are 0 in `fluid` stay
    so, unless the model requires gradients; shifting always stays 0. `shape_force`:
    torque about the origin of each shape [N m] and force on it [N], mean over the last step, (shapes,) spatial vectors;
    of sheets per metre of depth. With streams states know how far each has run, `poured` [m], float64 (streams,), and
    `streams` holds a `FluidNozzle` for each.

    On a tape a step is recorded launch by launch: neighbours are integers, found once a substep. With a number of
    substeps it can be captured, and be the step of `wp.checkpoint(..., scratch=solver.scratch)`. Raises `ModelError`
    for what is no fluid.
    """

    def __init__(
        self, model: Model, fluid: Fluid | None = None, dim: int = 3, kernel: str = "wendland2", smoothing: float = 1.5,
        density: str = "continuity", suction: bool = False, no_slip: bool = False, substeps: int | None = None,
        period: Sequence[float] = (0.0, 0.0, 0.0), bounds: Any = None, spacing: float | None = None,
        check: bool = False, streams: Sequence[FluidStream] = (),
    ):  # fmt: skip
        self.model, self.fluid, self.dim, self.kernel = model, fluid or Fluid(), dim, kernel
        self.density, self.suction, self.no_slip, self.substeps = density, suction, no_slip, substeps
        self.period, self.check, self.steps = tuple(period), check, 0
        _check_choices(self)
        self.spacing = _spacing(model, self.fluid, dim) if spacing is None else float(spacing)
        self.smoothing = smoothing * self.spacing
        _check_lengths(self, smoothing)
        _check_tension(self)
        check_streams(streams, FluidStream, "particle")
        self.streams = [FluidNozzle(s, model, self.spacing, dim, number) for number, s in enumerate(streams)]
        model.add_state_field("particle_rho", model.dtype, model.particle_count, self.fluid.density)
        options: dict[str, Any] = {"device": model.device, "requires_grad": True}
        self.fluid_numbers = array(
            self.fluid.numbers, dtype=model.dtype, device=model.device, requires_grad=model.requires_grad
        )
        self.shape_force = zeros(model.shape_count, model.spatial_vector, **options)
        self._pose = zeros(model.shape_count, model.transform, **options)
        self._poured = zeros(len(streams), float64, **options)
        if streams:
            model.add_state_field("poured", float64, len(streams))
        self.particles = self._make_particles(None if bounds is None else _corners(bounds), streams)
        self._no_rows = [zeros(0, int32, model.device), zeros((0, 0), int32, model.device)]
        self._graphs: dict[Any, Any] = {}
        self.resting = model.control()

    @property
    def support(self) -> float:
        """How far a particle reaches [m]."""
        return smoothing(self.kernel, self.dim).support * self.smoothing

    @property
    def cohesion_pressure(self) -> float:
        """The pressure inside of the fluid that bears its cohesion [Pa]: start from `fluid.density_at` of it."""
        return cohesion_pressure(self.fluid.tension, self.support, self.dim)

    def _make_particles(self, bounds: Any, streams: Sequence[FluidStream]) -> Particles:
        model, dx = self.model, self.spacing
        q = without_streams(model.particle_q.numpy().astype(np.float64), streams)
        low = np.concatenate([q, *([s.position] for s in streams)]).min(axis=0) if model.particle_count else np.zeros(3)
        corner = low - 0.5 * dx if bounds is None else bounds[0].copy()
        if self.dim == 2:
            corner[2] = low[2]
        self._plane = low[2]
        depth = math.ceil(self.support / dx - 1.0e-9) * dx
        local, shape = sample_shapes(model, dx, depth, corner, bounds, self.dim, self.period)
        walls = in_world(model, local, shape)
        warn_of_close_starts(q, walls, shape, dx)
        width = dx * _COLUMN[self.dim]
        return Particles(model, local, shape, self.fluid.density * dx**self.dim, width, _SKIN * dx, self.period)

    # ----- one step -------------------------------------------------------------------------------

    def step(
        self, state_in: State, state_out: State, control: Control | None = None, contacts: Any = None, dt: float = 0.0
    ) -> None:
        """Advance by `dt` [s] from one state to another, or in place.

        control: None is that of the model at rest. contacts: None, a fluid finds its own neighbours. Raises
        `StateError` for states and controls of another model, `TimeStepError` for substeps that are not stable,
        `DivergenceError` where asked for.
        """
        control = control or self.resting
        self._check_arguments(state_in, state_out, control, dt)
        substeps = self._choose_substeps(state_in, dt)
        self._begin(state_in, control)
        for _ in range(substeps):
            self._run_substep(control, dt / substeps, substeps)
        p = self.particles
        into = [state_out.particle_q, state_out.particle_qd, state_out.particle_rho]
        self._run(store, p.water, p.number, p.x, p.v, p.rho, *into)
        if self.streams:
            copy(state_out.poured, self._poured)
        self.steps += 1
        if self.check:
            self._require_finite(state_out)

    def _begin(self, state: State, control: Control) -> None:
        """The state and the poses of shapes into the solver's arrays."""
        p, model = self.particles, self.model
        moving = [state.particle_q, state.particle_qd, state.particle_rho, state.particle_f, model.particle_mass]
        self._run(load, p.water, p.number, *moving, p.x, p.v, p.rho, p.pull, p.mass)
        if model.shape_count:
            copy(self._pose, control.shape_transform)
            self.shape_force.zero_()
        if self.streams:
            copy(self._poured, state.poured)
        for nozzle in self.streams:
            nozzle.require_particles(self._poured[nozzle.number :])
        self._hold_streams()
        self._place_walls(control)

    def _hold_streams(self) -> None:
        for nozzle in self.streams:
            nozzle.hold(self._poured, self.particles, self.fluid_numbers, self.model.dtype(self.support))

    def _run_substep(self, control: Control, h: float, substeps: int) -> None:
        """One substep: as a graph with cluster lists, or recorded, with neighbours looked up in the grid."""
        p = self.particles
        if not self._find_neighbours():
            self._substep(control, h, substeps, False)
            return
        arrays = [control.gravity, control.shape_velocity, p.around_water.ids, p.around_walls.ids]
        key = (h, substeps, *map(id, arrays))  # the graph holds these arrays
        if key not in self._graphs:
            while len(self._graphs) >= _GRAPHS:
                del self._graphs[next(iter(self._graphs))]
            with ScopedCapture(device=self.model.device) as capture:
                self._substep(control, h, substeps, True)
            self._graphs[key] = capture.graph
        capture_launch(self._graphs[key])

    def _find_neighbours(self) -> bool:
        """List them where lists are outdated, or build the grid where the step is recorded; whether they are listed."""
        p = self.particles
        recorded = saved_contents.active() or current_graph() is not None
        if recorded:
            p.build_grid(self.support, self.period)
        elif p.is_outdated:
            p.rebuild(self.support, _MARGIN * self.support, self.period)
        return not recorded

    def _substep(self, control: Control, h: float, substeps: int, listed: bool) -> None:
        """Forces, velocities, densities, positions."""
        p, dt, model = self.particles, self.model.dtype(h), self.model
        kind = (self.kernel, self.dim, any(self.period))
        around, dim = self._around(listed)
        fluid = self.fluid_numbers
        if self.density == "summation":
            self._run(sum_kernel(*kind, listed), dim, *around, p.x, p.mass, p.rho)
            self._hold_streams()
        self._run(press_kernel(self.suction), p.water, fluid, p.rho, p.p)
        if p.walls:
            self._press_walls(control, listed)
            self._push_walls(control, substeps, listed)
        forces = [control.gravity, p.x, p.v, p.slip, p.rho, p.p, p.mass, p.pull, p.a, p.mix]
        slopes = model.requires_grad  # what is zero has a derivative too
        terms = [slopes or number > 0.0 for number in (self.fluid.viscosity, self.fluid.xsph, self.fluid.tension)]
        accelerate = force_kernel(*kind, self.no_slip, *terms, listed)
        self._run(accelerate, dim, *around, fluid, *forces)
        for nozzle in self.streams:
            nozzle.calm(self._poured, p)
        self._run(kick, p.water, dt, p.a, p.mix, p.v)
        if self.density == "continuity":
            rates = [model.dtype(THINNEST), fluid, control.gravity, p.x, p.v, p.rho, p.mass, p.new]
            self._run(continuity_kernel(*kind, self.suction, listed), dim, *around, dt, *rates)
            self._run(take_density, p.water, p.new, p.rho)
        self._move(dt, listed)
        for nozzle in self.streams:
            nozzle.run_on(h, self._poured)
        self._hold_streams()
        if model.shape_count:
            self._run(advance_shapes, model.shape_count, control.shape_velocity, dt, self._pose)
        self._place_walls(control)

    def _move(self, dt: Any, listed: bool) -> None:
        """Positions by velocities, and by what keeps particles in order."""
        p = self.particles
        if not self.fluid.shifting:
            self._run(drift, p.water, dt, p.v, p.x)
            return
        around, dim = self._around(listed)
        shift = shift_kernel(self.kernel, self.dim, any(self.period), listed)
        spacing = self.model.dtype(self.spacing)
        self._run(shift, dim, *around, spacing, self.fluid_numbers, p.x, p.rho, p.mass, p.drift)
        self._run(move_shifted, p.water, dt, p.v, p.drift, p.x)

    def _around(self, listed: bool) -> tuple[list[Any], Any]:
        """What kernels of fluid find neighbours with, and how many threads they have."""
        p = self.particles
        dim = p.around_water.dim if listed else p.water
        return [*self._search(p.around_water, listed), p.water, self.model.dtype(self.smoothing)], dim

    def _around_walls(self, listed: bool) -> tuple[list[Any], Any]:
        """The same of walls."""
        p = self.particles
        dim = p.around_walls.dim if listed else p.walls
        return [*self._search(p.around_walls, listed), p.water, p.walls, self.model.dtype(self.smoothing)], dim

    def _search(self, lists: ClusterList, listed: bool) -> list[Any]:
        """What kernels find neighbours with: rows of clusters, or the grid."""
        rows = [lists.counts, lists.ids] if listed else self._no_rows
        return [*rows, self.particles.grid.id, self.model.dtype(_MARGIN * self.support), lists.period]

    def _place_walls(self, control: Control) -> None:
        """Put wall particles where their shapes are."""
        p = self.particles
        if p.walls:
            sheet = [self.model.dtype(self.dim == 2), self.model.dtype(self._plane)]
            frames = [p.number, p.shape, p.local, self._pose, control.shape_velocity]
            self._run(place_walls, p.walls, p.water, *sheet, *frames, p.x, p.v)
        p.note_moved()

    def _press_walls(self, control: Control, listed: bool) -> None:
        """Pressures in walls, and the velocities that make fluid stick to them."""
        p, (around, dim) = self.particles, self._around_walls(listed)
        press = wall_pressure_kernel(self.kernel, self.dim, any(self.period), self.suction, listed)
        here = [p.x, p.v, p.mass, p.rho[: p.water], p.p[: p.water], p.rho[p.water :], p.p[p.water :], p.slip]
        self._run(press, dim, *around, self.fluid_numbers, control.gravity, *here)

    def _push_walls(self, control: Control, substeps: int, listed: bool) -> None:
        """Forces on particles of walls, and their sums over shapes."""
        p, (around, dim) = self.particles, self._around_walls(listed)
        push = wall_force_kernel(self.kernel, self.dim, any(self.period), self.no_slip, listed)
        self._run(push, dim, *around, self.fluid_numbers, p.number, p.x, p.v, p.slip, p.rho, p.p, p.mass, p.force)
        share, frames = self.model.dtype(1.0 / substeps), [p.first, p.slot, self._pose]
        count = self.model.shape_count
        self._run(sum_forces, count, p.water, *frames, share, p.x, p.force, self.shape_force)

    def _run(self, kernel: Any, dim: Any, *args: Any) -> None:
        launch(kernel, dim, args, device=self.model.device)

    # ----- what is asked of it --------------------------------------------------------------------

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it, for `wp.checkpoint(..., scratch=solver.scratch)`."""
        return [*self.particles.scratch, self._pose, self._poured, self.shape_force]

    @property
    def wall_count(self) -> int:
        """How many particles walls have."""
        return self.particles.walls

    @property
    def walls(self) -> np.ndarray:
        """Where wall particles were at the end of the last step, (walls, 3) [m]."""
        p = self.particles
        return p.x.numpy()[p.slot.numpy()[p.water :]]

    def present(self, state: State) -> np.ndarray:
        """Which particles do not wait behind a nozzle, bool (particles,)."""
        there = np.ones(self.model.particle_count, dtype=bool)
        for nozzle in self.streams:
            there[nozzle.particles[nozzle.released(state) :]] = False
        return there

    def statistics(self, state: State) -> FluidStatistics:
        """What is asked of a state, computed when it is read."""
        return FluidStatistics(self, state)

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

    def _choose_substeps(self, state: State, dt: float) -> int:
        """How many substeps a step has. Raises `TimeStepError` where the number that was asked for is too small."""
        if self.substeps is not None:
            self._check_substeps(dt)
            return self.substeps
        if current_graph() is not None:
            raise StateError(
                "a step of a fluid is captured in a graph, but the host chooses its substeps\n"
                "help: SolverSPH(..., substeps=...) with a number"
            )
        limit = min(self.time_step_limits(state).values())
        if not math.isfinite(limit) or not limit > 0.0:
            raise DivergenceError(f"no time step is short enough after step {self.steps}: a velocity is not finite")
        return math.ceil(dt / limit - 1.0e-9)

    def _check_substeps(self, dt: float) -> None:
        """Raise `TimeStepError` where the number of substeps that was asked for is far too small."""
        least = timestep.limits(self.smoothing, self.fluid.sound, 0.0, 0.0, self.fluid.viscosity)
        timestep.check(dt / self.substeps, least)

    def _check_arguments(self, state_in: State, state_out: State, control: Control, dt: float) -> None:
        if not (isinstance(dt, Real) and math.isfinite(dt) and dt > 0.0):
            raise StateError(f"dt is {dt}\nexpected: a time step above 0 [s]")
        for name, thing in (("state_in", state_in), ("state_out", state_out), ("control", control)):
            if thing.model is not self.model:
                maker = "control" if name == "control" else "state"
                raise StateError(f"{name} belongs to another model\nhelp: make it with solver.model.{maker}()")
            if name != "control" and not hasattr(thing, "poured" if self.streams else "particle_rho"):
                raise StateError(f"{name} was made before the solver\nhelp: call model.state() after SolverSPH(model)")

    def _require_finite(self, state: State) -> None:
        first = self.statistics(state).first_not_finite
        if first is not None:
            raise DivergenceError(
                f"particle {first} is not finite after step {self.steps}\n"
                "help: a shorter time step, a higher speed of sound, or particles that start less close to each other"
            )


def _corners(bounds: Any) -> np.ndarray:
    """Bounds as an array (2, 3) [m]. Raises `ModelError` for what encloses no box."""
    try:
        corners = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        corners = np.empty(0)
    if corners.shape != (2, 3) or not np.isfinite(corners).all() or (corners[0] > corners[1]).any():
        raise ModelError(
            f"bounds is {bounds}\nexpected: two corners of three coordinates [m], the low one first"
        )
    return corners


def _spacing(model: Model, fluid: Fluid, dim: int) -> float:
    """Of the largest particle [m]."""
    return float((model.particle_mass.numpy().max(initial=0.0) / fluid.density) ** (1.0 / dim)) or 1.0


def _check_choices(solver: SolverSPH) -> None:
    """Raise `ModelError` for arguments that name nothing."""
    mass = solver.model.particle_mass.numpy()
    refuse((
        (solver.dim not in (2, 3), f"dim is {solver.dim!r}", "2 or 3"),
        (solver.kernel not in KERNELS, f"kernel is {solver.kernel!r}", "one of " + ", ".join(KERNELS)),
        (solver.density not in ("continuity", "summation"), f"density is {solver.density!r}",
         "'continuity' or 'summation'"),
        substeps_problem(solver.substeps, automatic=True),
        (bool((mass <= 0.0).any()), f"particle {int(np.argmin(mass)) if mass.size else 0} of a fluid has no mass",
         "above 0 [kg]; walls are shapes"),
        period_problem(solver.period),
        (solver.fluid.shifting > 0.0 and not solver.suction,
         f"shifting of a fluid is {solver.fluid.shifting}, but it has free surfaces, as suction is False",
         "suction=True for fluids without free surface, or shifting=0"),
        (solver.fluid.shifting > _MOST_SHIFTING, f"shifting of a fluid is {solver.fluid.shifting}",
         f"0 to {_MOST_SHIFTING:g}; 0.2 to 0.5 is usual"),
    ))  # fmt: skip


def _check_tension(solver: SolverSPH) -> None:
    """Raise `ModelError` where cohesion compresses the fluid by more than a few per cent."""
    fluid, pressure = solver.fluid, solver.cohesion_pressure
    if pressure > _COMPRESSED * fluid.density * fluid.sound**2:
        least = math.sqrt(pressure / (_COMPRESSED * fluid.density))
        raise ModelError(
            f"a tension of {fluid.tension:g} N/m presses particles together with {pressure:.3g} Pa\n"
            f"expected: a speed of sound of at least {least:.3g} m/s, it is {fluid.sound:g}; help: larger particles"
        )


def _check_lengths(solver: SolverSPH, ratio: float) -> None:
    """Raise `ModelError` for smoothing lengths of no use."""
    if not (math.isfinite(solver.spacing) and solver.spacing > 0.0):
        raise ModelError(f"spacing is {solver.spacing}\nexpected: above 0 [m]")
    if not 0.8 <= ratio <= 4.0:
        raise ModelError(f"smoothing is {ratio} spacings\nexpected: 0.8 to 4; 1.2 to 2 is usual")
    if any(0.0 < length < 2.0 * _MARGIN * solver.support for length in solver.period):
        raise ModelError(
            f"period is {solver.period} m\nexpected: at least twice the reach, {2.0 * solver.support:g} m\n"
            "help: smaller particles, or a larger box"
        )
