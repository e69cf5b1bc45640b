"""Kernels that use the whole language, with arguments: what every pass must leave as it means."""

import numpy as np

import warpsim as wp

Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)
THREADS = 7


@wp.struct
class Body:
    x: wp.vec3
    mass: float
    kind: int


@wp.func
def halved(x: float):
    return x * 0.5


@wp.func
def folded(x: float, times: int):
    """Halves or negates, and returns early."""
    if x < 0.0:
        return -halved(x)
    for k in range(times):
        if x > 10.0:
            return x
        x = x * 1.5 + float(k)
    return wp.clamp(x, -3.0, 30.0)


@wp.func
def both(a: float, b: float):
    return folded(a, 2) + halved(b), wp.vec2(a, b)


@wp.kernel
def nested_functions(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    s, v = both(x[i], y[i])
    y[i] = s + wp.length(v) + folded(x[i], n[i])


@wp.kernel
def static_loops(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    total = float(0.0)
    last = int(0)
    for a in range(4):
        for b in range(a, 4):
            total += x[i] * float(a - b)
            for c in range(b + 1, 0, -2):
                last = last * 3 + c
    for _d in range(5, 5):
        total += 1000.0
    for e in range(3, -4, -3):
        total = total * 0.5 + float(e)
    y[i] = total
    n[i] = last


@wp.kernel
def dynamic_loops(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    total = float(0.0)
    unused = float(1.0)
    for a in range(n[i]):
        unused = unused * 2.0
        if a == 3:
            continue
        if total > 100.0:
            break
        for b in range(n[i], 0, -1):
            total += x[i] * float(a + b)
    k = int(0)
    while k < n[i] and total > -50.0:
        total -= 1.25
        k += 2
    y[i] = total + float(k)


@wp.kernel
def branches(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    a = float(1.0)
    b = float(2.0)
    _c = int(3)
    if x[i] > 0.0:
        a = x[i]
        b = a * 2.0
        _c = 4
    elif n[i] > 2:
        b = -x[i]
        if b > 1.0:
            a = 5.0
            y[i] = 77.0
    else:
        _c = 6
    y[i] = y[i] + a + wp.where(n[i] % 2 == 0, b, 0.0)


@wp.kernel
def constant_branches(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    scale = float(0.0)
    for mode in range(3):
        if mode == 0:
            scale += 1.0
        elif mode == 1:
            scale = scale * float(3 * mode + 4) / 2.0
        else:
            scale = scale - wp.sqrt(float(mode * mode))
    if wp.vec3(1.0, 2.0, 3.0)[1] == 2.0:
        y[i] = scale * x[i]
    else:
        y[i] = -1.0


@wp.kernel
def compounds(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    v = wp.vec3(x[i], y[i], 1.0)
    m = wp.outer(v, v) + wp.identity(3, dtype=float)
    for k in range(3):
        v[k] = v[k] + m[k, 2 - k]
    q = wp.quat(0.0, 0.0, x[i], 1.0)
    body = Body(x=wp.cross(v, wp.vec3(1.0, 0.0, 0.0)), mass=wp.determinant(m), kind=n[i])
    body.mass = body.mass + wp.length(q)
    y[i] = body.mass + wp.dot(body.x, v) + float(body.kind)


@wp.kernel
def local_memory(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    seen = wp.zeros(shape=4, dtype=float)
    for k in range(4):
        seen[k] = x[(i + k) % 7]
    for k in range(n[i]):
        wp.atomic_add(seen, k % 4, 1.0)
    best = seen[0]
    for k in range(1, 4):
        best = wp.max(best, seen[k])
    y[i] = best


@wp.kernel
def effects(x: Floats, y: Floats, n: Ints):
    i = wp.tid()
    unused = wp.sin(x[i]) + x[0]
    _ignored = wp.atomic_add(n, 0, 1)
    ticket = wp.atomic_max(n, 1, i)
    for k in range(3):
        wp.atomic_add(y, k, x[i] * 0.125)
    if x[i] < -1.0e6:
        _nothing = unused * 2.0
    y[4] = float(ticket)


GALLERY = [nested_functions, static_loops, dynamic_loops, branches, constant_branches, compounds, local_memory, effects]


def arguments():
    """x, y, n: fresh memory for any kernel of the gallery."""
    rng = np.random.default_rng(8)
    x, y = (rng.uniform(-2, 4, THREADS).astype(np.float32) for _ in range(2))
    return [x, y, np.array([0, 1, 2, 3, 4, 5, 9], np.int32)]
