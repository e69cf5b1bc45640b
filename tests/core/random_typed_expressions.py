"""Random expressions of a type, as text: what `random_kernels` fills its statements with.

Texts are valid by construction: arrays are read at `index & 7`, and only names in scope are used. They call no libm
functions, so every device computes the same bits.

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

class Expressions:
    """Writes expressions over the names in scope; `draw` makes every choice, so hypothesis can shrink what fails."""

    def __init__(self, draw):
        self.draw = draw
        self.scopes: list[dict[str, str]] = []
        self.functions: list[tuple[str, str, str]] = []  # name, parameter types, result types
        self.count = 0

    # ----- choices and names ----------------------------------------------------------------

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def chance(self, of):
        return self.draw(st.integers(0, of - 1)) == 0

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def names(self, t):
        return [name for scope in self.scopes for name, kind in scope.items() if kind == t]

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
