"""The dialect of bits: kernels as text with every statement of the language, functions and structs.

The rules of `plain_python` hold: a vector or struct is never bound to two names. Arrays are read at `index & 7`. Texts
call no libm functions, so every device computes the same bits. Types: f float32, d float64, i int32, u uint32, b bool,
v vec3; s the struct, l a local array.
"""

from __future__ import annotations

from typing import ClassVar

from grammar.writer import Writer, drawn
from hypothesis import strategies as st

SIZE = 8  # elements of every array, and threads
LITERALS = {
    "f": ("0.0", "1.0", "-0.5", "3.25", "0.1", "-7.0", "1000000.0"),
    "d": ("0.0", "0.1", "-2.5", "1.0e10"),
    "i": ("0", "1", "2", "-3", "7", "100", "2147483647", "-2147483648"),
    "u": ("0", "1", "3", "4000000000"),
}
COMPARED = tuple(f"{{{t}}} {{:< <= > >= == !=}} {{or_literal {t}}}" for t in "fiud")
PARTS = "{:.xy .zz .yx [0:2] [1:] [::2]}"
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


class Text(Writer):
    NAMES: ClassVar = {"f": "float", "d": "wp.float64", "i": "int", "u": "wp.uint32", "v": "wp.vec3"}
    DEEP = 3
    FORMS: ClassVar = {
        "f": (
            "{f} {:+ - * / // %} {or_literal f}", "{f} {:+ - *} {or_literal f}", "-({f})",
            "wp.{:abs floor ceil trunc rint sign step nonzero}({f})", "wp.sqrt(wp.abs({f}))",
            "{vector}{:.x .y .z}", "{vector}[{-3..2}]", "{vector}[({i}) % 3]", "float({one_of iud})",
            "wp.dot({v}, {v})", "wp.{:min max}({f}, {f})", "{held f x}", "wp.clamp({f}, -2.0, 2.0)", "{common f}",
        ),
        "d": (
            "{d} {:+ - * /} {or_literal d}", "-{d}", "wp.float64({one_of fiu})", "wp.sqrt(wp.abs({d}))", "{common d}",
        ),
        "i": (
            "{i} {:+ - * // / % & | ^ << >>} {or_literal i}", "{i} {:+ -} {or_literal i}", "{:- ~ wp.abs}({i})",
            "{length}", "int({one_of fud})", "{held i n}", "wp.{:min max}({i}, {i})", "{common i}", "{i} ** {0..5}",
            "wp.sign({i})",
        ),
        "u": ("{u} {:+ - * // % & | ^ << >>} {or_literal u}", "{common u}", "wp.uint32({one_of fid})"),
        "b": (
            *COMPARED, *(f"{form} {{:< >= !=}} {{{form[1]}}}" for form in COMPARED), *["not {b}"] * 4,
            *["{b} {:and or & |} {b}"] * 4, *["{v} {:== !=} {v}"] * 4, *["{common b}"] * 2,
        ),
        "v": (
            "{v} {:+ -} {v}", "{v} {:* /} {f}", "{f} * {v}", "-{v}", "wp.{:cross cw_mul}({v}, {v})",
            "{vector}.{:x y z}{:x y z}{:x y z}", f"wp.vec3({{vector}}{PARTS}, {{f}})", "wp.vec3({f})",
            "wp.vec3({f}, {f}, {f})", "{held v v}", "{common v}",
        ),
    }  # fmt: skip
    VALUES: ClassVar = {"v": ("+{v}",), "s": ("S(x={f}, n={i}, v=+{v})",), "l": ("wp.zeros(shape=4, dtype=float)",)}
    BOUNDS = (
        "{0..4}",
        "{-2..2}, {0..4}",
        "{2..5}, -1, -{1..3}",
        "{i} & 3",
        "0, {i} & 7, ({i} & 1) + 1",
        "4, {i} & 3, -1 - ({i} & 1)",
    )
    CONDITIONS = (" and {b}",)

    # ----- expressions ------------------------------------------------------------------------

    def leaf(self, t):
        known = self.names(t)
        if known and not self.chance(4):
            return self.pick(*known)
        if t == "b":
            return self.fill("({i.} < {i.})")
        return self.fill("wp.vec3({f.}, {f.}, {f.})") if t == "v" else f"{self.NAMES[t]}({self.pick(*LITERALS[t])})"

    def some_or_literal(self, depth, t):
        """An operand; now and then a literal that takes the type of the other side."""
        return self.pick(*LITERALS[t]) if self.chance(4) else self.expr(t, depth)

    def some_one_of(self, depth, types):
        return self.expr(self.pick(*types), depth)

    def some_index(self, depth, mask=SIZE - 1):
        return self.fill(self.pick(f"{{i}} & {mask}", f"{{0..{mask}}}"), 1)

    def some_length(self, depth):
        return self.pick("len(af)", "ai.shape[0]", "wp.tid()") if self.in_kernel else "int(4)"

    def some_vector(self, depth):
        return self.pick(*(self.names("v") or ["wp.vec3(1.0, 2.0, 3.0)"]))

    def some_held(self, depth, t, field):
        """A value out of a struct, or out of a local array."""
        ways = [f"{name}.{field}" for name in self.names("s")]
        ways += [f"{name}[{{index 3}}]" for name in (self.names("l") if t == "f" else ())]
        return self.fill(self.pick(*ways)) if ways else self.expr(t, depth)

    def some_common(self, depth, t):
        """Forms that every type has."""
        ways = [f"{{{t}}} if {{b}} else {{{t}}}", f"wp.where({{b}}, {{{t}}}, {{{t}}})"]
        ways += [f"a{t}[{{index}}]"] if self.in_kernel and t != "b" else []
        ways += [f"{{call {t}}}"] if any(f[2] == t for f in self.functions) else []
        return self.fill(self.pick(*ways), depth)

    # ----- statements -------------------------------------------------------------------------

    def kinds(self):
        kinds = ["new", "assign", "assign", "assign", "assign", "augment", "array", "several", "pair"]
        kinds += ["output", "output", "record"] if self.in_kernel else []
        if self.budget > 0:
            kinds += ["branch", "branch", "both", "leave", "leave", "closure", "call"]
            kinds += ["for", "for", "while", "forever", "each"] if self.loops < 3 else []
        return kinds

    def stmt_new(self):
        t = self.pick(*"fiduvbsl")
        text, annotated = self.value(t), t in self.NAMES and self.chance(5)
        name = self.declare(t)
        self.write(f"{name}: {self.NAMES[t]} = {text}" if annotated else f"{name} = {text}")

    def target(self, t):
        ways = list(self.targets(t))
        if t == "f":
            ways += [f"{v}{form}" for v in self.targets("v") for form in ("{:.x .y .z}", "[{index 1}]")]
            ways += [f"{name}[{{index 3}}]" for name in self.targets("l")]
            ways += [f"{s}{{:.x .v.x .v[2]}}" for s in self.targets("s")]
        if t in "iv":
            ways += [f"{s}.{'n' if t == 'i' else 'v'}" for s in self.targets("s")]
        ways += [f"o{t}[t]"] if self.in_kernel and t != "b" else []
        return self.fill(self.pick(*ways)) if ways else ""

    def stmt_assign(self):
        t = self.pick(*"fiduvb")
        text = self.value(t)
        where = self.target(t) or self.declare(t)
        if t not in "vb" and self.chance(4) and self.targets(t):
            where += f" = {self.pick(*self.targets(t))}"
        self.write(f"{where} = {text}")

    def stmt_augment(self):
        t = self.pick(*"fiduv")
        where, text = self.target(t), self.value(t)
        symbols = {"f": "+-*/", "d": "+-*/", "i": "+-*%&|^", "u": "+-*&|^", "v": "+-"}[t]
        self.write(f"{where} {self.pick(*symbols)}= {text}" if where else f"{self.declare(t)} = {text}")

    def stmt_array(self):
        arrays = self.targets("l")
        if arrays:
            self.write(f"fill({self.pick(*arrays)}, {self.expr('f')})")
        else:
            self.write(f"{self.declare('l')} = {self.value('l')}")

    def stmt_several(self):
        """Several components at once."""
        vectors = self.targets("v") + (["ov[t]"] if self.in_kernel else [])
        if vectors:
            form = "{:.xy .zx [0:2] [1:] [::2]} {:= = += -=} {v}.{:xy zz yx}"
            self.write(self.fill(self.pick(*vectors) + form))
        else:
            self.stmt_new()

    def stmt_pair(self):
        """Two values at once: a swap, or two expressions."""
        t = self.pick(*"fiu")
        known = self.targets(t)
        if len(known) > 1:
            a, b = self.pick(*known), self.pick(*known)
            self.write(f"{a}, {b} = {b if self.chance(2) else self.expr(t, 1)}, {a}")
        else:
            values = f"{self.expr(t)}, {self.expr('f')}"
            self.write(f"{self.declare(t)}, {self.declare('f')} = {values}")

    def stmt_output(self):
        t = self.pick(*"fdiuv")
        if t == "i" and self.chance(2):
            self.write(self.fill("shared[{index}] {:+ -}= {i}"))
        else:
            self.write(f"o{t}[t] {self.pick('=', '+=', '-=')} {self.value(t)}")

    def stmt_record(self):
        ways = [".x += {f}", ".n = {i}", ".v = +{v}", ".v.y -= {f}", ".v.zx = {v}.xy", ".v[1] *= {f}"]
        self.write(self.fill("os[t]" + self.pick(*ways, *(f" = {s}" for s in self.names("s"))), 2))

    # ----- control flow -----------------------------------------------------------------------

    def stmt_both(self):
        """A name that both sides assign first."""
        t = self.pick(*"fiuv")
        name = self.fresh(t)
        for head in (f"if {self.expr('b')}:", "else:"):
            self.write(head)
            if self.chance(3):
                self.block(2)
            self.write(f"    {name} = {self.value(t)}")
        self.scopes[-1][name] = t

    def counter(self):
        """Here any integer may be an index, and be set in the loop."""
        again = self.targets("i")
        return self.pick(*again) if again and self.chance(3) else self.fresh("i")

    def stmt_forever(self):
        self.loops += 1
        counter = self.declare("i")
        self.frozen.add(counter)
        self.write(f"{counter} = int(0)")
        self.write("while True:")
        out = self.leaving().replace("continue", "break") if self.result else "break"
        self.block(first=(f"{counter} += 1", f"if {counter} > {self.number(0, 4)}:", "    " + out))
        self.loops -= 1

    def stmt_each(self):
        t = self.pick(*"fi")
        items = self.fill("(" + ", ".join([f"{{{t}}}"] * self.number(2, 3)) + ")")
        if t == "f" and self.names("v") and self.chance(2):
            items = self.pick(*self.names("v"))
        name = self.fresh(t)
        self.loops += 1
        self.write(f"for {name} in {items}:")
        self.block(names={name: t})
        self.loops -= 1

    def stmt_closure(self):
        """A function inside: it sees the locals as they are when it is called."""
        name, parameter = self.fresh("h"), self.fresh("f")
        self.scopes.append({parameter: "f"})
        text = self.expr("f", 2)
        if self.chance(2):
            self.write(f"{name} = lambda {parameter}: {text}")
        else:
            self.write(f"def {name}({parameter}):")
            self.write(self.fill("    if {b}:"))
            self.write(self.fill("        return {f}"))
            self.write(f"    return {text}")
        self.scopes.pop()
        self.stmt_assign()
        call = f"{name}({self.expr('f', 1)})"
        self.write(f"{self.declare('f')} = {call}")

    def kernel(self, most):
        arrays = [f"{way}{t}: wp.array(dtype={self.NAMES[t]})" for way in "ao" for t in "fdiuv"]
        self.in_kernel, self.scopes = True, [{"t": "i"}]
        self.frozen.add("t")
        self.write("@wp.kernel")
        self.write(f"def k({', '.join(arrays)}, os: wp.array(dtype=S), shared: wp.array(dtype=int)):")
        self.write("    t = wp.tid()")
        for t in "fdiuv":
            self.write(f"    {self.declare(t)} = {'+' * (t == 'v')}a{t}[t]")
        self.body(self.number(6, most))
        for t in "fdiuv":
            self.write(f"    o{t}[t] {'=' if t == 'd' else '+='} {' + '.join(self.names(t)[:6])}")


@st.composite
def texts(draw, most=20):
    """The text of a module with one kernel `k`; `most` bounds its statements."""
    text = Text(drawn(draw))
    for _ in range(text.number(0, 2)):
        params = "".join(text.pick(*"fiuv") for _ in range(text.number(1, 3)))
        text.function(params, text.pick("f", "i", "u", "v", "fi", "vf"), text.number(3, 8))
    text.kernel(most)
    return HEADER + "\n".join(text.lines) + "\n"
