"""Spatial algebra against its definitions: power, duality, block matrices."""

import numpy as np
import pytest
from lib_runs import apply

import warpsim as wp

DEVICES = ("interp", "cpu")
everywhere = pytest.mark.parametrize("device", DEVICES)


def samples(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(6, *shape))


six, three, m33, m66 = wp.spatial_vectord, wp.vec3d, wp.mat33d, wp.spatial_matrixd


@everywhere
def test_dot_is_the_sum_of_six_products(device):
    a, b = samples((6,), 1), samples((6,), 2)
    found = apply(wp.spatial_dot, (six, six, wp.float64), device, a, b)
    np.testing.assert_allclose(found, np.sum(a * b, axis=1), atol=1e-13)


@everywhere
def test_cross_of_twists(device):
    a, b = samples((6,), 3), samples((6,), 4)
    top = np.cross(a[:, :3], b[:, :3])
    bottom = np.cross(a[:, 3:], b[:, :3]) + np.cross(a[:, :3], b[:, 3:])
    found = apply(wp.spatial_cross, (six, six, six), device, a, b)
    np.testing.assert_allclose(found, np.concatenate([top, bottom], axis=1), atol=1e-13)
    np.testing.assert_allclose(apply(wp.spatial_cross, (six, six, six), device, b, a), -found, atol=1e-13)


@everywhere
def test_the_dual_cross_keeps_power(device):
    """d/dt of (twist . wrench) vanishes when both are carried along by the same motion."""
    motion, twist, wrench = samples((6,), 5), samples((6,), 6), samples((6,), 7)
    d_twist = apply(wp.spatial_cross, (six, six, six), device, motion, twist)
    d_wrench = apply(wp.spatial_cross_dual, (six, six, six), device, motion, wrench)
    np.testing.assert_allclose(np.sum(d_twist * wrench + twist * d_wrench, axis=1), 0, atol=1e-13)


@everywhere
def test_adjoint_matrix_places_its_blocks(device):
    r, s = samples((3, 3), 8), samples((3, 3), 9)
    found = apply(wp.spatial_adjoint, (m33, m33, m66), device, r, s)
    expected = np.block([[r, np.zeros_like(r)], [s, r]])
    np.testing.assert_array_equal(found, expected)


@everywhere
def test_velocity_of_a_point_of_a_turning_body(device):
    qd, r = samples((6,), 10), samples((3,), 11)
    found = apply(wp.velocity_at_point, (six, three, three), device, qd, r)
    np.testing.assert_allclose(found, qd[:, 3:] + np.cross(qd[:, :3], r), atol=1e-13)


def test_halves_and_values_from_python():
    s = wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert wp.spatial_top(s) == wp.vec3(1.0, 2.0, 3.0)
    assert wp.spatial_bottom(s) == wp.vec3(4.0, 5.0, 6.0)
    assert wp.velocity_at_point(s, wp.vec3(-1.0, 0.5, 2.0)) == wp.vec3(6.5, 0.0, 8.5)  # as Warp 1.19
    z_spin, x_push = (
        wp.spatial_vector(0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        wp.spatial_vector(0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    )
    np.testing.assert_array_equal(np.asarray(wp.spatial_cross(z_spin, x_push)), [0, 0, 0, 0, 1, 0])
