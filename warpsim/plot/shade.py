"""Light on surfaces: Lambert's cosine law under a sun and a sky. Colors are linear RGB until `encode` is done."""

from __future__ import annotations

import numpy as np

SKY = 0.50 * np.array([0.97, 1.0, 1.05])
SUN = 0.74 * np.array([1.03, 1.0, 0.95])


def lambert(color: np.ndarray, sky: np.ndarray, facing: np.ndarray) -> np.ndarray:
    """Light (k, 3) from surfaces of a color (k, 3) to which this much of the sky (k,) and of the sun (k,) comes."""
    return color * (SKY * sky[..., None] + SUN * facing[..., None])


def encode(linear: np.ndarray) -> np.ndarray:
    """sRGB values of linear light, both in [0, 1] (IEC 61966-2-1)."""
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)
