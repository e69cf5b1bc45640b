"""Launches from many Python threads at once, in forked children, inside one another, and at exit.

Scenarios that need a process of their own are functions of this file, run by
`python test_concurrency.py <scenario>`.
"""

import ctypes
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit import build as builder
from warpsim.core.runtime.launches import pool

pytestmark = pytest.mark.cpu(reason="threads of the CPU, whose device it is")

ROOT = Path(__file__).resolve().parents[4]
THREADS = ["4", pytest.param("1", marks=pytest.mark.slow)]
PATIENCE = 300.0  # [s] for a process that may hang, on a busy machine
N = 30_000
X = np.random.default_rng(3).integers(-9, 10, N).astype(np.float32)  # sums of whole numbers are exact


# ----- work whose result is known -------------------------------------------------------------


@wp.kernel
def scale(x: wp.array(dtype=float), a: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + 1.0


@wp.kernel
def scatter(x: wp.array(dtype=float), bins: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(bins, i % 61, x[i])
    wp.atomic_add(loss, 0, x[i] * 2.0)


@wp.kernel
def compact(x: wp.array(dtype=float), count: wp.array(dtype=int), kept: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] > 0.0:
        kept[wp.atomic_add(count, 0, 1)] = i


@wp.kernel
def grid(out: wp.array2d(dtype=int)):
    i, j = wp.tid()
    out[i, j] = 1000 * i + j


def fresh_kernel(constant):
    """A kernel that was never compiled before, unless the constant was used."""

    @wp.kernel
    def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] + float(constant)

    return shift


def work_scale(rng):
    n, a, y = rng.choice((0, 1, 100, N)), rng.randrange(50), wp.zeros(N, dtype=float)
    wp.launch(scale, n, [X, a, y])
    return np.array_equal(y.numpy()[:n], a * X[:n] + 1) and not y.numpy()[n:].any()


def work_scatter(rng):
    n, bins, loss = rng.choice((1, 500, N)), wp.zeros(61, dtype=float), wp.zeros(1, dtype=float)
    wp.launch(scatter, n, [X, bins, loss], deterministic=rng.choice((None, True, False)))
    return np.array_equal(bins.numpy(), np.bincount(np.arange(n) % 61, X[:n], 61)) and loss.list() == [2 * X[:n].sum()]


def work_compact(rng):
    count, kept = wp.zeros(1, dtype=int), wp.zeros(N, dtype=int)
    wp.launch(compact, N, [X, count, kept])
    wanted = np.flatnonzero(X > 0)
    return count.list() == [len(wanted)] and np.array_equal(np.sort(kept.numpy()[: len(wanted)]), wanted)


def work_grid(rng):
    shape = (rng.randrange(1, 200), rng.randrange(1, 200))
    out = wp.zeros(shape, dtype=int)
    wp.launch(grid, shape, [out])
    return np.array_equal(out.numpy(), 1000 * np.arange(shape[0])[:, None] + np.arange(shape[1]))


def work_recorded(rng):
    y = wp.zeros(N, dtype=float)
    command = wp.launch(scale, N, [X, 1.0, y], record_cmd=True)
    for a in (2.0, 3.0):
        command.set_param_by_name("a", a)
        command.launch()
    with wp.ScopedCapture() as capture:
        command.set_param_by_name("a", 5.0)
        command.launch()
        command.launch()
    before = np.array_equal(y.numpy(), 3 * X + 1)
    wp.capture_launch(capture.graph)
    return before and np.array_equal(y.numpy(), 5 * X + 1)


def work_compile(rng):
    y = wp.zeros(N, dtype=float)
    constant = rng.randrange(10**6)
    wp.launch(fresh_kernel(constant), N, [X, y])
    return np.array_equal(y.numpy(), X + constant)


ALL_WORK = (work_scale, work_scatter, work_compact, work_grid, work_recorded)


def run_threads(function, count):
    """Run `function(k)` in `count` threads at once; raises the first error of any."""
    errors, barrier = [], threading.Barrier(count)

    def guarded(k):
        barrier.wait()
        try:
            function(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def hammer(seconds, threads=8, kinds=ALL_WORK):
    """Launch from `threads` threads for `seconds`; the number of launches that were checked."""
    end, done = time.monotonic() + seconds, [0] * threads

    def worker(k):
        rng = random.Random(k)
        while time.monotonic() < end:
            kind = work_compile if rng.random() < 0.01 else rng.choice(kinds)
            assert kind(rng), kind.__name__
            done[k] += 1

    run_threads(worker, threads)
    assert min(done) > 0
    return sum(done)


@pytest.fixture(autouse=True)
def _thread_count_as_found():
    before = pool.get_pool().threads
    wp.set_num_threads(4)
    yield
    wp.set_num_threads(before)


# ----- in this process ------------------------------------------------------------------------


def test_eight_threads_at_once():
    assert hammer(2.0) > 50


@pytest.mark.slow
def test_eight_threads_at_once_for_ten_seconds():
    assert hammer(10.0) > 250


def test_switches_change_while_threads_launch():
    stop = threading.Event()

    def toggle():
        while not stop.is_set():
            config.verify = not config.verify
            config.max_unroll = 5 if config.max_unroll == 16 else 16
            wp.set_num_threads(random.randrange(1, 5))
            time.sleep(0.002)

    switcher = threading.Thread(target=toggle)
    switcher.start()
    try:
        hammer(1.0, threads=4)
    finally:
        stop.set()
        switcher.join()


def test_the_first_launch_of_many_threads_compiles_once(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path))
    emitted = []
    compile_native = builder.compile_native

    def counted(program, options):
        emitted.append(program.fn.name)
        return compile_native(program, options)

    monkeypatch.setattr(builder, "compile_native", counted)
    for constant in range(2_000_000, 2_000_005):
        kernel, results = fresh_kernel(constant), [wp.zeros(N, dtype=float) for _ in range(8)]
        emitted.clear()
        run_threads(lambda k, kernel=kernel, y=results: wp.launch(kernel, N, [X, y[k]]), 8)
        assert all(np.array_equal(y.numpy(), X + float(constant)) for y in results)
        assert len(emitted) == 1


def test_capture_belongs_to_its_thread():
    y = wp.zeros(N, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(scale, N, [X, 4.0, y])
        run_threads(lambda k: work_scale(random.Random(k)), 4)
        assert not y.numpy().any()
    assert len(capture.graph.steps) == 1
    run_threads(lambda k: wp.capture_launch(capture.graph), 4)  # all write the same
    assert np.array_equal(y.numpy(), 4 * X + 1)


@wp.kernel
def spin(rounds: int, out: wp.array(dtype=float)):
    i = wp.tid()
    v = float(i)
    for k in range(rounds):
        v = wp.sin(v) + float(k)
    out[i] = v


def test_launches_of_other_threads_finish_while_a_long_one_runs():
    out, finished = wp.zeros(64, dtype=float), threading.Event()
    rng = random.Random(1)
    assert all(work(rng) for work in ALL_WORK)  # compiled
    wp.launch(spin, 64, [1, out])

    def long_launch():
        while not finished.is_set():
            wp.launch(spin, 64, [20_000, out])

    thread = threading.Thread(target=long_launch)
    thread.start()
    try:
        for _ in range(10):
            assert all(work(rng) for work in ALL_WORK)
    finally:
        finished.set()
        thread.join()


def test_launches_inside_a_launch():
    """A chunk that calls back into Python launches again, on whichever thread it runs."""
    good = []

    def body(args, begin, end, flags):  # ctypes gives None for 0
        rng = random.Random(begin)
        good.extend(work(rng) for work in ALL_WORK for _ in range(begin or 0, end))

    callback = pool.KERNEL_PROTOTYPE(body)
    command = pool.COMMAND.pack(ctypes.cast(callback, ctypes.c_void_p).value, 0, 0, 8, 1, 0)
    pool.get_pool().run(command, 1)
    assert len(good) == 8 * len(ALL_WORK)
    assert all(good)


# ----- in processes of their own --------------------------------------------------------------


def check_all():
    rng = random.Random(os.getpid())
    for work in (*ALL_WORK, work_compile):
        assert work(rng), work.__name__


def in_child(function):
    """Run in a forked child; asserts that it ended well and in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's, about forking while threads run
        child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + PATIENCE / 3
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
        assert time.monotonic() < deadline, "the child hangs"
        time.sleep(0.01)
    assert found[1] == 0, found


def scenario_fork_before_any_launch():
    in_child(check_all)
    check_all()


def scenario_fork_after_launches():
    check_all()
    for _ in range(3):
        in_child(check_all)
        check_all()


def scenario_grandchildren():
    check_all()
    in_child(lambda: (check_all(), in_child(check_all), check_all()))


def scenario_fork_while_threads_launch():
    stop = threading.Event()

    def launches(k):
        rng = random.Random(k)
        while not stop.is_set():
            assert rng.choice(ALL_WORK)(rng)

    threads = [threading.Thread(target=launches, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            in_child(check_all)
    finally:
        stop.set()
    for thread in threads:
        thread.join()
    check_all()


def scenario_fork_while_a_thread_compiles():
    stop = threading.Event()

    def compiles():
        rng = random.Random()
        while not stop.is_set():
            assert work_compile(rng)

    thread = threading.Thread(target=compiles)
    thread.start()
    try:
        for _ in range(5):
            in_child(check_all)
    finally:
        stop.set()
    thread.join()


def scenario_exit_while_threads_launch():
    started = threading.Barrier(5)

    def forever(k):
        rng = random.Random(k)
        started.wait()
        while True:
            ALL_WORK[k](rng)

    for k in range(4):
        threading.Thread(target=forever, args=(k,), daemon=True).start()
    started.wait()
    check_all()
    time.sleep(0.1)


def scenario_exit_while_a_thread_compiles():
    started = threading.Barrier(2)

    def forever():
        rng = random.Random()
        started.wait()
        while True:
            work_compile(rng)

    threading.Thread(target=forever, daemon=True).start()
    started.wait()
    time.sleep(0.3)


SCENARIOS = {name.removeprefix("scenario_"): f for name, f in globals().items() if name.startswith("scenario_")}


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name, threads):
    if "fork" in name and not hasattr(os, "fork"):
        pytest.skip("no fork on this platform")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WARPSIM_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", __file__, name],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{name} is done\n")


if __name__ == "__main__":
    SCENARIOS[sys.argv[1]]()
    print(f"{sys.argv[1]} is done", flush=True)
