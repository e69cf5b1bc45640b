"""The dialect of smooth programs: functions, kernels, and a list of launches on shared memory, all differentiable.

What is assigned is bounded by `tame` functions, loops end, branches decide mostly on integers. A thread writes only
what it owns, elements `mine` to `mine + 3`; what its neighbour owns (`near`) it reads where nobody writes, and adds to
where nobody reads. Types: f float64, v vec3d, m mat22d, i int, b condition; s struct S, l local array, w row of `g`.

What a kernel does with an array is its role. own: elements at constant places are read and written at will. once: any
element is read, but one statement of the kernel alone writes, be it a loop over all elements. wild: elements at places
that only the run knows are read and written at will, which may be refused. read: nobody writes. sum, peak: only
atomics. Most programs are differentiable, then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from grammar.writer import Writer, drawn
from hypothesis import strategies as st

NUMBER_ARRAYS = ("p", "q", "r")
PLACES = ("a", "b", "c")  # memory that the parameters p, q, r stand for, in any order
WILD = 20  # one kernel of so many has an array in the role wild
LONG = 70  # iterations: more than the reverse of a loop keeps states for
PARTS = {"v": "{:.x .y .z [1]}", "m": "{:[0,1] [1,1]}", "s": "{:.x .v.y .v[2]}"}
CHOSEN_PARTS = {"v": "[{index 1}]", "m": "[{index 1}, 0]", "s": ".x"}
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
    k = ints[t]"""


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


