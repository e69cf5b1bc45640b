"""Where a picture is taken from: world points to pixels, and pixels back to rays.

`screen` depths suit `rasterize`: they grow away from the viewer and are linear across the screen.
"""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Camera:
    """A viewer at `eye` (3,) with orthonormal rows `axes`: right, down, forward.

    scale: pixels per unit of slope for a perspective, pixels per metre for a parallel view.
    middle: the pixel x, y that looks straight forward; size: width and height in pixels.
    """

    eye: np.ndarray
    axes: np.ndarray
    scale: float
    middle: tuple[float, float]
    size: tuple[int, int]
    perspective: bool

    def screen(self, points: np.ndarray) -> np.ndarray:
        """Pixel x, pixel y and depth (n, 3) of world points (n, 3)."""
        right, down, forward = self.axes @ (np.asarray(points) - self.eye).T
        over = 1.0 / forward if self.perspective else np.ones_like(forward)
        x = self.middle[0] + self.scale * right * over
        y = self.middle[1] + self.scale * down * over
        return np.stack([x, y, -over if self.perspective else forward], axis=-1)

    def rays(self) -> np.ndarray:
        """Directions (h, w, 3) through the pixel centres of a perspective, each 1 m forward."""
        x = (np.arange(self.size[0]) + 0.5 - self.middle[0]) / self.scale
        y = (np.arange(self.size[1]) + 0.5 - self.middle[1]) / self.scale
        right, down, forward = self.axes
        return forward + x[None, :, None] * right + y[:, None, None] * down

    def fitted(self, points: np.ndarray, margin: float) -> "Camera":
        """The same view, zoomed and shifted: `points` (n, 3) fill it but for a share `margin`."""
        seen = self.screen(points)[:, :2]
        low, high = seen.min(0), seen.max(0)
        size, middle = np.array(self.size), np.array(self.middle)
        zoom = ((1.0 - 2.0 * margin) * size / np.maximum(high - low, 1e-9)).min()
        shift = 0.5 * size - zoom * (0.5 * (low + high) - middle)
        return replace(
            self, scale=self.scale * float(zoom), middle=(float(shift[0]), float(shift[1]))
        )


def look_at(center, radius: float, toward, up, size: tuple[int, int], perspective: bool) -> Camera:
    """A camera in the direction `toward` of the ball (`center`, `radius`) that sees it whole."""
    toward = np.asarray(toward, dtype=float) / np.linalg.norm(toward)
    forward = -toward
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(forward, right), forward])
    distance = 4.5 * radius if perspective else 2.0 * radius
    half = radius / np.sqrt(distance**2 - radius**2) if perspective else radius
    eye = np.asarray(center) + distance * toward
    middle = (0.5 * size[0], 0.5 * size[1])
    return Camera(eye, axes, 0.5 * min(size) / half, middle, size, perspective)
