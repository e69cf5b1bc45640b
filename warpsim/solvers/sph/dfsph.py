"""`SolverDFSPH`: incompressible fluids by two corrections of velocities (J. Bender, D. Koschier 2015 and 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, int32, zeros
from ...core.runtime.devices.capture import current_graph
from ...errors import DivergenceError, ModelError, StateError, shown
from ..neighbours.cluster_list import SIZE
from ..scene.checks import MOST
from ..scene.control import Control, advance_shapes
from ..scene.memory import Memory
from ..scene.model import Model
from ..scene.state import State
from . import timestep
from .around import Near
from .fluid import Fluid
from .forces import kick
from .projection import measure_kernel, press_by, project_kernel, rate_kernel, release
from .solver import SolverSPH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LEAST = 2  # iterations of the correction of density


class SolverDFSPH(SolverSPH):
    """Steps the particles of a model as an incompressible fluid; shapes are walls, filled with rows of particles.

    Before forces act, velocities are corrected until nothing is being compressed, and after that until the density one
    substep later is that at rest: by pressures found in Jacobi's way, which are never negative. The time step is
    bounded by the velocity alone, not by a speed of sound.

    density_error: mean compression after a substep [-]; divergence_error: mean rate of compression, times the substep
    [-]. iterations: of each correction at most. Other arguments are those of `SolverSPH`; smoothing with the cubic
    spline and 1.3 spacings sums volumes of a lattice to one within 0.3 %, so that a block at rest is at rest density.
    Each world iterates until it is done. `last_errors` and `last_iterations`: what was reached, (divergence, density)
    of the last substep, in the worst world. Pressures of the last substep are those of `statistics(state).pressure`;
    they are what corrects velocities, and jump from substep to substep: forces on walls need a mean over many, and of
    water at rest are above its weight, by 6 to 11 % in 2-D and 29 to 49 % in coarse 3-D.

    On a tape the iterations are recorded. How many there are is decided by the host, so a step cannot be captured.
    """

    def __init__(
        self, model: Model, fluid: Fluid | None = None, dim: int = 3, kernel: str = "cubic", smoothing: float = 1.3,
        density_error: float = 1.0e-4, divergence_error: float = 1.0e-3, iterations: int = 100, no_slip: bool = False,
        substeps: int | None = None, period: Sequence[float] = (0.0, 0.0, 0.0), bounds: ArrayLike | None = None,
        spacing: float | None = None, overlaps: str = "warn", check: bool = False,
    ):  # fmt: skip
        for name, value in (("density_error", density_error), ("divergence_error", divergence_error)):
            if not (isinstance(value, Real) and 0.0 < value < 1.0):
                raise ModelError(f"{name} is {shown(value)}\nexpected: between 0 and 1")
        if isinstance(fluid, Fluid) and fluid.tension:
            raise ModelError("an incompressible fluid has surface tension\nexpected: none, or SolverSPH")
        if not (isinstance(iterations, Integral) and _LEAST <= iterations <= MOST):
            raise ModelError(f"iterations is {shown(iterations)}\nexpected: {_LEAST} or more, whole, up to {MOST}")
        super().__init__(
            model,
            fluid,
            dim,
            kernel,
            smoothing,
            "summation",
            False,
            no_slip,
            substeps,
            period,
            bounds,
            spacing,
            overlaps,
            check,
        )
        self.density_error, self.divergence_error, self.iterations = density_error, divergence_error, iterations
        n, options = model.particle_count, {"device": model.device, "requires_grad": True}
        self._stiffness, self._error = (zeros(n, model.dtype, **options) for _ in range(2))
        self._push, self._pushed = (zeros(self.particles.total + SIZE, model.dtype, **options) for _ in range(2))
        self.last_errors, self.last_iterations = (0.0, 0.0), (0, 0)

    _farthest = 2.0  # substeps are chosen for a whole step, in which fluid may become faster

    # ----- one substep ----------------------------------------------------------------------------

    def _run_substep(self, control: Control, h: float, substeps: int) -> None:
        if current_graph() is not None:
            raise StateError(
                "a step of an incompressible fluid is captured in a graph, but the host counts its iterations\n"
                "help: call step() outside of the capture"
            )
        self._place_walls(control, h)
        self._substep(control, h, substeps, self._near(self._find_neighbours()))

    def _substep(self, control: Control, h: float, substeps: int, near: Near) -> None:
        """Densities, no divergence, forces, density at rest, positions."""
        p, dt, model = self.particles, self.model.dtype(h), self.model
        self._pushed.zero_()
        self._run_near(measure_kernel, near.water, (), p.x, p.mass, p.rho, self._stiffness)
        divergence = self._correct(True, dt, near)
        self._act(control, dt, near)
        density = self._correct(False, dt, near)
        errors, iterations = zip(divergence, density, strict=True)
        self._put(last_errors=errors, last_iterations=iterations)
        self._run(press_by, p.water, dt, self._pushed, p.rho, p.p, p.push)
        if p.walls:
            self._push_walls(control, substeps, near)
        self._move(dt, near)
        self._hold_fluid(control, dt, substeps, near)
        if model.shape_count:
            self._run(advance_shapes, model.shape_count, control.shape_velocity, dt, self._pose)

    def _act(self, control: Control, dt: float, near: Near) -> None:
        """Gravity, forces from outside and viscosity."""
        p = self.particles
        p.p.zero_()
        if p.walls:
            self._press_walls(control, near)
        p.p.zero_()
        p.push.zero_()
        self._spin_fluid(near)
        self._accelerate(control, near)
        self._run(kick, p.water, dt, p.a, p.mix, p.v)

    def _correct(self, divergence: bool, dt: float, near: Near) -> tuple[float, int]:
        """Change velocities until nothing is compressed; the error that is left, and the number of iterations."""
        p, goal = self.particles, self.divergence_error if divergence else self.density_error
        here = [p.x, p.v, p.mass, p.rho, self._stiffness, self._push, self._error]
        for k in range(self.iterations + 1):
            self._run_near(rate_kernel, near.water, (divergence,), dt, self.fluid_numbers, *here)
            errors = self._mean_errors()
            met = (errors <= goal) & (divergence or k >= _LEAST)
            if met.all() or k == self.iterations:
                break
            if met.any():
                done = array(met.astype(np.int32), dtype=int32, device=self.model.device)
                self._run(release, p.water, p.world, done, self._push)
            self._run_near(project_kernel, near.water, (), p.x, p.mass, self._push, self._pushed, p.v)
        return float(errors.max()), k

    def _mean_errors(self) -> np.ndarray:
        """Of each world, which stops when its own is small enough, (worlds,)."""
        error, ends = self._error.numpy(), np.cumsum(self.particles.places.water)
        means = np.array([e.mean(dtype=np.float64) if len(e) else 0.0 for e in np.split(error, ends[:-1])])
        if not np.isfinite(means).all():
            first = int(np.flatnonzero(~np.isfinite(means))[0])
            where = f" of world {first}" if len(means) > 1 else ""
            at = f"a particle{where} is not finite in step {self.steps + 1}"
            raise DivergenceError(f"{at}\nhelp: a shorter time step")
        return means

    # ----- what is asked of it --------------------------------------------------------------------

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it, for `wp.checkpoint(..., scratch=solver.scratch)`."""
        return [*super().scratch, self._stiffness, self._error, self._push, self._pushed]

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        own = {name: getattr(self, name) for name in ("density_error", "divergence_error", "iterations")}
        compressible = ("density", "suction", "streams")
        return {**{name: value for name, value in super().arguments().items() if name not in compressible}, **own}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {**super().memory(), "errors": self.last_errors, "iterations": self.last_iterations}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        super().recall(memory)
        self._put(last_errors=tuple(memory["errors"]), last_iterations=tuple(memory["iterations"]))

    def pressure(self, state: State) -> np.ndarray:
        """Of every particle in the last substep, (particles,) [Pa]."""
        p = self.particles
        return p.p.numpy()[p.slot.numpy()[: p.water]].astype(np.float64)

    def time_step_limits(self, state: State) -> dict[str, float]:
        """The longest substeps [s] of a state, by reason: "speed", "forces", "viscosity"."""
        speed, pull = self._pace(state)
        return timestep.incompressible_limits(self.smoothing, self.spacing, speed, pull, self._viscosity)

    @property
    def _fastest(self) -> float:
        return math.inf

    def _limits_at_rest(self) -> dict[str, float]:
        return timestep.incompressible_limits(self.smoothing, self.spacing, 0.0, 0.0, self._viscosity)

    @property
    def _viscosity(self) -> float:
        """Of laminar and of artificial viscosity together [m^2/s] (J. Monaghan 2005)."""
        alpha, nu, sound = (float(n) for n in self.fluid_numbers.numpy()[[2, 3, 1]])
        return nu + alpha * sound * self.smoothing / (2.0 * (self.dim + 2.0))
