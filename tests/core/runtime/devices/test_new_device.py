"""A new kind of device is a file of its own, its name among the devices, and its launcher among the launchers."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.devices import device as devices
from warpsim.core.runtime.launches import for_device
from warpsim.core.runtime.launches.cpu_launcher import CpuLauncher

N = 4000


class Backwards(devices.Device):
    """Memory of the host, in which fresh contents are never zero by chance."""

    def empty(self, shape, dtype):
        made = super().empty(shape, dtype)
        made.view(np.uint8)[...] = 0xCB
        return made


class BackwardsLauncher(CpuLauncher):
    """Runs threads from the last to the first, and counts launches."""

    launches = 0

    def load(self, layouts):
        super().load(layouts)
        self.serial_limit = -1

    def run(self, call):
        BackwardsLauncher.launches += 1
        for thread in reversed(range(call.total)):
            self.function(call.block, thread, thread + 1, 0)

    run_in_order = run

    def command(self, call):
        return None


@pytest.fixture
def device(monkeypatch):
    made = Backwards("backwards", "A CPU that walks backwards")
    monkeypatch.setitem(devices._DEVICES, "backwards", made)
    monkeypatch.setitem(for_device.LAUNCHERS, "backwards", BackwardsLauncher)
    BackwardsLauncher.launches = 0
    return made


@wp.kernel
def grow(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i] * y[i]


@wp.kernel
def total(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i])


@wp.kernel
def last(out: wp.array(dtype=int)):
    out[0] = wp.tid()


def run(device):
    """Values and gradients of a program with launches, a graph, a loop with checkpoints and a running sum."""
    numbers = np.random.default_rng(0).integers(1, 4, N) / 8
    x = wp.array(numbers, dtype=float, device=device, requires_grad=True)
    y = wp.ones(N, dtype=float, device=device, requires_grad=True)
    sums, loss = wp.zeros_like(y), wp.zeros(1, dtype=float, device=device, requires_grad=True)
    with wp.ScopedDevice(device), wp.ScopedCapture() as capture:
        wp.launch(grow, N, inputs=[x, y])
    with wp.Tape() as tape, wp.ScopedDevice(device):
        wp.checkpoint(lambda k: wp.launch(grow, N, inputs=[x, y]), [y], 2, parameters=[x])
        wp.utils.array_scan(y, sums)
        wp.capture_launch(capture.graph)
        wp.launch(total, N, inputs=[sums, loss])
    tape.backward(loss)
    assert {a.device.alias for a in (x, y, loss, x.grad)} == {str(device)}
    return [a.numpy() for a in (y, sums, loss, x.grad)]


def test_programs_run_there_as_on_the_cpu(device):
    found, expected = run("backwards"), run("cpu")
    assert BackwardsLauncher.launches >= 8
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_its_launcher_runs_the_threads(device):
    out = wp.zeros(1, dtype=int, device="backwards")
    wp.launch(last, 9, inputs=[out], device=device)
    assert out.numpy()[0] == 0 and str(device) == "backwards" and wp.get_device("backwards") is device
    assert (wp.empty(3, dtype=wp.uint8, device=device).numpy() == 0xCB).all()
    wp.load_module(device=device)
