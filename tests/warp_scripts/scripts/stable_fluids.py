"""Stable fluids in two dimensions: semi-Lagrangian advection, Jacobi pressure, buoyancy, and a tape over two steps."""

import numpy as np

import warp as wp

N = wp.constant(40)


@wp.func
def wrap(i: int) -> int:
    return ((i % N) + N) % N


@wp.func
def bilinear(f: wp.array2d(dtype=float), p: wp.vec2):
    i = int(wp.floor(p[0]))
    j = int(wp.floor(p[1]))
    a = p[0] - float(i)
    b = p[1] - float(j)
    lo = wp.lerp(f[wrap(i), wrap(j)], f[wrap(i + 1), wrap(j)], a)
    hi = wp.lerp(f[wrap(i), wrap(j + 1)], f[wrap(i + 1), wrap(j + 1)], a)
    return wp.lerp(lo, hi, b)


@wp.func
def bilinear_velocity(f: wp.array2d(dtype=wp.vec2), p: wp.vec2):
    i, j = int(wp.floor(p[0])), int(wp.floor(p[1]))
    a, b = p[0] - float(i), p[1] - float(j)
    return (
        (1.0 - a) * (1.0 - b) * f[wrap(i), wrap(j)]
        + a * (1.0 - b) * f[wrap(i + 1), wrap(j)]
        + (1.0 - a) * b * f[wrap(i), wrap(j + 1)]
        + a * b * f[wrap(i + 1), wrap(j + 1)]
    )


@wp.kernel
def advect(
    u: wp.array2d(dtype=wp.vec2),
    s: wp.array2d(dtype=float),
    dt: float,
    u_out: wp.array2d(dtype=wp.vec2),
    s_out: wp.array2d(dtype=float),
):
    i, j = wp.tid()
    p = wp.vec2(float(i), float(j)) - u[i, j] * dt
    smoke = bilinear(s, p)
    s_out[i, j] = smoke
    u_out[i, j] = bilinear_velocity(u, p) + wp.vec2(0.0, 0.5 * smoke) * dt


@wp.kernel
def divergence(u: wp.array2d(dtype=wp.vec2), div: wp.array2d(dtype=float)):
    i, j = wp.tid()
    dx = u[wrap(i + 1), j][0] - u[wrap(i - 1), j][0]
    dy = u[i, wrap(j + 1)][1] - u[i, wrap(j - 1)][1]
    div[i, j] = 0.5 * (dx + dy)


@wp.kernel
def jacobi(p: wp.array2d(dtype=float), div: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = p[wrap(i + 1), j] + p[wrap(i - 1), j] + p[i, wrap(j + 1)] + p[i, wrap(j - 1)]
    out[i, j] = 0.25 * (s - div[i, j])


@wp.kernel
def project(u: wp.array2d(dtype=wp.vec2), p: wp.array2d(dtype=float), out: wp.array2d(dtype=wp.vec2)):
    i, j = wp.tid()
    g = wp.vec2(p[wrap(i + 1), j] - p[wrap(i - 1), j], p[i, wrap(j + 1)] - p[i, wrap(j - 1)])
    out[i, j] = u[i, j] - 0.5 * g


@wp.kernel
def score(s: wp.array2d(dtype=float), target: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i, j = wp.tid()
    d = s[i, j] - target[i, j]
    wp.atomic_add(loss, 0, d * d)


class Fluid:
    def __init__(self, iterations=12):
        self.shape = (int(N), int(N))
        self.iterations = iterations

    def scalar(self):
        return wp.zeros(self.shape, dtype=float, requires_grad=True)

    def vector(self):
        return wp.zeros(self.shape, dtype=wp.vec2, requires_grad=True)

    def step(self, u, s, dt=0.5):
        ua, sa, div, out = self.vector(), self.scalar(), self.scalar(), self.vector()
        wp.launch(advect, dim=self.shape, inputs=[u, s, dt], outputs=[ua, sa])
        wp.launch(divergence, dim=self.shape, inputs=[ua], outputs=[div])
        p = self.scalar()
        for _ in range(self.iterations):
            q = self.scalar()
            wp.launch(jacobi, dim=self.shape, inputs=[p, div], outputs=[q])
            p = q
        wp.launch(project, dim=self.shape, inputs=[ua, p], outputs=[out])
        return out, sa


fluid = Fluid()
x, y = np.meshgrid(np.arange(40), np.arange(40), indexing="ij")
smoke = np.exp(-((x - 20) ** 2 + (y - 10) ** 2) / 20.0)
swirl = np.stack([np.sin(2 * np.pi * y / 40), -np.sin(2 * np.pi * x / 40)], -1)
u = wp.array(swirl, dtype=wp.vec2, requires_grad=True)
s = wp.array(smoke, dtype=float, requires_grad=True)
a, b = u, s
for k in range(16):
    a, b = fluid.step(a, b)
    if k % 4 == 3:
        rise = (b.numpy() * y).sum() / b.numpy().sum()
        print(
            k,
            "smoke %.3f" % b.numpy().sum(),
            "height %.3f" % rise,
            "speed %.4f" % np.linalg.norm(a.numpy(), axis=-1).mean(),
        )
target = wp.array(np.roll(smoke, 2, axis=1), dtype=float)
loss = wp.zeros(1, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    a, b = fluid.step(*fluid.step(u, s))
    wp.launch(score, dim=fluid.shape, inputs=[b, target], outputs=[loss])
tape.backward(loss)
print(
    "loss %.4f" % loss.numpy()[0],
    "gradient",
    np.abs(u.grad.numpy()).sum(),
    u.grad.numpy()[20, 10],
    s.grad.numpy()[20, 10],
)
