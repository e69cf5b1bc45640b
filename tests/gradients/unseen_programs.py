"""Random programs on a tape with writes that the tape does not see, of every kind and at random places.

`run(seed)` runs a program and its twin in NumPy, which carries derivatives by what the arrays held when the tape began.
To the twin a write that is not recorded is a constant: the derivatives of what it sets are zero. An element that no
recorded operation has used before only gets another first value: its gradient may be that of this value, or zero. A run
is "right" or "refused"; a gradient that differs is an assertion.
"""

import random
import threading

import numpy as np

import warpsim as wp
from warpsim.errors import GradientError, NotDifferentiableError, TapeError

try:
    import torch
except ImportError:
    torch = None

ARRAYS, N = 3, 6
D = wp.float64
Vector = wp.array(dtype=wp.float64)


@wp.kernel
def bend(x: Vector, y: Vector):
    i = wp.tid()
    y[i] = wp.sin(x[i]) + D(0.3) * x[i]


@wp.kernel
def mix(x: Vector, y: Vector):
    i = wp.tid()
    y[i] = D(0.5) * y[i] - D(1.2) * x[i]


@wp.kernel
def add_to(x: Vector, y: Vector):
    i = wp.tid()
    wp.atomic_add(y, i, D(0.7) * x[i])


@wp.kernel
def grow(x: Vector, y: Vector):
    i = wp.tid()
    y[i] = y[i] + D(0.1) * y[i] * y[i]


@wp.kernel
def weigh(x: Vector, weight: Vector, square: float, loss: Vector):
    i = wp.tid()
    wp.atomic_add(loss, 0, weight[i] * (x[i] + D(square) * x[i] * x[i]))


@wp.kernel
def settle(y: Vector, c: D, every: int):
    i = wp.tid()
    if i % every == 0:
        y[i] = c


@wp.kernel(enable_backward=False)
def settle_without_adjoint(y: Vector, c: D, every: int):
    i = wp.tid()
    if i % every == 0:
        y[i] = c


@wp.kernel
def shift(y: Vector, c: D, every: int):
    i = wp.tid()
    if i % every == 0:
        y[i] += c


@wp.struct
class Held:
    y: Vector


@wp.kernel
def settle_held(held: Held, c: D, every: int):
    i = wp.tid()
    if i % every == 0:
        held.y[i] = c


RECORDED = {"bend": bend, "mix": mix, "add_to": add_to, "grow": grow}


