"""Numbers of complex structs with operators, tuples, conversions, bits and integer arithmetic."""

import numpy as np
from typing import Any
import warp as wp


@wp.struct
class C:
    re: wp.float32
    im: wp.float32


@wp.func
def add(a: C, b: C) -> C:
    return C(a.re + b.re, a.im + b.im)


@wp.func
def mul(a: C, b: C) -> C:
    return C(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


@wp.func
def minmax(a: float, b: float):
    return wp.min(a, b), wp.max(a, b)


@wp.func
def swap(a: Any, b: Any):
    return b, a


@wp.func
def early(x: float) -> float:
    if x < 0.0:
        return -1.0
    for i in range(10):
        if float(i) > x:
            return float(i)
    return 99.0


@wp.kernel
def cmul(a: wp.array(dtype=C), b: wp.array(dtype=C), o: wp.array(dtype=C)):
    i = wp.tid()
    z = a[i] * b[i] + a[i]
    z = z * z
    o[i] = z


@wp.kernel
def misc(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    lo, hi = minmax(x[i], 2.0)
    lo, hi = swap(lo, hi)
    t = (lo, hi, 3.0)
    a, b, c = t
    o[i] = a * 100.0 + b * 10.0 + c + t[1] + float(len(t))
    o[i] += early(x[i])
    if x[i] > 1.0 and (x[i] < 3.0 or i == 3):
        o[i] += 1000.0
    k = wp.uint32(7) ^ wp.uint32(3)
    o[i] += float(k) + float(wp.int64(1) << wp.int64(33)) * 0.0
    o[i] += float(int(x[i]) % 2) + float(~i) + float(not i) + float(+i)
    s = wp.where(i % 2 == 0, x[i], -x[i])
    o[i] += s
    b1 = bool(i)
    if b1:
        o[i] -= 0.5
    w = wp.uint8(250) + wp.uint8(10)
    o[i] += float(w)
    o[i] += float(wp.float16(0.1)) + float(wp.float64(0.1)) + x[i] ** 2.0 + x[i] // 0.7 + x[i] % 0.7
    v = wp.vec3(1.0)
    v += wp.vec3(x[i], 0.0, 0.0)
    v *= 2.0
    v /= 4.0
    v -= wp.vec3(0.0, 1.0, 0.0)
    v[1] = v[0] + v.z
    v.z *= 3.0
    o[i] += wp.length(v) + v.x * v.y + wp.dot(v, wp.vec3(v.z, v.y, v.x))


@wp.kernel
def ints(o: wp.array(dtype=wp.int64)):
    a = wp.int32(2147483647)
    o[0] = wp.int64(a + 1)
    o[1] = wp.int64(wp.uint32(0) - wp.uint32(1))
    o[2] = wp.int64(-7) / wp.int64(2)
    o[3] = wp.int64(-7) // wp.int64(2)
    o[4] = wp.int64(-7) % wp.int64(2)
    o[5] = wp.int64(wp.int8(127) + wp.int8(1))
    o[6] = wp.int64(3.99)
    o[7] = wp.int64(-3.99)
    o[8] = wp.int64(wp.cast(1.0, wp.int32))
    o[9] = wp.int64(wp.abs(-5)) + wp.int64(wp.sign(-2.0)) + wp.int64(wp.min(3, 4)) + wp.int64(wp.clamp(7, 1, 5))
    o[10] = wp.int64(5 > 3)
    o[11] = wp.int64(1) << wp.int64(40)
    o[12] = wp.int64(-16) >> wp.int64(2)
    o[13] = wp.int64(6 & 3 | 8 ^ 1)
    o[14] = wp.int64(wp.floor(-2.5)) * wp.int64(100) + wp.int64(wp.ceil(-2.5)) * wp.int64(10) + wp.int64(wp.trunc(-2.5))
    o[15] = wp.int64(wp.round(-2.5)) * wp.int64(10) + wp.int64(wp.rint(-2.5))
    o[16] = wp.int64(wp.uint64(18446744073709551615) >> wp.uint64(60))


a = np.zeros(3, dtype=C.numpy_dtype())
a["re"] = [1, 2, 3]
a["im"] = [-1, 0.5, 2]
A = wp.array(a, dtype=C)
B = wp.array(a, dtype=C)
O = wp.zeros(3, dtype=C)
wp.launch(cmul, 3, [A, B, O])
print(O.numpy().tolist())
x = wp.array([0.5, 1.5, 2.5, 3.5, -1.0], dtype=float)
o = wp.zeros(5, dtype=float)
wp.launch(misc, 5, [x, o])
print(o.numpy())
q = wp.zeros(17, dtype=wp.int64)
wp.launch(ints, 1, [q])
print(q.numpy().tolist())
