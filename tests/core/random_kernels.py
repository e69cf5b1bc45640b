"""A hypothesis strategy for kernels as text: every statement of the language, functions, structs.

Texts are valid by construction: locals keep their types, loops end. The rules of `plain_python` hold: a vector or
struct is never bound to two names. Expressions are those of `random_typed_expressions`.
"""

from __future__ import annotations

from hypothesis import strategies as st
from random_typed_expressions import NAMES, Expressions

HEADER = """
@wp.struct
class S:
    x: float
    n: int
    v: wp.vec3


@wp.func
def fill(a: wp.array(dtype=float), x: float):
    for i in range(len(a)):
        a[i] = a[i] * 0.5 + x


"""
PARAMETERS = ", ".join(
    [f"a{t}: wp.array(dtype={NAMES[t]})" for t in "fdiuv"]
    + [f"o{t}: wp.array(dtype={NAMES[t]})" for t in "fdiuv"] + ["os: wp.array(dtype=S)", "shared: wp.array(dtype=int)"]
)  # fmt: skip

class Text(Expressions):
    """Writes one text."""

    def __init__(self, draw):
        super().__init__(draw)
        self.lines: list[str] = []
        self.depth = 0
        self.frozen: set[str] = set()  # names that are read only: loop counters, parameters that Python would share
        self.in_kernel = False
        self.result = ""  # types that the function being written returns
        self.loops = 0
        self.budget = 0

    def write(self, line):
        self.lines.append("    " * self.depth + line)

    def targets(self, t):
        return [name for name in self.names(t) if name not in self.frozen]

    # ----- statements -----------------------------------------------------------------------

    def block(self, most=4):
        self.scopes.append({})
        self.depth += 1
        for _ in range(self.number(1, most)):
            self.statement()
        self.depth -= 1
        self.scopes.pop()

    def statement(self):
        self.budget -= 1
        kinds = ["new", "assign", "assign", "augment", "component", "field", "array", "several", "pair"]
        if self.in_kernel:
            kinds += ["output", "output", "record"]
        if self.budget > 0:
            kinds += ["branch", "branch", "both", "leave", "leave", "closure", "call"]
            kinds += ["count", "count", "repeat", "each"] if self.loops < 3 else []
        getattr(self, f"stmt_{self.pick(*kinds)}")()

    def stmt_new(self):
        t = self.pick("f", "i", "d", "u", "v", "b", "s", "l")
        if t == "s":
            text = f"S(x={self.value('f')}, n={self.value('i')}, v={self.value('v')})"
        else:
            text = "wp.zeros(shape=4, dtype=float)" if t == "l" else self.value(t)
        annotated = t in NAMES and self.chance(5)
        name = self.declare(t)
        self.write(f"{name}: {NAMES[t]} = {text}" if annotated else f"{name} = {text}")

    def target(self, t):
        """Something of type `t` that can be assigned to, or nothing."""
        ways = [lambda name=name: name for name in self.targets(t)]
        if t == "f":
            ways += [lambda v=v: f"{v}.{self.pick('x', 'y', 'z')}" for v in self.targets("v")]
            ways += [lambda v=v: f"{v}[{self.index(1)}]" for v in self.targets("v")]
            ways += [lambda name=name: f"{name}[{self.index(3)}]" for name in self.targets("l")]
            ways += [lambda s=s: f"{s}.{self.pick('x', 'v.x', 'v[2]')}" for s in self.targets("s")]
        if t in "iv":
            ways += [lambda s=s: f"{s}.{'n' if t == 'i' else 'v'}" for s in self.targets("s")]
        if self.in_kernel and t != "b":
            ways.append(lambda: f"o{t}[t]")
        return self.either(*ways) if ways else ""

    def stmt_assign(self):
        t = self.pick("f", "i", "d", "u", "v", "b")
        text = self.value(t)
        where = self.target(t) or self.declare(t)
        if t not in "vb" and self.chance(4) and self.targets(t):
            where += f" = {self.pick(*self.targets(t))}"
        self.write(f"{where} = {text}")

    def stmt_augment(self):
        t = self.pick("f", "i", "d", "u", "v")
        where = self.target(t)
        symbols = {"f": "+-*/", "d": "+-*/", "i": "+-*%&|^", "u": "+-*&|^", "v": "+-"}[t]
        text = self.value(t)
        self.write(f"{where} {self.pick(*symbols)}= {text}" if where else f"{self.declare(t)} = {text}")

    stmt_component = stmt_field = stmt_assign

    def stmt_array(self):
        arrays = self.targets("l")
        if not arrays:
            self.write(f"{self.declare('l')} = wp.zeros(shape=4, dtype=float)")
            return
        self.write(f"fill({self.pick(*arrays)}, {self.expr('f')})")

    def stmt_several(self):
        vectors = self.targets("v") + (["ov[t]"] if self.in_kernel else [])
        if not vectors:
            self.stmt_new()
            return
        part = self.pick(".xy", ".zx", "[0:2]", "[1:]", "[::2]")
        symbol, two = self.pick("=", "=", "+=", "-="), f"{self.expr('v', 1)}.{self.pick('xy', 'zz', 'yx')}"
        self.write(f"{self.pick(*vectors)}{part} {symbol} {two}")

    def stmt_pair(self):
        """Two values at once: a swap, or two expressions."""
        t = self.pick("f", "i", "u")
        known = self.targets(t)
        if len(known) > 1:
            a, b = self.pick(*known), self.pick(*known)
            first = b if self.chance(2) else self.expr(t, 1)
            self.write(f"{a}, {b} = {first}, {a}")
        else:
            values = f"{self.expr(t)}, {self.expr('f')}"
            self.write(f"{self.declare(t)}, {self.declare('f')} = {values}")

    def stmt_output(self):
        t = self.pick("f", "d", "i", "u", "v")
        if t == "i" and self.chance(2):
            self.write(f"shared[{self.index()}] {self.pick('+', '-')}= {self.expr('i')}")
        else:
            self.write(f"o{t}[t] {self.pick('=', '+=', '-=')} {self.value(t)}")

    def stmt_record(self):
        ways = [
            lambda: f"os[t].x += {self.expr('f')}", lambda: f"os[t].n = {self.expr('i')}",
            lambda: f"os[t].v = {self.value('v')}", lambda: f"os[t].v.y -= {self.expr('f')}",
            lambda: f"os[t].v.zx = {self.expr('v', 1)}.xy", lambda: f"os[t].v[1] *= {self.expr('f')}",
        ]  # fmt: skip
        self.write(self.either(*ways, *(lambda s=s: f"os[t] = {s}" for s in self.names("s"))))

    # ----- control flow ---------------------------------------------------------------------

    def stmt_branch(self):
        self.write(f"if {self.expr('b')}:")
        self.block()
        while self.chance(4):
            self.write(f"elif {self.expr('b')}:")
            self.block(2)
        if self.chance(2):
            self.write("else:")
            self.block()

    def stmt_both(self):
        """A name that both sides assign first."""
        t = self.pick("f", "i", "u", "v")
        name = self.fresh(t)
        for head in (f"if {self.expr('b')}:", "else:"):
            self.write(head)
            if self.chance(3):
                self.block(2)
            self.depth += 1
            self.write(f"{name} = {self.value(t)}")
            self.depth -= 1
        self.scopes[-1][name] = t

    def leaving(self):
        ways = [lambda: "break", lambda: "continue"] if self.loops else []
        if self.in_kernel:
            ways.append(lambda: "return")
        elif self.result:
            ways += [lambda: f"return {', '.join(self.value(t) for t in self.result)}"] * 2
        return self.either(*ways) if ways else "pass"

    def stmt_leave(self):
        """A way out, sometimes after more statements, sometimes with one on the other side."""
        self.write(f"if {self.expr('b')}:")
        if self.chance(3):
            self.block(2)
        self.depth += 1
        self.write(self.leaving())
        self.depth -= 1
        if self.chance(4):
            self.write("else:")
            self.block(2)

    def body(self, names=(), first=()):
        self.loops += 1
        self.scopes.append(dict(names))
        self.depth += 1
        for line in first:
            self.write(line)
        for _ in range(self.number(1, 4)):
            self.statement()
        self.depth -= 1
        self.scopes.pop()
        self.loops -= 1

    def stmt_count(self):
        bounds = self.either(
            lambda: str(self.number(0, 4)), lambda: f"{self.number(-2, 2)}, {self.number(0, 4)}",
            lambda: f"{self.number(2, 5)}, -1, -{self.number(1, 3)}", lambda: f"{self.expr('i', 1)} & 3",
            lambda: f"0, {self.expr('i', 1)} & 7, ({self.expr('i', 1)} & 1) + 1",
            lambda: f"4, {self.expr('i', 1)} & 3, -1 - ({self.expr('i', 1)} & 1)",
        )  # fmt: skip
        again = self.targets("i")
        name = self.pick(*again) if again and self.chance(3) else self.fresh("i")
        self.write(f"for {name} in range({bounds}):")
        self.body({name: "i"})

    def stmt_repeat(self):
        counter = self.fresh("i")
        self.frozen.add(counter)
        self.write(f"{counter} = int(0)")
        self.scopes[-1][counter] = "i"
        if self.chance(3):
            self.write("while True:")
            out = self.leaving().replace("continue", "break") if self.result else "break"
            self.body(first=[f"{counter} += 1", f"if {counter} > {self.number(0, 4)}:", "    " + out])
        else:
            self.write(f"while {counter} < {self.number(0, 4)} and {self.expr('b')}:")
            self.body(first=[f"{counter} += 1"])

    def stmt_each(self):
        t = self.pick("f", "i")
        items = f"({', '.join(self.expr(t, 1) for _ in range(self.number(2, 3)))})"
        if t == "f" and self.names("v") and self.chance(2):
            items = self.pick(*self.names("v"))
        name = self.fresh(t)
        self.write(f"for {name} in {items}:")
        self.body({name: t})

    # ----- functions ------------------------------------------------------------------------

    def stmt_closure(self):
        """A function inside: it sees the locals as they are when it is called."""
        name, parameter = self.fresh("h"), self.fresh("f")
        self.scopes.append({parameter: "f"})
        text = self.expr("f", 2)
        if self.chance(2):
            self.write(f"{name} = lambda {parameter}: {text}")
        else:
            self.write(f"def {name}({parameter}):")
            self.write(f"    if {self.expr('b', 1)}:")
            self.write(f"        return {self.expr('f', 1)}")
            self.write(f"    return {text}")
        self.scopes.pop()
        self.stmt_assign()
        call = f"{name}({self.expr('f', 1)})"
        self.write(f"{self.declare('f')} = {call}")

    def stmt_call(self):
        pairs = [f for f in self.functions if len(f[2]) > 1]
        if not pairs:
            self.stmt_assign()
            return
        name, params, results = self.pick(*pairs)
        call = f"{name}({', '.join(self.value(p, 1) for p in params)})"
        self.write(f"{', '.join(self.target(t) or self.declare(t) for t in results)} = {call}")

    def function(self):
        name = self.fresh("fun")
        params = "".join(self.pick("f", "i", "u", "v") for _ in range(self.number(1, 3)))
        self.result = self.pick("f", "i", "u", "v", "fi", "vf")
        named = [(self.fresh(t), t) for t in params]
        self.frozen.update(n for n, t in named if t == "v")
        self.write("@wp.func")
        self.write(f"def {name}({', '.join(f'{n}: {NAMES[t]}' for n, t in named)}):")
        self.scopes = [dict(named)]
        self.statements(self.number(3, 8))
        self.write(f"    return {', '.join(self.value(t) for t in self.result)}")
        self.write("")
        self.functions.append((name, params, self.result))
        self.result = ""

    def statements(self, budget):
        self.budget = budget
        self.depth += 1
        while self.budget > 0:
            self.statement()
        self.depth -= 1

    def kernel(self, most):
        self.in_kernel = True
        self.write("@wp.kernel")
        self.write(f"def k({PARAMETERS}):")
        self.write("    t = wp.tid()")
        self.scopes = [{}]
        self.frozen.add("t")
        self.scopes[0]["t"] = "i"
        for t in "fdiu":
            self.write(f"    {self.declare(t)} = a{t}[t]")
        self.write(f"    {self.declare('v')} = +av[t]")
        self.statements(self.number(6, most))
        for t in "fdiuv":
            self.write(f"    o{t}[t] {'=' if t == 'd' else '+='} {' + '.join(self.names(t)[:6])}")


@st.composite
def texts(draw, most=20):
    """The text of a module with one kernel `k` over the arrays of `PARAMETERS`; `most` bounds its statements."""
    text = Text(draw)
    for _ in range(draw(st.integers(0, 2))):
        text.function()
    text.kernel(most)
    return HEADER + "\n".join(text.lines) + "\n"
