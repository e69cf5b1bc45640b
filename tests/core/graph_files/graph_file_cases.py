"""Graphs to save: each case captures one, and says which arrays go in and which come out."""

from typing import Any

import numpy as np

import warpsim as wp

CASES = {}


def case(function):
    """Enter a case: a function that captures a graph, and returns it with the arrays to set and the arrays to read."""
    CASES[function.__name__] = function
    return function


def numbers(n, seed=0, dtype=wp.float32, shape=None, **options):
    """Random numbers from 0 to 1 as an array; of vectors and matrices, components."""
    inner = getattr(dtype, "_shape_", ())
    values = np.random.default_rng(seed).random((*(shape or (n,)), *inner))
    return wp.array(values, dtype=dtype, **options)


def value_of(graph, name, like):
    result = wp.empty_like(like)
    graph.get_param(name, result)
    return result.numpy()


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def combine(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] + y[i]


@case
def several_kernels():
    """Launches that run as one loop, and a sum behind them."""
    n = 50_000
    x, y, out = numbers(n), numbers(n, 1), wp.zeros(1, dtype=float)
    with wp.ScopedCapture(apic=True) as capture:
        for k in range(3):
            wp.launch(axpy, dim=n, inputs=[x, y, 1.0 / (k + 1)])
        out.zero_()
        wp.launch(total, dim=n, inputs=[y, out])
    return capture.graph, {"x": x}, {"y": y, "out": out}


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@case
def generic_kernel_at_many_types():
    pairs = {}
    types = (wp.float16, wp.float32, wp.float64, wp.bfloat16, wp.int8, wp.uint64, wp.vec3, wp.vec4d, wp.vec2h, wp.mat33)
    types += (wp.mat22d, wp.quat)
    for k, dtype in enumerate(types):
        pairs[dtype.__name__] = numbers(9, k, dtype), numbers(9, 20 + k, dtype)
    with wp.ScopedCapture() as capture:
        for x, y in pairs.values():
            wp.launch(combine, dim=9, inputs=[x, y])
    return capture.graph, {f"x {n}": p[0] for n, p in pairs.items()}, {f"y {n}": p[1] for n, p in pairs.items()}


