"""Local arrays, rows and slices as arguments, atomics that return, components of elements, missing arrays."""

import numpy as np
import warp as wp

N = wp.constant(4)


@wp.func
def total(a: wp.array(dtype=float)):
    s = float(0.0)
    for i in range(a.shape[0]):
        s += a[i]
    return s


@wp.func
def row_sum(a: wp.array2d(dtype=float), i: int):
    return total(a[i])


@wp.kernel
def k(a: wp.array2d(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    loc = wp.zeros(shape=(N, 2), dtype=float)
    for j in range(N):
        loc[j, 0] = a[i, j] * 2.0
        loc[j, 1] = float(j)
    s = float(0.0)
    for j in range(N):
        s += loc[j, 0] * loc[j, 1]
    o[i] = s + row_sum(a, i) + total(a[i, 1:3]) + a[-1, -1]


@wp.kernel
def hist(
    x: wp.array(dtype=int),
    bins: wp.array(dtype=int),
    slot: wp.array(dtype=int),
    mx: wp.array(dtype=float),
    mn: wp.array(dtype=float),
):
    i = wp.tid()
    slot[i] = wp.atomic_add(bins, x[i], 1)
    wp.atomic_max(mx, 0, float(x[i]) * 1.5)
    wp.atomic_min(mn, 0, float(x[i]) * -1.5)
    bins[3] += 1
    bins[2] -= 1
    wp.atomic_cas(bins, 4, 0, 77)
    wp.atomic_exch(bins, 5, 9)


@wp.kernel
def vecat(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), o: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_add(o, 0, x[i])
    wp.atomic_max(o, 1, x[i])
    o[2] += x[i] * 2.0
    o[3][1] += x[i][1]
    m[0][1, 1] += 1.0
    m[0][0] += wp.vec2(1.0, 2.0)


@wp.kernel
def shapes(a: wp.array3d(dtype=wp.vec3), o: wp.array(dtype=int)):
    o[0] = a.shape[0] * 100 + a.shape[1] * 10 + a.shape[2]
    o[1] = len(a)
    b = a[1]
    o[2] = b.shape[0] * 10 + b.shape[1]
    v = a[1, 0, 1]
    o[3] = int(v[0]) + len(v)
    if a:
        o[4] = 1


@wp.kernel
def optional(a: wp.array(dtype=float), b: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    if b:
        o[i] = a[i] + b[i]
    else:
        o[i] = a[i]


a = wp.array(np.arange(8).reshape(2, 4), dtype=float)
o = wp.zeros(2, dtype=float)
wp.launch(k, 2, [a, o])
print(o.numpy())
x = wp.array([0, 1, 1, 2, 0, 1], dtype=int)
b = wp.zeros(6, dtype=int)
s = wp.zeros(6, dtype=int)
mx = wp.zeros(1, dtype=float)
mn = wp.zeros(1, dtype=float)
wp.launch(hist, 6, [x, b, s, mx, mn])
print(b.numpy(), sorted(s.numpy().tolist()), mx.numpy(), mn.numpy())
v = wp.array(np.arange(9).reshape(3, 3), dtype=wp.vec3)
m = wp.zeros(1, dtype=wp.mat22)
ov = wp.zeros(4, dtype=wp.vec3)
wp.launch(vecat, 3, [v, m, ov])
print(ov.numpy().tolist(), m.numpy().tolist())
c = wp.array(np.arange(24).reshape(2, 2, 2, 3), dtype=wp.vec3)
oi = wp.zeros(5, dtype=int)
wp.launch(shapes, 1, [c, oi])
print(oi.numpy())
y = wp.zeros(2, dtype=float)
wp.launch(optional, 2, [o, None, y])
print(y.numpy())
wp.launch(optional, 2, [o, o, y])
print(y.numpy())
