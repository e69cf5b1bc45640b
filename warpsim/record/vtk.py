"""`VtkSeries`: VTK's XML files for ParaView: a .vtp or .vtu file for each body and frame, and a .pvd with their times.

One file a frame rather than one VTKHDF file for all: a disk that fills up leaves an HDF5 file without its end, of which
HDF5 then opens nothing; here all frames but the last are whole, and so is the list of them. It also needs no package.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import quoteattr

import numpy as np

from ..atomic_file import AtomicFile
from .body import Body, Frame
from .series import check_follows, clear_from, file_name, frame_of

_TYPES = {"f4": "Float32", "f8": "Float64", "i1": "Int8", "i2": "Int16", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}
_TYPES |= {"u2": "UInt16", "u4": "UInt32", "u8": "UInt64"}
_TETRAHEDRON = 10  # VTK's number of the type of cell
_FOLDER = "vtk"
_ENTRY = re.compile(
    r'<DataSet timestep="(?P<time>-?\d+(\.\d+)?(e[-+]\d+)?)" part="0" file="vtk/(?P<file>[\w.]+)"/>'
    r"<!-- frame (?P<frame>\d+) -->",
    re.ASCII,
)


class VtkSeries:
    """Files for ParaView: NAME.pvd opens the frames of a body with their times, and they stand in the folder "vtk".

    Balls become vertices, with arrays "radius", "velocity", "id" where their number may change, and those that the
    recorder has; triangles become polygons, tetrahedra cells of an unstructured grid. Numbers are stored as they are,
    uncompressed: float32 of a model of single precision, float64 of one of double. A body that stands still is written
    once, also where a recording goes on.
    """

    def begin(self, folder: Path, first_frame: int) -> None:
        """See `Format`. Raises `RecordError` for files that end before `first_frame`."""
        self._folder, self._first = folder, first_frame
        self._entries: dict[str, list[str]] = {}
        for path in folder.glob("*.pvd"):
            if first_frame:
                self._entries[path.stem] = _entries_before(path, first_frame)
            else:
                path.unlink()
        if first_frame:
            frames = [int(_ENTRY.fullmatch(e[-1])["frame"]) for e in self._entries.values() if e]  # type: ignore[index]
            check_follows(max(frames, default=-1) + 1, first_frame, f"the VTK series in {str(folder)!r}")
        clear_from(folder / _FOLDER, first_frame, (".vtp", ".vtu"))
        self._last: dict[str, str] = {}
        self._standing = {name: _standing(entries) for name, entries in self._entries.items()}

    def write(self, frame: Frame) -> None:
        """See `Format`."""
        for body in frame.bodies:
            if not self._is_written(body):
                ending = ".vtu" if body.cells is not None and body.cells.shape[1] == 4 else ".vtp"
                name = file_name(body.name, frame.number, ending)
                with AtomicFile(self._folder / _FOLDER / name, durable=False) as path, open(path, "wb") as file:
                    write_body(file, body, frame.time)
                self._last[body.name] = name
            place = quoteattr(f"{_FOLDER}/{self._last[body.name]}")
            entry = f'<DataSet timestep="{frame.time!r}" part="0" file={place}/><!-- frame {frame.number} -->'
            entries = self._entries.setdefault(body.name, [])
            with AtomicFile(self._folder / f"{body.name}.pvd", durable=False) as path:
                path.write_text(_collection([*entries, entry]), encoding="ascii")
            entries.append(entry)

    def close(self) -> None:
        """See `Format`."""

    def _is_written(self, body: Body) -> bool:
        """Whether the last file of a body has it. In the first frame of a recording that goes on, its bytes tell."""
        standing = self._standing.pop(body.name, None)
        if standing is None:
            return body.is_still and body.name in self._last
        name, time = standing
        path, content = self._folder / _FOLDER / name, io.BytesIO()
        write_body(content, body, time)
        if not path.is_file() or path.read_bytes() != content.getvalue():
            return False
        self._last[body.name] = name
        return True


def _collection(entries: list[str]) -> str:
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0" byte_order="LittleEndian">\n<Collection>\n'
    return "\n".join([head.rstrip(), *entries, "</Collection>", "</VTKFile>", ""])


def _entries_before(path: Path, first_frame: int) -> list[str]:
    """The lines of a .pvd file for frames that stay."""
    lines = [(line, _ENTRY.fullmatch(line)) for line in path.read_text(encoding="ascii").splitlines()]
    return [line for line, match in lines if match and int(match["frame"]) < first_frame]


def _standing(entries: list[str]) -> tuple[str, float] | None:
    """The file and its time of a body that stood still in the last of these entries: it is that of a frame before."""
    matches = [match for match in map(_ENTRY.fullmatch, entries) if match]
    if not matches or frame_of(matches[-1]["file"]) == int(matches[-1]["frame"]):
        return None
    name = matches[-1]["file"]
    return name, next(float(match["time"]) for match in matches if match["file"] == name)


def write_body(file: BinaryIO, body: Body, time: float) -> None:
    """Write one body: a head in XML, then the bytes of all arrays, each after its size."""
    count, cells = len(body.points), body.cells
    solid = cells is not None and cells.shape[1] == 4
    arrays = _Arrays()
    times = arrays.add("TimeValue", np.array([time]), 'NumberOfTuples="1" ')
    point_data = _section("PointData", arrays, body.point_arrays)
    cell_data = _section("CellData", arrays, body.cell_arrays)
    points = f"<Points>{arrays.add('Points', body.points)}</Points>"
    corners = np.arange(count, dtype=np.int32) if cells is None else cells.reshape(-1)
    width = 1 if cells is None else cells.shape[1]
    ends = np.arange(width, len(corners) + 1, width, dtype=np.int32)
    listed = arrays.add("connectivity", corners) + arrays.add("offsets", ends)
    if solid:
        kind, sizes = "UnstructuredGrid", f'NumberOfPoints="{count}" NumberOfCells="{len(ends)}"'
        topology = f"<Cells>{listed}{arrays.add('types', np.full(len(ends), _TETRAHEDRON, np.uint8))}</Cells>"
    else:
        what = "Verts" if cells is None else "Polys"
        kind, sizes = "PolyData", f'NumberOfPoints="{count}" NumberOf{what}="{len(ends)}"'
        topology = f"<{what}>{listed}</{what}>"
    file.write(
        f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
        f"<{kind}>\n<FieldData>{times}</FieldData>\n<Piece {sizes}>\n{point_data}\n{cell_data}\n{points}\n{topology}\n"
        f'</Piece>\n</{kind}>\n<AppendedData encoding="raw">\n_'.encode()
    )
    arrays.write(file)
    file.write(b"\n</AppendedData>\n</VTKFile>\n")


def _section(name: str, arrays: _Arrays, values: Mapping[str, np.ndarray]) -> str:
    return f"<{name}>{''.join(arrays.add(label, a) for label, a in values.items())}</{name}>"


class _Arrays:
    """Arrays that stand behind the XML, at offsets that it names."""

    def __init__(self) -> None:
        self._blocks: list[np.ndarray] = []
        self._size = 0

    def add(self, name: str, values: np.ndarray, more: str = "") -> str:
        """The element that describes an array. more: attributes."""
        block = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        components = int(np.prod(block.shape[1:], dtype=int))
        kind = _TYPES[f"{block.dtype.kind}{block.dtype.itemsize}"]
        offset, self._size = self._size, self._size + 8 + block.nbytes
        self._blocks.append(block)
        return (
            f'<DataArray type="{kind}" Name={quoteattr(name)} NumberOfComponents="{components}" {more}'
            f'format="appended" offset="{offset}"/>'
        )

    def write(self, file: BinaryIO) -> None:
        for block in self._blocks:
            file.write(block.nbytes.to_bytes(8, "little"))
            file.write(block.reshape(-1).view(np.uint8).data)
