"""Random simulations that vary what users vary: which arrays have gradients, how memory is reached, how steps run.

`program(seed)` is the text of a few kernels, which use `VOCABULARY`, and a plan: memories with or without gradient,
and steps on views of them. A step is a launch, a copy, a fill, an operation on whole arrays, a recorded launch, a
captured graph, or a checkpointed loop. Programs are free of races by construction. What a kernel does with a
parameter is its role.
own: thread t reads and writes element t. read: anybody reads any element. sum, peak: only atomics.
A parameter that is written has its memory to itself; those that are read may share theirs. All floats are float64.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FLOATS = ("A", "B", "C", "D", "E")  # memories of numbers; further ones: G of rows, V of vectors, P of extremes
MEMORIES = (*FLOATS, "G", "V", "P")
VIEWS = ("[:n]", "[1:n + 1]", "[n + 1:2 * n + 1]", "[:2 * n:2]", "[1:2 * n + 1:2]")
LONG = 70  # iterations: more than the reverse of a loop keeps states for
COUNTS = (1, 3, 17, 17, 17, 17, 17, 600)  # threads; 600 are enough for vector mathematics and for chunks

VOCABULARY = """\
@wp.struct
class Pack:
    p: wp.array(dtype=wp.float64)
    q: wp.array(dtype=wp.float64)
    k: wp.float64


@wp.func
def tame(x: wp.float64):
    return x / (1.0 + x * x)


@wp.func
def touch(a: wp.array(dtype=wp.float64), i: int, x: wp.float64):
    a[i] = a[i] * 0.5 + wp.sin(x)
    return a[i] * x


@wp.kernel
def total(a: wp.array(dtype=wp.float64), w: wp.float64, loss: wp.array(dtype=wp.float64)):
    t = wp.tid()
    wp.atomic_add(loss, 0, wp.sin(a[t] * w) + a[t] * (w - 0.3))


@wp.kernel
def total_rows(g: wp.array2d(dtype=wp.float64), v: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=wp.float64)):
    t = wp.tid()
    wp.atomic_add(loss, 0, wp.sin(g[t, 0]) - 0.7 * g[t, 1] + g[t, 1] * g[t, 2] + wp.dot(v[t], v[t]) + v[t][1])


