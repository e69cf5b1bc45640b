"""Blocks of several threads where devices have none of their own: `config.enable_cpu_blocks`."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import DimensionError

DEVICES = pytest.mark.parametrize("device", ["cpu", "interp"])


@pytest.fixture
def blocks(monkeypatch):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)


@wp.func
def width():
    return wp.block_dim()


@wp.kernel
def widths(out: wp.array[int]):
    out[wp.tid()] = width()


@wp.kernel
def scaled(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = x[i] * x[i] * float(wp.block_dim())


@wp.kernel
def row_sums(a: wp.array2d[float], sums: wp.array[float]):
    i, lane = wp.tid()
    total = float(0.0)
    for j in range(lane, a.shape[1], wp.block_dim()):
        total += a[i, j] * a[i, j]
    wp.atomic_add(sums, i, total)


@wp.func
def times_block(x: float):
    return x * float(wp.block_dim())


def seen(device, n=5, **options):
    out = wp.zeros(n, dtype=int, device=device)
    wp.launch(widths, n, outputs=[out], device=device, **options)
    assert len(set(out.list())) == 1
    return out.list()[0]


@pytest.mark.cpu
@DEVICES
@pytest.mark.parametrize("asked, had", [(None, 1), (0, 1), (-3, 1), (1, 1), (2, 2), (np.int64(257), 257), (1024, 1024)])
def test_the_threads_of_a_block_are_those_asked_for(blocks, device, asked, had):
    assert seen(device, block_dim=asked) == had
    assert seen(device, 2000 if device == "cpu" else 3, block_dim=asked) == had


@pytest.mark.cpu
@DEVICES
def test_without_the_switch_a_block_is_one_thread(device):
    assert [seen(device, block_dim=n) for n in (None, 1, 64, 1024)] == [1] * 4


@pytest.mark.cpu
@pytest.mark.parametrize("switch", [False, True])
@pytest.mark.parametrize("asked", [1025, 2.5, "64"])
def test_blocks_that_cannot_be(monkeypatch, switch, asked):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", switch)
    with pytest.raises(DimensionError, match="at most 1024 on CPUs"):
        seen("cpu", block_dim=asked)
    with pytest.raises(ValueError):
        wp.launch_tiled(widths, 4, [wp.zeros(4, dtype=int)], block_dim=asked, device="cpu")
    loads = (
        lambda: wp.Launch(widths, "cpu", block_dim=asked),
        lambda: wp.force_load(device=["cpu", "interp"], modules=[], block_dim=asked),
        lambda: wp.load_module(__name__, device="interp", block_dim=asked),
        lambda: widths.module.load(device="cpu", block_dim=asked),
    )
    for load in loads:
        with pytest.raises(ValueError, match="at most 1024 on CPUs"):
            load()


@pytest.mark.cpu
@DEVICES
@pytest.mark.parametrize("block_dim, columns", [(1, 5), (4, 8), (4, 7), (64, 5), (8, 0)])
def test_lanes_share_the_work_of_a_tile(blocks, device, block_dim, columns):
    values = np.random.default_rng(1).normal(size=(3, columns)).astype(np.float32)
    a = wp.array(values, dtype=float, requires_grad=True, device=device)
    sums = wp.zeros(3, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch_tiled(row_sums, 3, inputs=[a], outputs=[sums], block_dim=block_dim, device=device)
    np.testing.assert_allclose(sums.numpy(), (values**2).sum(1), rtol=1e-5)
    tape.backward(grads={sums: wp.array([1.0, 2.0, 3.0], dtype=float, device=device)})
    np.testing.assert_allclose(a.grad.numpy(), 2 * values * [[1], [2], [3]], rtol=1e-5)


@pytest.mark.cpu
@DEVICES
def test_derivatives_have_the_blocks_of_their_launch(blocks, device):
    x = wp.array([1.0, -2.0, 3.0], dtype=float, requires_grad=True, device=device)
    out = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(scaled, 3, inputs=[x], outputs=[out], device=device, block_dim=4)
        wp.launch(scaled, 3, inputs=[out], outputs=[again := wp.zeros_like(x)], device=device, block_dim=2)
    wp.config.enable_cpu_blocks = False  # what was launched keeps its blocks
    for _ in range(2):
        tape.backward(grads={again: wp.ones(3, device=device)})
        np.testing.assert_array_equal(out.numpy(), [4, 16, 36])
        np.testing.assert_array_equal(again.numpy(), [32, 512, 2592])
        np.testing.assert_array_equal(x.grad.numpy(), [128, -1024, 3456])  # d/dx 32 x^4
        tape.zero()
    moved = wp.autograd.jvp(tape, tangents={x: wp.ones(3, device=device)})
    np.testing.assert_array_equal(moved[again].numpy(), [128, -1024, 3456])
    curved = wp.autograd.hvp(tape, vector={x: wp.ones(3, device=device)}, cotangents={again: wp.ones(3, device=device)})
    np.testing.assert_array_equal(curved[x].numpy(), [384, 1536, 3456])  # 384 x^2


@pytest.mark.cpu
@DEVICES
def test_adjoints_by_hand_have_blocks(blocks, device):
    x = wp.array([1.0, -2.0, 3.0], dtype=float, device=device)
    gradient, out = wp.zeros_like(x), wp.zeros_like(x)
    seeds = {"adj_inputs": [gradient], "adj_outputs": [wp.ones_like(x)], "adjoint": True}
    wp.launch(scaled, 3, inputs=[x], outputs=[out], device=device, block_dim=8, **seeds)
    np.testing.assert_array_equal(gradient.numpy(), [16, -32, 48])
    command = wp.launch(scaled, 3, [x], [out], device=device, block_dim=2, record_cmd=True, **seeds)
    command.launch()
    assert command.block_dim == 2
    np.testing.assert_array_equal(gradient.numpy(), [20, -40, 60])


@pytest.mark.cpu
@DEVICES
def test_recorded_launches_and_graphs_keep_their_blocks(blocks, device):
    out = wp.zeros(4, dtype=int, device=device)
    commands = [wp.launch(widths, 4, [out], device=device, block_dim=n, record_cmd=True) for n in (3, None)]
    tiled = wp.launch_tiled(widths, 4, [out], device=device, block_dim=6, record_cmd=True)
    direct = wp.Launch(widths, device=device, block_dim=9)
    direct.set_dim(4)
    direct.set_param_at_index(0, out)
    with wp.ScopedCapture(device) as capture:
        wp.launch(widths, 4, [out], device=device, block_dim=5)
    wp.config.enable_cpu_blocks = False
    late = wp.launch(widths, 4, [out], device=device, block_dim=5, record_cmd=True)
    assert [c.block_dim for c in (*commands, tiled, direct, late)] == [3, 1, 6, 9, 1]
    for command, n in zip((*commands, tiled, direct, late), (3, 1, 6, 9, 1), strict=True):
        command.set_params([wp.zeros(8, dtype=int, device=device)[::2]])  # another layout: another launcher
        command.launch()
        command.set_params([out])
        command.launch()
        assert out.list() == [n] * 4
    wp.capture_launch(capture.graph)
    assert out.list() == [5] * 4


@pytest.mark.cpu
def test_maps_and_jacobians_have_blocks(blocks):
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    assert wp.map(times_block, x, block_dim=4).list() == [4.0, 8.0, 12.0]
    assert wp.map(times_block, x).list() == [1.0, 2.0, 3.0]
    jacobians = wp.autograd.jacobian(scaled, 3, inputs=[x], outputs=[wp.zeros_like(x)], block_dim=4)
    np.testing.assert_array_equal(jacobians["x", "out"].numpy(), np.diag([8.0, 16.0, 24.0]))


@pytest.mark.cpu
def test_a_recorded_launch_from_outside_has_blocks(blocks):
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    out = wp.zeros_like(x)
    tape = wp.Tape()
    tape.record_launch(scaled, 3, 0, [x], [out], block_dim=4)
    tape.backward(grads={out: wp.ones(3)})
    np.testing.assert_array_equal(x.grad.numpy(), [8, 16, 24])
