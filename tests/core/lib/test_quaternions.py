"""Quaternion functions against SciPy's rotations and against values that Warp 1.19 computes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib_runs import apply, launch
from scipy.spatial.transform import Rotation

import warpsim as wp

DEVICES = ("interp", "cpu")
TYPES = {
    "f": (wp.float32, wp.vec3f, wp.quatf, wp.mat33f),
    "d": (wp.float64, wp.vec3d, wp.quatd, wp.mat33d),
}
COUNT, MANY = {"interp": 5}, 1000
SEQUENCES = [ijk for ijk in product(range(3), repeat=3) if ijk[0] != ijk[1] != ijk[2]]
everywhere = pytest.mark.parametrize(("device", "suffix"), list(product(DEVICES, "fd")))


def rotations(device: str, suffix: str, seed: int) -> tuple[np.ndarray, Rotation]:
    """Random unit quaternions in the scalar type, and what they stand for."""
    q = Rotation.random(COUNT.get(device, MANY), rng=seed).as_quat()
    q *= np.random.default_rng(seed).choice([-1.0, 1.0], (len(q), 1))
    q = q.astype(TYPES[suffix][0])
    return q, Rotation.from_quat(q)


def vectors(device: str, suffix: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(COUNT.get(device, MANY), 3)).astype(TYPES[suffix][0])


def tolerance(suffix: str) -> float:
    return 16 * float(np.finfo(TYPES[suffix][0]).eps)


def assert_same_rotation(found: np.ndarray, expected: np.ndarray, atol: float) -> None:
    """Equal up to the common sign of all four components."""
    sign = np.sign(np.sum(found * expected, axis=1, keepdims=True))
    np.testing.assert_allclose(found * sign, expected, atol=atol)


@everywhere
def test_rotating_vectors(device, suffix):
    _, vec3, quat, mat33 = TYPES[suffix]
    q, r = rotations(device, suffix, 1)
    v = vectors(device, suffix, 2)
    near = {"atol": 4 * tolerance(suffix)}
    np.testing.assert_allclose(apply(wp.quat_rotate, (quat, vec3, vec3), device, q, v), r.apply(v), **near)
    np.testing.assert_allclose(apply(wp.quat_rotate_inv, (quat, vec3, vec3), device, q, v), r.inv().apply(v), **near)
    inverse = apply(wp.quat_inverse, (quat, quat), device, q)
    np.testing.assert_array_equal(inverse, q * np.array([-1.0, -1, -1, 1]))
    np.testing.assert_allclose(apply(wp.quat_to_matrix, (quat, mat33), device, q), r.as_matrix(), **near)


@everywhere
def test_a_quaternion_of_length_zero_is_normalized_to_no_rotation(device, suffix):
    quat = TYPES[suffix][2]
    q = np.array([[0, 0, 0, 0], [0, 0, 0, -2], [3, 0, 4, 0]])
    expected = [[0, 0, 0, 1], [0, 0, 0, -1], [0.6, 0, 0.8, 0]]
    np.testing.assert_allclose(apply(wp.normalize, (quat, quat), device, q), expected, atol=tolerance(suffix))
    assert wp.normalize(quat()) == quat(0.0, 0.0, 0.0, 1.0)


@everywhere
def test_rotations_of_trace_zero_have_a_positive_real_part(device, suffix):
    _, _, quat, mat33 = TYPES[suffix]
    thirds = np.stack([np.eye(3)[[2, 0, 1]], np.eye(3)[[1, 2, 0]], np.zeros((3, 3))])
    expected = [[0.5, 0.5, 0.5, 0.5], [-0.5, -0.5, -0.5, 0.5], [0, 0, 0, 1]]
    np.testing.assert_array_equal(apply(wp.quat_from_matrix, (mat33, quat), device, thirds), expected)


@everywhere
def test_matrices_back_to_quaternions(device, suffix):
    _, _, quat, mat33 = TYPES[suffix]
    _, r = rotations(device, suffix, 3)
    half_turns = Rotation.from_rotvec(np.pi * np.concatenate([np.eye(3), [[0.6, 0.8, 0], [0, -0.6, 0.8]]]))
    near_half_turns = Rotation.from_rotvec((np.pi - 1e-3) * np.eye(3))
    m = Rotation.concatenate([r, half_turns, near_half_turns, Rotation.identity(1)]).as_matrix()
    found = apply(wp.quat_from_matrix, (mat33, quat), device, m.astype(TYPES[suffix][0]))
    assert_same_rotation(found, Rotation.from_matrix(m).as_quat(), tolerance(suffix))
    positive_trace = np.trace(m, axis1=1, axis2=2) > 0.01
    assert (found[positive_trace, 3] > 0).all()


def test_the_rotation_of_a_4x4_matrix():
    m = np.eye(4)[None].repeat(3, 0)
    r = Rotation.random(3, rng=1)
    m[:, :3, :3], m[:, :3, 3] = r.as_matrix(), 7.0
    found = apply(wp.quat_from_matrix, (wp.mat44d, wp.quatd), None, m)
    assert_same_rotation(found, r.as_quat(), 1e-14)


@everywhere
def test_axis_and_angle_both_ways(device, suffix):
    scalar, vec3, quat, _ = TYPES[suffix]
    q, r = rotations(device, suffix, 4)

    @wp.kernel
    def split(q: wp.array(dtype=quat), axis: wp.array(dtype=vec3), angle: wp.array(dtype=scalar)):
        i = wp.tid()
        a, b = wp.quat_to_axis_angle(q[i])
        axis[i] = a
        angle[i] = b

    axis, angle = launch(split, (quat, vec3, scalar), device, 3 * q)
    np.testing.assert_allclose(axis * angle[:, None], r.as_rotvec(), atol=4 * tolerance(suffix))
    assert (angle >= 0).all() and (angle <= np.pi + 1e-6).all()
    back = apply(
        wp.quat_from_axis_angle,
        (vec3, scalar, quat),
        device,
        axis.astype(scalar),
        angle.astype(scalar),
    )
    assert_same_rotation(back, r.as_quat(), tolerance(suffix))


def test_small_angles_keep_their_digits():
    angle = np.array([1e-3, 1e-5, 1e-7, 0.0], np.float32)
    axis = np.tile(np.array([0, 0, 1], np.float32), (4, 1))
    q = apply(wp.quat_from_axis_angle, (wp.vec3, float, wp.quat), None, axis, angle).astype(np.float32)
    found = apply(wp.quat_twist_angle, (wp.vec3, wp.quat, float), None, axis, q)
    np.testing.assert_allclose(found, angle, rtol=1e-6)


@everywhere
def test_roll_pitch_yaw(device, suffix):
    scalar, vec3, quat, _ = TYPES[suffix]
    e = np.random.default_rng(5).uniform(-3, 3, (COUNT.get(device, MANY), 3)).astype(scalar)
    found = apply(
        wp.quat_rpy,
        (scalar, scalar, scalar, quat),
        device,
        *(np.ascontiguousarray(e[:, i]) for i in range(3)),
    )
    expected = Rotation.from_euler("xyz", e)
    assert_same_rotation(found, expected.as_quat(), tolerance(suffix))
    back = apply(wp.quat_to_rpy, (quat, vec3), device, found.astype(scalar))
    assert_same_rotation(Rotation.from_euler("xyz", back).as_quat(), expected.as_quat(), 2 * tolerance(suffix))


def euler_kernels(suffix: str, i: int, j: int, k: int):
    _, vec3, quat, _ = TYPES[suffix]

    @wp.kernel
    def compose(e: wp.array(dtype=vec3), out: wp.array(dtype=quat)):
        n = wp.tid()
        out[n] = wp.quat_from_euler(e[n], i, j, k)

    @wp.kernel
    def split(q: wp.array(dtype=quat), out: wp.array(dtype=vec3)):
        n = wp.tid()
        out[n] = wp.quat_to_euler(q[n], i, j, k)

    return compose, split


def in_sequence(e: np.ndarray, i: int, j: int, k: int) -> np.ndarray:
    """Angles by axis, as quat_to_euler stores them, in the order of the sequence."""
    return e[:, [i, j, 3 - i - j if i == k else k]]


def locked(sequence: str, count: int) -> np.ndarray:
    """Rotations at gimbal lock and near it."""
    rng = np.random.default_rng(6)
    middles = (0, np.pi) if sequence[0] == sequence[2] else (np.pi / 2, -np.pi / 2)
    angles = [
        [rng.uniform(-3, 3), middle + off, rng.uniform(-3, 3)]
        for middle in middles
        for off in (0, 1e-7, 1e-5, 1e-3)
        for _ in range(count)
    ]
    return Rotation.from_euler(sequence, angles).as_quat()


@pytest.mark.parametrize(("i", "j", "k"), SEQUENCES)
@pytest.mark.parametrize("suffix", "fd")
def test_euler_angles_of_every_sequence(suffix, i, j, k):
    scalar, vec3, quat, _ = TYPES[suffix]
    compose, split = euler_kernels(suffix, i, j, k)
    sequence = "".join("xyz"[axis] for axis in (i, j, k))
    e = np.random.default_rng(7).uniform(-3, 3, (200, 3)).astype(scalar)
    found = launch(compose, (vec3, quat), None, e)
    assert_same_rotation(found, Rotation.from_euler(sequence, e[:, [i, j, k]]).as_quat(), tolerance(suffix))

    q = np.concatenate([Rotation.random(200, rng=8).as_quat(), locked(sequence, 20)]).astype(scalar)
    angles = launch(split, (quat, vec3), None, q)
    in_order = in_sequence(angles, i, j, k)
    assert_same_rotation(Rotation.from_euler(sequence, in_order).as_quat(), q, 2 * tolerance(suffix))
    low, high = (0, np.pi) if i == k else (-np.pi / 2, np.pi / 2)
    assert (in_order[:, 1] >= low - 1e-6).all() and (in_order[:, 1] <= high + 1e-6).all()
    assert (np.abs(in_order[:, [0, 2]]) <= np.pi + 1e-6).all()
    np.testing.assert_array_equal(in_order[200:220, 0], 0.0)  # exactly at gimbal lock


@everywhere
def test_small_angles_between_different_axes_keep_their_digits(device, suffix):
    """No turn has angles of exactly zero, and a middle angle far below the precision of 1 comes back."""
    scalar, vec3, quat, _ = TYPES[suffix]
    half = scalar(1e-9)
    _, split = euler_kernels(suffix, 0, 1, 2)
    q = np.array([[0, 0, 0, 1], [0, 0, 0, -2], [0, half, 0, 1], [0, -half, 0, 1]], scalar)
    angles = launch(split, (quat, vec3), device, q)
    np.testing.assert_array_equal(angles[:2], 0.0)
    np.testing.assert_allclose(angles[2:], [[0, 2e-9, 0], [0, -2e-9, 0]], rtol=1e-6)
    assert np.asarray(wp.quat_to_rpy(quat(*q[0]))).tolist() == [0.0, 0.0, 0.0]


def test_euler_axes_chosen_at_run_time():
    @wp.kernel
    def there_and_back(q: wp.array(dtype=wp.quat), axes: wp.array(dtype=int), out: wp.array(dtype=wp.quat)):
        n = wp.tid()
        i = axes[n]
        j = (i + 1) % 3
        k = (i + 2) % 3
        out[n] = wp.quat_from_euler(wp.quat_to_euler(q[n], i, j, k), i, j, k)

    q = Rotation.random(9, rng=9).as_quat().astype(np.float32)
    axes = np.arange(9, dtype=np.int32) % 3
    for device in DEVICES:
        found = launch(there_and_back, (wp.quat, wp.int32, wp.quat), device, q, axes)
        assert_same_rotation(found, q, 2 * tolerance("f"))


@everywhere
def test_slerp_turns_at_constant_speed_on_the_shorter_arc(device, suffix):
    scalar, _, quat, _ = TYPES[suffix]
    a, ra = rotations(device, suffix, 10)
    b, rb = rotations(device, suffix, 11)
    b = np.where((np.abs(np.sum(a * b, axis=1)) < 0.05)[:, None], a, b)  # away from the jump at half turns
    rb = Rotation.from_quat(b)
    t = np.random.default_rng(12).uniform(0, 1, len(a)).astype(scalar)
    expected = ra * Rotation.from_rotvec((ra.inv() * rb).as_rotvec() * t[:, None])
    found = apply(wp.quat_slerp, (quat, quat, scalar, quat), device, a, 2 * b, t)
    assert_same_rotation(found, expected.as_quat(), 2 * tolerance(suffix))
    np.testing.assert_array_equal(apply(wp.quat_slerp, (quat, quat, scalar, quat), device, a, b, 0 * t), a)


@pytest.mark.parametrize("distance", [0.0, 1e-8, 1e-5, 1e-4, 5e-4, 1e-3, 1e-2])
def test_slerp_between_close_rotations(distance):
    r = Rotation.random(50, rng=13)
    turn = np.random.default_rng(14).normal(size=(50, 3)) * distance
    a, b, t = r.as_quat(), -(r * Rotation.from_rotvec(turn)).as_quat(), np.linspace(-0.5, 1.5, 50)
    found = apply(wp.quat_slerp, (wp.quatd, wp.quatd, wp.float64, wp.quatd), None, a, b, t)
    expected = r * Rotation.from_rotvec(turn * t[:, None])
    assert_same_rotation(found, expected.as_quat(), 1e-14)


@wp.kernel
def blends(
    a: wp.array(dtype=wp.quatd),
    b: wp.array(dtype=wp.quatd),
    t: wp.array(dtype=wp.float64),
    out: wp.array(dtype=wp.quatd),
):
    i = wp.tid()
    out[i] = wp.quat_slerp(a[i], b[i], t[i])


@pytest.mark.parametrize("apart", [None, 1e-2, 1e-4, 1e-9, 0.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gradients_of_slerp_hold_in_every_direction_of_space(apart, sign):
    """Also across the sphere, for quaternions of any length, equal ones and nearly opposite ones."""
    rng = np.random.default_rng(15)
    a, b, t = rng.normal(size=(12, 4)), rng.normal(size=(12, 4)), rng.uniform(-0.5, 1.5, 12)
    if apart is not None:
        b = sign * (a + apart * rng.normal(size=a.shape))
    inputs = [wp.array(x, dtype=d, requires_grad=True) for x, d in ((a, wp.quatd), (b, wp.quatd), (t, wp.float64))]
    out = wp.zeros(12, dtype=wp.quatd, requires_grad=True)
    wp.autograd.gradcheck(blends, dim=12, inputs=inputs, outputs=[out], raise_exception=True)


@everywhere
def test_twist_is_the_part_about_the_axis(device, suffix):
    scalar, vec3, quat, _ = TYPES[suffix]
    q, _ = rotations(device, suffix, 15)
    axis = vectors(device, suffix, 16)
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    twist = apply(wp.quat_twist, (vec3, quat, quat), device, axis, q)
    np.testing.assert_allclose(np.linalg.norm(twist, axis=1), 1, atol=tolerance(suffix))
    np.testing.assert_allclose(np.cross(twist[:, :3], axis), 0, atol=tolerance(suffix))
    swing = (Rotation.from_quat(q) * Rotation.from_quat(twist).inv()).as_rotvec()
    np.testing.assert_allclose(np.sum(swing * axis, axis=1), 0, atol=8 * tolerance(suffix))
    angle = apply(wp.quat_twist_angle, (vec3, quat, scalar), device, axis, q)
    np.testing.assert_allclose(np.cos(angle / 2), twist[:, 3], atol=tolerance(suffix))
    assert ((angle <= np.pi) == (q[:, 3] >= 0)).all()


def test_twist_of_a_half_turn_about_a_perpendicular_axis_is_the_identity():
    axis, q = np.array([[0.0, 1, 0]]), np.array([[1.0, 0, 0, 0]])
    np.testing.assert_array_equal(apply(wp.quat_twist, (wp.vec3d, wp.quatd, wp.quatd), None, axis, q), [[0, 0, 0, 1]])


@everywhere
@pytest.mark.parametrize("offset", [1.0, 1e-2, 1e-4, 1e-7, 0.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_rotation_between_directions_even_opposite_ones(device, suffix, offset, side):
    _, vec3, quat, _ = TYPES[suffix]
    a = np.concatenate([vectors(device, suffix, 17), np.eye(3), -np.eye(3)]).astype(TYPES[suffix][0])
    b = (2 * side * a + offset * np.random.default_rng(18).normal(size=a.shape)).astype(a.dtype)
    q = apply(wp.quat_between_vectors, (vec3, vec3, quat), device, a, b)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1, atol=tolerance(suffix))
    unit_a, unit_b = (v / np.linalg.norm(v.astype(float), axis=1, keepdims=True) for v in (a, b))
    np.testing.assert_allclose(Rotation.from_quat(q).apply(unit_a), unit_b, atol=2 * tolerance(suffix))
    shortest = np.arccos(np.clip(np.sum(unit_a * unit_b, axis=1), -1, 1))
    np.testing.assert_allclose(Rotation.from_quat(q).magnitude(), shortest, atol=2e-3 if suffix == "f" else 1e-7)


def test_rotation_from_or_to_nothing_is_the_identity():
    a, b = np.array([[0.0, 0, 0], [1, 2, 3]]), np.array([[1.0, 2, 3], [0, 0, 0]])
    found = apply(wp.quat_between_vectors, (wp.vec3d, wp.vec3d, wp.quatd), None, a, b)
    np.testing.assert_array_equal(found, [[0, 0, 0, 1]] * 2)


def test_values_that_warp_computes():
    """Conventions, pinned by numbers that Warp 1.19 gives for the same calls."""
    q = wp.normalize(wp.quat(0.1, 0.2, -0.3, 0.8))

    def close(found, expected):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6, atol=2e-6)

    close(wp.quat_identity(), [0, 0, 0, 1])
    close(wp.quat_rpy(0.3, 0.5, 0.7), [0.0521324, 0.2794439, 0.2937772, 0.9126272])
    close(wp.quat_to_rpy(q), [0.0587558, 0.5088571, -0.7022569])
    close(
        wp.quat_from_euler(wp.vec3(0.3, 0.5, 0.7), 2, 1, 0),
        [0.2198958, 0.1801459, 0.3632373, 0.8872722],
    )
    close(wp.quat_to_euler(q, 0, 2, 1), [0.4497596, 0.6310794, -0.5993460])
    close(wp.quat_to_euler(q, 0, 1, 0), [1.1071488, 0.8410686, -0.8584387])
    close(wp.quat_rotate(q, wp.vec3(1.0, 2.0, 3.0)), [3.0, -0.1538462, 2.2307694])
    close(wp.quat_rotate(q * 2.0, wp.vec3(1.0, 2.0, 3.0)), [15.0, 5.3846154, 17.9230770])
    p = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 2.5)
    close(wp.quat_slerp(q, p, 0.3), [0.0874742, 0.5134956, -0.2624226, 0.8122838])
    close(wp.quat_twist(wp.vec3(0.0, 1.0, 0.0), q), [0.0, 0.2425356, 0.0, 0.9701425])
    close(wp.quat_twist_angle(wp.vec3(0.0, 1.0, 0.0), -q), 5.7932281)
    between = wp.quat_between_vectors(wp.vec3(1.0, 2.0, 3.0), wp.vec3(-2.0, 0.0, 1.0))
    close(between, [0.1597532, -0.5591361, 0.3195063, 0.7481720])


def test_double_precision_stays_double_from_python():
    q, v = wp.quatd(*Rotation.random(rng=1).as_quat()), wp.vec3d(1.0, 2.0, 3.0)
    r = Rotation.from_quat(np.asarray(q))
    np.testing.assert_allclose(np.asarray(wp.quat_rotate(q, v)), r.apply([1, 2, 3]), atol=1e-14)
    np.testing.assert_allclose(np.asarray(wp.quat_to_matrix(q)), r.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(np.asarray(wp.quat_to_rpy(q)), r.as_euler("xyz"), atol=1e-14)
    assert type(wp.quat_identity(dtype=wp.float64)) is wp.quatd


@pytest.mark.parametrize("device", DEVICES)
def test_identity_in_a_kernel(device):
    @wp.kernel
    def fill(single: wp.array(dtype=wp.quat), double: wp.array(dtype=wp.quatd)):
        single[0] = wp.quat_identity()
        double[0] = wp.quat_identity(dtype=wp.float64)

    single, double = (
        wp.zeros(1, dtype=wp.quat, device=device),
        wp.zeros(1, dtype=wp.quatd, device=device),
    )
    wp.launch(fill, dim=1, inputs=[single, double], device=device)
    np.testing.assert_array_equal(single.numpy(), [[0, 0, 0, 1]])
    np.testing.assert_array_equal(double.numpy(), [[0, 0, 0, 1]])


UNIT = st.floats(-1, 1, width=32)


@settings(deadline=None, max_examples=150)
@given(
    st.tuples(UNIT, UNIT, UNIT, UNIT).filter(lambda c: sum(x * x for x in c) > 1e-2),
    st.sampled_from(SEQUENCES),
)
def test_any_rotation_survives_its_euler_angles(components, sequence):
    q = np.array([components]) / np.linalg.norm(components)
    split = EULER_SPLITS[sequence]
    angles = in_sequence(launch(split, (wp.quatd, wp.vec3d), None, q), *sequence)
    letters = "".join("xyz"[axis] for axis in sequence)
    assert_same_rotation(Rotation.from_euler(letters, angles).as_quat(), q, 1e-14)


EULER_SPLITS = {sequence: euler_kernels("d", *sequence)[1] for sequence in SEQUENCES}
