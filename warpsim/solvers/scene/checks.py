"""Checks of a model before a simulation: numbers that no material has, and rest shapes without size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import numbers
from ...errors import ModelError, StateError, shown
from . import soft
from .control import Control
from .model import Model
from .state import State

if TYPE_CHECKING:
    from .builder import ModelBuilder

MOST = 1_000_000  # substeps or iterations
_COEFFICIENT = "0 or more, finite"  # times no pressure at all an infinite one would be NaN
_FLAT = 1.0e-12
"""A triangle or tetrahedron of less than this, relative to its longest edge squared or cubed, has no rest shape."""


def refuse(problems: Iterable[tuple[bool, str, str]]) -> None:
    """Raise `ModelError` for the first problem that is there: (whether it is, what there is, what is expected)."""
    for present, message, expected in problems:
        if present:
            raise ModelError(f"{message}\nexpected: {expected}")


def finite_numbers(value: object, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """A value as finite numbers, see `numbers`. Raises `ModelError` where one is NaN or infinite."""
    result = numbers(value, name, shape)
    refuse(((not np.isfinite(result).all(), f"{name} is {shown(value)}", "finite numbers"),))
    return result


def period_problem(period: Sequence[float]) -> tuple[bool, str, str]:
    """For `refuse`: extents of a periodic box [m] that are none."""
    listed = isinstance(period, Sequence | np.ndarray) and len(period) == 3
    good = listed and all(isinstance(p, Real) and math.isfinite(p) and p >= 0.0 for p in period)
    return not good, f"period is {shown(period)}", "three lengths [m], 0 for none"


def count(value: object, name: str, also: str = "") -> int:
    """A number of substeps or iterations. Raises `ModelError` for what is none, or without end.

    also: what the message says may be given as well.
    """
    if not (isinstance(value, Integral) and 1 <= value <= MOST):
        raise ModelError(f"{name} is {shown(value)}\nexpected: an integer, 1 to {MOST}{also}")
    return int(value)


def count_or_none(value: object, name: str) -> int | None:
    """The same, where None lets the solver choose."""
    return None if value is None else count(value, name, ", or None")


def flag(value: object, name: str) -> bool:
    """Raises `ModelError` for what is neither True nor False."""
    if not isinstance(value, bool):
        raise ModelError(f"{name} is {shown(value)}\nexpected: True or False")
    return value


def positive(value: object, name: str) -> float:
    """A number. Raises `ModelError` for what is none, not finite, or not above 0."""
    if not (isinstance(value, Real) and 0.0 < value < math.inf):
        raise ModelError(f"{name} is {shown(value)}\nexpected: a finite number above 0")
    return float(value)


def model_problem(model: object) -> tuple[bool, str, str]:
    """For `refuse`: what is no model."""
    return not isinstance(model, Model), f"model is {shown(model)}", "a Model, as ModelBuilder.finalize() makes it"


def check_call(control: object, contacts: object, dt: object) -> None:
    """Raise `StateError` for a step without a time, and for a number in the place of something else."""
    for name, thing in (("control", control), ("contacts", contacts)):
        if isinstance(thing, Real):
            raise StateError(
                f"{name} is {shown(thing)}, a number\nexpected: step(state_in, state_out, control, contacts, dt)\n"
                f"help: step(state_in, state_out, dt={shown(thing)}) leaves control and contacts out"
            )
    if dt is None:
        raise StateError("dt is None\nexpected: a time step above 0 [s], as in step(state_in, state_out, dt=0.01)")


def check_step(
    solver: Any, field: str, states: tuple[State, State], control: Control, contacts: object, dt: object
) -> None:
    """Raise `StateError` for arguments of a step of particles that are none.

    field: of states that were made after the solver. states: `state_in` and `state_out`.
    """
    check_call(control, contacts, dt)
    if not (isinstance(dt, Real) and math.isfinite(dt) and dt > 0.0):
        raise StateError(f"dt is {shown(dt)}\nexpected: a time step above 0 [s]")
    if contacts is not None:
        raise StateError(f"contacts is {shown(contacts)}\nexpected: None, this solver finds its own neighbours")
    for name, state in zip(("state_in", "state_out"), states, strict=True):
        check_state(solver, field, name, state)
    check_own(solver.model, "control", control, Control)
    control.check_replaced("control")
    solver.model.check_replaced("model")
    solver.check_replaced("solver")


def check_state(solver: Any, field: str, name: str, state: object) -> None:
    """Raise `StateError` for what is no state that a solver steps. field: of states that were made after it."""
    check_own(solver.model, name, state, State)
    assert isinstance(state, State)
    if not hasattr(state, field):
        maker = f"{type(solver).__name__}(model)"
        raise StateError(f"{name} was made before the solver\nhelp: call model.state() after {maker}")
    state.check_replaced(name)


def check_own(model: Model, name: str, thing: Any, kind: type) -> None:
    """Raise `StateError` for what is not of a kind, or belongs to another model."""
    if not isinstance(thing, kind):
        raise StateError(f"{name} is {shown(thing)}\nexpected: a {kind.__name__} of the solver's model")
    if thing.model is not model:
        maker = f"solver.model.{kind.__name__.lower()}()"
        raise StateError(f"{name} belongs to another model\nhelp: make it with {maker}")


def check_gradients(model: Model, states: tuple[State, State], control: Control, changed: Sequence[str]) -> None:
    """Raise `StateError` for a state that would cut gradients on their way, which leaves wrong ones behind it.

    states: that of the beginning of a step, and that of its end. changed: the arrays that a step writes.
    """
    before, after = states
    if all(getattr(after, name).requires_grad for name in changed):
        return
    sources = {"state_in": before.arrays, "control": control.arrays, "the model": vars(model)}
    for name, arrays in sources.items():
        if any(getattr(a, "requires_grad", False) for a in arrays.values()):
            raise StateError(
                f"state_out has no gradients, and {name} has: on a tape they would end here\n"
                "help: model.state(requires_grad=True) for every state of a rollout"
            )


def check_materials(builder: ModelBuilder) -> None:
    """Raise `ModelError` for the first thing that is no physics."""
    mass, radius = builder.particles["mass"], builder.particles["radius"]
    _need(mass >= 0.0, "particle {} has the mass {:g} kg", mass, "0 or more")
    _need(radius >= 0.0, "particle {} has the radius {:g} m", radius, "0 or more")
    if not isinstance(builder.gravity, Real) or not math.isfinite(builder.gravity):
        raise ModelError(
            f"gravity is {builder.gravity}\nexpected: one finite number, along {builder.up_axis} [m/s^2]\n"
            "help: name another axis by up_axis, or write any direction to control.gravity"
        )
    for name, what in (("q", "position"), ("qd", "velocity")):
        value = builder.particles[name]
        _need(np.isfinite(value).all(axis=1), "particle {} has the " + what + " {}", value, "finite numbers")
    tables = (builder.springs, builder.edges, builder.attachments, builder.triangles, builder.tetrahedra)
    for rows in tables:
        _need(rows["damping"] >= 0.0, rows.what + ": row {} has the damping {:g}", rows["damping"], "0 or more")
    for name in ("drag", "lift"):
        coefficient = builder.triangles[name]
        _need(coefficient >= 0.0, "triangle {} has the coefficient of " + name + " {:g}", coefficient, "0 or more")
    reach = builder.tethers["length"]
    _need(reach >= 0.0, "tether {} has the length {:g} m", reach, "0 or more: a slack of -1 or more")
    rest = builder.springs["rest_length"]
    _need(rest >= 0.0, "spring {} has the rest length {:g} m", rest, "0 or more")
    mu, static = builder.shapes["mu"], builder.shapes["mu_static"]
    _need((mu >= 0.0) & (mu < math.inf), "shape {} has the friction mu = {:g}", mu, _COEFFICIENT)
    sticks = (static >= mu) & (static < math.inf)
    _need(sticks, "shape {} has the static friction {:g}", static, "mu or more, as sticking is not less, and finite")
    for name, what in (("mu_torsional", "torsional"), ("mu_rolling", "rolling")):
        value, text = builder.shapes[name], "shape {} has the " + what + " friction {:g} m"
        _need((value >= 0.0) & (value < math.inf), text, value, _COEFFICIENT)
    e = builder.shapes["restitution"]
    _need((e >= 0.0) & (e <= 1.0), "shape {} has the restitution {:g}", e, "0 to 1")
    _check_triangles(builder)
    _check_tetrahedra(builder)


def _check_triangles(builder: ModelBuilder) -> None:
    """Membranes need an area at rest, and an elastic law that is one."""
    table = builder.triangles
    stiff = (table["ke"] > 0.0).any(axis=1)
    both = (table["ke"] > 0.0).all(axis=1) | ~(table["ke"] > 0.0).any(axis=1)
    _need(both, "triangle {} has the stiffness {} along warp and weft", table["ke"], "both above 0, or both 0")
    rest = table["rest"].reshape(-1, 3, 2)
    first, second = rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]
    area = 0.5 * (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
    size = np.maximum((first**2).sum(axis=1), (second**2).sum(axis=1))
    help = "an area above 0, counter-clockwise on the sheet\nhelp: merge equal vertices, or swap two corners"
    _need(~stiff | (area > _FLAT * size), "triangle {} has the rest area {:g} m^2", area, help)
    nu = table["nu"]
    _need(~stiff | ((nu > -1.0) & (nu < 1.0)), "triangle {} has Poisson's ratio {:g}", nu, "-1 to 1, as sheets have")
    _need((table["ke"] >= 0.0).all(axis=1), "triangle {} has the stiffness {:g}", table["ke"].min(axis=1), "0 or more")


def _check_tetrahedra(builder: ModelBuilder) -> None:
    """Tetrahedra need a volume at rest, and stiffness."""
    rest = builder.tetrahedra["rest"].reshape(-1, 3)
    volume = soft.volumes(rest, np.arange(len(rest)).reshape(-1, 4))
    corners = rest.reshape(-1, 4, 3)
    size = np.linalg.norm(corners[:, 1:] - corners[:, :1], axis=2).max(axis=1, initial=0.0)
    help = "a volume above 0\nhelp: swap two corners of an inverted one; remove one without volume"
    _need(volume > _FLAT * size**3, "tetrahedron {} has the rest volume {:g} m^3", volume, help)
    for name in ("mu", "lam"):
        modulus = builder.tetrahedra[name]
        ok = modulus > 0.0 if name == "mu" else modulus >= 0.0
        _need(ok, "tetrahedron {} has Lame's parameter " + name + " = {:g} Pa", modulus, "above 0, see lame()")


def _need(holds: np.ndarray, text: str, values: np.ndarray, expected: str) -> None:
    """Raise for the first row where a condition does not hold."""
    bad = np.flatnonzero(~holds)
    if len(bad):
        raise ModelError(f"{text.format(bad[0], values[bad[0]])}\nexpected: {expected}")
