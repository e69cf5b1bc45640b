"""Register points to a mesh by gradients of closest points and rays; an SDF volume as a penalty with a gradient."""

import math

import numpy as np

import warp as wp


@wp.kernel
def pose(
    p: wp.array(dtype=wp.vec3), t: wp.array(dtype=wp.vec3), w: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    angle = wp.length(w[0]) + 1.0e-8
    q = wp.quat_from_axis_angle(w[0] / angle, angle)
    out[i] = wp.quat_rotate(q, p[i]) + t[0]


@wp.kernel
def distance(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, p[i], 10.0)
    if q.result:
        c = wp.mesh_eval_position(mesh, q.face, q.u, q.v)
        d = p[i] - c
        wp.atomic_add(loss, 0, wp.dot(d, d))


@wp.kernel
def penalty(volume: wp.uint64, p: wp.array(dtype=wp.vec3), margin: float, loss: wp.array(dtype=float)):
    i = wp.tid()
    uvw = wp.volume_world_to_index(volume, p[i])
    d = wp.volume_sample_f(volume, uvw, wp.Volume.LINEAR)
    depth = wp.max(margin - d, 0.0)
    wp.atomic_add(loss, 0, depth * depth)


@wp.kernel
def furthest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i = wp.tid()
    far = wp.mesh_query_furthest_point_no_sign(mesh, p[i], 0.0)
    out[i, 0] = wp.length(wp.mesh_eval_position(mesh, far.face, far.u, far.v) - p[i])
    out[i, 1] = wp.length(wp.mesh_eval_face_normal(mesh, far.face))
    ray = wp.mesh_query_ray(mesh, p[i] * 3.0, -p[i], 10.0)
    if ray.result:
        out[i, 2] = ray.t
    if wp.mesh_query_ray_anyhit(mesh, p[i] * 3.0, p[i], 10.0):
        out[i, 3] = 1.0


def box(a, b, c):
    v = np.array([(x, y, z) for x in (-a, a) for y in (-b, b) for z in (-c, c)], dtype=np.float32)
    f = [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
    return v, np.array(f, dtype=np.int32)


v, f = box(1.0, 0.6, 0.4)
mesh = wp.Mesh(wp.array(v, dtype=wp.vec3), wp.array(f.ravel(), dtype=wp.int32))
rng = np.random.default_rng(21)
tri = v[f[rng.integers(0, len(f), 150)]]
u = rng.dirichlet((1, 1, 1), 150)
surface = np.einsum("nk,nkd->nd", u, tri)
angle = 0.25
turned = (
    surface @ np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]]).T
)
points = wp.array(turned + np.array([0.1, -0.05, 0.08]), dtype=wp.vec3)

t = wp.zeros(1, dtype=wp.vec3, requires_grad=True)
w = wp.array([[0.01, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True)
moved = wp.zeros(150, dtype=wp.vec3, requires_grad=True)
loss = wp.zeros(1, dtype=float, requires_grad=True)


def evaluate():
    loss.zero_()
    tape = wp.Tape()
    with tape:
        wp.launch(pose, dim=150, inputs=[points, t, w], outputs=[moved])
        wp.launch(distance, dim=150, inputs=[mesh.id, moved], outputs=[loss])
    tape.backward(loss)
    g = t.grad.numpy().copy(), w.grad.numpy().copy()
    tape.zero()
    return float(loss.numpy()[0]), g


value, (gt, gw) = evaluate()
print("start %.4f" % value, gt[0].round(3), gw[0].round(3))
for _ in range(60):
    value, (gt, gw) = evaluate()
    t.assign(t.numpy() - 0.002 * gt)
    w.assign(w.numpy() - 0.004 * gw)
print("end %.4f" % value, "t", t.numpy()[0].round(2), "w", w.numpy()[0].round(2))

n, h = 32, 0.1
c = (np.arange(n) - n / 2) * h
d = np.linalg.norm(np.stack(np.meshgrid(c, c, c, indexing="ij"), -1), axis=-1) - 0.7
volume = wp.Volume.load_from_numpy(d.astype(np.float32), min_world=(-n / 2 * h,) * 3, voxel_size=h, bg_value=2.0)
probe = wp.array(rng.uniform(-0.6, 0.6, (30, 3)), dtype=wp.vec3, requires_grad=True)
with wp.Tape() as tape:
    loss.zero_()
    wp.launch(penalty, dim=30, inputs=[volume.id, probe, 0.1], outputs=[loss])
tape.backward(loss)
g = probe.grad.numpy()
print(
    "penalty %.4f" % loss.numpy()[0], "outwards", float((g * probe.numpy()).sum(axis=1).max()) < 1e-3, np.abs(g).sum()
)
out = wp.zeros((30, 4), dtype=float)
wp.launch(furthest, dim=30, inputs=[mesh.id, probe], outputs=[out])
print(out.numpy().sum(axis=0), out.numpy()[0])
