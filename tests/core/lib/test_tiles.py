"""Reductions, scans and elements of tiles against NumPy, with gradients."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelAssertionError, KernelError, LaunchError

D = wp.float64
DEVICES = ["cpu", "interp"]
N = 5
rng = np.random.default_rng(11)


@wp.func
def product(x: D, y: D):
    return x * y


@wp.kernel
def reductions(x: wp.array2d[D], out: wp.array2d[D], places: wp.array2d[int]):
    i = wp.tid()
    row, table = wp.zeros(shape=N, dtype=D), wp.zeros(shape=(2, N), dtype=D)
    for k in range(N):
        row[k] = x[i, k]
        table[0, k] = x[i, k]
        table[1, k] = x[i, k] * x[i, k]
    out[i, 0] = wp.tile_sum(row)[0]
    out[i, 1] = wp.tile_min(row)[0]
    out[i, 2] = wp.tile_max(table)[0]
    out[i, 3] = wp.tile_reduce(product, row)[0]
    out[i, 4] = wp.tile_extract(wp.tile_sum(table), 0)
    out[i, 5] = wp.tile_extract(table, 1, 3)
    places[i, 0], places[i, 1] = wp.tile_argmin(row)[0], wp.tile_argmax(row)[0]


def numpy_reductions(x):
    both = np.stack([x, x * x], axis=1)
    columns = [x.sum(1), x.min(1), both.max((1, 2)), x.prod(1), both.sum((1, 2)), x[:, 3] ** 2]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("device", DEVICES)
def test_reductions_of_local_arrays_with_their_gradients(device):
    values = rng.normal(size=(7, N))
    with wp.ScopedDevice(device):
        x = wp.array(values, dtype=D, requires_grad=True)
        out, places = wp.zeros((7, 6), dtype=D, requires_grad=True), wp.zeros((7, 2), dtype=int)
        with wp.Tape() as tape:
            wp.launch(reductions, 7, inputs=[x, out, places])
        weights = rng.normal(size=(7, 6))
        tape.backward(grads={out: wp.array(weights, dtype=D)})
    np.testing.assert_allclose(out.numpy(), numpy_reductions(values), rtol=1e-13)
    assert np.array_equal(places.numpy(), np.stack([values.argmin(1), values.argmax(1)], axis=1))
    h, slopes = 1e-6, np.empty_like(values)
    for k in range(N):
        step = h * np.eye(N)[k]
        change = numpy_reductions(values + step) - numpy_reductions(values - step)
        slopes[:, k] = (weights * change).sum(1) / (2 * h)
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-7, atol=1e-7)


@wp.kernel
def scans(x: wp.array2d[D], sums: wp.array2d[D], before: wp.array2d[D], low: wp.array2d[D], high: wp.array2d[D]):
    i = wp.tid()
    row = wp.zeros(shape=N, dtype=D)
    for k in range(N):
        row[k] = x[i, k]
    s, b = wp.tile_scan_inclusive(row), wp.tile_scan_exclusive(row)
    down, up = wp.tile_scan_min_inclusive(row), wp.tile_scan_max_inclusive(row)
    for k in range(N):
        sums[i, k], before[i, k], low[i, k], high[i, k] = s[k], b[k], down[k], up[k]


@pytest.mark.parametrize("device", DEVICES)
def test_scans_of_local_arrays(device):
    values = rng.normal(size=(4, N))
    outs = [wp.zeros((4, N), dtype=D, device=device) for _ in range(4)]
    wp.launch(scans, 4, inputs=[wp.array(values, dtype=D, device=device), *outs], device=device)
    sums = values.cumsum(1)
    np.testing.assert_allclose(outs[0].numpy(), sums, rtol=1e-13)
    np.testing.assert_allclose(outs[1].numpy(), np.hstack([np.zeros((4, 1)), sums[:, :-1]]), rtol=1e-13, atol=1e-15)
    assert np.array_equal(outs[2].numpy(), np.minimum.accumulate(values, axis=1))
    assert np.array_equal(outs[3].numpy(), np.maximum.accumulate(values, axis=1))


@wp.kernel
def lanes(x: wp.array[wp.vec3d], whole: wp.array[wp.vec3d], parts: wp.array[wp.vec3d], sums: wp.array[D]):
    i = wp.tid()
    kept = wp.tile(x[i], preserve_type=True)
    spread = wp.tile(x[i])
    whole[i] = wp.tile_reduce(wp.min, kept)[0] + 2.0 * wp.untile(kept)
    parts[i] = wp.untile(spread)
    sums[i] = wp.tile_sum(spread)[0] + D(spread.shape[0] * 10 + spread.shape[1]) + wp.untile(wp.tile(x[i][1]))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tiled", [False, True])
def test_a_tile_of_lanes_has_one_element_and_its_gradient(device, tiled):
    values = rng.normal(size=(6, 3))
    with wp.ScopedDevice(device):
        x = wp.array(values, dtype=wp.vec3d, requires_grad=True)
        whole, parts = (wp.zeros(6, dtype=wp.vec3d, requires_grad=True) for _ in range(2))
        sums = wp.zeros(6, dtype=D, requires_grad=True)
        with wp.Tape() as tape:
            if tiled:
                wp.launch_tiled(lanes, 6, inputs=[x, whole, parts, sums], block_dim=1)
            else:
                wp.launch(lanes, 6, inputs=[x, whole, parts, sums], block_dim=1)
        tape.backward(grads={a: wp.ones_like(a) for a in (whole, parts, sums)})
    np.testing.assert_allclose(whole.numpy(), 3.0 * values, rtol=1e-14)
    assert np.array_equal(parts.numpy(), values)
    np.testing.assert_allclose(sums.numpy(), values.sum(1) + 31.0 + values[:, 1], rtol=1e-13)
    np.testing.assert_allclose(x.grad.numpy(), np.tile([5.0, 6.0, 5.0], (6, 1)), rtol=1e-14)


@pytest.mark.cpu(reason="blocks of 32 lanes are blocks of one lane on the CPU alone")
def test_blocks_of_a_cpu_have_one_lane_whatever_the_launch_asks_for():
    values = rng.normal(size=(6, 3))
    outs = (wp.zeros(6, dtype=wp.vec3d), wp.zeros(6, dtype=wp.vec3d), wp.zeros(6, dtype=D))
    wp.launch_tiled(lanes, 6, inputs=[wp.array(values, dtype=wp.vec3d), *outs], block_dim=32)
    np.testing.assert_allclose(outs[0].numpy(), 3.0 * values, rtol=1e-14)


def test_blocks_of_several_lanes_are_refused(monkeypatch):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)
    outs = (wp.zeros(4, dtype=wp.vec3d), wp.zeros(4, dtype=wp.vec3d), wp.zeros(4, dtype=D))
    with pytest.raises(KernelAssertionError, match="a tile of a block with several lanes: launch with block_dim=1"):
        wp.launch(lanes, 4, inputs=[wp.zeros(4, dtype=wp.vec3d), *outs], block_dim=2)
        wp.synchronize()  # a GPU tells there


def test_what_is_no_tile_is_refused():
    @wp.kernel
    def whole(x: wp.array[float], out: wp.array[float]):
        out[0] = wp.tile_sum(x)[0]

    @wp.kernel
    def late(x: wp.array[float], flag: bool, out: wp.array[float]):
        out[0] = wp.tile(x[0], preserve_type=flag)[0]

    x = wp.zeros(2)
    with pytest.raises(KernelError, match="what tile_sum adds is array"):
        wp.launch(whole, 1, inputs=[x, x])
    with pytest.raises(KernelError, match="True or False for preserve_type"):
        wp.launch(late, 1, inputs=[x, True, x])
    with pytest.raises(LaunchError, match=r"wp\.tile has a meaning in kernels only"):
        wp.tile(1.0)
