"""Options of kernels, modules and `config` take effect at the next launch; generic and recorded kernels follow."""

import ctypes
import types
from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit import build as builder
from warpsim.core.ir.nodes import For, walk
from warpsim.core.runtime.launches import private_sums
from warpsim.errors import (
    ArgumentCountError,
    ArgumentTypeError,
    DimensionError,
    KernelError,
    LaunchError,
    OutOfBoundsError,
    ReadOnlyError,
)


def make_reader(**options):
    @wp.kernel(module="warpsim_test_options", **options)
    def read(x: wp.array(dtype=float), at: int, out: wp.array(dtype=float)):
        out[0] = x[at]

    return read


def checks_bounds(kernel):
    """Whether the kernel stops at an index outside; the memory read is there all the same."""
    memory = wp.array(np.arange(8, dtype=np.float32))
    out = wp.zeros(1, dtype=float)
    try:
        wp.launch(kernel, dim=1, inputs=[memory[:4], 6, out])
    except OutOfBoundsError:
        return True
    assert out.list() == [6.0]
    return False


@pytest.fixture
def module_options():
    """Set options of the module of `make_reader`; they are gone after the test."""
    module = wp.get_module("warpsim_test_options")
    yield lambda **options: wp.set_module_options(options, module)
    module.options.clear()
    config.touch()


# ----- verify ---------------------------------------------------------------------------------


def test_config_takes_effect_at_the_next_launch():
    kernel = make_reader()
    for wanted in (False, True, False, True):
        config.verify = wanted
        assert checks_bounds(kernel) is wanted
    assert len(kernel.launchers) == 2


def test_a_kernel_s_option_wins_over_its_module_s_and_that_over_config(module_options):
    plain, checked, unchecked = make_reader(), make_reader(verify=True), make_reader(verify=False)
    for in_config in (False, True):
        config.verify = in_config
        assert [checks_bounds(k) for k in (plain, checked, unchecked)] == [in_config, True, False]
        for in_module in (True, False):
            module_options(verify=in_module)
            assert [checks_bounds(k) for k in (plain, checked, unchecked)] == [in_module, True, False]
            assert wp.get_module_options(wp.get_module("warpsim_test_options"))["verify"] is in_module
        wp.get_module("warpsim_test_options").options.clear()
        config.touch()


def test_a_switch_that_changes_during_a_launch_is_seen_by_the_next(monkeypatch):
    kernel = make_reader()
    settings = wp.Kernel.settings

    def interrupted(asked):
        found = settings(asked)
        config.verify = True  # as another thread might
        return found

    monkeypatch.setattr(wp.Kernel, "settings", interrupted)
    assert not checks_bounds(kernel)
    assert checks_bounds(kernel)


def test_module_options_are_those_of_the_calling_module():
    wp.set_module_options({"max_unroll": 3})
    try:
        assert wp.get_module_options()["max_unroll"] == 3
        assert wp.get_module_options() == wp.get_module_options(wp.get_module(__name__))
        assert wp.get_module(types.ModuleType(__name__)) is wp.get_module(__name__)
    finally:
        wp.get_module(__name__).options.clear()
        config.touch()


def test_unknown_options_are_refused():
    message = r"unknown option 'fastmath'\nexpected: fast_math, max_unroll, verify, deterministic, enable_backward"
    with pytest.raises(ValueError, match=message):
        wp.set_module_options({"fastmath": True})
    with pytest.raises(ValueError, match=message):
        wp.Kernel(make_reader().function, options={"fastmath": True})


# ----- fast_math and max_unroll ---------------------------------------------------------------


