"""Kernels whose text lies in no file: at the prompt, in `python -c`, on standard input, in strings."""

import copy
import gc
import linecache
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelNameError, UnsupportedSyntaxError

PROGRAM = """import warpsim as wp
@wp.struct
class Law:
    stiffness: float

@wp.func
def twice(x: float):
    return 2.0 * x

@wp.kernel
def f(law: Law, x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = twice(law.stiffness * x[i] * x[i])

law = Law()
law.stiffness = 3.0
x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
y = wp.zeros(2, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape: wp.launch(f, 2, inputs=[law, x, y])

y.grad.fill_(1.0)
tape.backward()
print("answer", y.numpy().tolist(), x.grad.numpy().tolist())
"""
ANSWER = "answer [6.0, 24.0] [12.0, 24.0]"
ONE = "@wp.kernel\ndef f(a: wp.array[float]):\n    a[wp.tid()] = {}\n"
ROOT = str(Path(wp.__file__).parents[1])


def python(arguments, **options):
    environment = {**os.environ, "PYTHONPATH": ROOT, "TERM": "dumb"}
    ran = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
        **options,
    )
    return ran.stdout + ran.stderr


def test_python_c():
    assert ANSWER in python(["-W", "ignore", "-Xutf8", "-Bc", PROGRAM, "an argument"])


def test_a_file_on_standard_input(tmp_path):
    file = tmp_path / "program"
    file.write_text(PROGRAM)
    with file.open() as stream:
        assert ANSWER in python([], stdin=stream)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python keeps the text from 3.13 on")
def test_a_pipe_is_refused_with_the_cure():
    answer = python([], input=PROGRAM)
    assert "the source of 'f' is not available" in answer and "python -c" in answer


def test_a_string_in_python_c_is_refused_with_the_cure():
    answer = python(["-c", f"import warpsim as wp\nexec({ONE.format(1.0)!r})"])
    assert "the source of 'f' is not available" in answer and "kernel_from_source" in answer


def test_the_prompt():
    """Functions are defined one by one, and again; a mistake is shown with its line."""
    pty = pytest.importorskip("pty")
    again = "".join(
        ONE.format(f"{v}.0") + "\nb = wp.zeros(2, dtype=float)\nwp.launch(f, 2, inputs=[b])\nprint(b)\n"
        for v in (31, 47)
    )
    wrong = ONE.format("undefined_name")
    lines = f"{PROGRAM}{again}{wrong}\nwp.launch(f, 2, inputs=[b])\n"
    main, child = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": ROOT, "TERM": "dumb", "PYTHON_BASIC_REPL": "", "HOME": "/nonexistent"}
    with subprocess.Popen([sys.executable, "-i"], stdin=child, stdout=child, stderr=child, env=environment) as process:
        os.close(child)
        answer = typed(main, f"{lines}exit()\n")
        process.wait()
    for expected in (ANSWER, "[31. 31.]", "[47. 47.]", "a[wp.tid()] = undefined_name"):
        assert expected in answer, answer


def typed(terminal, lines):
    """What a program answers to lines typed one after the other, each after the prompt before it."""
    seen = b""
    for line in lines.splitlines(keepends=True):
        seen += until(terminal, (b">>> ", b"... "))
        os.write(terminal, line.encode())
    seen += until(terminal, ())
    return seen.decode().replace("\r", "")


def until(terminal, ends):
    seen = b""
    while not seen.endswith(ends) if ends else True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the program ended
            return seen
        if not more:
            return seen
        seen += more
    return seen


def test_kernels_from_strings():
    text = "@wp.func\ndef g(x: float):\n    return x * s\n\n\ndef k(x: wp.array[float], y: wp.array[float]):\n"
    kernel = wp.kernel_from_source(f"{text}    y[wp.tid()] = g(x[wp.tid()])\n", scope={"s": wp.constant(3.0)})
    x, y = (wp.array([1.0, 2.0], dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(kernel, 2, inputs=[x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert y.numpy().tolist() == [3.0, 6.0] and x.grad.numpy().tolist() == [3.0, 3.0]


def test_many_kernels_from_strings_are_kernels_of_their_own():
    kernels = [wp.kernel_from_source(ONE.format(f"{k}.0")) for k in range(3)]
    for k, kernel in enumerate(kernels):
        a = wp.zeros(2, dtype=float)
        wp.launch(kernel, 2, inputs=[a])
        np.testing.assert_array_equal(a.numpy(), k)


def test_a_name_chooses_the_function():
    text = "def one(a: wp.array[float]):\n    a[0] = 1.0\ndef two(a: wp.array[float]):\n    a[0] = 2.0\n"
    assert wp.kernel_from_source(text, "one").key == "one" and wp.kernel_from_source(text).key == "two"
    with pytest.raises(KernelNameError, match="it has one, two"):
        wp.kernel_from_source(text, "three")
    with pytest.raises(KernelNameError, match="no function"):
        wp.kernel_from_source("x = 1")
    with pytest.raises(SyntaxError):
        wp.kernel_from_source("def f(:")


def test_mistakes_in_strings_show_their_line_and_end_at_the_user():
    kernel = wp.kernel_from_source(ONE.format("undefined_name"))
    with pytest.raises(KernelNameError, match=r"a\[wp.tid\(\)\] = undefined_name") as caught:
        wp.launch(kernel, 2, inputs=[wp.zeros(2, dtype=float)])
    assert [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)[:-1]] == [__file__]


def test_the_text_of_a_kernel_goes_with_it():
    before = set(linecache.cache)
    kernel = wp.kernel_from_source(ONE.format("5.0"))
    assert len(set(linecache.cache) - before) == 1
    del kernel
    gc.collect()
    assert not set(linecache.cache) - before


def test_kernels_without_a_name_in_a_module_are_not_pickled():
    kernel = wp.kernel_from_source(ONE.format("5.0"))
    assert copy.copy(kernel) is kernel and copy.deepcopy([kernel])[0] is kernel
    with pytest.raises(pickle.PicklingError, match="f"):
        pickle.dumps(kernel)


f = wp.kernel_from_source(ONE.format("5.0"))


def test_a_kernel_from_a_string_belongs_to_the_module_of_its_caller():
    assert f.module is wp.get_module(__name__)
    assert pickle.loads(pickle.dumps(f)) is f


def test_a_string_that_python_ran_is_refused_with_the_cure():
    with pytest.raises(UnsupportedSyntaxError, match="kernel_from_source"):
        exec(ONE.format("1.0"), {"wp": wp})
