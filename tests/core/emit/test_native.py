"""Assembling IR and linking objects: right results, clear errors, safe from many threads."""

import ctypes
import gc
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import llvmlite
import pytest

from warpsim.core.emit import native
from warpsim.core.emit.native import NativeObject, assemble, host_signature, vector_math_library
from warpsim.errors import CompilerError

ROOT = Path(native.__file__).parents[3]

SQUARE = """
define i64 @square(i64 %x) {
  %y = mul i64 %x, %x
  ret i64 %y
}
"""

# A constant pool, a writable global and a libm call: the three kinds of relocation in kernels.
WAVE = """
@calls = global i64 0
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
declare double @sin(double)
define double @wave(i64 %i, double %x) {
  %n = load i64, ptr @calls
  %n1 = add i64 %n, 1
  store i64 %n1, ptr @calls
  %at = getelementptr [4 x double], ptr @table, i64 0, i64 %i
  %a = load double, ptr %at
  %s = call double @sin(double %x)
  %y = fmul double %a, %s
  ret double %y
}
"""


def function(code: NativeObject, name: str, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(code.address(name))


@pytest.mark.parametrize("opt", [0, 1, 2, 3])
def test_assembled_function_computes(opt):
    code = NativeObject(assemble(SQUARE, opt))
    assert function(code, "square", ctypes.c_int64, ctypes.c_int64)(-12) == 144


def test_constants_globals_and_calls_into_libm_are_linked():
    code = NativeObject(assemble(WAVE))
    wave = function(code, "wave", ctypes.c_double, ctypes.c_int64, ctypes.c_double)
    values = [wave(i, 0.3 * i) for i in range(4)]
    assert values == pytest.approx([(1.5 + i) * math.sin(0.3 * i) for i in range(4)], rel=1e-15)
    assert ctypes.c_int64.from_address(code.address("calls")).value == 4


def test_code_outlives_its_handle():
    square = function(NativeObject(assemble(SQUARE)), "square", ctypes.c_int64, ctypes.c_int64)
    gc.collect()
    assert square(11) == 121


def test_objects_with_equal_names_do_not_mix():
    codes = [NativeObject(assemble(SQUARE.replace("mul", op))) for op in ("mul", "add", "sub")]
    results = [function(c, "square", ctypes.c_int64, ctypes.c_int64)(7) for c in codes]
    assert results == [49, 14, 0]


def test_callee_may_be_given_by_address():
    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    def triple(x):
        return 3 * x

    text = "declare i64 @given(i64)\ndefine i64 @f(i64 %x) {\n" + (
        "  %y = call i64 @given(i64 %x)\n  ret i64 %y\n}"
    )
    address = ctypes.cast(triple, ctypes.c_void_p).value
    code = NativeObject(assemble(text), {"given": address})
    assert function(code, "f", ctypes.c_int64, ctypes.c_int64)(14) == 42


def test_missing_callee_is_an_error_and_not_a_crash(capfd):
    text = "declare void @warpsim_no_such_function()\n" + (
        "define void @f() {\n  call void @warpsim_no_such_function()\n  ret void\n}"
    )
    code = NativeObject(assemble(text))
    with pytest.raises(CompilerError, match=r"no address for symbol 'f'[\s\S]*symbols="):
        code.address("f")
    assert "warpsim_no_such_function" in capfd.readouterr().err


def test_unknown_symbol_is_named():
    with pytest.raises(CompilerError, match="'cube'"):
        NativeObject(assemble(SQUARE)).address("cube")


@pytest.mark.parametrize("code", [b"", b"junk" * 50, b"\x7f", b"\0" * 200])
def test_bytes_that_are_no_object_are_refused(code):
    with pytest.raises(CompilerError, match=f"{len(code)} bytes .* are no object code"):
        NativeObject(code)


def test_truncated_object_is_refused():
    code = assemble(SQUARE)
    with pytest.raises(CompilerError, match="does not link"):
        NativeObject(code[: len(code) // 2])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ELF only")
def test_object_of_another_processor_is_refused():
    code = bytearray(assemble(SQUARE))
    code[18:20] = (247).to_bytes(2, sys.byteorder)  # EM_BPF
    with pytest.raises(CompilerError, match="ELF machine 247"):
        NativeObject(bytes(code))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define i64 @f( {", "parsing error"),
        ("define i64 @f(i64 %x) {\n  ret i32 %x\n}", "expected|but expected"),
        ("define void @f() {\n  br label %x\nx:\n  %y = add i64 %z, 1\n  %z = add i64 %y, 1\n"
         "  ret void\n}", "dominate"),
    ],
)  # fmt: skip
def test_wrong_ir_gives_llvm_s_reason(text, message):
    with pytest.raises(CompilerError, match=rf"LLVM refuses this IR: [\s\S]*({message})"):
        assemble(text)


@pytest.mark.parametrize("opt", [-1, 4, "3"])
def test_wrong_level_is_refused(opt):
    with pytest.raises(CompilerError, match="a level from 0 to 3"):
        assemble(SQUARE, opt)


def test_many_threads_assemble_and_link_at_once():
    failures = []

    def work(k):
        for i in range(5):
            text = SQUARE.replace("mul i64 %x, %x", f"add i64 %x, {100 * k + i}")
            code = NativeObject(assemble(text, 1))
            if function(code, "square", ctypes.c_int64, ctypes.c_int64)(5) != 100 * k + i + 5:
                failures.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_host_signature_tells_processor_and_versions():
    parts = host_signature().split("|")
    assert len(parts) == 5
    assert f"llvmlite {llvmlite.__version__}" in parts
    assert host_signature() == host_signature()


def test_host_signature_is_the_same_in_every_process():
    script = "from warpsim.core.emit.native import host_signature; print(host_signature())"
    assert run_python(script).stdout.strip() == host_signature()


@pytest.mark.skipif(not vector_math_library(), reason="no libmvec with AVX2 here")
def test_vector_sine_of_libmvec_links_and_is_right():
    text = """
    declare <8 x float> @_ZGVdN8v_sinf(<8 x float>)
    define void @f(ptr %x) {
      %v = load <8 x float>, ptr %x, align 4
      %s = call <8 x float> @_ZGVdN8v_sinf(<8 x float> %v)
      store <8 x float> %s, ptr %x, align 4
      ret void
    }
    """
    values = [0.25 * i for i in range(8)]
    memory = (ctypes.c_float * 8)(*values)
    function(NativeObject(assemble(text)), "f", None, ctypes.c_void_p)(ctypes.addressof(memory))
    assert list(memory) == pytest.approx([math.sin(x) for x in values], abs=5e-7)


def test_vector_math_needs_avx2(monkeypatch):
    monkeypatch.setattr(native, "_host_features", lambda: "+sse2,-avx2")
    assert vector_math_library.__wrapped__() is False


def test_processor_unknown_to_llvm_still_assembles(monkeypatch):
    def unknown():
        raise RuntimeError("unable to determine host cpu features")

    monkeypatch.setattr(native.llvm, "get_host_cpu_features", unknown)
    monkeypatch.setattr(native, "_host_features", native._host_features.__wrapped__)
    code = NativeObject(assemble(SQUARE))
    assert function(code, "square", ctypes.c_int64, ctypes.c_int64)(3) == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_child_forked_while_another_thread_compiles_can_compile():
    script = f"""
import os, threading, time
from warpsim.core.emit.native import NativeObject, assemble
text = {SQUARE!r}
assemble(text)
stop = False
def compile_forever():
    while not stop:
        NativeObject(assemble(text)).address("square")
threads = [threading.Thread(target=compile_forever, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if NativeObject(assemble(text)).address("square") else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
for thread in threads:
    thread.join()
"""
    run_python(script)


def test_numba_is_not_imported():
    script = (
        "import sys; from warpsim.core.emit.native import NativeObject, assemble\n"
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
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done
