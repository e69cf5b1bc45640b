"""Launches on CUDA devices: every shape of grid, every kind of argument."""


import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.devices.cuda import driver, function
from warpsim.errors import (
    ArgumentTypeError,
    DeviceError,
    DimensionError,
    LaunchError,
    StructureIdError,
)

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]


@wp.struct
class Many:
    a: wp.spatial_matrixd
    b: wp.spatial_matrixd
    count: int


Wide = wp.types.matrix(shape=(20, 20), dtype=wp.float64)


@wp.struct
class Wider:
    first: Wide
    second: Wide


@wp.struct
class Pair:
    x: wp.array(dtype=float)
    weight: float


@wp.kernel
def mark1(out: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(out, i, 1)


@wp.kernel
def mark2(out: wp.array2d(dtype=int)):
    i, j = wp.tid()
    out[i, j] = out[i, j] + 10 * i + j


@wp.kernel
def mark3(out: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    out[i, j, k] = out[i, j, k] + 100 * i + 10 * j + k


@wp.kernel
def mark4(out: wp.array4d(dtype=int)):
    i, j, k, m = wp.tid()
    out[i, j, k, m] = out[i, j, k, m] + 1000 * i + 100 * j + 10 * k + m


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def far(out: wp.array(dtype=wp.int64)):
    i, j = wp.tid()
    if i == 65536 and j == 65535:
        out[0] = wp.int64(i) * wp.int64(65536) + wp.int64(j)


@wp.kernel
def trace_of(given: Many, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = given.a[i, i] + given.b[5 - i, i] * wp.float64(given.count)


@wp.kernel
def corners(given: Wider, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = given.first[i, 19] + given.second[19, i]


@wp.kernel
def weighted(pair: Pair, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = pair.x[i] * pair.weight


@wp.kernel
def near(grid: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=int)):
    i = wp.tid()
    count = int(0)
    for _ in wp.hash_grid_neighbors(grid, points[i], 1.0):
        count += 1
    out[i] = count


@wp.kernel(launch_bounds=64)
def bounded(out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = i


def zeros(shape, dtype=float):
    return wp.zeros(shape, dtype=dtype, device="cuda:0")


# ----- grids ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("block_dim", [None, 0, -1, 1, 32, 100, 1024])
@pytest.mark.parametrize("max_blocks", [0, 1, 3, -1, 1 << 40])
def test_every_grid_runs_every_thread_once(block_dim, max_blocks):
    for n in (1, 255, 256, 1000):
        out = zeros(n, int)
        wp.launch(mark1, n, [out], device="cuda:0", block_dim=block_dim, max_blocks=max_blocks)
        assert out.numpy().tolist() == [1] * n


@pytest.mark.parametrize("kernel, shape", [(mark2, (5, 7)), (mark3, (3, 4, 5)), (mark4, (2, 3, 4, 5))])
def test_indices_of_every_rank(kernel, shape):
    out = zeros(shape, int)
    wp.launch(kernel, shape, [out], device="cuda:0", max_blocks=2, block_dim=8)
    expected = sum(np.indices(shape)[k] * 10 ** (len(shape) - 1 - k) for k in range(len(shape)))
    assert np.array_equal(out.numpy(), expected)


def test_no_threads_do_nothing():
    out = zeros((3, 4), int)
    for dim in ((0, 4), (3, 0)):
        wp.launch(mark2, dim, [out], device="cuda:0")
    assert not out.numpy().any()


def test_grids_of_more_threads_than_an_index_has_values(monkeypatch):
    """What the driver is given for 2**32 threads; a machine without a GPU would take too long to run them."""
    given = []
    out = zeros(1, wp.int64)
    wp.launch(far, (1, 1), [out], device="cuda:0")
    loaded = far.latest["cuda:0"].code
    monkeypatch.setattr(loaded, "_launch", lambda *args: given.append((args, function._parameters.count.value)) or (0,))
    wp.launch(far, (65537, 65536), [out], device="cuda:0")
    [(args, count)] = given
    assert count == 65537 * 65536
    assert args[1] == -(-count // 256)
    wp.launch(far, (2**31 - 1, 2**31 - 1), [out], device="cuda:0")
    assert given[1][0][1] == 2**31 - 1
    assert given[1][1] == (2**31 - 1) ** 2
    with pytest.raises(DimensionError):
        wp.launch(far, (2**31, 1), [out], device="cuda:0")


@pytest.mark.parametrize("block_dim", [1025, 2.5, "256"])
def test_blocks_that_cannot_be(block_dim):
    with pytest.raises(LaunchError, match="expected: an integer from 1 to 1024"):
        wp.launch(mark1, 4, [zeros(4, int)], device="cuda:0", block_dim=block_dim)


def test_launch_bounds_hold():
    out = zeros(500, int)
    wp.launch(bounded, 500, [out], device="cuda:0")
    assert out.numpy().tolist() == list(range(500))
    assert bounded.latest["cuda:0"].block_dim == 64
    with pytest.raises(LaunchError, match="from 1 to 64"):
        wp.launch(bounded, 500, [out], device="cuda:0", block_dim=128)


def test_registers_limit_blocks(monkeypatch):
    """A kernel that leaves room for 96 threads is launched with so many, not refused by the driver."""
    inner = driver.call
    monkeypatch.setattr(
        function, "call", lambda name, *args: 96 if name == "cuFuncGetAttribute" else inner(name, *args)
    )

    @wp.kernel
    def heavy(out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = out[i] + 2

    out = zeros(300, int)
    wp.launch(heavy, 300, [out], device="cuda:0")
    assert heavy.latest["cuda:0"].block_dim == 96
    assert out.numpy().tolist() == [2] * 300
    with pytest.raises(LaunchError, match="expected: an integer from 1 to 96"):
        wp.launch(heavy, 300, [out], device="cuda:0", block_dim=256)


# ----- arguments ------------------------------------------------------------------------------------


def test_large_argument_blocks():
    given, out = Many(), zeros(6, wp.float64)
    given.a = wp.spatial_matrixd(*range(36))
    given.b = wp.spatial_matrixd(*range(36, 72))
    given.count = 3
    wp.launch(trace_of, 6, [given, out], device="cuda:0")
    a, b = np.arange(36.0).reshape(6, 6), np.arange(36.0, 72.0).reshape(6, 6)
    assert out.numpy().tolist() == [a[i, i] + 3.0 * b[5 - i, i] for i in range(6)]


def test_argument_blocks_of_many_kilobytes():
    given, out = Wider(), zeros(20, wp.float64)
    given.first, given.second = (Wide(*range(k, k + 400)) for k in (0, 1000))
    wp.launch(corners, 20, [given, out], device="cuda:0")
    assert out.numpy().tolist() == [20.0 * i + 19.0 + 1380.0 + i for i in range(20)]


def test_structs_carry_arrays():
    pair, y = Pair(), zeros(4)
    pair.x, pair.weight = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, device="cuda:0"), 2.0
    wp.launch(weighted, 4, [pair, y], device="cuda:0")
    assert y.list() == [2.0, 4.0, 6.0, 8.0]


def test_arrays_of_another_device_in_structs_are_refused():
    y = zeros(4)
    here, there = (Pair(x=wp.zeros(4, dtype=float, device=d), weight=1.0) for d in ("cuda:0", "cpu"))
    with pytest.raises(DeviceError, match=r"argument 'pair\.x' of kernel .*weighted.* is on cpu\nexpected: cuda:0"):
        wp.launch(weighted, 4, [there, y], device="cuda:0")
    with pytest.raises(DeviceError, match=r"elements of Pair that refer to an array on cpu\nexpected: .* cuda:0"):
        wp.array([here, there], dtype=Pair, device="cuda:0")
    with pytest.raises(DeviceError, match=r"elements of Pair that refer to an array on cuda:0"):
        wp.array([here], dtype=Pair, device="cuda:0").to("cpu")


def test_arrays_of_another_device_are_refused():
    x, y = zeros(4), wp.zeros(4, dtype=float, device="cpu")
    with pytest.raises(DeviceError, match=r"argument 'y' of kernel .*axpy.* is on cpu\nexpected: cuda:0"):
        wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")
    with pytest.raises(DeviceError, match=r"argument 'x' of kernel .*axpy.* is on cuda:0\nexpected: cpu"):
        wp.launch(axpy, 4, [x, y, 1.0], device="cpu")
    with pytest.raises(DeviceError, match="is ndarray memory of the host\nexpected: memory of cuda:0"):
        wp.launch(axpy, 4, [x, np.zeros(4, np.float32), 1.0], device="cuda:0")
    with pytest.raises(ArgumentTypeError):
        wp.launch(axpy, 4, [x, x, "one"], device="cuda:0")
    if wp.get_cuda_device_count() > 1:
        with pytest.raises(DeviceError, match="is on cuda:1\nexpected: cuda:0"):
            wp.launch(axpy, 4, [x, wp.zeros(4, dtype=float, device="cuda:1"), 1.0], device="cuda:0")


def test_structures_of_another_device_are_refused():
    points = np.random.default_rng(0).random((20, 3)).astype(np.float32) * 3.0
    here, there = (wp.array(points, dtype=wp.vec3, device=d) for d in ("cpu", "cuda:0"))
    grids = [wp.HashGrid(4, 4, 4, device=p.device) for p in (here, there)]
    for grid, p in zip(grids, (here, there), strict=True):
        grid.build(p, 1.0)
    found, expected = zeros(20, int), wp.zeros(20, dtype=int, device="cpu")
    wp.launch(near, 20, [grids[1].id, there, found], device="cuda:0")
    wp.launch(near, 20, [grids[0].id, here, expected], device="cpu")
    assert found.list() == expected.list()
    with pytest.raises(StructureIdError, match="the structure of this id is on cpu\nexpected: one on cuda:0"):
        wp.launch(near, 20, [grids[0].id, there, found], device="cuda:0")