@wp.kernel
def shift(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a[i + 1] = a[i] + 1.0
    out[i] = b[i]


@case
def overlapping_views():
    whole = numbers(12)
    first, second, out = whole[0:8], whole[3:12], wp.zeros(6, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(shift, dim=6, inputs=[first, second, out])
        wp.copy(whole, out, dest_offset=9, count=3)
    return capture.graph, {"whole": whole, "second": second}, {"out": out, "first": first, "all": whole}


@wp.kernel
def strided(x: wp.array(dtype=float, ndim=2), y: wp.array(dtype=float, ndim=2), row: wp.array(dtype=float, ndim=2)):
    i, j = wp.tid()
    y[i, j] += x[i, j] * row[i, j]


@case
def strided_memory():
    x, y, row = numbers(0, shape=(7, 10)), numbers(0, 1, shape=(20, 14)), numbers(7, 2)
    repeated = (
        wp.array(np.broadcast_to(row.numpy(), (10, 7)), copy=False)
        if row.device.is_cpu
        else numbers(0, 2, shape=(10, 7))
    )
    with wp.ScopedCapture() as capture:
        wp.launch(strided, dim=(10, 7), inputs=[x.transpose(), y[::2, ::2], repeated])
        y[1::2, 3].fill_(7)
    return capture.graph, {"x": x}, {"y": y, "view": y[::2, ::2]}


@wp.kernel
def through_tables(a: wp.indexedarray(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * 2.0 + b[i]


@case
def index_tables():
    a, b, table = numbers(20), numbers(6, 1), wp.array([3, 1, 4, 15, 9, 2], dtype=int)
    picked = wp.indexedarray(a, [table])
    square = numbers(0, 2, shape=(5, 6))
    block = wp.indexedarray(square, [wp.array([0, 3], dtype=int), None])
    out = wp.zeros((2, 6), dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(through_tables, dim=6, inputs=[picked, b])
        out.assign(block)
        block.fill_(3.0)
        picked.assign(b)
    return capture.graph, {"b": b, "table": table}, {"a": a, "square": square, "out": out}


@wp.struct
class Inner:
    x: wp.array(dtype=wp.vec3)
    scale: wp.float64


@wp.struct
class Particles:
    flag: wp.int8
    inner: Inner
    mass: wp.array(dtype=float)
    absent: wp.array(dtype=float)


@wp.kernel
def move_particles(p: Particles, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p.inner.x[i] += wp.vec3(float(p.inner.scale), float(int(p.flag)), p.mass[i])
    if p.absent:
        p.inner.x[i] = wp.vec3()
    out[i] = p.inner.x[i]


@case
def structs_with_arrays():
    p = Particles()
    p.flag, p.inner.scale = 3, 0.25
    p.inner.x, p.mass = numbers(5, dtype=wp.vec3), numbers(5, 1)
    out = wp.zeros(5, dtype=wp.vec3)
    with wp.ScopedCapture() as capture:
        wp.launch(move_particles, dim=5, inputs=[p, out])
    return capture.graph, {"x": p.inner.x, "mass": p.mass}, {"out": out}


@wp.kernel
def through_elements(parts: wp.array(dtype=Inner), out: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(len(parts[i].x)):
        parts[i].x[k] = parts[i].x[k] * 2.0
        out[i] += parts[i].x[k][1]


@case
def structs_in_memory():
    """Elements that refer to arrays, two of them to one."""
    shared, other = numbers(3, dtype=wp.vec3), numbers(4, 1, dtype=wp.vec3)
    values = [Inner(), Inner(), Inner(), Inner()]
    values[0].x, values[1].x, values[2].x = shared, other, shared[1:]
    parts, out = wp.array(values, dtype=Inner), wp.zeros(4, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(through_elements, dim=4, inputs=[parts, out])
    return capture.graph, {"shared": shared}, {"out": out, "other": other}


@wp.kernel
def of_maybe(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=int)):
    out[wp.tid()] = len(x) + (10 if y else 0)


@case
def empty_and_absent_arrays():
    nothing, out, full = wp.zeros(0, dtype=float), wp.zeros(2, dtype=int), wp.zeros(2, dtype=int)
    with wp.ScopedCapture() as capture:
        wp.launch(of_maybe, dim=2, inputs=[nothing, None, out])
        wp.launch(of_maybe, dim=2, inputs=[nothing, numbers(3)[3:], full])
        wp.launch(axpy, dim=0, inputs=[nothing, nothing, 1.0])
        nothing.fill_(1.0)
    return capture.graph, {"nothing": nothing}, {"out": out, "full": full}


@wp.kernel
def histogram(x: wp.array(dtype=float), bins: wp.array(dtype=float), count: wp.array(dtype=int)):
    i = wp.tid()
    cell = int(x[i] * float(len(bins)))
    wp.atomic_add(bins, cell, wp.sin(x[i]))
    wp.atomic_add(count, 0, 1)


@wp.kernel
def springs(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    d = x[i + 1] - x[i]
    wp.atomic_add(f, i, d * wp.length(d))
    wp.atomic_sub(f, i + 1, d * wp.length(d))


@case
def scattered_sums():
    """Sums in private copies, at neighbours, and one by one."""
    n = 200_000
    x, bins, count = numbers(n), wp.zeros(100, dtype=float), wp.zeros(1, dtype=int)
    points, force = numbers(n, 1, wp.vec3), wp.zeros(n, dtype=wp.vec3)
    with wp.ScopedCapture() as capture:
        wp.launch(histogram, dim=n, inputs=[x, bins, count])
        wp.launch(springs, dim=n - 1, inputs=[points, force])
        wp.launch(histogram, dim=n, inputs=[x, bins, count], deterministic=True)
    return capture.graph, {"x": x, "points": points}, {"bins": bins, "count": count, "force": force}


@wp.kernel
def cell_size(out: wp.array(dtype=int)):
    i, j = wp.tid()
    out[i * 5 + j] = wp.block_dim()


@case
def blocks_and_dimensions():
    out = wp.zeros(35, dtype=int)
    with wp.ScopedCapture() as capture:
        wp.launch(cell_size, dim=(7, 5), inputs=[out], block_dim=32)
    return capture.graph, {}, {"out": out}


@case
def host_writes():
    """Fills, copies, conversions, parts."""
    x, n, v = numbers(8), wp.array(np.arange(8), dtype=int), numbers(4, 3, wp.vec3)
    wide, out = wp.zeros(8, dtype=wp.float64), wp.zeros(8, dtype=float)
    with wp.ScopedCapture() as capture:
        x[2:4].fill_(5.0)
        out.assign(x)
        out[:4] = x[4:]
        wide[:] = n
        v[1] = wp.vec3(1.0, 2.0, 3.0)
        v[2:].zero_()
        n.fill_(-3)
        out[5] = 9.5
    return capture.graph, {"x": x}, {"out": out, "wide": wide, "n": n, "v": v}


@wp.kernel
def halve(x: wp.array(dtype=float), going: wp.array(dtype=int)):
    x[0] = x[0] * 0.5
    going[0] = 1 if x[0] > 1.0 else 0


@case
def branches_and_loops():
    x, going, calls = wp.array([100.0], dtype=float), wp.ones(1, dtype=int), wp.zeros(2, dtype=int)
    with wp.ScopedCapture() as capture:
        going.fill_(1)
        x.fill_(100.0)
        wp.capture_while(going, lambda: wp.launch(halve, dim=1, inputs=[x, going]))
        wp.capture_if(going, on_true=lambda: calls.fill_(7), on_false=lambda: calls[1:].fill_(2))
        wp.capture_if(calls[1:], on_true=lambda: wp.capture_if(calls, on_false=lambda: x.fill_(-1.0)))
    return capture.graph, {"going": going}, {"x": x, "calls": calls}


@case
def recorded_launches():
    """A launch that is repeated with other arguments: each is in the graph as it was then."""
    x, y = numbers(6), numbers(6, 1)
    command = wp.launch(axpy, dim=6, inputs=[x, y, 1.0], record_cmd=True)
    with wp.ScopedCapture() as inner:
        command.launch()
    with wp.ScopedCapture() as capture:
        command.set_param_by_name("a", 3.0)
        command.launch()
        command.set_dim(2)
        command.launch()
        wp.capture_launch(inner.graph)
    return capture.graph, {"x": x}, {"y": y}


@wp.kernel
def waves(x: wp.array(dtype=float), seed: int, out: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    value = wp.sin(x[i]) * wp.exp(-x[i]) + wp.pow(x[i], 1.5) + wp.randf(state)
    out[i] = value + wp.noise(state, x[i] * 7.0) + wp.erf(x[i])


@case
def library_functions():
    """Calls of the C library, and vectors of it."""
    n = 10_000
    x, out = numbers(n), wp.zeros(n, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(waves, dim=n, inputs=[x, 42, out])
        wp.copy(x, out)
    return capture.graph, {"x": x}, {"out": out}


@case
def nothing_at_all():
    with wp.ScopedCapture() as capture:
        pass
    return capture.graph, {}, {}
