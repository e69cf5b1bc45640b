"""Rigid chain with quaternions, transforms and spatial vectors; forward kinematics, wrenches, integration."""

import math

import numpy as np

import warp as wp

LINKS = 6


@wp.kernel
def forward_kinematics(
    parents: wp.array(dtype=int),
    joint_x: wp.array(dtype=wp.transform),
    axes: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=float),
    qd: wp.array(dtype=float),
    body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector),
):
    for i in range(parents.shape[0]):
        p = parents[i]
        X_wp = wp.transform_identity()
        v_wp = wp.spatial_vector()
        if p >= 0:
            X_wp = body_q[p]
            v_wp = body_qd[p]
        rot = wp.transform(wp.vec3(), wp.quat_from_axis_angle(axes[i], q[i]))
        X = X_wp * joint_x[i] * rot
        w = wp.transform_vector(X, axes[i] * qd[i])
        wp_parent = wp.spatial_top(v_wp)
        v_parent = wp.spatial_bottom(v_wp)
        r = wp.transform_get_translation(X) - wp.transform_get_translation(X_wp)
        body_q[i] = X
        body_qd[i] = wp.spatial_vector(wp_parent + w, v_parent + wp.cross(wp_parent, r))


@wp.kernel
def wrench(
    x: wp.array(dtype=wp.transform),
    qd: wp.array(dtype=wp.spatial_vector),
    out: wp.array(dtype=wp.spatial_vector),
    energy: wp.array(dtype=float),
):
    i = wp.tid()
    t = x[i]
    r = wp.transform_get_rotation(t)
    p = wp.transform_get_translation(t)
    f_body = wp.vec3(0.0, -9.81, 0.0)
    f = wp.quat_rotate_inv(r, f_body)
    out[i] = wp.spatial_vector(wp.cross(p, f), f)
    energy[i] = wp.spatial_dot(qd[i], qd[i])


@wp.kernel
def spin(q: wp.array(dtype=wp.quat), w: wp.array(dtype=wp.vec3), inertia: wp.mat33, dt: float, steps: int):
    i = wp.tid()
    r = q[i]
    omega = w[i]
    inv = wp.inverse(inertia)
    for _ in range(steps):
        wb = wp.quat_rotate_inv(r, omega)
        tb = -wp.cross(wb, inertia * wb)
        omega = wp.quat_rotate(r, wb + inv * tb * dt)
        r = wp.normalize(r + wp.quat(omega, 0.0) * r * 0.5 * dt)
    q[i] = r
    w[i] = omega


@wp.kernel
def conversions(q: wp.array(dtype=wp.quat), out: wp.array2d(dtype=float)):
    i = wp.tid()
    m = wp.quat_to_matrix(q[i])
    back = wp.quat_from_matrix(m)
    axis = wp.vec3()
    angle = float(0.0)
    wp.quat_to_axis_angle(q[i], axis, angle)
    rpy = wp.quat_rpy(0.1, 0.2, 0.3)
    half = wp.quat_slerp(wp.quat_identity(), q[i], 0.5)
    out[i, 0] = wp.determinant(m)
    out[i, 1] = wp.abs(wp.dot(back, q[i]))
    out[i, 2] = angle
    out[i, 3] = axis[1]
    out[i, 4] = rpy[0]
    out[i, 5] = wp.length(half * half - q[i])
    out[i, 6] = (wp.quat_inverse(q[i]) * q[i])[3]
    x = wp.quat_rotate(q[i], wp.vec3(1.0, 0.0, 0.0))
    out[i, 7] = x[0]


parents = wp.array([-1, 0, 1, 2, 3, 4], dtype=int)
joints = [wp.transform((0.0, 1.0, 0.0), wp.quat_identity())]
joints += [wp.transform(p=wp.vec3(0.5, 0.0, 0.0), q=wp.quat_rpy(0.0, 0.1 * i, 0.0)) for i in range(1, LINKS)]
axes = np.zeros((LINKS, 3))
axes[np.arange(LINKS), np.arange(LINKS) % 3] = 1.0
body_q = wp.empty(LINKS, dtype=wp.transform)
body_qd = wp.empty(LINKS, dtype=wp.spatial_vector)
wp.launch(
    forward_kinematics,
    dim=1,
    inputs=[
        parents,
        wp.array(joints, dtype=wp.transform),
        wp.array(axes, dtype=wp.vec3),
        wp.array(0.2 * np.arange(LINKS), dtype=float),
        wp.array(np.linspace(1.0, -1.0, LINKS), dtype=float),
    ],
    outputs=[body_q, body_qd],
)
print("end", body_q.numpy()[-1].round(5))
print("twist", body_qd.numpy()[-1])
w, e = wp.zeros_like(body_qd), wp.zeros(LINKS, dtype=float)
wp.launch(wrench, dim=LINKS, inputs=[body_q, body_qd], outputs=[w, e])
print("wrench", w.numpy()[3], "energy", e.numpy().sum())

q = wp.array(
    [wp.quat_identity(), wp.quat_from_axis_angle(wp.normalize(wp.vec3(1.0, 2.0, 3.0)), math.pi / 3)], dtype=wp.quat
)
omega = wp.array([[0.1, 5.0, 0.0], [0.0, 1.0, 2.0]], dtype=wp.vec3)
inertia = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)
wp.launch(spin, dim=2, inputs=[q, omega, inertia, 0.001, 300])
print("spun", q.numpy()[0], omega.numpy()[1])
out = wp.zeros((2, 8), dtype=float)
wp.launch(conversions, dim=2, inputs=[q, out])
print(out.numpy()[0], out.numpy()[1, :5])

# the same algebra on the host
t = wp.transform((1.0, 2.0, 3.0), wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 0.5))
u = wp.transform_inverse(t)
ident = t * u
print(
    "host",
    wp.transform_point(t, wp.vec3(1.0, 0.0, 0.0)),
    np.allclose(np.array(ident), [0, 0, 0, 0, 0, 0, 1], atol=1e-6),
)
print(t.p, t.q, t[0], tuple(t)[3:5])
a, b = wp.quat(0.0, 0.0, 0.0, 1.0), wp.quat_rpy(0.3, 0.2, 0.1)
print(a * b == b, wp.quat_to_matrix(b)[0, 1], wp.quat_rotate(b, wp.vec3(0.0, 0.0, 1.0)))
print(wp.quat_to_euler(b, 0, 1, 2), wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
s = wp.spatial_vector(1.0, 2.0, 3.0, 0.5, 0.5, 0.5)
print(wp.spatial_cross(s, s), wp.spatial_top(s), len(s))
