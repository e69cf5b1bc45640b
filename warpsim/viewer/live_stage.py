"""`LiveStage`: takes what a program draws in a frame, by the calls of `UsdWriter`, and copies it when somebody asks.

A call only notes its arguments: what nobody looks at costs nothing. They are checked and copied by `shot`, which has to
come before the program changes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..plot import sphere
from ..usd import checks
from ..usd.topology import triangulate
from .bodies import Body, Moment
from .page import ViewError
from .shot import Particles, Shot

_GREY = (0.45, 0.45, 0.45)
_FARTHEST = 1.0e18  # metres: squares of distances further away overflow float32

Parts = list[tuple[Body, Moment]]


class LiveStage:
    """Draws as `UsdWriter` does, for browsers: what comes before the first `frame()` stands still.

    Velocities, primvars and ids are for files, and are not looked at.
    """

    def __init__(self, up_axis: str = "Y", fps: float = 60.0):
        if up_axis not in ("Y", "Z"):
            raise ViewError(f"up_axis is {up_axis!r}\nexpected: 'Y' or 'Z'")
        self.up_axis, self.fps = up_axis, checks.rate(fps, "live: fps")
        self._still: dict[str, Callable[[], Parts]] = {}
        self._moving: dict[str, Callable[[], Parts]] | None = None
        self._still_parts: Parts | None = None
        self._floors: set[str] = set()
        self._faces: dict[str, tuple[int, np.ndarray]] = {}
        self._stage: tuple[int, Any] = (0, None)
        self._shots = 0
        self._first_box: tuple[np.ndarray, np.ndarray] | None = None

    def frame(self) -> None:
        """Begin the next frame."""
        self._moving = {}

    def mesh(self, name: str, points: Any, faces: Any = None, counts: Any = None, **more: Any) -> None:
        """Polygons: see `UsdWriter.mesh`."""
        self._note(name, lambda moving: [self._mesh(name, moving, points, (faces, counts), **more)])

    def points(self, name: str, positions: Any, radii: Any, *, color: Any = None, **more: Any) -> None:
        """Balls: see `UsdWriter.points`."""
        self._note(name, lambda moving: [_balls(name, moving, positions, radii, color)])

    def instances(
        self, name: str, shapes: Any, positions: Any, rotations: Any, sizes: Any = 1.0, *, kinds: Any = None,
        **more: Any,
    ) -> None:  # fmt: skip
        """Copies of shapes: see `UsdWriter.instances`."""
        self._note(name, lambda moving: _copies(name, moving, shapes, (positions, rotations, sizes), kinds))

    def sphere(self, name: str, center: Any, radius: float, *, color: Any = _GREY) -> None:
        """A ball: see `UsdWriter.sphere`."""
        place = np.array(center, np.float64)

        def make(moving: bool) -> Parts:
            shape = sphere(place, radius, rings=24)
            return [self._mesh(name, moving, shape.points, (shape.triangles, None), color)]

        self._note(name, make)

    def ground(self, size: float = 10.0, height: float = 0.0, *, color: Any = _GREY, name: str = "ground") -> None:
        """A still square: see `UsdWriter.ground`."""
        half = 0.5 * checks.positive(size, f"{name} size")
        corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
        points = [(x, y, height) if self.up_axis == "Z" else (x, height, -y) for x, y in corners]
        self.mesh(name, points, [[0, 1, 2, 3]], color=color)
        self._floors.add(name)

    def shot(self, particles: Particles | None = None) -> Shot:
        """A copy of the frame as it is. Raises UsdError for what cannot be drawn, as numbers that are not finite."""
        if self._still_parts is None:
            self._still_parts = [part for make in self._still.values() for part in make()]
        parts = [*self._still_parts, *(part for make in (self._moving or {}).values() for part in make())]
        if not parts:
            raise ViewError("the frame is empty\nhelp: draw something after frame()")
        looks = [_look(body, moment) for body, moment in parts]
        if looks != self._stage[1]:
            self._stage = (self._stage[0] + 1, looks)
        self._shots += 1
        shot = Shot(self._shots, self._stage[0], parts, self.up_axis, self.fps, self._floors, particles)
        if self._first_box is None:
            self._first_box = shot.bounds()
        shot.frame_box(*self._first_box)
        return shot

    def _note(self, name: str, make: Callable[[bool], Parts]) -> None:
        if self._moving is None:
            self._still[name] = lambda: make(False)
            self._still_parts = None
        else:
            self._moving[name] = lambda: make(True)

    def _mesh(
        self, name: str, moving: bool, points: Any, polygons: tuple[Any, Any], color: Any = None,
        varying: bool = False, **more: Any,
    ) -> tuple[Body, Moment]:  # fmt: skip
        places = _places(points, f"{name} points")
        triangles = self._triangles(name, places, polygons, varying)
        moment = Moment(places, _color(color, name, len(places)), triangles=triangles if varying else None)
        return Body(name, "mesh", 0, moving, None if varying else triangles, varying=varying), moment

    def _triangles(self, name: str, points: np.ndarray, polygons: tuple[Any, Any], varying: bool) -> np.ndarray:
        """Triangles (m, 3) of polygons, those of the first frame where faces do not vary."""
        count, triangles = self._faces.get(name, (-1, np.empty((0, 3), np.int32)))
        if varying or count != len(points):
            if polygons[0] is None:
                raise ViewError(f"{name} has no faces yet\nhelp: pass faces with the first sample")
            counts, corners = checks.topology(*polygons, len(points), name, empty=varying)
            triangles = np.array(triangulate(points, counts, corners), np.int32).reshape(-1, 3)
            self._faces[name] = (len(points), triangles)
        return triangles


def _balls(name: str, moving: bool, positions: Any, radii: Any, color: Any) -> tuple[Body, Moment]:
    places = _places(positions, f"{name} positions")
    sizes = _copy(checks.radii(radii, f"{name} radii", len(places)))
    return Body(name, "points", 0, moving), Moment(places, _color(color, name, len(places)), radii=sizes)


def _copies(name: str, moving: bool, shapes: Any, placed: tuple[Any, Any, Any], kinds: Any) -> Parts:
    """One body for each shape, with the copies that are of it."""
    positions, rotations, sizes = placed
    places = _places(positions, f"{name} positions")
    turns = checks.finite(np.array(rotations, np.float32).reshape(-1, 4), f"{name} rotations")
    if len(turns) != len(places):
        raise checks.UsdError(f"{name}: {len(turns)} rotations for {len(places)} positions, expected one each")
    scales = np.repeat(checks.radii(sizes, f"{name} sizes", len(places))[:, None], 3, axis=1)
    which = np.zeros(len(places), int) if kinds is None else np.array(kinds, int)
    parts = []
    for k, (points, triangles, color) in enumerate(shapes):
        corners = _places(points, f"{name} shape {k}")
        chosen = which == k
        mean = _color(color, name, len(corners)).reshape(-1, 3).mean(axis=0)
        label = f"{name}_{k}" if len(shapes) > 1 else name
        body = Body(label, "instances", 0, moving, np.array(triangles, np.int32), corners)
        parts.append((body, Moment(places[chosen], mean, turns=turns[chosen], sizes=scales[chosen])))
    return parts


def _places(values: Any, what: str) -> np.ndarray:
    """A copy of positions (n, 3) [m] that can be drawn."""
    places = _copy(checks.vectors(values, what))
    if len(places) and np.abs(places).max() > _FARTHEST:
        raise checks.UsdError(f"{what}: found {np.abs(places).max():g}, expected at most {_FARTHEST:g} (metres)")
    return places


def _color(color: Any, name: str, count: int) -> np.ndarray:
    return _copy(checks.color(_GREY if color is None else color, f"{name} color", count))


def _copy(array: np.ndarray) -> np.ndarray:
    """The same numbers, which nobody else will change."""
    return np.array(array, np.float32)


def _look(body: Body, moment: Moment) -> tuple[Any, ...]:
    """What the page has to know of a body before its frames."""
    size = len(moment.points) if body.kind == "mesh" and not body.varying else 0
    color = () if moment.color.ndim == 2 else tuple(moment.color.tolist())
    return body.name, body.kind, body.moving, body.varying, size, color
