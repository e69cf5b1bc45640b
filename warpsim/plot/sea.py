"""A picture of the sea from above its surface: sky in the waves, light through crests, foam, haze, and what floats.

`render_sea` takes a tile of water that repeats itself, as arrays, and lays it out to the horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.image import imsave
from scipy.ndimage import map_coordinates

from warpsim.plot.camera import Camera
from warpsim.plot.normals import vertex_normals
from warpsim.plot.scene import Surface
from warpsim.plot.trace import Scene, first_hits

_SUN = np.array([0.87, 0.33, 0.24])  # towards the sun, a unit vector but for rounding
_DEEP, _GREEN, _FOAM = np.array([[0.004, 0.030, 0.050], [0.03, 0.16, 0.16], [0.80, 0.84, 0.86]])  # linear RGB
_HORIZON, _ZENITH, _LIGHT = np.array([[0.62, 0.72, 0.80], [0.07, 0.20, 0.46], [1.0, 0.86, 0.66]])
_NEAR, _FAR, _HALF_ANGLE = 1.3, 3000.0, 0.62  # of the sea that is drawn [heights of the eye], [m], [rad]
_ROWS, _COLUMNS = 700, 760  # of its points
_HAZE = 2200.0  # distance [m] over which it hides all but 1/e
_RIPPLES = 14.0  # heights of the eye from which a pixel sees but their mean


def render_sea(
    path, size: float, displacement, height, normals, foam=None, *, ripples=None, bodies: Sequence[Surface] = (),
    viewer: tuple[float, float, float] = (0.0, 0.0, 9.0), width: int = 1280, pixels_high: int = 560,
) -> Path:  # fmt: skip
    """Draw a tile of water of some size [m] as a PNG; x leads away from the viewer, y to the left, z is up.

    displacement (n, n, 2) and height (n, n) [m], unit normals (n, n, 3), and foam (n, n) in [0, 1], on cells of which
    the first index counts along x. ripples: the size [m] of another tile and its unit normals (m, m, 3), of waves too
    short for the cells of the first. bodies: surfaces that float. viewer: where the eye is [m].
    """
    cover = np.zeros(np.shape(height)) if foam is None else foam
    layers = [np.asarray(a, float).reshape(*np.shape(height), -1) for a in (displacement, height, normals, cover)]
    fields, eye = np.concatenate(layers, axis=-1), np.asarray(viewer, float)
    camera = _view(2 * width, 2 * pixels_high, eye)
    rays = camera.rays()
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    points, values, triangles = _fan(fields, size, eye)
    points, values, triangles, colors = _with_bodies(points, values, triangles, bodies)
    seen = first_hits(Scene(points - eye, triangles, np.zeros((0, 3)), np.zeros(0)), np.zeros(3), rays.reshape(-1, 3))
    hit = (seen.triangle >= 0).reshape(rays.shape[:2])
    corners, weights = (a[hit.ravel()] for a in (triangles[seen.triangle], seen.weights[:, :, None]))
    where, values = (weights * points[corners]).sum(1), (weights * values[corners]).sum(1)
    own, ray = colors[corners[:, 0]], rays[hit]
    far = np.linalg.norm(where - eye, axis=1)[:, None]
    color = _water(where, values, ray, far, ripples, eye[2], 4.0 * float(np.std(fields[..., 2])))
    body = own[:, 0] >= 0.0
    color[body] = _shade(own[body], values[body, :3], ray[body])
    image = _sky(rays.reshape(-1, 3)).reshape(rays.shape)
    image[hit] = _HORIZON + (color - _HORIZON) * np.exp(-far / _HAZE)
    fine = (1.0 - np.exp(-1.25 * image)).reshape(pixels_high, 2, width, 2, 3).mean((1, 3))
    imsave(path, np.clip(fine, 0.0, 1.0) ** (1.0 / 2.2), metadata={"Software": None})
    return Path(path)


# ----- what there is to see ---------------------------------------------------------------------------


def _view(width: int, height: int, eye: np.ndarray) -> Camera:
    """A camera that looks along x and a little down."""
    forward = np.array([np.cos(0.10), 0.0, -np.sin(0.10)])
    right = np.array([0.0, -1.0, 0.0])
    axes = np.stack([right, np.cross(forward, right), forward])
    return Camera(eye, axes, 0.9 * width, (0.5 * width, 0.5 * height), (width, height))


def _fan(fields: np.ndarray, size: float, eye: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sea in front of the viewer, finer near it: points, normals beside foam, and triangles."""
    distance = np.geomspace(_NEAR * eye[2], _FAR, _ROWS)[:, None]
    angle = np.linspace(-_HALF_ANGLE, _HALF_ANGLE, _COLUMNS)[None, :]
    rest = np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=-1).reshape(-1, 2) + eye[:2]
    d = _sample(fields, rest, size)
    points = np.column_stack([rest + d[:, :2], d[:, 2]])
    i, j = np.divmod(np.arange((_ROWS - 1) * (_COLUMNS - 1)), _COLUMNS - 1)
    a = i * _COLUMNS + j
    halves = [np.stack([a, a + _COLUMNS, a + _COLUMNS + 1], 1), np.stack([a, a + _COLUMNS + 1, a + 1], 1)]
    return points, d[:, 3:], np.concatenate(halves)


