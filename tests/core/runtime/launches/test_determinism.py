"""Results are the same to the last bit for 1, 2 and 4 threads.

By default everything but float atomics that scatter over an array too large for private copies;
with `deterministic=True` those as well.
"""

import hashlib
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.runtime.launches import pool
from warpsim.solvers import Contacts, ModelBuilder, SolverXPBD

pytestmark = pytest.mark.cpu(reason="numbers of CPU threads")

ROOT = Path(__file__).resolve().parents[4]
THREADS = (1, 2, 4)

# Workloads of the benchmark table at sizes that are cut into many chunks.
WORKLOADS = {
    "saxpy": {"n": 300_001},
    "integrate": {"n": 40_001},
    "springs": {"side": 90},
    "springs_deterministic": {"side": 90},
    "uniform_sum": {"n": 300_001},
    "wave": {"side": 301},
    "svd3": {"n": 3_001},
    "noise": {"n": 5_001},
    "structs": {"n": 30_001},
    "matrices": {"n": 20_001, "k": 3},
}


@pytest.fixture(autouse=True)
def _thread_count_as_found():
    before = pool.get_pool().threads
    yield
    wp.set_num_threads(before)


@pytest.fixture
def parallel(monkeypatch):
    """Commands that the pool was given, to see that a test does run in parallel."""
    commands = []
    run = pool.Pool.run

    def spy(self, given, count):
        packed = given if isinstance(given, bytes) else b""
        for k in range(count if packed else 0):
            _, _, _, n, size, _ = pool.COMMAND.unpack_from(packed, k * pool.COMMAND.size)
            commands.append(-(-n // size))
        run(self, given, count)

    monkeypatch.setattr(pool.Pool, "run", spy)
    return commands


def digest(values):
    """One hexadecimal number for arrays by name."""
    total = hashlib.sha256()
    for name in sorted(values):
        total.update(name.encode())
        total.update(np.ascontiguousarray(values[name]).tobytes())
    return total.hexdigest()


def benchmark(name):
    """Values of a fresh run of a benchmark kernel."""
    sys.path.insert(0, str(ROOT))
    try:
        module = importlib.import_module(f"benchmarks.kernels.{name}")
    finally:
        sys.path.remove(str(ROOT))
    case = module.warp_case(wp, WORKLOADS[name])
    for timed in case.timed.values():
        timed.run()
    return case.values()


def same_for_all_threads(run):
    """The digest of `run()`, which must not depend on the thread count or on the repetition."""
    found = set()
    for count in (*THREADS, THREADS[-1]):
        wp.set_num_threads(count)
        found.add(digest(run()))
    assert len(found) == 1
    return found.pop()


# ----- benchmark kernels ----------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKLOADS)
def test_benchmark_kernels(name, parallel):
    default = same_for_all_threads(lambda: benchmark(name))
    assert max(parallel, default=0) > 3
    config.deterministic = True
    assert same_for_all_threads(lambda: benchmark(name)) == default


def test_processes_with_other_thread_counts():
    script = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]\n"
        "import warpsim as wp, test_determinism as t\n"
        "from warpsim.core.runtime.launches.pool import get_pool\n"
        "print(get_pool().threads, *(t.digest(t.benchmark(name)) for name in t.WORKLOADS))"
    )
    lines = []
    for count in THREADS:
        environment = {**os.environ, "WARPSIM_NUM_THREADS": str(count), "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        lines.append(done.stdout.split())
    assert [line[0] for line in lines] == [str(count) for count in THREADS]
    assert lines[0][1:] == lines[1][1:] == lines[2][1:] == [digest(benchmark(name)) for name in WORKLOADS]


# ----- sums -----------------------------------------------------------------------------------

N = 200_003
RNG = np.random.default_rng(5)
X = RNG.standard_normal(N).astype(np.float32)  # sums of these round, and show their order
AT = RNG.integers(0, 1000, N).astype(np.int32)


@wp.kernel
def sums(
    x: wp.array(dtype=float),
    at: wp.array(dtype=int),
    bins: wp.array(dtype=float),
    loss: wp.array(dtype=float),
    moments: wp.array(dtype=wp.vec3),
    where: int,
    low: wp.array(dtype=float),
    hits: wp.array(dtype=int),
):
    i = wp.tid()
    v = x[i]
    wp.atomic_add(bins, at[i], v)
    wp.atomic_add(loss, where, v * v)
    if v > 1.0:
        wp.atomic_sub(loss, where, v)
    for k in range(at[i] % 3):
        wp.atomic_add(moments, 0, wp.vec3(v, v * v, float(k)))
    wp.atomic_min(low, at[i], v)
    wp.atomic_add(hits, at[i], 1)


def run_sums(length=1000, strided=False, deterministic=None):
    def buffer(n, dtype=float):
        return wp.zeros((n, 2), dtype=dtype)[:, 1] if strided else wp.zeros(n, dtype=dtype)

    arrays = [buffer(length), buffer(3), buffer(1, wp.vec3)]
    low, hits = wp.full(1000, np.inf, dtype=float), wp.zeros(1000, dtype=int)
    wp.launch(sums, N, [X, AT, *arrays, 2, low, hits], deterministic=deterministic)
    found = dict(zip(("bins", "loss", "moments"), (a.numpy() for a in arrays), strict=True))
    return {**found, "low": low.numpy(), "hits": hits.numpy()}


def check_sums(found):
    """They must also be right."""
    x = X.astype(np.float64)
    k = AT % 3
    times = k.astype(np.float64)
    assert np.allclose(found["bins"][:1000], np.bincount(AT, x), atol=1e-4)
    assert np.allclose(found["loss"], [0, 0, (x * x).sum() - x[X > 1].sum()], rtol=1e-5)
    moments = [(times * x).sum(), (times * x * x).sum(), (k * (k - 1) // 2).sum()]
    assert np.allclose(found["moments"], [moments], rtol=1e-4, atol=0.1)
    assert np.array_equal(found["hits"], np.bincount(AT))
    low = np.full(1000, np.inf, np.float32)
    np.minimum.at(low, AT, X)
    assert np.array_equal(found["low"], low)


@pytest.mark.parametrize("strided", [False, True])
def test_sums_in_private_copies_by_default(strided, parallel):
    check_sums(run_sums(strided=strided))
    default = same_for_all_threads(lambda: run_sums(strided=strided))
    assert max(parallel) > 3
    assert same_for_all_threads(lambda: run_sums(strided=strided, deterministic=True)) == default


def test_sums_over_arrays_without_copies():
    """Sums at shared addresses keep their order by default, the scattered ones when asked."""
    length = 3 * N
    check_sums(run_sums(length))
    same_for_all_threads(lambda: {k: v for k, v in run_sums(length).items() if k != "bins"})
    same_for_all_threads(lambda: run_sums(length, deterministic=True))


def test_a_shared_sum_in_a_long_array():
    @wp.kernel
    def log(x: wp.array(dtype=float), step: int, history: wp.array(dtype=float)):
        wp.atomic_add(history, step, x[wp.tid()])

    def run():
        history = wp.zeros(3 * N, dtype=float)
        wp.launch(log, N, [X, 7, history])
        assert np.isclose(history.numpy()[7], X.astype(np.float64).sum(), rtol=1e-4)
        return {"history": history.numpy()}

    same_for_all_threads(run)


def test_indexed_arrays_and_arrays_in_structs():
    @wp.struct
    class Grid:
        mass: wp.array(dtype=float)

    @wp.kernel
    def add(x: wp.array(dtype=float), at: wp.array(dtype=int), bins: wp.indexedarray(dtype=float), grid: Grid):
        i = wp.tid()
        wp.atomic_add(bins, 3, x[i])
        wp.atomic_add(grid.mass, at[i], x[i])

    def run():
        base, grid = wp.zeros(10, dtype=float), Grid()
        grid.mass = wp.zeros(1000, dtype=float)
        bins = wp.indexedarray(base, [wp.array(np.array([5, 4, 3, 9], np.int32))])
        wp.launch(add, N, [X, AT, bins, grid], deterministic=True)
        assert np.isclose(base.numpy()[9], X.astype(np.float64).sum(), rtol=1e-3)
        assert np.allclose(grid.mass.numpy(), np.bincount(AT, X), atol=1e-4)
        return {"base": base.numpy(), "mass": grid.mass.numpy()}

    same_for_all_threads(run)


def test_used_results_come_in_thread_order_when_asked():
    @wp.kernel
    def running(x: wp.array(dtype=float), total: wp.array(dtype=float), before: wp.array(dtype=float)):
        i = wp.tid()
        before[i] = wp.atomic_add(total, 0, x[i])

    def run():
        total, before = wp.zeros(1, dtype=float), wp.zeros(N, dtype=float)
        wp.launch(running, N, [X, total, before], deterministic=True)
        wanted = np.concatenate([[0], np.cumsum(X, dtype=np.float32)])
        assert np.array_equal(before.numpy(), wanted[:-1])
        return {"before": before.numpy(), "total": total.numpy()}

    same_for_all_threads(run)


# ----- cloth ----------------------------------------------------------------------------------

STEPS = 300
Vectors = wp.array(dtype=wp.vec3)


@wp.kernel
def pull(x: Vectors, ends: wp.array(dtype=wp.vec2i), rest: wp.array(dtype=float), stiffness: float, f: Vectors):
    s = wp.tid()
    a = ends[s][0]
    b = ends[s][1]
    d = x[b] - x[a]
    length = wp.length(d)
    force = d * (stiffness * (length - rest[s]) / length)
    wp.atomic_add(f, a, force)
    wp.atomic_sub(f, b, force)


@wp.kernel
def advance(x: Vectors, v: Vectors, f: Vectors, dt: float, energy: wp.array(dtype=float), step: int):
    i = wp.tid()
    v[i] = (v[i] + (f[i] * 50.0 + wp.vec3(0.0, -9.81, 0.0)) * dt) * 0.999
    x[i] = x[i] + v[i] * dt
    f[i] = wp.vec3()
    if x[i].y < 0.0:
        x[i] = wp.vec3(x[i].x, 0.0, x[i].z)
        v[i] = v[i] * 0.5
    wp.atomic_add(energy, step, 0.5 * wp.dot(v[i], v[i]))


def sheet(side):
    """Points (side^2, 3) of a tilted sheet and the two triangles of every cell."""
    rows, columns = np.divmod(np.arange(side * side), side)
    points = np.stack([rows, 4.0 + 0.3 * rows + 0.1 * np.sin(columns), columns], axis=1) / side
    corner = np.arange(side * side).reshape(side, side)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]))
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def fall(side, deterministic):
    points, triangles = sheet(side)
    edges = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    edges = edges[np.random.default_rng(1).permutation(len(edges))]  # neighbours far apart
    x = wp.array(points.astype(np.float32), dtype=wp.vec3)
    v, f = wp.zeros_like(x), wp.zeros_like(x)
    ends = wp.array(edges.astype(np.int32), dtype=wp.vec2i)
    rest = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1).astype(np.float32)
    energy = wp.zeros(STEPS, dtype=float)
    for step in range(STEPS):
        wp.launch(pull, len(edges), [x, ends, rest, 60.0], [f], deterministic=deterministic)
        wp.launch(advance, len(points), [x, v, f, 2.0e-3, energy, step], deterministic=deterministic)
    return {"x": x.numpy(), "v": v.numpy(), "energy": energy.numpy()}


