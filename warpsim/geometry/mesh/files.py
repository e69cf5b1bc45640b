"""Triangle meshes from files: USD through `warpsim.usd`, OBJ, STL, PLY, OFF and glTF through the package trimesh.

Guarantees: finite points, indices in range, at least one triangle; faces of more corners are split, in USD without
overlap where they are concave, elsewhere as fans. Nothing is repaired: holes, turned-over faces and triangles without
area come as they are.

A file is not trusted. USD is read by another process with limits on memory and time (`usd.reader`); the other formats
are parsed by trimesh, in Python and in this process, and what glTF asks for is bounded before (`gltf_check`). What is
raised is `UsdError` and `MeshFileError`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, int32, vec3
from ...errors import MeshFileError, MissingPackageError, counted
from .gltf_check import check_accessors
from .mesh import Mesh

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

USD_FORMATS = (".usd", ".usda", ".usdc", ".usdz")
OTHER_FORMATS = (".obj", ".stl", ".ply", ".off", ".glb", ".gltf")


def load_mesh(
    path: str | os.PathLike[str], prim_path: str | None = None, time: float | None = None, *,
    up_axis: str | None = None, meters_per_unit: float | None = None, weld: bool | None = None,
    max_bytes: int = 1 << 30, max_seconds: float = 60.0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Read a triangle mesh: points, float32 (n, 3), and indices, int32 (3 m,), three of each triangle.

        points, indices = wp.load_mesh("bunny.usd")
        mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(indices, dtype=int))

    is what `mesh_from_file` does.

    USD: `prim_path` names the mesh, a prim above it or a subset of its faces, where the file holds several meshes;
    `time` is a time code, the earliest sample without one. World transforms are applied, triangles turn
    counter-clockwise seen from outside whatever the file's orientation, `up_axis` ("Y" without one, or "Z") is up, and
    lengths are metres by the file's unit unless `meters_per_unit` overrides it.

    Other formats: all meshes of the file together, as they stand; lengths are multiplied by `meters_per_unit` where it
    is given, as these formats name no unit. OBJ counts a point again for each material and texture coordinate and STL
    for each triangle, so points at exactly one place become one (`weld`); points of USD stay apart unless `weld`.

    A small file can ask for much memory. One of USD or glTF with an array of more than `max_bytes` (1 GiB) is refused
    before that is read; other formats take memory in proportion to their size, and reading takes some times as much.
    USD is read by another process, as it is on disk; reading that takes more than `max_seconds` [s] is given up.

    Raises `FileNotFoundError` for a missing file, `MeshFileError` for an unknown format, a file without a usable mesh
    or arguments that do not fit its format, `warpsim.usd.UsdError` for the same in USD, and `MissingPackageError` where
    the package trimesh is needed and not there.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise MeshFileError(f"path is {type(path).__name__}\nexpected: the path of a file")
    name = os.fspath(path)
    kind = os.path.splitext(name)[1].lower()
    if kind not in USD_FORMATS + OTHER_FORMATS:
        raise MeshFileError(
            f"{name!r} has the extension {kind!r}\nexpected: one of {', '.join(USD_FORMATS + OTHER_FORMATS)}"
        )
    if kind in USD_FORMATS:
        points, triangles = _read_usd(
            name,
            prim_path,
            time,
            up_axis=up_axis or "Y",
            meters_per_unit=meters_per_unit,
            max_bytes=max_bytes,
            max_seconds=max_seconds,
        )
    else:
        for argument, value in (("prim_path", prim_path), ("time", time), ("up_axis", up_axis)):
            if value is not None:
                raise MeshFileError(f"{argument} is {value!r} for a {kind} file\nexpected: None, only USD has such")
        if not os.path.isfile(name):
            raise FileNotFoundError(f"{name!r} does not exist or is not a file")
        if kind in (".glb", ".gltf"):
            check_accessors(name, max_bytes)
        points, triangles = _read_with_trimesh(name, meters_per_unit)
    if weld or (weld is None and kind in OTHER_FORMATS):
        points, triangles = _weld(points, triangles)
    return points, np.ascontiguousarray(triangles.reshape(-1))


def mesh_from_file(
    path: str | os.PathLike[str],
    prim_path: str | None = None,
    time: float | None = None,
    *,
    device: Device | str | None = None,
    support_winding_number: bool = False,
    **options: Any,
) -> Mesh:
    """The `Mesh` of what `load_mesh` reads from a file; further options are those of `load_mesh`."""
    points, indices = load_mesh(path, prim_path, time, **options)
    arrays = array(points, dtype=vec3, device=device), array(indices, dtype=int32, device=device)
    return Mesh(*arrays, support_winding_number=support_winding_number)


def _read_usd(name: str, prim_path: str | None, time: float | None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    from ...usd import read_mesh  # noqa: PLC0415 - pxr takes as long to load as all of warpsim

    mesh = read_mesh(name, prim_path, time, **options)
    return mesh.points, mesh.triangles


def _read_with_trimesh(name: str, meters_per_unit: float | None) -> tuple[np.ndarray, np.ndarray]:
    try:
        import trimesh  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingPackageError(
            f"{name!r} needs the package trimesh\nhelp: pip install 'warpsim[mesh]', or convert the file to USD"
        ) from None
    unit = 1.0 if meters_per_unit is None else float(meters_per_unit)
    if not (np.isfinite(unit) and unit > 0.0):
        raise MeshFileError(f"meters_per_unit is {unit:g}\nexpected: a finite number above zero")
    try:
        scene = trimesh.load(name, force="mesh", process=False, skip_materials=True)
        points, triangles = np.asarray(scene.vertices, dtype=np.float64), np.asarray(scene.faces)
    except Exception as error:  # whatever the parser of the format stumbled over
        raise MeshFileError(
            f"{name!r} cannot be read ({type(error).__name__}: {error})\nexpected: a mesh\nhelp: export it again"
        ) from error
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite and is refused
        points = (points * unit).astype(np.float32)
    _check(points, triangles, name)
    return points, triangles.astype(np.int32)


def _check(points: np.ndarray, triangles: np.ndarray, name: str) -> None:
    if not len(points) or not len(triangles):
        raise MeshFileError(
            f"{name!r} holds {counted(len(points), 'point')} and {counted(len(triangles), 'triangle')}\n"
            "expected: a mesh\n"
            "help: export it again, with faces"
        )
    if not np.isfinite(points).all():
        row = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise MeshFileError(f"{name!r}: point {row} is {points[row]}\nexpected: finite numbers")
    if triangles.min() < 0 or triangles.max() >= len(points):
        row = int(np.argmax(((triangles < 0) | (triangles >= len(points))).any(axis=1)))
        raise MeshFileError(
            f"{name!r}: triangle {row} has the corners {triangles[row]}\nexpected: points 0 to {len(points) - 1}"
        )


def _weld(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points at one place become one, in the order in which places come first."""
    places = points + np.float32(0.0)  # -0.0 is at the place of 0.0
    _, first, place_of = np.unique(places, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return points[np.sort(first)], rank[place_of.reshape(-1)][triangles]
