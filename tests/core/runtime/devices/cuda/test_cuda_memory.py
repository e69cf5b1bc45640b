"""Memory of CUDA devices: what is done to it is what NumPy does to memory of the host, and it comes back."""

import copy
import ctypes
import gc
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim.core.runtime.devices.cuda import driver
from warpsim.core.runtime.devices.cuda import memory as cuda_memory
from warpsim.core.runtime.devices.cuda.strided import join_lines
from warpsim.core.runtime.devices.device_memory import on_host
from warpsim.errors import ArrayError, DeviceMemoryError, OutOfBoundsError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]

DTYPES = [wp.bool, wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float16]
DTYPES += [wp.float32, wp.float64]
WORDS = [np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.dtype([("a", np.float32, 3)])]


@wp.struct
class Grain:
    x: wp.vec3
    mass: wp.float64
    tag: wp.int8


def device():
    return wp.get_device("cuda:0")


def on_gpu(values):
    """Values as memory of the device."""
    made = device().empty(values.shape, values.dtype)
    made.put(values)
    return made


def same(found, expected):
    """Equal to the bit, NaNs included."""
    host = on_host(found)
    assert host.shape == expected.shape
    assert host.dtype == expected.dtype
    assert host.tobytes() == np.ascontiguousarray(expected).tobytes()


def numbers(shape, dtype, seed=0):
    """Random bytes as elements."""
    layout = np.dtype(dtype)
    raw = np.random.default_rng(seed).integers(0, 256, int(np.prod(shape)) * layout.itemsize, np.uint8)
    return raw.view(layout).reshape(shape)


# ----- views and copies ---------------------------------------------------------------------------


@st.composite
def cuts(draw, shape):
    """A key of integers and slices, whole dimensions left out at the end."""
    key = []
    for n in shape[: draw(st.integers(0, len(shape)))]:
        if n and draw(st.booleans()):
            key.append(draw(st.integers(-n, n - 1)))
        else:
            start, stop = draw(st.integers(0, n)), draw(st.integers(0, n))
            key.append(slice(start, stop, draw(st.integers(1, 3))))
    return tuple(key)


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=6).map(tuple)


@settings(max_examples=80)
@given(st.data(), shapes, st.sampled_from(WORDS))
def test_copies_between_views_of_every_rank_and_word(data, shape, dtype):
    source, target = numbers(shape, dtype, 1), numbers(shape, dtype, 2)
    order = data.draw(st.permutations(range(len(shape))))
    key = data.draw(cuts(tuple(shape[k] for k in order)))
    there, back = on_gpu(source), on_gpu(target)
    part, wanted = back.transpose(order)[key], target.transpose(order)[key]
    if isinstance(part, cuda_memory.CudaMemory) and part.ndim:
        part[...] = there.transpose(order)[key]
        target.transpose(order)[key][...] = source.transpose(order)[key]
        same(part, wanted)
    else:
        same(np.asarray(part), np.asarray(wanted))
    same(back, target)
    same(there, source)


def operations():
    kinds = ["fill", "host", "row", "view", "own", "mask", "gather", "reshape", "item", "into"]
    return st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 2**30)), min_size=1, max_size=8)


def operate(memory, kind, seed):
    """One operation on memory of either kind, chosen by a seed: it does the same to both."""
    rng = np.random.default_rng(seed)
    part = memory[tuple(slice(int(rng.integers(0, n)), n, int(rng.integers(1, 3))) for n in memory.shape)]
    if kind == "fill":
        part[...] = rng.normal()
    elif kind == "host":
        part[...] = rng.normal(size=part.shape)
    elif kind == "row":
        part[...] = rng.normal(size=part.shape[-1:]).astype(np.float32)
    elif kind == "view":
        part.T[...] = memory[tuple(slice(0, n) for n in part.shape)].T
    elif kind == "own":
        part += 1.0
    elif kind == "mask":
        memory[memory > 0.5] = 0.25
    elif kind == "gather":
        memory[[0, -1]] = memory[[-1, 0]] * 2.0
    elif kind == "reshape":
        memory.T.reshape(-1)[...] = 3.0  # a view, or a copy that is forgotten
    elif kind == "item":
        memory[(0,) * memory.ndim] = memory[(-1,) * memory.ndim] + 1.0
    elif kind == "into":
        np.copyto(part, memory[(0,) * memory.ndim])
    return memory


