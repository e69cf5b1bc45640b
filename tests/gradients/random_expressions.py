"""Expressions of random programs: typed, bounded where they are kept, over locals and the memory of a thread.

Types are letters: f number (float64), v vec3d, m mat22d, s struct S, l local array, w row of the 2-D array,
i int, b condition.
"""

from __future__ import annotations

from hypothesis import strategies as st

NUMBER_ARRAYS = ("p", "q", "r")
LITERALS = ("0.5", "-0.75", "1.25", "0.1", "-1.5", "2.0")


class Expressions:
    """Writes expressions; `draw` makes every choice, so hypothesis can shrink what fails."""

    def __init__(self, draw):
        self.draw = draw
        self.lines: list[str] = []
        self.depth = 0
        self.scopes: list[dict[str, str]] = []
        self.frozen: set[str] = set()  # loop counters, parameters that tell places: read only
        self.functions: list[tuple[str, str, str]] = []  # name, parameter types, result types
        self.spent: set[str] = set()  # arrays with the role once that have been written
        self.roles: dict[str, str] = {}  # what the kernel being written may do with its arrays; empty: a function
        self.result = ""
        self.loops = 0
        self.budget = 0
        self.count = 0

    # ----- choices and lines ----------------------------------------------------------------

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def pick(self, *options):
        return options[self.number(0, len(options) - 1)]

    def chance(self, of):
        return self.number(0, of - 1) == of - 1

    def write(self, line):
        self.lines.append("    " * self.depth + line)

    def names(self, t):
        return [name for scope in self.scopes for name, kind in scope.items() if kind == t]

    def targets(self, t):
        return [name for name in self.names(t) if name not in self.frozen]

    def fresh(self, t):
        self.count += 1
        return f"{t}{self.count}"

    def declare(self, t):
        name = self.fresh(t)
        self.scopes[-1][name] = t
        return name

    def with_role(self, *roles):
        return [name for name, role in self.roles.items() if role in roles]

    # ----- places in memory ------------------------------------------------------------------

    def index(self, mask, known=False):
        """An index up to `mask`: a constant, or, unless it has to be known, what an integer says."""
        return str(self.number(0, mask)) if known or self.chance(2) else f"(({self.expr_i()}) & {mask})"

    def element(self, name):
        """An element that the thread owns, or, where nobody writes, perhaps one of its neighbour."""
        role = self.roles[name]
        far = role == "read" and self.chance(2)
        if name == "g":
            return f"g[{'mate' if far else 't'}, {self.index(3, role == 'own')}]"
        if name in NUMBER_ARRAYS:
            return f"{name}[{'near' if far else 'mine'} + {self.index(3, role == 'own')}]"
        return f"{name}[{'mate' if far else 't'} * 2 + {self.index(1, role == 'own')}]"

    def places(self, t, roles):
        """Everything of type `t` but locals that can be read or assigned: makers of text."""
        arrays = self.with_role(*roles)
        found = {"f": [*NUMBER_ARRAYS, "g"], "v": ["va"], "m": ["ma"], "s": ["sa"]}.get(t, [])
        ways = [lambda a=a: self.element(a) for a in found if a in arrays]
        if t == "f":
            ways += [lambda a=a: self.element(a) + self.part(a[0]) for a in ("va", "ma", "sa") if a in arrays]
        if t == "v" and "sa" in arrays:
            ways.append(lambda: self.element("sa") + ".v")
        return ways

    def part(self, kind):
        """From a vector, matrix or struct to one of its numbers."""
        if kind == "v":
            return self.pick(".x", ".y", ".z", "[1]", f"[{self.index(1)}]")
        if kind == "m":
            return self.pick("[0, 1]", "[1, 1]", f"[{self.index(1)}, 0]")
        return self.pick(".x", ".v.y", ".v[2]")

    # ----- expressions ------------------------------------------------------------------------

    def leaf(self, t):
        known = self.names(t)
        if known and self.chance(3):
            return self.pick(*known)
        ways = [lambda name=name: name for name in known]
        if t == "f":
            ways += [lambda x=x: x + self.part(x[0]) for kind in "vms" for x in self.names(kind)[-2:]]
            ways += [lambda x=x: f"{x}[{self.index(3)}]" for x in self.names("l")]
            ways += [lambda x=x: f"{x}[{self.number(0, 3)}]" for x in self.names("w")]
        if t == "v":
            ways += [lambda x=x: f"{x}.v" for x in self.names("s")]
        ways += self.places(t, ("own", "read", "once", "wild"))
        if ways and not (t == "f" and self.chance(6)):
            return self.pick(*ways)()
        if t == "f":
            return f"wp.float64({self.pick(*LITERALS)})"
        if t == "v":
            return f"wp.vec3d({', '.join(self.leaf('f') for _ in range(3))})"
        return f"wp.mat22d({', '.join(self.leaf('f') for _ in range(4))})"

    def expr(self, t, depth=None):
        depth = self.number(0, 2) if depth is None else depth
        return self.leaf(t) if depth == 0 else f"({getattr(self, f'expr_{t}')(depth - 1)})"

    def expr_f(self, depth):
        def sub(t="f"):
            return self.expr(t, depth)

        ways = [
            lambda: f"{sub()} {self.pick(*'+-*')} {sub()}", lambda: f"{sub()} * {sub()}",
            lambda: f"wp.{self.pick('sin', 'cos', 'tanh', 'atan')}({sub()})",
            lambda: f"{sub()} / (1.5 + wp.sin({sub()}))", lambda: f"wp.exp(wp.sin({sub()}))",
            lambda: f"wp.dot({sub('v')}, {sub('v')})", lambda: f"wp.ddot({sub('m')}, {self.leaf('m')})",
            lambda: f"{sub()} if {self.expr_b()} else {sub()}", lambda: f"wp.where({self.expr_b()}, {sub()}, {sub()})",
            lambda: f"wp.{self.pick('min', 'max')}({sub()}, {sub()})", lambda: f"-{sub()}",
            lambda: f"wp.float64({self.expr_i()} & 3) * {sub()}", lambda: f"tame_f({sub()})",
            lambda: f"wp.length({sub('v')} + wp.vec3d(4.0, 0.0, 0.0))", lambda: self.call("f"),
        ]  # fmt: skip
        return self.pick(*ways)()

    def expr_v(self, depth):
        def sub(t="v"):
            return self.expr(t, depth)

        ways = [
            lambda: f"{sub()} {self.pick('+', '-')} {sub()}", lambda: f"{sub()} * {sub('f')}",
            lambda: f"wp.cross({sub()}, {sub()})", lambda: f"wp.cw_mul({sub()}, {sub()})",
            lambda: f"wp.vec3d({sub('f')}, {sub('f')}, {sub('f')})", lambda: f"tame_v({sub()})",
            lambda: f"{sub()} if {self.expr_b()} else {sub()}", lambda: self.call("v"),
        ]  # fmt: skip
        return self.pick(*ways)()

    def expr_m(self, depth):
        def sub(t="m"):
            return self.expr(t, depth)

        ways = [
            lambda: f"{sub()} {self.pick(*'+-*')} {sub()}", lambda: f"wp.transpose({sub()})",
            lambda: f"{sub('f')} * {sub()}", lambda: f"tame_m({sub()})",
            lambda: f"wp.mat22d({sub('f')}, {self.leaf('f')}, {sub('f')}, {self.leaf('f')})",
        ]  # fmt: skip
        return self.pick(*ways)()

    def expr_i(self):
        known = self.names("i")
        text = self.pick(*known) if known else "1"
        if self.chance(2):
            text += f" {self.pick('+', '-', '*')} {self.pick(*known, '1', '2', '3') if known else '2'}"
        return text

    def expr_b(self):
        if self.chance(5):
            return f"{self.leaf('f')} {self.pick('<', '>')} {self.leaf('f')}"
        return f"(({self.expr_i()}) & 3) {self.pick('<', '>=', '==', '!=')} {self.number(0, 3)}"

    def call(self, result):
        """A function with that one result, where there is one."""
        known = [f for f in self.functions if f[2] == result]
        if not known:
            return f"tame_{result}({self.expr(result, 1)})"
        name, params, _ = self.pick(*known)
        return f"{name}({self.arguments(params)})"

    def arguments(self, params):
        return ", ".join(self.expr_i() if p == "i" else self.expr(p, 1) for p in params)

    def value(self, t):
        """What may be kept: a bounded expression."""
        if t == "s":
            return f"S(x={self.value('f')}, n={self.expr_i()}, v={self.value('v')})"
        if t == "f":
            return self.pick("tame_f({})", "wp.sin({})", "wp.tanh({})", "0.5 * wp.cos({})").format(self.expr("f"))
        return f"tame_{t}({self.expr(t)})"
