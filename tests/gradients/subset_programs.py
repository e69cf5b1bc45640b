"""Random programs in which some arrays have gradients and others have none, with their twins.

A program is a text of kernels and a list of steps: launches, and writes from the host. Every thread works on elements
of its own, two of each array, so that the order of threads does not matter; all add to one loss. Arrays are plain
ones, of numbers and of vectors, two in a struct, one behind an index table, and a view. Sometimes two names mean one
array.
"""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace

import numpy as np
import twin
from kernel_text import module

import warpsim as wp

THREADS = 3
COUNT = 2 * THREADS
PLAIN = ("x", "a", "b", "c")
ARRAYS = (*PLAIN, "s.p", "s.q", "w", "u", "v")
"""w: an indexedarray; u: a view; v: vectors."""
TABLE = (4, 1, 6, 0, 3, 5)  # where the elements of w lie in its memory of 8
SIZES = {name: {"w": 8, "u": 10, "v": 2 * COUNT}.get(name, COUNT) for name in ARRAYS}
PLACES = {name: {"w": list(TABLE), "u": list(range(3, 3 + COUNT))}.get(name, list(range(COUNT))) for name in ARRAYS}
FIRST = dict(zip(ARRAYS, itertools.accumulate((0, *SIZES.values())), strict=False))
TOTAL = sum(SIZES.values())
HEAD = """

@wp.kernel
def {name}(x: N, a: N, b: N, c: N, s: S, w: I, u: N, v: V, loss: N, n: int):
    t = wp.tid()
"""


@wp.struct
class S:
    p: wp.array(dtype=wp.float64)
    q: wp.array(dtype=wp.float64)


class Program:
    """A random program; `used` are the arrays that its kernels name, `one` the name that means `a` too, or none."""

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.used = sorted(self.random.sample(ARRAYS, self.random.randint(3, 4)), key=ARRAYS.index)
        self.locals = []
        self.steps, texts = [], []
        for k in range(self.random.choice((1, 1, 2, 3))):
            texts.append(self.kernel(f"step{k}"))
            self.steps.append(("launch", f"step{k}"))
            if self.random.random() < 0.3:
                self.steps.append(self.host_write())
        self.text = "".join((*texts, self.total()))
        self.steps.append(("launch", "total"))
        plain = [name for name in self.used if name in ("b", "c")]
        self.one = plain[0] if "a" in self.used and plain and self.random.random() < 0.2 else ""

    def __str__(self):
        return f"program {self.seed}, {self.one or 'no name'} means a\n{self.text}\n{self.steps}"

    def owners(self):
        """The arrays that can have gradients of their own."""
        return [name for name in self.used if name != self.one]

    def subsets(self):
        names = self.owners()
        return [frozenset(c) for r in range(1, len(names) + 1) for c in itertools.combinations(names, r)]

    # ----- text -----------------------------------------------------------------------------------

    def kernel(self, name):
        self.locals = []
        lines = [line for _ in range(self.random.randint(2, 5)) for line in self.statement(1)]
        return HEAD.format(name=name) + "".join(f"    {line}\n" for line in lines)

    def total(self):
        lines = ["r = F(0.0)"]
        for k, name in enumerate(self.used):
            for at in ("2 * t", "2 * t + 1"):
                parts = [f"{name}[{at}][0]", f"{name}[{at}][1]"] if name == "v" else [f"{name}[{at}]"]
                lines += [f"r += wp.sin({part} * F({0.3 + 0.2 * k:.1f}) + F(0.1))" for part in parts]
        lines.append("wp.atomic_add(loss, 0, r)")
        return HEAD.format(name="total") + "".join(f"    {line}\n" for line in lines)

    def host_write(self):
        name = self.random.choice([n for n in self.used if n not in ("w", "v")])
        if self.random.random() < 0.5:
            return "fill", name, round(self.random.uniform(0.2, 1.0), 3)
        other = self.random.choice([n for n in self.used if n not in ("w", "v")])
        return ("copy", name, other) if other != name else ("fill", name, 0.25)

    def statement(self, depth):
        kinds = ["local", "store", "store", "change", "change", "atomic", "atomic"]
        if depth < 3:
            kinds += ["if", "loop"]
        return getattr(self, f"{self.random.choice(kinds)}_lines")(depth)

    def local_lines(self, depth):
        line = f"n{len(self.locals)} = {self.expression(2)}"
        self.locals.append(f"n{len(self.locals)}")
        return [line]

    def store_lines(self, depth):
        if "v" in self.used and self.random.random() < 0.2:
            return [f"v[{self.place()}] = wp.vec2d({self.expression(1)}, {self.expression(1)})"]
        return [f"{self.element()} = {self.expression(2)}"]

    def change_lines(self, depth):
        return [f"{self.element()} {self.random.choice(('+=', '-=', '*='))} {self.expression(1)}"]

    def atomic_lines(self, depth):
        names = [name for name in self.used if name != "v"]
        kind = self.random.choice(("add", "add", "add", "sub", "sub", "min", "max", "exch"))
        call = f"wp.atomic_{kind}({self.random.choice(names)}, {self.place()}, {self.expression(2)})"
        if self.random.random() < 0.75:
            return [call]
        self.locals.append(f"n{len(self.locals)}")
        return [f"{self.locals[-1]} = {call}"]

    def if_lines(self, depth):
        known = len(self.locals)
        lines = [f"if {self.expression(1)} < {self.expression(1)}:", *self.block(depth)]
        del self.locals[known:]
        if self.random.random() < 0.5:
            lines += ["else:", *self.block(depth)]
            del self.locals[known:]
        return lines

    def loop_lines(self, depth):
        known = len(self.locals)
        lines = [f"for k{depth} in range({self.random.choice(('2', 'n', 'n'))}):", *self.block(depth)]
        del self.locals[known:]
        return lines

    def block(self, depth):
        return [f"    {x}" for _ in range(self.random.randint(1, 3)) for x in self.statement(depth + 1)]

    def place(self):
        return self.random.choice(("2 * t", "2 * t", "2 * t + 1"))

    def element(self):
        name = self.random.choice(self.used)
        return f"{name}[{self.place()}]" + (f"[{self.random.randint(0, 1)}]" if name == "v" else "")

    def expression(self, depth):
        pick = self.random.random()
        if depth == 0 or pick < 0.2:
            if self.locals and self.random.random() < 0.4:
                return self.random.choice(self.locals)
            return self.element() if self.random.random() < 0.8 else f"F({self.random.uniform(0.2, 1.5):.4f})"
        if pick < 0.45:
            return f"wp.{self.random.choice(('sin', 'cos'))}({self.expression(depth - 1)})"
        return f"({self.expression(depth - 1)} {self.random.choice('+-**')} {self.expression(depth - 1)})"


