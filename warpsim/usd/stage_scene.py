"""`read_scene`: a stage as simulations take it: prims with points in metres of the world, and how they move in time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from pxr import Usd
from scipy.spatial.transform import Rotation

from warpsim.arguments import checked
from warpsim.usd.checks import UsdError, finite, pxr_errors
from warpsim.usd.contents import Contents
from warpsim.usd.movement import DEFORMING, RIGID, STILL
from warpsim.usd.reader import MAX_BYTES, MAX_SECONDS, Reader
from warpsim.usd.stage_file import AXES

_LISTED = 8


@dataclass(frozen=True, eq=False)
class UsdPrim:
    """A prim with a shape, as it is at the start of its scene.

    path: where it is. kind: "mesh", "tetrahedra", "points", "curves", "copies" (of a point instancer) or "solid".
    points: (n, 3) float64 [m] of the world; of copies, of all their shapes. triangles: (m, 3) int32 of meshes, copies
    and solids, counter-clockwise seen from outside. tetrahedra: (t, 4), all right-handed. edges: (e, 2) of curves.
    positions: (k, 3) [m] of copies. velocities: (n, 3) [m/s] and radii: (n,) [m] that the file has, of copies k.
    uvs: (m, 3, 2) of the corners of triangles. subsets: numbers of triangles, by name. material: the path of the one
    that is drawn, "" for none. physics: role ("cloth", "soft", "collider", "rigid" or "") and numbers in SI units
    that the file says: mass, density, youngs_modulus, poissons_ratio, thickness, friction, static_friction and
    restitution. solid: type, axis and sizes. motion: "still", "rigid" or "deforming". placement: the matrix (4, 4), for
    row vectors, from the prim's space to metres. codes: the time codes between which its motion is interpolated.
    """

    path: str
    kind: str
    points: np.ndarray
    placement: np.ndarray
    motion: str
    codes: np.ndarray
    material: str
    physics: dict[str, Any]
    layered: dict[str, Any] = field(repr=False)
    triangles: np.ndarray | None = None
    tetrahedra: np.ndarray | None = None
    edges: np.ndarray | None = None
    positions: np.ndarray | None = None
    velocities: np.ndarray | None = None
    radii: np.ndarray | None = None
    uvs: np.ndarray | None = None
    subsets: dict[str, np.ndarray] = field(default_factory=dict)
    solid: dict[str, Any] | None = None


class UsdScene:
    """The prims of a stage by path, `scene[path]`, and where they are at a time; see `read_scene`.

    paths: of all prims that are read, in the order of the stage; kinds, and roles by the physics of the file, by path.
    fps: time codes a second. start: the time code that is
    second 0; seconds everywhere else count from there. duration [s]: to the last time code of the stage, 0 for none.
    unit: metres of one unit of the stage. up_axis: which way is up in what is answered. file: the path of the stage.
    """

    def __init__(self, ask: Callable[..., Any], about: dict[str, Any], up_axis: str, close: Callable[[], None]):
        self._ask, self.about, self._close = ask, about, close
        self.up_axis, self.fps, self.start, self.unit = up_axis, about["fps"], about["start"], about["unit"]
        self.file: str = about["layer"]
        self.duration = max(0.0, (about["range"][1] - self.start) / self.fps) if about["range"] else 0.0
        self._numbers = {path: number for number, (path, _, _) in enumerate(about["prims"])}
        self.kinds: dict[str, str] = {path: kind for path, kind, _ in about["prims"]}
        self.roles: dict[str, str] = {path: role for path, _, role in about["prims"]}
        self._prims: dict[str, UsdPrim] = {}

    def __enter__(self) -> UsdScene:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, path: object) -> bool:
        return path in self._numbers

    @property
    def paths(self) -> list[str]:
        return list(self._numbers)

    def close(self) -> None:
        """End the process that reads the file; prims that were read stay."""
        self._close()

    def find(self, pattern: str) -> list[str]:
        """Paths that a pattern with `*` and `?` matches, and of all that is below a prim with that path."""
        below = pattern.rstrip("/") + "/"
        return [path for path in self.paths if fnmatchcase(path, pattern) or path.startswith(below)]

    def __getitem__(self, path: str) -> UsdPrim:
        """A prim. Raises UsdError for a path that no prim with a shape has, and for one that is damaged."""
        if path not in self._prims:
            if path not in self._numbers:
                listed = ", ".join(self.paths[:_LISTED]) + (", ..." if len(self.paths) > _LISTED else "")
                raise UsdError(f"{path!r} is no prim with a shape in this stage; those are: {listed or 'none'}")
            self._prims[path] = self._read(path)
        return self._prims[path]

    @checked
    def positions(self, path: str, seconds: float) -> np.ndarray:
        """Points of a prim at a time, float64 (n, 3) [m]; the same ones for good. Interpolated as USD does."""
        return self._points_at(self[path], self._code(seconds))

    @checked
    def velocities(self, path: str, seconds: float) -> np.ndarray:
        """Velocities of its points at a time, (n, 3) [m/s]: exact where they move along straight lines, else the mean
        of at most one time code. At a sample it is what follows. Zero before the first and from the last sample on."""
        prim = self[path]
        part = self._part(prim, self._code(seconds))
        if part is None:
            return np.zeros_like(prim.points)
        first, last = (self._points_at(prim, code) for code in part)
        with np.errstate(all="ignore"):
            return finite((last - first) * (self.fps / (part[1] - part[0])), f"{path} velocities")

    @checked
    def pose(self, path: str, seconds: float) -> np.ndarray:
        """Where a rigid prim is at a time: its origin [m] and the quaternion x, y, z, w of how it turned since the
        start, (7,). Points p at the start are at rotate(q, p - origin at the start) + origin.

        Raises UsdError for a prim that deforms.
        """
        return self._pose_at(self[path], self._code(seconds))

    @checked
    def twist(self, path: str, seconds: float, dt: float = 0.0) -> np.ndarray:
        """Angular velocity [rad/s], then velocity of its origin [m/s], (6,), of a rigid prim at a time.

        dt: that which carries it from its pose at `seconds` to that `dt` [s] later, for steps; 0: as for `velocities`.
        """
        prim, code = self[path], self._code(seconds)
        part = (code, self._code(seconds + dt)) if dt > 0.0 else self._part(prim, code)
        if part is None or prim.motion == STILL:
            return np.zeros(6)
        first, last = (self._pose_at(prim, moment) for moment in part)
        turn = Rotation.from_quat(last[3:]) * Rotation.from_quat(first[3:]).inv()
        return np.append(turn.as_rotvec(), last[:3] - first[:3]) * (self.fps / (part[1] - part[0]))

    def placement(self, path: str, seconds: float) -> np.ndarray:
        """The matrix (4, 4), for row vectors, from a prim's space to metres at a time."""
        prim = self[path]
        return prim.placement if prim.motion == STILL else self._moment(path, self._code(seconds), False)["placement"]

    # ----- asking -----------------------------------------------------------------------------

    def _code(self, seconds: float) -> float:
        return self.start + float(seconds) * self.fps

    def _read(self, path: str) -> UsdPrim:
        answer = self._ask("prim", number=self._numbers[path])
        placement = answer["placement"]
        answer["points"] = _placed(answer["points"], placement, path)
        if answer.get("positions") is not None:
            answer["positions"] = _placed(answer["positions"], placement, path)
        if answer.get("velocities") is not None:
            with np.errstate(all="ignore"):  # as below: what overflows is refused
                answer["velocities"] = finite(answer["velocities"] @ placement[:3, :3], f"{path} velocities")
        if answer.get("radii") is not None:
            with np.errstate(all="ignore"):
                answer["radii"] = finite(
                    answer["radii"] * np.cbrt(abs(np.linalg.det(placement[:3, :3]))), f"{path} radii"
                )
        return UsdPrim(path=path, kind=self.kinds[path], solid=answer.pop("sizes", None), **answer)

    def _moment(self, path: str, code: float, shaped: bool) -> dict[str, np.ndarray]:
        return self._ask("moment_of", number=self._numbers[path], code=code, shaped=shaped)

    def _points_at(self, prim: UsdPrim, code: float) -> np.ndarray:
        if prim.motion == STILL:
            return prim.points
        moment = self._moment(prim.path, code, True)
        points = _placed(moment["points"], moment["placement"], prim.path)
        if len(points) != len(prim.points):
            raise UsdError(
                f"{prim.path}: has {len(points)} points at time code {code:g}, expected {len(prim.points)} as at the "
                "start; what changes its topology cannot be followed"
            )
        return points

    def _pose_at(self, prim: UsdPrim, code: float) -> np.ndarray:
        if prim.motion == DEFORMING:
            raise UsdError(f"{prim.path} deforms and has no pose; ask for its positions")
        placement = self._moment(prim.path, code, False)["placement"] if prim.motion == RIGID else prim.placement
        try:
            turn = np.linalg.solve(prim.placement[:3, :3], placement[:3, :3]) if prim.motion == RIGID else np.eye(3)
            return np.append(placement[3, :3], Rotation.from_matrix(turn.T).as_quat())
        except ValueError:  # LinAlgError is one
            raise UsdError(f"{prim.path}: its transform at time code {code:g} has no pose; check its scale") from None

    def _part(self, prim: UsdPrim, code: float) -> tuple[float, float] | None:
        """The time codes around one between which a prim moves steadily; None where it does not move."""
        k = int(np.searchsorted(prim.codes, code, side="right"))
        return (float(prim.codes[k - 1]), float(prim.codes[k])) if 0 < k < len(prim.codes) else None


