"""Runs a random simulation (`grammar.mixed`) by warpsim on a tape, and by the Python twin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import twin
from dead_code import accesses
from grammar.mixed import FLOATS, MEMORIES, SLOTS, VOCABULARY
from kernel_text import module

import warpsim as wp


@dataclass
class Result:
    """What a run left behind: contents and gradients by name of memory; None for no gradient."""

    loss: float
    contents: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray | None]
    refused: bool = False
    """Whether there is an array whose gradient is refused, as it was set twice."""
    given: tuple[str, ...] = ()
    """The memories whose gradients are those of constants that were set."""


WARPSIM = module(VOCABULARY, {"wp": wp})
TWIN = module(VOCABULARY, {"wp": twin.LANGUAGE})


@lru_cache(maxsize=4)
def compiled(text, by_twin):
    """The kernels of a program, the same ones when it runs again."""
    return module(text, TWIN if by_twin else WARPSIM)


def start(program):
    """First contents of all memories, an eighth of it zeros, and a permutation that kernels use as indices."""
    rng = np.random.default_rng(program.seed)
    n = program.elements
    shapes = {"G": (n, 3), "V": (n, 3), "P": (4,)}
    contents = {name: rng.uniform(-1.2, 1.2, shapes.get(name, (2 * n + 1,))) for name in MEMORIES}
    numbers = rng.permutation(n).astype(np.int32)
    return {name: np.where(rng.random(x.shape) < 0.125, 0.0, x) for name, x in contents.items()}, numbers


def sliced(array, way, n):
    """The view of an array that a piece of text names."""
    parts = [None if not part else eval(part, {"n": n}) for part in way[1:-1].split(":")]
    return array[slice(*parts)]


class Run:
    """The steps of a program on memories of one kind; subclasses say what an operation is."""

    def __init__(self, program, contents, numbers):
        self.program, self.n = program, program.elements
        self.numbers = numbers

    def view(self, view):
        return None if view is None else sliced(self.memories[view.memory], view.way, self.n)

    def arguments(self, step):
        views = {slot: self.view(view) for slot, view in step.views.items()}
        pack = self.pack(views["s.p"], views["s.q"])
        rest = (self.memories["G"], self.memories["V"], pack, views["o"], self.memories["P"])
        picked = self.picked(views["x"])
        return [views["a"], views["b"], views["c"], picked, *rest, self.idx, self.loss, self.n]

    def do(self, step):
        getattr(self, f"do_{step.kind}")(step)

    def do_launch(self, step):
        self.launch(self.kernels[step.kernel], self.program.threads, self.arguments(step))

    def finish(self):
        """Everything that the steps left behind, each memory with a weight of its own."""
        for k, name in enumerate((*FLOATS, "P")):
            memory = self.memories[name]
            self.launch(self.kernels["total"], memory.shape[0], [memory, self.float(0.4 + 0.1 * k), self.loss])
        self.launch(self.kernels["total_rows"], self.n, [self.memories["G"], self.memories["V"], self.loss])


# ----- warpsim --------------------------------------------------------------------------------------


class RealRun(Run):
    def __init__(self, program, contents, numbers):
        super().__init__(program, contents, numbers)
        self.kernels = compiled(program.text, False)
        dtypes = {"V": wp.vec3d}
        self.memories = {
            name: wp.array(x, dtype=dtypes.get(name, wp.float64), requires_grad=program.graded[name])
            for name, x in contents.items()
        }
        self.first = dict(self.memories)
        self.idx = wp.array(numbers, dtype=int)
        self.picks = wp.array(numbers[::-1].copy(), dtype=int)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.float = wp.float64
        self.made = {}

    def pack(self, p, q):
        pack = self.kernels["Pack"]()
        pack.p, pack.q, pack.k = p, q, wp.float64(0.6)
        return pack

    def picked(self, view):
        return wp.indexedarray(view, [self.picks])

    def launch(self, kernel, n, args):
        wp.launch(kernel, dim=n, inputs=args, deterministic=self.program.deterministic or None)

    def do_copy(self, step):
        wp.copy(self.view(step.views["to"]), self.view(step.views["of"]))

    def do_fill(self, step):
        self.view(step.views["to"]).fill_(step.number)

    def do_zero(self, step):
        self.view(step.views["to"]).zero_()

    def do_assign(self, step):
        self.view(step.views["to"]).assign(np.linspace(-1.0, step.number, self.n))

    def do_clone(self, step):
        self.memories[step.views["to"].memory] = wp.clone(self.memories[step.views["of"].memory])

    def do_scan(self, step):
        wp.utils.array_scan(self.view(step.views["of"]), self.view(step.views["to"]), inclusive=step.number > 0.0)

    def do_sum(self, step):
        wp.utils.array_sum(self.view(step.views["of"]), out=self.view(step.views["to"])[:1])

    def do_inner(self, step):
        of = self.view(step.views["of"])
        wp.utils.array_inner(of, self.memories["G"][:, 1], out=self.view(step.views["to"])[:1])

    def prepare(self, step):
        """What a command or a graph is launched from."""
        if step.kind == "graph":
            with wp.ScopedCapture() as capture:
                for inner in step.steps:
                    self.do(inner)
            return lambda: wp.capture_launch(capture.graph)
        inner = step.steps[0]
        args = self.arguments(inner)
        command = wp.launch(self.kernels[inner.kernel], dim=self.program.threads, inputs=args, record_cmd=True)
        return command.launch

    def prepare_outside(self):
        """Make what is made before the tape records; only where no clone takes the place of a memory."""
        if any(step.kind == "clone" for step in self.program.steps):
            return
        for k, step in enumerate(self.program.steps):
            if step.kind in ("command", "graph") and not step.inside:
                self.made[k] = self.prepare(step)

    def do_graph(self, step):
        known = next((k for k, s in enumerate(self.program.steps) if s is step), None)
        again = self.made.get(known) or self.prepare(step)
        for _ in range(step.times):
            again()

    do_command = do_graph

    def do_checkpoint(self, step):
        inner = step.steps[0]
        names = dict.fromkeys([*(view.memory for view in inner.views.values() if view), "G", "V", "P"])
        state = [self.memories[name] for name in names]
        wp.checkpoint(lambda k: self.do(inner), state, step.times, outputs=[self.loss])

    def record(self):
        """Run all steps on a tape."""
        self.prepare_outside()
        with wp.Tape() as tape:
            for step in self.program.steps:
                self.do(step)
            self.finish()
        return tape

    def result(self):
        contents = {name: a.numpy() for name, a in self.memories.items()}
        gradients = {name: None if a.grad is None else a.grad.numpy() for name, a in self.first.items()}
        return Result(float(self.loss.numpy()[0]), contents, gradients)


# ----- the twin -------------------------------------------------------------------------------------


class Parameter:
    """What constants do to a memory with a gradient while the tape records.

    The gradient is that of their values, if nothing used the memory before, and if nothing else is written to it. One
    that is set again after it was read has no one gradient.
    """

    def __init__(self, first, moves=None):
        self.first, self.leaves = first, {}  # what it held, and by place what it was set to first of all
        self.moves = np.zeros(len(first)) if moves is None else moves  # to be added to that
        self.used, self.kept = [], []  # the places of what was read or set in vain, and of what was set first of all
        self.otherwise = self.again = False  # written by something else; set again

    def set(self, places):
        """Note a constant write. Returns the leaves of its elements, or None where no gradient passes."""
        if meets(self.used, places):
            self.again |= meets(self.kept, places)
            self.used.append(places)
            return None
        self.kept.append(places)
        leaves = [twin.variable(self.moves[k]) for k in places]
        self.leaves.update(zip(places.tolist(), leaves, strict=True))
        return leaves

    @property
    def is_refused(self):
        return self.again and not self.otherwise

    def gradient(self):
        leaves = {} if self.otherwise else self.leaves
        return np.array([leaves.get(k, x).cotangent for k, x in enumerate(self.first)])


def meets(known, places):
    """Whether the bounds of elements meet those of some known ones."""
    return any(max(a.min(), places.min()) <= min(a.max(), places.max()) for a in known)


def compiler_accesses(run):
    """As `accesses`, what the compiler says of the kernels that a run of warpsim has launched."""

    def of(function):
        kernel = run.kernels[function.__name__]
        types = {launcher.own_types for launcher in kernel.launchers.values()}
        uses, names = [kernel.program(t).uses for t in types], list(kernel.patterns)
        return tuple({ref.name(names) for use in uses for ref in getattr(use, kind)} for kind in ("read", "changed"))

    return of


class TwinRun(Run):
    """The twin.

    tracks: whether derivatives pass through memories, by name; by default those that have gradients. moves: what is to
    be added to constants that are set first of all, by name. accesses: what a kernel does to arrays, see `accesses`.
    """

    def __init__(self, program, contents, numbers, tracks=None, moves=(), accesses=accesses):
        super().__init__(program, contents, numbers)
        self.accesses = accesses
        tracks = tracks or program.graded
        twin.Thread.doubt = False
        self.kernels = compiled(program.text, True)
        self.memories = {name: twin.memory_of(x, tracks[name], 3 if name == "V" else 0) for name, x in contents.items()}
        self.first = dict(self.memories)
        graded = {name: self.first[name].memory for name in FLOATS if program.graded[name]}
        self.parameters = {m: Parameter(m.first, dict(moves).get(name)) for name, m in graded.items()}
        self.idx = twin.View(twin.Memory(numbers.tolist(), False), np.arange(self.n))
        self.loss = twin.View(twin.Memory([twin.Number(0.0)], True), np.arange(1))
        self.float = twin.float64

    def pack(self, p, q):
        return SimpleNamespace(p=p, q=q, k=twin.Number(0.6))

    def picked(self, view):
        return twin.View(view.memory, view.places[self.numbers[::-1]])

    def launch(self, kernel, n, args):
        twin.launch(kernel, n, args)

    def note(self, read=(), changed=()):
        """Something that is no constant write uses views."""
        for view in [view for view in read if view is not None and view.memory in self.parameters]:
            self.parameters[view.memory].used.append(view.places)
        for view in [view for view in changed if view is not None and view.memory in self.parameters]:
            self.parameters[view.memory].otherwise = True

    def do_launch(self, step):
        views = {slot: self.view(view) for slot, view in step.views.items()}
        reached = self.accesses(self.kernels[step.kernel])
        self.note(*([views[slot] for slot in SLOTS if slot in names] for names in reached))
        super().do_launch(step)

    def store(self, view, values):
        for k, x in enumerate(values):
            view[k] = x

    def set(self, view, values):
        """Write what has no gradient."""
        parameter = self.parameters.get(view.memory)
        leaves = None if parameter is None else parameter.set(view.places)
        self.store(view, values if leaves is None else [x + leaf for x, leaf in zip(values, leaves, strict=True)])

    def do_copy(self, step):
        to, of = self.view(step.views["to"]), self.view(step.views["of"])
        values = [of[k] for k in range(self.n)]
        if of.memory in self.parameters:
            self.note([of], [to])
            self.store(to, values)
        else:
            self.set(to, values)

    def do_fill(self, step):
        self.set(self.view(step.views["to"]), [step.number] * self.n)

    def do_zero(self, step):
        self.set(self.view(step.views["to"]), [0.0] * self.n)

    def do_assign(self, step):
        self.set(self.view(step.views["to"]), np.linspace(-1.0, step.number, self.n).tolist())

    def do_clone(self, step):
        of = self.memories[step.views["of"].memory]
        memory = twin.Memory([of[k] for k in range(of.shape[0])], of.memory.tracks)
        if of.memory in self.parameters:
            self.parameters[memory] = Parameter(memory.first)
        self.memories[step.views["to"].memory] = made = twin.View(memory, of.places)
        self.note([of], [made])

    def do_scan(self, step):
        to, of, sums, total = self.view(step.views["to"]), self.view(step.views["of"]), [], twin.Number(0.0)
        self.note([of], [to])
        for k in range(self.n):
            sums.append(total)
            total = total + of[k]
        self.store(to, [*sums[1:], total] if step.number > 0.0 else sums)

    def do_sum(self, step):
        to, of = self.view(step.views["to"]), self.view(step.views["of"])
        self.note([of], [to])
        to[0] = sum((of[k] for k in range(self.n)), twin.Number(0.0))

    def do_inner(self, step):
        to, of, g = self.view(step.views["to"]), self.view(step.views["of"]), self.memories["G"]
        self.note([of], [to])
        to[0] = sum((of[k] * g[k, 1] for k in range(self.n)), twin.Number(0.0))

    def do_graph(self, step):
        for _ in range(step.times):
            for inner in step.steps:
                self.do(inner)

    do_command = do_graph

    def do_checkpoint(self, step):
        self.note(changed=[self.view(view) for view in step.steps[0].views.values()])
        self.do_graph(step)

    def gradient(self, view):
        """The gradient of a memory, seen as it was made."""
        parameter = self.parameters.get(view.memory)
        return twin.cotangents(view) if parameter is None else parameter.gradient()

    def run(self):
        for step in self.program.steps:
            self.do(step)
        self.finish()
        twin.backward(self.loss[0])
        contents = {
            name: view.values().reshape((*view.shape, -1) if name == "V" else view.shape)
            for name, view in self.memories.items()
        }
        gradients = {name: self.gradient(view) for name, view in self.first.items()}
        refused = any(parameter.is_refused for parameter in self.parameters.values())
        known = {name: self.parameters.get(view.memory) for name, view in self.first.items()}
        given = tuple(name for name, p in known.items() if p is not None and p.leaves and not p.otherwise)
        return Result(self.loss[0].value, contents, gradients, refused, given)