def test_springs_for_300_steps(parallel):
    found = fall(40, True)
    assert np.isfinite(found["x"]).all()
    assert found["energy"][-1] > found["energy"][0] > 0
    assert max(parallel) > 3
    same_for_all_threads(lambda: fall(40, True))
    default = same_for_all_threads(lambda: fall(40, False))
    assert default == digest(found)


def test_cloth_of_the_solver_for_300_steps(parallel):
    """With contact, friction and particles that keep off each other."""
    points, triangles = sheet(60)

    def run():
        builder = ModelBuilder()
        builder.add_cloth_mesh(
            (-0.5, 0.35, -0.5), (0, 0, 0, 1), 1.0, 0.0, points, triangles, 0.2, spring_ke=2e4, edge_ke=2e-5
        )
        builder.add_ground_plane()
        builder.add_shape_sphere((0, 0.25, 0, 0, 0, 0, 1), 0.25)
        model = builder.finalize("cpu")
        solver, state, contacts = SolverXPBD(model, substeps=1), model.state(), Contacts(model)
        for _ in range(STEPS):
            solver.step(state, state, None, contacts, 1.0 / 600.0)
        return {"x": state.particle_q.numpy(), "v": state.particle_qd.numpy()}

    same_for_all_threads(run)
    assert max(parallel) > 3
