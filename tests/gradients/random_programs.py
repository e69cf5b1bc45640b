"""A hypothesis strategy for differentiable programs: functions, kernels, and a list of launches on shared memory.

Programs are valid and smooth by construction: what is assigned is bounded by `tame` functions, loops end,
branches decide mostly on integers. A thread writes only what it owns, elements `mine` to `mine + 3`; what
its neighbour owns (`near`) it reads where nobody writes, and adds to where nobody reads. Every value is
float64. Types are letters, see `random_expressions`.

What a kernel does with an array is its role. own: elements at constant places are read and written at will.
once: any element is read, but one statement of the kernel alone writes, be it a loop over all elements.
wild: elements at places that only the run knows are read and written at will, which may be refused.
read: nobody writes. sum, peak: only atomics. Most programs are differentiable, then.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from random_expressions import NUMBER_ARRAYS, Expressions

PLACES = ("a", "b", "c")  # memory that the parameters p, q, r stand for, in any order
NAMES = {"f": "wp.float64", "v": "wp.vec3d", "i": "int"}
WILD = 20  # one kernel of so many has an array in the role wild
LONG = 70  # iterations: more than the reverse of a loop keeps states for
HEADER = "from program_vocabulary import *\n\n\n"
PARAMETERS = (
    ", ".join(f"{name}: wp.array(dtype=wp.float64)" for name in NUMBER_ARRAYS)
    + ", g: wp.array2d(dtype=wp.float64), va: wp.array(dtype=wp.vec3d), ma: wp.array(dtype=wp.mat22d), "
    "sa: wp.array(dtype=S), ints: wp.array(dtype=int), loss: wp.array(dtype=wp.float64), n: int"
)
PLACE_OF_THREAD = """\
    t = wp.tid()
    mate = t - t % 2 + (t + 1) % 2
    mine = t * 4
    near = mate * 4
    k = ints[t]
