"""Launches in the company of others on CUDA devices: recorded, from many threads, on tapes."""

import ctypes
import gc
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.devices.cuda import driver, function
from warpsim.errors import DeviceError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]


@wp.kernel
def mark1(out: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(out, i, 1)


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def grow(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])


def zeros(shape, dtype=float):
    return wp.zeros(shape, dtype=dtype, device="cuda:0")


# ----- recorded launches, threads -------------------------------------------------------------------


def test_recorded_launches_take_other_values():
    x, y, z = wp.full(10, 1.0, device="cuda:0"), zeros(10), zeros(20)
    command = wp.launch(axpy, 10, [x, y, 2.0], device="cuda:0", record_cmd=True)
    assert not y.numpy().any()
    command.launch()
    command.set_param_by_name("a", 3.0)
    command.launch()
    assert y.numpy()[9] == 5.0
    command.set_param_at_index(1, z)
    command.set_dim(5)
    command.launch(stream=wp.get_stream("cuda:0"))
    assert z.numpy().sum() == 15.0
    with pytest.raises(DeviceError, match="is on cpu"):
        command.set_param_at_index(1, wp.zeros(10, dtype=float, device="cpu"))
    command.launch()
    assert z.numpy().sum() == 30.0


@wp.kernel
def widths(x: wp.array(dtype=float), out: wp.array(dtype=int)):
    out[wp.tid()] = wp.block_dim()


def test_recorded_launches_keep_their_blocks_when_they_compile_again():
    x, out = zeros(4), wp.zeros(4, dtype=int, device="cuda:0")
    command = wp.launch(widths, 4, [x, out], device="cuda:0", block_dim=4, max_blocks=1, record_cmd=True)
    for given in (x, zeros(8)[::2]):
        command.set_param_at_index(0, given)
        out.zero_()
        command.launch()
        assert out.list() == [4] * 4


@wp.kernel
def spell(first: int, second: int, x: float):
    wp.printf("%c%c %d %g%%\n", first, second, first + second, x)


def test_characters_are_printed(capfd):
    wp.launch(spell, 1, [72, 105, 2.5], device="cuda:0")
    wp.synchronize()
    ctypes.CDLL(None).fflush(None)  # what the driver printed waits in the C library
    assert capfd.readouterr().out == "Hi 177 2.5%\n"


def test_python_threads_launch_at_once():
    threads, rounds, n = 6, 30, 100
    out = zeros(n, int)
    own = [zeros(n) for _ in range(threads)]
    x, errors = wp.full(n, 1.0, dtype=float, device="cuda:0"), []
    wp.synchronize()

    def work(k):
        try:
            for _ in range(rounds):
                wp.launch(mark1, n, [out], device="cuda:0")
                wp.launch(axpy, n, [x, own[k], float(k)], device="cuda:0")
                wp.zeros(n, dtype=float, device="cuda:0")
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not errors
    assert out.numpy().tolist() == [threads * rounds] * n
    assert [float(a.numpy()[0]) for a in own] == [float(k * rounds) for k in range(threads)]


def test_threads_compile_one_kernel_at_once():
    @wp.kernel
    def fresh(out: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(out, i, 3)

    out, barrier = zeros(8, int), threading.Barrier(4)
    wp.synchronize()

    def work():
        barrier.wait()
        wp.launch(fresh, 8, [out], device="cuda:0")

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert out.numpy().tolist() == [12] * 8


def test_code_that_nobody_needs_is_unloaded(monkeypatch):
    gc.collect()  # code of other tests
    unloaded = []
    inner = driver.call
    monkeypatch.setattr(function, "call", lambda n, *a: unloaded.append(n) if n == "cuModuleUnload" else inner(n, *a))

    def passing():
        @wp.kernel
        def gone(out: wp.array(dtype=int)):
            i = wp.tid()
            out[i] = 5

        out = zeros(8, int)
        wp.launch(gone, 8, [out], device="cuda:0")
        code = gone.latest["cuda:0"].code
        gone.forget()
        return out, code

    out, code = passing()
    assert not unloaded
    del code
    gc.collect()
    assert unloaded == ["cuModuleUnload"]
    assert out.list() == [5] * 8


# ----- gradients ------------------------------------------------------------------------------------


def test_tapes_reverse_overwritten_arrays():
    grads = []
    for device in ("cpu", "cuda:0"):
        x = wp.array([1.1, 0.9, 1.2], dtype=float, device=device, requires_grad=True)
        out = wp.zeros(1, dtype=float, device=device, requires_grad=True)
        with wp.Tape() as tape:
            for _ in range(3):
                wp.launch(grow, 3, [x], device=device)
            wp.launch(total, 3, [x, out], device=device)
        tape.backward(out)
        grads.append(x.grad.numpy())
    assert np.allclose(grads[0], grads[1], rtol=1e-6)
    assert np.allclose(grads[1], 8.0 * np.array([1.1, 0.9, 1.2]) ** 7, rtol=1e-5)


def test_loops_with_checkpoints_on_the_device():
    def run(device):
        x = wp.array([0.5, 0.6], dtype=float, device=device, requires_grad=True)
        state = [wp.clone(x, requires_grad=True), wp.zeros(2, dtype=float, device=device, requires_grad=True)]
        out = wp.zeros(1, dtype=float, device=device, requires_grad=True)

        def step(k):
            wp.launch(square, 2, [state[0], state[1]], device=device)
            wp.copy(state[0], state[1])
            wp.launch(axpy, 2, [x, state[0], 0.5], device=device)

        with wp.Tape() as tape:
            wp.copy(state[0], x)
            wp.checkpoint(step, [state[0]], 7, parameters=[x], scratch=[state[1]])
            wp.launch(total, 2, [state[0], out], device=device)
        tape.backward(out)
        return out.numpy()[0], x.grad.numpy()

    (a, da), (b, db) = run("cpu"), run("cuda:0")
    assert np.isclose(a, b, rtol=1e-6)
    assert np.allclose(da, db, rtol=1e-5)


@pytest.mark.parametrize(("place", "other"), [("cpu", "cuda:0"), ("cuda:0", "cpu")])
def test_seeds_of_gradients_come_from_any_device(place, other):
    x, y = (wp.full(2, 3.0, device=place, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(square, 2, [x, y], device=place)
    tape.backward(grads={y: wp.array([1.0, 2.0], dtype=float, device=other)})
    assert x.grad.numpy().tolist() == [6.0, 12.0]
