"""Granular particles that fall into a box; neighbours come from a hash grid."""

import numpy as np

import warp as wp

wp.init()


@wp.func
def contact_force(n: wp.vec3, v: wp.vec3, c: float, k_n: float, k_d: float, k_f: float, k_mu: float) -> wp.vec3:
    vn = wp.dot(n, v)
    jn = c * k_n
    jd = wp.min(vn, 0.0) * k_d
    fn = jn + jd
    vt = v - n * vn
    vs = wp.length(vt)
    if vs > 0.0:
        vt = vt / vs
    ft = wp.min(vs * k_f, k_mu * wp.abs(fn))
    return -n * fn - vt * ft


@wp.kernel
def apply_forces(
    grid: wp.uint64,
    particle_x: wp.array(dtype=wp.vec3),
    particle_v: wp.array(dtype=wp.vec3),
    particle_f: wp.array(dtype=wp.vec3),
    counts: wp.array(dtype=int),
    radius: float,
    k_contact: float,
    k_damp: float,
    k_friction: float,
    k_mu: float,
):
    tid = wp.tid()
    i = wp.hash_grid_point_id(grid, tid)
    x = particle_x[i]
    v = particle_v[i]
    f = wp.vec3()

    n = wp.vec3(0.0, 1.0, 0.0)
    c = wp.dot(n, x) - radius
    if c < 0.0:
        f = f + contact_force(n, v, c, k_contact, k_damp, 100.0, 0.5)

    neighbors = wp.hash_grid_query(grid, x, radius * 5.0)
    num = int(0)
    for index in neighbors:
        if index != i:
            d = x - particle_x[index]
            dist = wp.length(d)
            err = dist - radius * 2.0
            if err <= 0.0:
                num += 1
                f = f + contact_force(d / dist, v - particle_v[index], err, k_contact, k_damp, k_friction, k_mu)
    particle_f[i] = f
    counts[i] = num


@wp.kernel
def integrate(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    gravity: wp.vec3,
    dt: float,
    inv_mass: float,
):
    tid = wp.tid()
    v_new = v[tid] + f[tid] * inv_mass * dt + gravity * dt
    x[tid] = x[tid] + v_new * dt
    v[tid] = v_new


class Example:
    def __init__(self, dims=(8, 8, 8), radius=0.1):
        self.radius = radius
        self.dt = 1.0 / 60.0 / 16.0
        pts = np.meshgrid(*[np.linspace(0, d, d) for d in dims], indexing="ij")
        pts = np.array(pts).reshape(3, -1).T * radius * 2.0 + np.array((0.0, 0.15, 0.0))
        rng = np.random.default_rng(422)
        pts += rng.standard_normal(pts.shape) * radius * 0.1
        self.grid = wp.HashGrid(32, 32, 32)
        self.x = wp.array(pts, dtype=wp.vec3)
        self.v = wp.zeros(len(pts), dtype=wp.vec3)
        self.v.fill_(wp.vec3(0.1, 0.0, 0.0))
        self.f = wp.zeros_like(self.v)
        self.counts = wp.zeros(shape=len(pts), dtype=wp.int32)

    def step(self):
        self.grid.build(self.x, self.radius * 5.0)
        wp.launch(
            kernel=apply_forces,
            dim=len(self.x),
            inputs=[self.grid.id, self.x, self.v, self.f, self.counts, self.radius, 8000.0, 2.0, 1.0, 0.4],
        )
        wp.launch(
            kernel=integrate,
            dim=len(self.x),
            inputs=[self.x, self.v, self.f, (0.0, -9.8, 0.0), self.dt, 64.0],
        )


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        ex = Example()
        for i in range(40):
            ex.step()
            if i % 10 == 9:
                x = ex.x.numpy()
                print(i, "centre", x.mean(axis=0).round(5), "lowest %.4f" % x[:, 1].min(), ex.counts.numpy().sum())
        v = ex.v.numpy()
        print("speed", f"{np.linalg.norm(v, axis=1).mean():.5f}", "count", ex.x.size, ex.x.shape, ex.x.dtype is wp.vec3)
