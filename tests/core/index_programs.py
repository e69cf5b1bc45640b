"""Random kernels with random indices, and what they compute by plain Python: negative indices count from the end.

A program is text that is both a kernel and a Python function. The twin runs it on arrays that check every index,
so it tells which access is the first one outside, if any.
"""

import itertools
import linecache
import math
import random
from dataclasses import dataclass, field

import numpy as np

import warpsim as wp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_numbers = itertools.count()


class OutsideError(Exception):
    """The twin's word for an index outside: array, axis, index."""


@dataclass
class TwinArray:
    """A checked array of Python numbers."""

    name: str
    data: np.ndarray

    @property
    def shape(self):
        return self.data.shape

    def at(self, key):
        key = key if isinstance(key, tuple) else (key,)
        for axis, (i, n) in enumerate(zip(key, self.shape, strict=False)):
            if not -n <= int(i) < n:
                raise OutsideError(self.name, axis, int(i), n)
        return tuple(int(i) for i in key)

    def __getitem__(self, key):
        found = self.data[self.at(key)]
        return TwinArray(self.name, found) if isinstance(found, np.ndarray) else found.item()

    def __setitem__(self, key, value):
        self.data[self.at(key)] = value


class Twin:
    """What a program finds under the name `wp` when Python runs it."""

    int32, int64, sin = int, int, staticmethod(math.sin)
    min, max = staticmethod(min), staticmethod(max)

    def __init__(self, thread):
        self.thread = thread

    def tid(self):
        return self.thread if len(self.thread) > 1 else self.thread[0]

    @staticmethod
    def mod(x, y):
        return int(math.fmod(x, y))

    @staticmethod
    def clamp(x, low, high):
        return min(max(x, low), high)

    @staticmethod
    def atomic_add(array, *rest):
        *indices, value = rest
        array[tuple(indices)] = array[tuple(indices)] + value


@dataclass
class Program:
    """A kernel's text, its arguments, and the launch dimensions."""

    text: str
    dim: tuple
    shapes: dict
    tables: dict
    shift: int
    inputs: dict = field(default_factory=dict)

    def arrays(self):
        """Fresh contents of the arrays of numbers, by name."""
        return {name: value.copy() for name, value in self.inputs.items()}

    def twin(self, arrays, threads=None):
        """Run by Python on these arrays, in place. Raises `OutsideError`."""
        scope = {}
        exec(self.text, scope)
        given = {name: TwinArray(name, value) for name, value in {**arrays, **self.tables}.items()}
        for thread in threads or self.threads():
            scope["wp"] = Twin(thread)
            scope["program"](**given, shift=self.shift)

    def threads(self):
        return list(itertools.product(*map(range, self.dim)))

    def failures(self):
        """What each thread that fails says first: array, axis, index, extent."""
        found = []
        for thread in self.threads():
            try:
                self.twin(self.arrays(), [thread])
            except OutsideError as error:
                found.append(error.args)
        return found

    def kernel(self):
        name = f"<random indices {next(_numbers)}>"
        text = self.annotated(self.text)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        scope = {"wp": wp}
        exec(compile(text, name, "exec"), scope)
        return wp.kernel(scope["program"], module="unique")

    def annotated(self, text):
        """The text with types in its first line."""
        types = {name: f"wp.array(dtype=wp.float64, ndim={len(shape)})" for name, shape in self.shapes.items()}
        types |= {name: f"wp.array(dtype=wp.{value.dtype.name})" for name, value in self.tables.items()}
        first, rest = text.split("\n", 1)
        stem = first[: first.index("(")]
        return f"{stem}({', '.join(f'{n}: {t}' for n, t in types.items())}, shift: int):\n{rest}"


