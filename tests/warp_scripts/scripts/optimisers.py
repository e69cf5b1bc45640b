"""Fit a curve and a small network with Adam and SGD; a training loop with tape.zero."""

import numpy as np

import warp as wp
import warp.optim

rng = np.random.default_rng(8)
HIDDEN = 16
DATA = 64


@wp.func
def activation(x: float):
    return x / (1.0 + wp.exp(-x))


@wp.kernel
def layer(
    x: wp.array2d(dtype=float),
    w: wp.array2d(dtype=float),
    b: wp.array(dtype=float),
    act: int,
    y: wp.array2d(dtype=float),
):
    i, j = wp.tid()
    s = b[j]
    for k in range(w.shape[0]):
        s += x[i, k] * w[k, j]
    if act != 0:
        s = activation(s)
    y[i, j] = s


@wp.kernel
def mse(y: wp.array2d(dtype=float), t: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i, j = wp.tid()
    d = y[i, j] - t[i, j]
    wp.atomic_add(loss, 0, d * d / float(y.shape[0] * y.shape[1]))


@wp.kernel
def polynomial(
    c: wp.array(dtype=wp.vec3), x: wp.array(dtype=float), t: wp.array(dtype=float), loss: wp.array(dtype=float)
):
    i = wp.tid()
    p = c[0][0] + c[0][1] * x[i] + c[0][2] * x[i] * x[i]
    loss[0] += (p - t[i]) * (p - t[i])


def network():
    x = np.linspace(-2, 2, DATA)[:, None]
    t = np.sin(2 * x)
    xd, td = wp.array(x, dtype=float, ndim=2), wp.array2d(t, dtype=float)
    params = []
    for shape in ((1, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)):
        init = rng.normal(size=shape) * (0.7 if len(shape) == 2 else 0.1)
        params.append(wp.array(init, dtype=float, requires_grad=True))
    h = wp.zeros((DATA, HIDDEN), dtype=float, requires_grad=True)
    y = wp.zeros((DATA, 1), dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    opt = wp.optim.Adam([p.flatten() for p in params], lr=0.02, betas=(0.9, 0.99))
    for it in range(121):
        loss.zero_()
        tape = wp.Tape()
        with tape:
            wp.launch(layer, dim=h.shape, inputs=[xd, params[0], params[1], 1], outputs=[h])
            wp.launch(layer, dim=y.shape, inputs=[h, params[2], params[3], 0], outputs=[y])
            wp.launch(mse, dim=y.shape, inputs=[y, td], outputs=[loss])
        tape.backward(loss)
        opt.step([p.grad.flatten() for p in params])
        if it % 30 == 0:
            print(it, "loss %.4f" % loss.numpy()[0], "weights %.4f" % np.linalg.norm(params[0].numpy()))
        tape.zero()


def curve(make):
    x = np.linspace(-1, 1, 20)
    t = 0.5 - 1.25 * x + 2.0 * x * x
    c = wp.array([wp.vec3(0.0, 0.0, 0.0)], dtype=wp.vec3, requires_grad=True)
    xd, td = wp.array(x, dtype=float), wp.array(t, dtype=float)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    opt = make([c])
    for _ in range(100):
        tape = wp.Tape()
        loss.zero_()
        with tape:
            wp.launch(polynomial, dim=20, inputs=[c, xd, td, loss])
        tape.backward(loss=loss)
        opt.step([c.grad])
        tape.zero()
    print(type(opt).__name__, c.numpy()[0], "loss %.5f" % loss.numpy()[0])


network()
curve(lambda p: warp.optim.Adam(p, lr=0.1))
curve(lambda p: warp.optim.SGD(p, lr=0.01))
curve(lambda p: wp.optim.SGD(p, lr=0.005, momentum=0.9, nesterov=True))
curve(lambda p: wp.optim.SGD(p, lr=0.01, momentum=0.5, dampening=0.1, weight_decay=0.01))
opt = wp.optim.Adam(lr=0.1)
w = wp.array([1.0, -2.0], dtype=wp.float32)
opt.set_params([w])
opt.step([wp.array([0.5, 1.0], dtype=wp.float32)])
print(w.numpy())
opt.reset_internal_state()
opt.step([wp.array([0.5, 1.0], dtype=wp.float32)])
print(w.numpy(), opt.lr)
