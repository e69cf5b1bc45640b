"""A cross-bilateral filter: noise of light is averaged over pixels of the same surface.

Weights fall with the angle between normals and with the distance from the tangent plane (Petschnigg et al. 2004).
"""

from __future__ import annotations

import numpy as np

from ..core.language import abs, array, dot, float32, int32, kernel, launch, length, max, min, tid, vec2, vec3, zeros


def smooth_light(light: np.ndarray, points: np.ndarray, normals: np.ndarray, half: int, slack: float) -> np.ndarray:
    """Light (h, w, 2) averaged over windows of 2 half pixels a side, by points and normals (h, w, 3).

    Pixels with a normal of length 0 see nothing and take no part. slack: distance from the plane that does not count.
    """
    fields = [
        array(np.ascontiguousarray(a, np.float32), dtype=kind, device="cpu")
        for a, kind in ((light, vec2), (points, vec3), (normals, vec3))
    ]
    means = zeros(light.shape[:2], vec2, device="cpu")
    launch(average, light.shape[:2], inputs=[*fields, half, slack, means], device="cpu", record_tape=False)
    return means.numpy()


@kernel(enable_backward=False)
def average(
    light: array(dtype=vec2, ndim=2),
    points: array(dtype=vec3, ndim=2),
    normals: array(dtype=vec3, ndim=2),
    half: int32,
    slack: float32,
    means: array(dtype=vec2, ndim=2),
):
    i, j = tid()
    p, n = points[i, j], normals[i, j]
    total, weight = vec2(0.0, 0.0), float32(0.0)
    for row in range(max(i - half, 0), min(i + half, light.shape[0])):
        for column in range(max(j - half, 0), min(j + half, light.shape[1])):
            d = points[row, column] - p
            alike = max(dot(n, normals[row, column]), 0.0)
            alike *= alike
            off = abs(dot(n, d)) / (slack + 0.3 * length(d))
            w = alike * alike * max(1.0 - off * off, 0.0)
            total += w * light[row, column]
            weight += w
    if weight > 0.0:
        means[i, j] = total / weight
