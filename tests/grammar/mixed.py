"""The dialect of simulations, which vary what users vary: what has gradients, how memory is reached, how steps run.

`program(seed)` is the text of a few kernels, which use `VOCABULARY`, and a plan: memories with or without gradient,
and steps on views of them. A step is a launch, a copy, a fill, an operation on whole arrays, a recorded launch, a
captured graph, or a checkpointed loop. Programs are free of races by construction. What a kernel does with a
parameter is its role.
own: a thread reads and writes its elements. read: anybody reads any element. sum, peak: only atomics. idle: nothing.
A parameter that is written has its memory to itself; those that are read may share theirs. All floats are float64.

`apart(seed)` has threads with two elements each of the few arrays that its kernels use, and every kind of atomic on
them: then any of the arrays may have gradients or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from grammar.writer import Choices, Writer, seeded

FLOATS = ("A", "B", "C", "D", "E")  # memories of numbers; further ones: G of rows, V of vectors, P of extremes
MEMORIES = (*FLOATS, "G", "V", "P")
VIEWS = ("[:n]", "[1:n + 1]", "[n + 1:2 * n + 1]", "[:2 * n:2]", "[1:2 * n + 1:2]")
LONG = 70  # iterations: more than the reverse of a loop keeps states for
COUNTS = (1, 3, 17, 17, 17, 17, 17, 600)  # threads; 600 are enough for vector mathematics and for chunks
OWNED = ("2 * t", "2 * t", "2 * t + 1")  # the elements of a thread that has two

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
SLOTS = ("a", "b", "c", "x", "s.p", "s.q", "o")  # where memories of numbers go
PLACES = ("t", "idx[t]", "t - 1", "(t + 3) % n", "idx[t - 1]", "n - 1 - t")  # where any thread may read


@dataclass(frozen=True)
class View:
    """A memory and how it is seen: one of `VIEWS`."""

    memory: str
    way: str = "[:n]"


Views = dict[str, "View | None"]


@dataclass
class Step:
    """One step: its kind, the views that it works on by parameter, and what else there is to say."""

    kind: str
    views: Views = field(default_factory=dict)
    kernel: str = ""
    number: float = 0.0
    steps: list[Step] = field(default_factory=list)
    times: int = 1
    inside: bool = True
    """Whether what is launched several times is made while the tape records."""


@dataclass
class Program:
    """threads: how many a launch has; elements: of each array that it is given."""

    seed: int
    text: str
    threads: int
    elements: int
    graded: dict[str, bool]
    steps: list[Step]
    verify: bool = False
    deterministic: bool = False

    def with_gradients(self, names) -> Program:
        """The same with gradients of these memories alone."""
        return replace(self, graded={name: name in names for name in MEMORIES})

    def __str__(self) -> str:
        lines = [f"# program({self.seed}), {self.threads} threads, gradients: {self.graded}"]
        return "\n".join([*lines, self.text, *(f"# {step}" for step in self.steps)])


class Kernel(Writer):
    """Writes one kernel. roles: by parameter; longest: how many iterations a loop may have."""

    FORMS: ClassVar = {
        "f": (
            "{f} {:+ -} {f}",
            "{f} {:+ -} {f}",
            "{f} * {f}",
            "wp.{:sin cos tanh atan}({f})",
            "wp.sqrt(1.5 + wp.sin({f}))",
            "wp.exp(tame({f}))",
            "wp.log(2.5 + wp.cos({f}))",
            "tame({f})",
            "wp.{:min max}({f}, {f})",
            "{f} / (2.0 + wp.sin({f}))",
        ),
        "b": ("idx[t] % 2 == 0", "t % 3 == 1", "n > 4", "{f} > 0.1", "{kept} < 0.3", "t > 0"),
    }
    VALUES: ClassVar = {"f": ("tame({f})", "wp.sin({f})", "0.5 * wp.tanh({f})")}
    CONDITIONS = ("", " and n > 4", " - t % 2")
    MOST = 3

    def __init__(self, number, roles, longest):
        super().__init__(number)
        self.roles, self.longest, self.in_kernel = roles, longest, True
        self.own = ("t",)
        self.peak = self.pick("min", "max")
        self.guarded = False  # inside of `if o:`

    # ----- expressions ------------------------------------------------------------------------

    def with_role(self, *roles):
        return [k for k, role in self.roles.items() if role in roles and (k != "o" or self.guarded)]

    def readable(self):
        ways = []
        for name in self.with_role("own", "read"):
            at = self.pick(*(self.own if self.roles[name] == "own" else PLACES))
            if name == "g":
                ways.append(f"g[{at}, {{0..2}}]")
            else:
                ways += [f"v[{at}][{{0..2}}]", f"wp.dot(v[{at}], v[{at}])"] if name == "v" else [f"{name}[{at}]"]
        return ways

    def leaf(self, t):
        if t == "b":
            return self.expr("b", 1)
        literal = f"wp.float64({self.number(-1500, 1500) / 1000})"
        return self.fill(self.pick(*self.readable(), *self.names("f") * 2, literal, "s.k"))

    def some_kept(self, depth):
        return self.value("f", depth)

    # ----- statements -------------------------------------------------------------------------

    def kinds(self):
        kinds = ["new", "assign", "own", "own", "own", "sum", "sum", "row"]
        if self.depth < 4:
            kinds += ["branch", *(["for", "while"] if self.loops < 2 else [])]
            kinds += ["optional"] if self.roles["o"] != "idle" and not self.guarded else []
        return kinds + (["leave"] if self.depth > 1 else [])

    def stmt_new(self):
        text = self.value("f")
        self.write(f"{self.declare('f')} = {text}")

    def stmt_assign(self):
        if self.names("f"):
            name = self.pick(*self.names("f"))
            self.write(f"{name} = {self.pick('', f'{name} * 0.5 + ')}{self.value('f')}")

    def stmt_own(self):
        """Change an element of this thread's own."""
        owned = self.with_role("own")
        if not owned:
            return
        name, at = self.pick(*owned), self.pick(*self.own)
        if name == "v":
            parts = f"wp.vec3d({self.value('f')}, {self.value('f')}, {self.value('f')})"
            self.write(f"v[{at}] = {self.pick('', f'v[{at}] * 0.5 + ')}{parts}")
            return
        target = f"g[{at}, {self.number(0, 2)}]" if name == "g" else f"{name}[{at}]"
        if name in ("a", "b", "c") and self.chance(5):
            self.write(f"touch({name}, {at}, {self.value('f')})")
        elif self.chance(8) and name != "x":
            self.write(f"wp.atomic_add({name}, {target[len(name) + 1 : -1]}, {self.value('f')})")
        else:
            way = self.pick("{0} = {1}", "{0} += {1}", "{0} *= {1}", "{0} = {0} * {1}", "{0} -= {0} * {1}")
            self.write(way.format(target, self.value("f")))

    def stmt_sum(self):
        sums = [name for name in self.with_role("sum") if name not in ("g", "v", "o")]
        way = self.number(0, 3)
        if way == 0:
            apart = "0.001 * wp.float64(t)"  # threads that offer the same share the gradient as they like
            self.write(f"wp.atomic_{self.peak}(m, idx[t] % 4, {self.value('f')} + {apart})")
        elif sums and way < 3:
            place = f"{self.pick(*sums)}, {self.pick(*PLACES)}"
            self.write(f"wp.atomic_{self.pick('add', 'sub')}({place}, {self.value('f')})")
        else:
            self.write(f"wp.atomic_add(loss, 0, {self.value('f')})")

    def stmt_row(self):
        """A row of the 2-D array as an array."""
        if self.roles["g"] == "own":
            row = self.fresh("row")
            self.write(f"{row} = g[{self.pick(*self.own)}]")
            self.write(f"{row}[{self.number(0, 2)}] += {self.value('f')}")

    def stmt_optional(self):
        """Use the array that may be None."""
        self.write(self.pick("if o:", "if o is not None:"))
        self.guarded = True
        self.block(3)
        self.guarded = False
        if self.chance(2):
            self.write("else:")
            self.block(1)

    def bounds(self):
        longest = str(self.longest) if self.loops == 1 else "2"
        return ("3", "idx[t] % 5", "n % 4", "2", longest, longest, "0")

    def text(self, name):
        self.lines = ["@wp.kernel", f"def {name}({PARAMETERS}):", "    t = wp.tid()"]
        self.depth = 1
        for _ in range(self.number(3, 8)):
            self.statement()
        self.write(f"wp.atomic_add(loss, 0, {self.value('f')})")
        return "\n".join(self.lines) + "\n\n\n"


