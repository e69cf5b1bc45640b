"""The dialect of indices: text that is a kernel and a Python function, with indices of all integer types.

Arrays x, g, h are read, y is added to; z is written where there is one thread alone. Negative indices count
from the end.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from grammar.writer import Writer, seeded

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
RANKS = {"x": 1, "g": 2, "h": 3, "y": 1, "z": 1}
LONGEST = {"x": 7, "g": 5, "h": 3, "y": 6, "z": 5}


class Text(Writer):
    """Writes one program. astray: whether indices may lie outside."""

    FORMS: ClassVar = {
        "i": (
            "{i} + {i}",
            "{i} - {i}",
            "{i} - 1",
            "{i} * {-2..3}",
            "-{i}",
            "wp.max({i}, {i})",
            "wp.min({i}, {i})",
            "{i} & {0..7}",
        ),
        "b": ("{i} > 0", "{i} >= 0 and {i} < 4", "not ({i} < 0)", "{i} != 0"),
    }
    BOUNDS = ("{bound}, {bound}",)

    def __init__(self, seed, astray):
        super().__init__(seeded(seed))
        self.astray, self.in_kernel, self.depth = astray, True, 1
        self.alone = self.chance(2)
        self.threads = ["i", "j"][: self.pick(1, 1, 1, 2)]
        self.dim = tuple(1 if self.alone else self.number(1, 6) for _ in self.threads)
        self.scopes = [dict.fromkeys(self.threads, "i")]
        self.shapes = {a: tuple(self.number(1, LONGEST[a]) for _ in range(n)) for a, n in RANKS.items()}
        self.tables = {f"t_{t}": self.table(t) for t in self.sample(INTEGERS, 3)}
        for _ in range(self.number(2, 5)):
            self.statement()
        self.shift = self.number(-5, 5)

    def table(self, t):
        low = 0 if t.startswith("u") else -4
        numbers = [self.number(low, 4) for _ in range(6)]
        if self.astray and self.chance(3):
            info = np.iinfo(t)
            numbers[self.number(0, 5)] = self.pick(int(info.min), int(info.max))
        return np.array(numbers, t)

    @property
    def text(self):
        head = [f"def program({', '.join([*self.shapes, *self.tables, 'shift'])}):"]
        return "\n".join([*head, f"    {', '.join(self.threads)} = wp.tid()", *self.lines]) + "\n"

    # ----- statements -------------------------------------------------------------------------

    def kinds(self):
        kinds = ["store"] * 3 + ["add"] * 4 if self.alone else ["add"] * 6
        return [*kinds, "branch", "for", "for"] if self.depth < 3 else kinds

    def stmt_store(self):
        self.write(f"z[{self.index('z', 0)}] = wp.sin({self.read('z')}) + {self.read()}")

    def stmt_add(self):
        self.write(f"wp.atomic_add(y, {self.index('y', 0)}, {self.read()} * {self.read()})")

    def some_bound(self, depth):
        return self.pick("-2", "0", "1", "2", "3", "shift", self.loaded("int32"))

    def read(self, name=""):
        name = name or self.pick("x", "g", "h", *(["z"] if self.alone else []))
        indices = [self.index(name, axis) for axis in range(RANKS[name])]
        return name + ("".join(f"[{i}]" for i in indices) if self.chance(3) else f"[{', '.join(indices)}]")

    # ----- indices ----------------------------------------------------------------------------

    def index(self, name, axis):
        """An index; without `astray` one of those that lie in range, whatever its expression gives."""
        n = self.shapes[name][axis]
        if self.chance(5):
            loaded = self.loaded(self.pick(*self.tables)[2:])
            return loaded if self.astray else str(self.number(-n, n - 1))
        if self.astray and self.chance(3):
            return self.expr("i")
        forms = (
            f"wp.mod({{i}}, {n})",
            f"wp.clamp({{i}}, {-n}, {n - 1})",
            f"({{i}} & 7) % {n}",
            f"wp.min(wp.max({{i}}, 0), {n - 1})",
        )
        return self.fill(self.pick(*forms), self.number(0, 2))

    def loaded(self, t):
        name = f"t_{t}"
        if name not in self.tables:
            return str(self.number(-1, 3))
        return f"{name}[{self.pick('0', '1', '2', '-1', '5', *(f'{i} % 6' for i in self.threads))}]"

    def leaf(self, t):
        """A number of 32 bits."""
        if t == "b":
            return self.expr("b", 1)
        table = self.pick(*self.tables)
        narrow = f"wp.int32({table}[{self.pick(*self.threads)} % 6])" if self.tables[table].itemsize < 4 else "1"
        return self.pick(*self.names("i") * 2, "shift", str(self.number(-3, 3)), "x.shape[0]", narrow)
