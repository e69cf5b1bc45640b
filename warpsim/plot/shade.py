"""Light on surfaces: Lambert's cosine law, an ambient sky, and shadows from a depth map.

All colors are linear RGB until `encode` makes them sRGB.  Shadows follow Williams (1978), softened
by averaging a 3 by 3 neighbourhood of comparisons (Reeves, Salesin and Cook 1987).
"""

from dataclasses import dataclass

import numpy as np

from warpsim.plot.camera import Camera, look_at
from warpsim.plot.raster import rasterize

_MAP_SIZE = 1024
_SKY, _SUN = 0.42, 0.75


@dataclass(frozen=True)
class Light:
    """A sun in the direction `toward` (3,), with what it sees first: depth (s, s) over `camera`."""

    toward: np.ndarray
    camera: Camera
    depth: np.ndarray

    def reaches(self, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """Share of sunlight (k,), 0 to 1, at points (k, 3) with unit normals (k, 3)."""
        texel = 1.0 / self.camera.scale
        x, y, depth = self.camera.screen(points + 2.5 * texel * normals).T
        column, row = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
        lit = np.zeros(len(points))
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                r, c = np.clip(row + i, 0, _MAP_SIZE - 1), np.clip(column + j, 0, _MAP_SIZE - 1)
                lit += depth - 2.0 * texel <= self.depth[r, c]
        outside = (x < 0) | (y < 0) | (x >= _MAP_SIZE) | (y >= _MAP_SIZE)
        return np.where(outside, 1.0, lit / 9.0)


def sun(points: np.ndarray, triangles: np.ndarray, ball: tuple[np.ndarray, float], toward) -> Light:
    """The light from `toward` (3,) on triangles (m, 3) inside `ball`: its centre and radius."""
    toward = np.asarray(toward, dtype=float) / np.linalg.norm(toward)
    across = np.eye(3)[np.argmin(np.abs(toward))]
    camera = look_at(*ball, toward, across, (_MAP_SIZE, _MAP_SIZE), perspective=False)
    pixels = rasterize(camera.screen(points), triangles, _MAP_SIZE, _MAP_SIZE)
    return Light(toward, camera, pixels.depth)


def lambert(color, normals, shadow, light: Light, up) -> np.ndarray:
    """Light (k, 3) from surfaces of `color`, unit `normals` (k, 3) and sun share `shadow` (k,)."""
    facing = np.maximum(normals @ light.toward, 0.0) * shadow
    sky = 0.65 + 0.35 * (normals @ np.asarray(up))
    return color * (_SKY * sky + _SUN * facing)[:, None]


def encode(linear: np.ndarray) -> np.ndarray:
    """sRGB values of linear light, both in [0, 1] (IEC 61966-2-1)."""
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)
