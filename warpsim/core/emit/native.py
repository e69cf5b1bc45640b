"""Machine code with LLVM alone: IR text to object code, and object code to callable addresses.

Guarantees: Numba is not imported, so a warm start pays only for LLVM (about 30 ms to import, 1 ms
for the first object, 0.2 ms for each further one); all functions may be called from any thread; a
fork never happens in the middle of a call; wrong input raises `CompilerError`.

Objects are linked by LLVM's ORC JIT. Its predecessor MCJIT ends the process on bytes that are no
object, and gives an unknown symbol the address 0, which is found out only when a kernel calls it.
"""

from __future__ import annotations

import functools
import itertools
import os
import platform
import sys
import threading
from collections.abc import Mapping

import llvmlite
import llvmlite.binding as llvm

from ...errors import CompilerError

_OBJECT_MAGIC = {"darwin": (b"\xcf\xfa\xed\xfe",), "win32": (b"\x64\x86", b"\x64\xaa")}
_ELF_MAGIC = (b"\x7fELF",)
_ELF_MACHINE = {"x86_64": 62, "aarch64": 183, "ppc64le": 21, "riscv64": 243, "s390x": 22}
_ELF_MACHINE_OFFSET = 18
_DEFAULT_PIPELINE_LEVEL = 3

_lock = threading.RLock()
_linked: list[llvm.orcjit.ResourceTracker] = []  # LLVM unloads code when its tracker goes
_library_numbers = itertools.count()

# A child forked while another thread holds the lock would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class NativeObject:
    """Object code of this machine, linked into the process until that ends (about 45 KB each).

    It is never unloaded, even when this handle is dropped: recorded launches keep addresses of
    kernels, and other threads may be running them.

    `code` is an ELF, Mach-O or COFF object; `symbols` gives addresses for undefined names that the
    process itself does not export. Names of the process and of libraries loaded with
    `load_library_permanently` (libm, libmvec) are found by themselves.

    Raises `CompilerError` for bytes that are no object of this machine.
    """

    def __init__(self, code: bytes, symbols: Mapping[str, int] | None = None):
        _check_object(code)
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in (symbols or {}).items():
            builder.import_symbol(name, address)
        self._name = f"warpsim_{next(_library_numbers)}"
        self._addresses: dict[str, int] = {}
        with _lock:
            self._engine = _engine()
            try:
                _linked.append(builder.link(self._engine, self._name))
            except RuntimeError as error:
                raise CompilerError(f"object code does not link: {error}") from error

    def address(self, symbol: str) -> int:
        """The address of a function or variable that the object defines.

        Raises `CompilerError` when it defines no such symbol, or calls something that is not in
        the process (LLVM then names what is missing on stderr).
        """
        with _lock:
            if symbol not in self._addresses:
                try:
                    owner = self._engine.lookup(self._name, symbol)
                except RuntimeError as error:
                    raise CompilerError(
                        f"no address for symbol {symbol!r} of an object: {error}\n"
                        "expected: a symbol that the object defines, all of whose callees exist in "
                        "this process\nhelp: pass the address of a missing callee in symbols="
                    ) from error
                _linked.append(owner)
                self._addresses[symbol] = owner[symbol]
            return self._addresses[symbol]


def assemble(ir_text: str, opt: int = _DEFAULT_PIPELINE_LEVEL, vectorize: bool = True, unroll: bool = True) -> bytes:
    """Object code of LLVM IR text for this very processor, position-independent.

    `opt` is the level of LLVM's standard pipeline, 0 to 3. Loops are vectorised from 2 on unless
    `vectorize` is off: the vectoriser's time grows with the square of the loop body; and unrolled unless
    `unroll` is off. Raises `CompilerError` with LLVM's message and position when the text does not parse
    or verify.
    """
    if opt not in (0, 1, 2, 3):
        raise CompilerError(f"assemble: opt is {opt!r}\nexpected: a level from 0 to 3")
    with _lock:
        _initialize()
        return _assemble(ir_text, opt, vectorize, unroll)


def _assemble(ir_text: str, opt: int, vectorize: bool, unroll: bool) -> bytes:
    # A function of its own, because LLVM's objects are disposed of when it returns: that takes
    # llvmlite's lock, which no thread may hold in a fork.
    try:
        module = llvm.parse_assembly(ir_text)
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
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


@functools.cache
def host_signature() -> str:
    """All that object code of this process depends on besides its source: a part of cache keys.

    Triple, processor name, its features, llvmlite's version, and whether libmvec can be linked.
    """
    features = ",".join(sorted(_host_features().split(",")))
    vector_math = "libmvec" if vector_math_library() else "libm"
    return "|".join(
        (
            llvm.get_process_triple(),
            llvm.get_host_cpu_name(),
            features,
            f"llvmlite {llvmlite.__version__}",
            vector_math,
        )
    )


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
    with _lock:
        try:
            llvm.load_library_permanently("libmvec.so.1")
        except RuntimeError:
            return False
    return True


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def _engine() -> llvm.LLJIT:
    """The one linker of the process. Libraries that objects may refer to are loaded before it."""
    _initialize()
    vector_math_library()
    return llvm.create_lljit_compiler()


def _target_machine(opt: int) -> llvm.TargetMachine:
    # "pic": an object may end up more than 2 GB away from the libraries that it calls.
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_host_features(), opt=opt, reloc="pic"
    )


@functools.cache
def _host_features() -> str:
    try:
        return llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know this processor; its name alone is then enough
        return ""


def _check_object(code: bytes) -> None:
    """Refuse what the linker would take for code of this machine, or abort on."""
    expected = _OBJECT_MAGIC.get(sys.platform, _ELF_MAGIC)
    if not code.startswith(expected):
        raise CompilerError(
            f"{len(code)} bytes that begin with {bytes(code[:4]).hex() or 'nothing'} are no object "
            f"code of this platform\nexpected: one that begins with "
            f"{' or '.join(magic.hex() for magic in expected)}"
        )
    machine = _ELF_MACHINE.get(platform.machine())
    if expected is not _ELF_MAGIC or machine is None:
        return
    found = int.from_bytes(code[_ELF_MACHINE_OFFSET : _ELF_MACHINE_OFFSET + 2], sys.byteorder)
    if found != machine:
        raise CompilerError(f"object code is for ELF machine {found}\nexpected: {machine} ({platform.machine()})")
