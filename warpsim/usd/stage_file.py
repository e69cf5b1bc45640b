"""Stages opened within limits: tables and arrays before pxr reads them, levels and prims while they are searched."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from pxr import Ar, Usd, UsdGeom

from warpsim.usd.checks import UsdError
from warpsim.usd.composition import check_composition
from warpsim.usd.crate import check_file

MOST_PRIMS = 1_000_000  # that a search visits
MOST_LEVELS = 1000  # of prims in prims
AXES = ("Y", "Z")
_TURN = {
    ("Z", "Y"): ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)),
    ("Y", "Z"): ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)),
}


def open_stage(name: str, max_bytes: int) -> Usd.Stage:
    """The stage of a file. Its tables are checked before it is opened, and all arrays before one is read."""
    check_file(name, max_bytes)
    check_composition(name, MOST_PRIMS)
    stage = Usd.Stage.Open(name)
    for layer in stage.GetUsedLayers():
        place = Ar.SplitPackageRelativePathOuter(layer.realPath)[0]
        if place != os.path.realpath(name) and os.path.isfile(place):
            check_file(place, max_bytes)
    return stage


def prims_of(prims: Usd.PrimRange, where: str) -> Iterator[Usd.Prim]:
    """The prims of a range; UsdError where there are too many, or too many levels of them.

    Pruning the range while it is searched works as always.
    """
    for count, prim in enumerate(prims):
        if count >= MOST_PRIMS:
            raise UsdError(
                f"{where}: holds more than {MOST_PRIMS} prims, its instances counted; pass prim_path to choose a mesh"
            )
        if prim.GetPath().pathElementCount > MOST_LEVELS:
            raise UsdError(f"{where}: nests prims more than {MOST_LEVELS} levels deep; export it again")
        yield prim


def unit_of(stage: Usd.Stage, what: str, override: float | None = None) -> float:
    """Metres per unit of a stage, or what a caller says instead."""
    unit = UsdGeom.GetStageMetersPerUnit(stage) if override is None else float(override)
    if not 0.0 < unit < float("inf"):
        raise UsdError(f"{what}: metersPerUnit is {unit:g}, expected a positive number; pass meters_per_unit")
    return unit


def turn_between(stage_up: str, up_axis: str, what: str) -> np.ndarray:
    """The rotation (3, 3), for row vectors, that carries one up axis to the other; both keep x and handedness."""
    if stage_up not in AXES:
        raise UsdError(f"{what}: upAxis is {stage_up!r}, expected 'Y' or 'Z'")
    return np.array(_TURN[stage_up, up_axis]) if stage_up != up_axis else np.eye(3)


def numbers(attribute: Usd.Attribute, moment: Any, kind: type, what: str, width: int = 0) -> np.ndarray:
    """The array of an attribute, whose type a file may have made another one; with a width, in rows of so many."""
    value = attribute.Get(moment)
    try:
        array = np.asarray(() if value is None else value, dtype=kind)
        return array.reshape(-1, width) if width else array.reshape(-1)
    except (TypeError, ValueError):
        name, type_name = attribute.GetName(), attribute.GetTypeName()
        expected = f"an array of rows of {width} numbers" if width else "an array of numbers"
        raise UsdError(f"{what}: {name} is a {type_name}, expected {expected}; export it again") from None
