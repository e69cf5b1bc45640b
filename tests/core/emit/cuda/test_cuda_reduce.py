"""What combines a block of threads, run on a block of threads of this machine that wait for each other.

The functions are those that NVVM gets. A shuffle hands values over between the threads of a warp, a barrier
stops those of the block, and shared memory is memory.
"""

import ctypes
import re
import threading

import numpy as np
import pytest
from llvmlite import ir as ll

import warpsim as wp
from warpsim.core.emit.cuda import cuda, reduce, tools
from warpsim.core.emit.cuda.target import CudaTarget
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble
from warpsim.core.emit.target import Options

Floats = wp.array(dtype=float)
WARP = 32
PATIENCE = 60.0  # [s]
_HARDWARE = {
    "llvm.nvvm.read.ptx.sreg.tid.x": ("tid", ctypes.CFUNCTYPE(ctypes.c_uint32)),
    "llvm.nvvm.read.ptx.sreg.ntid.x": ("ntid", ctypes.CFUNCTYPE(ctypes.c_uint32)),
    "llvm.nvvm.barrier0": ("barrier", ctypes.CFUNCTYPE(None)),
    "llvm.nvvm.barrier0.or": ("vote", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)),
    "llvm.nvvm.shfl.sync.down.i32": ("shuffle", ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_uint32] * 4)),
}
_CTYPES = {
    wp.float32: ctypes.c_float,
    wp.float64: ctypes.c_double,
    wp.int32: ctypes.c_int32,
    wp.uint32: ctypes.c_uint32,
    wp.int64: ctypes.c_int64,
    wp.uint64: ctypes.c_uint64,
}


@wp.kernel
def nothing():
    pass


PROGRAM = nothing.program(())


