"""Linking objects: right results, clear errors, many threads, and memory that comes back when nobody holds them."""

import ctypes
import gc
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from warpsim.core.emit.native import linker, native
from warpsim.core.emit.native.linker import ElfLinker, NativeObject, OrcLinker
from warpsim.core.emit.native.native import assemble, vector_math_library
from warpsim.errors import CompilerError

ROOT = Path(native.__file__).parents[4]
LINKERS = [ElfLinker, OrcLinker] if native.PLACES_OBJECTS else [OrcLinker]
own_linker = pytest.mark.skipif(not native.PLACES_OBJECTS, reason="LLVM links objects of this machine")

SQUARE = """
define i64 @square(i64 %x) {
  %y = mul i64 %x, %x
  ret i64 %y
}
"""

# A constant pool, a writable global, one without content, a pointer between them and a libm call.
WAVE = """
@calls = global i64 0
@many = global [1000 x i64] zeroinitializer
@start = global i64 40
@where = global ptr @start
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
declare double @sin(double)
define double @wave(i64 %i, double %x) {
  %n = load i64, ptr @calls
  %n1 = add i64 %n, 1
  store i64 %n1, ptr @calls
  %last = getelementptr [1000 x i64], ptr @many, i64 0, i64 999
  store i64 %n1, ptr %last
  %at = getelementptr [4 x double], ptr @table, i64 0, i64 %i
  %a = load double, ptr %at
  %s = call double @sin(double %x)
  %y = fmul double %a, %s
  ret double %y
}
define i64 @started() {
  %p = load ptr, ptr @where
  %n = load i64, ptr %p
  ret i64 %n
}
"""

I64 = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(params=LINKERS)
def link(request):
    """Link with each of the linkers."""
    own = request.param()
    return lambda code, symbols=None: NativeObject(code, symbols, own)


def variant(k: int) -> str:
    return SQUARE.replace("mul i64 %x, %x", f"add i64 %x, {k}")


@pytest.mark.parametrize("opt", [0, 1, 2, 3])
def test_assembled_function_computes(link, opt):
    assert link(assemble(SQUARE, opt)).function("square", I64)(-12) == 144


@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("model", ["small", "large"])
def test_constants_globals_and_calls_into_libm_are_linked(link, monkeypatch, opt, model):
    monkeypatch.setattr(native, "_CODE_MODEL", model)
    code = link(assemble(WAVE, opt))
    wave = code.function("wave", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double))
    values = [wave(i, 0.3 * i) for i in range(4)]
    assert values == pytest.approx([(1.5 + i) * math.sin(0.3 * i) for i in range(4)], rel=1e-15)
    assert ctypes.c_int64.from_address(code.address("calls")).value == 4
    assert (ctypes.c_int64 * 1000).from_address(code.address("many"))[999] == 4
    ctypes.c_int64.from_address(code.address("start")).value += 2
    assert code.function("started", ctypes.CFUNCTYPE(ctypes.c_int64))() == 42


def test_objects_with_equal_names_do_not_mix(link):
    codes = [link(assemble(SQUARE.replace("mul", op))) for op in ("mul", "add", "sub")]
    assert [code.function("square", I64)(7) for code in codes] == [49, 14, 0]


def test_callee_may_be_given_by_address(link):
    triple = I64(lambda x: 3 * x)
    text = "declare i64 @given(i64)\ndefine i64 @f(i64 %x) {\n  %y = call i64 @given(i64 %x)\n  ret i64 %y\n}"
    address = ctypes.cast(triple, ctypes.c_void_p).value
    assert link(assemble(text), {"given": address}).function("f", I64)(14) == 42


def test_missing_callee_is_an_error_and_not_a_crash(link, capfd):
    text = "declare void @warpsim_no_such_function()\n" + (
        "define void @f() {\n  call void @warpsim_no_such_function()\n  ret void\n}"
    )
    with pytest.raises(CompilerError, match=r"[\s\S]*symbols=") as caught:
        link(assemble(text)).address("f")
    assert "warpsim_no_such_function" in str(caught.value) + capfd.readouterr().err


def test_unknown_symbol_is_named(link):
    with pytest.raises(CompilerError, match="'cube'"):
        link(assemble(SQUARE)).address("cube")


@pytest.mark.parametrize("code", [b"", b"junk" * 50, b"\x7f", b"\0" * 200])
def test_bytes_that_are_no_object_are_refused(link, code):
    with pytest.raises(CompilerError, match=f"{len(code)} bytes .* are no object code"):
        link(code)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_truncated_object_is_refused(link, part):
    code = assemble(SQUARE)
    with pytest.raises(CompilerError, match="does not link"):
        link(code[: int(len(code) * part)])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ELF only")
