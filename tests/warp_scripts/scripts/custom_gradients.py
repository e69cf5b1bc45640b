"""Custom gradients, replays, gradient checks and Jacobians."""

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
def clipped(x: wp.vec3, limit: float):
    return wp.vec3(wp.clamp(x[0], -limit, limit), wp.clamp(x[1], -limit, limit), wp.clamp(x[2], -limit, limit))


@wp.func_grad(clipped)
def adj_clipped(x: wp.vec3, limit: float, adj_ret: wp.vec3):
    # straight through
    wp.adjoint[x] += adj_ret


@wp.func
def reversible(a: wp.array(dtype=float), index: wp.array(dtype=int), i: int):
    next = wp.atomic_add(index, 0, 1)
    a[next] = float(i)
    return next


@wp.func
def counter(counts: wp.array(dtype=int), slots: wp.array(dtype=int), tid: int):
    slot = wp.atomic_add(counts, 0, 1)
    slots[tid] = slot
    return slot


@wp.func_replay(counter)
def replay_counter(counts: wp.array(dtype=int), slots: wp.array(dtype=int), tid: int):
    return slots[tid]


@wp.kernel
def roots(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = safe_sqrt(x[i])


@wp.kernel
def clip(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, 0, wp.dot(clipped(x[i], 0.5), wp.vec3(1.0, 2.0, 3.0)))


@wp.kernel
def compact(
    x: wp.array(dtype=float), counts: wp.array(dtype=int), slots: wp.array(dtype=int), out: wp.array(dtype=float)
):
    tid = wp.tid()
    slot = counter(counts, slots, tid)
    out[slot] = x[tid] * x[tid]


@wp.kernel
def rosenbrock(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    a = wp.float64(1.0) - x[i]
    b = x[i + 1] - x[i] * x[i]
    wp.atomic_add(out, 0, a * a + wp.float64(100.0) * b * b)


@wp.kernel
def branchy(x: wp.array(dtype=float), scale: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    p = x[i]
    for k in range(1, 7):
        if k % 2 == 0:
            s += wp.sin(p * float(k))
        elif k != 3:
            s -= wp.pow(p, 2.0) / float(k + scale)
    out[i] = wp.where(s > 0.0, s, wp.exp(s))


x = wp.array([4.0, 0.0, 9.0, 0.25], dtype=float, requires_grad=True)
y = wp.zeros(4, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(roots, dim=4, inputs=[x], outputs=[y])
y.grad = wp.ones_like(y)
tape.backward()
print("roots", y.numpy(), x.grad.numpy())
tape.zero()
print("zeroed", x.grad.numpy(), y.grad.numpy())
tape.backward(grads={y: wp.array([1.0, 1.0, 2.0, 0.0], dtype=float)})
print("seeded", x.grad.numpy())
tape.reset()

v = wp.array([[0.1, 2.0, -3.0], [-0.4, -0.6, 0.2]], dtype=wp.vec3, requires_grad=True)
loss = wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(clip, dim=2, inputs=[v, loss])
tape.backward(loss)
print("clip", loss.numpy(), v.grad.numpy().tolist())

xs = wp.array(np.linspace(1, 3, 5), dtype=float, requires_grad=True)
counts, slots = wp.zeros(1, dtype=int), wp.zeros(5, dtype=int)
out = wp.zeros(5, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(compact, dim=5, inputs=[xs, counts, slots, out])
tape.backward(grads={out: wp.full(5, 1.0, dtype=float)})
print("compact", sorted(out.numpy().tolist()), xs.grad.numpy(), counts.numpy())

n = 6
z = np.linspace(-1.2, 1.1, n)
zx = wp.array(z, dtype=wp.float64, requires_grad=True)
f = wp.zeros(1, dtype=wp.float64, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(rosenbrock, dim=n - 1, inputs=[zx, f])
tape.backward(loss=f)
exact = np.zeros(n)
exact[:-1] += -2 * (1 - z[:-1]) - 400 * z[:-1] * (z[1:] - z[:-1] ** 2)
exact[1:] += 200 * (z[1:] - z[:-1] ** 2)
print("rosenbrock", f.numpy()[0], np.allclose(zx.grad.numpy(), exact), zx.grad.numpy()[2])

p = wp.array([0.3, -0.7, 1.9], dtype=float, requires_grad=True)
o = wp.zeros(3, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(branchy, dim=3, inputs=[p, 7], outputs=[o])
o.grad.fill_(1.0)
tape.backward()
print("branchy", o.numpy(), p.grad.numpy())
from warp.autograd import gradcheck, jacobian  # noqa: E402

print(
    "gradcheck",
    gradcheck(branchy, dim=3, inputs=[p, 7], outputs=[o], show_summary=False, eps=1e-3, atol=1e-1, rtol=1e-1),
)
jac = jacobian(branchy, dim=3, inputs=[p, 7], outputs=[o])
print(list(jac.keys()), jac[(0, 0)].numpy())
wp.launch(
    branchy,
    dim=3,
    inputs=[p, 7],
    outputs=[o],
    adj_inputs=[wp.zeros_like(p), 0],
    adj_outputs=[wp.ones_like(o)],
    adjoint=True,
)