"""
NUMBERS = "wp.array(dtype=wp.float64)"
PARAMETERS = (
    f"a: {NUMBERS}, b: {NUMBERS}, c: {NUMBERS}, x: wp.indexedarray(dtype=wp.float64), g: wp.array2d(dtype=wp.float64), "
    f"v: wp.array(dtype=wp.vec3d), s: Pack, o: {NUMBERS}, m: {NUMBERS}, idx: wp.array(dtype=int), "
    f"loss: {NUMBERS}, n: int"
)
SLOTS = {"a": "a", "b": "b", "c": "c", "x": "x", "s.p": "s.p", "s.q": "s.q", "o": "o"}  # where memories of numbers go


@dataclass(frozen=True)
class View:
    """A memory and how it is seen: one of `VIEWS`."""

    memory: str
    way: str = "[:n]"


@dataclass
class Step:
    """One step: its kind, the views that it works on by parameter, and what else there is to say."""

    kind: str
    views: dict[str, View | None] = field(default_factory=dict)
    kernel: str = ""
    n: int = 0
    number: float = 0.0
    steps: list[Step] = field(default_factory=list)
    times: int = 1
    inside: bool = True
    """Whether what is launched several times is made while the tape records."""


@dataclass
class Program:
    seed: int
    text: str
    threads: int
    graded: dict[str, bool]
    steps: list[Step]
    verify: bool
    deterministic: bool

    def __str__(self) -> str:
        lines = [f"# program({self.seed}), {self.threads} threads, gradients: {self.graded}"]
        return "\n".join([*lines, self.text, *(f"# {step}" for step in self.steps)])


class Writer:
    """Writes the text of one kernel."""

    def __init__(self, rng: random.Random, longest: int):
        self.rng, self.longest = rng, longest
        self.lines: list[str] = []
        self.depth = 1
        self.locals: list[str] = []
        self.serial = 0
        kinds = ("own", "own", "read", "read", "sum")
        self.roles = {name: rng.choice(kinds) for name in ("a", "b", "c", "x", "s.p", "s.q", "o", "g", "v")}
        self.roles["x"] = self.roles["x"].replace("sum", "own")
        self.peak = rng.choice(("min", "max"))
        self.guarded = False  # inside of `if o:`
        self.loops = 0

    def chance(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    # ----- expressions --------------------------------------------------------------------------

    def place(self) -> str:
        """An index that any thread may read at."""
        return self.rng.choice(("t", "idx[t]", "t - 1", "(t + 3) % n", "idx[t - 1]", "n - 1 - t"))

    def readable(self) -> list[str]:
        known = []
        for name, role in self.roles.items():
            if role == "sum" or (name == "o" and not self.guarded):
                continue
            at = "t" if role == "own" else self.place()
            if name == "g":
                known.append(f"g[{at}, {self.rng.randrange(3)}]")
            elif name == "v":
                known += [f"v[{at}][{self.rng.randrange(3)}]", f"wp.dot(v[{at}], v[{at}])"]
            else:
                known.append(f"{name}[{at}]")
        return known

    def leaf(self) -> str:
        ways = [*self.readable(), *self.locals, *self.locals, f"{self.rng.uniform(-1.5, 1.5):.3f}", "s.k"]
        return self.rng.choice(ways)

    def expr(self, depth: int = 2) -> str:
        if depth == 0 or self.chance(5):
            return self.leaf()
        one = lambda: self.expr(depth - 1)  # noqa: E731
        ways = (
            lambda: f"({one()} + {one()})", lambda: f"({one()} - {one()})", lambda: f"{one()} * {one()}",
            lambda: f"wp.{self.rng.choice(('sin', 'cos', 'tanh', 'atan'))}({self.typed(depth)})",
            lambda: f"wp.sqrt(1.5 + wp.sin({self.typed(depth)}))", lambda: f"wp.exp(tame({self.typed(depth)}))",
            lambda: f"wp.log(2.5 + wp.cos({self.typed(depth)}))", lambda: f"tame({self.typed(depth)})",
            lambda: f"wp.{self.rng.choice(('min', 'max'))}({self.typed(depth)}, {self.typed(depth)})",
            lambda: f"{one()} / (2.0 + wp.sin({self.typed(depth)}))",
        )  # fmt: skip
        return self.rng.choice(ways)()

    def typed(self, depth: int) -> str:
        """An expression that is a float64 whatever its leaves are: literals alone are weak."""
        return f"wp.float64({self.expr(depth - 1)})"

    def value(self) -> str:
        """An expression of bounded size."""
        return self.rng.choice(("tame({})", "wp.sin({})", "0.5 * wp.tanh({})")).format(self.typed(2))

    def condition(self) -> str:
        ways = ["idx[t] % 2 == 0", "t % 3 == 1", "n > 4", f"{self.typed(1)} > 0.1", f"{self.value()} < 0.3", "t > 0"]
        return self.rng.choice(ways)

    # ----- statements ---------------------------------------------------------------------------

    def statement(self) -> None:
        kinds = ["new", "assign", "own", "own", "own", "sum", "sum", "record"]
        if self.depth < 4:
            kinds += ["branch", "optional", *(["loop", "loop"] if self.loops < 2 else [])]
        if self.depth > 1:
            kinds += ["leave"]
        getattr(self, f"stmt_{self.rng.choice(kinds)}")()

    def stmt_new(self) -> None:
        name = f"r{self.serial}"
        self.serial += 1
        self.write(f"{name} = {self.value()}")
        self.locals.append(name)

    def stmt_assign(self) -> None:
        if self.locals:
            name = self.rng.choice(self.locals)
            self.write(f"{name} = {name} * 0.5 + {self.value()}" if self.chance(2) else f"{name} = {self.value()}")

    def owned(self) -> list[str]:
        return [k for k, role in self.roles.items() if role == "own" and (k != "o" or self.guarded)]

    def stmt_own(self) -> None:
        """Change an element of this thread's own."""
        owned = self.owned()
        if not owned:
            return
        name = self.rng.choice(owned)
        if name == "v":
            parts = f"wp.vec3d({self.value()}, {self.value()}, {self.value()})"
            self.write(f"v[t] = v[t] * 0.5 + {parts}" if self.chance(2) else f"v[t] = {parts}")
            return
        target = f"g[t, {self.rng.randrange(3)}]" if name == "g" else f"{name}[t]"
        if name in ("a", "b", "c") and self.chance(5):
            self.write(f"touch({name}, t, {self.value()})")
        elif self.chance(8) and name != "x":
            self.write(f"wp.atomic_add({name}, {target[len(name) + 1:-1]}, {self.value()})")
        else:
            way = self.rng.choice(("{0} = {1}", "{0} += {1}", "{0} *= {1}", "{0} = {0} * {1}", "{0} -= {0} * {1}"))
            self.write(way.format(target, self.value()))

    def stmt_sum(self) -> None:
        sums = [k for k, role in self.roles.items() if role == "sum" and k not in ("g", "v") and k != "o"]
        way = self.rng.randrange(4)
        if way == 0:
            apart = "0.001 * wp.float64(t)"  # threads that offer the same share the gradient as they like
            self.write(f"wp.atomic_{self.peak}(m, idx[t] % 4, {self.value()} + {apart})")
        elif sums and way < 3:
            name = self.rng.choice(sums)
            self.write(f"wp.atomic_{self.rng.choice(('add', 'sub'))}({name}, {self.place()}, {self.value()})")
        else:
            self.write(f"wp.atomic_add(loss, 0, {self.value()})")

    def stmt_record(self) -> None:
        """A row of the 2-D array as an array."""
        if self.roles["g"] == "own" and self.chance(2):
            self.write(f"row{self.serial} = g[t]")
            self.write(f"row{self.serial}[{self.rng.randrange(3)}] += {self.value()}")
            self.serial += 1

    def block(self, most: int) -> None:
        known = list(self.locals)
        self.depth += 1
        before = len(self.lines)
        for _ in range(self.rng.randint(1, most)):
            self.statement()
        if len(self.lines) == before or self.lines[-1].endswith(":"):
            self.write("pass")
        self.depth -= 1
        self.locals = known

    def stmt_branch(self) -> None:
        self.write(f"if {self.condition()}:")
        self.block(3)
        if self.chance(2):
            self.write("else:")
            self.block(2)

    def stmt_optional(self) -> None:
        """Use the array that may be None."""
        if self.guarded:
            return
        self.write(self.rng.choice(("if o:", "if o is not None:")))
        self.guarded = True
        self.block(3)
        self.guarded = False
        if self.chance(2):
            self.write("else:")
            self.block(1)

    def stmt_leave(self) -> None:
        ways = ["return", *(["break", "continue"] if self.loops else [])]
        self.write(f"if {self.condition()}:")
        self.write(f"    {self.rng.choice(ways)}")

    def stmt_loop(self) -> None:
        name = f"i{self.serial}"
        self.serial += 1
        self.loops += 1
        count = self.rng.choice(("3", "idx[t] % 5", "n % 4", "2", str(self.longest) if self.loops == 1 else "2", "0"))
        if self.chance(4):
            self.write(f"{name} = int(0)")
            self.write(f"while {name} < {count}:")
            self.write(f"    {name} += 1")
        else:
            self.write(f"for {name} in range({count}):")
        self.block(3)
        self.loops -= 1

    def text(self, name: str) -> str:
        self.lines = ["@wp.kernel", f"def {name}({PARAMETERS}):", "    t = wp.tid()"]
        for _ in range(self.rng.randint(3, 8)):
            self.statement()
        self.write(f"wp.atomic_add(loss, 0, {self.value()})")
        return "\n".join(self.lines) + "\n\n\n"


