"""Loops for tests of `checkpoint`: each runs on a full tape or checkpointed, from the same start."""

import numpy as np

import warpsim as wp

SCHEDULES = ["sqrt", "binomial"]


@wp.kernel
def swing(x: wp.array(dtype=float), v: wp.array(dtype=float), stiffness: wp.array(dtype=float), dt: float):
    i = wp.tid()
    v[i] = v[i] - dt * stiffness[i] * wp.sin(x[i])
    x[i] = x[i] + dt * v[i] * (1.0 + 0.5 * v[i])


@wp.kernel
def square_sum(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def curve(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * x[i]


@wp.kernel
def nudge(y: wp.array(dtype=float), x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 0.1 * wp.cos(y[i])


def floats(count, seed=0, **options):
    return wp.array(np.random.default_rng(seed).random(count), dtype=float, **{"requires_grad": True, **options})


def loss_array():
    return wp.zeros(1, dtype=float, requires_grad=True)


class Pendulums:
    """Pendulums whose kernel overwrites what it reads, with a loss in every step."""

    def __init__(self, count=5):
        self.count = count
        self.x, self.v, self.stiffness = (floats(count, seed) for seed in range(3))
        self.loss = loss_array()

    def step(self, k):
        wp.launch(swing, self.count, inputs=[self.x, self.v, self.stiffness, 0.05 + 0.001 * (k % 7)])
        wp.launch(square_sum, self.count, inputs=[self.x, self.loss])

    def run(self, steps, schedule=None, **options):
        """Run the loop, on a full tape or with a schedule; returns the report."""
        if schedule is None:
            for k in range(steps):
                self.step(k)
            return None
        declared = {"parameters": [self.stiffness], "outputs": [self.loss]}
        return wp.checkpoint(self.step, [self.x, self.v], steps, schedule=schedule, **declared, **options)

    def contents(self):
        return [a.numpy().copy() for a in (self.x, self.v, self.stiffness, self.loss)]

    def gradients(self):
        return [a.grad.numpy().copy() for a in (self.x, self.v, self.stiffness, self.loss)]


def equal(first, second):
    """Whether two lists of arrays have the same bits."""
    return len(first) == len(second) and all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
