"""Every kind of step with everything that graphs, tapes and files do with steps; a kind without a row fails."""

import ast
import importlib
import pkgutil
from typing import NamedTuple

import numpy as np
import pytest
from source_trees import PACKAGE, trees

import warpsim as wp
import warpsim.core.runtime.steps as steps
from warpsim.core.runtime.devices.cuda.graphs import _Section
from warpsim.core.runtime.steps.batches import Packed, runs
from warpsim.core.runtime.steps.choice import Branch, Repeat
from warpsim.core.runtime.steps.fusion import FusedLaunches
from warpsim.core.runtime.steps.host_call import HostCall, call_or_record
from warpsim.core.runtime.steps.in_turn import InTurn
from warpsim.core.runtime.steps.kinds import KINDS
from warpsim.core.runtime.steps.launch import LaunchStep
from warpsim.core.runtime.steps.move import Move, copying
from warpsim.core.runtime.steps.operation import Operation, Transpose
from warpsim.core.runtime.steps.publication import Publication
from warpsim.core.runtime.steps.step import Step
from warpsim.errors import GraphFileError

N = 6


@wp.kernel
def squared(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def halved(y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * y[i]


@wp.kernel
def less(count: wp.array(dtype=int)):
    count[0] = count[0] - 1


@wp.kernel
def crowd(grid: wp.uint64, points: wp.array(dtype=wp.vec3), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    for k in wp.hash_grid_query(grid, points[i], 0.3):
        y[i] += x[k]


class World:
    """The arrays of a row: x is read, y and the gradients are results; a switch, a counter, points in a grid."""

    def __init__(self):
        values = np.random.default_rng(7).random(N).astype(np.float32)
        self.x = wp.array(values, dtype=float, requires_grad=True)
        self.y, self.z = (wp.zeros(N, dtype=float, requires_grad=True) for _ in range(2))
        self.on, self.count = wp.ones(1, dtype=int), wp.zeros(1, dtype=int)
        self.points = wp.array(np.random.default_rng(8).random((N, 3)), dtype=wp.vec3)
        self.grid = wp.HashGrid(4, 4, 4)
        self.grid.reserve(N)

    def results(self):
        return self.y.numpy().tobytes(), self.x.grad.numpy().tobytes(), self.y.grad.numpy().tobytes()

    def capture(self, work):
        with wp.ScopedCapture() as capture:
            work(self)
        return capture.graph


# ----- one function a kind: what makes a step of it, while a graph is captured


def launch(w):
    wp.launch(squared, N, inputs=[w.x, w.y])


def fused_launches(w):
    wp.launch(squared, N, inputs=[w.x, w.y])
    wp.launch(halved, N, inputs=[w.y])


def move(w):
    wp.copy(w.y, w.x)


def operation(w):
    wp.utils.array_scan(w.x, w.y)


def transpose(w):
    with wp.Tape() as tape:
        wp.utils.array_scan(w.x, w.y)
    tape.backward(grads={w.y: w.x})


def publication(w):
    w.grid.build(w.points, 0.3)
    wp.launch(crowd, N, inputs=[w.grid.id, w.points, w.x, w.y])


def branch(w):
    wp.capture_if(w.on, on_true=lambda: move(w), on_false=lambda: w.y.fill_(3.0))


def repeat(w):
    w.count.fill_(3)
    move(w)

    def body():
        wp.launch(halved, N, inputs=[w.y])
        wp.launch(less, 1, inputs=[w.count])

    wp.capture_while(w.count, body)


def host_call(w):
    def treble():
        w.y._data[...] = w.x._data * np.float32(3.0)

    call_or_record(treble)


def in_turn(w):
    InTurn([copying(w.y._data, w.x._data, w.y.device), copying(w.y._data[:2], w.x._data[2:4], w.y.device)]).submit()


class Row(NamedTuple):
    """work: makes the step. words: what reports and pictures call it, there on a GPU where that is not the same.
    streamed: whether a GPU has all of the work in one CUDA graph. savable: whether files hold it."""

    work: object
    words: str
    streamed: bool
    savable: bool = True


ROWS = {
    LaunchStep: Row(launch, "squared", True),
    FusedLaunches: Row(fused_launches, "halved", True),
    Move: Row(move, "copy", True),
    Operation: Row(operation, "array_scan", True),
    Transpose: Row(transpose, "array_scan (adjoint)", False),
    Publication: Row(publication, "new arrays of a structure", False),
    Branch: Row(branch, "capture_if", False),
    Repeat: Row(repeat, "capture_while", False),
    HostCall: Row(host_call, "host_call.treble", False, savable=False),
    InTurn: Row(in_turn, "copy", True),
}
CPU_ALONE = {FusedLaunches: "launches of a GPU are no loops"}
"""Kinds that a GPU has none of: its graphs hold other steps for the same work."""
ON_HOST = {Transpose: "its gradients are taken on the host"}
"""Kinds that files of a GPU do not hold."""


def subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def test_every_kind_of_step_has_a_row():
    for module in pkgutil.iter_modules(steps.__path__, f"{steps.__name__}."):
        importlib.import_module(module.name)
    kinds = {cls for cls in subclasses(Step) if cls.__module__.startswith("warpsim.")}
    assert set(ROWS) == kinds
    assert all(cls.__module__.startswith(steps.__name__) for cls in kinds)
    assert {read.__self__ for read in KINDS.values()} == {kind for kind in kinds if hasattr(kind, "read")}


@pytest.fixture
def made(monkeypatch):
    """How many steps of each kind were made in the test."""
    counts = dict.fromkeys(ROWS, 0)
    for kind in ROWS:
        monkeypatch.setattr(kind, "__init__", counting(kind, kind.__init__, counts))
    return counts


def counting(kind, make, counts):
    def init(self, *arguments, **options):
        counts[kind] += 1
        make(self, *arguments, **options)

    return init


def expected(work, times=1):
    """What the work leaves behind when it is done at once."""
    w = World()
    for _ in range(times):
        work(w)
    return w.results()


# ----- what is done with steps


def run(kind, row, made, path):
    w = World()
    graph, nothing = w.capture(row.work), w.results()
    assert w.results() == nothing
    for times in (1, 2):
        wp.capture_launch(graph)
        assert w.results() == expected(row.work, times)
    assert made[kind] or (on_gpu(w) and kind in CPU_ALONE)


def replay_while_a_tape_records(kind, row, made, path):
    results = []
    for replayed in (False, True):
        w = World()
        graph = w.capture(row.work)
        with wp.Tape() as tape:
            wp.capture_launch(graph) if replayed else row.work(w)
            wp.launch(squared, N, inputs=[w.y, w.z])
        tape.backward(grads={w.z: w.x})
        results.append(w.results())
    assert results[0] == results[1]


def save_load_and_run(kind, row, made, path):
    w = World()
    graph = w.capture(row.work)
    if not row.savable or (on_gpu(w) and kind in ON_HOST):
        with pytest.raises(GraphFileError, match=r"work of the host that only this process can do"):
            wp.capture_save(graph, path / "graph")
        return
    named = {"y": w.y, **({"grad": w.x.grad} if kind is Transpose else {})}
    wp.capture_save(graph, path / "graph", outputs=named)
    made.update(dict.fromkeys(made, 0))
    loaded = wp.capture_load(path / "graph")
    comes_to_others = kind is InTurn or (on_gpu(w) and kind in (*CPU_ALONE, Operation))
    assert made[kind] or comes_to_others
    for _ in range(2):
        wp.capture_launch(graph)
        wp.capture_launch(loaded)
        for name, a in named.items():
            result = wp.empty_like(a)
            loaded.get_param(name, result)
            assert result.numpy().tobytes() == a.numpy().tobytes(), name
    assert type(loaded) is type(graph) and {type(s) for s in loaded.steps} <= set(ROWS)


def report_names_it(kind, row, made, path):
    w = World()
    assert row.words in str(w.capture(row.work).report())


def picture_names_it(kind, row, made, path):
    w = World()
    wp.capture_debug_dot_print(w.capture(row.work), path / "graph.dot", verbose=True)
    nodes = [line for line in (path / "graph.dot").read_text(encoding="utf-8").splitlines() if "[label=" in line]
    assert any(row.words in node for node in nodes)


def section_of_a_gpu(kind, row, made, path):
    w = World()
    if not on_gpu(w):
        native = {type(run) for run in runs(w.capture(row.work).pieces()) if isinstance(run, Packed | _Section)}
        in_packs = (LaunchStep, FusedLaunches, Publication, Move, InTurn, Repeat)  # or what these hold
        assert native == ({Packed} if kind in in_packs else set())
        return
    row.work(World())  # what is compiled and allocated once is no part of the graph
    graph = w.capture(row.work)
    for times in (1, 2):
        wp.capture_launch(graph)
        assert w.results() == expected(row.work, times)
    assert all(isinstance(run, _Section) for run in runs(graph.pieces())) is row.streamed


def on_gpu(w):
    return w.y.device.is_cuda


CONSUMERS = (run, replay_while_a_tape_records, save_load_and_run, report_names_it, picture_names_it, section_of_a_gpu)


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.__name__)
@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_kinds_of_steps(kind, consumer, made, tmp_path):
    consumer(kind, ROWS[kind], made, tmp_path)


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_a_step_tells_what_it_uses(kind):
    """Pieces of the graph of a row write y or its gradient, as far as steps know what they touch."""
    w = World()
    uses = [use for piece in w.capture(ROWS[kind].work).pieces() for use in piece.step.uses()]
    assert all(str(use) for use in uses)
    assert any(use.writes for use in uses) or kind in (Branch, HostCall)


# ----- nobody else tells kinds apart

NAMES = {kind.__name__ for kind in ROWS}


def classes_of_steps(tree):
    """The names by which a module knows classes of steps."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and "steps" in (node.module or "").split(".")
        for alias in node.names
        if alias.name in NAMES
    }


def tells_apart(tree):
    """The lines of a module that tell kinds of steps apart."""
    known = classes_of_steps(tree)
    return [node.lineno for node in ast.walk(tree) if known and known & set(asked_after(node))]


def asked_after(node):
    """The names that a value is compared with, of classes or others."""
    parts = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        parts = node.args[1:]
    elif isinstance(node, ast.MatchClass):
        parts = [node.cls]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    return [name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)]


def test_nobody_else_tells_kinds_of_steps_apart():
    folder = PACKAGE / "core" / "runtime" / "steps"
    places = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, tree in trees().items()
        if folder not in path.parents
        for line in tells_apart(tree)
    ]
    assert places == []


def test_the_search_finds_what_it_looks_for():
    text = "from ..steps.move import Move as M, copying\nisinstance(a, int | M)\ntype(a) is M\nisinstance(a, copying)"
    assert sorted(tells_apart(ast.parse(text))) == [2, 3]


def test_no_class_is_a_partial():
    """A function with arguments is no kind of anything: what is to be recognised has a class."""
    places = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any("partial" in ast.unparse(base) for base in node.bases)
    ]
    assert places == []


def test_no_class_mirrors_what_a_file_holds():
    names = [node.name for _, tree in trees().items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert [name for name in names if name.startswith("Loaded")] == []
