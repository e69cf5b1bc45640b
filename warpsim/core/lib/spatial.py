"""Spatial algebra of rigid bodies: Featherstone 2008, Rigid Body Dynamics Algorithms.

A twist is (angular velocity [rad/s], linear velocity [m/s]); a wrench is (torque [N m], force [N]).
"""

from __future__ import annotations

from ..language import Float, Mat, Vec, cross, dot, func, matrix_from_rows, vector


@func
def spatial_top(svec: Vec[6, Float]) -> Vec[3, Float]:
    """Components 0 to 2: angular velocity of a twist, torque of a wrench."""
    return vector(svec[0], svec[1], svec[2])


@func
def spatial_bottom(svec: Vec[6, Float]) -> Vec[3, Float]:
    """Components 3 to 5: linear velocity of a twist, force of a wrench."""
    return vector(svec[3], svec[4], svec[5])


@func
def spatial_joined(top: Vec[3, Float], bottom: Vec[3, Float]) -> Vec[6, Float]:
    """The spatial vector (top, bottom)."""
    return vector(top[0], top[1], top[2], bottom[0], bottom[1], bottom[2])


@func
def spatial_dot(a: Vec[6, Float], b: Vec[6, Float]) -> Float:
    """Sum of the six products; the power [W] of a wrench on a twist."""
    return dot(a, b)


@func
def spatial_cross(a: Vec[6, Float], b: Vec[6, Float]) -> Vec[6, Float]:
    """The rate of change of twist `b` carried along by twist `a`: (wa x wb, va x wb + wa x vb)."""
    wa, wb = spatial_top(a), spatial_top(b)
    return spatial_joined(cross(wa, wb), cross(spatial_bottom(a), wb) + cross(wa, spatial_bottom(b)))


@func
def spatial_cross_dual(a: Vec[6, Float], b: Vec[6, Float]) -> Vec[6, Float]:
    """The rate of change of wrench `b` carried along by twist `a`: (w x n + v x f, w x f)."""
    w, f = spatial_top(a), spatial_bottom(b)
    return spatial_joined(cross(w, spatial_top(b)) + cross(spatial_bottom(a), f), cross(w, f))


@func
def spatial_adjoint(r: Mat[3, 3, Float], s: Mat[3, 3, Float]) -> Mat[6, 6, Float]:
    """Blocks [[r, 0], [s, r]]; with s = skew(p) r it maps twists by the transform (p, r)."""
    return matrix_from_rows(
        vector(r[0, 0], r[0, 1], r[0, 2], 0.0, 0.0, 0.0),
        vector(r[1, 0], r[1, 1], r[1, 2], 0.0, 0.0, 0.0),
        vector(r[2, 0], r[2, 1], r[2, 2], 0.0, 0.0, 0.0),
        vector(s[0, 0], s[0, 1], s[0, 2], r[0, 0], r[0, 1], r[0, 2]),
        vector(s[1, 0], s[1, 1], s[1, 2], r[1, 0], r[1, 1], r[1, 2]),
        vector(s[2, 0], s[2, 1], s[2, 2], r[2, 0], r[2, 1], r[2, 2]),
    )


@func
def velocity_at_point(qd: Vec[6, Float], r: Vec[3, Float]) -> Vec[3, Float]:
    """Velocity [m/s] of the point at offset `r` [m] from the origin of twist `qd`: v + w x r."""
    return spatial_bottom(qd) + cross(spatial_top(qd), r)
