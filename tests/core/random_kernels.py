"""A hypothesis strategy for kernels as text: typed expressions, every statement of the language, functions, structs.

Texts are valid by construction: locals keep their types, arrays are read at `index & 7`, loops end. They call no
libm functions, so every device computes the same bits. The rules of `plain_python` hold: a vector or struct is
never bound to two names.

Types are letters: f float32, d float64, i int32, u uint32, b bool, v vec3.
"""

from __future__ import annotations

from hypothesis import strategies as st

SIZE = 8  # elements of every array, and threads
NAMES = {"f": "float", "d": "wp.float64", "i": "int", "u": "wp.uint32", "v": "wp.vec3"}
LITERALS = {
    "f": ("0.0", "1.0", "-0.5", "3.25", "0.1", "-7.0", "1000000.0"), "d": ("0.0", "0.1", "-2.5", "1.0e10"),
    "i": ("0", "1", "2", "-3", "7", "100", "2147483647", "-2147483648"), "u": ("0", "1", "3", "4000000000"),
}  # fmt: skip
UNARY = ("wp.abs", "wp.floor", "wp.ceil", "wp.trunc", "wp.rint", "wp.sign", "wp.step", "wp.nonzero")
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


class Text:
    """Writes one text; `draw` makes every choice, so hypothesis can shrink what fails."""

    def __init__(self, draw):
        self.draw = draw
        self.lines: list[str] = []
        self.depth = 0
        self.scopes: list[dict[str, str]] = []
        self.frozen: set[str] = set()  # names that are read only: loop counters, parameters that Python would share
        self.functions: list[tuple[str, str, str]] = []  # name, parameter types, result types
        self.count = 0
        self.in_kernel = False
        self.result = ""  # types that the function being written returns
        self.loops = 0
        self.budget = 0

    # ----- choices and lines ----------------------------------------------------------------

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def chance(self, of):
        return self.draw(st.integers(0, of - 1)) == 0

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def write(self, line):
        self.lines.append("    " * self.depth + line)

    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def names(self, t):
        return [name for scope in self.scopes for name, kind in scope.items() if kind == t]

    def targets(self, t):
        return [name for name in self.names(t) if name not in self.frozen]

    def declare(self, t):
        name = self.fresh(t)
        self.scopes[-1][name] = t
        return name

    def either(self, *makers):
        """One of several ways to write something; the others draw nothing."""
        return makers[self.draw(st.integers(0, len(makers) - 1))]()

    # ----- expressions ----------------------------------------------------------------------

    def leaf(self, t):
        known = self.names(t)
        if known and not self.chance(4):
            return self.pick(*known)
        if t == "b":
            return f"({self.leaf('i')} < {self.leaf('i')})"
        if t == "v":
            return f"wp.vec3({', '.join(self.leaf('f') for _ in range(3))})"
        return f"{NAMES[t]}({self.pick(*LITERALS[t])})"

    def expr(self, t, depth=None):
        """An expression of type `t`, in parentheses where that matters."""
        depth = self.number(0, 3) if depth is None else depth
        if depth == 0:
            return self.leaf(t)
        return f"({getattr(self, f'expr_{t}')(depth - 1)})"

    def several(self, kinds, depth):
        return [self.expr(t, depth) for t in kinds]

    def index(self, mask=SIZE - 1):
        return self.either(lambda: f"{self.expr('i', 1)} & {mask}", lambda: str(self.number(0, mask)))

    def binary(self, t, symbols, depth):
        """An operator; the right side is now and then a literal that takes the type of the left."""
        left, symbol = self.expr(t, depth), self.pick(*symbols.split())
        return f"{left} {symbol} {self.pick(*LITERALS[t]) if self.chance(4) else self.expr(t, depth)}"

    def call_of(self, name, kinds, depth):
        return f"{name}({', '.join(self.several(kinds, depth))})"

    def common(self, t, depth):
        """Forms that every type has."""
        ways = [lambda: "{1} if {0} else {2}".format(*self.several(f"b{t}{t}", depth))]
        ways.append(lambda: self.call_of("wp.where", f"b{t}{t}", depth))
        if self.in_kernel:
            ways.append(lambda: f"a{t}[{self.index()}]")
        if any(result == t for _, _, result in self.functions):
            ways.append(lambda: self.call(t, depth))
        return self.either(*ways)

    def call(self, result, depth):
        name, params, _ = self.pick(*(f for f in self.functions if f[2] == result))
        return f"{name}({', '.join(self.value(p, depth) for p in params)})"

    def value(self, t, depth=None):
        """An expression to be bound to a name: vectors are copied, see the module's docstring."""
        text = self.expr(t, depth)
        return f"+{text}" if t == "v" else text

    def expr_f(self, depth):
        return self.either(
            lambda: self.binary("f", "+ - * / // %", depth), lambda: self.binary("f", "+ - *", depth),
            lambda: f"{self.pick('-', *UNARY)}({self.expr('f', depth)})",
            lambda: f"wp.sqrt(wp.abs({self.expr('f', depth)}))", lambda: self.vector_part(depth),
            lambda: f"float({self.expr(self.pick('i', 'u', 'd'), depth)})", lambda: self.call_of("wp.dot", "vv", depth),
            lambda: self.call_of(self.pick("wp.min", "wp.max"), "ff", depth), lambda: self.from_holder("f", "x", depth),
            lambda: f"wp.clamp({self.expr('f', depth)}, -2.0, 2.0)", lambda: self.common("f", depth),
        )  # fmt: skip

    def vector_name(self):
        known = self.names("v")
        return self.pick(*known) if known else "wp.vec3(1.0, 2.0, 3.0)"

    def vector_part(self, depth):
        return self.vector_name() + self.either(
            lambda: f".{self.pick('x', 'y', 'z')}", lambda: f"[{self.number(-3, 2)}]",
            lambda: f"[({self.expr('i', depth)}) % 3]",
        )  # fmt: skip

    def expr_d(self, depth):
        return self.either(
            lambda: self.binary("d", "+ - * /", depth), lambda: f"-{self.expr('d', depth)}",
            lambda: f"wp.float64({self.expr(self.pick('f', 'i', 'u'), depth)})",
            lambda: f"wp.sqrt(wp.abs({self.expr('d', depth)}))", lambda: self.common("d", depth),
        )  # fmt: skip

    def expr_i(self, depth):
        lengths = ("len(af)", "ai.shape[0]", "wp.tid()") if self.in_kernel else ("int(4)",)
        return self.either(
            lambda: self.binary("i", "+ - * // / % & | ^ << >>", depth), lambda: self.binary("i", "+ -", depth),
            lambda: f"{self.pick('-', '~', 'wp.abs')}({self.expr('i', depth)})", lambda: self.pick(*lengths),
            lambda: f"int({self.expr(self.pick('f', 'u', 'd'), depth)})", lambda: self.from_holder("i", "n", depth),
            lambda: self.call_of(self.pick("wp.min", "wp.max"), "ii", depth), lambda: self.common("i", depth),
            lambda: f"{self.expr('i', depth)} ** {self.number(0, 5)}", lambda: f"wp.sign({self.expr('i', depth)})",
        )  # fmt: skip

    def expr_u(self, depth):
        return self.either(
            lambda: self.binary("u", "+ - * // % & | ^ << >>", depth), lambda: self.common("u", depth),
            lambda: f"wp.uint32({self.expr(self.pick('f', 'i', 'd'), depth)})",
        )  # fmt: skip

    def expr_b(self, depth):
        t = self.pick("f", "i", "u", "d")
        return self.either(
            lambda: self.binary(t, "< <= > >= == !=", depth), lambda: f"not {self.expr('b', depth)}",
            lambda: self.binary(t, "< <= > >= == !=", depth) + f" {self.pick('<', '>=', '!=')} {self.expr(t, depth)}",
            lambda: f"{self.expr('b', depth)} {self.pick('and', 'or', '&', '|')} {self.expr('b', depth)}",
            lambda: f"{self.expr('v', depth)} {self.pick('==', '!=')} {self.expr('v', depth)}",
        )  # fmt: skip

    def expr_v(self, depth):
        return self.either(
            lambda: f"{self.expr('v', depth)} {self.pick('+', '-')} {self.expr('v', depth)}",
            lambda: f"{self.expr('v', depth)} {self.pick('*', '/')} {self.expr('f', depth)}",
            lambda: f"{self.expr('f', depth)} * {self.expr('v', depth)}", lambda: f"-{self.expr('v', depth)}",
            lambda: self.call_of(self.pick("wp.cross", "wp.cw_mul"), "vv", depth),
            lambda: f"{self.vector_name()}.{''.join(self.pick('x', 'y', 'z') for _ in range(3))}",
            lambda: f"wp.vec3({self.two_components()}, {self.expr('f', depth)})", lambda: self.common("v", depth),
            lambda: self.call_of("wp.vec3", self.pick("f", "fff"), depth), lambda: self.from_holder("v", "v", depth),
        )  # fmt: skip

    def two_components(self):
        return self.vector_name() + self.pick(".xy", ".zz", ".yx", "[0:2]", "[1:]", "[::2]")

    def from_holder(self, t, field, depth):
        """A value out of a struct, or out of a local array."""
        structs, arrays = self.names("s"), self.names("l") if t == "f" else []
        ways = [lambda name=name: f"{name}.{field}" for name in structs]
        ways += [lambda name=name: f"{name}[{self.index(3)}]" for name in arrays]
        return self.either(*ways) if ways else self.expr(t, depth)

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
