"""C++ exceptions in native text become Python exceptions, on every thread and in every kind of run."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.native import snippets
from warpsim.core.frontend.functions.native import Parameters
from warpsim.errors import NativeCodeError

Floats = wp.array(dtype=float)
pytestmark = pytest.mark.cpu(reason="CUDA has no exceptions")
ON_HOSTS = pytest.mark.not_for_cuda("the text of a native function does not compile for CUDA")


@wp.func_native(
    """#include <stdexcept>
    if (x > 5.0f) throw std::runtime_error("five is the most");
    return 2.0f * x;""",
    adj_snippet="""#include <stdexcept>
    if (x > 3.0f) throw std::domain_error("no slope beyond three");
    adj_x += 2.0f * adj_ret;""",
)
def doubled(x: float) -> float: ...


@wp.func_native("#include <vector>\nstd::vector<float> v(6, x); return 2.0f * v.at(int(x));")
def doubled_at(x: float) -> float: ...


@wp.func_native('if (x > 5.0f) throw "five is the most"; return 2.0f * x;')
def doubled_or_words(x: float) -> float: ...


@wp.func_native("if (x > 5.0f) throw 5; return 2.0f * x;")
def doubled_or_number(x: float) -> float: ...


@wp.func_native("try { if (x > 5.0f) throw 5; } catch (int) { return -1.0f; } return 2.0f * x;")
def doubled_or_caught(x: float) -> float: ...


@wp.func_native("return 2.0f * x + 0.0f * sinf(x);")
def doubled_always(x: float) -> float: ...


CASES = [
    (doubled, "five is the most"),
    (doubled_at, "vector"),
    (doubled_or_words, "five is the most"),
    (doubled_or_number, r"\(not a std::exception\)"),
]


def over(f):
    @wp.kernel
    def each(x: Floats, y: Floats):
        i = wp.tid()
        y[i] = f(x[i])

    return each


@ON_HOSTS
@pytest.mark.parametrize("count", [4, 200_000])
@pytest.mark.parametrize("f, words", CASES, ids=[f.name for f, _ in CASES])
def test_launches_raise_what_was_thrown(f, words, count):
    """By one thread and by pool threads; the same kernel works again at other values."""
    kernel, y = over(f), wp.zeros(count, dtype=float)
    x = np.ones(count, dtype=np.float32)
    x[count // 2] = 9.0
    for _ in range(2):
        with pytest.raises(NativeCodeError, match=f"function '{f.name}' threw an exception: .*{words}") as caught:
            wp.launch(kernel, dim=count, inputs=[wp.array(x), y])
        assert f"thread {count // 2}" in str(caught.value)
        assert "y[i] = f(x[i])" in str(caught.value)
        wp.launch(kernel, dim=count, inputs=[wp.ones(count, dtype=float), y])
        np.testing.assert_array_equal(y.numpy(), 2.0)


@ON_HOSTS
@pytest.mark.parametrize("f, words", CASES, ids=[f.name for f, _ in CASES])
def test_the_interpreter_and_the_host_raise_too(f, words):
    x, y = wp.array([1.0, 9.0], dtype=float, device="interp"), wp.zeros(2, dtype=float, device="interp")
    with pytest.raises(NativeCodeError, match=f"threw an exception: .*{words}"):
        wp.launch(over(f), dim=2, inputs=[x, y], device="interp")
    with pytest.raises(NativeCodeError, match=f"threw an exception: .*{words}"):
        f(9.0)
    assert f(1.0) == 2.0


@ON_HOSTS
def test_every_thread_may_throw():
    x, y = wp.full(200_000, 9.0, dtype=float), wp.zeros(200_000, dtype=float)
    with pytest.raises(NativeCodeError, match="five is the most"):
        wp.launch(over(doubled), dim=200_000, inputs=[x, y])


@ON_HOSTS
def test_recorded_launches_and_graphs_raise():
    x, y = wp.full(4, 9.0, dtype=float), wp.zeros(4, dtype=float)
    command = wp.launch(over(doubled), dim=4, inputs=[x, y], record_cmd=True)
    with wp.ScopedCapture(force_module_load=False) as capture:
        wp.launch(over(doubled), dim=4, inputs=[x, y])
    for run in (command.launch, lambda: wp.capture_launch(capture.graph)):
        with pytest.raises(NativeCodeError, match="five is the most"):
            run()


@ON_HOSTS
def test_adjoints_raise_what_their_text_throws():
    x = wp.full(4, 4.0, dtype=float, requires_grad=True)
    y = wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(over(doubled), dim=4, inputs=[x, y])
    with pytest.raises(NativeCodeError, match=r"adj_snippet of native function 'doubled' threw .*no slope beyond"):
        tape.backward(grads={y: wp.ones_like(y)})


@ON_HOSTS
def test_an_exception_that_the_text_catches_is_its_own_affair():
    x, y = wp.array([1.0, 9.0], dtype=float), wp.zeros(2, dtype=float)
    wp.launch(over(doubled_or_caught), dim=2, inputs=[x, y])
    np.testing.assert_array_equal(y.numpy(), [2.0, -1.0])


def test_text_that_cannot_throw_costs_no_check():
    """The compiler tells: arithmetic cannot; a record for each launch would."""
    for f, throws in ((doubled_always, False), (doubled, True), (doubled_at, True)):
        assert snippets.throws(f.unit("snippet", f.texts.snippet, Parameters((wp.float32,), ("x",)))) == throws