"""


@dataclass(frozen=True)
class Launch:
    """One step: a kernel on memory in the order of p, q, r; or the host call that `kernel` names."""

    kernel: str
    memory: tuple[str, ...]
    n: int = 0


@dataclass(frozen=True)
class Program:
    text: str
    steps: tuple[Launch, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "\n".join(f"# {step}" for step in self.steps)


class Writer(Expressions):
    """Writes the text of one program."""

    # ----- statements -------------------------------------------------------------------------

    def statement(self):
        self.budget -= 1
        kinds = ["new", "assign", "assign", "update", "update", "number"]
        if self.roles:
            kinds += ["assign", "update", "sum", "record", "array", *(["sweep"] * 2 if not self.loops else [])]
        if self.budget > 0:
            kinds += ["branch", "leave", "several", *["loop"] * (8, 4, 1, 0)[self.loops]]
        getattr(self, f"stmt_{self.pick(*kinds)}")()

    def stmt_new(self):
        t = self.pick(*"ffvmsl")
        text = "wp.zeros(shape=4, dtype=wp.float64)" if t == "l" else self.value(t)
        self.write(f"{self.declare(t)} = {text}")

    def target(self, t):
        """Text of something of type `t` that can be assigned to, or nothing."""
        ways = [lambda name=name: name for name in self.targets(t)]
        if t == "f":
            ways += [lambda x=x: x + self.part(x[0]) for kind in "vms" for x in self.targets(kind)]
            ways += [lambda x=x: f"{x}[{self.index(3)}]" for x in self.targets("l")]
            ways += [lambda x=x: f"{x}[{self.number(0, 3)}]" for x in self.targets("w")]
        if t == "v":
            ways += [lambda x=x: f"{x}.v" for x in self.targets("s")]
        elements = self.places(t, ("own", "wild"))
        if elements and (not ways or not self.chance(3)):
            ways = elements
        return self.pick(*ways)() if ways else ""

    def only_target(self, t):
        """An element of an array that this statement alone will write, or nothing."""
        arrays = self.unspent({"f": (*NUMBER_ARRAYS, "g", "va", "sa"), "v": ("va",), "m": ("ma",)}[t])
        if not arrays or not self.chance(2):
            return ""
        name = self.pick(*arrays)
        self.spent.add(name)
        return self.element(name) + (self.part(name[0]) if t == "f" and name in ("va", "sa") else "")

    def unspent(self, names):
        return [a for a in self.with_role("once") if a in names and a not in self.spent] if not self.loops else []

    def stmt_assign(self):
        t = self.pick(*"fffvvm")
        text = self.value(t)
        self.write(f"{self.only_target(t) or self.target(t) or self.declare(t)} = {text}")

    def stmt_update(self):
        t = self.pick(*"ffffvm")
        target = self.only_target(t) or self.target(t)
        if not target:
            self.stmt_new()
        elif t != "f":
            self.write(f"{target} {self.pick('+', '-')}= {self.value(t)}")
        elif self.chance(4):
            self.write(f"{target} /= 2.0 + wp.sin({self.expr('f', 1)})")
        else:
            self.write(f"{target} {self.pick(*'+-*')}= {self.value('f')}")

    def stmt_number(self):
        """An integer that depends on integers."""
        known, text = self.targets("i"), f"({self.expr_i()}) & 7"
        self.write(f"{self.pick(*known) if known and self.chance(2) else self.declare('i')} = {text}")

    def stmt_sum(self):
        sums, peaks = self.with_role("sum"), self.with_role("peak")
        side = self.pick("near", "mine")
        if peaks and self.chance(2):
            name = f"wp.atomic_{self.pick('max', 'min')}({self.pick(*peaks)}"
            self.write(f"{name}, {side} + {self.index(3)}, {self.value('f')})")
        elif sums:
            name = f"wp.atomic_{self.pick('add', 'sub')}({self.pick(*sums)}"
            self.write(f"{name}, {side} + {self.index(3)}, {self.value('f')})")
        elif self.chance(2):
            self.write(f"loss[t // 2] += {self.value('f')}")
        else:
            self.write(f"wp.atomic_add(loss, t // 2, {self.expr('f')})")

    def stmt_record(self):
        """Whole structs, to and from memory."""
        known = self.names("s")
        if (self.roles["sa"] == "own" or self.unspent(("sa",))) and known and self.chance(2):
            self.spent.add("sa")
            self.write(f"{self.element('sa')} = {self.pick(*known)}")
        else:
            element = self.element("sa")
            self.write(f"{self.declare('s')} = {element}")

    def stmt_array(self):
        """A function that updates an array; a row of the 2-D array as an array."""
        own = [a for a in self.with_role("own") if a in NUMBER_ARRAYS]
        rows = self.targets("w")
        local = self.targets("l")
        if self.roles["g"] == "own" and not rows:
            self.write(f"{self.declare('w')} = g[t]")
        elif own and self.chance(2):
            text = f"damp({self.pick(*own)}, mine + {self.number(0, 3)}, {self.value('f')})"
            self.write(f"{self.declare('f')} = {text}")
        elif local or rows:
            text = f"damp({self.pick(*local, *rows)}, {self.number(0, 3)}, {self.value('f')})"
            self.write(f"{self.declare('f')} = {text}" if self.chance(2) else text)
        else:
            self.stmt_update()

    def stmt_several(self):
        """A function with several results, or a swap."""
        known = [f for f in self.functions if len(f[2]) > 1]
        if known and self.chance(2):
            name, params, results = self.pick(*known)
            text = f"{name}({self.arguments(params)})"
            self.write(f"{', '.join(self.target(t) or self.declare(t) for t in results)} = {text}")
        elif len(self.targets("f")) > 1:
            a, b = self.targets("f")[:2]
            self.write(f"{a}, {b} = {b}, {self.value('f')}")
        else:
            self.stmt_assign()

    # ----- control flow -----------------------------------------------------------------------

    def block(self, most=3, first=(), names=()):
        self.scopes.append(dict(names))
        self.depth += 1
        for line in first:
            self.write(line)
        for _ in range(self.number(1, most)):
            self.statement()
        self.depth -= 1
        self.scopes.pop()

    def stmt_branch(self):
        self.write(f"if {self.expr_b()}:")
        self.block()
        if self.chance(2):
            self.write("else:")
            self.block()

    def stmt_leave(self):
        """A guarded way out."""
        ways = ["break", "continue"] if self.loops else []
        if not ways or self.chance(4):
            ways = [f"return {self.results()}" if self.result else "return"]
        self.write(f"if {self.expr_b()}:")
        if self.chance(3):
            self.block(2)
        self.depth += 1
        self.write(self.pick(*ways))
        self.depth -= 1

    def stmt_loop(self):
        self.loops += 1
        self.stmt_while() if self.chance(3) else self.stmt_for()
        self.loops -= 1

    def stmt_for(self):
        some = f"({self.expr_i()}) & 3"
        whole = "n" if self.roles and self.loops == 1 else some
        ways = [*[whole] * 4, some, "3", "0", "4, -1, -2", f"{some}, 5", f"5, {some}, -1", f"0, 6, ({some}) + 1"]
        counter = self.fresh("i")
        self.frozen.add(counter)
        self.write(f"for {counter} in range({self.pick(*ways)}):")
        self.block(4, names={counter: "i"})

    def stmt_while(self):
        counter = self.declare("i")
        self.frozen.add(counter)
        self.write(f"{counter} = int(0)")
        condition = f"{counter} < {self.number(0, 5)}"
        if self.chance(3) and self.names("f"):
            condition += f" and {self.pick(*self.names('f'))} < {self.pick('1.0', '3.0')}"
        elif self.chance(3):
            condition = f"{counter} < (({self.expr_i()}) & 3) + 1 and {counter} < 6"
        self.write(f"while {condition}:")
        self.block(4, first=[f"{counter} += 1"])

    def stmt_sweep(self):
        """A loop over the elements of an array that updates each, perhaps from the one before or after it."""
        arrays = self.unspent((*NUMBER_ARRAYS, "g"))
        if not arrays:
            self.stmt_update()
            return
        name, counter = self.pick(*arrays), self.fresh("i")
        ways = [("4", ""), ("3, -1, -1", ""), ("1, 4", " - 1"), ("2, -1, -1", " + 1"), ("3", " + 1"), ("n & 3", "")]
        bounds, beside = self.pick(*ways)
        place = "{}[t, {}{}]" if name == "g" else "{}[mine + {}{}]"
        here, other = place.format(name, counter, ""), place.format(name, counter, beside)
        self.spent.add(name)
        self.frozen.add(counter)
        self.roles[name] = "hidden"  # other places may meet those that the loop writes
        self.write(f"for {counter} in range({bounds}):")
        self.loops += 1
        self.block(2, names={counter: "i"})
        self.depth += 1
        ways = [f"{here} = wp.sin({here}) * {other}", f"{here} += {other}", f"{here} *= wp.cos({other})"]
        self.write(f"{self.pick(*ways)} + {self.value('f')}")
        self.depth -= 1
        self.loops -= 1
        self.roles[name] = "once"

    # ----- functions, kernels, steps --------------------------------------------------------------

    def results(self):
        return ", ".join(self.value(t) for t in self.result)

    def body(self, budget):
        self.budget = budget
        self.depth += 1
        while self.budget > 0:
            self.statement()
        self.depth -= 1

    def function(self):
        name, params = self.fresh("fun"), self.pick("f", "ff", "fv", "vi", "fi")
        self.roles, self.result = {}, self.pick("f", "v", "ff", "fv")
        named = {self.fresh(t): t for t in params}
        self.scopes = [named]
        self.write("@wp.func")
        self.write(f"def {name}({', '.join(f'{x}: {NAMES[t]}' for x, t in named.items())}):")
        self.body(self.number(1, 4))
        self.write(f"    return {self.results()}\n\n")
        self.functions.append((name, params, self.result))
        self.result = ""

    def kernel(self, name, most):
        self.roles = {a: self.pick("own", "own", "once", "once", "read", "sum", "peak") for a in NUMBER_ARRAYS}
        self.roles |= {a: self.pick("own", "once", "read") for a in ("g", "va", "ma", "sa")}
        if self.chance(5):
            self.roles["q"] = self.roles["p"] = self.pick("own", "read")  # such may be one array
        if self.chance(WILD):
            self.roles["p"] = "wild"
        self.spent = set()
        self.frozen |= {"k"}
        self.scopes = [{"k": "i"}]
        self.write("@wp.kernel")
        self.write(f"def {name}({PARAMETERS}):")
        self.lines.append(PLACE_OF_THREAD.rstrip())
        for text in (self.leaf("f"), self.leaf("f")):
            self.write(f"    {self.declare('f')} = {text}")
        self.body(self.number(4, most))
        self.write(f"    wp.atomic_add(loss, t // 2, {self.value('f')})\n\n")
        return dict(self.roles)

    def step(self, kernels):
        """A launch on the memory in some order, seldom with one array twice; or a copy, or a fill."""
        if self.chance(6):
            return Launch(self.pick("copy", "fill"), (self.pick(*PLACES), self.pick(*PLACES)))
        name, roles = self.pick(*kernels.items())
        first = self.pick(*PLACES)
        second, third = (x for x in PLACES if x != first) if self.chance(2) else (x for x in PLACES[::-1] if x != first)
        if roles["p"] == roles["q"] and roles["p"] in ("own", "read") and self.chance(2):
            second = first
        n = LONG if self.chance(4) else self.number(0, 6)
        return Launch(name, (first, second, third), n)


@st.composite
def programs(draw, most=14):
    """Programs of one or two kernels and up to four steps; `most` bounds the statements of a kernel."""
    writer = Writer(draw)
    for _ in range(writer.number(0, 2) if writer.chance(2) else 0):
        writer.function()
    kernels = {}
    for k in range(1 + writer.chance(3)):
        kernels[f"kernel{k}"] = writer.kernel(f"kernel{k}", most)
    steps = tuple(writer.step(kernels) for _ in range(writer.number(1, 3)))
    first = Launch("kernel0", PLACES, writer.number(0, 5))
    return Program(HEADER + "\n".join(writer.lines), (first, *steps))
