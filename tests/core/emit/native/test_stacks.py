"""Kernels with large frames on threads with small stacks, and on threads that have room."""

import ctypes
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import warpsim as wp
from warpsim.core.emit.cpu import cpu
from warpsim.core.emit.native import stacks
from warpsim.core.emit.native.stacks import DEEP, with_compiler_room
from warpsim.core.emit.target import Options

pytestmark = [
    pytest.mark.cpu(reason="stacks of the CPU's threads"),
    pytest.mark.skipif(not stacks.KNOWS_LIMITS, reason="the limits of stacks are asked for on Linux alone"),
]

ROOT = Path(stacks.__file__).parents[4]
KIB = 1024

PROGRAM = """
import sys, threading
import numpy as np
import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool

stack, threads, ways = int(sys.argv[1]) * 1024, int(sys.argv[2]), sys.argv[3:]
n = 600

def of(length):
    @wp.kernel
    def local(x: wp.array(dtype=float), steps: int, out: wp.array(dtype=float)):
        i = wp.tid()
        a = wp.zeros(length, dtype=int)
        for j in range(steps):
            a[j] = (i * j) % 1000
        out[i] = x[i] * float(a[steps - 1 - i % 3])
    return local

@wp.kernel
def reversed_loops(x: wp.array(dtype=float), steps: int, out: wp.array(dtype=float)):
    i = wp.tid()
    y = x[i] + 0.001 * float(i)
    for j in range(steps):  # each keeps 8 KiB of states
        y = y + 0.1 * wp.sin(y)
    for j in range(steps):
        y = y + 0.1 * wp.cos(y)
    for j in range(steps):
        y = y * wp.sin(y)
    for j in range(steps):
        y = y + 0.1 * wp.cos(y)
    out[i] = y

def run(results, way, length):
    kernel = reversed_loops if way == "adjoint" else of(length)
    x, out = wp.ones(n, requires_grad=True), wp.zeros(n, requires_grad=True)
    arguments = [x, 50 if way == "adjoint" else length, out]
    if way == "adjoint":
        with wp.Tape() as tape:
            wp.launch(kernel, n, arguments)
        tape.backward(grads={out: wp.ones(n)})
        out = x.grad
    elif way == "command":
        wp.launch(kernel, n, arguments, record_cmd=True).launch()
    elif way == "graph":
        with wp.ScopedCapture() as capture:
            wp.launch(kernel, n, arguments)
        wp.capture_launch(capture.graph)
    elif way == "autograd":
        import torch
        y = torch.ones(n, requires_grad=True)
        wp.torch_op(reversed_loops)(y, 50).sum().backward()
        out = wp.from_torch(y.grad)
    else:
        wp.launch(kernel, n, arguments)
    results.append(out.numpy().tobytes())

wp.set_num_threads(threads)
get_pool().always_fork(True)
threading.stack_size(stack)
# A little above what asks for room, and nearly as large as a kernel may have.
for length in (8_000, 110_000):
    for way in ways:
        results = []
        thread = threading.Thread(target=run, args=(results, way, length))
        thread.start()
        thread.join()
        run(results, way, length)
        assert results[0] == results[1], (way, length)
        print(way, length)
"""
LENGTHS = 2


def through(stack, threads, *ways) -> int:
    """How many cases a process gets through on threads with stacks of so many KiB, each case with right results."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, *map(str, (stack, threads)), *ways]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert not done.stderr, done.stderr
    return done.stdout.count("\n")


WAYS = ("launch", "adjoint", "command", "graph")


def test_threads_with_small_stacks_run_large_frames():
    assert through(128, 4, *WAYS) == LENGTHS * len(WAYS)


@pytest.mark.nightly
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("stack", [64, 96, 192, 512, 4096])
def test_threads_of_many_stacks_run_frames_of_many_sizes(stack, threads):
    assert through(stack, threads, *WAYS) == LENGTHS * len(WAYS)


@pytest.mark.nightly
def test_operators_of_pytorch_have_room():
    """Backward of autograd runs on the calling thread, on devices' threads elsewhere."""
    pytest.importorskip("torch")
    assert through(512, 2, "autograd") == LENGTHS


# ----- where code runs ----------------------------------------------------------------------------

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
ON_STACK = ctypes.CFUNCTYPE(None, CALL, ctypes.c_void_p, *[ctypes.c_int64] * 4)


def called(bytes_wanted, stack=None):
    """The native threads that ask and run, and what arrives."""
    seen = {}

    @CALL
    def function(block, begin, end, flags):
        seen["runs"], seen["given"] = threading.get_native_id(), (block, begin, end, flags)

    def ask():
        seen["asks"] = threading.get_native_id()
        stacks._on_stack().function(stacks.SYMBOL, ON_STACK)(function, 64, -1, 2**40, 5, bytes_wanted)

    if stack is None:
        ask()
    else:
        before = threading.stack_size(stack)
        try:
            thread = threading.Thread(target=ask)
            thread.start()
        finally:
            threading.stack_size(before)
        thread.join()
    assert seen["given"] == (64, -1, 2**40, 5)
    return seen


@pytest.mark.parametrize(
    ("wanted", "stack", "moves"),
    # The C library may reuse the larger stack of a thread that has ended: each asks for more than those before.
    [(100 * KIB, None, False), (100 * KIB, 1024 * KIB, False), (1 << 28, 128 * KIB, True), (1 << 30, None, True)],
)
def test_code_moves_to_a_thread_of_its_own_where_there_is_no_room(wanted, stack, moves):
    if moves and stack is None and resource.getrlimit(resource.RLIMIT_STACK)[0] == resource.RLIM_INFINITY:
        pytest.skip("the main thread's stack has no limit: it grows up to whatever is mapped below it")
    for turn in range(2):  # the limit is found, then known
        seen = called(wanted << turn, stack)
        assert (seen["runs"] != seen["asks"]) == moves


def test_work_raises_and_returns_through_the_move():
    results = []

    def ask():
        results.append(with_compiler_room(lambda: 7))
        try:
            with_compiler_room(lambda: {}["key"])
        except KeyError as error:
            results.append(str(error))

    before = threading.stack_size(256 * KIB)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert results == [7, "'key'"]


def frame(length):
    @wp.kernel
    def local(x: wp.array(dtype=float)):
        i = wp.tid()
        a = wp.zeros(length, dtype=float)
        a[i % 100] = x[i]
        x[i] = a[(i + 1) % 100]

    program = local.program((wp.array[float],))
    return cpu.emit(program.fn, program.ndim, Options(("C",)), program.plan).llvm


def test_kernels_with_small_frames_ask_for_nothing():
    assert stacks.SYMBOL not in frame(DEEP // 4 - 1000)
    assert stacks.SYMBOL in frame(DEEP // 4)
