"""Random public calls with random arguments: `python tests/random_calls.py SEED CALLS` makes one batch in this process.

What a call may do: return, or raise an exception on purpose: a line of warpsim raises it in words of its own. All else
is printed as a line of JSON at once: an exception of Python, NumPy or pxr that came through ("raised"), a call that
takes more than `SECONDS` ("hung": the process ends), or the end of the process itself, which the parent sees with the
last call written ("call"). Memory of the process is limited, so that an allocation without bounds is a failure too. The
same seed makes the same calls.

Left out are calls whose arguments are raw addresses or C++ text: those may end a process; `force_load`, which compiles
everything; and what belongs to objects that users only receive (`Device`, `Graph`, results of checks): constructors
and inner methods.
"""

import enum
import faulthandler
import inspect
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

import warpsim as wp
import warpsim.fft
import warpsim.optim.linear
import warpsim.plot
import warpsim.render
import warpsim.solvers.ocean
import warpsim.usd
import warpsim.viewer
from warpsim.errors import CompilerError, WarpsimError

SECONDS, BYTES = 30, 6 << 30
RAW = {"from_ptr", "func_native", "from_dlpack", "Stream", "breakpoint", "set_stream", "clear_kernel_cache", "plot"}
RAW |= {"live", "LiveView"}
RAW |= {"Allocator", "force_load", "view", "Server", "SimulationParser", "add_film_options", "Logger"}
MADE = {"Function", "Device", "Graph", "Launch", "Module"}
MADE |= {"GradientComparison", "GradientReport", "Jacobians", "FunctionMetadata"}
USED = {
    "Kernel": ["key", "module", "options", "patterns", "__call__"],
    "Func": ["key", "__call__", "overloads"],
    "Module": ["load", "name"],
    "Launch": [
        "launch",
        "set_dim",
        "set_param_at_index",
        "set_param_by_name",
        "set_params",
        "set_param_at_index_from_ctype",
    ],
    "Graph": ["launch", "set_param", "get_param", "get_param_ptr", "params"],
    "Tape": ["backward", "zero", "reset", "gradients", "visualize", "report", "record_func", "__enter__", "mark_read"],
    "Device": [
        "alias",
        "arch",
        "can_access",
        "context",
        "free_memory",
        "is_capturing",
        "is_cuda",
        "is_primary",
        "name",
        "sm_count",
        "synchronize",
        "total_memory",
        "uuid",
    ],
}
SPECIAL = ("__getitem__", "__setitem__", "__call__", "__len__", "__add__", "__mul__", "__eq__")
RAW_WORDS = {"ptr", "cuda_stream", "deleter", "capacity"}
COUNTS = {"dim", "steps", "count", "n", "max_iters", "maxiter", "max_iterations", "iterations", "segments"}


# ----- kernels to launch ------------------------------------------------------------------------


@wp.struct
class Record:
    x: float
    v: wp.vec3
    a: wp.array(dtype=float)


@wp.func
def square(x: float):
    return x * x


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), s: float):
    i = wp.tid()
    if i < x.shape[0] and i < y.shape[0]:
        y[i] = square(x[i]) * s


@wp.kernel
def add(x: wp.array(dtype=wp.vec3), r: Record, total: wp.array(dtype=float)):
    i = wp.tid()
    if i < x.shape[0] and total.shape[0] > 0:
        wp.atomic_add(total, 0, wp.dot(x[i], r.v) * r.x)


@wp.kernel
def look(grid: wp.uint64, mesh: wp.uint64, p: wp.vec3, n: wp.array(dtype=int)):
    for i in wp.hash_grid_query(grid, p, 0.5):
        wp.atomic_add(n, i, 1)
    q = wp.mesh_query_point(mesh, p, 10.0)
    if q.result:
        wp.atomic_add(n, 0, q.face)


# ----- values ------------------------------------------------------------------------------------


