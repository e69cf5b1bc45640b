"""Transforms against 4x4 matrices in NumPy and rotations in SciPy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib_runs import apply, launch
from scipy.spatial.transform import Rotation

import warpsim as wp

TYPES = {
    "f": (wp.vec3f, wp.quatf, wp.transformf, wp.mat44f, wp.spatial_vectorf),
    "d": (wp.vec3d, wp.quatd, wp.transformd, wp.mat44d, wp.spatial_vectord),
}
COUNT, MANY = {"interp": 5}, 500
everywhere = pytest.mark.parametrize(("device", "suffix"), list(product(("interp", "cpu"), "fd")))


def dtype(suffix: str):
    return np.float32 if suffix == "f" else np.float64


def tolerance(suffix: str) -> float:
    return 64 * float(np.finfo(dtype(suffix)).eps)


def transforms(device: str, suffix: str, seed: int) -> np.ndarray:
    p = np.random.default_rng(seed).normal(size=(COUNT.get(device, MANY), 3))
    return np.concatenate([p, Rotation.random(len(p), rng=seed).as_quat()], axis=1).astype(dtype(suffix))


def vectors(device: str, suffix: str, seed: int, size: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(COUNT.get(device, MANY), size)).astype(dtype(suffix))


def matrices(t: np.ndarray) -> np.ndarray:
    m = np.tile(np.eye(4), (len(t), 1, 1))
    m[:, :3, :3], m[:, :3, 3] = Rotation.from_quat(t[:, 3:]).as_matrix(), t[:, :3]
    return m


@everywhere
def test_points_and_directions(device, suffix):
    vec3, _, transform, mat44, _ = TYPES[suffix]
    t, v = transforms(device, suffix, 1), vectors(device, suffix, 2)
    m = matrices(t)
    near = {"atol": tolerance(suffix)}
    point = np.einsum("nij,nj->ni", m[:, :3, :3], v) + t[:, :3]
    direction = point - t[:, :3]
    np.testing.assert_allclose(apply(wp.transform_point, (transform, vec3, vec3), device, t, v), point, **near)
    np.testing.assert_allclose(apply(wp.transform_vector, (transform, vec3, vec3), device, t, v), direction, **near)
    m = m.astype(dtype(suffix))
    np.testing.assert_allclose(apply(wp.transform_point, (mat44, vec3, vec3), device, m, v), point, **near)
    np.testing.assert_allclose(apply(wp.transform_vector, (mat44, vec3, vec3), device, m, v), direction, **near)


@everywhere
def test_products_inverses_and_matrices(device, suffix):
    _, _, transform, mat44, _ = TYPES[suffix]
    a, b = transforms(device, suffix, 3), transforms(device, suffix, 4)
    near = {"atol": tolerance(suffix)}
    np.testing.assert_allclose(apply(wp.transform_to_matrix, (transform, mat44), device, a), matrices(a), **near)
    both = apply(wp.transform_multiply, (transform, transform, transform), device, a, b)
    np.testing.assert_allclose(matrices(both), matrices(a) @ matrices(b), **near)
    back = apply(wp.transform_inverse, (transform, transform), device, a)
    np.testing.assert_allclose(matrices(back), np.linalg.inv(matrices(a)), **near)
    again = apply(wp.transform_from_matrix, (mat44, transform), device, matrices(a).astype(dtype(suffix)))
    np.testing.assert_allclose(matrices(again), matrices(a), **near)


@everywhere
def test_products_turn_as_quat_rotate_does_where_quaternions_are_not_of_length_one(device, suffix):
    vec3, quat, transform, _, _ = TYPES[suffix]
    quat = wp.quat if suffix == "f" else wp.quatd
    a, b = vectors(device, suffix, 8, 7), vectors(device, suffix, 9, 7)
    q, p, x = a[:, 3:], a[:, :3], b[:, :3]
    turned = p + apply(wp.quat_rotate, (quat, vec3, vec3), device, q, x)
    near = {"atol": 20 * tolerance(suffix), "rtol": tolerance(suffix)}
    both = apply(wp.transform_multiply, (transform, transform, transform), device, a, b)
    np.testing.assert_allclose(both[:, :3], turned, **near)
    np.testing.assert_allclose(apply(wp.transform_point, (transform, vec3, vec3), device, a, x), turned, **near)
    product = apply(wp.mul, (quat, quat, quat), device, q, b[:, 3:])
    np.testing.assert_allclose(both[:, 3:], product, **near)


@everywhere
def test_twists_and_wrenches_keep_power(device, suffix):
    _, _, transform, _, six = TYPES[suffix]
    t = transforms(device, suffix, 5)
    twist, wrench = vectors(device, suffix, 6, 6), vectors(device, suffix, 7, 6)
    r, p = Rotation.from_quat(t[:, 3:]), t[:, :3]
    moved = apply(wp.transform_twist, (transform, six, six), device, t, twist)
    w = r.apply(twist[:, :3])
    expected = np.concatenate([w, r.apply(twist[:, 3:]) + np.cross(p, w)], axis=1)
    np.testing.assert_allclose(moved, expected, atol=tolerance(suffix))
    moved_wrench = apply(wp.transform_wrench, (transform, six, six), device, t, wrench)
    power = np.sum(twist * wrench, axis=1)
    np.testing.assert_allclose(np.sum(moved * moved_wrench, axis=1), power, atol=8 * tolerance(suffix))


def scaling_kernels(suffix: str):
    vec3, quat, _, mat44, _ = TYPES[suffix]

    @wp.kernel
    def compose(
        p: wp.array(dtype=vec3),
        q: wp.array(dtype=quat),
        s: wp.array(dtype=vec3),
        m: wp.array(dtype=mat44),
    ):
        i = wp.tid()
        m[i] = wp.transform_compose(p[i], q[i], s[i])

    @wp.kernel
    def split(
        m: wp.array(dtype=mat44),
        p: wp.array(dtype=vec3),
        q: wp.array(dtype=quat),
        s: wp.array(dtype=vec3),
    ):
        i = wp.tid()
        position, rotation, scale = wp.transform_decompose(m[i])
        p[i] = position
        q[i] = rotation
        s[i] = scale

    return compose, split


SCALING = {suffix: scaling_kernels(suffix) for suffix in TYPES}


def scales(kind: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(8)
    return {
        "positive": rng.uniform(0.1, 3, (count, 3)),
        "mirrored": rng.normal(size=(count, 3)),
        "flat": rng.integers(0, 2, (count, 3)) * rng.uniform(0.5, 2, (count, 3)),
        "wide": 10.0 ** rng.uniform(-6, 6, (count, 3)),
    }[kind]


@everywhere
@pytest.mark.parametrize("kind", ["positive", "mirrored", "flat", "wide"])
def test_composing_what_was_taken_apart(device, suffix, kind):
    vec3, quat, _, mat44, _ = TYPES[suffix]
    compose, split = SCALING[suffix]
    t = transforms(device, suffix, 9)
    s = scales(kind, len(t)).astype(dtype(suffix))
    p, q = np.ascontiguousarray(t[:, :3]), np.ascontiguousarray(t[:, 3:])
    m = launch(compose, (vec3, quat, vec3, mat44), device, p, q, s)
    expected = matrices(t)
    expected[:, :3, :3] *= s[:, None, :]
    np.testing.assert_allclose(m, expected, rtol=tolerance(suffix), atol=tolerance(suffix) * s.max())

    parts = launch(split, (mat44, vec3, quat, vec3), device, m.astype(dtype(suffix)))
    np.testing.assert_allclose(np.linalg.norm(parts[1], axis=1), 1, atol=tolerance(suffix))
    again = launch(compose, (vec3, quat, vec3, mat44), device, *(x.astype(dtype(suffix)) for x in parts))
    size = np.abs(m).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(again / size, m / size, atol=tolerance(suffix))
    if kind in ("positive", "wide"):
        np.testing.assert_allclose(parts[2], s, rtol=tolerance(suffix))
    if kind == "mirrored":
        assert (parts[2][:, 1:] >= 0).all() and ((parts[2][:, 0] < 0) == (s.prod(axis=1) < 0)).all()


def test_nothing_decomposes_to_the_identity_scaled_to_zero():
    parts = launch(SCALING["d"][1], (wp.mat44d, wp.vec3d, wp.quatd, wp.vec3d), None, np.zeros((1, 4, 4)))
    np.testing.assert_array_equal(np.concatenate([x[0] for x in parts]), [0, 0, 0, 0, 0, 0, 1, 0, 0, 0])


ENTRY = st.floats(-4, 4, width=32)  # squares of smaller numbers vanish


@settings(deadline=None, max_examples=100)
@given(st.tuples(ENTRY, ENTRY, ENTRY), st.tuples(ENTRY, ENTRY, ENTRY))
def test_any_scaled_rotation_survives(turn, scale):
    compose, split = SCALING["d"]
    q, s = Rotation.from_rotvec([turn]).as_quat(), np.array([scale])
    m = launch(compose, (wp.vec3d, wp.quatd, wp.vec3d, wp.mat44d), None, np.array([turn]), q, s)
    parts = launch(split, (wp.mat44d, wp.vec3d, wp.quatd, wp.vec3d), None, m)
    again = launch(compose, (wp.vec3d, wp.quatd, wp.vec3d, wp.mat44d), None, *parts)
    np.testing.assert_allclose(again, m, atol=1e-13)


def test_values_that_warp_computes():
    """Conventions, pinned by numbers that Warp 1.19 gives for the same calls."""

    def close(found, expected):
        np.testing.assert_allclose(np.asarray(found), expected, atol=4e-6)

    q = wp.normalize(wp.quat(0.1, 0.2, -0.3, 0.8))
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), q)
    close(wp.transform_identity(), [0, 0, 0, 0, 0, 0, 1])
    close(wp.transform_get_translation(t), [1, 2, 3])
    close(wp.transform_get_rotation(t), np.asarray(q))
    close(wp.transform_inverse(t)[0:3], [1.9230770, -2.3076925, -2.2307694])
    m = wp.transform_compose(wp.vec3(1.0, 2.0, 3.0), q, wp.vec3(2.0, 3.0, 4.0))
    close(wp.transform_point(m, wp.vec3(0.1, 0.2, 0.3)), [1.9333334, 1.9025640, 3.9794872])
    close(wp.transform_vector(m, wp.vec3(0.1, 0.2, 0.3)), [0.9333334, -0.0974360, 0.9794872])
    x = wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    close(wp.transform_twist(t, x), [3.0, -0.1538461, 2.2307694, 12.923077, 6.076923, -2.6153846])
    close(wp.transform_wrench(t, x), [12.153847, 20.307692, -14.461539, 8.0, -0.6923079, 3.5384617])


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_setting_parts_in_a_kernel(device):
    @wp.kernel
    def change(t: wp.array(dtype=wp.transform), out: wp.array(dtype=wp.transform)):
        i = wp.tid()
        x = t[i]
        wp.transform_set_translation(x, wp.vec3(7.0, 8.0, 9.0))
        wp.transform_set_rotation(x, wp.quat(1.0, 0.0, 0.0, 0.0))
        out[i] = x

    given_transforms = transforms(device, "f", 10)
    found = launch(change, (wp.transform, wp.transform), device, given_transforms)
    np.testing.assert_array_equal(found, [[7, 8, 9, 1, 0, 0, 0]] * len(found))


def scaled_transforms(device, suffix, seed):
    """Transforms whose rotations have any length."""
    t = transforms(device, suffix, seed)
    return t * np.random.default_rng(seed).uniform(0.3, 3.0, (len(t), 1)).astype(t.dtype)


@everywhere
def test_one_formula_rotates_where_the_quaternion_is_no_unit(device, suffix):
    vec3, quat, transform, _, _ = TYPES[suffix]
    a, b = scaled_transforms(device, suffix, 31), scaled_transforms(device, suffix, 32)
    p, v = a[:, :3].astype(np.float64), b[:, :3].astype(np.float64)
    u, w = a[:, 3:6].astype(np.float64), a[:, 6:].astype(np.float64)
    expected = p + (2 * w * w - 1) * v + 2 * w * np.cross(u, v) + 2 * np.sum(u * v, 1, keepdims=True) * u
    found = {
        "product": apply(wp.mul, (transform, transform, transform), device, a, b)[:, :3],
        "transform_multiply": apply(wp.transform_multiply, (transform, transform, transform), device, a, b)[:, :3],
        "transform_point": apply(wp.transform_point, (transform, vec3, vec3), device, a, b[:, :3]),
        "quat_rotate": apply(wp.quat_rotate, (quat, vec3, vec3), device, a[:, 3:], b[:, :3]) + p,
        "transform_vector": apply(wp.transform_vector, (transform, vec3, vec3), device, a, b[:, :3]) + p,
        "on the host": np.array([[*(transform(*x) * transform(*y))][:3] for x, y in zip(a, b, strict=True)]),
    }
    size = np.abs(expected).max() * 10
    for name, values in found.items():
        np.testing.assert_allclose(values, expected, rtol=0, atol=size * tolerance(suffix), err_msg=name)
    np.testing.assert_array_equal(found["product"], found["transform_point"])


def test_a_product_with_a_quaternion_that_is_no_unit_is_that_of_warp():
    t, u = wp.transform((1.0, 2.0, 3.0), (0.3, -0.7, 0.2, 1.4)), wp.transform((0.5, -1.5, 2.5), (0.1, 0.2, 0.3, 0.9))
    np.testing.assert_allclose([*(t * u)], [-0.58, -6.58, 10.7, 0.16, -0.42, 0.73, 1.31], rtol=1e-6)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_gradients_of_products_and_of_rotated_points_agree_where_the_quaternion_is_no_unit(device):
    @wp.kernel
    def by_product(t: wp.array(dtype=wp.transformd), v: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.vec3d)):
        i = wp.tid()
        one = wp.quatd(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), wp.float64(1.0))
        y[i] = wp.transform_get_translation(t[i] * wp.transformd(v[i], one))

    @wp.kernel
    def by_point(t: wp.array(dtype=wp.transformd), v: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.vec3d)):
        i = wp.tid()
        y[i] = wp.transform_point(t[i], v[i])

    slopes = []
    for kernel in (by_product, by_point):
        t = wp.array(scaled_transforms("interp", "d", 33), dtype=wp.transformd, device=device, requires_grad=True)
        v = wp.array(scaled_transforms("interp", "d", 34)[:, :3], dtype=wp.vec3d, device=device, requires_grad=True)
        y = wp.zeros(len(t), dtype=wp.vec3d, device=device, requires_grad=True)
        wp.autograd.gradcheck(kernel, dim=len(t), inputs=[t, v], outputs=[y], device=device, show_summary=False)
        seed = wp.array(scaled_transforms("interp", "d", 35)[:, :3], dtype=wp.vec3d, device=device)
        with wp.Tape() as tape:
            wp.launch(kernel, dim=len(t), inputs=[t, v, y], device=device)
        tape.backward(grads={y: seed})
        slopes.append((t.grad.numpy(), v.grad.numpy()))
    for a, b in zip(*slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_setting_parts_on_the_host():
    t = wp.transform()
    assert wp.transform_set_translation(t, wp.vec3(1, 2, 3)) is None
    assert wp.transform_set_rotation(t, wp.quat(0, 1, 0, 0)) is None
    assert t == (1, 2, 3, 0, 1, 0, 0)