@settings(max_examples=80)
@given(st.lists(st.integers(2, 5), min_size=1, max_size=4).map(tuple), operations())
def test_any_operations_do_what_they_do_to_memory_of_the_host(shape, steps):
    host = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    there = on_gpu(host)
    for kind, seed in steps:
        operate(host, kind, seed)
        operate(there, kind, seed)
        same(there, host)
    assert float(there.sum()) == float(host.sum())
    assert there.tolist() == host.tolist()
    assert repr(there) == repr(host)
    same(there.reshape(-1), host.reshape(-1))
    same(there.T.ravel(), host.T.ravel())
    assert np.array_equal(np.concatenate([there, there]), np.concatenate([host, host]))


@pytest.mark.parametrize("shift", [-2, -1, 1, 3])
@pytest.mark.parametrize("step", [1, 2])
def test_copies_onto_overlapping_parts(shift, step):
    host = np.arange(24, dtype=np.int32)
    there = on_gpu(host)
    first, last = slice(None, -abs(shift), step), slice(abs(shift), None, step)
    to, since = (last, first) if shift > 0 else (first, last)
    there[to] = there[since]
    host[to] = host[since].copy()
    same(there, host)


def test_a_matrix_becomes_its_own_transpose():
    host = np.arange(36, dtype=np.float64).reshape(6, 6)
    there = on_gpu(host)
    there[...] = there.T
    same(there, host.T)


def test_views_travel_between_host_and_device_in_both_directions():
    host = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    a = wp.zeros((3, 4, 5), dtype=float, device="cuda:0")
    a[:, ::2].assign(wp.array(host[:, 1::2], device="cpu"))
    expected = np.zeros_like(host)
    expected[:, ::2] = host[:, 1::2]
    assert np.array_equal(a.numpy(), expected)
    back = wp.zeros((3, 4, 5), dtype=float, device="cpu")
    wp.copy(back[:, 1:3], a[:, 0:2])
    assert np.array_equal(back.numpy()[:, 1:3], expected[:, 0:2])
    assert np.array_equal(a.transpose((2, 0, 1)).numpy(), expected.transpose(2, 0, 1))
    assert np.array_equal(a[1:, 2].contiguous().numpy(), expected[1:, 2])


def test_lines_join_up_to_what_an_index_holds():
    assert join_lines([(4, 20, 20), (5, 4, 4)]) == [(20, 4, 4)]
    assert join_lines([(4, 40, 20), (5, 4, 4)]) == [(4, 40, 20), (5, 4, 4)]
    long = [(2**16, 2**16, 2**17), (2**15, 2, 4)]
    assert join_lines(long) == long
    assert join_lines([(2**16, 2**16, 2**17), (2**14, 4, 8)]) == [(2**30, 4, 8)]


# ----- filling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("value", [0, 1, 77, -1])
def test_fills_of_every_type(dtype, value):
    if dtype in (wp.bool, wp.uint8, wp.uint16, wp.uint32, wp.uint64) and value < 0:
        value = 1
    found, expected = (wp.zeros(7, dtype=dtype, device=d) for d in ("cuda:0", "cpu"))
    for a in (found, expected):
        a.fill_(value)
        a[2:4].fill_(0)
        a[1::3].fill_(1)
    same(found.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", [wp.vec3, wp.mat22, wp.quat, wp.vec2d, wp.vec3ub])
def test_fills_of_vectors_and_matrices(dtype):
    value = np.arange(1, dtype._size_ + 1) if hasattr(dtype, "_size_") else np.arange(1, dtype.size + 1)
    found, expected = (wp.full((3, 4), dtype(*value.tolist()), device=d) for d in ("cuda:0", "cpu"))
    for a in (found, expected):
        a[:, ::2].fill_(dtype(*value[::-1].tolist()))
        a[1].zero_()
    same(found.numpy(), expected.numpy())


def test_structs_are_filled_copied_and_read():
    grain = Grain()
    grain.x, grain.mass, grain.tag = wp.vec3(1.0, 2.0, 3.0), 4.0, -5
    a = wp.zeros(6, dtype=Grain, device="cuda:0")
    a[1:5].fill_(grain)
    found = a.numpy()
    assert found["mass"].tolist() == [0.0, 4.0, 4.0, 4.0, 4.0, 0.0]
    assert found["x"][2].tolist() == [1.0, 2.0, 3.0]
    assert a[3].tag == -5
    b = wp.clone(a[::2])
    assert b.numpy()["tag"].tolist() == [0, -5, -5]
    assert wp.array([grain, grain], dtype=Grain, device="cuda:0")[1].mass == 4.0


# ----- arrays of the public face --------------------------------------------------------------------


def test_elements_and_views_of_arrays():
    a = wp.array(np.arange(12, dtype=np.float32).reshape(4, 3), dtype=wp.vec3, device="cuda:0")
    assert a[2] == wp.vec3(6.0, 7.0, 8.0)
    a[1] = wp.vec3(1.0, 1.0, 1.0)
    a[2:4] = a[0:2]
    assert a.numpy().tolist() == [[0, 1, 2], [1, 1, 1], [0, 1, 2], [1, 1, 1]]
    with pytest.raises(OutOfBoundsError):
        a[4]
    with pytest.raises(ArrayError, match="negative strides"):
        a[::-1]
    with pytest.raises(ValueError, match="cuda:0, which NumPy cannot see"):
        a.__array__(copy=False)


def test_arrays_travel_by_pickle_and_deepcopy():
    a = wp.array([1.0, 2.0], dtype=float, device="cuda:0", requires_grad=True)
    a.grad.fill_(3.0)
    for b in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a)):
        assert str(b.device) == "cuda:0"
        assert b.ptr != a.ptr
        assert b.list() == [1.0, 2.0]
        assert b.grad.list() == [3.0, 3.0]


