"""`Body`: balls, triangles or tetrahedra of one moment, as arrays of NumPy; `Frame`: all that a moment has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import shown
from .errors import RecordError

GREY = (0.45, 0.45, 0.45)  # linear RGB
_DOT = 2.0e-3  # radius of a point, as a part of the scene
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(eq=False)
class Body:
    """Something to record, besides what a state holds.

    name: letters, digits and `_`, the same in every frame. points: (n, 3) [m]. cells: (m, 3) triangles or (m, 4)
    tetrahedra, integers; None: the points are balls of the `radii` (n,) [m]. velocities: (n, 3) [m/s]. arrays: more
    numbers, (n, ...) by name; cell_arrays: (m, ...), of cells. ids: integers (n,) that stay with their ball where n
    changes. color: linear RGB in [0, 1], in USD and films. Arrays may be those of warpsim.

    Raises `RecordError` for arrays that do not fit together.
    """

    name: str
    points: Any
    cells: Any = None
    radii: Any = None
    velocities: Any = None
    arrays: Mapping[str, Any] = field(default_factory=dict)
    cell_arrays: Mapping[str, Any] = field(default_factory=dict)
    ids: Any = None
    color: tuple[float, float, float] = GREY
    is_vessel: bool = False  # whose near side would hide what is in it
    is_backdrop: bool = False  # a plane, of which any part could be shown
    is_still: bool = False  # as in the frame before

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise RecordError(f"a body is named {self.name!r}\nexpected: letters, digits and '_', no digit first")
        self.points = _floats(self.points, f"{self.name}: points", (-1, 3))
        count = len(self.points)
        if self.cells is not None:
            self.cells = self._corners(self.cells, count)
        elif self.radii is not None:
            self.radii = _floats(self.radii, f"{self.name}: radii", (count,))
        if self.velocities is not None:
            self.velocities = _floats(self.velocities, f"{self.name}: velocities", (count, 3))
        if self.ids is not None:
            self.ids = rows_of(self.ids, f"{self.name}: ids", count)
        self.arrays = {name: rows_of(a, f"{self.name}: {name}", count) for name, a in self.arrays.items()}
        cells = 0 if self.cells is None else len(self.cells)
        self.cell_arrays = {name: rows_of(a, f"{self.name}: {name}", cells) for name, a in self.cell_arrays.items()}

    def _corners(self, cells: Any, count: int) -> np.ndarray:
        corners = on_host(cells)
        if corners.ndim != 2 or corners.shape[1] not in (3, 4) or corners.dtype.kind not in "iu":
            raise RecordError(
                f"{self.name}: cells are {corners.dtype} of shape {corners.shape}\nexpected: integers (m, 3) or (m, 4)"
            )
        if corners.size and not (corners.min() >= 0 and corners.max() < count):
            raise RecordError(
                f"{self.name}: cells name points {corners.min()} to {corners.max()}\nexpected: 0 to {count - 1}"
            )
        return corners

    def shown_radii(self, box: np.ndarray) -> np.ndarray:
        """Radii of balls (n,) [m]; of those without any, a small part of a box (2, 3) [m]."""
        if self.radii is not None:
            return np.asarray(self.radii)
        return np.full(len(self.points), _DOT * float(np.linalg.norm(box[1] - box[0])))

    @property
    def point_arrays(self) -> dict[str, np.ndarray]:
        """All numbers of points by the names that files have: velocity, radius, id and the `arrays`."""
        known = {"velocity": self.velocities, "radius": self.radii, "id": self.ids}
        return {**{name: a for name, a in known.items() if a is not None}, **self.arrays}


@dataclass(frozen=True)
class Setting:
    """What all frames of a recording share: the time of the first one [s], and a box (2, 3) [m] around what it has."""

    start: float
    box: np.ndarray


@dataclass(frozen=True)
class Frame:
    """One moment: its number and time [s], what there is, and a row of the table of statistics."""

    number: int
    time: float
    bodies: list[Body]
    row: dict[str, Any]
    up_axis: str
    setting: Setting


class Format(Protocol):
    """A way to write frames. What `write` has returned from is on its way to the disk, whatever then stops the program.

    Calls come in this order: `begin` once, `write` for each frame, `close` once, after an error too.
    """

    def begin(self, folder: Path, first_frame: int) -> None:
        """Make room in a folder that exists. first_frame: how many frames of an earlier recording stay."""
        ...

    def write(self, frame: Frame) -> None:
        """Write a frame, or raise and leave what was written before as it was."""
        ...

    def close(self) -> None:
        """Finish the files."""
        ...


def on_host(values: Any) -> np.ndarray:
    """An array of warpsim, NumPy or another framework as one of NumPy, without a copy where that can be."""
    return np.asarray(values.numpy() if hasattr(values, "numpy") else values)


def rows_of(values: Any, what: str, count: int) -> np.ndarray:
    """Numbers with so many rows, in a type that files have. Raises `RecordError`."""
    rows = on_host(values)
    if rows.dtype.kind not in "fiub" or rows.ndim < 1 or len(rows) != count:
        raise RecordError(f"{what} are {rows.dtype} of shape {rows.shape}\nexpected: numbers ({count}, ...)")
    if rows.dtype.kind == "b":
        return rows.view(np.uint8)
    return rows.astype(np.float32) if rows.dtype.kind == "f" and rows.itemsize < 4 else rows


def _floats(values: Any, what: str, shape: tuple[int, ...]) -> np.ndarray:
    """float32 or float64 of a shape, -1 for any extent."""
    try:
        array = on_host(values)
        array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (TypeError, ValueError):
        raise RecordError(f"{what} are {shown(values)}\nexpected: numbers") from None
    fits = array.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits:
        raise RecordError(f"{what} have shape {array.shape}\nexpected: {str(shape).replace('-1', 'n')}")
    return array
