"""Drag and lift of a body in a flow, from the force on its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError
from ..scene.checks import finite_numbers, refuse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@checked
def drag_and_lift(
    force: ArrayLike, flow: ArrayLike, lift: ArrayLike = (0.0, 1.0, 0.0)
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The parts of a force [N] along a flow and across it: drag and lift, each (...) [N].

    force: of a shape (..., 3) [N], such as `solver.shape_force.numpy()[shape, 3:]`, also of many moments; of sheets per
    metre of depth. flow: velocity of the fluid far away, relative to the body, (3,). lift: the direction (3,) in which
    lift counts as positive; what it has along the flow is left out. shape_force holds pressure at rest too: take off
    buoyancy where it is large.

    Raises `ModelError` for a flow of no speed, and for a direction of lift along it.
    """
    force, flow = numbers(force, "force"), finite_numbers(flow, "flow", (3,))
    across = finite_numbers(lift, "lift", (3,))
    refuse(((force.shape[-1:] != (3,), f"force has shape {force.shape}", "(..., 3)"),))
    speed = float(np.linalg.norm(flow))
    refuse(((not speed > 0.0, f"flow is {flow.tolist()} m/s", "above 0"),))
    along = flow / speed
    across = across - (across @ along) * along
    size = float(np.linalg.norm(across))
    if size < 1.0e-9:
        raise ModelError(f"lift is {lift}, along the flow {flow.tolist()}\nexpected: a direction across it")
    return force @ along, force @ across / size


@checked
def force_coefficient(force: ArrayLike, density: float, speed: float, area: float) -> np.ndarray:
    """The coefficient of drag or lift, force / (density speed^2 area / 2), [-], of forces of any shape [N].

    density [kg/m^3] and speed [m/s] of the fluid far away; area [m^2]: of what the body hides of the flow; of
    sheets its height [m]. Raises `ModelError` for numbers that are not above 0.
    """
    values = (("density", density), ("speed", speed), ("area", area))
    refuse((not value > 0.0, f"{name} is {value}", "above 0") for name, value in values)
    return np.asarray(numbers(force, "force") / (0.5 * density * speed**2 * area))
