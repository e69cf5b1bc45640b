"""In-process linking of object code, which is unloaded with the last reference to it.

Guarantees: functions may be called from any thread, as long as the object, or a function that `function` made of
it, is held; memory of code that is dropped is given back, also after a fork, and never while a finalizer may still
call it; at the end of the process all code stays. Wrong input raises `CompilerError`, and a limit of the system
that is reached `DeviceMemoryError`.

ELF objects of x86-64 are placed by ourselves (`elf`, `code_memory`), other ones by LLVM's ORC JIT, which takes
three memory mappings and 40 KB for each. Its predecessor MCJIT ends the process on bytes that are no object, and
gives an unknown symbol the address 0, which is found out only when a kernel calls it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import platform
import sys
import threading
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

import llvmlite.binding as llvm

from ....errors import CompilerError
from . import native
from .code_memory import CodeMemory
from .elf import Image
from .lifetime import Owned

_OBJECT_MAGIC = {"darwin": (b"\xcf\xfa\xed\xfe",), "win32": (b"\x64\x86", b"\x64\xaa")}
_ELF_MAGIC = (b"\x7fELF",)
_ELF_MACHINE = {"x86_64": 62, "aarch64": 183, "ppc64le": 21, "riscv64": 243, "s390x": 22}
_ELF_MACHINE_OFFSET = 18

_linking = threading.Lock()
_numbers = itertools.count()
_linkers: dict[int, Linker] = {}  # by the numbers of the objects that they hold
_dropped: deque[int] = deque()

# A child forked while another thread holds the lock would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_linking.acquire, after_in_parent=_linking.release, after_in_child=_linking.release)


class NativeObject:
    """Object code of this machine, linked into the process as long as this handle lives.

    `code` is an ELF, Mach-O or COFF object; `symbols` gives addresses for undefined names that the
    process itself does not export. Names of the process and of libraries that LLVM has loaded for good
    (`llvmlite.binding.load_library_permanently`: libm, libmvec) are found by themselves. `callees` are held by the
    handle.

    Raises `CompilerError` for bytes that are no object of this machine.
    """

    def __init__(
        self,
        code: bytes,
        symbols: Mapping[str, int] | None = None,
        linker: Linker | None = None,
        callees: tuple[Any, ...] = (),
    ):
        _check_object(code)
        self._callees = callees
        self._linker = linker or usual_linker()
        number = next(_numbers)
        with _linking:
            self._linker.link(number, code, symbols or {})
            _linkers[number] = self._linker
        self._number = number
        self._owned = Owned(partial(_drop, number))
        _unlink_dropped()

    def address(self, symbol: str) -> int:
        """The address of a function or variable that the object defines.

        Raises `CompilerError` when it defines no such symbol, or calls something that is not in
        the process (LLVM then names what is missing on stderr).
        """
        with _linking:
            address = self._linker.address(self._number, symbol)
        _unlink_dropped()
        return address

    def function(self, symbol: str, prototype: Any) -> Any:
        """A function of the object, called as a ctypes prototype says; it holds the object."""
        call = prototype(self.address(symbol))
        call.code = self
        return call


def _drop(number: int) -> None:
    _dropped.append(number)
    _unlink_dropped()


def _unlink_dropped() -> None:
    """Take out what was dropped, unless somebody is linking: who then does it afterwards.

    Finalizers come at any moment, also in the thread that is linking.
    """
    while _dropped and _linking.acquire(blocking=False):
        try:
            with contextlib.suppress(IndexError):  # a finalizer meanwhile
                number = _dropped.popleft()
                _linkers.pop(number).unlink(number)
        finally:
            _linking.release()


class Linker(Protocol):
    """What puts objects into the process, each under a number, one at a time."""

    def link(self, number: int, code: bytes, symbols: Mapping[str, int]) -> None:
        """Put an object into the process. Raises `CompilerError`."""

    def address(self, number: int, symbol: str) -> int:
        """Where a symbol of an object lies. Raises `CompilerError`."""

    def unlink(self, number: int) -> None:
        """Take an object out, which nothing refers to."""


class ElfLinker:
    """Objects of x86-64 on Linux, side by side in pages of our own."""

    def __init__(self) -> None:
        self._memory = CodeMemory()
        self._placed: dict[int, tuple[int, int, dict[str, int]]] = {}

    def link(self, number: int, code: bytes, symbols: Mapping[str, int]) -> None:
        image = Image(code, lambda name: symbols.get(name) or _process_symbol(name))
        base = self._memory.take(image.size)
        try:
            content = image.placed_at(base)
        except CompilerError:
            self._memory.give(base, image.size)
            raise
        self._memory.seal(base, content, image.writable_from)
        self._placed[number] = base, image.size, image.addresses(base)

    def address(self, number: int, symbol: str) -> int:
        address = self._placed[number][2].get(symbol)
        if address is None:
            raise _unknown_symbol(symbol, "it has no such name")
        return address

    def unlink(self, number: int) -> None:
        base, size, _ = self._placed.pop(number)
        self._memory.give(base, size)


class OrcLinker:
    """Objects of any kind of machine, each as a library of LLVM's."""

    def __init__(self) -> None:
        native.vector_math_library()  # libraries that objects may refer to are loaded before the engine is made
        self._engine = native.linking_engine()
        self._trackers: dict[int, list[llvm.orcjit.ResourceTracker]] = {}  # LLVM unloads code when these go
        self._addresses: dict[tuple[int, str], int] = {}

    def link(self, number: int, code: bytes, symbols: Mapping[str, int]) -> None:
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in symbols.items():
            builder.import_symbol(name, address)
        try:
            self._trackers[number] = [builder.link(self._engine, f"warpsim_{number}")]
        except RuntimeError as error:
            raise CompilerError(f"object code does not link: {error}") from error

    def address(self, number: int, symbol: str) -> int:
        key = number, symbol
        if key not in self._addresses:
            try:
                owner = self._engine.lookup(f"warpsim_{number}", symbol)
            except RuntimeError as error:
                raise _unknown_symbol(symbol, str(error)) from error
            self._trackers[number].append(owner)
            self._addresses[key] = owner[symbol]
        return self._addresses[key]

    def unlink(self, number: int) -> None:
        del self._trackers[number]
        for key in [key for key in self._addresses if key[0] == number]:
            del self._addresses[key]


@functools.cache
def usual_linker() -> Linker:
    """The linker of this machine."""
    return ElfLinker() if native.PLACES_OBJECTS else OrcLinker()


@functools.cache
def _process_symbol(name: str) -> int | None:
    """The address of a name in this process."""
    native.vector_math_library()
    with contextlib.suppress(AttributeError):
        return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    address: int | None = llvm.address_of_symbol(name)
    return address


def _unknown_symbol(symbol: str, reason: str) -> CompilerError:
    return CompilerError(
        f"no address for symbol {symbol!r} of an object: {reason}\n"
        "expected: a symbol that the object defines, all of whose callees exist in this process\n"
        "help: pass the address of a missing callee in symbols="
    )


def _check_object(code: bytes) -> None:
    """Refuse what a linker would take for code of this machine, or abort on."""
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
    machine_number = int.from_bytes(code[_ELF_MACHINE_OFFSET : _ELF_MACHINE_OFFSET + 2], sys.byteorder)
    if machine_number != machine:
        raise CompilerError(
            f"object code is for ELF machine {machine_number}\nexpected: {machine} ({platform.machine()})"
        )
