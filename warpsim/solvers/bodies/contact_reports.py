"""What is said of contacts on the host: overlaps at the start, pairs that were lost, forces of a step."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import shown
from ..scene.start_warning import StartWarning

if TYPE_CHECKING:
    from ..scene.state import State
    from .touching import Touching

_DEEP = 20.0
"""How many times the depth that counts as touching an overlap is before anybody hears of it."""


_MOST = 2**31 // 4 - 1
"""Pairs, of four points each, whose points are counted in 32 bits."""


class PairsWarning(UserWarning):
    """More pairs of shapes were near each other than a solver keeps: some did not touch."""


class ContactForces(NamedTuple):
    """Contacts of a step, a row each.

    shapes: numbers, (n, 2). points: middles of what presses, (n, 3) [m]. normals: from the first shape to the second,
    (n, 3). forces: on the second shape, mean over the step, (n, 3) [N]; the first feels the opposite.
    """

    shapes: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    forces: np.ndarray


def pairs_problem(contact_pairs: object) -> tuple[bool, str, str]:
    """For `refuse`: what is no number of pairs."""
    good = contact_pairs is None or (isinstance(contact_pairs, Integral) and 1 <= contact_pairs <= _MOST)
    return not good, f"contact_pairs is {shown(contact_pairs)}", f"an integer, 1 to {_MOST}, or None"


def contact_forces(state: State, touching: bool) -> ContactForces:
    """What pressed in the step that led to a state. touching: whether anything can, so that states know of it."""
    if not touching:
        place = np.zeros((0, 3), state.body_q.numpy().dtype)
        return ContactForces(np.zeros((0, 2), np.int32), place, place.copy(), place.copy())
    shapes, force = state.contact_shapes.numpy(), state.contact_force.numpy()
    pressed = (shapes[:, 0] >= 0) & force.any(axis=1)
    arrays = (shapes, state.contact_point.numpy(), state.contact_normal.numpy(), force)
    return ContactForces(*(rows[pressed] for rows in arrays))


def deepest_overlap(touching: Touching) -> tuple[int, int, float] | None:
    """Of the pairs that were measured last: both shapes and how deep they overlap [m]; None where none does."""
    count = int(touching.pairs.count.numpy()[0])
    features, gap = touching.features[0].numpy()[:count], touching.gap.numpy().reshape(-1, 4)[:count]
    depth = np.where(features >= 0, -gap, 0.0).max(axis=1, initial=0.0) if count else np.zeros(0)
    deep = np.flatnonzero(depth > _DEEP * touching.still.numpy()[:count])
    if not deep.size:
        return None
    c = deep[np.argmax(depth[deep])]
    one, two = touching.shapes.numpy()[c].tolist()
    return one, two, float(depth[c])


def warn_of_overlap(touching: Touching, stacklevel: int) -> None:
    """Warn of the pair that starts deepest inside of each other."""
    overlap = deepest_overlap(touching)
    if overlap is None:
        return
    body = touching.model.shape_body.numpy()
    one, two = (f"shape {s}" + (f" of body {body[s]}" if body[s] >= 0 else "") for s in overlap[:2])
    warnings.warn(
        f"{one} and {two} start {overlap[2]:.3g} m inside of each other, and are pushed out slowly\n"
        "help: start them apart; parts of one body or of joined bodies do not touch each other",
        StartWarning,
        stacklevel=stacklevel + 1,
    )


def warn_of_overflow(touching: Touching, step: int, stacklevel: int) -> bool:
    """Warn of pairs that did not fit in the last step; whether there were any."""
    number = int(touching.pairs.number.numpy()[0])
    if number > touching.capacity:
        warnings.warn(
            f"step {step}: {number} pairs of shapes are near each other, and {touching.capacity} are kept; others did "
            f"not touch\nhelp: SolverBodies(..., contact_pairs={2 * number})",
            PairsWarning,
            stacklevel=stacklevel + 1,
        )
    return number > touching.capacity
