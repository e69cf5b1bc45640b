"""The grammar of random programs: it writes typed text, statement by statement, from tables of forms.

A form is text with places. `{f}` is an expression of type f, one level less deep; `{f.}` a leaf of that type;
`{:+ - *}` one of some words; `{0..3}` a number; `{name x}` what the method `some_name` writes. A dialect is a subclass
that says which forms a type has, what statements there are, and how memory is reached. Its texts are valid by
construction: locals keep their types, loops end, only names in scope are used.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import ClassVar

from hypothesis import strategies as st

PLACE = re.compile(r"\{([^{}]+)\}")
Forms = tuple[str, ...]
Integer = Callable[[int, int], int]


def drawn(draw) -> Integer:
    """Choices of hypothesis, which finds a smaller program where one fails."""
    return lambda low, high: draw(st.integers(low, high))


def seeded(seed: int) -> Integer:
    """Choices that follow from a number."""
    return random.Random(seed).randint


class Choices:
    """All that is chosen comes from `number(low, high)`, both included."""

    def __init__(self, number: Integer):
        self.number = number

    def pick(self, *options):
        return options[self.number(0, len(options) - 1)]

    def chance(self, of: int) -> bool:
        return self.number(0, of - 1) == of - 1

    def sample(self, options, count):
        """Some of them, each once, in a random order."""
        rest = list(options)
        return [rest.pop(self.number(0, len(rest) - 1)) for _ in range(count)]


class Writer(Choices):
    """Writes the text of one program. Types are letters."""

    NAMES: ClassVar[dict[str, str]] = {}
    """How the types are called in text."""
    FORMS: ClassVar[dict[str, Forms]] = {}
    """The forms of expressions, by type."""
    VALUES: ClassVar[dict[str, Forms]] = {}
    """The forms of what may be kept in a variable or in memory; without an entry any expression may."""
    DEEP = 2
    """How deep expressions are at most."""
    MOST = 4
    """How many statements a block has at most."""
    BOUNDS: Forms = ()
    """What `range` gets in loops."""
    CONDITIONS: Forms = ()
    """What a `while` asks, besides its counter."""

    def __init__(self, number: Integer):
        super().__init__(number)
        self.lines: list[str] = []
        self.scopes: list[dict[str, str]] = [{}]
        self.frozen: set[str] = set()  # names that are read only: counters, and what Python would share
        self.functions: list[tuple[str, str, str]] = []  # name, types of parameters, types of results
        self.result = ""  # types that the function returns that is being written
        self.in_kernel = False
        self.depth = self.loops = self.budget = self.count = 0

    # ----- lines and names --------------------------------------------------------------------

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def names(self, t: str) -> list[str]:
        return [name for scope in self.scopes for name, kind in scope.items() if kind == t]

    def targets(self, t: str) -> list[str]:
        return [name for name in self.names(t) if name not in self.frozen]

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def declare(self, t: str) -> str:
        name = self.fresh(t)
        self.scopes[-1][name] = t
        return name

    # ----- expressions ------------------------------------------------------------------------

    def fill(self, form: str, depth: int = 1) -> str:
        return PLACE.sub(lambda place: self.at(place[1], depth), form)

    def at(self, place: str, depth: int) -> str:
        if place[0] == ":":
            return self.pick(*place[1:].split())
        if ".." in place:
            return str(self.number(*map(int, place.split(".."))))
        if place in self.FORMS:
            return self.expr(place, depth)
        if place[-1] == ".":
            return self.leaf(place[:-1])
        name, *words = place.split()
        return getattr(self, f"some_{name}")(depth, *words)

    def leaf(self, t: str) -> str:
        """A name, an element or a literal of a type."""
        raise NotImplementedError

    def expr(self, t: str, depth: int | None = None) -> str:
        depth = self.number(0, self.DEEP) if depth is None else depth
        return self.leaf(t) if depth <= 0 else f"({self.fill(self.pick(*self.forms(t)), depth - 1)})"

    def forms(self, t: str) -> Forms:
        return self.FORMS[t]

    def value(self, t: str, depth: int | None = None) -> str:
        """What may be kept."""
        if t not in self.VALUES:
            return self.expr(t, depth)
        return self.fill(self.pick(*self.VALUES[t]), self.number(0, self.DEEP) if depth is None else depth)

    def some_call(self, depth: int, result: str) -> str:
        """A function with that one result, where there is one."""
        known = [f for f in self.functions if f[2] == result]
        if not known:
            return self.leaf(result)
        name, params, _ = self.pick(*known)
        return f"{name}({', '.join(self.value(p, min(depth, 1)) for p in params)})"

    # ----- statements -------------------------------------------------------------------------

    def kinds(self) -> list[str]:
        """The statements that may come next, as often as they are likely."""
        raise NotImplementedError

    def statement(self) -> None:
        self.budget -= 1
        getattr(self, f"stmt_{self.pick(*self.kinds())}")()

    def block(self, most: int = 0, first: Forms = (), names=()) -> None:
        self.scopes.append(dict(names))
        self.depth += 1
        for line in first:
            self.write(line)
        before = len(self.lines)
        for _ in range(self.number(1, min(most or self.MOST, self.MOST))):
            self.statement()
        if len(self.lines) == before:
            self.write("pass")
        self.depth -= 1
        self.scopes.pop()

    def body(self, budget: int) -> None:
        self.budget = budget
        self.depth += 1
        while self.budget > 0:
            self.statement()
        self.depth -= 1

    def target(self, t: str) -> str:
        """Something of a type that can be assigned to, or nothing."""
        raise NotImplementedError

    def stmt_branch(self) -> None:
        self.write(f"if {self.expr('b')}:")
        self.block()
        while self.chance(4):
            self.write(f"elif {self.expr('b')}:")
            self.block(2)
        if self.chance(2):
            self.write("else:")
            self.block(3)

    def leaving(self) -> str:
        ways = ["break", "continue"] if self.loops else []
        if self.in_kernel:
            ways.append("return")
        elif self.result:
            ways += [f"return {', '.join(self.value(t) for t in self.result)}"] * 2
        return self.pick(*ways) if ways else "pass"

    def stmt_leave(self) -> None:
        """A way out, sometimes after more statements, sometimes with some on the other side."""
        self.write(f"if {self.expr('b')}:")
        if self.chance(3):
            self.block(2)
        self.write(f"    {self.leaving()}")
        if self.chance(4):
            self.write("else:")
            self.block(2)

    def bounds(self) -> Forms:
        return self.BOUNDS

    def counter(self) -> str:
        """The name of the index of a loop; what the loop does not set is not to set it either."""
        name = self.fresh("i")
        self.frozen.add(name)
        return name

    def stmt_for(self) -> None:
        self.loops += 1
        bounds, counter = self.fill(self.pick(*self.bounds())), self.counter()
        self.write(f"for {counter} in range({bounds}):")
        self.block(names={counter: "i"})
        self.loops -= 1

    def stmt_while(self) -> None:
        self.loops += 1
        counter = self.declare("i")
        self.frozen.add(counter)
        self.write(f"{counter} = int(0)")
        self.write(f"while {counter} < {self.number(0, 5)}{self.fill(self.pick(*self.CONDITIONS))}:")
        self.block(first=(f"{counter} += 1",))
        self.loops -= 1

    def stmt_call(self) -> None:
        """A function with several results, or a swap."""
        known = [f for f in self.functions if len(f[2]) > 1]
        if known and self.chance(2):
            name, params, results = self.pick(*known)
            call = f"{name}({', '.join(self.value(p, 1) for p in params)})"
            self.write(f"{', '.join(self.target(t) or self.declare(t) for t in results)} = {call}")
        elif len(self.targets("f")) > 1:
            a, b = self.targets("f")[:2]
            self.write(f"{a}, {b} = {b}, {self.value('f')}")
        else:
            self.statement()

    # ----- functions --------------------------------------------------------------------------

    def function(self, params: str, result: str, budget: int) -> None:
        name, named = self.fresh("fun"), {self.fresh(t): t for t in params}
        self.in_kernel, self.result, self.scopes = False, result, [named]
        self.frozen.update(n for n, t in named.items() if t == "v")
        self.write("@wp.func")
        self.write(f"def {name}({', '.join(f'{n}: {self.NAMES[t]}' for n, t in named.items())}):")
        self.body(budget)
        self.write(f"    return {', '.join(self.value(t) for t in result)}\n\n")
        self.functions.append((name, params, result))
        self.result = ""