def elsewhere(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def numpy_set(memory, c, every):
    memory[::every] = c


def held_struct(y):
    held = Held()
    held.y = y
    return held


def launch(kernel, y, c, every, **options):
    wp.launch(kernel, len(y), inputs=[y, D(c), every], **options)


def command(y, c, every):
    wp.launch(settle, len(y), inputs=[y, D(c), every], record_tape=False, record_cmd=True).launch()


def graph(y, c, every):
    with wp.ScopedCapture() as capture:
        launch(settle, y, c, every, record_tape=False)
    wp.capture_launch(capture.graph)


def by_tensor(y, c, every):
    wp.to_torch(y, requires_grad=False)[::every] = c


def by_hand(y, c, every):
    """The adjoint of a kernel adds to an array in the place of a gradient."""
    source, ones = wp.zeros(len(y), dtype=D, requires_grad=True), wp.ones(len(y), dtype=D)
    y.numpy()[::1] = c  # so that what the adjoint adds to is known
    wp.launch(mix, len(y), [source], [wp.zeros(len(y), dtype=D)], adj_inputs=[y], adj_outputs=[ones], adjoint=True)


def announced(y, c, every):
    y.mark_write()
    numpy_set(y.numpy(), c, every)


def interrupted(y, c, every):
    """A loop with checkpoints that ends in an exception after it wrote."""

    def step(k):
        launch(settle, y, c, every)
        raise KeyError(k)

    try:
        wp.checkpoint(step, [y], 2)
    except KeyError:
        return


UNSEEN = {
    "numpy": lambda y, c, every: numpy_set(y.numpy(), c, every),
    "array protocol": lambda y, c, every: numpy_set(np.asarray(y), c, every),
    "dlpack": lambda y, c, every: numpy_set(np.from_dlpack(y), c, every),
    "record_tape": lambda y, c, every: launch(settle, y, c, every, record_tape=False),
    "interpreted": lambda y, c, every: launch(settle, y, c, every, record_tape=False, device="interp"),
    "deterministic": lambda y, c, every: launch(settle, y, c, every, record_tape=False, deterministic=True),
    "enable_backward": lambda y, c, every: launch(settle_without_adjoint, y, c, every),
    "struct": lambda y, c, every: wp.launch(settle_held, len(y), [held_struct(y), D(c), every], record_tape=False),
    "update": lambda y, c, every: launch(shift, y, c, every, record_tape=False),
    "command": command,
    "graph": graph,
    "announced": announced,
    "by hand": by_hand,
    "interrupted": interrupted,
    "thread": lambda y, c, every: elsewhere(lambda: launch(settle, y, c, every)),
    "fill of a thread": lambda y, c, every: elsewhere(lambda: y.fill_(c)),
    "tape of a thread": lambda y, c, every: elsewhere(lambda: taped(y, c, every)),
    "alias": lambda y, c, every: launch(settle, wp.array(y, copy=False), c, every),
    "fill of an alias": lambda y, c, every: wp.array(y, copy=False).fill_(c),
    "alias through numpy": lambda y, c, every: numpy_set(wp.array(y, copy=False).numpy(), c, every),
    "alias with gradient": lambda y, c, every: launch(settle, wp.array(y, copy=False, requires_grad=True), c, every),
    "unrecorded alias": lambda y, c, every: launch(settle, wp.array(y, copy=False), c, every, record_tape=False),
    "numpy argument": lambda y, c, every: launch(settle, y.numpy(), c, every),
}
if torch is not None:
    UNSEEN |= {"tensor": by_tensor, "tensor by dlpack": lambda y, c, every: torch.from_dlpack(y)[::every].fill_(c)}
WHOLE = {"fill of a thread", "fill of an alias", "by hand"}


def taped(y, c, every):
    with wp.Tape():
        launch(settle, y, c, every)


class Twin:
    """Values, derivatives, which elements recorded operations have met, and which got another first value."""

    def __init__(self, values):
        self.v = values.copy()
        self.j = np.eye(values.size).reshape(ARRAYS, N, values.size)
        self.used, self.first = np.zeros((ARRAYS, N), bool), np.zeros((ARRAYS, N), bool)

    def recorded(self, name, x, y, part):
        v, w, j, k = self.v[x][part], self.v[y][part], self.j[x][part], self.j[y][part]
        if name == "bend":
            v, j = np.sin(v) + 0.3 * v, (np.cos(v) + 0.3)[:, None] * j
        elif name == "mix":
            v, j = 0.5 * w - 1.2 * v, 0.5 * k - 1.2 * j
        elif name == "add_to":
            v, j = w + 0.7 * v, k + 0.7 * j
        elif name == "grow":
            v, j = w + 0.1 * w * w, (1.0 + 0.2 * w)[:, None] * k
        else:
            v, j = v.copy(), j.copy()
        self.v[y][part], self.j[y][part] = v, j
        self.used[x][part] = self.used[y][part] = True

    def constant(self, y, part, values, seen=False):
        self.v[y][part] = values
        places = np.arange(N)[part]
        met = places if seen else places[self.used[y][part]]
        self.first[y][np.setdiff1d(places, met)] = True
        self.j[y][met] = 0.0
        self.used[y][met] = True


class Program:
    """A program as it runs: operations of warpsim, and of the twin beside them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        values = np.random.default_rng(seed).uniform(-1.0, 1.0, (ARRAYS, N))
        self.arrays = [wp.array(row, dtype=D, requires_grad=True) for row in values]
        self.twin, self.kinds = Twin(values), []
        self.held = [a.numpy() for a in self.arrays if self.random.random() < 0.2]
        self.sets = self.random.random() < 0.5
        """Whether constants are set on the tape: then launches have written all arrays before."""

    def part(self):
        low = self.random.randrange(N - 1)
        return self.random.choice([slice(0, N), slice(low, self.random.randrange(low + 1, N + 1))])

    def operation(self):
        (x, y), part = self.random.sample(range(ARRAYS), 2), self.part()
        name = self.random.choice([*RECORDED, "copy", *(["fill"] if self.sets else [])])
        if name == "fill":
            self.arrays[y][part].fill_(0.25)
            self.twin.constant(y, part, 0.25, seen=True)
            return
        if name == "copy":
            wp.copy(self.arrays[y][part], self.arrays[x][part])
        else:
            source = y if name == "grow" else x
            wp.launch(RECORDED[name], part.stop - part.start, [self.arrays[x][part], self.arrays[y][part]])
            x = source
        self.twin.recorded(name, x, y, part)

    def unseen(self):
        name, y, part = self.random.choice(list(UNSEEN)), self.random.randrange(ARRAYS), self.part()
        every, c = self.random.choice([1, 1, 2, 3]), self.random.uniform(-1.0, 1.0)
        self.kinds.append(name)
        before = self.arrays[y]._data.copy()
        UNSEEN[name](self.arrays[y] if part.stop - part.start == N else self.arrays[y][part], c, every)
        written = part if name in WHOLE else slice(part.start, part.stop, every)
        assert (self.arrays[y]._data != before).sum() <= len(before[written])
        self.twin.constant(y, written, self.arrays[y]._data[written])

    def gradients(self):
        """Those of warpsim and of the twin, as far as they are compared."""
        weights, square = self.random.sample(range(1, 9), ARRAYS), self.random.choice([0.0, 0.5])
        loss = wp.zeros(1, dtype=D, requires_grad=True)
        with wp.Tape() as tape:
            for k in range(ARRAYS) if self.sets else ():
                wp.launch(grow, N, [self.arrays[k], self.arrays[k]])
                self.twin.recorded("grow", k, k, slice(0, N))
            for _ in range(self.random.randrange(2, 7)):
                self.unseen() if self.random.random() < 0.4 else self.operation()
            for a, weight in zip(self.arrays, weights, strict=True):
                wp.launch(weigh, N, [a, wp.full(N, float(weight), dtype=D), square, loss])
        slopes = np.array(weights)[:, None] * (1.0 + 2.0 * square * self.twin.v)
        tape.backward(loss)
        expected = np.einsum("ai,aik->k", slopes, self.twin.j).reshape(ARRAYS, N)
        found = np.array([a.grad.numpy() for a in self.arrays])
        return found, np.where(self.twin.first & (found == 0.0), 0.0, expected)


def run(seed):
    """ "right" or "refused", and the kinds of unseen writes in the program."""
    program = Program(seed)
    try:
        found, expected = program.gradients()
    except (TapeError, NotDifferentiableError, GradientError):
        return "refused", program.kinds
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}: {program.kinds}")
    return "right", program.kinds
