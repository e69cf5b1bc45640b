"""Keywords and defaults, loops with several exits, overloads by type, truth values, half precision, all kinds of arguments."""

import numpy as np
import warp as wp
from typing import Any


@wp.func
def scale(x: Any, k: Any = 2.0, shift: float = 0.5):
    return x * k


@wp.func
def kw(a: float, b: float = 3.0, c: int = 7):
    return a * 100.0 + b * 10.0 + float(c)


@wp.func
def gcd(a: int, b: int) -> int:
    while b != 0:
        t = b
        b = a % b
        a = t
    return a


@wp.func
def is_prime(n: int) -> bool:
    if n < 2:
        return False
    i = int(2)
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


@wp.func
def dispatch(x: wp.float32):
    return 1


@wp.func
def dispatch(x: wp.float64):
    return 2


@wp.func
def dispatch(x: wp.int32):
    return 3


@wp.func
def dispatch(x: wp.vec3):
    return 4


@wp.func
def dispatch(x: wp.array(dtype=float)):
    return 5


@wp.func
def dispatch(x: Any):
    return 6


@wp.kernel
def k(o: wp.array(dtype=float), a: wp.array(dtype=float)):
    o[0] = kw(1.0)
    o[1] = kw(1.0, c=2)
    o[2] = kw(b=2.0, a=5.0)
    o[3] = kw(1.0, 2.0, 3)
    o[4] = float(gcd(84, 36))
    c = int(0)
    for i in range(50):
        if is_prime(i):
            c += 1
    o[5] = float(c)
    o[6] = float(
        dispatch(1.0)
        + 10 * dispatch(wp.float64(1.0))
        + 100 * dispatch(2)
        + 1000 * dispatch(wp.vec3(1.0))
        + 10000 * dispatch(a)
        + 100000 * dispatch(wp.uint8(1))
    )
    n = int(0)
    for i in range(3):
        for j in range(4):
            if j == 2:
                continue
            if i == 2 and j == 1:
                break
            n += i * 10 + j
    o[7] = float(n)
    s = float(0.0)
    for i in range(o.shape[0]):
        if i > 5:
            break
        s += float(i)
    o[8] = s
    x = float(10.0)
    it = int(0)
    while x > 1.0 and it < 100:
        x = x * 0.7
        it += 1
        if it == 50:
            break
    o[9] = x + float(it)
    o[11] = scale(3.0) + scale(wp.vec2(1.0, 2.0), 3.0)[1]
    for q in range(2):
        o[12] += float(q) + 1.0
    z = wp.vec3()
    for i in range(3):
        z[i] = float(i) + 1.0
    o[13] = z[0] * z[1] * z[2]
    o[14] = wp.min(wp.min(3.0, 2.0), 1.0) + wp.max(1.0, 2.0)
    o[15] = float(1e3) + 1.5e-3 + float(0x10) + float(1_000)


o = wp.zeros(16, dtype=float)
wp.launch(k, 1, [o, o])
print(o.numpy().tolist())


@wp.kernel
def boolk(a: wp.array(dtype=wp.bool), n: wp.array(dtype=int), f: bool, o: wp.array(dtype=wp.bool)):
    i = wp.tid()
    o[i] = (a[i] and f) or (n[i] > 1) != a[i]
    if a[i]:
        n[i] += 10
    if not a[i] and not f:
        n[i] -= 10


o = wp.zeros(4, dtype=wp.bool)
n = wp.array([0, 1, 2, 3], dtype=int)
for f in (True, False):
    wp.launch(boolk, 4, [wp.array([True, False, True, False], dtype=wp.bool), n, f, o])
    print(o.numpy().tolist(), n.numpy().tolist())


@wp.kernel
def launch2(
    x: float,
    y: wp.vec2,
    z: wp.mat22,
    q: wp.quat,
    t: wp.transform,
    i8: wp.int8,
    u64: wp.uint64,
    b: wp.bool,
    o: wp.array(dtype=float),
):
    o[0] = x + y[1] + z[1, 0] + q[3] + wp.transform_get_translation(t)[0] + float(i8) + float(u64)
    if b:
        o[0] += 0.25


o = wp.zeros(1, dtype=float)
wp.launch(
    launch2,
    1,
    [1, (1, 2), ((1, 2), (3, 4)), (0, 0, 0, 1), wp.transform((5, 6, 7), wp.quat_identity()), -3, 2**40, True],
    outputs=[o],
)
print(o.numpy())
wp.launch(
    launch2,
    1,
    [
        np.float64(1),
        np.array([1, 2]),
        np.eye(2),
        wp.quat(),
        wp.transform((5, 6, 7), wp.quat_identity()),
        np.int8(-3),
        np.uint64(2**40),
        False,
    ],
    outputs=[o],
)
print(o.numpy())
