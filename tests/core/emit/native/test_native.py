"""Assembling IR: right code, clear errors, a signature of what it depends on."""

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite
import pytest

from warpsim.core.emit.native import native
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble, host_signature, vector_math_library
from warpsim.errors import CompilerError

ROOT = Path(native.__file__).parents[4]

SQUARE = """
define i64 @square(i64 %x) {
  %y = mul i64 %x, %x
  ret i64 %y
}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define i64 @f( {", "parsing error"),
        ("define i64 @f(i64 %x) {\n  ret i32 %x\n}", "expected|but expected"),
        (
            "define void @f() {\n  br label %x\nx:\n  %y = add i64 %z, 1\n  %z = add i64 %y, 1\n  ret void\n}",
            "dominate",
        ),
    ],
)
def test_wrong_ir_gives_llvm_s_reason(text, message):
    with pytest.raises(CompilerError, match=rf"LLVM refuses this IR: [\s\S]*({message})"):
        assemble(text)


@pytest.mark.parametrize("opt", [-1, 4, "3"])
def test_wrong_level_is_refused(opt):
    with pytest.raises(CompilerError, match="a level from 0 to 3"):
        assemble(SQUARE, opt)


def test_host_signature_tells_processor_and_versions():
    parts = host_signature().split("|")
    assert len(parts) == 6
    assert f"llvmlite {llvmlite.__version__}" in parts
    assert host_signature() == host_signature()


def test_host_signature_is_the_same_in_every_process():
    script = "from warpsim.core.emit.native.native import host_signature; print(host_signature())"
    assert run_python(script).stdout.strip() == host_signature()


def test_vector_math_needs_avx2(monkeypatch):
    monkeypatch.setattr(native, "_host_features", lambda: "+sse2,-avx2")
    assert vector_math_library.__wrapped__() is False


def test_processor_unknown_to_llvm_still_assembles(monkeypatch):
    def unknown():
        raise RuntimeError("unable to determine host cpu features")

    monkeypatch.setattr(native.llvm, "get_host_cpu_features", unknown)
    monkeypatch.setattr(native, "_host_features", native._host_features.__wrapped__)
    square = NativeObject(assemble(SQUARE)).function("square", ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64))
    assert square(3) == 9


def test_numba_is_not_imported():
    script = (
        "import sys; from warpsim.core.emit.native.linker import NativeObject; "
        "from warpsim.core.emit.native.native import assemble\n"
        f"NativeObject(assemble({SQUARE!r})).address('square')\n"
        "assert 'numba' not in sys.modules"
    )
    run_python(script)


def run_python(script: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_code_is_the_same_from_several_threads_at_once():
    texts = [SQUARE.replace("mul", name).replace("@square", f"@f{k}") for k in range(8) for name in ("mul", "add")]
    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(assemble, texts))
    assert codes == [assemble(text) for text in texts]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_waits_for_calls_of_other_threads():
    script = f"""
import os, sys, threading
from warpsim.core.emit.native import native
inside, leave, order = threading.Event(), threading.Event(), []

def called():
    with native._calls, native._calls:
        inside.set()
        leave.wait()
        order.append("left")

thread = threading.Thread(target=called)
thread.start()
inside.wait()
threading.Timer(0.05, leave.set).start()
child = os.fork()
order.append("forked")
if child == 0:
    native.assemble({SQUARE!r})
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert order == ["left", "forked"], order
native.assemble({SQUARE!r})
"""
    run_python(script)
