"""`PlySequence`: a binary PLY file for each body and frame, which most programs for meshes and point clouds read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..atomic_file import AtomicFile
from ..solvers.scene.soft import surface
from .body import Body, Frame
from .series import check_follows, clear_from, file_name, frame_of

_TYPES = {
    "f4": "float",
    "f8": "double",
    "i1": "char",
    "i2": "short",
    "i4": "int",
    "u1": "uchar",
    "u2": "ushort",
    "u4": "uint",
}
_FOLDER = "ply"
_AXES = ("x", "y", "z")


class PlySequence:
    """Files NAME_000000.ply, NAME_000001.ply, ... in the folder "ply".

    Vertices have x, y, z [m] and velocity_x, velocity_y, velocity_z [m/s]; balls a radius [m]; arrays of the recorder
    follow, with a number for each component. Tetrahedra become their surface. Integers of 64 bits, which PLY lacks,
    become doubles.
    """

    def begin(self, folder: Path, first_frame: int) -> None:
        """See `Format`. Raises `RecordError` for files that end before `first_frame`."""
        self._folder = folder / _FOLDER
        if first_frame:
            there = [frame_of(path.name) for path in self._folder.glob("*.ply")]
            check_follows(max(there, default=-1) + 1, first_frame, f"the PLY sequence in {str(self._folder)!r}")
        clear_from(self._folder, first_frame, (".ply",))

    def write(self, frame: Frame) -> None:
        """See `Format`."""
        for body in frame.bodies:
            path = self._folder / file_name(body.name, frame.number, ".ply")
            with AtomicFile(path, durable=False) as partial:
                partial.write_bytes(encoded(body))

    def close(self) -> None:
        """See `Format`."""


def encoded(body: Body) -> bytes:
    """A body as the content of a PLY file."""
    rows = _table([("", body.points), *body.point_arrays.items()], len(body.points))
    head = [f"element vertex {len(rows)}", *_properties(rows.dtype)]
    faces = b""
    if body.cells is not None:
        triangles = surface(body.cells) if body.cells.shape[1] == 4 else body.cells
        list_of_three = np.dtype([("count", "u1"), ("corners", "<i4", 3)])
        table = np.empty(len(triangles), list_of_three)
        table["count"], table["corners"] = 3, triangles
        head += [f"element face {len(triangles)}", "property list uchar int vertex_indices"]
        faces = table.tobytes()
    lines = ["ply", "format binary_little_endian 1.0", *head, "end_header", ""]
    return "\n".join(lines).encode("ascii") + rows.tobytes() + faces


def _table(columns: list[tuple[str, np.ndarray]], count: int) -> np.ndarray:
    """Columns of numbers as rows of a structured array, a field for each component."""
    fields = [(name, kind, part) for label, a in columns for name, kind, part in _components(label, a)]
    rows = np.empty(count, np.dtype([(name, kind) for name, kind, _ in fields]))
    for name, _, part in fields:
        rows[name] = part
    return rows


def _components(label: str, values: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Name, type and numbers of each component; of the array without a name they are x, y, z."""
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    flat = values.reshape(len(values), -1) if values.size else values.reshape(0, max(1, int(np.prod(values.shape[1:]))))
    ends = _AXES if flat.shape[1] == 3 else tuple(map(str, range(flat.shape[1])))
    for k in range(flat.shape[1]):
        name = label if values.ndim == 1 else "_".join(filter(None, (label, ends[k])))
        yield name, f"<{kind if kind in _TYPES else 'f8'}", flat[:, k]


def _properties(dtype: np.dtype) -> list[str]:
    parts = {name: dtype[name] for name in dtype.names or ()}
    return [f"property {_TYPES[f'{part.kind}{part.itemsize}']} {name}" for name, part in parts.items()]
