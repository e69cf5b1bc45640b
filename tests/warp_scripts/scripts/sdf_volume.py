"""A signed distance field in a NanoVDB volume: sampled, marched, queried for voxels."""

import numpy as np

import warp as wp


def sphere_field(n=32, r=0.6, voxel=0.0625):
    c = (np.arange(n) - n // 2) * voxel
    x, y, z = np.meshgrid(c, c, c, indexing="ij")
    return (np.sqrt(x * x + y * y + z * z) - r).astype(np.float32), (c[0], c[0], c[0]), voxel


@wp.kernel
def march(volume: wp.uint64, origin: wp.vec3, dirs: wp.array(dtype=wp.vec3), steps: int, out: wp.array(dtype=float)):
    i = wp.tid()
    t = float(0.0)
    for k in range(steps):
        p = wp.volume_world_to_index(volume, origin + dirs[i] * t)
        d = wp.volume_sample_f(volume, p, wp.Volume.LINEAR)
        if d < 1.0e-4:
            break
        t += d * 0.9
        if t > 5.0:
            t = -1.0
            break
    out[i] = t


@wp.kernel
def normals(
    volume: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3), vals: wp.array(dtype=float)
):
    i = wp.tid()
    q = wp.volume_world_to_index(volume, points[i])
    grad = wp.vec3()
    v = wp.volume_sample_grad_f(volume, q, wp.Volume.LINEAR, grad)
    vals[i] = v
    out[i] = wp.volume_index_to_world_dir(volume, grad)


@wp.kernel
def lookup(volume: wp.uint64, ijk: wp.array2d(dtype=wp.int32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.volume_lookup_f(volume, ijk[i, 0], ijk[i, 1], ijk[i, 2])


@wp.kernel
def nearest(volume: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.volume_world_to_index(volume, points[i])
    out[i] = wp.volume_sample(volume, q, wp.Volume.CLOSEST, dtype=float)


@wp.kernel
def swirl(volume: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.volume_world_to_index(volume, points[i])
    out[i] = wp.volume_sample_v(volume, q, wp.Volume.LINEAR)


field, lo, voxel = sphere_field()
vol = wp.Volume.load_from_numpy(field, min_world=lo, voxel_size=voxel, bg_value=1.0)
print("voxel size", vol.get_voxel_size(), "voxels", vol.get_voxel_count() > 0, "type", vol.get_grid_info().type_str)
print("translation", np.array(vol.get_grid_info().translation))

rng = np.random.default_rng(11)
dirs = rng.normal(size=(64, 3))
dirs[:, 2] -= 3.0
dirs /= np.linalg.norm(dirs, axis=1)[:, None]
d = wp.array(dirs, dtype=wp.vec3)
t = wp.zeros(64, dtype=float)
wp.launch(march, dim=64, inputs=[vol.id, wp.vec3(0.0, 0.0, 0.9), d, 200, t])
tn = t.numpy()
print("hits", (tn > 0).sum(), "mean depth %.4f" % tn[tn > 0].mean())

pts = wp.array(rng.uniform(-0.8, 0.8, (100, 3)), dtype=wp.vec3)
grads = wp.zeros(100, dtype=wp.vec3)
vals = wp.zeros(100, dtype=float)
wp.launch(normals, dim=100, inputs=[vol.id, pts, grads, vals])
print("values", vals.numpy().sum(), vals.numpy()[:3])
print("gradient lengths", np.linalg.norm(grads.numpy(), axis=1).mean())

wp.launch(nearest, dim=100, inputs=[vol.id, pts, vals])
print("nearest", vals.numpy().sum())

ijk = wp.array(np.array([[16, 16, 16], [0, 0, 0], [31, 5, 7], [-4, 2, 2], [60, 60, 60]]), dtype=wp.int32)
out = wp.zeros(5, dtype=wp.float32)
wp.launch(lookup, dim=5, inputs=[vol.id, ijk], outputs=[out])
print("lookup", out.numpy())

n = 16
c = np.linspace(-1, 1, n)
x, y, z = np.meshgrid(c, c, c, indexing="ij")
flow = np.stack([-y, x, 0.1 * z], axis=-1).astype(np.float32)
vv = wp.Volume.load_from_numpy(flow, min_world=(-1.0, -1.0, -1.0), voxel_size=2.0 / (n - 1), bg_value=(0.0, 0.0, 0.0))
sw = wp.zeros(100, dtype=wp.vec3)
wp.launch(swirl, dim=100, inputs=[vv.id, pts, sw])
exact = np.stack([-pts.numpy()[:, 1], pts.numpy()[:, 0], 0.1 * pts.numpy()[:, 2]], axis=1)
print("swirl", np.abs(sw.numpy() - exact).max() < 1e-5, vv.get_grid_info().type_str)

tiles = wp.array([[0, 0, 0], [8, 0, 0], [0, 16, 8]], dtype=wp.int32)
made = wp.Volume.allocate_by_tiles(tile_points=tiles, voxel_size=0.5, bg_value=0.0, translation=(1.0, 2.0, 3.0))
print("tiles", made.get_tile_count(), made.get_voxel_count())


@wp.kernel
def store(volume: wp.uint64):
    tid = wp.tid()
    i = tid % 8
    j = (tid // 8) % 8
    k = tid // 64
    wp.volume_store_f(volume, i, j, k, float(i + j + k))


wp.launch(store, dim=512, inputs=[made.id])
q = wp.array([[1.0, 2.0, 3.0], [2.25, 3.25, 4.25], [1.1, 2.2, 3.3]], dtype=wp.vec3)
r = wp.zeros(3, dtype=float)
wp.launch(nearest, dim=3, inputs=[made.id, q, r])
print("stored", r.numpy())
