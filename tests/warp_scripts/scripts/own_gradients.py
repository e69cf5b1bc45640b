"""Gradients and replays by hand, native snippets with adjoints, derivatives inside kernels."""

import numpy as np
import warp as wp


@wp.func
def safe_sqrt(x: float):
    return wp.sqrt(x)


@wp.func_grad(safe_sqrt)
def adj_safe_sqrt(x: float, adj_ret: float):
    if x > 0.0:
        wp.adjoint[x] += 1.0 / (2.0 * wp.sqrt(x)) * adj_ret


@wp.func
def two(x: float, y: wp.vec3):
    return x * y[0], y * x


@wp.func_grad(two)
def adj_two(x: float, y: wp.vec3, a: float, b: wp.vec3):
    wp.adjoint[x] += 10.0 * a
    wp.adjoint[y] += 100.0 * b


@wp.func
def reversible_increment(counter: wp.array(dtype=int), index: int, thread: wp.array(dtype=int), tid: int):
    v = wp.atomic_add(counter, index, 1)
    thread[tid] = v
    return v


@wp.func_replay(reversible_increment)
def replay_inc(counter: wp.array(dtype=int), index: int, thread: wp.array(dtype=int), tid: int):
    return thread[tid]


snippet = "out[tid] = 3.0f * x[tid] * x[tid];"
adj = "adj_x[tid] += 6.0f * x[tid] * adj_out[tid];"


@wp.func_native(snippet, adj)
def cube(x: wp.array(dtype=float), out: wp.array(dtype=float), tid: int): ...
@wp.func_native("return a * 2.0f + b;")
def native_lin(a: float, b: float) -> float: ...


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3), out: wp.array(dtype=float), ov: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a, b = two(x[i], y[i])
    out[i] = safe_sqrt(x[i]) + a
    ov[i] = b


@wp.kernel
def k2(x: wp.array(dtype=float), c: wp.array(dtype=int), t: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    j = reversible_increment(c, 0, t, i)
    out[j] = x[i] * x[i]


@wp.kernel
def k3(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    cube(x, out, wp.tid())


@wp.kernel
def k4(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = native_lin(x[i], 5.0)


x = wp.array([0.0, 4.0, 9.0], dtype=float, requires_grad=True)
y = wp.array(np.ones((3, 3)), dtype=wp.vec3, requires_grad=True)
out = wp.zeros(3, dtype=float, requires_grad=True)
ov = wp.zeros(3, dtype=wp.vec3, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(k, dim=3, inputs=[x, y], outputs=[out, ov])
tape.backward(grads={out: wp.ones(3, dtype=float), ov: wp.ones(3, dtype=wp.vec3)})
print(out.numpy(), x.grad.numpy(), y.grad.numpy())
tape.zero()
c = wp.zeros(1, dtype=int)
t = wp.zeros(3, dtype=int)
tape = wp.Tape()
o2 = wp.zeros(3, dtype=float, requires_grad=True)
with tape:
    wp.launch(k2, dim=3, inputs=[x, c, t], outputs=[o2])
tape.backward(grads={o2: wp.ones(3, dtype=float)})
print(np.sort(o2.numpy()), x.grad.numpy())
tape.zero()
tape = wp.Tape()
with tape:
    wp.launch(k3, dim=3, inputs=[x], outputs=[o2])
tape.backward(grads={o2: wp.ones(3, dtype=float)})
print(o2.numpy(), x.grad.numpy())
wp.launch(k4, dim=3, inputs=[x], outputs=[o2])
print(o2.numpy())


@wp.kernel
def gk(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.grad(wp.sin)(x[i]) + wp.grad(safe_sqrt)(x[i])


wp.launch(gk, dim=3, inputs=[x], outputs=[o2])
print(o2.numpy())