class Text(Writer):
    NAMES: ClassVar = {"f": "wp.float64", "v": "wp.vec3d", "i": "int"}
    FORMS: ClassVar = {
        "f": (
            "{f} {:+ - *} {f}", "{f} * {f}", "wp.{:sin cos tanh atan}({f})", "{f} / (1.5 + wp.sin({f}))",
            "wp.exp(wp.sin({f}))", "wp.dot({v}, {v})", "wp.ddot({m}, {m.})", "{f} if {b} else {f}",
            "wp.where({b}, {f}, {f})", "wp.{:min max}({f}, {f})", "-{f}", "wp.float64({i} & 3) * {f}", "tame_f({f})",
            "wp.length({v} + wp.vec3d(4.0, 0.0, 0.0))", "{call f}",
        ),
        "v": (
            "{v} {:+ -} {v}", "{v} * {f}", "wp.{:cross cw_mul}({v}, {v})", "wp.vec3d({f}, {f}, {f})", "tame_v({v})",
            "{v} if {b} else {v}", "{call v}",
        ),
        "m": (
            "{m} {:+ - *} {m}", "wp.transpose({m})", "{f} * {m}", "tame_m({m})", "wp.mat22d({f}, {f.}, {f}, {f.})",
        ),
        "i": ("{i.}", "{i.} {:+ - *} {i.}"),
        "b": ("{f.} {:< >} {f.}", *["({one_i} & 3) {:< >= == !=} {0..3}"] * 4),
    }  # fmt: skip
    VALUES: ClassVar = {
        "f": ("tame_f({f})", "wp.sin({f})", "wp.tanh({f})", "0.5 * wp.cos({f})"),
        "v": ("tame_v({v})",),
        "m": ("tame_m({m})",),
        "i": ("{i}",),
        "s": ("S(x=wp.sin({f}), n={one_i}, v=tame_v({v}))",),
        "l": ("wp.zeros(shape=4, dtype=wp.float64)",),
    }
    BOUNDS = ("{one_i} & 3", "3", "0", "4, -1, -2", "{one_i} & 3, 5", "5, {one_i} & 3, -1", "0, 6, ({one_i} & 3) + 1")
    CONDITIONS = ("", "", " and {f.} < {:1.0 3.0}", " and {f.} < {:1.0 3.0}", " + ({one_i} & 1)")

    def __init__(self, number):
        super().__init__(number)
        self.spent: set[str] = set()  # arrays with the role once that have been written
        self.roles: dict[str, str] = {}  # what the kernel being written may do with its arrays; empty: a function

    # ----- places in memory -------------------------------------------------------------------

    def with_role(self, *roles):
        return [name for name, role in self.roles.items() if role in roles]

    def some_one_i(self, depth):
        """An integer, of depth one whatever is around it."""
        return self.expr("i", 1)

    def some_index(self, depth, mask):
        """An index up to `mask`: a constant, or what an integer says."""
        return self.fill(self.pick(f"{{0..{mask}}}", f"({{one_i}} & {mask})"))

    def element(self, name):
        """An element that the thread owns, or, where nobody writes, perhaps one of its neighbour."""
        role = self.roles[name]
        far = role == "read" and self.chance(2)
        most = 3 if name == "g" or name in NUMBER_ARRAYS else 1
        at = str(self.number(0, most)) if role == "own" else self.some_index(1, most)
        if name == "g":
            return f"g[{'mate' if far else 't'}, {at}]"
        place = ("near" if far else "mine") if most == 3 else f"{'mate' if far else 't'} * 2"
        return f"{name}[{place} + {at}]"

    def places(self, t, roles):
        """Everything of a type in memory that can be read or assigned: makers of text."""
        arrays = self.with_role(*roles)
        named = {"f": [*NUMBER_ARRAYS, "g"], "v": ["va"], "m": ["ma"], "s": ["sa"]}.get(t, [])
        ways = [lambda a=a: self.element(a) for a in named if a in arrays]
        if t == "f":
            ways += [lambda a=a: self.element(a) + self.part(a[0]) for a in ("va", "ma", "sa") if a in arrays]
        if t == "v" and "sa" in arrays:
            ways.append(lambda: self.element("sa") + ".v")
        return ways

    def part(self, kind):
        """From a vector, matrix or struct to one of its numbers."""
        return self.fill((CHOSEN_PARTS if self.chance(4) else PARTS)[kind])

    def inside(self, t, names):
        """The parts of type `t` of locals, which `names` finds by their type: makers of text."""
        ways = []
        if t == "f":
            ways += [lambda x=x: x + self.part(x[0]) for kind in "vms" for x in names(kind)[-2:]]
            ways += [lambda x=x: f"{x}[{self.some_index(1, 3)}]" for x in names("l")]
            ways += [lambda x=x: f"{x}[{self.number(0, 3)}]" for x in names("w")]
        return ways + ([lambda x=x: f"{x}.v" for x in names("s")] if t == "v" else [])

    def leaf(self, t):
        known = self.names(t)
        if t == "b":
            return self.expr("b", 1)
        if t == "i":
            return self.pick(*known * 3, "1", "2", "3")
        if known and self.chance(3):
            return self.pick(*known)
        ways = [lambda name=name: name for name in known] + self.inside(t, self.names)
        ways += self.places(t, ("own", "read", "once", "wild"))
        if ways and not (t == "f" and self.chance(6)):
            return self.pick(*ways)()
        literal = {"f": "wp.float64({:0.5 -0.75 1.25 0.1 -1.5 2.0})", "v": "wp.vec3d({f.}, {f.}, {f.})"}
        return self.fill(literal.get(t, "wp.mat22d({f.}, {f.}, {f.}, {f.})"))

    # ----- statements -------------------------------------------------------------------------

    def kinds(self):
        kinds = ["new", "assign", "assign", "update", "update", "number"]
        if self.roles:
            kinds += ["assign", "update", "sum", "record", "array", *(["sweep"] * 2 if not self.loops else [])]
        if self.budget > 0:
            kinds += ["branch", "leave", "call", *["for", "for", "while"] * (3, 1, 0, 0)[self.loops]]
        return kinds

    def stmt_new(self):
        t = self.pick(*"ffvmsl")
        text = self.value(t)
        self.write(f"{self.declare(t)} = {text}")

    def target(self, t):
        """Text of something of type `t` that can be assigned to, or nothing."""
        ways = [lambda name=name: name for name in self.targets(t)] + self.inside(t, self.targets)
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
        elif t == "f" and self.chance(4):
            self.write(self.fill(f"{target} /= 2.0 + wp.sin({{f}})"))
        else:
            self.write(f"{target} {self.pick(*('+-*' if t == 'f' else '+-'))}= {self.value(t)}")

    def stmt_number(self):
        """An integer that depends on integers."""
        known, text = self.targets("i"), f"({self.expr('i', 1)}) & 7"
        self.write(f"{self.pick(*known) if known and self.chance(2) else self.declare('i')} = {text}")

    def stmt_sum(self):
        sums, peaks = self.with_role("sum"), self.with_role("peak")
        ways = [f"wp.atomic_{{:max min}}({a}, {{:near mine}} + {{index 3}}, " for a in peaks]
        ways += [f"wp.atomic_{{:add sub}}({a}, {{:near mine}} + {{index 3}}, " for a in sums]
        ways = ways or ["wp.atomic_add(loss, t // 2, "]
        self.write(self.fill(self.pick(*ways)) + self.value("f") + ")")

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
        places = [f"{a}, mine + {{0..3}}" for a in self.with_role("own") if a in NUMBER_ARRAYS]
        places += [f"{a}, {{0..3}}" for a in (*self.targets("l"), *self.targets("w"))]
        if self.roles["g"] == "own" and not self.targets("w"):
            self.write(f"{self.declare('w')} = g[t]")
        elif places:
            text = f"damp({self.fill(self.pick(*places))}, {self.value('f')})"
            self.write(f"{self.declare('f')} = {text}" if self.chance(2) else text)
        else:
            self.stmt_update()

    def bounds(self):
        return (*["n"] * 6, *self.BOUNDS) if self.roles and self.loops == 1 else self.BOUNDS

    def stmt_sweep(self):
        """A loop over the elements of an array that updates each, perhaps from the one before or after it."""
        arrays = self.unspent((*NUMBER_ARRAYS, "g"))
        if not arrays:
            self.stmt_update()
            return
        name, counter = self.pick(*arrays), self.counter()
        ways = [("4", ""), ("3, -1, -1", ""), ("1, 4", " - 1"), ("2, -1, -1", " + 1"), ("3", " + 1"), ("n & 3", "")]
        bounds, beside = self.pick(*ways)
        here, other = (f"g[t, {counter}{x}]" if name == "g" else f"{name}[mine + {counter}{x}]" for x in ("", beside))
        self.spent.add(name)
        self.roles[name] = "hidden"  # other places may meet those that the loop writes
        self.write(f"for {counter} in range({bounds}):")
        self.loops += 1
        self.block(2, names={counter: "i"})
        ways = [f"{here} = wp.sin({here}) * {other}", f"{here} += {other}", f"{here} *= wp.cos({other})"]
        self.write(f"    {self.pick(*ways)} + {self.value('f')}")
        self.loops -= 1
        self.roles[name] = "once"

    # ----- kernels, steps ---------------------------------------------------------------------

    def kernel(self, name, most):
        self.roles = {a: self.pick("own", "own", "once", "once", "read", "sum", "peak") for a in NUMBER_ARRAYS}
        self.roles |= {a: self.pick("own", "once", "read") for a in ("g", "va", "ma", "sa")}
        if self.chance(5):
            self.roles["q"] = self.roles["p"] = self.pick("own", "read")  # such may be one array
        if self.chance(WILD):
            self.roles["p"] = "wild"
        self.spent, self.in_kernel, self.scopes = set(), True, [{"k": "i"}]
        self.frozen.add("k")
        self.lines += ["@wp.kernel", f"def {name}({PARAMETERS}):", PLACE_OF_THREAD]
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
        first, second, third = self.sample(PLACES, 3)
        if roles["p"] == roles["q"] and roles["p"] in ("own", "read") and self.chance(2):
            second = first
        return Launch(name, (first, second, third), LONG if self.chance(4) else self.number(0, 6))


@st.composite
def programs(draw, most=14):
    """Programs of one or two kernels and up to four steps; `most` bounds the statements of a kernel."""
    text = Text(drawn(draw))
    for _ in range(text.number(0, 2) if text.chance(2) else 0):
        text.function(text.pick("f", "ff", "fv", "vi", "fi"), text.pick("f", "v", "ff", "fv"), text.number(1, 4))
    kernels = {}
    for k in range(1 + text.chance(3)):
        kernels[f"kernel{k}"] = text.kernel(f"kernel{k}", most)
    steps = tuple(text.step(kernels) for _ in range(text.number(1, 3)))
    first = Launch("kernel0", PLACES, text.number(0, 5))
    return Program(HEADER + "\n".join(text.lines), (first, *steps))
