"""Memory pools and access between devices: what the switches say is what kernels may do."""

import gc

import pytest

import warpsim as wp
from warpsim.errors import DeviceError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]

N = 500


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@pytest.fixture
def pair():
    """Two devices that can reach each other; access is as before when the test ends."""
    if wp.get_cuda_device_count() < 2 or not wp.is_peer_access_supported("cuda:1", "cuda:0"):
        pytest.skip("needs two devices that can reach each other's memory")
    devices = [wp.get_device(f"cuda:{k}") for k in range(2)]
    yield devices
    wp.synchronize()
    wp.set_peer_access_enabled(devices[1], devices[0], False)


def test_kernels_use_memory_of_peers_when_they_may(pair):
    here, there = pair
    x, y = wp.full(N, 3.0, dtype=float, device=there), wp.zeros(N, dtype=float, device=here)
    wp.synchronize()
    with pytest.raises(DeviceError, match=r"argument 'x' .* is on cuda:1\nexpected: cuda:0"):
        wp.launch(axpy, N, [x, y, 1.0], device=here)
    wp.set_peer_access_enabled(there, here, True)
    wp.set_peer_access_enabled(there, here, True)  # again: nothing
    assert here.can_access(there)
    assert not there.can_access(here)
    for _ in range(3):  # the first launch looks closely, later ones do not
        wp.launch(axpy, N, [x, y, 2.0], device=here)
    assert y.numpy().tolist() == [18.0] * N
    wp.launch(axpy, N, [y, x, 1.0], device=here)
    wp.synchronize()
    assert x.numpy()[N - 1] == 21.0
    wp.set_peer_access_enabled(there, here, False)
    with pytest.raises(DeviceError, match="is on cuda:1"):
        wp.launch(axpy, N, [x, y, 2.0], device=here)


def test_access_that_other_code_enabled_is_enough(pair):
    here, there = pair
    there.synchronize()
    here.call("cuCtxEnablePeerAccess", there.context, 0)
    wp.set_peer_access_enabled(there, here, True)
    assert here.can_access(there)
    here.call("cuCtxDisablePeerAccess", there.context)
    wp.set_peer_access_enabled(there, here, False)
    assert not here.can_access(there)


def test_freed_memory_waits_for_peers(pair):
    here, there = pair
    with wp.ScopedPeerAccess(there, here, True):
        y = wp.zeros(N, dtype=float, device=here)
        for k in range(4):
            x = wp.full(N, float(k), dtype=float, device=there)
            wp.synchronize()
            wp.launch(axpy, N, [x, y, 1.0], device=here)
            del x
            wp.full(N, 100.0, dtype=float, device=there)
        gc.collect()
        assert y.numpy().tolist() == [6.0] * N
    assert not wp.is_peer_access_enabled(there, here)


def test_memory_outside_of_pools_is_shared_as_well(pair):
    here, there = pair
    with wp.ScopedMempool(there, False), wp.ScopedMempoolAccess(there, here, True):
        x, y = wp.full(N, 3.0, dtype=float, device=there), wp.zeros(N, dtype=float, device=here)
        wp.synchronize()
        wp.launch(axpy, N, [x, y, 1.0], device=here)
        del x
        assert y.numpy()[0] == 3.0


def test_questions_about_peers():
    assert not wp.is_peer_access_supported("cpu", "cuda:0")
    assert not wp.is_peer_access_enabled("cuda:0", "cpu")
    assert wp.is_peer_access_supported("cuda:0", "cuda:0")
    assert wp.is_peer_access_enabled("cuda:0", "cuda:0")
    assert not wp.is_mempool_access_enabled("cpu", "cpu")
    with pytest.raises(DeviceError, match="device cpu is no GPU"):
        wp.set_peer_access_enabled("cpu", "cuda:0", True)
    with pytest.raises(DeviceError, match="always has access to its own memory"):
        wp.set_peer_access_enabled("cuda:0", "cuda:0", False)


def test_pools_are_counted():
    assert wp.is_mempool_supported("cuda:0")
    assert not wp.is_mempool_supported("cpu")
    assert not wp.is_mempool_enabled("cpu")
    wp.synchronize()
    before = wp.get_mempool_used_mem_current("cuda:0")
    a = wp.zeros(1 << 20, dtype=wp.uint8, device="cuda:0")
    wp.synchronize()
    assert wp.get_mempool_used_mem_current("cuda:0") == before + a.size
    assert wp.get_mempool_used_mem_high("cuda:0") >= before + a.size
    with pytest.raises(DeviceError, match="device cpu is no GPU"):
        wp.get_mempool_used_mem_current("cpu")


def test_pools_are_switched_and_bounded():
    before = wp.get_mempool_release_threshold("cuda:0")
    try:
        wp.set_mempool_release_threshold("cuda:0", 1 << 20)
        assert wp.get_mempool_release_threshold("cuda:0") == 1 << 20
        wp.set_mempool_release_threshold("cuda:0", 0.5)
        assert wp.get_mempool_release_threshold("cuda:0") == wp.get_device("cuda:0").total_memory // 2
        with pytest.raises(DeviceError, match="expected: a share"):
            wp.set_mempool_release_threshold("cuda:0", -1)
    finally:
        wp.set_mempool_release_threshold("cuda:0", before)
    with wp.ScopedMempool("cuda:0", False):
        assert not wp.is_mempool_enabled("cuda:0")
        a = wp.full(10, 2.0, dtype=float, device="cuda:0")
    assert wp.is_mempool_enabled("cuda:0")
    assert a.numpy().tolist() == [2.0] * 10
