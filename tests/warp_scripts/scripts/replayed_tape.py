"""Gradient descent that records its tape once and plays it again after each update of the parameters."""

import numpy as np

import warp as wp


@wp.kernel
def residuals(
    c: wp.array(dtype=float), x: wp.array(dtype=float), t: wp.array(dtype=float), loss: wp.array(dtype=float)
):
    i = wp.tid()
    r = c[0] + c[1] * x[i] + c[2] * x[i] * x[i] - t[i]
    wp.atomic_add(loss, 0, r * r)


@wp.kernel
def descend(c: wp.array(dtype=float), g: wp.array(dtype=float), rate: float):
    i = wp.tid()
    c[i] = c[i] - rate * g[i]


def problem(n: int = 24):
    x = np.linspace(-1.0, 1.0, n)
    t = 0.5 - 1.25 * x + 2.0 * x * x
    return wp.array(x, dtype=float), wp.array(t, dtype=float)


class Fit:
    def __init__(self):
        self.x, self.t = problem()
        self.c = wp.zeros(3, dtype=float, requires_grad=True)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)

    def forward(self):
        wp.launch(residuals, dim=len(self.x), inputs=[self.c, self.x, self.t], outputs=[self.loss])


# a tape for each step
fit = Fit()
for i in range(60):
    fit.loss.zero_()
    with wp.Tape() as tape:
        fit.forward()
    tape.backward(fit.loss)
    wp.launch(descend, dim=3, inputs=[fit.c, fit.c.grad, 0.02])
    tape.zero()
print("anew", fit.c.numpy(), "loss %.4f" % fit.loss.numpy()[0])

# one tape for all steps
fit = Fit()
tape = wp.Tape()
with tape:
    fit.forward()
for i in range(60):
    fit.loss.zero_()
    fit.forward()
    tape.backward(fit.loss)
    wp.launch(descend, dim=3, inputs=[fit.c, fit.c.grad, 0.02])
    tape.zero()
print("once", fit.c.numpy(), "loss %.4f" % fit.loss.numpy()[0])
