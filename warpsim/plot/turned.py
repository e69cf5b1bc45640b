"""Solids of revolution: cylinders, cones, capsules, arrows, all from the outline of their halves."""

import numpy as np

from warpsim.plot.scene import Surface


def revolve(outline, axis: int = 1, color=(0.30, 0.33, 0.38), sides: int = 32) -> Surface:
    """The surface that an outline sweeps around an axis (0, 1, 2 for x, y, z).

    outline: (n, 2), radius and height [m], from the top to the bottom; where it bends sharply, the surface has an edge.
    """
    radius, height = np.asarray(outline, dtype=np.float64).T
    angle = 2.0 * np.pi * np.arange(sides) / sides
    rings = np.stack(
        [
            radius[:, None] * np.sin(angle),
            np.broadcast_to(height[:, None], (len(height), sides)),
            radius[:, None] * np.cos(angle),
        ],
        axis=-1,
    )
    k, j = np.divmod(np.arange((len(radius) - 1) * sides), sides)
    here, beside = k * sides + j, k * sides + (j + 1) % sides
    upper = np.stack([here, here + sides, beside], 1)[radius[k] > 0.0]
    lower = np.stack([beside, here + sides, beside + sides], 1)[radius[k + 1] > 0.0]
    return Surface(np.roll(rings.reshape(-1, 3), axis - 1, axis=1), np.concatenate([upper, lower]), color)


def cylinder_outline(radius: float, half_height: float) -> list[tuple[float, float]]:
    """A cylinder around the origin."""
    return [(0.0, half_height), (radius, half_height), (radius, -half_height), (0.0, -half_height)]


def cone_outline(radius: float, half_height: float) -> list[tuple[float, float]]:
    """A cone around the origin, its tip above."""
    return [(0.0, half_height), (radius, -half_height), (0.0, -half_height)]


def capsule_outline(radius: float, half_height: float, steps: int = 12) -> list[tuple[float, float]]:
    """A cylinder with a half ball on each end; `half_height` is that of the cylinder."""
    polar = 0.5 * np.pi * np.arange(steps + 1) / steps
    cap = [(radius * float(np.sin(a)), half_height + radius * float(np.cos(a))) for a in polar]
    return [*cap, *((r, -h) for r, h in reversed(cap))]


def arrow_outline(radius: float, height: float, cap_radius: float, cap_height: float) -> list[tuple[float, float]]:
    """A shaft from the origin up, and a cone on it."""
    return [(0.0, height + cap_height), (cap_radius, height), (radius, height), (radius, 0.0), (0.0, 0.0)]
