"""Rays against an icosphere-like mesh, closest points, signs, and refitting."""

import numpy as np

import warp as wp


def uv_sphere(rows=16, cols=24, r=1.0):
    v = [(0.0, r, 0.0)]
    for i in range(1, rows):
        t = np.pi * i / rows
        for j in range(cols):
            p = 2 * np.pi * j / cols
            v.append((r * np.sin(t) * np.cos(p), r * np.cos(t), r * np.sin(t) * np.sin(p)))
    v.append((0.0, -r, 0.0))
    f = []
    for j in range(cols):
        f.append((0, 1 + (j + 1) % cols, 1 + j))
    for i in range(rows - 2):
        for j in range(cols):
            a, b = 1 + i * cols + j, 1 + i * cols + (j + 1) % cols
            f += [(a, b, a + cols), (b, b + cols, a + cols)]
    last = len(v) - 1
    for j in range(cols):
        f.append((last, last - cols + j, last - cols + (j + 1) % cols))
    return np.array(v, dtype=np.float32), np.array(f, dtype=np.int32)


@wp.kernel
def draw(
    mesh: wp.uint64,
    cam: wp.vec3,
    width: int,
    height: int,
    depth: wp.array2d(dtype=float),
    shade: wp.array2d(dtype=wp.vec3),
):
    i, j = wp.tid()
    sx = 2.0 * (float(j) + 0.5) / float(width) - 1.0
    sy = 1.0 - 2.0 * (float(i) + 0.5) / float(height)
    rd = wp.normalize(wp.vec3(sx, sy, -2.0))
    query = wp.mesh_query_ray(mesh, cam, rd, 1.0e6)
    if query.result:
        depth[i, j] = query.t
        shade[i, j] = query.normal * 0.5 + wp.vec3(0.5, 0.5, 0.5)
    else:
        depth[i, j] = -1.0


@wp.kernel
def closest(
    mesh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    dist: wp.array(dtype=float),
    near: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    inside: wp.array(dtype=wp.int32),
):
    tid = wp.tid()
    q = wp.mesh_query_point(mesh, p[tid], 10.0)
    if q.result:
        near[tid] = wp.mesh_eval_position(mesh, q.face, q.u, q.v)
        vel[tid] = wp.mesh_eval_velocity(mesh, q.face, q.u, q.v)
        dist[tid] = q.sign * wp.length(near[tid] - p[tid])
    w = wp.mesh_query_point_sign_normal(mesh, p[tid], 10.0)
    if w.result and w.sign < 0.0:
        inside[tid] = 1


@wp.kernel
def older_ray(mesh: wp.uint64, hit: wp.array(dtype=wp.int32), t_out: wp.array(dtype=float)):
    i = wp.tid()
    t = float(0.0)
    u = float(0.0)
    v = float(0.0)
    sign = float(0.0)
    n = wp.vec3()
    face = int(0)
    q = wp.mesh_query_ray(mesh, wp.vec3(0.1 * float(i) + 0.013, 3.0, 0.0171), wp.vec3(0.0, -1.0, 0.0), 100.0)
    if q.result:
        face = q.face
        t = q.t
    hit[i] = face
    t_out[i] = t


@wp.kernel
def boxes(mesh: wp.uint64, lo: wp.vec3, hi: wp.vec3, total: wp.array(dtype=wp.int32)):
    q = wp.mesh_query_aabb(mesh, lo, hi)
    f = int(0)
    while wp.mesh_query_aabb_next(q, f):
        wp.atomic_add(total, 0, 1)
        wp.atomic_add(total, 1, f)


@wp.kernel
def swell(points: wp.array(dtype=wp.vec3), s: float):
    points[wp.tid()] = points[wp.tid()] * s


vertices, faces = uv_sphere()
mesh = wp.Mesh(
    points=wp.array(vertices, dtype=wp.vec3),
    velocities=wp.array(vertices * 0.5, dtype=wp.vec3),
    indices=wp.array(faces.flatten(), dtype=int),
)
W, H = 32, 24
depth = wp.zeros((H, W), dtype=float)
shade = wp.zeros((H, W), dtype=wp.vec3)
wp.launch(draw, dim=(H, W), inputs=[mesh.id, wp.vec3(0.0131, 0.0217, 4.0), W, H, depth, shade])
d = depth.numpy()
print("hits", (d > 0).sum(), "nearest", d[d > 0].min(), "mean", d[d > 0].mean(dtype=np.float64))
print("mean colour", shade.numpy().reshape(-1, 3).mean(axis=0))

rng = np.random.default_rng(5)
p = wp.array(rng.uniform(-1.5, 1.5, (200, 3)), dtype=wp.vec3)
dist, near, vel = wp.empty(200, dtype=float), wp.empty_like(p), wp.zeros_like(p)
inside = wp.zeros(200, dtype=wp.int32)
wp.launch(closest, dim=p.shape, inputs=[mesh.id, p], outputs=[dist, near, vel, inside])
print("signed distances", dist.numpy().sum(), dist.numpy()[:4])
print("near", near.numpy().sum(axis=0), "vel", np.abs(vel.numpy()).sum(), "inside", inside.numpy().sum())

hit, t = wp.zeros(12, dtype=wp.int32), wp.zeros(12, dtype=float)
wp.launch(older_ray, 12, inputs=[mesh.id, hit, t])
print(hit.numpy(), t.numpy())

total = wp.zeros(2, dtype=wp.int32)
wp.launch(boxes, 1, inputs=[mesh.id, wp.vec3(0.5, 0.5, 0.0), wp.vec3(1.0, 1.0, 1.0), total])
print("boxes", total.numpy())

wp.launch(swell, dim=mesh.points.shape[0], inputs=[mesh.points, 1.5])
mesh.refit()
wp.launch(draw, dim=(H, W), inputs=[mesh.id, wp.vec3(0.0131, 0.0217, 4.0), W, H, depth, shade])
print("after refit", (depth.numpy() > 0).sum(), depth.numpy().max())
