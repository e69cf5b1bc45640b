"""`UsdLayerWriter`: results of a simulation as a layer over the stage that it was read from.

The original is a sublayer and stays as it is: hierarchy, materials, texture coordinates, subsets, purposes and all
other prims show through. The layer has nothing but overs on the prims that were simulated, in their own space and
units, and the metadata that a stage takes from its first layer alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Sdf, Tf, Vt

from warpsim.arguments import checked
from warpsim.atomic_file import AtomicFile
from warpsim.usd import checks, topology
from warpsim.usd.checks import UsdError, pxr_errors, reason
from warpsim.usd.saving import save
from warpsim.usd.stage import FLUSH_BYTES, check_metadata, layer_target
from warpsim.usd.stage_scene import UsdPrim, UsdScene

_TYPES = {
    "points": Sdf.ValueTypeNames.Point3fArray,
    "positions": Sdf.ValueTypeNames.Point3fArray,
    "velocities": Sdf.ValueTypeNames.Vector3fArray,
    "accelerations": Sdf.ValueTypeNames.Vector3fArray,
    "angularVelocities": Sdf.ValueTypeNames.Vector3fArray,
    "extent": Sdf.ValueTypeNames.Float3Array,
    "extentsHint": Sdf.ValueTypeNames.Float3Array,
    "normals": Sdf.ValueTypeNames.Normal3fArray,
    "primvars:normals": Sdf.ValueTypeNames.Normal3fArray,
    "primvars:normals:indices": Sdf.ValueTypeNames.IntArray,
}
_WHO = "UsdLayerWriter"
_BESIDE = 0.25  # time codes by which a moving frame is looked at before and behind
_NEAR = 1.0e-4  # time codes by which the seconds of a frame may miss a whole one, by rounding


class UsdLayerWriter:
    """A layer under construction; use it in a `with` block:

        with read_scene("shot.usda") as scene, UsdLayerWriter("draped.usda", scene) as layer:
            for seconds in times:
                layer.frame(seconds)
                layer.points("/World/dress", positions, velocities)

    path ends in .usdc, .usda or .usd; its folder must exist. scene: read from a file, which the layer names by a path
    relative to itself. metadata goes to customLayerData. Open the written file in place of the original: it shows both.
    The file appears under its name when the writer closes without an error. Raises UsdError for a scene that is on no
    disk or for a path that is none, FileNotFoundError for a missing folder, OSError for one not writable.
    """

    @checked
    def __init__(self, path: str | os.PathLike[str], scene: UsdScene, metadata: dict[str, Any] | None = None):
        self._path, self._scene, about = layer_target(path, _WHO), scene, scene.about
        check_metadata(metadata or {}, _WHO)
        if not scene.file or about["dirty"]:
            raise UsdError(f"{_WHO}: the scene's stage is not on disk as it is; save it, then read the scene")
        if os.path.exists(self._path) and os.path.samefile(self._path, scene.file):
            raise UsdError(f"{_WHO}: {str(self._path)!r} is the stage itself; choose another name")
        self._seconds: float | None = None
        self._written: set[str] = set()
        self._begun: dict[str, bool] = {}  # whether the first sample had velocities
        self._codes: list[float] = []
        self._unsaved = 0
        self._file = AtomicFile(self._path)
        try:
            self._layer: Sdf.Layer | None = Sdf.Layer.CreateNew(str(self._file.path))
        except Tf.ErrorException as error:
            self._file.discard()
            raise OSError(f"{_WHO}: cannot write in {str(self._path.parent)!r}: {reason(error)}") from None
        self._author_root(self._layer, about, metadata or {})

    def __enter__(self) -> UsdLayerWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    @checked
    def frame(self, seconds: float) -> float:
        """Begin the frame at a time of the scene [s], later than the one before; returns its time code.

        Codes that rounding keeps from whole numbers become whole: programs show those, and the stage has its own there.
        """
        layer = self._open()
        code = whole_code(self._scene.start + float(seconds) * self._scene.fps)
        if not np.isfinite(code) or (self._codes and code <= self._codes[-1]):
            before = self._seconds if self._codes else "none"
            raise UsdError(f"{_WHO}: frame at {seconds} s, expected later than the one before ({before} s)")
        self._seconds = float(seconds)
        self._codes.append(code)
        if self._unsaved > FLUSH_BYTES and self._path.suffix != ".usda":
            save(layer, self._path, self._unsaved)
            self._unsaved = 0
        self._written.clear()
        return code

    def points(self, path: str, positions: Any, velocities: Any = None) -> None:
        """Sample the points of a prim in this frame: positions (n, 3) [m] of the world, velocities (n, 3) [m/s].

        n is that of the prim, for copies of a point instancer the number of copies. Extents are computed, and normals
        of meshes that are not subdivided. Raises UsdError before the first frame, and for arrays that do not fit.
        """
        layer, prim = self._open(), self._scene[path]
        if self._seconds is None or path in self._written:
            raise UsdError(f"{path}: written {'twice in' if self._written else 'before'} a frame; call frame() before")
        count = len(prim.points if prim.positions is None else prim.positions)
        places = checks.vectors(positions, f"{path} positions", count)
        speeds = None if velocities is None else checks.vectors(velocities, f"{path} velocities", count)
        with pxr_errors(path, "cannot be written"):
            over = _Over(layer, prim, self._codes[-1], self._scene.up_axis)
            if path not in self._begun:
                self._begun[path] = speeds is not None
                over.clear(speeds is None)
            elif self._begun[path] != (speeds is not None):
                raise UsdError(f"{path}: velocities come with every frame or never")
            placement = self._scene.placement(path, self._seconds)
            over.write(places.astype(np.float64), placement)
            if speeds is not None:
                over.write_velocities(places.astype(np.float64), speeds, placement, self._drift(path))
        self._written.add(path)
        self._unsaved += 3 * places.nbytes

    def close(self) -> None:
        """Finish the file and give it its name. A writer closed once stays closed."""
        layer, self._layer = self._layer, None
        if layer is None:
            return
        try:
            if not self._begun:
                raise UsdError(f"{_WHO}: nothing was written to {self._path}; write points before closing")
            ends = [*self._scene.about["range"], *self._codes]
            layer.startTimeCode, layer.endTimeCode = min(ends), max(ends)
            save(layer, self._path, self._unsaved)
            del layer
            self._file.commit()
        except BaseException:
            self._file.discard()
            raise

    def abort(self) -> None:
        """Drop everything written; a file of an earlier run under the same name stays as it was."""
        self._layer = None
        self._file.discard()

    def _open(self) -> Sdf.Layer:
        if self._layer is None:
            raise UsdError(f"{_WHO}: {self._path} is closed; open a new writer")
        return self._layer

    def _author_root(self, layer: Sdf.Layer, about: dict[str, Any], metadata: dict[str, Any]) -> None:
        layer.subLayerPaths.append(_relative(self._scene.file, self._path))
        for key, value in about["metadata"].items():
            layer.pseudoRoot.SetInfo(key, value)
        layer.timeCodesPerSecond = self._scene.fps
        if about["root"]:
            layer.defaultPrim = about["root"]
        layer.documentation = "Simulation written by warpsim over another stage"
        layer.customLayerData = {"creator": "warpsim", **metadata}

    def _drift(self, path: str) -> np.ndarray:
        """How the matrix from a prim's space to the world changes [1/s], (4, 4)."""
        aside = _BESIDE / self._scene.fps
        before, behind = (self._scene.placement(path, self._seconds + s) for s in (-aside, aside))  # type: ignore[operator]
        return (behind - before) / (2.0 * aside)


