"""How prims move: not at all, as a rigid body, or with points that change; and at which time codes that is known."""

from __future__ import annotations

import numpy as np
from pxr import Usd, UsdGeom

from warpsim.usd.checks import UsdError
from warpsim.usd.scene import MOST_FRAMES, matrix_of

STILL, RIGID, DEFORMING = "still", "rigid", "deforming"

_SHAPES = {"copies": ("positions", "orientations", "orientationsf", "scales", "protoIndices"), "solid": ()}
_TURNED = 1.0e-4  # by how much lengths and angles of a rigid body may change, as tools round them


def movement_of(prim: Usd.Prim, kind: str, path: str) -> tuple[str, np.ndarray]:
    """`STILL`, `RIGID` or `DEFORMING`, and sorted time codes between which USD interpolates: all samples, and every
    whole time code between them, as rotations are no straight lines."""
    shape = _samples([prim.GetAttribute(name) for name in _SHAPES.get(kind, ("points",))])
    placed: set[float] = set()
    above = prim
    while above and not above.IsPseudoRoot():
        if above.IsA(UsdGeom.Xformable):
            placed.update(UsdGeom.Xformable(above).GetTimeSamples())
        above = above.GetParent()
    deforms, moves = len(shape) > 1, len(placed) > 1
    if not (deforms or moves):
        return STILL, np.empty(0)
    codes = _whole(np.array(sorted((shape if deforms else set()) | (placed if moves else set()))), path)
    rigid = not deforms and all(_is_rigid(step) for step in _steps(prim, codes))
    return (RIGID if rigid else DEFORMING), codes


def _samples(attributes: list[Usd.Attribute]) -> set[float]:
    return set().union(*(attribute.GetTimeSamples() for attribute in attributes if attribute))


def _whole(samples: np.ndarray, path: str) -> np.ndarray:
    first, last = np.ceil(samples[0]), np.floor(samples[-1])
    if not last - first <= MOST_FRAMES or len(samples) > MOST_FRAMES:  # not for NaN either
        raise UsdError(f"{path}: moves from time code {samples[0]:g} to {samples[-1]:g}, expected {MOST_FRAMES} frames")
    return np.union1d(samples, np.arange(first, last + 1.0))


def _steps(prim: Usd.Prim, codes: np.ndarray):
    """What turns the prim from its first place to those at all codes, (3, 3), for row vectors; None without a size."""
    with np.errstate(all="ignore"):
        first = matrix_of(prim, codes[0])[:3, :3]
        if abs(np.linalg.det(first)) <= 0.0:
            yield None
            return
        back = np.linalg.inv(first)
        for code in codes[1:]:
            yield back @ matrix_of(prim, code)[:3, :3]


def _is_rigid(step: np.ndarray | None) -> bool:
    if step is None or not np.isfinite(step).all():
        return False
    return np.abs(step @ step.T - np.eye(3)).max() < _TURNED and np.linalg.det(step) > 0.0
