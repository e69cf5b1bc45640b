"""What the text of every random program can use: a struct, functions that keep values bounded, and an update."""

import warpsim as wp

Numbers = wp.array(dtype=wp.float64)


@wp.struct
class S:
    x: wp.float64
    n: int
    v: wp.vec3d


@wp.func
def tame_f(x: wp.float64):
    return x / (1.0 + x * x)


@wp.func
def tame_v(v: wp.vec3d):
    return v / (1.0 + wp.dot(v, v))


@wp.func
def tame_m(m: wp.mat22d):
    return m / (1.0 + wp.ddot(m, m))


@wp.func
def damp(a: Numbers, at: int, x: wp.float64):
    if at % 2 == 0:
        a[at] = a[at] * 0.5 + x
    else:
        a[at] *= wp.cos(x)
    return a[at] * x