# ----- plans ----------------------------------------------------------------------------------------


def bound(rng: random.Random, roles: dict[str, str]) -> dict[str, View | None]:
    """A memory for every parameter: one of its own where it is written, any of the others where it is read."""
    names = list(FLOATS)
    rng.shuffle(names)
    written = [slot for slot in SLOTS if roles[slot] != "read"]
    views: dict[str, View | None] = {}
    for slot in written:
        views[slot] = View(names.pop(), rng.choice(VIEWS)) if len(names) > 1 else None
    for slot in SLOTS:
        if slot not in views:
            views[slot] = View(rng.choice(names), rng.choice(VIEWS))
    if rng.randrange(3) == 0:
        views["o"] = None
    return views


def launch(rng: random.Random, kernels: dict[str, dict[str, str]], counts: int) -> Step | None:
    name, roles = rng.choice(list(kernels.items()))
    views = bound(rng, roles)
    if any(view is None for slot, view in views.items() if slot != "o"):
        return None  # more parameters are written than there are memories
    return Step("launch", views, name, counts)


def step(rng: random.Random, kernels: dict[str, dict[str, str]], n: int, plain: bool = False) -> Step | None:
    """One step; a plain one may stand in a graph."""
    kinds = ["launch"] * 5 + ["copy", "fill", "zero"]
    if not plain:
        kinds += ["assign", "clone", "scan", "sum", "inner", "command", "command", "graph", "graph", "checkpoint"]
    kind = rng.choice(kinds)
    if kind == "launch":
        return launch(rng, kernels, n)
    first, second = rng.sample(FLOATS, 2)
    views = {"to": View(first, rng.choice(VIEWS)), "of": View(second, rng.choice(VIEWS))}
    if kind in ("command", "checkpoint"):
        inner = launch(rng, kernels, n)
        return inner and Step(kind, steps=[inner], times=rng.randint(1, 3), inside=rng.random() < 0.5)
    if kind == "graph":
        several = [step(rng, kernels, n, plain=True) for _ in range(rng.randint(1, 3))]
        inside, times, kept = rng.random() < 0.5, rng.randint(1, 2), [s for s in several if s is not None]
        return Step(kind, steps=kept, times=times, inside=inside) if kept else None
    return Step(kind, views, number=rng.uniform(-1.0, 1.0))


def program(seed: int) -> Program:
    """The program of this number."""
    rng = random.Random(seed)
    texts, kernels = [], {}
    n = rng.choice(COUNTS)
    for k in range(rng.randint(1, 2)):
        writer = Writer(rng, LONG if n < 100 else 3)
        texts.append(writer.text(f"kernel{k}"))
        kernels[f"kernel{k}"] = writer.roles
    steps = [step(rng, kernels, n) for _ in range(rng.randint(1, 4 if n < 100 else 2))]
    share = rng.choice((0.3, 0.7, 0.7, 1.0))
    graded = {name: rng.random() < share for name in MEMORIES}
    kept = [s for s in steps if s is not None]
    return Program(seed, "".join(texts), n, graded, kept, rng.random() < 0.2, rng.random() < 0.2)
