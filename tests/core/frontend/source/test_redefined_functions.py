"""Functions that are defined again: kernels call the new one, and what was recorded keeps the old one."""

import pytest
from notebooks import Notebook, value

import warpsim as wp
from warpsim.config import config

DEVICES = ["cpu", "interp"]


@pytest.fixture
def notebook():
    return Notebook()


CELL = """
    @wp.func
    def f(x: float):
        return x * {factor}
"""
CALLERS = """
    old = f
    @wp.func
    def through(x: float):
        return f(x)
    @wp.kernel
    def direct(a: wp.array(dtype=float)):
        a[wp.tid()] = f(1.0)
    @wp.kernel
    def indirect(a: wp.array(dtype=float)):
        a[wp.tid()] = through(1.0)
    @wp.kernel
    def by_old_name(a: wp.array(dtype=float)):
        a[wp.tid()] = old(1.0)
"""


@pytest.mark.parametrize("device", DEVICES)
def test_kernels_see_a_function_that_is_defined_again(notebook, device):
    notebook.run(CELL.format(factor=2.0))
    names = notebook.run(CALLERS)
    assert [value(k, device) for k in (names.direct, names.indirect, names.by_old_name)] == [2.0, 2.0, 2.0]
    for factor in (5.0, 7.0):
        now = notebook.run(CELL.format(factor=factor))
        assert [value(k, device) for k in (names.direct, names.indirect)] == [factor, factor]
        assert value(names.by_old_name, device) == 2.0
        assert now.f is not names.f and now.f(3.0) == 3.0 * factor and names.f(3.0) == 6.0
    assert value(names.direct, device) == 7.0


def test_only_kernels_that_call_it_are_compiled_again(notebook):
    notebook.run(CELL.format(factor=2.0))
    names = notebook.run(CALLERS)
    for k in (names.direct, names.by_old_name):
        value(k)
    launchers = {k: k.latest["cpu"] for k in (names.direct, names.by_old_name)}
    notebook.run(CELL.format(factor=5.0))
    assert value(names.direct) == 5.0 and value(names.by_old_name) == 2.0
    assert names.direct.latest["cpu"] is not launchers[names.direct]
    assert names.by_old_name.latest["cpu"] is launchers[names.by_old_name]
    generation = config.generation
    launcher = names.direct.latest["cpu"]
    assert value(names.direct) == 5.0
    assert names.direct.latest["cpu"] is launcher and launcher.generation == config.generation == generation


def test_the_same_signature_replaces_and_another_one_overloads(notebook):
    names = notebook.run("""
        @wp.func
        def f(x: float):
            return 1.0
        first = f
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = f(1.0) + 10.0 * f(1)
    """)
    notebook.run("""
        @wp.func
        def f(x: int):
            return 2.0
    """)
    assert value(names.k) == 21.0 and len(names.first.overloads) == 1
    now = notebook.run("""
        @wp.func
        def f(x: float):
            return 3.0
    """)
    assert value(names.k) == 23.0 and len(now.f.overloads) == 2 and now.f(1.0) == 3.0


def test_a_function_in_a_module_and_one_in_a_closure_are_followed(notebook):
    notebook.run("""
        import types
        module = types.ModuleType("elsewhere")
        def define(factor):
            text = {2.0: "x * 2.0", 5.0: "x * 5.0"}[factor]
            run(f"@wp.func\\ndef g(x: float):\\n    return {text}\\nmodule.g = g\\ndel g\\n")
        def make():
            @wp.func
            def f(x: float):
                return x * 2.0
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = f(1.0)
            first = read(k)
            @wp.func
            def f(x: float):
                return x * 5.0
            return first, read(k)
        @wp.kernel
        def outside(a: wp.array(dtype=float)):
            a[wp.tid()] = module.g(1.0)
    """)
    notebook.space.update(run=notebook.run, read=value)
    names = notebook.run("define(2.0)")
    assert names.make() == (2.0, 5.0)
    assert value(names.outside) == 2.0
    notebook.run("define(5.0)")
    assert value(names.outside) == 5.0


@pytest.mark.parametrize("device", DEVICES)
def test_what_was_recorded_keeps_the_program_that_ran(notebook, device):
    notebook.run("""
        @wp.func
        def f(x: float):
            return x * x
    """)
    k = notebook.run("""
        @wp.kernel
        def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = f(x[i])
    """).k
    x = wp.array([3.0], dtype=float, device=device, requires_grad=True)
    y = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    tapes = [wp.Tape(), wp.Tape()]
    with tapes[0]:
        wp.launch(k, dim=1, inputs=[x, y], device=device)
    command = wp.launch(k, dim=1, inputs=[x, y], device=device, record_cmd=True)
    with wp.ScopedCapture(device=device) as capture:
        wp.launch(k, dim=1, inputs=[x, y], device=device)
    notebook.run("""
        @wp.func
        def f(x: float):
            return x * x * x
    """)
    y2 = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    with tapes[1]:
        wp.launch(k, dim=1, inputs=[x, y2], device=device)
    assert (y.numpy()[0], y2.numpy()[0]) == (9.0, 27.0)
    for tape, result, slope in ((tapes[0], y, 6.0), (tapes[1], y2, 27.0)):
        tape.backward(grads={result: wp.array([1.0], dtype=float, device=device)})
        assert x.grad.numpy()[0] == slope
        tape.zero()
    for again in (command.launch, lambda: wp.capture_launch(capture.graph)):
        y.zero_()
        again()
        assert y.numpy()[0] == 9.0
    tangents = wp.autograd.jvp(
        k, 1, [x], [y], tangents={"x": wp.array([1.0], dtype=float, device=device)}, device=device
    )
    assert tangents["y"].numpy()[0] == 27.0


def test_a_stale_launch_does_not_become_the_one_that_launches_try_first(notebook):
    notebook.run(CELL.format(factor=2.0))
    k = notebook.run(CALLERS).direct
    a, b = (wp.zeros(1, dtype=float, device="cpu") for _ in range(2))
    command = wp.launch(k, dim=1, inputs=[a], device="cpu", record_cmd=True)
    notebook.run(CELL.format(factor=5.0))
    assert value(k) == 5.0
    command.set_params([b])
    command.launch()
    assert b.numpy()[0] == 2.0 and value(k) == 5.0


def test_gradients_of_a_function_that_is_defined_again_are_those_of_the_new_one(notebook):
    notebook.run("""
        @wp.func
        def f(x: float):
            return x
        @wp.func_grad(f)
        def adj_f(x: float, adj_ret: float):
            wp.adjoint[x] += 100.0 * adj_ret
    """)
    k = notebook.run("""
        @wp.kernel
        def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            y[wp.tid()] = f(x[wp.tid()])
    """).k

    def slope():
        x = wp.array([3.0], dtype=float, device="cpu", requires_grad=True)
        y = wp.zeros(1, dtype=float, device="cpu", requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(k, dim=1, inputs=[x, y], device="cpu")
        tape.backward(grads={y: wp.ones(1, dtype=float, device="cpu")})
        return x.grad.numpy()[0]

    assert slope() == 100.0
    notebook.run("""
        @wp.func
        def f(x: float):
            return 2.0 * x
    """)
    assert slope() == 2.0


def test_a_native_function_that_is_defined_again_is_seen(notebook):
    notebook.run("""
        @wp.func_native("return 2.0f * x;")
        def f(x: float) -> float: ...
    """)
    k = notebook.run(CALLERS).direct
    assert value(k) == 2.0
    notebook.run("""
        @wp.func_native("return 5.0f * x;")
        def f(x: float) -> float: ...
    """)
    assert value(k) == 5.0