def test_empty_arrays_need_no_care():
    for shape in ((0,), (0, 3), (4, 0)):
        a = wp.zeros(shape, dtype=wp.vec3, device="cuda:0")
        a.fill_(1.0)
        wp.copy(a, wp.clone(a))
        assert a.numpy().shape == (*shape, 3)


def test_copies_between_two_devices():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two devices")
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    a = wp.array(host, device="cuda:0")
    b = a.to("cuda:1")
    assert str(b.device) == "cuda:1"
    b[1:3, ::2].assign(a[0:2, 1::2])
    host_b = host.copy()
    host_b[1:3, ::2] = host[0:2, 1::2]
    assert np.array_equal(b.numpy(), host_b)
    wp.copy(a, b)
    assert np.array_equal(a.numpy(), host_b)
    assert np.array_equal(wp.clone(a, device="cuda:1").numpy(), host_b)


def test_pinned_arrays_are_memory_of_the_host():
    a = wp.zeros(1000, dtype=float, device="cpu", pinned=True)
    assert a.pinned
    assert cuda_memory.is_pinned(a.numpy())
    assert not cuda_memory.is_pinned(np.zeros(3))
    a.numpy()[:] = np.arange(1000)
    b = wp.empty(1000, dtype=float, device="cuda:0")
    wp.copy(b, a)
    a.fill_(-1.0)  # the copy is done, whatever becomes of its source
    assert b.numpy()[999] == 999.0
    del a
    gc.collect()
    c = wp.empty(1000, dtype=float, device="cpu", pinned=True)
    wp.copy(c, b)
    assert c.numpy()[999] == 999.0
    c[::2].assign(b[::2])
    b[1::2].assign(c[::2])
    assert b.numpy()[1] == 0.0


def test_page_locked_memory_of_anybody_is_read_before_the_call_returns():
    address = int(wp.get_device("cuda:0").call("cuMemHostAlloc", 64, 0))  # as another framework takes it
    theirs = np.ctypeslib.as_array((ctypes.c_double * 8).from_address(address))
    ours = wp.zeros(1, dtype=wp.float64, device="cpu", pinned=True)
    theirs[:], ours[0] = np.arange(8) + 0.3, 1.7
    there, one = wp.array(theirs, device="cuda:0"), wp.zeros(1, dtype=wp.float64, device="cuda:0")
    wp.copy(one, ours)
    theirs[:], ours[0] = -1.0, -1.0
    assert there.numpy().tolist() == [k + 0.3 for k in range(8)]
    assert one.numpy()[0] == 1.7
    del theirs
    driver.call("cuMemFreeHost", address)


def test_pageable_memory_may_change_at_once():
    host = np.ones(5000, np.float32)
    a = wp.empty(5000, dtype=float, device="cuda:0")
    a.assign(host)
    host[:] = 0.0
    assert a.numpy().min() == 1.0


# ----- how memory comes and goes --------------------------------------------------------------------


