"""One panel of a picture: what each pixel sees, surfaces before a floor, and the light on it.

Four samples a pixel; visibility is exact for each of them, so surfaces may cut each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .camera import Camera
from .normals import corner_normals
from .scene import Balls, Surface, Thing
from .shade import encode, lambert
from .smooth import smooth_light
from .trace import Scene, first_hits, light_from, spread, visibility

OVERSAMPLE = 2
BACKDROP = np.array([0.86, 0.88, 0.91])
_FLOOR = np.array([0.62, 0.63, 0.64])
_DISC = 0.045  # radius of the sun [rad], ten times the real one, for soft shadows
_REACH = 0.9  # how far walls keep the light of the sky away [radii of the scene]
_LIFT = 1.5e-3  # of points off their surface, so that it does not shade itself [radii of the scene]
_TILE = 4  # side of the squares of pixels that share their directions, and over which light is averaged


@dataclass(frozen=True)
class Stage:
    """What all panels of a picture share: lengths are taken in radii of the scene from its middle.

    view: the camera; up: unit vector; toward_sun: unit vector; ground: height of the floor, None for none.
    """

    view: Camera
    up: np.ndarray
    toward_sun: np.ndarray
    ground: float | None


@dataclass(frozen=True)
class Seen:
    """What the pixels of a panel see, before there is light.

    points: (h, w, 3); unit normals (h, w, 3) towards the viewer, of length 0 where there is nothing; color: (h, w, 3);
    share: (h, w), how much of it is in the picture; the rest is the backdrop's.
    """

    points: np.ndarray
    normals: np.ndarray
    color: np.ndarray
    share: np.ndarray


def draw(things: Sequence[Thing], stage: Stage) -> np.ndarray:
    """Surfaces and balls as an sRGB image (h, w, 3) in [0, 1]."""
    paint = _merge(things)
    scene = Scene(paint.points, paint.triangles, paint.centers, paint.radii)
    seen = _look(scene, paint, stage)
    sky, sun = _light(scene, seen, stage)
    share = seen.share[:, :, None]
    image = share * lambert(seen.color, sky, sun) + (1.0 - share) * BACKDROP
    height, width, n = *seen.share.shape, OVERSAMPLE
    return encode(image.reshape(height // n, n, width // n, n, 3).mean((1, 3)))


@dataclass(frozen=True)
class Paint:
    """All surfaces as one: points and color (n, 3), triangles (m, 3), normals of their corners (m, 3, 3); all balls."""

    points: np.ndarray
    color: np.ndarray
    triangles: np.ndarray
    normals: np.ndarray
    centers: np.ndarray
    colors: np.ndarray
    radii: np.ndarray


def _merge(things: Sequence[Thing]) -> Paint:
    surfaces = [thing for thing in things if isinstance(thing, Surface)]
    balls = [thing for thing in things if isinstance(thing, Balls)]
    first = np.cumsum([0] + [len(surface.points) for surface in surfaces])
    none = np.zeros((0, 3))
    return Paint(
        np.concatenate([none, *(s.points for s in surfaces)]),
        np.concatenate([none, *(s.color for s in surfaces)]),
        np.concatenate([none, *(s.triangles + n for s, n in zip(surfaces, first, strict=False))]).astype(np.int64),
        np.concatenate([np.zeros((0, 3, 3)), *(corner_normals(s.points, s.triangles) for s in surfaces)]),
        np.concatenate([none, *(b.centers for b in balls)]),
        np.concatenate([none, *(b.color for b in balls)]),
        np.concatenate([none[:, 0], *(b.radii for b in balls)]),
    )


def _look(scene: Scene, paint: Paint, stage: Stage) -> Seen:
    """The nearest of things and floor along the ray of each pixel."""
    rays = stage.view.rays()
    shape, flat = rays.shape[:2], rays.reshape(-1, 3)
    hits = first_hits(scene, stage.view.eye, flat)
    seen = _floor(flat, hits.distance, stage)
    hit = np.isfinite(hits.distance) & (seen.share == 0.0)
    seen.points[hit] = stage.view.eye + flat[hit] * hits.distance[hit][:, None]
    face, ball = hit & (hits.triangle >= 0), hit & (hits.ball >= 0)
    corners = paint.triangles[hits.triangle[face]]
    weights = hits.weights[face][:, :, None]
    smooth = _unit((weights * paint.normals[hits.triangle[face]]).sum(1))
    seen.normals[face] = _on_the_side_of(_flat_normals(paint.points[corners], flat[face]), smooth)
    seen.color[face] = (weights * paint.color[corners]).sum(1)
    seen.normals[ball] = _unit(seen.points[ball] - paint.centers[hits.ball[ball]])
    seen.color[ball] = paint.colors[hits.ball[ball]]
    seen.share[hit] = 1.0
    seen.share[seen.share < 0.0] = 0.0
    return Seen(*(a.reshape(*shape, *a.shape[1:]) for a in (seen.points, seen.normals, seen.color, seen.share)))


def _floor(rays: np.ndarray, distance: np.ndarray, stage: Stage) -> Seen:
    """The floor where it is nearer than other things, fading out away from the scene; -1 where it has faded."""
    seen = Seen(np.zeros(rays.shape), np.zeros(rays.shape), np.zeros(rays.shape), np.zeros(len(rays)))
    if stage.ground is None:
        return seen
    with np.errstate(divide="ignore"):
        own = (stage.ground - stage.view.eye @ stage.up) / (rays @ stage.up)
    here = (own > 0.0) & (own < distance)
    where = stage.view.eye + rays[here] * own[here][:, None]
    away = np.linalg.norm(where * (1.0 - stage.up), axis=1)
    share = np.clip(1.0 - (away - 1.2) / 3.3, 0.0, 1.0) ** 2
    seen.share[here] = np.where(share > 0.0, share, -1.0)
    seen.points[here], seen.normals[here], seen.color[here] = where, stage.up, _FLOOR
    return seen


def _light(scene: Scene, seen: Seen, stage: Stage) -> tuple[np.ndarray, np.ndarray]:
    """Light of the sky and of the sun (h, w) on what the pixels see."""
    there = seen.share > 0.0
    points, normals = seen.points[there], seen.normals[there]
    lifted = points + _LIFT * normals
    source = light_from(stage.up, stage.toward_sun, _DISC, _REACH)
    light = np.zeros((*there.shape, 2))
    light[there] = np.column_stack(visibility(scene, lifted, normals, _shifts(there.shape)[there], source))
    light = smooth_light(light, seen.points, seen.normals * there[:, :, None], _TILE * OVERSAMPLE // 2, 4.0 * _LIFT)
    return light[:, :, 0], light[:, :, 1] * np.maximum(seen.normals @ stage.toward_sun, 0.0)


def _shifts(shape: tuple[int, int], samples: int = 4) -> np.ndarray:
    """Where samples (h, w) begin in the sequence of directions: those of one square of pixels take it in turn."""
    side = _TILE * OVERSAMPLE
    order = np.random.default_rng(0).permutation(side * side).reshape(side, side)
    row, column = np.ogrid[: shape[0], : shape[1]]
    return spread(samples * order[row % side, column % side].ravel()).reshape(*shape, 2)


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def _flat_normals(corners: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """Unit normals (k, 3) of triangles (k, 3, 3), on the side that the rays (k, 3) come from."""
    normals = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    return np.where(np.einsum("ij,ij->i", normals, rays)[:, None] > 0.0, -normals, normals)


def _on_the_side_of(flat: np.ndarray, smooth: np.ndarray) -> np.ndarray:
    """Smooth normals (k, 3) on the side of the surface of the flat ones (k, 3)."""
    return np.where(np.einsum("ij,ij->i", smooth, flat)[:, None] < 0.0, -smooth, smooth)
