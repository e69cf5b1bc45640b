"""What a viewer draws: bodies with points in metres of the world, each as it is in a frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

_LOOKS = 24  # frames that tell how far a scene reaches
_LOOKED_AT = 4_000_000  # points of a body that are looked at for that, in three frames at least


@dataclass
class Moment:
    """A body in one frame.

    points: (n, 3) float32 [m], corners of a mesh, centres of balls or of instances. color: linear RGB, (3,) or (n, 3).
    radii: (n,) [m] of balls. turns: (n, 4) quaternions x, y, z, w, and sizes: (n, 3), of instances. triangles:
    (m, 3) of a mesh whose faces are others in every frame.
    """

    points: np.ndarray
    color: np.ndarray
    radii: np.ndarray | None = None
    turns: np.ndarray | None = None
    sizes: np.ndarray | None = None
    triangles: np.ndarray | None = None

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest corner (3,) [m] of the points; infinite and turned round if there are none."""
        if not len(self.points):
            return np.full(3, np.inf), np.full(3, -np.inf)
        columns = self.points.T  # one after the other, which takes a tenth of the time of all three at once
        return np.array([x.min() for x in columns]), np.array([x.max() for x in columns])


@dataclass(eq=False)
class Body:
    """Something to draw: a mesh, balls, or instances of a mesh.

    triangles: (m, 3) int32 of a mesh, or of the prototype of instances, whose corners are `shape` (k, 3) [m]. A mesh
    that is `varying` has them in its moments.
    """

    name: str
    kind: str
    number: int = field(repr=False)
    moving: bool = True
    triangles: np.ndarray | None = None
    shape: np.ndarray | None = None
    varying: bool = False


class Frames:
    """Bodies and frames; `moment(body, frame)` is what is drawn. `up` is "Y" or "Z", `fps` frames a second [1/s]."""

    up: str
    fps: float
    bodies: list[Body]

    def __len__(self) -> int:
        raise NotImplementedError

    def moment(self, body: Body, frame: int) -> Moment:
        """A body in a frame, 0 to `len(self) - 1`."""
        raise NotImplementedError

    def box(self, body: Body, frames: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest corner (3,) [m] of a body in some frames; infinite and turned round if it is empty."""
        boxes = [self.moment(body, frame).box() for frame in (frames if body.moving else (0,))]
        return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)

    def colored(self, body: Body) -> bool:
        """Whether each point of a body has its own color in the first frame, and so in all that are shown."""
        return self.moment(body, 0).color.ndim == 2

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest corner (3,) [m] of what the picture is about, in frames here and there."""
        boxes = []
        for body in self.subjects():
            looks = int(np.clip(_LOOKED_AT / max(1, len(self.moment(body, 0).points)), 3, _LOOKS))
            seen = sorted({round(k) for k in np.linspace(0, len(self) - 1, looks)}) if body.moving else [0]
            low, high = self.box(body, seen)
            reach = max(self._reach(body, k) for k in seen)
            boxes.append((low - reach, high + reach))
        low, high = np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)
        return (low, high) if np.isfinite(low).all() else (np.zeros(3), np.ones(3))

    def subjects(self) -> Sequence[Body]:
        """What the picture is about: what moves, or all if nothing does."""
        return [body for body in self.bodies if body.moving] or self.bodies

    def _reach(self, body: Body, frame: int) -> float:
        """How far balls or instances reach beyond their points [m] in a frame."""
        now = self.moment(body, frame)
        if now.radii is not None:
            return float(now.radii.max(initial=0.0))
        if now.sizes is not None and body.shape is not None:
            return float(np.linalg.norm(body.shape, axis=1).max(initial=0.0) * now.sizes.max(initial=0.0))
        return 0.0

    def grounds(self) -> list[Body]:
        """Bodies that stand still and are flat, such as a floor."""
        low, high = self.bounds()
        still = [body for body in self.bodies if not body.moving and body.kind == "mesh"]
        along = [self.moment(body, 0).points[:, "XYZ".index(self.up)] for body in still]
        return [b for b, x in zip(still, along, strict=True) if len(x) and np.ptp(x) < 1.0e-3 * (high - low).max()]