def objects():
    """Whole objects of every public class, and stale ones."""
    x = wp.array(np.linspace(0.0, 1.0, 12), dtype=float, device="cpu", requires_grad=True)
    points = wp.array(np.random.default_rng(0).random((9, 3)), dtype=wp.vec3, device="cpu")
    faces = wp.array(np.arange(9), dtype=int, device="cpu")
    grid = wp.HashGrid(8, 8, 8, device="cpu")
    grid.build(points, 0.3)
    mesh, stale = wp.Mesh(points, faces), wp.Mesh(points, faces)
    stale_id = stale.id
    del stale
    with wp.Tape() as tape:
        y = wp.zeros(12, dtype=float, device="cpu", requires_grad=True)
        wp.launch(scale, 12, [x, y, 2.0], device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(scale, 12, [x, y, 2.0], device="cpu")
    command = wp.launch(scale, 12, [x, y, 2.0], device="cpu", record_cmd=True)
    volume = wp.Volume.load_from_numpy(np.ones((4, 4, 4), np.float32), device="cpu")
    return [
        x, y, points, faces, grid, mesh, tape, capture.graph, command, volume, grid.id, mesh.id, stale_id, volume.id,
        wp.Tape(), wp.Bvh(points, points, constructor=None), x[::2], x.reshape((3, 4)), wp.zeros((0,), dtype=float),
        wp.zeros((2, 0, 3), dtype=wp.vec3), wp.zeros(5, dtype=wp.mat33, device="cpu"), x[faces], Record(x=1.0, a=x),
        wp.zeros(3, dtype=Record, device="cpu"), wp.zeros((2, 2, 2, 2), dtype=wp.float64), wp.zeros(3, dtype=bool),
        wp.get_device("cpu"), wp.get_device("interp"), wp.get_stream("cpu"), wp.Event("cpu"), wp.zeros(4,
        device="interp"), wp.optim.SGD([x], lr=0.1), wp.optim.Adam([x], lr=0.1), wp.optim.LBFGS([x]),
        *physics(), wp.get_module(__name__), wp.MarchingCubes(4, 4, 4, device="cpu"), wp.ScopedDevice("cpu"),
        wp.ScopedTimer("t", print=False),
    ]  # fmt: skip


def physics():
    """A model, and solvers, states and contacts of it; a sea."""
    solvers = warpsim.solvers
    builder = solvers.ModelBuilder()
    upright = (0.0, 0.0, 0.0, 1.0)
    builder.add_cloth_grid((0.0, 1.0, 0.0), upright, (0.0, 0.0, 0.0), 2, 2, 0.1, 0.1, mass=0.01, spring_ke=1e3)
    builder.add_ground_plane()
    model = builder.finalize("cpu")
    made = [builder, model, model.state(), model.control(), solvers.Contacts(model), solvers.SurfaceContacts(model)]
    made += [solvers.SolverXPBD(model, substeps=1), solvers.Material(), solvers.Fluid()]
    sea = solvers.ocean.Ocean(solvers.ocean.PiersonMoskowitz(5.0), size=50.0, cells=16, device="cpu")
    matrix = wp.array([0, 1, 2], dtype=int), wp.array([0, 1], dtype=int), wp.ones(2, dtype=float)
    texture = wp.Texture2D(np.ones((3, 4), np.float32), device="cpu")
    return [*made, sea, sea.evaluate(0.0), warpsim.optim.linear.CsrMatrix(*matrix), texture]


class Odd:
    """Fails at whatever it is asked."""

    def __getattr__(self, name):
        raise ValueError("odd")

    def __repr__(self):
        raise ValueError("odd")

    __len__ = __iter__ = __index__ = __float__ = __bool__ = __eq__ = __hash__ = lambda *a: 1 / 0


def plain():
    """Numbers, texts and containers that fit somewhere and nowhere."""
    structured = np.zeros(3, [("x", "f4"), ("v", "f4", 3)])
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    return [
        None, True, False, 0, 1, 2, 3, 7, -1, -5, 2**31, 2**63, 2**70, -(2**70), 10**400, 0.0, 1.5, -2.5, 1e300, 1e-300,
        float("nan"), float("inf"), -float("inf"), 1j, "", "x", "cpu", "interp", "cuda:0", "cuda:99", "float32", "é\0",
        b"", b"bytes", [], [1.0, 2.0], [[1.0], [2.0, 3.0]], (), (3,), (2, 3), (-1, 2), (2**40, 2**40), (1,) * 9, {},
        {"x": 1.0}, {1, 2}, range(4), slice(None), Ellipsis, object(), Odd(), int, float, bool, str, wp.float16,
        wp.float64, wp.int8, wp.uint64, wp.vec3, wp.quat, wp.mat33, wp.transform, Record, wp.array,
        wp.array(dtype=float), wp.Tape, np.float32(2.0), np.int64(-3), np.array(2.0), np.zeros(0), np.ones(4,
        np.float32), np.ones((3, 3)), np.ones((2, 3, 4, 5, 6)), np.arange(12, dtype=np.int32), structured, frozen,
        np.array([None, "x"]), np.array(["a", "b"]), np.ones(6, np.float32)[::-2], np.full(3, np.nan), np.ones(3,
        np.complex64), wp.vec3(1.0, 2.0, 3.0), wp.vec4(), wp.quat(), wp.transform(), wp.mat33(), wp.vec3(float("nan")),
        wp.vec2i(1, -1), scale, add, look, square, lambda x: x, lambda: None, len, print, wp.sin, iter([1, 2]), np,
        sys, Exception(),
    ]  # fmt: skip


LIKELY = {"device": ["cpu", "interp", None, "cpu"], "dtype": [float, int, wp.vec3, wp.float64, Record]}
LIKELY |= {"kernel": [scale, add, look], "shape": [3, (2, 3), (4,), 0], "dim": [0, 1, 5, (2, 3), 1000]}
LIKELY |= {"requires_grad": [True, False], "n": [0, 1, 5], "radius": [0.5], "lr": [0.1], "axis": [0, 1], "tol": [1e-3]}
LIKELY |= {"maxiter": [3], "length": [3, 4], "filename": ["x.nvdb"], "path": ["x.obj"]}


# ----- calls --------------------------------------------------------------------------------------


def public():
    """Names and callables that anyone may call."""
    found = {}
    for module, prefix in (
        (wp, "wp"), (wp.utils, "wp.utils"), (wp.autograd, "wp.autograd"), (wp.types, "wp.types"), (wp.optim,
        "wp.optim"), (wp.optim.linear, "wp.optim.linear"), (warpsim.fft, "wp.fft"), (warpsim.plot, "wp.plot"),
        (warpsim.render, "wp.render"), (warpsim.solvers, "wp.solvers"), (warpsim.solvers.ocean, "wp.solvers.ocean"),
        (warpsim.usd, "wp.usd"), (warpsim.viewer, "wp.viewer"),
    ):  # fmt: skip
        for name in getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]:
            thing = getattr(module, name)
            if callable(thing) and name not in RAW | MADE and not inspect.ismodule(thing) and "plot" not in name:
                found[f"{prefix}.{name}"] = thing
    return found


