"""A picture of the sea from above its surface: sky in the waves, light through crests, foam, haze, and the sun's path.

`render_sea` takes a tile of water that repeats itself, as arrays, and lays it out to the horizon.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.image import imsave
from scipy.ndimage import map_coordinates

from warpsim.plot.camera import Camera
from warpsim.plot.raster import Pixels, rasterize

_EYE = 9.0  # height of the viewer over calm water [m]
_SUN = np.array([0.87, 0.33, 0.24])  # towards the sun, a unit vector but for rounding
_DEEP, _GREEN, _FOAM = np.array([[0.004, 0.030, 0.050], [0.03, 0.16, 0.16], [0.80, 0.84, 0.86]])  # linear RGB
_HORIZON, _ZENITH, _LIGHT = np.array([[0.62, 0.72, 0.80], [0.10, 0.24, 0.50], [1.0, 0.86, 0.66]])
_NEAR, _FAR, _HALF_ANGLE = 12.0, 3000.0, 0.62  # of the sea that is drawn [m], [m], [rad]
_ROWS, _COLUMNS = 700, 760  # of its points
_HAZE = 2200.0  # distance [m] over which it hides all but 1/e


def render_sea(
    path, size: float, displacement, height, normals, foam, *, width: int = 1280, pixels_high: int = 560
) -> Path:
    """Draw a tile of water of some size [m] as a PNG; x leads away from the viewer, y to the left, z is up.

    displacement (n, n, 2) and height (n, n) [m], unit normals (n, n, 3), and foam (n, n) in [0, 1], on cells of which
    the first index counts along x.
    """
    layers = [np.asarray(a, float).reshape(*np.shape(height), -1) for a in (displacement, height, normals, foam)]
    fields = np.concatenate(layers, axis=-1)
    camera = _view(2 * width, 2 * pixels_high)
    points, normal, cover, triangles = _fan(fields, size)
    rays = camera.rays()
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    image = _sky(rays.reshape(-1, 3)).reshape(rays.shape)
    seen = rasterize(camera.screen(points), triangles, *camera.size)
    _shade(image, seen, rays, camera.eye, points, normal, cover, triangles, 4.0 * float(np.std(fields[..., 2])))
    fine = (1.0 - np.exp(-1.25 * image)).reshape(pixels_high, 2, width, 2, 3).mean((1, 3))
    imsave(path, np.clip(fine, 0.0, 1.0) ** (1.0 / 2.2), metadata={"Software": None})
    return Path(path)


def _sky(directions: np.ndarray) -> np.ndarray:
    """Light from directions (n, 3): a gradient, and the sun."""
    up = np.clip(directions[:, 2], 0.0, 1.0)[:, None] ** 0.6
    toward = np.clip(directions @ _SUN, 0.0, 1.0)[:, None]
    return _HORIZON + (_ZENITH - _HORIZON) * up + _LIGHT * (0.35 * toward**12 + 6.0 * toward**400)


def _view(width: int, height: int) -> Camera:
    """A camera that looks along x and a little down."""
    forward = np.array([np.cos(0.10), 0.0, -np.sin(0.10)])
    right = np.array([0.0, -1.0, 0.0])
    axes = np.stack([right, np.cross(forward, right), forward])
    return Camera(np.array([0.0, 0.0, _EYE]), axes, 0.9 * width, (0.5 * width, 0.5 * height), (width, height), True)


def _fan(fields: np.ndarray, size: float):
    """The sea in front of the camera, finer near it: points, normals, foam and triangles."""
    distance = np.geomspace(_NEAR, _FAR, _ROWS)[:, None]
    angle = np.linspace(-_HALF_ANGLE, _HALF_ANGLE, _COLUMNS)[None, :]
    rest = np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=-1).reshape(-1, 2)
    at = (rest * len(fields) / size).T
    d = np.stack([map_coordinates(fields[..., k], at, order=1, mode="grid-wrap") for k in range(7)], axis=-1)
    points = np.column_stack([rest + d[:, :2], d[:, 2]])
    i, j = np.divmod(np.arange((_ROWS - 1) * (_COLUMNS - 1)), _COLUMNS - 1)
    a = i * _COLUMNS + j
    halves = [np.stack([a, a + _COLUMNS, a + _COLUMNS + 1], 1), np.stack([a, a + _COLUMNS + 1, a + 1], 1)]
    return points, d[:, 3:6], d[:, 6], np.concatenate(halves)


def _shade(image, seen: Pixels, rays, eye, points, normals, cover, triangles, significant: float) -> None:
    """Water where it is seen: the sky reflected by Fresnel's law (Schlick 1994), green crests, foam, haze."""
    hit = seen.triangle >= 0
    corners, weights = triangles[seen.triangle[hit]], seen.weights[hit][:, :, None]
    where, n = (weights * points[corners]).sum(1), (weights * normals[corners]).sum(1)
    ray, far = rays[hit], np.linalg.norm(where - eye, axis=1)[:, None]
    n[:, :2] /= 1.0 + far / 900.0  # waves below a pixel are seen on average
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    facing = np.clip(-(ray * n).sum(1), 0.0, 1.0)[:, None]
    mirrored = ray + 2.0 * facing * n
    mirrored[:, 2] = np.abs(mirrored[:, 2])
    fresnel = 0.02 + 0.98 * (1.0 - facing) ** 5
    crest = np.clip(where[:, 2:] / max(significant, 1e-9) + 0.15, 0.0, 1.0)
    water = _DEEP + (_GREEN - _DEEP) * crest * (0.4 + 0.6 * facing)
    color = water + fresnel * (_sky(mirrored) - water)
    white = np.clip((weights * cover[corners][:, :, None]).sum(1), 0.0, 1.0)
    color += 0.9 * white * (_FOAM * (0.35 + 0.65 * np.clip(n @ _SUN, 0.0, 1.0)[:, None]) - color)
    image[hit] = _HORIZON + (color - _HORIZON) * np.exp(-far / _HAZE)
