"""The pressure of grains along a wall."""

from __future__ import annotations

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError
from ..scene.checks import finite_numbers, refuse
from .network import ContactNetwork


@checked
def wall_pressure(network: ContactNetwork, shape: int, along, edges, width: float) -> np.ndarray:
    """The pressure on strips of a wall, (strips,) [Pa]: what grains press across it, by the area of each strip.

    shape: the number of the wall. along: the direction (3,) in which strips follow each other; edges: where they begin
    and end that way, (strips + 1,) [m], of points (3,) the part along it. width: of the strips [m]; of a round silo
    the circumference. Grains press at points: strips of less than a few diameters, and single moments, are noisy.

    Raises `ModelError` for a shape that the network has not looked at, for edges that do not rise, and for a direction
    or a width of 0.
    """
    along, edges = finite_numbers(along, "along", (3,)), numbers(edges, "edges", (-1,))
    length = float(np.linalg.norm(along))
    directed, wide = length > 0.0, width > 0.0
    refuse(
        ((not directed, f"along is {along.tolist()}", "a direction"), (not wide, f"width is {width}", "above 0 [m]"))
    )
    if len(edges) < 2 or not (np.diff(edges) > 0.0).all():
        raise ModelError(f"edges are {edges.tolist()}\nexpected: two or more that rise [m]")
    if shape not in network.walls:
        raise ModelError(f"shape is {shape}\nexpected: one of the network's walls, {network.walls.tolist()}")
    own = network.wall_shape == shape
    at, press = network.wall_point[own] @ along / length, network.wall_pressing[own]
    return np.asarray(np.histogram(at, edges, weights=press)[0] / (width * np.diff(edges)))
