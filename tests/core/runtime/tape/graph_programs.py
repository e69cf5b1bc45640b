"""Random programs of captures, tapes and launches of graphs, with a twin in float64 that knows no graphs and no tapes.

A program is a list of items: `("op", name, arrays, number)`, `("tape", key, items)`, `("capture", key, items)`,
`("launch", key)`, `("backward", key)` and `("checkpoint", key, count)`. `run` does it with graphs, or in the place of
each launch what was captured; `Twin` computes values and Jacobians.
"""

import random

import numpy as np

import warpsim as wp
from warpsim.errors import GradientError, TapeError

SIZE, ARRAYS = 3, 4


@wp.struct
class Pair:
    first: wp.array(dtype=float)
    second: wp.array(dtype=float)


@wp.kernel
def bend(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) + 0.3 * x[i]


@wp.kernel
def multiply(p: Pair, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * p.first[i] * p.second[i]


@wp.kernel
def average(x: wp.array(dtype=float), y: wp.array(dtype=float), share: float):
    i = wp.tid()
    y[i] = share * x[i] + 0.5 * y[i]


@wp.kernel
def push(count: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    slot = wp.atomic_add(count, 0, 1)  # a tape notes it
    z[slot] = 0.5 * y[slot] * x[slot]


def op_bend(a, x, y, z, c):
    wp.launch(bend, SIZE, inputs=[a[x], a[y]])


def op_unseen(a, x, y, z, c):
    wp.launch(bend, SIZE, inputs=[a[x], a[y]], record_tape=False)


def op_multiply(a, x, y, z, c):
    pair = Pair(first=a[x], second=a[z])
    wp.launch(multiply, SIZE, inputs=[pair, a[y]])
    pair.first = pair.second = a[y]


def op_command(a, x, y, z, c):
    command = wp.launch(average, SIZE, inputs=[a[x], a[y], 0.0], record_cmd=True)
    command.set_param_by_name("share", c)
    command.launch()


def op_push(a, x, y, z, c):
    wp.launch(push, SIZE, inputs=[wp.zeros(1, dtype=int), a[x], a[y], a[z]])


def op_copy(a, x, y, z, c):
    wp.copy(a[y], a[x])


def op_part(a, x, y, z, c):
    wp.copy(a[y], a[x], dest_offset=1, src_offset=0, count=2)


def op_clone(a, x, y, z, c):
    wp.copy(a[y], wp.clone(a[x], requires_grad=True))


def op_made(a, x, y, z, c):
    a[y].assign(wp.array(a[x], requires_grad=True))


def op_fill(a, x, y, z, c):
    a[y].fill_(c)


def op_zero(a, x, y, z, c):
    a[y].zero_()


def op_item(a, x, y, z, c):
    a[y][1:] = c


def op_slice(a, x, y, z, c):
    a[y][:2] = a[x][1:]


def op_picked(a, x, y, z, c):
    a[y][[2, 0]].assign(a[x][[1, 1]])


def op_scan(a, x, y, z, c):
    wp.utils.array_scan(a[x], a[y])
    wp.launch(average, SIZE, inputs=[a[x], a[y], c])



class Jacobian:
    """Derivatives of the arrays by what they held when a tape began, and by the constants that set them first of all.

    The latter count for arrays that nothing but constants is written to: parameters that are set on the tape.
    """

    def __init__(self):
        self.held = np.eye(ARRAYS * SIZE).reshape(ARRAYS, SIZE, -1)
        self.set = np.zeros_like(self.held)
        self.used, self.read, self.written = set(), set(), set()  # the arrays that recorded operations use so
        self.given, self.refused = set(), set()  # set first of all, and again after it was read

    def put(self, y, to, held, made):
        """Elements of an array get other derivatives."""
        self.held[y][to], self.set[y][to] = held, made

    def constant(self, y, to):
        """Elements of an array get a constant."""
        first = y not in self.read
        self.put(y, to, 0.0, np.eye(ARRAYS * SIZE).reshape(ARRAYS, SIZE, -1)[y][to] if first else 0.0)
        (self.given if first else self.refused if y in self.given else set()).add(y)

    def of_arrays(self):
        """The derivatives by the arrays. Raises `GradientError` where one was set twice."""
        if self.refused - self.written:
            raise GradientError("set twice")
        parameters = np.repeat([y not in self.written for y in range(ARRAYS)], SIZE)
        return self.held + self.set * parameters


class Twin:
    """Values, and for each open tape (the first is none) their derivatives."""

    def __init__(self, values):
        self.v = values.astype(np.float64)
        self.open = [Jacobian()]

    def op(self, name, x, y, z, c):
        old = self.v
        self.v = old.copy()
        to, weights = self.change(name, x, y, z, c, old)
        for known in self.open:
            self.record(known, name, to, weights)

    def change(self, name, x, y, z, c, old):
        """Change the values; returns what was written, and the derivatives: by array, a matrix for its elements."""
        v, one = self.v, np.eye(SIZE)
        if name in ("bend", "unseen"):
            v[y] = np.sin(old[x]) + 0.3 * old[x]
            return (y, slice(None)), {x: np.diag(np.cos(old[x]) + 0.3)}
        if name == "multiply":
            v[y] = 0.5 * old[x] * old[z]
            return (y, slice(None)), {z: np.diag(0.5 * old[x]), x: np.diag(0.5 * old[z])}
        if name == "push":
            v[z] = 0.5 * old[y] * old[x]
            return (z, slice(None)), {x: np.diag(0.5 * old[y]), y: np.diag(0.5 * old[x])}
        if name == "command":
            v[y] = c * old[x] + 0.5 * old[y]
            return (y, slice(None)), {x: c * one, y: 0.5 * one}
        if name == "scan":
            v[y] = c * old[x] + 0.5 * np.cumsum(old[x])
            return (y, slice(None)), {x: c * one + 0.5 * np.tri(SIZE)}
        target = {"part": slice(1, 3), "slice": slice(0, 2), "picked": [2, 0], "item": slice(1, 3)}
        to = target.get(name, slice(None))
        if name in ("fill", "zero", "item"):
            v[y][to] = 0.0 if name == "zero" else c
            return (y, to), {}
        source = {"part": slice(0, 2), "slice": slice(1, 3), "picked": [1, 1]}.get(name, slice(None))
        v[y][to] = old[x][source]
        return (y, to), {x: one[source]}

    def record(self, known, name, written, weights):
        y, to = written
        if name == "unseen":
            if y in known.used:
                known.put(y, to, 0.0, 0.0)
                known.written.add(y)
            return
        if weights:
            held, made = (sum(w @ j[x] for x, w in weights.items()) for j in (known.held, known.set))
            known.put(y, to, held, made)
            known.read |= {*weights}
            known.written.add(y)
        else:
            known.constant(y, to)
        known.used |= {y, *weights}


OPS = {name[3:]: f for name, f in globals().items() if name.startswith("op_")}
PLAIN = ("bend", "multiply", "command", "copy", "fill", "zero", "item", "slice", "picked", "part")  # nothing is made


class Generator:
    """Makes programs that are in order: graphs exist before they are launched, tapes are over before backward."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.graphs = {}  # whether it holds a tape, or the backward of one
        self.plain = set()  # graphs that steps of loops may launch: they write to the arrays alone
        self.ready = set()  # tapes that may be reversed now
        self.inner = {}  # the tapes in a graph
        self.count = 0

    def program(self):
        items = []
        for _ in range(self.random.randint(3, 7)):
            items += self.items(False)
        if self.ready:
            items.append(("backward", self.random.choice(sorted(self.ready))))
        return items

    def op(self, names=tuple(OPS)):
        x, y, z = self.random.sample(range(ARRAYS), 3)
        return ("op", self.random.choice(names), (x, y, z), round(self.random.uniform(-1.0, 1.0), 2))

    def key(self):
        self.count += 1
        return self.count

    def items(self, taped):
        """A few items where no graph is captured."""
        kind = self.random.choice(["op", "op", "capture", "launch", "launch", "tape", "backward", "checkpoint"])
        if kind == "capture":
            return [self.capture()]
        if kind == "launch" and self.graphs:
            return self.launch()
        if kind == "tape":
            key = self.key()
            inside = [item for _ in range(self.random.randint(1, 4)) for item in self.items(True)]
            self.ready.add(key)
            after = [("backward", key)] if self.random.random() < 0.5 else []
            return [("tape", key, inside), *after]
        if kind == "backward" and self.ready and not taped:
            return [("backward", self.random.choice(sorted(self.ready)))]
        if kind == "checkpoint" and self.plain:
            return [("checkpoint", self.random.choice(sorted(self.plain)), self.random.randint(1, 3))]
        return [self.op()]

    def launch(self):
        key = self.random.choice(sorted(self.graphs))
        self.ready |= self.inner[key]
        return [("launch", key)] * self.random.randint(1, 2)

    def capture(self):
        key, inside, tapes = self.key(), [], set()
        plain = self.random.random() < 0.4
        for _ in range(self.random.randint(1, 5)):
            kind = "op" if plain else self.random.choice(["op", "op", "launch", "tape", "backward"])
            if kind == "launch" and self.graphs:
                other = self.random.choice(sorted(self.graphs))
                inside.append(("launch", other))
                tapes |= self.inner[other]
                self.ready -= self.inner[other]  # they hold nothing until the new graph has run
            elif kind == "tape":
                tape = self.key()
                inside.append(("tape", tape, [self.op() for _ in range(self.random.randint(1, 3))]))
                tapes.add(tape)
                if self.random.random() < 0.7:
                    inside.append(("backward", tape))
            elif kind == "backward" and self.ready | tapes:
                inside.append(("backward", self.random.choice(sorted(self.ready | tapes))))
            else:
                inside.append(self.op(PLAIN if plain else tuple(OPS)))
        self.graphs[key], self.inner[key] = inside, tapes
        if plain and any(item[0] == "op" for item in inside):
            self.plain.add(key)
        return ("capture", key, inside)


class Run:
    """Runs a program: with graphs, or without, where what was captured runs in the place of each launch."""

    def __init__(self, values, seed, graphs):
        self.arrays = [wp.array(row, dtype=float, requires_grad=True) for row in values]
        rows = np.random.default_rng(seed).uniform(-1.0, 1.0, (ARRAYS, SIZE))
        self.seeds = [wp.array(row, dtype=float) for row in rows]
        self.graphs, self.captured, self.tapes = graphs, {}, {}
        self.results = [wp.zeros(SIZE, dtype=float) for _ in range(ARRAYS)]
        self.launched, self.capturing = set(), None

    def items(self, items):
        for item in items:
            getattr(self, item[0])(*item[1:])

    def op(self, name, places, number):
        OPS[name](self.arrays, *places, number)

    def tape(self, key, items):
        with wp.Tape() as tape:
            self.items(items)
        self.tapes[key] = tape

    def capture(self, key, items):
        if not self.graphs:
            self.captured[key] = items
            return
        self.capturing = key
        with wp.ScopedCapture() as capture:
            self.items(items)
        self.captured[key], self.capturing = capture.graph, None

    def launch(self, key):
        self.launched.add(key)
        if self.graphs:
            wp.capture_launch(self.captured[key])
        else:
            self.items(self.captured[key])

    def backward(self, key):
        tape = self.tapes[key]
        if not tape.records:
            return
        tape.backward(grads=dict(zip(self.arrays, self.seeds, strict=True)))
        for result, a in zip(self.results, self.arrays, strict=True):
            wp.copy(result, a.grad)

    def checkpoint(self, key, count):
        wp.checkpoint(lambda k: self.launch(key), self.arrays, count)

    def outcome(self, items):
        """Values and gradients, or the message of the error that ended the program."""
        try:
            self.items(items)
        except (GradientError, TapeError) as error:
            return type(error).__name__, str(error)
        return [a.numpy().copy() for a in self.arrays], [a.numpy().copy() for a in self.results]


class TwinRun:
    """What the program comes down to."""

    def __init__(self, values, seed):
        self.twin = Twin(values)
        self.seeds = np.random.default_rng(seed).uniform(-1.0, 1.0, (ARRAYS, SIZE))
        self.captured, self.tapes = {}, {}
        self.results = np.zeros((ARRAYS, SIZE))

    def items(self, items):
        for item in items:
            getattr(self, item[0])(*item[1:])

    def op(self, name, places, number):
        self.twin.op(name, *places, number)

    def tape(self, key, items):
        self.twin.open.append(Jacobian())
        self.items(items)
        self.tapes[key] = self.twin.open.pop(), writes_something(items, self.captured)

    def capture(self, key, items):
        self.captured[key] = items

    def launch(self, key):
        self.items(self.captured[key])

    def checkpoint(self, key, count):
        for _ in range(count):
            self.launch(key)
        for known in self.twin.open:  # all arrays are in the state
            known.used.update(range(ARRAYS))
            known.written.update(range(ARRAYS))

    def backward(self, key):
        jacobian, recorded = self.tapes[key]
        if recorded:
            self.results = np.einsum("ai,aik->k", self.seeds, jacobian.of_arrays()).reshape(ARRAYS, SIZE)

    def outcome(self, items):
        """Values and gradients, or the name of the error that ends the program."""
        try:
            self.items(items)
        except GradientError as error:
            return type(error).__name__, ""
        return self.twin.v, self.results


def writes_something(items, captured):
    """Whether a tape records any of the items."""
    for item in items:
        if item[0] == "op" and item[1] != "unseen":
            return True
        if item[0] == "tape" and writes_something(item[2], captured):
            return True
        if item[0] in ("launch", "checkpoint") and writes_something(captured[item[1]], captured):
            return True
    return False


def check(seed):
    """Run one program in all ways. Returns whether it ended in an error (the same with graphs and without)."""
    items = Generator(seed).program()
    values = np.random.default_rng(seed).uniform(-1.0, 1.0, (ARRAYS, SIZE))
    graphs, plain = Run(values, seed, True), Run(values, seed, False)
    with_graphs, without = graphs.outcome(items), plain.outcome(items)
    if isinstance(with_graphs[0], str) or isinstance(without[0], str):
        if graphs.capturing is not None and graphs.capturing not in plain.launched:
            return True  # refused in a capture, of which the other run saw nothing
        if with_graphs[0] == "TapeOverwriteError" and without[0] not in ("TapeError", "TapeOverwriteError"):
            return True  # launches of a graph whose tape is over are no tape's; those in its place are another's
        assert with_graphs[0] == without[0], (with_graphs, without)
        assert without[0] != "GradientError" or TwinRun(values, seed).outcome(items)[0] == without[0], without
        return True
    expected = TwinRun(values, seed).outcome(items)
    for found in (without, with_graphs):
        np.testing.assert_allclose(found[0], expected[0], rtol=2e-3, atol=2e-4)
        np.testing.assert_allclose(found[1], expected[1], rtol=2e-3, atol=2e-4)
    return False