def in_use():
    device().synchronize()
    return wp.get_mempool_used_mem_current("cuda:0")


def test_memory_comes_back_with_the_last_view():
    gc.collect()
    before = in_use()
    a = wp.zeros(1 << 20, dtype=float, device="cuda:0", requires_grad=True)
    view = a[10:20]
    assert in_use() >= before + (8 << 20)
    del a
    gc.collect()
    assert in_use() > before
    assert view.list() == [0.0] * 10
    del view
    gc.collect()
    assert in_use() == before


def test_cycles_are_collected_when_memory_is_short():
    free, _ = device().memory_info()
    size = free // 3

    class Holder:
        pass

    gc.collect()
    gc.disable()
    try:
        for _ in range(6):
            holder = Holder()
            holder.me, holder.array = holder, wp.empty(size, dtype=wp.uint8, device="cuda:0")
            del holder
    finally:
        gc.enable()
    gc.collect()


def test_too_much_is_refused_and_the_program_goes_on():
    kept = wp.full(10, 7.0, device="cuda:0")
    size = 1 << 50
    with pytest.raises(DeviceMemoryError, match=f"no room for {size:,} bytes") as caught:
        wp.empty((1 << 25, 1 << 25), dtype=wp.uint8, device="cuda:0")
    assert "bytes free" in str(caught.value)
    assert isinstance(caught.value, MemoryError)
    assert kept.list() == [7.0] * 10
    free, _ = device().memory_info()
    blocks = []
    with pytest.raises(DeviceMemoryError):
        for _ in itertools.count():
            blocks.append(wp.empty(free // 4, dtype=wp.uint8, device="cuda:0"))
    assert 2 <= len(blocks) <= 4
    del blocks
    wp.empty(free // 2, dtype=wp.uint8, device="cuda:0").zero_()
    assert wp.zeros(3, dtype=float, device="cuda:0").list() == [0.0] * 3


# ----- what NumPy does in C -------------------------------------------------------------------------


REFUSED = ("partition", "resize", "setfield", "sort")
ELSEWHERE = ("base", "ctypes", "data", "device", "dump", "dumps", "flags", "flat", "imag", "put", "setflags", "tofile")
"""About addresses, files and complex numbers, of which there are none."""
GIVEN = {"argpartition": (1,), "astype": (np.int32,), "clip": (1.0, 5.0), "compress": ([True, False, True],)}
GIVEN |= {"dot": (np.ones(2),), "fill": (3.0,), "item": (1,), "partition": (1,), "repeat": (2,), "reshape": (-1,)}
GIVEN |= {"resize": ((2, 2),), "searchsorted": (3.0,), "setfield": (1.0, np.float64), "take": ([0, 1],)}
GIVEN |= {"swapaxes": (0, 1), "to_device": ("cpu",)}
PUBLIC = sorted(name for name in dir(np.ndarray) if not name.startswith("_") and name not in ELSEWHERE)


@pytest.mark.parametrize("name", PUBLIC)
def test_no_method_reads_addresses_of_the_device(name):
    """Every method and attribute gives what it gives for memory of the host, or refuses."""
    whole = np.arange(12, dtype=np.float64).reshape(3, 4)
    host, there = whole[:, ::2], on_gpu(whole)[:, ::2]

    def use(memory):
        found = getattr(memory, name)
        return found(*GIVEN.get(name, ())) if callable(found) else found

    if name in REFUSED:
        with pytest.raises(TypeError, match="does not write to memory on cuda:0"):
            use(there)
        return
    try:
        expected = use(host)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            use(there)
        return
    found = use(there)
    if isinstance(expected, np.ndarray):
        same(found, expected)
    elif name == "nonzero":
        assert [x.tolist() for x in found] == [x.tolist() for x in expected]
    else:
        assert found == expected
    same(there, host)


def test_operators_and_questions():
    host = np.arange(6, dtype=np.float32)
    there = on_gpu(host)
    assert 3.0 in there
    assert 9.0 not in there
    assert f"{there[2:3].reshape(())}" == "2.0"
    assert copy.deepcopy(there).tolist() == copy.copy(there).tolist() == host.tolist()
    assert np.array_equal(there @ there, host @ host)
    assert np.array_equal(np.sort(there)[::-1], host[::-1])
    with pytest.raises(TypeError, match="does not write to memory on cuda:0"):
        np.put(there, [0], [1.0])
