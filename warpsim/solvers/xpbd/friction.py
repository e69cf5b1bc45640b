"""Coulomb friction, of ways and of velocities."""

from __future__ import annotations

from ...core.language import Float, Vec, func, length, max


@func
def friction_loss(slip: Vec[3, Float], sliding: Float, static: Float) -> Vec[3, Float]:
    """What friction takes of a way or a velocity along a surface: all up to `static`, else `sliding` [m] or [m/s]."""
    far = length(slip)
    if far > max(static, sliding):
        return (sliding / far) * slip
    return slip
