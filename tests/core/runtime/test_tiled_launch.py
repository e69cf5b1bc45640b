"""Launches of blocks: one thread for each extent where devices have no blocks, lanes behind the extents else."""

import numpy as np
import pytest

import warpsim as wp


@wp.kernel
def mark(x: wp.array2d[float], out: wp.array2d[float], blocks: wp.array[int]):
    i, j, lane = wp.tid()
    wp.atomic_add(blocks, 0, 1)
    for column in range(lane, 1, wp.block_dim()):
        out[i, j] = x[i, j] * x[i, j] + float(column)


@wp.kernel
def rows(out: wp.array[int]):
    i = wp.tid()
    out[i] = i + 1


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("block", [64, 1, None, 0])
def test_each_extent_has_its_lanes(device, block):
    lanes = (block or 256) if wp.get_device(device).is_cuda else 1
    x = wp.array(np.float32([[1, 2, 3], [4, 5, 6]]), dtype=float, requires_grad=True, device=device)
    out, blocks = wp.zeros_like(x), wp.zeros(1, dtype=int, device=device)
    with wp.Tape() as tape:
        wp.launch_tiled(mark, dim=(2, 3), inputs=[x], outputs=[out, blocks], block_dim=block, device=device)
    tape.backward(grads={out: wp.ones_like(out)})
    assert blocks.numpy().tolist() == [6 * lanes]
    np.testing.assert_array_equal(out.numpy(), x.numpy() ** 2)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.numpy())


def test_kernels_may_leave_the_lane_out_and_launches_be_empty():
    out = wp.zeros(4, dtype=int, device="cpu")
    wp.launch_tiled(rows, 4, [out], block_dim=32, device="cpu")
    wp.launch_tiled(rows, 0, [out], block_dim=32, device="cpu")
    wp.launch_tiled(rows, [4], [out], block_dim=32, device="cpu", record_cmd=True).launch()
    assert out.numpy().tolist() == [1, 2, 3, 4]


def test_a_fourth_extent_is_the_lanes_own():
    with pytest.raises(wp.errors.DimensionError, match="1 to 3"):
        wp.launch_tiled(rows, (1, 1, 1, 1), [None], block_dim=32, device="cpu")