def test_object_of_another_processor_is_refused(link):
    code = bytearray(assemble(SQUARE))
    code[18:20] = (247).to_bytes(2, sys.byteorder)  # EM_BPF
    with pytest.raises(CompilerError, match="ELF machine 247"):
        link(bytes(code))


@pytest.mark.skipif(not vector_math_library(), reason="no libmvec with AVX2 here")
def test_vector_sine_of_libmvec_links_and_is_right(link):
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
    link(assemble(text)).function("f", ctypes.CFUNCTYPE(None, ctypes.c_void_p))(ctypes.addressof(memory))
    assert list(memory) == pytest.approx([math.sin(x) for x in values], abs=5e-7)


def test_many_threads_assemble_link_and_drop_at_once(link):
    failures = []

    def work(k):
        for i in range(8):
            if link(assemble(variant(100 * k + i), 1)).function("square", I64)(5) != 100 * k + i + 5:
                failures.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# ----- lifetime -----------------------------------------------------------------------------------


def test_a_function_holds_its_code(link):
    square = link(assemble(SQUARE)).function("square", I64)
    gc.collect()
    others = [link(assemble(variant(k), 1)) for k in range(20)]
    assert square(11) == 121 and len(others) == 20


@own_linker
def test_dropped_code_makes_room_for_new():
    own = ElfLinker()
    codes = [assemble(variant(k), 1) for k in range(3)]
    first, second = (NativeObject(code, None, own) for code in codes[:2])
    place = first.address("square")
    assert second.address("square") != place
    del first
    third = NativeObject(codes[2], None, own)
    assert third.address("square") == place
    assert [c.function("square", I64)(1) for c in (second, third)] == [2, 3]


def test_finalizers_of_a_cycle_may_still_call_the_code(link):
    said = []

    class Owner:
        def __init__(self, function):
            self.function, self.me = function, self

        def __del__(self):
            said.append(self.function(9))

    for _ in range(20):
        Owner(link(assemble(SQUARE, 1)).function("square", I64))
    gc.collect()
    assert said == [81] * 20


def test_code_dropped_while_somebody_links_goes_afterwards(link, monkeypatch):
    first, second = (link(assemble(variant(k), 1)) for k in range(2))
    numbers = first._number, second._number
    with linker._linking:
        del first
        assert numbers[0] in linker._linkers
    second.address("square")
    assert numbers[0] not in linker._linkers and numbers[1] in linker._linkers


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_and_its_parent_drop_code_apart(link):
    held = [link(assemble(variant(k), 1)) for k in range(6)]
    pid = os.fork()
    if pid == 0:
        del held[::2]
        others = [link(assemble(variant(50 + k), 1)).function("square", I64) for k in range(6)]
        right = [f(0) for f in others] == [*range(50, 56)] and held[0].function("square", I64)(0) == 1
        os._exit(0 if right else 1)
    del held[1::2]
    others = [link(assemble(variant(70 + k), 1)).function("square", I64) for k in range(6)]
    assert [f(0) for f in others] == [*range(70, 76)]
    assert [h.function("square", I64)(0) for h in held] == [0, 2, 4]
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_child_forked_while_another_thread_compiles_can_compile():
    script = f"""
import os, threading
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble
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
    done(script)


def test_code_stays_when_the_process_ends():
    """A daemon thread is in the middle of it, and finalizers of modules come last."""
    script = """
import ctypes, threading, time
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble
text = '''
define i64 @turn(ptr %flag) {
entry:
  br label %next
next:
  %n = load atomic volatile i64, ptr %flag monotonic, align 8
  %stop = icmp ne i64 %n, 0
  br i1 %stop, label %end, label %next
end:
  ret i64 %n
}
'''
turn = NativeObject(assemble(text)).function("turn", ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p))
flag = ctypes.c_int64()
threading.Thread(target=turn, args=(ctypes.addressof(flag),), daemon=True).start()
time.sleep(0.1)
class Last:
    def __init__(self, turn):
        self.turn, self.flag = turn, ctypes.c_int64(7)
    def __del__(self):
        assert self.turn(ctypes.addressof(self.flag)) == 7
        print("called")
last = Last(turn)
"""
    assert done(script) == "called\n"


def done(script: str) -> str:
    """What a script prints in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