def start(seed):
    """What the arrays start from."""
    made = np.random.default_rng(seed)
    return {name: made.uniform(0.2, 1.2, n) for name, n in SIZES.items()}


# ----- the twin -----------------------------------------------------------------------------------


TWIN = {"wp": twin.LANGUAGE, "F": twin.float64, **dict.fromkeys("NSIV")}


def by_twin(program, numbers, varies):
    """The loss and its derivatives by what the arrays held at first, in one row: zero for arrays that do not vary."""
    twin.Thread.doubt = False
    found = module(program.text, TWIN)
    memory = {name: twin.memory_of(numbers[name], name in varies) for name in ARRAYS}
    memory["v"] = twin.memory_of(numbers["v"].reshape(-1, 2), "v" in varies, 2)
    first, loss = dict(memory), twin.memory_of(np.zeros(1), True)
    if program.one:
        memory[program.one] = memory["a"]
    views = {name: twin.View(memory[name].memory, np.array(PLACES[name][:COUNT])) for name in ARRAYS}
    pack = SimpleNamespace(p=views["s.p"], q=views["s.q"])
    args = [*(views[name] for name in PLAIN), pack, *(views[name] for name in "wuv"), loss, 3]
    for kind, name, *more in program.steps:
        if kind == "launch":
            twin.launch(found[name], THREADS, args)
            continue
        for i in range(COUNT):
            views[name][i] = more[0] if kind == "fill" else views[more[0]][i]
    twin.backward(loss[0])
    slopes = [twin.cotangents(first[name]) for name in ARRAYS]
    row = [np.zeros(SIZES[name]) if g is None else g.reshape(-1) for name, g in zip(ARRAYS, slopes, strict=True)]
    return loss[0].value, np.concatenate(row)


# ----- the tape -----------------------------------------------------------------------------------


class Run:
    """A program on arrays of which some have gradients."""

    def __init__(self, program, kernels, numbers, with_gradient):
        self.program, self.kernels, self.arrays, D = program, kernels, {}, wp.float64
        for name in ARRAYS:
            data, has = numbers[name], name in with_gradient
            if name == "v":
                self.arrays[name] = wp.array(data.reshape(-1, 2), dtype=wp.vec2d, requires_grad=has)
            else:
                self.arrays[name] = wp.array(data, dtype=D, requires_grad=has)
        if program.one:
            self.arrays[program.one] = self.arrays["a"]
        s = S()
        s.p, s.q = self.arrays["s.p"], self.arrays["s.q"]
        w = wp.indexedarray(self.arrays["w"], [wp.array(list(TABLE), dtype=int)])
        self.views = {**self.arrays, "w": w, "u": self.arrays["u"][3 : 3 + COUNT]}
        self.loss = wp.zeros(1, dtype=D, requires_grad=True)
        self.args = [*(self.views[name] for name in PLAIN), s, w, self.views["u"], self.views["v"], self.loss, 3]
        self.tape = wp.Tape()
        with self.tape:
            for kind, name, *more in program.steps:
                if kind == "launch":
                    wp.launch(kernels[name], THREADS, inputs=self.args)
                elif kind == "fill":
                    self.views[name].fill_(more[0])
                else:
                    wp.copy(self.views[name], self.views[more[0]])

    def gradient(self):
        """The gradients of what the arrays held before the program, in one row; NaN where there is none."""
        self.tape.backward(self.loss)
        return self.row({name: a.grad for name, a in self.arrays.items() if a.grad is not None})

    def row(self, slopes):
        found = np.full(TOTAL, np.nan)
        for name, g in slopes.items():
            if name != self.program.one:
                numbers = g.numpy().reshape(-1)
                at = FIRST[name] + (0 if len(numbers) == SIZES[name] else PLACES[name][0])  # all of it, or the view
                found[at : at + len(numbers)] = numbers
        return found

    def recorded(self, name):
        """The array that the tape knows: of u the view."""
        return self.views[name] if name == "u" else self.arrays[name]


def compiled(program):
    """The kernels of a program."""
    arrays = {"N": wp.array(dtype=wp.float64), "V": wp.array(dtype=wp.vec2d), "I": wp.indexedarray(dtype=wp.float64)}
    found = module(program.text, {"wp": wp, "F": wp.float64, "S": S, **arrays})
    return {k: f for k, f in found.items() if isinstance(f, wp.Kernel)}