def test_fast_math_only_when_asked_for(capsys):
    @wp.kernel
    def absorb(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = (x[i] + 1.0e8) - 1.0e8

    config.dump = "llvm"
    for fast, result in ((False, 0.0), (True, 1.0), (False, 0.0)):
        config.fast_math = fast
        x = wp.ones(1, dtype=float)
        wp.launch(absorb, dim=1, inputs=[x])
        assert x.list() == [result]
        text = capsys.readouterr().out
        assert ("fadd fast" in text, "fsub fast" in text) == (fast, fast) or not text
    assert len(absorb.launchers) == 2


def loops_left(kernel, *arguments):
    program = kernel.program(kernel.types_for(list(arguments)))
    return sum(isinstance(node, For) for node in walk(program.fn.body))


def test_max_unroll_changes_the_program_and_not_the_result():
    @wp.kernel
    def powers(out: wp.array(dtype=int)):
        total = int(1)
        for k in range(10):
            total = total * 3 - k
        out[wp.tid()] = total

    expected = 1
    for k in range(10):
        expected = expected * 3 - k
    for limit, loops in ((16, 0), (9, 1), (0, 1), (10, 0)):
        config.max_unroll = limit
        out = wp.zeros(2, dtype=int)
        wp.launch(powers, dim=2, inputs=[out])
        assert out.list() == [expected] * 2
        assert loops_left(powers, out) == loops


# ----- deterministic --------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """What every launch with atomics was asked for."""
    seen = []
    way_of = private_sums.way_of

    def spy(call, size):
        seen.append(call.deterministic)
        return way_of(call, size)

    monkeypatch.setattr(private_sums, "way_of", spy)
    return seen


def make_histogram(**options):
    @wp.kernel(module="warpsim_test_options", **options)
    def histogram(x: wp.array(dtype=int), bins: wp.array(dtype=float)):
        wp.atomic_add(bins, x[wp.tid()], 0.5)

    return histogram


@pytest.mark.cpu(reason="chunks of CPU launches")
def test_deterministic_of_launch_kernel_module_and_config(asked, module_options):
    n = 400_000
    x, bins = wp.array(np.arange(n, dtype=np.int32) % 7), wp.zeros(7, dtype=float)
    plain, fixed = make_histogram(), make_histogram(deterministic=True)
    wp.launch(plain, n, [x, bins])
    wp.launch(plain, n, [x, bins], deterministic=True)
    wp.launch(fixed, n, [x, bins])
    wp.launch(fixed, n, [x, bins], deterministic=False)
    config.deterministic = True
    wp.launch(plain, n, [x, bins])
    module_options(deterministic=False)
    wp.launch(plain, n, [x, bins])
    wp.launch(fixed, n, [x, bins])
    wp.launch(fixed, n, [x, bins], record_cmd=True).launch()
    wp.launch(plain, n, [x, bins], record_cmd=True, deterministic=True).launch()
    assert asked == [False, True, True, False, True, False, True, True, True]
    assert np.array_equal(bins.numpy(), np.bincount(x.numpy()) * 0.5 * len(asked))


# ----- generic kernels ------------------------------------------------------------------------


@wp.kernel
def ratio(x: Any, out: wp.array(dtype=Any)):
    out[wp.tid()] = x / (x + x)


@wp.kernel
def widen(x: Any, out: wp.array(dtype=wp.float64)):
    out[wp.tid()] = wp.float64(x)


@wp.kernel
def head(x: Any, out: wp.array(dtype=wp.float64)):
    out[wp.tid()] = wp.float64(x[0])


def test_generic_kernels_follow_the_types_of_every_launch():
    for _ in range(2):
        for t in (wp.float32, wp.float64, wp.float16):
            out = wp.zeros(1, dtype=t)
            wp.launch(ratio, dim=1, inputs=[t(0.3), out])
            assert out.list() == [0.5]


def test_arguments_of_generic_parameters_keep_their_type():
    out = wp.zeros(1, dtype=wp.float64)
    odd = 2**24 + 1  # float32 cannot hold it
    numbers = [(np.float64(0.1), 0.1), (np.float32(0.1), float(np.float32(0.1))), (odd, odd), (float(odd), odd - 1)]
    numbers += [(np.int32(odd), odd), (np.float64(odd), odd), (np.uint8(200), 200), (np.int8(-56), -56)]
    vectors = [
        (wp.vec2i(odd, 5), odd),
        (wp.vec2(1.5, 0.0), 1.5),
        (wp.vec2d(0.1, 0.0), 0.1),
        (wp.vec3(2.5, 0.0, 0.0), 2.5),
    ]
    for kernel, cases in ((widen, numbers), (head, vectors)):
        for value, found in (*cases, *reversed(cases)):
            wp.launch(kernel, dim=1, inputs=[value, out])
            assert out.list() == [found], value


def test_generic_arrays_of_several_ranks_and_dtypes():
    @wp.kernel
    def double(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
        i = wp.tid()
        y[i] = x[i] + x[i]

    for t in (wp.int8, wp.float64, wp.vec3, wp.mat22, wp.int8, wp.vec3):
        x = wp.ones(4, dtype=t)
        y = wp.zeros_like(x)
        wp.launch(double, dim=4, inputs=[x, y])
        assert np.array_equal(y.numpy(), 2 * x.numpy())
    assert len(double.launchers) == 4


def test_overloads_are_checked_when_they_are_declared():
    @wp.kernel
    def shift(x: wp.array(dtype=wp.Float), by: wp.Float):
        x[wp.tid()] += by

    assert wp.overload(shift, [wp.array(dtype=wp.float64), wp.float64]) is shift
    wp.overload(shift, {"x": wp.array(dtype=wp.float32), "by": wp.float32})
    x = wp.zeros(2, dtype=wp.float64)
    wp.launch(shift, dim=2, inputs=[x, wp.float64(0.1)])
    assert x.list() == [0.1, 0.1]
    with pytest.raises(ArgumentTypeError, match="'x' of kernel"):
        wp.overload(shift, [wp.array(dtype=int), int])
    with pytest.raises(ArgumentTypeError, match="1 type for the 2 parameters"):
        wp.overload(shift, [wp.array(dtype=float)])
    with pytest.raises(ArgumentTypeError, match="argument 'x' of kernel"):
        wp.launch(shift, dim=2, inputs=[wp.zeros(2, dtype=int), 1])


# ----- names ----------------------------------------------------------------------------------


def make_adder(constant):
    @wp.kernel(module="warpsim_test_names")
    def add(x: wp.array(dtype=float)):
        x[wp.tid()] += constant

    return add


def test_kernels_of_equal_names_are_different_kernels():
    kernels = [make_adder(float(k)) for k in range(4)]
    assert len({k.key for k in kernels}) == 1
    x = wp.zeros(1, dtype=float)
    for kernel in (*kernels, *reversed(kernels)):
        wp.launch(kernel, dim=1, inputs=[x])
    assert x.list() == [12.0]


@pytest.mark.cpu(reason="counts objects in the cache, which the simulator leaves alone")
def test_modules_load_all_their_kernels(monkeypatch):
    built = []
    build = builder.build
    monkeypatch.setattr(builder, "build", lambda program, options: built.append(program) or build(program, options))
    kernels = [make_adder(10.0 + k) for k in range(3)]
    wp.load_module(wp.get_module("warpsim_test_names"))
    assert len(built) >= 3
    assert all(k.program(tuple(k.patterns.values())) in built for k in kernels)
    before = len(built)
    wp.force_load(modules=["warpsim_test_names"])
    wp.launch(kernels[1], dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert len(built) == before


def test_broken_kernels_do_not_stop_their_neighbours():
    @wp.kernel
    def broken(x: wp.array(dtype=float)):
        x[0] = unknown_name  # noqa: F821

    for _ in range(2):
        with pytest.raises(KernelError, match="unknown_name"):
            wp.launch(broken, dim=1, inputs=[wp.zeros(1, dtype=float)])
        x = wp.zeros(1, dtype=float)
        wp.launch(make_adder(2.0), dim=1, inputs=[x])
        assert x.list() == [2.0]
    module = wp.get_module("warpsim_test_broken")
    kernels = [wp.Kernel(f, module=module) for f in (broken.function, make_adder(3.0).function, broken.function)]
    with pytest.raises(KernelError, match=r"unknown_name[\s\S]*unknown_name"):
        wp.load_module(module)
    assert len(kernels[1]._compiled) == 1


def test_keys_name_kernels_in_messages():
    named = wp.Kernel(make_reader().function, key="my reader", module=wp.get_module("warpsim_test_names"))
    assert named.module.kernels["my reader"] is named
    with pytest.raises(ArgumentCountError, match="kernel 'my reader' got 0 arguments"):
        wp.launch(named, dim=1)


# ----- recorded launches ----------------------------------------------------------------------


@wp.kernel
def mix(x: wp.array(dtype=float), a: float, v: wp.vec2, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + v[0] + v[1]


@pytest.fixture
def recorded():
    x, y = wp.array(np.arange(4, dtype=np.float32)), wp.zeros(4, dtype=float)
    return wp.launch(mix, dim=4, inputs=[x, 2.0, (1.0, 0.0)], outputs=[y], record_cmd=True), x, y


def test_recording_runs_nothing(recorded):
    command, x, y = recorded
    assert y.list() == [0.0] * 4
    command.launch()
    assert y.list() == [1, 3, 5, 7]
    x.fill_(1.0)  # arrays are read when the command runs
    command.launch(stream=wp.get_stream())
    assert y.list() == [3.0] * 4
    assert command.kernel is mix


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_parameters_are_exchanged(recorded):
    command, x, y = recorded
    command.set_param_at_index(1, 3.0)
    command.set_param_by_name("v", wp.vec2(0.0, 2.0))
    command.launch()
    assert y.list() == [2, 5, 8, 11]
    command.set_param_at_index_from_ctype(1, ctypes.c_float(1.0))
    command.set_param_by_name_from_ctype("a", ctypes.c_double(-1.0))
    command.launch()
    assert y.list() == [2, 1, 0, -1]
    other = np.zeros(8, np.float32)  # foreign, and strided: another compiled form
    command.set_params([x, 2.0, (0.0, 0.0), other[::2]])
    command.launch()
    assert list(other) == [0, 0, 2, 0, 4, 0, 6, 0]
    command.set_dim(np.int64(1))
    command.set_param_by_name("a", 5.0)
    command.set_param_at_index(3, y)
    y.fill_(-9.0)
    command.launch()
    assert y.list() == [0, -9, -9, -9]
    command.set_dim((0,))
    command.launch()


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_a_refused_parameter_leaves_the_command_as_it_was(recorded):
    command, _, y = recorded
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    refused = [
        (ArgumentTypeError, lambda: command.set_param_at_index(1, "2")),
        (ArgumentTypeError, lambda: command.set_param_at_index(0, np.zeros(4))),
        (ArgumentTypeError, lambda: command.set_param_by_name("v", (1.0, 2.0, 3.0))),
        (ReadOnlyError, lambda: command.set_param_at_index(3, frozen)),
        (LaunchError, lambda: command.set_param_at_index(4, 1.0)),
        (LaunchError, lambda: command.set_param_at_index(-1, 1.0)),
        (LaunchError, lambda: command.set_param_by_name("b", 1.0)),
        (LaunchError, lambda: command.set_params([1.0])),
        (DimensionError, lambda: command.set_dim((2, 2, 2, 2, 2))),
        (DimensionError, lambda: command.set_dim(-4)),
    ]
    for error, change in refused:
        with pytest.raises(error):
            change()
        y.zero_()
        command.launch()
        assert y.list() == [1, 3, 5, 7]


def test_a_command_keeps_its_arrays_alive():
    x = wp.full(1000, 7.0, dtype=float)
    y = wp.zeros(1000, dtype=float)
    command = wp.launch(mix, dim=1000, inputs=[wp.array(x), 1.0, (0.0, 0.0), y], record_cmd=True)
    del x
    others = [np.full(1000, 3.0, np.float32) for _ in range(50)]
    command.launch()
    assert y.list() == [7.0] * 1000
    assert len(others) == 50


def test_recorded_launches_in_parallel_with_sums_and_checks():
    @wp.kernel
    def total(x: wp.array(dtype=float), out: wp.array(dtype=wp.float64)):
        wp.atomic_add(out, 0, wp.float64(x[wp.tid()]))

    n = 300_000
    x, out = wp.full(n, 0.5, dtype=float), wp.zeros(1, dtype=wp.float64)
    command = wp.launch(total, dim=n, inputs=[x, out], record_cmd=True)
    for _ in range(3):
        command.launch()
    assert out.list() == [1.5 * n]
    config.verify = True
    checked = wp.launch(total, dim=n, inputs=[x[:5], out], record_cmd=True)
    with pytest.raises(OutOfBoundsError, match="axis 0 of x of length 5"):
        checked.launch()


def test_a_module_without_kernels_is_not_loaded():
    for module in ("warpsim_no_such_module", types):
        with pytest.raises(LaunchError, match="has no kernels"):
            wp.load_module(module)
