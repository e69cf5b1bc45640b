"""Allocators of the user's: arrays lie in what they give, and give it back once nothing refers to it."""

import gc

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, DeviceError, DeviceMemoryError


class Shelf:
    """Gives memory of the host, and notes what is asked of it."""

    memory_kind = wp.MemoryKind.HOST

    def __init__(self, offset=0):
        self.offset, self.held, self.asked, self.returned = offset, {}, [], []

    def allocate(self, size_in_bytes):
        memory = np.full(size_in_bytes + 128, 0xCD, np.uint8)
        address = -(-memory.ctypes.data // 64) * 64 + self.offset
        self.held[address] = memory
        self.asked.append(size_in_bytes)
        return address

    def deallocate(self, ptr, size_in_bytes):
        del self.held[ptr]
        self.returned.append(size_in_bytes)


@wp.kernel
def squares(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = x[i] * x[i]


@pytest.mark.cpu
@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_arrays_lie_in_memory_of_the_allocator(device):
    shelf = Shelf()
    with wp.ScopedAllocator(device, shelf) as inside:
        assert inside is shelf is wp.get_device_allocator(device)
        x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True, device=device)
        out, nothing = wp.zeros(3, requires_grad=True, device=device), wp.empty(0, device=device)
        with wp.Tape() as tape:
            wp.launch(squares, 3, inputs=[x], outputs=[out], device=device)
        tape.backward(grads={out: wp.ones(3, device=device)})
        assert x.ptr in shelf.held and out.ptr in shelf.held and x.grad.ptr in shelf.held
    assert out.list() == [1, 4, 9] and x.grad.list() == [2, 4, 6] and nothing.size == 0
    assert 0 not in shelf.asked and min(shelf.asked) == 12
    tape.reset()
    last, address, other = out[1:], out.ptr, x.ptr
    del x, out, tape
    gc.collect()
    assert address in shelf.held and other not in shelf.held  # a view of the first is left
    assert last.list() == [4, 9]
    del last
    assert not shelf.held and sorted(shelf.returned) == sorted(shelf.asked)


@pytest.mark.cpu
def test_the_allocator_is_set_and_put_back():
    shelf, own = Shelf(), wp.get_device_allocator("cpu")
    assert own is wp.get_device("cpu").default_allocator and isinstance(own, wp.Allocator)
    wp.set_device_allocator("cpu", shelf)
    try:
        kept = wp.ones(4, device="cpu")
        with wp.ScopedAllocator("cpu", None):
            assert wp.get_device_allocator("cpu") is own
            assert wp.zeros(4, device="cpu").ptr not in shelf.held
        assert wp.get_device_allocator("interp") is shelf  # they share memory
    finally:
        wp.set_device_allocator("cpu", own)
    assert kept.list() == [1] * 4 and wp.zeros(4, device="cpu").ptr not in shelf.held
    with pytest.raises(ArgumentTypeError, match="allocate"):
        wp.set_device_allocator("cpu", 5)
    with pytest.raises(ZeroDivisionError), wp.ScopedAllocator("cpu", shelf):
        raise ZeroDivisionError
    assert wp.get_device_allocator("cpu") is own
    wp.set_cuda_allocator(shelf)  # no GPU, nothing to do
    wp.set_cuda_allocator(None)


@pytest.mark.cpu
@pytest.mark.parametrize("address", [0, None, -16, "far"])
def test_allocators_that_give_nothing(address):
    class Empty(Shelf):
        def allocate(self, size_in_bytes):
            return address

    with wp.ScopedAllocator("cpu", Empty()), pytest.raises(DeviceMemoryError, match="expected: an address"):
        wp.zeros(3, device="cpu")


@pytest.mark.cpu
def test_addresses_that_arrays_cannot_begin_at_and_errors_of_the_allocator():
    shelf = Shelf(offset=4)
    with wp.ScopedAllocator("cpu", shelf), pytest.raises(DeviceMemoryError, match="a multiple of 16"):
        wp.zeros(3, device="cpu")
    assert not shelf.held

    class Full(Shelf):
        def allocate(self, size_in_bytes):
            raise MemoryError("the shelf is full")

    with wp.ScopedAllocator("cpu", Full()), pytest.raises(MemoryError, match="the shelf is full"):
        wp.zeros(3, device="cpu")


@pytest.mark.parametrize("device", ["cpu", "interp", None])
def test_a_device_gives_its_own_memory_by_address(device):
    own = wp.get_device(device).default_allocator
    address = own.allocate(64)
    assert address and address % 64 == 0
    own.deallocate(address, 64)
    with pytest.raises(DeviceError, match="that allocate"):
        own.deallocate(address, 64)


def test_pinned_memory_by_address():
    pinned = wp.get_device("cpu").pinned_allocator
    address = pinned.allocate(64)
    memory = wp.from_ptr(address, 16, dtype=float, device="cpu")
    expected = wp.MemoryKind.PINNED if wp.get_device().is_cuda else wp.MemoryKind.HOST
    assert isinstance(pinned, wp.Allocator) and memory.memory_kind is expected
    del memory
    pinned.deallocate(address, 64)


def test_kinds_of_memory():
    gpu = wp.get_device().is_cuda
    x = wp.zeros(4)
    assert x.memory_kind == (wp.MemoryKind.CUDA_MEMPOOL if gpu else wp.MemoryKind.HOST)
    assert x[1:].memory_kind == x.memory_kind == wp.indexedarray(x, [wp.array([1], dtype=int)]).memory_kind
    assert wp.zeros(4, device="cpu").memory_kind is wp.MemoryKind.HOST
    pinned = wp.zeros(4, device="cpu", pinned=True)
    assert pinned.memory_kind is (wp.MemoryKind.PINNED if gpu else wp.MemoryKind.HOST)
    if gpu:
        with wp.ScopedMempool(None, False):
            assert wp.zeros(4).memory_kind is wp.MemoryKind.CUDA_DEVICE


@pytest.mark.device
@pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda")
def test_managed_memory():
    managed = wp.CudaManagedAllocator()
    assert isinstance(managed, wp.Allocator)
    x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cuda:0")
    with wp.ScopedAllocator("cuda:0", managed):
        out = wp.zeros(3, device="cuda:0")
    assert out.memory_kind is wp.MemoryKind.CUDA_MANAGED and x.memory_kind is not wp.MemoryKind.CUDA_MANAGED
    wp.launch(squares, 3, inputs=[x], outputs=[out], device="cuda:0")
    assert out.list() == [1, 4, 9]
    address = out.ptr
    del out
    gc.collect()
    with pytest.raises(DeviceError, match="cuMemFree"):
        managed.deallocate(address, 12)


@pytest.mark.cpu
def test_managed_memory_without_a_gpu():
    if wp.is_cuda_available():
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError, match="CUDA is not available"):
        wp.CudaManagedAllocator().allocate(64)
    with wp.ScopedAllocator("cpu", wp.CudaManagedAllocator()), pytest.raises(DeviceError, match="is not available"):
        wp.zeros(3, device="cpu")
