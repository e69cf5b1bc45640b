"""Launches made without arguments, which are set one by one."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, LaunchError, WarpsimError


@wp.struct
class Settings:
    scale: float
    offset: wp.vec3


@wp.kernel
def placed(x: wp.array[float], s: Settings, t: wp.transform, k: int, out: wp.array[wp.vec3]):
    i = wp.tid()
    out[i] = s.scale * x[i] * wp.vec3(1.0) + s.offset + wp.transform_get_translation(t) * float(k)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_arguments_are_set_one_by_one_and_changed(device):
    x = wp.array([1.0, 2.0, 3.0], dtype=float, device=device)
    out = wp.zeros(3, dtype=wp.vec3, device=device)
    command = wp.Launch(placed, device)
    assert command.kernel is placed
    command.launch()  # no thread yet
    command.set_param_by_name("out", out)
    command.set_param_at_index(0, x)
    command.set_dim(2)
    command.set_param_by_name("s", Settings(scale=2.0, offset=wp.vec3(1.0, 0.0, 0.0)))
    command.launch()
    assert out.numpy().tolist() == [[3, 2, 2], [5, 4, 4], [0, 0, 0]]
    command.set_param_by_name("t", wp.transform(wp.vec3(1.0, 1.0, 1.0), wp.quat_identity()))
    command.set_param_by_name("k", 10)
    command.set_dim(3)
    command.launch()
    assert out.numpy()[2].tolist() == [17, 16, 16]


def test_what_is_not_set_is_zero():
    out = wp.ones(1, dtype=wp.vec3)
    command = wp.Launch(placed)
    command.set_param_by_name("x", wp.ones(1, dtype=float))
    command.set_param_by_name("out", out)
    command.set_dim(1)
    command.launch()
    assert out.numpy().tolist() == [[0, 0, 0]]


@wp.kernel
def weighted(x: wp.array[float], w: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = x[i]
    if w is not None:
        out[i] = x[i] * w[i]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_arrays_may_be_recorded_as_none_and_set_later(device):
    x, out = wp.array([1.0, 2.0], dtype=float, device=device), wp.zeros(2, dtype=float, device=device)
    command = wp.launch(weighted, 2, inputs=[None, None, None], device=device, record_cmd=True)
    with pytest.raises(LaunchError, match=r"x, out of kernel .* not set"):
        command.launch()
    command.set_param_by_name("x", x)
    with pytest.raises(LaunchError, match=r"out of kernel .* not set"):
        command.launch()
    command.set_param_by_name("out", out)
    command.launch()
    assert out.numpy().tolist() == [1, 2]
    command.set_param_at_index(1, x)
    command.launch()
    assert out.numpy().tolist() == [1, 4]
    other = wp.launch(weighted, 2, inputs=[x, None], outputs=[None], device=device, record_cmd=True)
    other.set_params([x, x, out])
    other.launch()


def test_tapes_record_launches_made_so():
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    out = wp.zeros(2, dtype=wp.vec3, requires_grad=True)
    command = wp.Launch(placed)
    for name, value in (("x", x), ("out", out), ("s", Settings(scale=3.0))):
        command.set_param_by_name(name, value)
    command.set_dim(2)
    with wp.Tape() as tape:
        command.launch()
    tape.backward(grads={out: wp.ones(2, dtype=wp.vec3)})
    np.testing.assert_allclose(x.grad.numpy(), [9.0, 9.0])


def test_what_cannot_be_launched_is_refused():
    @wp.kernel
    def generic(x: wp.array[wp.Float]):
        x[wp.tid()] = x.dtype(1.0)

    with pytest.raises(LaunchError, match="is generic"):
        wp.Launch(generic)
    with pytest.raises(LaunchError, match="is not a kernel"):
        wp.Launch(len)
    command = wp.Launch(placed)
    with pytest.raises(ArgumentTypeError):
        command.set_param_by_name("k", "three")
    with pytest.raises(LaunchError, match="no parameter 'm'"):
        command.set_param_by_name("m", 3)


# ----- structs, which may change ----------------------------------------------------------------


@wp.struct
class Rates:
    start: wp.vec3
    step: float


@wp.struct
class Setup:
    rates: Rates
    source: wp.array(dtype=float)
    count: int


@wp.kernel
def advance(setup: Setup, scale: float, out: wp.array(dtype=float)):
    i = wp.tid()
    source = setup.source[i]
    if i < setup.count:
        out[i] = setup.rates.start[i] + scale * setup.rates.step * source


def setup_of(device, **options):
    setup = Setup()
    setup.rates.start, setup.rates.step, setup.count = wp.vec3(10.0, 20.0, 30.0), 1.0, 2
    setup.source = wp.array([1.0, 2.0, 3.0], dtype=float, device=device, **options)
    return setup


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_changes_of_a_struct_reach_the_launches_that_follow(device):
    setup, out = setup_of(device), wp.zeros(3, dtype=float, device=device)
    command = wp.launch(advance, 3, [setup, 2.0, out], device=device, record_cmd=True)
    assert command.args[0] is setup

    def after(change):
        out.zero_()
        change()
        command.launch()
        return out.list()

    assert after(lambda: None) == [12.0, 24.0, 0.0]
    assert after(lambda: setattr(setup, "count", 3)) == [12.0, 24.0, 36.0]
    assert after(lambda: setattr(setup.rates, "step", 0.5)) == [11.0, 22.0, 33.0]
    assert after(lambda: setattr(setup.rates.start, "x", 0.0)) == [1.0, 22.0, 33.0]
    assert after(lambda: setattr(setup, "rates", Rates(wp.vec3(), 1.0))) == [2.0, 4.0, 6.0]
    other = wp.array([5.0, 6.0, 7.0], dtype=float, device=device)
    assert after(lambda: setattr(setup, "source", other)) == [10.0, 12.0, 14.0]
    assert after(lambda: command.set_param_by_name("scale", 1.0)) == [5.0, 6.0, 7.0]
    assert after(lambda: setattr(setup, "count", 1)) == [5.0, 0.0, 0.0]
    second = setup_of(device)
    command.set_param_at_index(0, second)
    assert after(lambda: setattr(setup, "count", 3)) == [11.0, 22.0, 0.0]
    assert after(lambda: setattr(second, "count", 3)) == [11.0, 22.0, 33.0]
    assert after(lambda: command.set_params([setup, 1.0, out])) == [5.0, 6.0, 7.0]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_graphs_and_tapes_hold_a_struct_as_it_was(device):
    setup = setup_of(device, requires_grad=True)
    out = wp.zeros(3, dtype=float, device=device, requires_grad=True)
    command = wp.launch(advance, 3, [setup, 2.0, out], device=device, record_cmd=True)
    with wp.ScopedCapture(device=device) as capture:
        command.launch()
    setup.rates.step = 3.0
    wp.capture_launch(capture.graph)
    assert out.list() == [12.0, 24.0, 0.0]
    with wp.Tape() as tape:
        command.launch()
    setup.rates.step = 100.0
    tape.backward(grads={out: wp.ones(3, dtype=float, device=device)})
    assert setup.source.grad.list() == [6.0, 6.0, 0.0]


def test_a_change_that_does_not_fit_is_told_at_the_next_launch():
    setup, out = setup_of(None), wp.zeros(3, dtype=float)
    command = wp.launch(advance, 3, [setup, 2.0, out], record_cmd=True)
    setup.source = None
    with pytest.raises(WarpsimError, match=r"argument 'setup' of (.|\n)*an array in it is None"):
        command.launch()
    setup.source = wp.ones(3, dtype=float)
    command.launch()
    assert out.list() == [12.0, 22.0, 0.0]


def test_recorded_adjoints_hold_a_struct_as_it_was():
    setup = setup_of(None, requires_grad=True)
    out = wp.zeros(3, dtype=float, requires_grad=True)
    command = wp.launch(advance, 3, [setup, 2.0], [out], adjoint=True, record_cmd=True)
    setup.rates.step = 100.0
    out.grad.fill_(1.0)
    command.launch()
    assert setup.source.grad.list() == [2.0, 2.0, 0.0]