class Caller:
    """Makes calls from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = public()
        self.plain, self.objects = plain(), objects()
        x, y, points, faces = self.objects[:4]
        arrays = [x, y, points, faces, *self.objects[16:24]]
        self.likely = {**LIKELY, "inputs": [[x, y, 2.0], [points, Record(x=1.0), y], [x], []], "outputs": [[y], []]}
        for names, chosen in (
            ("points lowers uppers velocities", [points]),
            ("indices keys columns offsets parents", [faces]),
            ("a b x src dest values out array array_in loss", arrays),
        ):
            self.likely |= dict.fromkeys(names.split(), chosen)
        self.later = []

    def value(self, name=""):
        r = self.random.random()
        if name in COUNTS and r < 0.9:
            return self.random.choice([0, 1, 2, 5, 40, -1, None, 2**70, "x", 1.5, (2, 2), float("nan"), []])
        if name in self.likely and r < 0.6:
            return self.random.choice(self.likely[name])
        if r < 0.5:
            return self.random.choice(self.objects)
        if r < 0.6 and self.later:
            return self.random.choice(self.later)
        if r < 0.7:
            return [self.random.choice([*self.objects, *self.plain]) for _ in range(self.random.randrange(4))]
        return self.random.choice(self.plain)

    def arguments(self, thing):
        """Arguments by the signature, now and then too few, too many, or of other names."""
        try:
            parameters = list(inspect.signature(thing).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        args, keywords = [], {}
        for p in parameters:
            if p.name in RAW_WORDS or p.kind is p.VAR_KEYWORD:
                continue
            if p.kind is p.VAR_POSITIONAL:
                args += [self.value() for _ in range(self.random.randrange(5))] if not keywords else []
            elif (p.default is p.empty and self.random.random() < 0.97) or self.random.random() < 0.3:
                positional = p.kind is not p.KEYWORD_ONLY and not keywords and len(args) == parameters.index(p)
                if positional:
                    args.append(self.value(p.name))
                else:
                    keywords[p.name] = self.value(p.name)
        if self.random.random() < 0.03:
            keywords[self.random.choice(["x", "dtype", "missing"])] = self.value()
        return args, keywords

    def chosen(self):
        """A public name, or a method, item or attribute of an object."""
        if self.random.random() < 0.5:
            return self.random.choice(list(self.names.items()))
        owner = self.random.choice([*self.objects, *self.later, wp.vec3(1.0, 2.0, 3.0), wp.mat33(), scale, square])
        kind, name = type(owner).__name__, ""
        if type(owner) is Odd or type(owner).__module__ in ("builtins", "numpy"):
            return self.random.choice(list(self.names.items()))
        methods = [*(USED.get(kind) or [n for n in dir(type(owner)) if not n.startswith("_")])]
        methods += [n for n in SPECIAL if hasattr(owner, n)]
        name = self.random.choice([n for n in methods if n not in RAW and "dlpack" not in n] or ["__repr__"])
        return f"<{kind}>.{name}", lambda *a, **k: self.used(owner, name, a, k), self.method(owner, name)

    def method(self, owner, name):
        found = inspect.getattr_static(type(owner), name, None)
        return getattr(type(owner), name, None) if inspect.isfunction(found) else found

    def used(self, owner, name, args, keywords):
        """A method called, or an attribute read and now and then set."""
        static = inspect.getattr_static(type(owner), name, None)
        if isinstance(static, property):
            if self.random.random() < 0.3 and static.fset is not None:
                return setattr(owner, name, self.value(name))
            return getattr(owner, name)
        found = getattr(owner, name)
        return found(*args, **keywords) if callable(found) else found

    def one(self):
        name, thing, *described = self.chosen()
        args, keywords = self.arguments(described[0] if described and described[0] is not None else thing)
        if described and args and inspect.isfunction(described[0]):
            args = args[1:]  # not self
        return name, thing, args, keywords


def shown(value):
    try:
        return " ".join(repr(value).split())[:100]
    except Exception:
        return f"<{type(value).__name__}>"


HOME = os.path.dirname(wp.__file__)


def on_purpose(error):
    """Whether a line of warpsim raised an exception in words of its own, or the caller's own code did.

    The innermost frame says so: a line of warpsim that raises; a line of this file, where a call does not bind or an
    argument fails at what it is asked.
    """
    if isinstance(error, WarpsimError):
        return not isinstance(error, CompilerError)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    binds_not = isinstance(error, TypeError) and re.search(r"\(\) (got|takes|missing)", str(error))
    if frame.filename in (__file__, enum.__file__) or binds_not:  # Python says best what it does not call
        return True
    return (frame.filename.startswith(HOME) and "raise" in (frame.line or "")) or isinstance(error, MemoryError)


def verdict(error):
    return "refused" if on_purpose(error) else "raised"


def batch(seed, count):
    """Make the calls of a seed, and print what is to be mended and the counts at the end."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    os.environ["WARPSIM_TRACEBACK"] = "1"
    os.chdir(tempfile.mkdtemp(prefix="warpsim-calls-"))
    caller = Caller(seed)
    counts = {"returned": 0, "refused": 0, "raised": 0}
    output = os.fdopen(os.dup(1), "w")
    for k in range(count):
        name, thing, args, keywords = caller.one()
        text = f"{name}({', '.join([*map(shown, args), *(f'{n}={shown(v)}' for n, v in keywords.items())])})"
        print(json.dumps({"call": k, "text": text}), file=output, flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            result = thing(*args, **keywords)
        except Exception as error:
            outcome = verdict(error)
            counts[outcome] += 1
            if outcome == "raised":
                frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(HOME)][-3:]
                at = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames]
                what = f"{type(error).__name__}: {shown(str(error))}"
                print(json.dumps({"raised": what, "seed": seed, "number": k, "at": at}), file=output, flush=True)
        else:
            counts["returned"] += 1
            if result is not None and len(caller.later) < 40:
                caller.later.append(result)
        finally:
            faulthandler.cancel_dump_traceback_later()
    print(json.dumps({"counts": counts}), file=output, flush=True)


def run(seed, count, seconds=600):
    """A batch in a process of its own: (counts, failures). One that ends early is a failure with its last call."""
    command = [sys.executable, "-X", "faulthandler", __file__, str(seed), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
    lines = []
    for line in out.decode(errors="replace").splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:  # what a call printed
            continue
    lines = [line for line in lines if isinstance(line, dict)]
    calls = {line["call"]: line["text"] for line in lines if "call" in line}
    failures = [{**line, "text": calls.get(line["number"])} for line in lines if "raised" in line]
    counts = next((line["counts"] for line in lines if "counts" in line), None)
    if counts is None:
        last = max(calls, default=-1)
        tail = err.decode(errors="replace")[-1500:]
        failures.append({"ended": child.returncode, "seed": seed, "number": last, "text": calls.get(last), "at": tail})
        counts = {"returned": 0, "refused": 0, "raised": 0, "ended": 1, "made": last + 1}
    return counts, failures


if __name__ == "__main__":
    batch(int(sys.argv[1]), int(sys.argv[2]))