class Author:
    """Writes random programs. astray: whether indices may lie outside."""

    def __init__(self, seed, astray):
        self.random, self.astray = random.Random(seed), astray

    def program(self):
        r = self.random
        ndim = r.choice((1, 1, 1, 2))
        self.alone = r.random() < 0.4
        self.dim = (1,) * ndim if self.alone else tuple(r.randint(1, 6) for _ in range(ndim))
        self.threads = ["i", "j"][:ndim]
        self.locals = list(self.threads)
        self.shapes = {"x": (r.randint(1, 7),), "g": (r.randint(1, 5), r.randint(1, 5)), "h": (2, r.randint(1, 3), 2)}
        self.shapes |= {"y": (r.randint(1, 6),), "z": (r.randint(1, 5),)}
        self.tables = {f"t_{t}": self.table(t) for t in r.sample(INTEGERS, 3)}
        self.lines = []
        for _ in range(r.randint(2, 5)):
            self.statement(1)
        names = ", ".join([*self.shapes, *self.tables, "shift"])
        head = [f"def program({names}):", f"    {', '.join(self.threads)} = wp.tid()"]
        text = "\n".join([*head, *self.lines]) + "\n"
        numbers = np.random.default_rng(r.randint(0, 10**6))
        inputs = {name: numbers.uniform(0.5, 1.5, shape) for name, shape in self.shapes.items()}
        return Program(text, self.dim, self.shapes, self.tables, r.randint(-5, 5), inputs)

    def table(self, t):
        r, low = self.random, 0 if t.startswith("u") else -4
        found = [r.randint(low, 4) for _ in range(6)]
        if self.astray and r.random() < 0.3:
            info = np.iinfo(t)
            found[r.randrange(6)] = r.choice((int(info.min), int(info.max)))
        return np.array(found, t)

    # ----- statements -------------------------------------------------------------------------

    def statement(self, depth):
        r, pad = self.random, "    " * depth
        kind = r.random()
        if kind < 0.15 and depth < 3:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.statement(depth + 1)
        elif kind < 0.35 and depth < 3:
            k = f"k{len(self.lines)}"
            self.lines.append(f"{pad}for {k} in range({self.bound()}, {self.bound()}):")
            self.locals.append(k)
            self.statement(depth + 1)
            self.locals.remove(k)
        elif self.alone and kind < 0.65:
            self.lines.append(f"{pad}z[{self.index('z', 0)}] = wp.sin({self.read('z')}) + {self.read()}")
        else:
            self.lines.append(f"{pad}wp.atomic_add(y, {self.index('y', 0)}, {self.read()} * {self.read()})")

    def condition(self):
        e = self.expression(1)
        return self.random.choice((f"{e} > 0", f"{e} >= 0 and {self.expression(1)} < 4", f"not ({e} < 0)", f"{e} != 0"))

    def bound(self):
        return self.random.choice(("-2", "0", "1", "2", "3", "shift", self.loaded("int32")))

    def read(self, name=""):
        name = name or self.random.choice(("x", "g", "h", *(["z"] if self.alone else [])))
        indices = [self.index(name, axis) for axis in range(len(self.shapes[name]))]
        if len(indices) > 1 and self.random.random() < 0.3:
            return name + "".join(f"[{i}]" for i in indices)
        return f"{name}[{', '.join(indices)}]"

    # ----- indices ----------------------------------------------------------------------------

    def index(self, name, axis):
        """An index; without `astray` one of those that lie in range, whatever its expression gives."""
        r, n = self.random, self.shapes[name][axis]
        if r.random() < 0.2:
            found = self.loaded(r.choice(list(self.tables))[2:])
            return found if self.astray else str(r.randint(-n, n - 1))
        e = self.expression(2)
        if self.astray and r.random() < 0.3:
            return e
        return r.choice((
            f"wp.mod({e}, {n})", f"wp.clamp({e}, {-n}, {n - 1})", f"(({e}) & 7) % {n}",
            f"wp.min(wp.max({e}, 0), {n - 1})",
        ))  # fmt: skip

    def loaded(self, t):
        name = f"t_{t}"
        if name not in self.tables:
            return str(self.random.randint(-1, 3))
        return f"{name}[{self.random.choice(('0', '1', '2', '-1', '5', *(f'{i} % 6' for i in self.threads)))}]"

    def expression(self, depth):
        """A number of 32 bits."""
        r = self.random
        if not depth or r.random() < 0.3:
            return r.choice((*self.locals, *self.locals, "shift", str(r.randint(-3, 3)), "x.shape[0]", self.narrow()))
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        return r.choice((
            f"({a} + {b})", f"({a} - {b})", f"({a} - 1)", f"({a} * {r.randint(-2, 3)})", f"(-{a})", f"wp.max({a}, {b})",
            f"wp.min({a}, {b})", f"({a} & {r.randint(0, 7)})",
        ))  # fmt: skip

    def narrow(self):
        """An element of a table as a number of 32 bits."""
        name = self.random.choice(list(self.tables))
        return f"wp.int32({name}[{self.random.choice(self.threads)} % 6])" if self.tables[name].itemsize < 4 else "1"
