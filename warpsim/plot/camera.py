"""Cameras of pictures: world points to pixels, and pixels back to rays."""

from dataclasses import dataclass, replace

import numpy as np

_DISTANCE = 4.5  # of the viewer from the middle of the scene, in radii of it


@dataclass(frozen=True)
class Camera:
    """A viewer at `eye` (3,) with orthonormal rows `axes`: right, down, forward.

    scale: pixels per unit of slope; middle: the pixel x, y that looks straight forward; size: width and height in
    pixels.
    """

    eye: np.ndarray
    axes: np.ndarray
    scale: float
    middle: tuple[float, float]
    size: tuple[int, int]

    def screen(self, points: np.ndarray) -> np.ndarray:
        """Pixel x and pixel y (n, 2) of points (n, 3) in front of the viewer."""
        right, down, forward = self.axes @ (np.asarray(points) - self.eye).T
        x = self.middle[0] + self.scale * right / forward
        return np.stack([x, self.middle[1] + self.scale * down / forward], axis=-1)

    def rays(self) -> np.ndarray:
        """Directions (h, w, 3) through the centres of pixels, each of length 1 forward."""
        x = (np.arange(self.size[0]) + 0.5 - self.middle[0]) / self.scale
        y = (np.arange(self.size[1]) + 0.5 - self.middle[1]) / self.scale
        right, down, forward = self.axes
        return forward + x[None, :, None] * right + y[:, None, None] * down

    def fit(self, points: np.ndarray, margin: float) -> "Camera":
        """The same view, zoomed and shifted: `points` (n, 3) fill it but for a share `margin`."""
        seen = self.screen(points)
        low, high = seen.min(0), seen.max(0)
        size, middle = np.array(self.size), np.array(self.middle)
        zoom = ((1.0 - 2.0 * margin) * size / np.maximum(high - low, 1e-9)).min()
        shift = 0.5 * size - zoom * (0.5 * (low + high) - middle)
        return replace(self, scale=self.scale * float(zoom), middle=(float(shift[0]), float(shift[1])))


def look_at(toward, up, size: tuple[int, int]) -> Camera:
    """A camera in the direction `toward` of the unit ball around the origin that sees it whole."""
    toward = np.asarray(toward, dtype=float) / np.linalg.norm(toward)
    right = np.cross(-toward, up)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(-toward, right), -toward])
    half = 1.0 / np.sqrt(_DISTANCE**2 - 1.0)
    middle = (0.5 * size[0], 0.5 * size[1])
    return Camera(_DISTANCE * toward, axes, 0.5 * min(size) / half, middle, size)
