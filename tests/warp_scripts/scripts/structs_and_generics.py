"""Nested structs, arrays inside structs, generic functions and kernels, overloads, closures."""

from typing import Any

import numpy as np

import warp as wp


@wp.struct
class Material:
    density: float
    colour: wp.vec3
    flags: wp.uint8


@wp.struct
class Particle:
    pos: wp.vec3
    frame: wp.transform
    mat: Material
    inertia: wp.mat33


@wp.struct
class Scene:
    x: wp.array(dtype=wp.vec3)
    weight: wp.array(dtype=float)
    table: wp.array2d(dtype=wp.int32)
    material: Material
    count: int


@wp.func
def square(x: Any):
    return x * x


@wp.func
def mix(a: Any, b: Any, t: Any):
    return a * (type(t)(1.0) - t) + b * t


@wp.func
def largest(v: wp.vec2):
    return wp.max(v[0], v[1])


@wp.func
def largest(v: wp.vec3):
    return wp.max(wp.max(v[0], v[1]), v[2])


@wp.func
def polar(p: wp.vec2):
    r = wp.length(p)
    return r, wp.atan2(p[1], p[0])


@wp.kernel
def scene_kernel(s: Scene, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = s.x[i] * s.weight[i] * s.material.density
    if s.table[i, 0] > s.table[i, 1]:
        p = -p
    if i < s.count:
        p += s.material.colour
    out[i] = p


@wp.kernel
def particle_kernel(ps: wp.array(dtype=Particle), masses: wp.array(dtype=float)):
    i = wp.tid()
    p = ps[i]
    world = wp.transform_point(p.frame, p.pos)
    p.pos = world
    p.inertia = wp.outer(world, world) + wp.identity(n=3, dtype=float) * p.mat.density
    p.mat.colour = wp.vec3(float(i), p.mat.colour[1], 0.5)
    p.mat.flags = p.mat.flags | wp.uint8(1 << (i % 4))
    ps[i] = p
    masses[i] = wp.trace(p.inertia)


@wp.kernel
def scale(x: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    x[i] = s * x[i]


@wp.kernel
def blend(a: wp.array(dtype=Any), b: wp.array(dtype=Any), t: float, out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = mix(a[i], b[i], t)


wp.overload(scale, [wp.array(dtype=wp.float64), wp.float64])
wp.overload(scale, {"x": wp.array(dtype=wp.vec3), "s": float})


@wp.kernel
def functions(out: wp.array(dtype=float)):
    out[0] = square(3.0)
    out[1] = float(square(7))
    out[2] = largest(wp.vec2(4.0, -1.0)) + largest(wp.vec3(1.0, 2.0, 8.0))
    r, theta = polar(wp.vec2(1.0, 1.0))
    out[3] = r
    out[4] = theta
    out[5] = wp.length(mix(wp.vec3(0.0), wp.vec3(1.0, 2.0, 2.0), 0.5))


def make_kernel(op, n):
    @wp.kernel
    def applied(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        i = wp.tid()
        s = float(0.0)
        for k in range(wp.static(n)):
            s += op(a[i], float(k))
        b[i] = s

    return applied


@wp.func
def plus(a: float, b: float):
    return a + b


@wp.func
def times(a: float, b: float):
    return a * b


rng = np.random.default_rng(0)
n = 10
scene = Scene()
scene.x = wp.array(rng.normal(size=(n, 3)), dtype=wp.vec3)
scene.weight = wp.full(n, 2.0, dtype=float)
scene.table = wp.array(rng.integers(0, 9, (n, 2)), dtype=wp.int32)
scene.material = Material()
scene.material.density = 1.5
scene.material.colour = wp.vec3(0.1, 0.2, 0.3)
scene.count = 4
out = wp.zeros(n, dtype=wp.vec3)
wp.launch(scene_kernel, dim=n, inputs=[scene], outputs=[out])
print("scene", out.numpy()[0], out.numpy()[9], out.numpy().sum())

parts = []
for i in range(5):
    p = Particle()
    p.pos = wp.vec3(1.0, float(i), 0.0)
    p.frame = wp.transform(wp.vec3(0.0, 0.0, 1.0), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5 * i))
    p.mat.density = 2.0
    p.mat.colour = (0.0, 0.25, 0.0)
    p.mat.flags = 16
    parts.append(p)
ps = wp.array(parts, dtype=Particle)
masses = wp.zeros(5, dtype=float)
wp.launch(particle_kernel, dim=5, inputs=[ps, masses])
print("masses", masses.numpy())
host = ps.numpy()
print(host["mat"]["flags"], host["mat"]["colour"][3], host["pos"][2], host["inertia"].shape)

d = wp.array([1.0, 2.0, 3.0], dtype=wp.float64)
wp.launch(scale, dim=3, inputs=[d, wp.float64(2.5)])
v = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)
wp.launch(scale, dim=2, inputs=[v, -1.0])
m = wp.array(np.arange(8).reshape(2, 2, 2), dtype=wp.mat22)
wp.launch(scale, dim=2, inputs=[m, 0.5])
print(d.numpy(), v.numpy().tolist(), m.numpy().tolist())
a, b = wp.ones(4, dtype=float), wp.full(4, 3.0, dtype=float)
o = wp.empty(4, dtype=float)
wp.launch(blend, dim=4, inputs=[a, b, 0.25, o])
av, ov = wp.full(shape=4, value=wp.vec4(1.0, 2.0, 3.0, 4.0), dtype=wp.vec4), wp.zeros(4, dtype=wp.vec4)
wp.launch(blend, dim=4, inputs=[av, av, 0.75], outputs=[ov])
print(o.numpy(), ov.numpy()[3])
f = wp.zeros(6, dtype=float)
wp.launch(functions, dim=1, inputs=[f])
print(f.numpy())
for op in (plus, times):
    for count in (2, 5):
        res = wp.zeros(3, dtype=float)
        wp.launch(make_kernel(op, count), dim=3, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), res])
        print(op.key, count, res.numpy())
