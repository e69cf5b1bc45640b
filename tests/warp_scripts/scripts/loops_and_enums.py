"""Loops of all kinds, enums, early exits, launches in four dimensions, and gradients of loops known at run time."""

import numpy as np
import warp as wp
from enum import IntEnum, IntFlag


class Mode(IntEnum):
    A = 0
    B = 1
    C = 2


class F(IntFlag):
    X = 1
    Y = 2
    Z = 4


@wp.func
def collatz(n: int):
    c = int(0)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        c += 1
        if c > 1000:
            break
    return c


@wp.func
def classify(x: float, mode: int) -> float:
    if mode == Mode.A:
        return x
    elif mode == Mode.B:
        return x * x
    return wp.sin(x)


@wp.kernel
def ints(a: wp.array(dtype=int), b: wp.array(dtype=int), flags: int):
    i = wp.tid()
    s = int(0)
    for j in range(10, 0, -3):
        if j == 4:
            continue
        s += j * i
    k = int(0)
    while True:
        k += 1
        if k * k > i + 5:
            break
    if flags & F.Y:
        s += 100
    if not (flags & int(F.Z)):
        s -= 1
    s ^= 3
    s = s << 1
    s |= 1
    b[i] = collatz(a[i]) * 1000 + s + k + int(Mode.C)


a = wp.array([1, 3, 7, 27, 12], dtype=int)
b = wp.zeros(5, dtype=int)
wp.launch(ints, dim=5, inputs=[a, b, F.X | F.Y])
print(b.numpy())


@wp.kernel
def newton(x: wp.array(dtype=float), steps: wp.array(dtype=int), out: wp.array(dtype=float), mode: int):
    i = wp.tid()
    y = x[i]
    n = steps[i]
    z = float(1.0)
    for k in range(n):
        z = z - 0.5 * (z * z - y) / z * 0.5
    acc = float(0.0)
    for k in range(n):
        if k % 3 == 1:
            continue
        acc += wp.sin(z * float(k)) * y
    out[i] = classify(acc + z, mode)


x = wp.array([2.0, 3.0, 5.0], dtype=float, requires_grad=True)
steps = wp.array([3, 5, 9], dtype=int)
for mode in Mode:
    out = wp.zeros(3, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(newton, dim=3, inputs=[x, steps], outputs=[out, mode])
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    print("values", out.numpy())
    print("gradients", x.grad.numpy())
    tape.zero()


@wp.kernel
def nd(out: wp.array(dtype=int, ndim=4)):
    i, j, k, l = wp.tid()
    out[i, j, k, l] = i * 1000 + j * 100 + k * 10 + l


o = wp.zeros((2, 2, 3, 2), dtype=int)
wp.launch(nd, dim=o.shape, inputs=[o])
print(o.numpy().ravel(), o.numpy().sum())


@wp.kernel
def find(a: wp.array(dtype=float), key: float, res: wp.array(dtype=int)):
    i = wp.tid()
    if i > 0:
        return
    lo = int(0)
    hi = a.shape[0]
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < key:
            lo = mid + 1
        else:
            hi = mid
    res[0] = lo
    res[1] = wp.lower_bound(a, key)
    res[2] = -7 // 2
    res[3] = -7 % 3
    res[4] = int(-2.7)
    res[5] = int(wp.round(2.5)) + int(wp.rint(2.5)) * 10
    res[6] = int(wp.floor(-1.5))
    res[7] = wp.int32(wp.uint8(200)) + int(wp.int8(100))
    res[8] = 1 if key > 2.0 and not key > 10.0 or False else 0
    res[9] = 5 if 1.0 < key < 4.0 else 6


r = wp.zeros(10, dtype=int)
wp.launch(find, dim=4, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), 2.5, r])
print(r.numpy())