class OwnKernel(Kernel):
    """A kernel whose threads have two elements each of every array that it uses."""

    MOST = 2
    FORMS: ClassVar = {"f": Kernel.FORMS["f"], "b": ("{f} < {f}",)}

    def __init__(self, number, used):
        super().__init__(number, {name: "own" if name in used else "idle" for name in (*SLOTS, "g", "v")}, 0)
        self.own, self.guarded = OWNED, True

    def kinds(self):
        kinds = ["new", *["own"] * 5, "atomic", "atomic", "row"]
        return kinds + (["branch", "for"] if self.depth < 3 else [])

    def bounds(self):
        return ("2", "n", "n")

    def stmt_atomic(self):
        """An atomic, of which only the thread itself sees what it returns."""
        names = [name for name in self.with_role("own") if name not in ("g", "v")]
        if not names:
            return
        kind, name = self.pick(*["add"] * 5, *["sub"] * 3, "min", "max", "exch"), self.pick(*names)
        call = f"wp.atomic_{kind}({name}, {self.pick(*self.own)}, {self.value('f')})"
        self.write(call if not self.chance(5) else f"{self.declare('f')} = {call}")


# ----- plans ----------------------------------------------------------------------------------------


class Plan(Choices):
    """Makes the steps of a program. kernels: the roles of the parameters of each, by its name."""

    def __init__(self, number, kernels):
        super().__init__(number)
        self.kernels = kernels

    def view(self, name):
        return View(name, self.pick(*VIEWS))

    def bound(self, roles) -> Views:
        """A memory for every parameter: one of its own where it is written, any of the others where it is not."""
        names = self.sample(FLOATS, len(FLOATS))
        views: Views = {}
        for slot in sorted(SLOTS, key=lambda slot: roles[slot] in ("read", "idle")):
            if roles[slot] in ("read", "idle"):
                views[slot] = self.view(self.pick(*names))
            else:
                views[slot] = self.view(names.pop()) if len(names) > 1 else None
        return views

    def launch(self):
        name, roles = self.pick(*self.kernels.items())
        views = self.bound(roles)
        if self.chance(3):
            views["o"] = None
        if any(view is None for slot, view in views.items() if slot != "o"):
            return None  # more parameters are written than there are memories
        return Step("launch", views, name)

    def step(self, plain=False):
        """One step, or none; a plain one may stand in a graph."""
        kinds = ["launch"] * 5 + ["copy", "fill", "zero"]
        if not plain:
            kinds += ["assign", "clone", "scan", "sum", "inner", "command", "command", "graph", "graph", "checkpoint"]
        kind = self.pick(*kinds)
        if kind == "launch":
            return self.launch()
        if kind in ("command", "checkpoint"):
            inner = self.launch()
            return inner and Step(kind, steps=[inner], times=self.number(1, 3), inside=self.chance(2))
        if kind == "graph":
            steps = [s for s in (self.step(plain=True) for _ in range(self.number(1, 3))) if s is not None]
            return Step(kind, steps=steps, times=self.number(1, 2), inside=self.chance(2)) if steps else None
        first, second = self.sample(FLOATS, 2)
        views: Views = {"to": self.view(first), "of": self.view(second)}
        return Step(kind, views, number=self.number(-1000, 1000) / 1000)


