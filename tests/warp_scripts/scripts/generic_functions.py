"""Generic functions and kernels, overloads, closures, tables of functions, functions as arguments and defaults."""

from typing import Any
import numpy as np
import warp as wp


@wp.func
def sq(x: Any):
    return x * x


@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func
def twice(x: wp.vec3):
    return 2.0 * x


@wp.func
def twice(x: int, y: int):
    return 2 * x + y


def make(f, k):
    @wp.kernel
    def run(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = f(x[i]) * k + wp.static(k * 2.0)

    return run


@wp.func
def apply(f: wp.Function, x: float, n: int):
    for i in range(n):
        x = f(x)
    return x


@wp.kernel
def generic_scale(x: wp.array(dtype=Any), s: Any, y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = s * x[i]


wp.overload(generic_scale, [wp.array(dtype=wp.vec3), float, wp.array(dtype=wp.vec3)])
wp.overload(generic_scale, {"x": wp.array(dtype=wp.float64), "s": wp.float64, "y": wp.array(dtype=wp.float64)})

x = wp.array([1.0, 2.0, 3.0], dtype=float)
y = wp.zeros(3, dtype=float)
for f, k in ((sq, 1.5), (twice, 0.5), (wp.sin, 2.0)):
    wp.launch(make(f, k), dim=3, inputs=[x, y])
    print(y.numpy())


@wp.kernel
def tables(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(wp.static(len(FUNCS))):
        s += wp.static(FUNCS[j])(x[i])
    out[i] = s + apply(sq, x[i], 2) + float(twice(3, 4))


FUNCS = [wp.sin, wp.cos, sq]
wp.launch(tables, dim=3, inputs=[x, y])
print(y.numpy())
v = wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3)
w = wp.zeros_like(v)
wp.launch(generic_scale, dim=1, inputs=[v, 3.0, w])
print(w.numpy())
d = wp.array([1.0, 2.0], dtype=wp.float64)
e = wp.zeros_like(d)
wp.launch(generic_scale, dim=2, inputs=[d, wp.float64(2.5), e])
print(e.numpy())
h = wp.array([1.0, 2.0], dtype=wp.float16)
hh = wp.zeros_like(h)
wp.launch(generic_scale, dim=2, inputs=[h, wp.float16(2.5), hh])
print(hh.numpy())
print(sq(3.0), twice(wp.vec3(1.0, 2.0, 3.0)))


@wp.func
def with_default(x: float, f: wp.Function = sq, k: float = 2.0):
    return f(x) * k


@wp.kernel
def kd(out: wp.array(dtype=float)):
    out[0] = with_default(3.0)
    out[1] = with_default(3.0, twice)
    out[2] = with_default(3.0, k=3.0)
    out[3] = with_default(3.0, wp.cos, 1.0)


o = wp.zeros(4, dtype=float)
wp.launch(kd, dim=1, inputs=[o])
print(o.numpy())


@wp.struct
class P:
    a: float
    n: wp.int32


@wp.func
def of(p: Any, s: Any):
    return type(s)(p.a) * s


@wp.kernel
def kp(p: P, out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = of(p, out[i]) + out.dtype(p.n)


for t in (wp.float32, wp.float64, wp.int32):
    o = wp.full(3, 3, dtype=t)
    p = P()
    p.a = 2.5
    p.n = 4
    wp.launch(kp, dim=3, inputs=[p, o])
    print(o.numpy(), o.dtype.__name__)
print(sq.key, generic_scale.key)