def _sample(fields: np.ndarray, at: np.ndarray, size: float) -> np.ndarray:
    """Fields of a tile at points (k, 2) [m]."""
    places = (at * len(fields) / size).T
    layers = range(fields.shape[-1])
    return np.stack([map_coordinates(fields[..., k], places, order=1, mode="grid-wrap") for k in layers], axis=-1)


def _with_bodies(points: np.ndarray, values: np.ndarray, triangles: np.ndarray, bodies: Sequence[Surface]) -> tuple:
    """All points, normals beside foam, triangles, and colors: -1 for water. Triangles of bodies share no points."""
    colors = [np.full(points.shape, -1.0)]
    all_points, all_values, all_triangles = [points], [values], [triangles]
    count = len(points)
    for body in bodies:
        apart, order = body.points[body.triangles.ravel()], np.arange(body.triangles.size).reshape(-1, 3)
        all_points.append(apart)
        all_values.append(np.column_stack([vertex_normals(apart, order), np.zeros(len(apart))]))
        all_triangles.append(order + count)
        colors.append(body.color[body.triangles.ravel()])
        count += len(apart)
    return tuple(map(np.concatenate, (all_points, all_values, all_triangles, colors)))


# ----- light ------------------------------------------------------------------------------------------


def _sky(directions: np.ndarray) -> np.ndarray:
    """Light from directions (n, 3): a gradient, and the sun."""
    up = np.clip(directions[:, 2], 0.0, 1.0)[:, None] ** 0.5
    toward = np.clip(directions @ _SUN, 0.0, 1.0)[:, None]
    return _HORIZON + (_ZENITH - _HORIZON) * up + _LIGHT * (0.35 * toward**12 + 6.0 * toward**400)


def _water(where, values, ray, far, ripples, eye_height: float, significant: float) -> np.ndarray:
    """Water (k, 3) at points: the sky reflected by Fresnel's law (Schlick 1994), green crests, and foam."""
    n, cover = values[:, :3].copy(), np.clip(values[:, 3:], 0.0, 1.0)
    n[:, :2] /= 1.0 + far / 900.0  # waves below a pixel are seen on average
    slopes = np.zeros((len(n), 2))
    if ripples is not None:
        fine = _sample(np.asarray(ripples[1], float), where[:, :2], ripples[0])
        slopes = fine[:, :2] / fine[:, 2:] * np.exp(-((far / (_RIPPLES * eye_height)) ** 2))
        n[:, :2] += n[:, 2:] * slopes
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    facing = np.clip(-(ray * n).sum(1), 0.0, 1.0)[:, None]
    mirrored = ray + 2.0 * facing * n
    mirrored[:, 2] = np.abs(mirrored[:, 2])
    fresnel = 0.02 + 0.98 * (1.0 - facing) ** 5
    crest = np.clip(where[:, 2:] / max(significant, 1e-9) + 0.15, 0.0, 1.0)
    water = _DEEP + (_GREEN - _DEEP) * crest * (0.4 + 0.6 * facing)
    color = water + fresnel * (_sky(mirrored) - water)
    broken = np.clip(5.0 * cover, 0.0, 1.0) * np.clip(2.5 * cover - 0.75 + 4.0 * slopes[:, :1], 0.0, 1.0)
    lit = 0.8 + 0.6 * np.clip(n @ _SUN, 0.0, 1.0)[:, None]
    return color + broken * (_FOAM * lit - color)


def _shade(color: np.ndarray, normals: np.ndarray, ray: np.ndarray) -> np.ndarray:
    """Paint (k, 3) in the sun and under the sky (Lambert's law), seen from both sides."""
    n = normals * np.where((normals * ray).sum(1) > 0.0, -1.0, 1.0)[:, None]
    sky = 0.28 + 0.17 * n[:, 2:]
    return color * (sky + np.clip(n @ _SUN, 0.0, 1.0)[:, None] * _LIGHT)
