"""A sheet of springs; the initial velocity is optimised so that the centre lands on a target."""

import numpy as np

import warp as wp


@wp.kernel
def spring_forces(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    indices: wp.array2d(dtype=wp.int32),
    rest: wp.array(dtype=wp.float32),
    ke: wp.float32,
    kd: wp.float32,
    f: wp.array(dtype=wp.vec3),
):
    s = wp.tid()
    i = indices[s, 0]
    j = indices[s, 1]
    xij = x[i] - x[j]
    vij = v[i] - v[j]
    l = wp.length(xij)
    dir = xij / l
    c = l - rest[s]
    dcdt = wp.dot(dir, vij)
    fs = dir * (ke * c + kd * dcdt)
    wp.atomic_sub(f, i, fs)
    wp.atomic_add(f, j, fs)


@wp.kernel
def step_particles(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    a = f[i] + wp.vec3(0.0, -9.81, 0.0)
    vn = v[i] + a * dt
    xn = x[i] + vn * dt
    if xn[1] < 0.0:
        xn = wp.vec3(xn[0], 0.0, xn[2])
        vn = wp.cw_mul(vn, wp.vec3(0.5, -0.3, 0.5))
    x_out[i] = xn
    v_out[i] = vn


@wp.kernel
def spread(u: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3)):
    v[wp.tid()] = u[0]


@wp.kernel
def loss_kernel(x: wp.array(dtype=wp.vec3), target: wp.vec3, loss: wp.array(dtype=float)):
    i = wp.tid()
    d = x[i] - target
    wp.atomic_add(loss, 0, wp.dot(d, d) / float(x.shape[0]))


class Sheet:
    def __init__(self, n=6, steps=30):
        self.n, self.steps, self.dt = n, steps, 1.0 / 120.0
        gx, gz = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        points = np.stack([gx * 0.1, np.full_like(gx, 1.0, dtype=float), gz * 0.1], axis=-1).reshape(-1, 3)
        pairs = []
        for i in range(n):
            for j in range(n):
                for di, dj in ((1, 0), (0, 1), (1, 1), (1, -1)):
                    if 0 <= i + di < n and 0 <= j + dj < n:
                        pairs.append((i * n + j, (i + di) * n + j + dj))
        pairs = np.array(pairs, dtype=np.int32)
        rest = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        self.pairs = wp.array(pairs, dtype=wp.int32)
        self.rest = wp.array(rest, dtype=wp.float32)
        self.count = n * n
        self.x = [wp.zeros(self.count, dtype=wp.vec3, requires_grad=True) for _ in range(steps + 1)]
        self.v = [wp.zeros_like(a) for a in self.x]
        self.f = [wp.zeros_like(a) for a in self.x[:-1]]
        self.x[0].assign(points)
        self.u = wp.array([[0.0, 2.0, 0.0]], dtype=wp.vec3, requires_grad=True)
        self.loss = wp.zeros(1, dtype=wp.float32, requires_grad=True)

    def forward(self):
        wp.launch(spread, dim=self.count, inputs=[self.u], outputs=[self.v[0]])
        for s in range(self.steps):
            self.f[s].zero_()
            wp.launch(
                spring_forces,
                dim=len(self.rest),
                inputs=[self.x[s], self.v[s], self.pairs, self.rest, 500.0, 0.5],
                outputs=[self.f[s]],
            )
            wp.launch(
                step_particles,
                self.count,
                inputs=[self.x[s], self.v[s], self.f[s], self.dt],
                outputs=[self.x[s + 1], self.v[s + 1]],
            )
        wp.launch(loss_kernel, self.count, inputs=[self.x[-1], wp.vec3(1.0, 1.2, 0.5)], outputs=[self.loss])

    def evaluate(self):
        self.loss.zero_()
        tape = wp.Tape()
        with tape:
            self.forward()
        tape.backward(loss=self.loss)
        g = tape.gradients[self.u].numpy().copy()
        tape.zero()
        return float(self.loss.numpy()[0]), g


sheet = Sheet()
value, g = sheet.evaluate()
print("loss", value, "gradient", g[0])
base = sheet.u.numpy().copy()
for axis in range(3):
    eps = 1e-2
    both = []
    for sign in (1, -1):
        u = base.copy()
        u[0, axis] += sign * eps
        sheet.u.assign(u)
        sheet.loss.zero_()
        sheet.forward()
        both.append(sheet.loss.numpy()[0])
    print("  axis", axis, "matches differences:", bool(abs((both[0] - both[1]) / (2 * eps) - g[0, axis]) < 2e-2))
sheet.u.assign(base)
for it in range(8):
    value, g = sheet.evaluate()
    sheet.u.assign(sheet.u.numpy() - 2.0 * g)
    print(f"{it} {value:.5f}")
print("velocity", np.round(sheet.u.numpy()[0], 4))
