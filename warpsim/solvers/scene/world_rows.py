"""Which rows of a model's arrays are of which world: a range each, as all is of the world of its particles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError

if TYPE_CHECKING:
    from .fields import Field
    from .model import Model


def world_rows(
    fields: Mapping[str, Field],
    columns: Mapping[str, np.ndarray],
    pressure_faces: Sequence[np.ndarray],
    counts: Mapping[str, int],
) -> dict[str, np.ndarray]:
    """Where the rows of each world begin and end, (worlds, 2), by group; those of shapes are without those of all.

    Raises `ModelError` for what joins particles of different worlds, and for worlds whose rows do not lie together.
    """
    count = counts["world"]
    if count == 1:
        return {group: np.array([[0, rows]]) for group, rows in counts.items()}
    world, ranges = np.asarray(columns["particle_world"]), {"world": np.arange(count)[:, None] + [0, 1]}
    ranges["particle"] = _ranges(world, count, "particle")
    ranges["body"] = _ranges(np.asarray(columns["body_world"]), count, "body")
    of_child = np.asarray(columns["body_world"])[np.asarray(columns["joint_child"])]
    ranges["joint"] = _ranges(of_child, count, "joint")
    _check_joints(columns, of_child)
    ranges["shape"] = _ranges(np.asarray(columns["shape_world"]), count, "shape")
    pairs = np.asarray(columns["shape_world"])[np.asarray(columns["exclusion_shapes"]).reshape(-1, 2)]
    ranges["exclusion"] = _ranges(pairs.max(axis=1, initial=-1), count, "exclusion")
    for name, f in fields.items():
        if f.refers == "particle" and f.per not in ranges:
            rows = np.asarray(columns[name])
            corners = rows.reshape(len(rows), int(np.prod(rows.shape[1:])))
            ranges[f.per] = _ranges(_one_each(world[corners], f.per), count, f.per)
    surfaces = np.array([_one_each(world[faces.reshape(1, -1)], "pressure")[0] for faces in pressure_faces], dtype=int)
    ranges["pressure"] = _ranges(surfaces, count, "pressure")
    shapes = np.asarray(columns["attachment_shape"])
    there = np.where(shapes >= 0, np.append(np.asarray(columns["shape_world"]), -1)[shapes], -1)
    own = world[np.asarray(columns["attachment_particle"])]
    wrong = np.flatnonzero((there >= 0) & (there != own))
    if len(wrong):
        k = wrong[0]
        raise ModelError(f"attachment {k} holds a particle of world {own[k]} by a shape of world {there[k]}")
    return {group: ranges[group] for group in counts}


def _check_joints(columns: Mapping[str, np.ndarray], worlds: np.ndarray) -> None:
    """Raise `ModelError` for a joint between bodies of different worlds. worlds: of the children."""
    parent = np.asarray(columns["joint_parent"])
    wrong = np.flatnonzero((parent >= 0) & (np.append(columns["body_world"], -1)[parent] != worlds))
    if len(wrong):
        raise ModelError(f"joint {wrong[0]} holds a body of world {worlds[wrong[0]]} to one of another world")


def _one_each(worlds: np.ndarray, what: str) -> np.ndarray:
    """The world of each row, of those of its particles (n, k)."""
    mixed = np.flatnonzero((worlds != worlds[:, :1]).any(axis=1))
    if len(mixed):
        row = mixed[0]
        raise ModelError(
            f"{what} {row} joins particles of worlds {sorted(set(worlds[row].tolist()))}\nexpected: of one world"
        )
    return worlds[:, 0]


def _ranges(of: np.ndarray, count: int, what: str) -> np.ndarray:
    """Where the rows of each world begin and end, of the world of each row; -1: of none."""
    own = np.flatnonzero(of >= 0)
    sizes = np.bincount(of[own], minlength=count)
    ends = np.cumsum(sizes)
    begins = np.append(own, 0)[np.minimum(ends - sizes, len(own))]
    begins[sizes == 0] = 0
    listed = np.repeat(begins - (ends - sizes), sizes) + np.arange(len(own))
    if len(own) and (of[listed] != np.repeat(np.arange(count), sizes)).any():
        raise ModelError(
            f"rows of kind {what!r} do not lie together, world by world\nhelp: add everything to the builder that "
            "add_world takes, before"
        )
    return np.stack([begins, begins + sizes], axis=1)


def of_world(model: Model, particle: int) -> str:
    """Words behind the name of a particle: its world, where a model has several."""
    return f" of world {model.particle_world.numpy()[particle]}" if model.world_count > 1 else ""
