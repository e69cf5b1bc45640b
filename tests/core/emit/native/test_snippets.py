"""Native text becomes a library: messages of the compiler, symbols, the cache."""

import os
import re
import subprocess
import sys
import textwrap

import pytest
from compilers import compiled

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit.native import snippets, toolchain
from warpsim.core.ops.native import Unit
from warpsim.errors import NativeCodeError

# ----- what the compiler refuses ------------------------------------------------------------------


def unit(text, *params, **facts):
    return Unit("f", "snippet", text, params or (("x", wp.float32),), **facts)


def refusal(made):
    with pytest.raises(NativeCodeError) as caught:
        snippets.load(made)
    return str(caught.value)


@compiled
def test_messages_name_the_users_line_and_quote_it():
    text = refusal(unit("float y = x;\n    y += unknown_name;\n    return y;", result=wp.float32))
    assert text.startswith("the snippet of native function 'f' does not compile")
    assert re.search(r"found: f\.snippet:2:\d+: error: .*unknown_name", text)
    assert "    y += unknown_name;" in text
    assert "snippet.h" not in text and "unit.cpp" not in text
    assert text.endswith("help: lines are those of the text given to func_native")


@compiled
def test_a_path_without_a_return_is_an_error():
    text = refusal(unit("if (x > 0.0f)\n  return x; else x = 1.0f;", result=wp.float32))
    assert re.search(r"found: f\.snippet:[23]:\d+: error: .*return", text)


@compiled
def test_cuda_texts_are_recognised():
    text = refusal(unit("__shared__ int sum[128]; __syncthreads();"))
    assert "help: __shared__ exists in CUDA only: such a function runs on a GPU" in text


@compiled
@pytest.mark.parametrize(
    "text", ["x[0] = 1.0f;", "float r = atomicAdd(&x[0], 1.0f);", "x[0] += 1.0f;", "float *p = x;"]
)
def test_arrays_that_are_constant_cannot_be_changed(text):
    x, facts = ("x", wp.array[float]), {"result": wp.float32}
    for _ in range(2):
        assert snippets.compiles(unit(f"{text} return 0.0f;", x, **facts))
        assert not snippets.compiles(unit(f"{text} return 0.0f;", x, **facts, constants=frozenset("x")))
    reading = "const float *p = x; return x[0] + x(1) + p[2];"
    assert snippets.compiles(unit(reading, x, **facts, constants=frozenset("x")))


# ----- names and the cache ------------------------------------------------------------------------


def test_the_symbol_says_all_that_the_code_depends_on():
    x = ("x", wp.float32)
    made = [
        unit("return x;", x),
        unit("return  x;", x),
        unit("return x;", ("y", wp.float32)),
        unit("return x;", ("x", wp.int32)),
        unit("return x;", x, result=wp.float32),
        unit("return x;", x, reverse=True),
        unit("return x;", x, constants=frozenset("x")),
    ]
    assert len({m.symbol for m in made}) == len(made)
    assert unit("return x;", x).symbol == made[0].symbol


def test_structs_of_one_name_and_other_fields_have_other_symbols():
    def struct_of(t):
        class Same:
            a: t

        return wp.struct(Same)

    first, second = (unit("", ("s", struct_of(t))).symbol for t in (wp.float32, wp.int32))
    assert first != second


SCRIPT = """
    import numpy as np
    import warpsim as wp

    @wp.func_native("return 2.0f * x + 1.0f;")
    def line(x: float) -> float: ...

    @wp.kernel
    def apply(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = line(x[i])

    x = wp.array(np.arange(4), dtype=float)
    wp.launch(apply, dim=4, inputs=[x])
    print(x.numpy().tolist())
"""


def script(folder, **environment):
    path = folder / "script.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "WARPSIM_CACHE_PATH": str(folder / "cache"), **environment},
    )


def output(process):
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return out.strip()


@compiled
def test_a_warm_start_runs_no_compiler(tmp_path):
    log = tmp_path / "runs"
    counting = tmp_path / "counting"
    counting.write_text(f'#!/bin/sh\necho run >> "{log}"\nexec {" ".join(toolchain.find().command)} "$@"\n')
    counting.chmod(0o755)
    for _ in range(3):
        assert output(script(tmp_path, CXX=str(counting))) == "[1.0, 3.0, 5.0, 7.0]"
    assert log.read_text() == "run\n"
    assert list((tmp_path / "cache").glob("*.wscode-tmp")) == []


@compiled
def test_processes_compile_one_text_at_once(tmp_path):
    running = [script(tmp_path) for _ in range(3)]
    assert [output(process) for process in running] == ["[1.0, 3.0, 5.0, 7.0]"] * 3


@compiled
def test_it_works_without_a_cache():
    config.cache_kernels = False
    assert snippets.load(unit("return 7.0f * x;", result=wp.float32)).address
