"""`func_native`: C++ bodies called from kernels, and declarations that are refused."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_compilers import compiled

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import KernelNameError, KernelTypeError, NativeCodeError, UnsupportedSyntaxError

DEVICES = pytest.mark.parametrize("device", ["interp", "cpu"])


# ----- calls --------------------------------------------------------------------------------------


@wp.func_native(
    "return scale * x + shift;", "adj_x += scale * adj_ret; adj_scale += x * adj_ret; adj_shift += adj_ret;"
)
def line(x: float, scale: float = 2.0, shift: float = 0.0) -> float: ...


@wp.func
def twice(f: Callable, x: float):
    return f(f(x))


@wp.kernel
def many_calls(out: wp.array(dtype=float)):
    i = wp.tid()
    total = line(1)
    for k in range(i):
        if k % 2 == 0:
            total += line(float(k), shift=1.0)
        else:
            total = line(scale=3.0, x=total)
    out[i] = total + twice(line, 0.5)


@compiled
@DEVICES
def test_calls_as_of_any_function(device):
    out = wp.zeros(4, dtype=float, device=device)
    wp.launch(many_calls, dim=4, inputs=[out], device=device)
    assert out.numpy().tolist() == [2.0 + 2.0, 3.0 + 2.0, 9.0 + 2.0, 14.0 + 2.0]


@compiled
def test_on_the_host_it_runs_too():
    assert line(3.0) == np.float32(6.0)
    assert line(3, shift=0.5) == np.float32(6.5)
    assert isinstance(line(3.0), np.float32)
    assert repr(line) == "<native func line>"


@wp.struct
class Ball:
    place: wp.vec3
    mass: float


@wp.func_native("Ball moved = ball; moved.place.y -= t * ball.mass; return moved;")
def fall(ball: Ball, t: float) -> Ball: ...


@compiled
def test_structs_on_the_host():
    moved = fall(Ball(place=wp.vec3(1.0, 2.0, 3.0), mass=4.0), 0.25)
    assert moved == Ball(place=wp.vec3(1.0, 1.0, 3.0), mass=4.0)


@wp.func_native("value += x[i]; x[i] = value;")
def add_at(x: wp.array(dtype=Any), i: int, value: Any): ...


@wp.kernel
def adds(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3d), n: wp.array(dtype=wp.int64)):
    i = wp.tid()
    add_at(x, i, 0.5)
    add_at(y, i, wp.vec3d(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0)))
    add_at(n, i, n[i])


@compiled
@DEVICES
def test_generic_parameters_take_the_types_of_each_call(device):
    x, y = wp.ones(2, dtype=float, device=device), wp.ones(2, dtype=wp.vec3d, device=device)
    n = wp.array([3, 2**40], dtype=wp.int64, device=device)
    wp.launch(adds, dim=2, inputs=[x, y, n], device=device)
    assert x.numpy().tolist() == [1.5, 1.5]
    assert y.numpy().tolist() == [[2.0, 3.0, 4.0]] * 2
    assert n.numpy().tolist() == [6, 2**41]


@wp.func_native("x[i] *= 10.0f;")
def tenfold(x: wp.array(dtype=float), i: int): ...


@wp.kernel
def in_order(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    before = x[i]
    x[i] = before + 1.0
    tenfold(x, i)
    between = x[i]
    tenfold(x, i)
    out[i] = before + between / 10.0 + x[i]


@compiled
@DEVICES
def test_calls_keep_their_place_among_loads_and_stores(device):
    x, out = wp.array([1.0, 2.0], dtype=float, device=device), wp.zeros(2, dtype=float, device=device)
    wp.launch(in_order, dim=2, inputs=[x, out], device=device)
    assert out.numpy().tolist() == [1.0 + 2.0 + 200.0, 2.0 + 3.0 + 300.0]


@wp.func_native('fputs("", stdout);')
def speaks(x: float): ...


@wp.func_native("return x[i];")
def looked_up(x: wp.array(dtype=float), i: int) -> float: ...


@wp.kernel
def unused(x: wp.array(dtype=float)):
    speaks(1.0)
    line(1.0)
    looked_up(x, 0)


@pytest.mark.not_for_cuda('identifier "stdout" is undefined')
@compiled
def test_only_what_may_do_something_stays():
    program = unused.program(tuple(unused.patterns.values()))
    assert [node.op.unit.function for node in program.fn.body.nodes] == ["speaks"]


@wp.kernel
def reads(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = looked_up(x, wp.tid())


@wp.kernel
def writes(x: wp.array(dtype=float)):
    tenfold(x, wp.tid())


@compiled
@DEVICES
@pytest.mark.cpu(reason="adopts memory of NumPy's")
def test_a_text_that_only_reads_takes_memory_that_is_read_only(device):
    data = np.ones(2, np.float32)
    data.flags.writeable = False
    x, y = wp.array(data, dtype=float, copy=False, device=device), wp.zeros(2, dtype=float, device=device)
    wp.launch(reads, dim=2, inputs=[x, y], device=device)
    assert y.numpy().tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        wp.launch(writes, dim=2, inputs=[x], device=device)


@wp.func_native("atomicAdd(&total[0], x[i]);")
def add_up(total: wp.array(dtype=float), x: wp.array(dtype=float), i: int): ...


@wp.kernel(deterministic=True)
def sums(total: wp.array(dtype=float), x: wp.array(dtype=float)):
    add_up(total, x, wp.tid())


@compiled
def test_atomics_of_a_text_keep_their_order_where_that_is_asked_for():
    x = wp.array(np.random.default_rng(2).normal(size=300_000), dtype=float)
    before, found = get_pool().threads, set()
    try:
        for threads in (1, 2, 4, 4):
            wp.set_num_threads(threads)
            total = wp.zeros(1, dtype=float)
            wp.launch(sums, dim=len(x), inputs=[total, x])
            found.add(total.numpy().tobytes())
    finally:
        wp.set_num_threads(before)
    assert len(found) == 1


# ----- refused declarations -------------------------------------------------------------------------


def refusal(kind, declare):
    with pytest.raises(kind) as caught:
        declare()
    return str(caught.value)


def test_a_python_body_is_refused():
    def declare():
        @wp.func_native("return x;")
        def f(x: float) -> float:
            """Text about it is fine."""
            return x + 1.0

    text = refusal(UnsupportedSyntaxError, declare)
    assert text.startswith("native function 'f' has a body in Python\n  --> ")
    assert "expected: ...\nhelp: the text given to func_native is the body; write `...`" in text


def test_a_docstring_or_pass_is_no_body():
    @wp.func_native("")
    def f(x: float):
        """Does nothing."""
        pass

    assert f.__doc__ == "Does nothing."


def test_a_parameter_without_a_type_is_refused():
    def declare():
        @wp.func_native("x += 1;")
        def f(x): ...

    text = refusal(KernelTypeError, declare)
    assert text.startswith("parameter 'x' of native function 'f' has no type")
    assert "help: annotate it: x: float" in text


def test_parameters_that_cpp_cannot_have_are_refused():
    def starred():
        @wp.func_native("")
        def f(*x: float): ...

    def reserved():
        @wp.func_native("")
        def f(default: float): ...

    assert "parameter 'x' of native function 'f' has no place in C++" in refusal(UnsupportedSyntaxError, starred)
    text = refusal(KernelNameError, reserved)
    assert text.startswith("parameter 'default' of native function 'f' has a name that C++ keeps for itself")
    assert text.endswith("help: rename it, for example to default_")


def test_a_value_without_a_return_type_is_refused():
    def declare():
        @wp.func_native("// return nothing\nif (x < 0) return;\nreturn x * x;")
        def square(x: float): ...

    text = refusal(KernelTypeError, declare)
    assert text.startswith("the snippet of 'square' returns a value, and the function has no return type")
    assert text.endswith("help: declare it: def square(...) -> float: ...")


def test_a_return_type_without_a_value_is_refused():
    def forward():
        @wp.func_native('puts("return 1");')
        def f(x: float) -> float: ...

    def replay():
        @wp.func_native("return x;", replay_snippet="")
        def f(x: float) -> float: ...

    text = refusal(KernelTypeError, forward)
    assert text.startswith("the snippet of 'f' returns nothing, and the function has a return type")
    assert text.endswith("help: end the text with `return value;`, or drop the return type")
    assert refusal(KernelTypeError, replay).startswith("the replay_snippet of 'f' returns nothing")


@compiled
def test_a_lambda_may_return_what_the_function_does_not():
    @wp.func_native("auto f = [&](float a) { return a * 2.0f; }; x[0] = f(x[0]);")
    def doubles(x: wp.array(dtype=float)): ...

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        doubles(x)

    x = wp.array([3.0], dtype=float)
    wp.launch(k, dim=1, inputs=[x])
    assert x.numpy().tolist() == [6.0]


@pytest.mark.parametrize("t", [wp.array(dtype=float), tuple[float, float], Any, 3])
def test_what_cpp_cannot_return_is_refused(t):
    @wp.func_native("return x;")
    def f(x: float) -> t: ...

    with pytest.raises(KernelTypeError, match=r"native function 'f' returns .*\n(.*\n)*expected: one number, vector"):
        f(1.0)


def test_the_text_must_be_text():
    with pytest.raises(TypeError, match=r"func_native: snippet is .*\nexpected: C\+\+ text\nhelp: @wp.func_native"):

        @wp.func_native
        def f(x: float): ...

    with pytest.raises(TypeError, match="func_native: adj_snippet is"):
        wp.func_native("", 3)


def test_operands_of_other_types_are_refused():
    @wp.kernel
    def k(x: wp.array(dtype=wp.float64)):
        x[0] = line(x[0])

    @wp.kernel
    def types_are_no_values(x: wp.array(dtype=float)):
        add_at(x, 0, float)

    text = refusal(KernelTypeError, lambda: wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=wp.float64)]))
    assert text.startswith("line: no overload for (float64)")
    assert "expected: line(x: float, scale: float, shift: float)" in text
    text = refusal(KernelTypeError, lambda: wp.launch(types_are_no_values, dim=1, inputs=[wp.zeros(1, dtype=float)]))
    assert text.startswith("add_at: ") and "does not exist in C++" in text


def test_arrays_need_a_launch():
    with pytest.raises((TypeError, KernelTypeError), match="tenfold"):
        tenfold(wp.zeros(1, dtype=float), 0)


@pytest.mark.not_for_cuda('identifier "z" is undefined')
@compiled
@DEVICES
def test_text_that_does_not_compile_is_shown_at_the_function(device):
    @wp.func_native("float y = 2.0f;\nreturn y * z;")
    def f(x: float) -> float: ...

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[0] = f(x[0])

    x = wp.zeros(1, dtype=float, device=device)
    text = refusal(NativeCodeError, lambda: wp.launch(k, dim=1, inputs=[x], device=device))
    assert text.startswith("the snippet of native function 'f' does not compile\n  --> ")
    assert "def f(x: float) -> float: ..." in text and re.search(r"f\.snippet:2:12: error: .*'z'", text)