class Block:
    """`size` threads that call a function of the module together; `run` gives what each gets back."""

    def __init__(self, size, text, names):
        self.size, self.own = size, threading.local()
        self.all = threading.Barrier(size, timeout=PATIENCE)
        self.warps = [threading.Barrier(min(WARP, size - k), timeout=PATIENCE) for k in range(0, size, WARP)]
        self.words, self.votes = [0] * (WARP * len(self.warps)), [0] * size
        symbols, self.kept = {}, []
        for name, (short, prototype) in _HARDWARE.items():
            self.kept.append(prototype(getattr(self, short)))
            symbols[short] = ctypes.cast(self.kept[-1], ctypes.c_void_p).value
            text = text.replace(f'@"{name}"', f'@"{short}"')
        text = re.sub(r" addrspace\(3\)", "", text).replace("internal global", "global")
        self.native = NativeObject(assemble(text), symbols)
        self.addresses = {name: self.native.address(name) for name in names}

    def tid(self):
        return self.own.number

    def ntid(self):
        return self.size

    def barrier(self):
        self.all.wait()

    def vote(self, x):
        self.votes[self.own.number] = x
        self.all.wait()
        found = any(self.votes)
        self.all.wait()
        return -1 if found else 0

    def shuffle(self, mask, x, step, last):
        assert (mask, last) == (0xFFFFFFFF, WARP - 1)
        number, warp = self.own.number, self.warps[self.own.number // WARP]
        self.words[number] = x
        warp.wait()
        lane, source = number % WARP, number + step
        found = x if lane + step > last else self.words[source] if source < self.size else 0xDEADBEEF
        warp.wait()
        return found

    def run(self, name, kind, values):
        function = ctypes.CFUNCTYPE(kind, kind)(self.addresses[name])
        found, errors = [None] * self.size, []

        def work(k):
            self.own.number = k
            try:
                found[k] = function(values[k])
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        return found


def block(size, kinds=("add",), t=wp.float32):
    """A block whose functions are those for `kinds` on numbers of type `t`, and the one that elects."""
    target = CudaTarget(PROGRAM.fn, 1, Options(), PROGRAM.plan)
    module = ll.Module("block")
    caller = ll.Function(module, ll.FunctionType(ll.VoidType(), []), "caller")
    target.builder = ll.IRBuilder(caller.append_basic_block())
    made = [reduce.leads(target), *(reduce.combines(target, kind, t) for kind in kinds)]
    target.builder.ret_void()
    for function in made:
        function.linkage = ""
    return Block(size, str(module), [function.name for function in made])


SIZES = (1, 7, 32, 33, 70, 96)


@pytest.mark.parametrize("size", SIZES)
def test_the_first_thread_has_the_sum_of_all(size):
    values = np.random.default_rng(size).integers(-50, 50, size).astype(np.float32)
    made = block(size)
    for _ in range(3):  # memory is used again
        found = made.run("warpsim_block_add_float32", ctypes.c_float, values)
        assert found[0] == values.sum()


@pytest.mark.parametrize("t", _CTYPES, ids=lambda t: t.__name__)
def test_every_kind_on_every_type(t):
    size, kinds = 45, ("add", "min", "max")
    made, wanted = block(size, kinds, t), np.dtype(t)
    r = np.random.default_rng(1)
    high = 1 << 40 if wanted.itemsize == 8 else 1 << 24
    values = r.integers(-high if wanted.kind != "u" else 1, high, size).astype(wanted)
    for kind, combine in zip(kinds, (np.sum, np.min, np.max), strict=True):
        found = made.run(f"warpsim_block_{kind}_{t.__name__}", _CTYPES[t], values.tolist())
        assert found[0] == combine(values, **({"dtype": wanted} if kind == "add" else {})), kind


def test_sums_of_nothing_keep_the_sign_of_zero():
    found = block(40).run("warpsim_block_add_float32", ctypes.c_float, [-0.0] * 40)
    assert np.signbit(found[0])


def test_extremes_ignore_threads_that_have_nothing():
    values = [float("nan")] * 50
    values[37] = 2.0
    made = block(50, ("min", "max"))
    for kind in ("min", "max"):
        assert made.run(f"warpsim_block_{kind}_float32", ctypes.c_float, values)[0] == 2.0


@pytest.mark.parametrize("executed", [(), (0,), (39,)])
def test_one_thread_is_elected_where_any_executed_the_update(executed):
    flags = [k in executed for k in range(40)]
    found = block(40).run("warpsim_block_leads", ctypes.c_bool, flags)
    assert found == [bool(executed), *[False] * 39]


# ----- kernels ------------------------------------------------------------------------------

compiles = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")


@wp.kernel
def total(x: Floats, out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    wp.atomic_sub(out, 1, wp.vec3d(wp.float64(x[i]), wp.float64(1.0), wp.float64(2.0)))


@wp.kernel
def sometimes(x: Floats, out: Floats, n: int):
    i = wp.tid()
    if x[i] > 0.5:
        wp.atomic_add(out, n + 1, x[i])


@wp.kernel
def scattered(x: Floats, j: wp.array(dtype=int), out: Floats):
    i = wp.tid()
    wp.atomic_add(out, j[i], x[i])


@wp.kernel
def halves(x: wp.array(dtype=wp.float16), out: wp.array(dtype=wp.float16)):
    wp.atomic_add(out, 0, x[wp.tid()])


def code(kernel, options=None, arch=(9, 0)):
    made = kernel.program(tuple(kernel.patterns.values()))
    given = made.fn, made.ndim, options or Options(), made.plan
    return cuda.emit(*given, arch=arch).ptx, cuda.machine_code(*given, arch)


@compiles
@pytest.mark.parametrize("arch", ((9, 0), (12, 0)), ids=str)
@pytest.mark.parametrize(("kernel", "components"), [(total, 3), (sometimes, 1)], ids=lambda p: getattr(p, "key", p))
def test_a_shared_address_gets_one_update_a_block(kernel, components, arch):
    ptx, made = code(kernel, arch=arch)
    assert made.reduces
    body, end = ptx.split("bar.red.or", 1)
    assert "red.global" not in body, "nothing in the loop over threads"
    assert len(re.findall(r"red\.global\.add\.f(32|64)", end)) == components
    assert "atom." not in ptx and end.count("shfl.sync.down.b32") >= 5
    assert f".shared .align 8 .b8 warpsim_shared[{8 * WARP}]" in ptx


@compiles
@pytest.mark.parametrize("kernel", (scattered, halves), ids=lambda k: k.key)
def test_other_addresses_are_updated_at_once(kernel):
    ptx, made = code(kernel)
    assert not made.reduces
    assert "bar." not in ptx and "shfl" not in ptx
    assert ("red.global.add.f32" in ptx) == (kernel is scattered)


@compiles
def test_bounds_are_checked_by_the_thread_that_has_the_index():
    assert not code(sometimes, Options(verify=True))[1].reduces


@compiles
def test_an_answer_that_somebody_reads_comes_from_memory():
    @wp.kernel
    def tickets(out: Floats, mine: Floats):
        i = wp.tid()
        mine[i] = wp.atomic_add(out, 0, 1.0)

    ptx, made = code(tickets)
    assert not made.reduces and "atom.global.add.f32" in ptx