class _Over:
    """The over on one prim at one time code."""

    def __init__(self, layer: Sdf.Layer, prim: UsdPrim, code: float, up_axis: str):
        self._layer, self._prim, self._code = layer, prim, code
        self._name = "points" if prim.positions is None else "positions"
        self._up = [float(axis == up_axis) for axis in "XYZ"]

    def clear(self, velocities: bool) -> None:
        """Open instances, and block what the original says of other motion; once, before the first sample."""
        layered = self._prim.layered
        for path in reversed(layered["instances"]):  # outermost first
            Sdf.CreatePrimInLayer(self._layer, path).SetInfo("instanceable", False)
        for name in layered["motion"]:
            if velocities or name != "velocities":
                self._block(self._prim.path, name)
        for path in layered["hints"]:
            self._block(path, "extentsHint")
        if layered["normals"]:
            self._attribute(self._prim.path, layered["normals"]).SetInfo("interpolation", "vertex")
            if layered["indexed"]:
                self._block(self._prim.path, "primvars:normals:indices")

    def write(self, places: np.ndarray, placement: np.ndarray) -> None:
        """Points [m] of the world, their extent, and normals where they count."""
        prim = self._prim
        local = _solve(places - placement[3, :3], placement, prim.path)
        self._set(self._name, local)
        if len(local):
            reach = self._reach()
            self._set("extent", np.stack([(local - reach).min(axis=0), (local + reach).max(axis=0)]))
        else:
            self._set("extent", np.zeros((2, 3)))
        if prim.layered["normals"] and prim.triangles is not None:
            normals = topology.vertex_normals(places, prim.triangles, self._up) @ placement[:3, :3].T
            length = np.linalg.norm(normals, axis=1, keepdims=True)
            self._set(prim.layered["normals"], normals / np.where(length > 0.0, length, 1.0))

    def write_velocities(
        self, places: np.ndarray, speeds: np.ndarray, placement: np.ndarray, drift: np.ndarray
    ) -> None:
        """Velocities [m/s] of the world, without what the prim's own motion gives them, in the prim's space."""
        local = _solve(places - placement[3, :3], placement, self._prim.path)
        carried = local @ drift[:3, :3] + drift[3, :3]
        self._set("velocities", _solve(speeds - carried, placement, self._prim.path))

    def _reach(self) -> Any:
        """How far what is drawn reaches beyond its points, in the prim's space."""
        prim = self._prim
        if prim.radii is None:
            return 0.0
        return prim.radii[:, None] / np.cbrt(abs(np.linalg.det(prim.placement[:3, :3])))

    def _set(self, name: str, rows: np.ndarray) -> None:
        attribute = self._attribute(self._prim.path, name)
        self._layer.SetTimeSample(attribute.path, self._code, Vt.Vec3fArray.FromNumpy(rows.astype(np.float32)))

    def _block(self, path: str, name: str) -> None:
        self._attribute(path, name).default = Sdf.ValueBlock()

    def _attribute(self, path: str, name: str) -> Sdf.AttributeSpec:
        spec = self._layer.GetAttributeAtPath(Sdf.Path(path).AppendProperty(name))
        return spec or Sdf.AttributeSpec(Sdf.CreatePrimInLayer(self._layer, path), name, _TYPES[name])


def whole_code(code: float) -> float:
    """A time code, as a whole number where rounding alone keeps it from one."""
    return float(round(code)) if np.isfinite(code) and abs(code - round(code)) < _NEAR else code


def _solve(rows: np.ndarray, placement: np.ndarray, path: str) -> np.ndarray:
    """Rows (n, 3) of the world in a prim's space."""
    try:
        return np.linalg.solve(placement[:3, :3].T, rows.T).T
    except np.linalg.LinAlgError:
        raise UsdError(
            f"{path}: its transform has no inverse, so nothing can be written there; check its scale"
        ) from None


def _relative(file: str, target: Path) -> str:
    """The path of a file as a layer beside it names it."""
    try:
        relative = Path(os.path.relpath(file, os.path.realpath(target.parent))).as_posix()
    except ValueError:  # another drive of Windows
        return Path(file).as_posix()
    return relative if relative.startswith("../") else f"./{relative}"