def _placed(points: np.ndarray, placement: np.ndarray, path: str) -> np.ndarray:
    with np.errstate(all="ignore"):  # what overflows is refused
        return finite(points.astype(np.float64) @ placement[:3, :3] + placement[3, :3], f"{path} points in metres")


@checked
def read_scene(
    stage: str | os.PathLike[str] | Usd.Stage,
    *,
    up_axis: str = "Y",
    meters_per_unit: float | None = None,
    time: float | None = None,
    max_bytes: int = MAX_BYTES,
    max_seconds: float = MAX_SECONDS,
) -> UsdScene:
    """Read what simulations use of a stage: meshes, tetrahedra, points, curves, copies of instancers, simple solids.

    stage: a file (.usd, .usda, .usdc, .usdz), or an open stage of pxr. World transforms are applied, instances looked
    into, skins bound to their skeletons, and lengths are metres, with `up_axis` ("Y" or "Z") up; `meters_per_unit`
    overrides what the stage says. time: the time code that is second 0; None: where the stage begins.

    A file need not be trusted: another process reads it, within the limits of `read_mesh`, prim by prim as they are
    asked for, until the scene is closed or gone. A stage is read in this process, without limits. Raises
    FileNotFoundError for a missing file, UsdError for what is damaged.
    """
    if up_axis not in AXES:
        raise UsdError(f"read_scene: up_axis is {up_axis!r}, expected 'Y' or 'Z'")
    choice = {
        "up_axis": up_axis,
        "time": None if time is None else float(time),
        "meters_per_unit": None if meters_per_unit is None else float(meters_per_unit),
    }
    if isinstance(stage, Usd.Stage):
        name = stage.GetRootLayer().identifier
        ask = _local(stage, name, choice)
        return UsdScene(ask, ask("contents"), up_axis, lambda: None)
    name = os.fsdecode(stage)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"read_scene: {name!r} does not exist or is not a file")
    reader = Reader(name, max_bytes, max_seconds)
    return UsdScene(reader.ask, reader.ask("contents", **choice), up_axis, reader.close)


def _local(stage: Usd.Stage, name: str, choice: dict[str, Any]) -> Callable[..., Any]:
    """What answers for a stage of this process as a `Reader` does for a file."""
    with pxr_errors(repr(name)):
        contents = Contents(stage, name, **choice)
    answers: dict[str, Callable[..., Any]] = {
        "contents": contents.describe,
        "prim": contents.prim,
        "moment_of": contents.moment,
    }

    def ask(question: str, **arguments: Any) -> Any:
        with pxr_errors(repr(name)):
            return answers[question](**arguments)

    return ask
