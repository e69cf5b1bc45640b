"""Object code with LLVM alone: IR text to code for this processor, and what that depends on.

Guarantees: Numba is not imported, so a warm start pays only for LLVM (about 30 ms to import); all functions may be
called from any thread, and several run at once; a fork never happens in the middle of a call; wrong input raises
`CompilerError`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ....errors import CompilerError

PLACES_OBJECTS = sys.platform.startswith("linux") and platform.machine() == "x86_64"
"""Whether objects are placed by `elf`, and not by LLVM's JITLink. Either puts an object's code and data side by side,
and reaches what is far through a table of addresses."""

_CODE_MODEL = "small"
_DEFAULT_PIPELINE_LEVEL = 3


class _Calls:
    """The calls of LLVM that are under way: any number at once, but none of another thread while a process forks."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._depths: Counter[int] = Counter()  # by thread

    def __enter__(self) -> None:
        with self._changed:
            self._depths[threading.get_ident()] += 1

    def __exit__(self, *exception: object) -> None:
        thread = threading.get_ident()
        with self._changed:
            self._depths[thread] -= 1
            if not self._depths[thread]:
                del self._depths[thread]
            self._changed.notify_all()

    def stop(self) -> None:
        """Wait until no other thread is in a call, and let none begin before `go`."""
        self._changed.acquire()
        self._changed.wait_for(lambda: self._depths.keys() <= {threading.get_ident()})

    def go(self) -> None:
        self._changed.release()


_calls = _Calls()

# A child forked while another thread holds a lock of LLVM would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_calls.stop, after_in_parent=_calls.go, after_in_child=_calls.go)


def assemble(ir_text: str, opt: int = _DEFAULT_PIPELINE_LEVEL, vectorize: bool = True, unroll: bool = True) -> bytes:
    """Object code of LLVM IR text for this very processor, position-independent.

    `opt` is the level of LLVM's standard pipeline, 0 to 3. Loops are vectorised from 2 on unless
    `vectorize` is off: the vectoriser's time grows with the square of the loop body; and unrolled unless
    `unroll` is off. Raises `CompilerError` with LLVM's message and position when the text does not parse
    or verify.
    """
    if opt not in (0, 1, 2, 3):
        raise CompilerError(f"assemble: opt is {opt!r}\nexpected: a level from 0 to 3")
    with _calls:
        _initialize()
        return _assemble(ir_text, opt, vectorize, unroll)


def _assemble(ir_text: str, opt: int, vectorize: bool, unroll: bool) -> bytes:
    # A function of its own, because LLVM's objects are disposed of when it returns: that takes
    # llvmlite's lock, which no thread may hold in a fork. The context goes with all types and names of the text.
    try:
        module = llvm.parse_assembly(ir_text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise CompilerError(f"LLVM refuses this IR: {error}") from error
    machine = _target_machine(opt)
    tuning = llvm.create_pipeline_tuning_options(speed_level=opt)
    tuning.slp_vectorization = opt >= 2
    tuning.loop_vectorization = opt >= 2 and vectorize
    if not unroll:
        tuning.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, tuning)
    manager = passes.getModulePassManager()
    _without_lock("LLVMPY_RunNewModulePassManager")(manager, module, passes)
    if type(manager)._dispose is llvm.ffi.ObjectRef._dispose:  # llvmlite keeps it, which is 60 KB a module
        llvm.newpassmanagers.NewPassManager._dispose(manager)
    return _object_code(machine, module)


def _object_code(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    with llvm.ffi.OutputString() as message:
        buffer = _without_lock("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, message)
        if not buffer:
            raise CompilerError(f"LLVM makes no object code: {message}")
    library = llvm.ffi.lib
    try:
        return ctypes.string_at(library.LLVMPY_GetBufferStart(buffer), library.LLVMPY_GetBufferSize(buffer))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(buffer)


def _without_lock(name: str) -> Any:
    """A function of LLVM's library without the lock that llvmlite puts around every call.

    LLVM needs none where threads share no context, and ours never do; with it, they would wait for one another.
    """
    locked = getattr(llvm.ffi.lib, name)
    return getattr(locked, "_cfn", locked)


@functools.cache
def host_signature() -> str:
    """All that object code of this process depends on besides its source: a part of cache keys.

    Triple, processor name, its features, llvmlite's version, which libmvec can be linked, and the code model.
    """
    features = ",".join(sorted(_host_features().split(",")))
    # Versions of glibc have different functions in libmvec, and two of them may share a folder.
    vector_math = f"libmvec of {os.confstr('CS_GNU_LIBC_VERSION')}" if vector_math_library() else "libm"
    return "|".join(
        (
            process_triple(),
            _cpu_name(),
            features,
            f"llvmlite {llvmlite.__version__}",
            vector_math,
            _CODE_MODEL,
        )
    )


def requirements() -> dict[str, Any]:
    """What object code of this process asks of another one that is to run it: see `unmet`."""
    features = sorted(feature for feature in _host_features().split(",") if feature.startswith("+"))
    return {"triple": process_triple(), "features": features, "libmvec": vector_math_library()}


def unmet(triple: str, features: Sequence[str], libmvec: bool) -> str:
    """What this process lacks to run object code with these requirements; nothing if it can."""
    here = requirements()
    if triple != here["triple"]:
        return f"code for {triple}, and this is {here['triple']}"
    missing = sorted(str(feature).removeprefix("+") for feature in set(features) - set(here["features"]))
    if missing:
        return f"code for a processor with {', '.join(missing)}, which this one lacks"
    without = libmvec and not here["libmvec"]
    return "code that calls libmvec, the vector mathematics of glibc, which is not here" if without else ""


@functools.cache
def vector_math_library() -> bool:
    """Whether glibc's vector mathematics (libmvec) is there; if so it is linkable from now on.

    Its eight-lane float functions (`_ZGVdN8v_sinf`) need AVX2, so other processors and C libraries
    give False.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    if "+avx2" not in _host_features().split(","):
        return False
    with _calls:
        try:
            llvm.load_library_permanently("libmvec.so.1")
        except RuntimeError:
            return False
    return True


@functools.cache
def lanes() -> int:
    """How many 32-bit numbers a vector register of this processor holds."""
    features = _host_features().split(",")
    return 16 if "+avx512f" in features else 8 if "+avx2" in features else 4


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def linking_engine() -> llvm.LLJIT:
    """A linker of LLVM's. Libraries that objects may refer to are loaded before it.

    It is JITLink. Its predecessor RuntimeDyld maps code and data apart, beyond the 4 GB that references of 64-bit ARM
    reach, and then ends the process.
    """
    _initialize()
    vector_math_library()
    return llvm.create_lljit_compiler(use_jit_link=True)


def _target_machine(opt: int) -> llvm.TargetMachine:
    # "pic": an object may end up more than 2 GB away from the libraries that it calls.
    return llvm.Target.from_triple(process_triple()).create_target_machine(
        cpu=_cpu_name(), features=_host_features(), opt=opt, reloc="pic", codemodel=_CODE_MODEL
    )


@functools.cache
def process_triple() -> str:
    """Architecture, maker and system of this process, in LLVM's words."""
    with _calls:
        return str(llvm.get_process_triple())


@functools.cache
def _cpu_name() -> str:
    with _calls:
        return str(llvm.get_host_cpu_name())


@functools.cache
def _host_features() -> str:
    with _calls:
        try:
            return str(llvm.get_host_cpu_features().flatten())
        except RuntimeError:  # LLVM does not know this processor; its name alone is then enough
            return ""
