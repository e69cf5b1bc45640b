"""Checks of the fluid solvers: bounds, lengths, sheets, cohesion, and numbers of states that are out of range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ...core.runtime.devices.capture import current_graph
from ...errors import DivergenceError, ModelError, shown
from ..particles.statistics import first_not_finite
from ..scene.checks import period_problem, refuse
from ..scene.world_rows import of_world
from .fluid import Fluid
from .smoothing import KERNELS
from .start import OVERLAPS
from .stream import FluidStream, without_streams

if TYPE_CHECKING:
    from ..scene.model import Model
    from ..scene.state import State
    from .solver import SolverSPH

MARGIN = 1.04  # of the support: how much nearer two particles can be half a step later
_MOST_SHIFTING = 1.0  # particles that shift further in a substep overshoot
_COMPRESSED = 0.05  # of the density at rest, by cohesion
_FLAT = 1.0e-3  # of the spacing
FASTEST = 20.0  # times the speed of sound: nothing that flows, and substeps without end


def corners_of(bounds: object, worlds: int) -> np.ndarray:
    """Bounds of each world, (worlds, 2, 3) [m]. Raises `ModelError` for what encloses no box."""
    try:
        corners = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        corners = np.empty(0)
    fits = corners.shape in ((2, 3), (worlds, 2, 3))
    if not fits or not np.isfinite(corners).all() or (corners[..., 0, :] > corners[..., 1, :]).any():
        more = f", or such of each of {worlds} worlds" if worlds > 1 else ""
        raise ModelError(f"bounds is {bounds}\nexpected: two corners of three coordinates [m], the low one first{more}")
    return np.broadcast_to(corners, (worlds, 2, 3)).copy()


def spacing_of(model: Model, fluid: Fluid, dim: int) -> float:
    """Of the largest particle [m]."""
    return float((model.particle_mass.numpy().max(initial=0.0) / fluid.density) ** (1.0 / dim)) or 1.0


def check_choices(
    solver: SolverSPH, smoothing: float, spacing: float | None, period: Sequence[float], overlaps: str
) -> None:
    """Raise `ModelError` for arguments that name nothing."""
    mass, lengths = solver.model.particle_mass.numpy(), (smoothing, 1.0 if spacing is None else spacing)
    refuse((
        (not isinstance(solver.fluid, Fluid), f"fluid is {shown(solver.fluid)}", "a Fluid"),
        *((not isinstance(value, Real), f"{name} is {shown(value)}", "a number")
          for name, value in zip(("smoothing", "spacing"), lengths, strict=True)),
        (overlaps not in OVERLAPS, f"overlaps is {shown(overlaps)}", ", ".join(map(repr, OVERLAPS))),
    ))  # fmt: skip
    refuse((
        (solver.dim not in (2, 3), f"dim is {solver.dim!r}", "2 or 3"),
        (solver.kernel not in KERNELS, f"kernel is {solver.kernel!r}", "one of " + ", ".join(KERNELS)),
        (solver.density not in ("continuity", "summation"), f"density is {solver.density!r}",
         "'continuity' or 'summation'"),
        (bool((mass <= 0.0).any()), f"particle {int(np.argmin(mass)) if mass.size else 0} of a fluid has no mass",
         "above 0 [kg]; walls are shapes"),
        period_problem(period),
        (solver.fluid.shifting > 0.0 and not solver.suction,
         f"shifting of a fluid is {solver.fluid.shifting}, but it has free surfaces, as suction is False",
         "suction=True for fluids without free surface, or shifting=0"),
        (solver.fluid.shifting > _MOST_SHIFTING, f"shifting of a fluid is {solver.fluid.shifting}",
         f"0 to {_MOST_SHIFTING:g}; 0.2 to 0.5 is usual"),
    ))  # fmt: skip


def check_sheet(solver: SolverSPH, streams: Sequence[FluidStream]) -> None:
    """Raise `ModelError` where a fluid of two dimensions is not in one plane, or leaves it."""
    if solver.dim != 2:
        return
    model = solver.model
    z, speed = (without_streams(a.numpy(), streams)[:, 2] for a in (model.particle_q, model.particle_qd))
    z = np.array([*z, *(s.position[2] for s in streams)])
    width, pulls = float(np.ptp(z)) if len(z) else 0.0, model.gravity.numpy()[:, 2]
    pull = float(pulls[np.argmax(np.abs(pulls))])
    refuse((
        (width > _FLAT * solver.spacing, f"particles and nozzles of a sheet lie up to {width:g} m apart along z",
         "one z for all, or dim=3"),
        (bool(speed.any()), "particles of a sheet move along z", "no velocity along z, or dim=3"),
        (pull != 0.0, f"gravity of a sheet is {pull:g} m/s^2 along z", "none: ModelBuilder(up_axis='Y'), or dim=3"),
    ))  # fmt: skip


def check_tension(solver: SolverSPH) -> None:
    """Raise `ModelError` where cohesion compresses the fluid by more than a few per cent."""
    fluid, pressure = solver.fluid, solver.cohesion_pressure
    if pressure > _COMPRESSED * fluid.density * fluid.sound**2:
        least = math.sqrt(pressure / (_COMPRESSED * fluid.density))
        raise ModelError(
            f"a tension of {fluid.tension:g} N/m presses particles together with {pressure:.3g} Pa\n"
            f"expected: a speed of sound of at least {least:.3g} m/s, it is {fluid.sound:g}; help: larger particles"
        )


def check_lengths(solver: SolverSPH, ratio: float, bounds: np.ndarray | None) -> None:
    """Raise `ModelError` for smoothing lengths of no use."""
    if not (math.isfinite(solver.spacing) and solver.spacing > 0.0):
        raise ModelError(f"spacing is {solver.spacing}\nexpected: above 0 [m]")
    if not 0.8 <= ratio <= 4.0:
        raise ModelError(f"smoothing is {ratio} spacings\nexpected: 0.8 to 4; 1.2 to 2 is usual")
    if any(0.0 < length < 2.0 * MARGIN * solver.support for length in solver.period):
        raise ModelError(
            f"period is {solver.period} m\nexpected: at least twice the reach, {2.0 * solver.support:g} m\n"
            "help: smaller particles, or a larger box"
        )
    unknown = bounds is None or not solver.model.particle_count
    sides = np.zeros((1, 3)) if unknown else (bounds[:, 1] - bounds[:, 0])[:, : solver.dim]
    narrow = ((sides > 0.0) & (sides < solver.smoothing)).any(axis=1)
    if narrow.any():
        raise ModelError(
            f"the smoothing length is {solver.smoothing:g} m, bounds are {sides[narrow][0].tolist()} m wide\n"
            "expected: a box wider than that; help: smaller particles, whose spacing follows from their mass"
        )


# ----- states -------------------------------------------------------------------------------------


def require_finite(solver: SolverSPH, state: State) -> None:
    """Raise `DivergenceError` for the first particle whose position or velocity is NaN or infinite."""
    first = first_not_finite(state.particle_q, state.particle_qd) if current_graph() is None else None
    if first is not None:
        raise DivergenceError(
            f"particle {first}{of_world(solver.model, first)} is not finite after step {solver.steps}\n"
            "help: a shorter time step, a higher speed of sound, or particles that start less close to each other"
        )


def require_pace(solver: SolverSPH, state: State, most: float) -> None:
    """Raise `DivergenceError` for what moves so fast, `most` [m/s] or more, that no number of substeps follows it."""
    speed = np.linalg.norm(state.particle_qd.numpy().astype(np.float64), axis=1)
    fast = ~(speed < most)
    if fast.any():
        first = int(np.flatnonzero(fast)[0])
        raise DivergenceError(
            f"particle {first}{of_world(solver.model, first)} moves at {speed[first]:.3g} m/s "
            f"after step {solver.steps}: no time step is short enough\n"
            "help: particles that start less close to each other, or a speed of sound of ten times the fastest flow"
        )
