"""N-body with softening: brute force, energy in float64, leapfrog; arrays of structs of state."""

import math

import numpy as np

import warp as wp

N = 128
G = wp.constant(1.0)
SOFT = wp.constant(0.05)


@wp.struct
class Body:
    x: wp.vec3d
    v: wp.vec3d
    mass: wp.float64
    name: wp.int32


@wp.func
def pull(a: wp.vec3d, b: wp.vec3d, m: wp.float64):
    d = b - a
    r2 = wp.length_sq(d) + wp.float64(SOFT) * wp.float64(SOFT)
    return d * (wp.float64(G) * m / (r2 * wp.sqrt(r2)))


@wp.kernel
def set_up(bodies: wp.array(dtype=Body), x: wp.array(dtype=wp.vec3d), v: wp.array(dtype=wp.vec3d), mass: wp.float64):
    i = wp.tid()
    b = Body()
    b.x = x[i]
    b.v = v[i]
    b.mass = mass
    b.name = 1000 + i
    bodies[i] = b


@wp.kernel
def kick(bodies: wp.array(dtype=Body), n: int, dt: wp.float64):
    i = wp.tid()
    a = wp.vec3d()
    xi = bodies[i].x
    for j in range(n):
        if j == i:
            continue
        a += pull(xi, bodies[j].x, bodies[j].mass)
    bodies[i].v = bodies[i].v + a * dt


@wp.kernel
def drift(bodies: wp.array(dtype=Body), dt: wp.float64):
    i = wp.tid()
    bodies[i].x += bodies[i].v * dt


@wp.kernel
def energy(
    bodies: wp.array(dtype=Body), n: int, kinetic: wp.array(dtype=wp.float64), potential: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    b = bodies[i]
    kinetic[i] = wp.float64(0.5) * b.mass * wp.dot(b.v, b.v)
    p = wp.float64(0.0)
    for j in range(i + 1, n):
        r2 = wp.length_sq(bodies[j].x - b.x) + wp.float64(SOFT * SOFT)
        p -= wp.float64(G) * b.mass * bodies[j].mass / wp.sqrt(r2)
    potential[i] = p


def plummer(n, seed=3):
    rng = np.random.default_rng(seed)
    r = 1.0 / np.sqrt(rng.uniform(0.05, 0.95, n) ** (-2.0 / 3.0) - 1.0)
    d = rng.normal(size=(n, 3))
    x = r[:, None] * d / np.linalg.norm(d, axis=1, keepdims=True)
    v = rng.normal(size=(n, 3)) * 0.3
    return x - x.mean(0), v - v.mean(0)


x, v = plummer(N)
bodies = wp.zeros(N, dtype=Body)
wp.launch(
    kernel=set_up,
    dim=N,
    inputs=[bodies, wp.array(x, dtype=wp.vec3d), wp.array(v, dtype=wp.vec3d), 1.0 / N],
    device="cpu",
)

k = wp.zeros(N, dtype=wp.float64)
p = wp.zeros(N, dtype=wp.float64)


def total():
    wp.launch(energy, dim=N, inputs=[bodies, N], outputs=[k, p])
    wp.synchronize()
    return k.numpy().sum(), p.numpy().sum()


ke, pe = total()
print("start", ke, pe, ke + pe)
dt = 0.01
for step in range(50):
    wp.launch(kick, dim=N, inputs=[bodies, N, 0.5 * dt])
    wp.launch(drift, dim=N, inputs=[bodies, dt])
    wp.launch(kick, dim=N, inputs=[bodies, N, 0.5 * dt])
k1, p1 = total()
print("end", k1, p1, k1 + p1)
print("conserved", math.isclose(k1 + p1, ke + pe, rel_tol=1e-2))

host = bodies.numpy()
print(host.dtype.names, host["name"][:3], host["x"].shape)
print("momentum", np.abs((host["v"] * host["mass"][:, None]).sum(axis=0)).max() < 1e-12)
print("radius", np.linalg.norm(host["x"], axis=1).mean())
one = Body()
one.mass = 2.5
one.x = wp.vec3d(1.0, 2.0, 3.0)
print(one.mass, one.x, one.x[1], one.name)