def program(seed: int) -> Program:
    """The program of this number."""
    number = seeded(seed)
    choices, texts, kernels = Choices(number), [], {}
    n = choices.pick(*COUNTS)
    for k in range(number(1, 2)):
        roles = {name: choices.pick("own", "own", "read", "read", "sum") for name in (*SLOTS, "g", "v")}
        roles["x"] = roles["x"].replace("sum", "own")
        texts.append(Kernel(number, roles, LONG if n < 100 else 3).text(f"kernel{k}"))
        kernels[f"kernel{k}"] = roles
    plan = Plan(number, kernels)
    steps = [s for _ in range(number(1, 4 if n < 100 else 2)) if (s := plan.step()) is not None]
    share = choices.pick(3, 7, 7, 10)
    graded = {name: number(1, 10) <= share for name in MEMORIES}
    return Program(seed, "".join(texts), n, n, graded, steps, choices.chance(5), choices.chance(5))


def apart(seed: int) -> tuple[Program, list[str]]:
    """A program of threads that have two elements each of every array, and the memories that its kernels use."""
    number = seeded(seed)
    choices = Choices(number)
    used = choices.sample((*SLOTS, "g", "v"), number(3, 4))
    plan = Plan(number, {})
    views = plan.bound({slot: "own" if slot in used else "idle" for slot in SLOTS})
    if "a" in used and "b" in used and choices.chance(3):
        views["b"] = views["a"]  # one array under two names
    set_by_host = [views[slot] for slot in used if slot in SLOTS and slot != "x"]
    texts, steps = [], []
    for k in range(choices.pick(1, 1, 2, 3)):
        texts.append(OwnKernel(number, used).text(f"kernel{k}"))
        steps.append(Step("launch", views, f"kernel{k}"))
        if set_by_host and choices.chance(3):
            to, of = choices.pick(*set_by_host), choices.pick(*set_by_host)
            kind = "fill" if to is of or choices.chance(2) else "copy"
            steps.append(Step(kind, {"to": to, "of": of}, number=number(200, 1000) / 1000))
    memories = {view.memory for slot, view in views.items() if slot in used} | ({"g", "v"} & {*used})
    return Program(seed, "".join(texts), 3, 6, {}, steps), sorted(name.upper() for name in memories)
