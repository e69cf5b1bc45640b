"""Boxes in a BVH: overlaps, rays; and an iso-surface with marching cubes whose mesh is queried again."""

import numpy as np

import warp as wp

wp.init()
device = wp.get_preferred_device() if not wp.is_cuda_available() else wp.get_device("cpu")


@wp.kernel
def count_overlaps(
    bvh: wp.uint64,
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    pairs: wp.array(dtype=wp.int32),
    checksum: wp.array(dtype=wp.int64),
):
    tid = wp.tid()
    query = wp.bvh_query_aabb(bvh, lowers[tid], uppers[tid])
    other = wp.int32(0)
    while wp.bvh_query_next(query, other):
        if other > tid:
            wp.atomic_add(pairs, 0, 1)
            wp.atomic_add(checksum, 0, wp.int64(other) * wp.int64(1000) + wp.int64(tid))


@wp.kernel
def rays(
    bvh: wp.uint64,
    starts: wp.array(dtype=wp.vec3),
    dirs: wp.array(dtype=wp.vec3),
    hits: wp.array(dtype=int),
    lowest: wp.array(dtype=int),
):
    tid = wp.tid()
    query = wp.bvh_query_ray(bvh, starts[tid], dirs[tid])
    bounds_nr = int(0)
    n = int(0)
    low = int(1000000)
    while wp.bvh_query_next(query, bounds_nr):
        n += 1
        low = wp.min(low, bounds_nr)
    hits[tid] = n
    if n > 0:
        lowest[tid] = low
    else:
        lowest[tid] = -1


@wp.kernel
def move(lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), t: float):
    i = wp.tid()
    d = wp.vec3(wp.sin(t + float(i)), wp.cos(t - float(i)), 0.25) * 0.5
    lowers[i] = lowers[i] + d
    uppers[i] = uppers[i] + d


@wp.kernel
def gyroid(field: wp.array3d(dtype=float), h: float):
    i, j, k = wp.tid()
    x = float(i) * h
    y = float(j) * h
    z = float(k) * h
    field[i, j, k] = wp.sin(x) * wp.cos(y) + wp.sin(y) * wp.cos(z) + wp.sin(z) * wp.cos(x)


@wp.kernel
def ball(field: wp.array(dtype=float, ndim=3), centre: wp.vec3, r: float):
    i, j, k = wp.tid()
    field[i, j, k] = wp.length(wp.vec3(float(i), float(j), float(k)) - centre) - r


@wp.kernel
def inside_count(mesh: wp.uint64, pts: wp.array(dtype=wp.vec3), n: wp.array(dtype=int)):
    i = wp.tid()
    sign = float(0.0)
    q = wp.mesh_query_point_sign_winding_number(mesh, pts[i], 1.0e6)
    if q.result and q.sign < 0.0:
        wp.atomic_add(n, 0, 1)


rng = np.random.default_rng(10)
N = 300
lo = rng.uniform(0.0, 10.0, (N, 3)).astype(np.float32)
up = lo + rng.uniform(0.1, 1.2, (N, 3)).astype(np.float32)
lowers = wp.array(lo, dtype=wp.vec3, device=device)
uppers = wp.array(up, dtype=wp.vec3, device=device)
bvh = wp.Bvh(lowers, uppers)


def overlaps(lo, up):
    over = ((lo[:, None] <= up[None]) & (up[:, None] >= lo[None])).all(-1)
    return int(np.triu(over, 1).sum())


def report(title):
    pairs = wp.zeros(1, dtype=wp.int32)
    checksum = wp.zeros(1, dtype=wp.int64)
    wp.launch(count_overlaps, dim=N, inputs=[bvh.id, lowers, uppers, pairs, checksum])
    print(title, pairs.numpy()[0], checksum.numpy()[0], pairs.numpy()[0] == overlaps(lowers.numpy(), uppers.numpy()))


report("pairs")
wp.launch(move, dim=N, inputs=[lowers, uppers, 0.7])
bvh.refit()
report("moved")
starts = rng.uniform(0, 10, (40, 3))
dirs = rng.normal(size=(40, 3))
hits, lowest = wp.zeros(40, dtype=int), wp.zeros(40, dtype=int)
wp.launch(
    rays,
    dim=40,
    inputs=[bvh.id, wp.array(starts, dtype=wp.vec3), wp.array(dirs, dtype=wp.vec3)],
    outputs=[hits, lowest],
)
print("rays", hits.numpy().sum(), hits.numpy()[:12], lowest.numpy()[:12])
for kind in ("sah", "median"):
    b = wp.Bvh(lowers, uppers, constructor=kind)
    hits.zero_()
    wp.launch(
        rays,
        dim=40,
        inputs=[b.id, wp.array(starts, dtype=wp.vec3), wp.array(dirs, dtype=wp.vec3)],
        outputs=[hits, lowest],
    )
    print(kind, hits.numpy().sum())

n = 24
field = wp.zeros((n, n, n), dtype=float)
wp.launch(ball, dim=field.shape, inputs=[field, wp.vec3(11.3, 12.1, 11.7), 7.0])
mc = wp.MarchingCubes(nx=n, ny=n, nz=n)
mc.surface(field=field, threshold=0.0)
v, idx = mc.verts.numpy(), mc.indices.numpy().reshape(-1, 3)
a, b, c = v[idx[:, 0]], v[idx[:, 1]], v[idx[:, 2]]
print("ball", len(v), len(idx), "area %.3f" % (0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()))
print("volume %.2f" % abs((np.einsum("ij,ij->i", a, np.cross(b, c)) / 6).sum()), v.mean(axis=0).round(3))

mesh = wp.Mesh(points=mc.verts, indices=mc.indices, support_winding_number=True)
pts = wp.array(rng.uniform(0, 23, (500, 3)), dtype=wp.vec3)
total = wp.zeros(1, dtype=int)
wp.launch(inside_count, dim=500, inputs=[mesh.id, pts, total])
print("inside", total.numpy()[0])
wp.launch(gyroid, dim=field.shape, inputs=[field, 0.4])
mc.surface(field, 0.1)
print("gyroid", mc.verts.shape[0], mc.indices.shape[0] // 3, mc.verts.numpy().sum(axis=0).round(1))
