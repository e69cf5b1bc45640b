"""Native text to machine code: a shared library of each unit, and its address in the process.

Guarantees: one library per unit and machine, kept in the kernel cache under a key made of the whole
source, the compiler and the processor, so a warm start runs no compiler; messages of the compiler name
lines of the user's text; processes may compile the same unit at once. A library is loaded from a copy that no
other user can reach, and unloaded when nobody holds it.
"""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import importlib
import logging
import re
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....config import config
from ....errors import CompilerError, NativeCodeError, NoCompilerError
from ...ir.nodes import Call, Function, walk
from ...ops.native import ForeignRow, NativeRow, Unit
from ..disk.cache import is_private, object_cache
from .cpp import cpp_source, file_name
from .lifetime import Owned
from .native import host_signature

if TYPE_CHECKING:
    from .toolchain import Toolchain

log = logging.getLogger("warpsim")

_CUDA_ONLY = re.compile(r"__shared__|__sync\w+|__shfl\w+|__ballot\w+|\b(?:threadIdx|blockIdx|blockDim|gridDim)\b")
_MESSAGE = re.compile(r"^(?P<file>[^\s:]+):(?:\d+:)*\s*(?P<text>.*)$")
_SHOWN_LINES = 12
_REFUSED = b"refused"  # in the place of a library
_HANDLER = b"threw an exception: %s"  # what `snippet.h` makes of one
_RECENT = 8
if sys.platform == "win32":
    _close = _ctypes.FreeLibrary
else:
    _close = _ctypes.dlclose


class Library:
    """A unit in this process, for as long as this object lives; `address` is where its function lies."""

    def __init__(self, handle: int, address: int):
        self.address, self._owned = address, Owned(partial(_close, handle))


_loaded: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
_recent: deque[Library] = deque(maxlen=_RECENT)  # who asks whether a text compiles will want it next


def libraries(fn: Function) -> dict[str, Any]:
    """What a program calls by symbols, each with an `address`: units, compiled where need be, foreign functions."""
    return {unit.symbol: load(unit) for unit in units(fn)} | {row.name: row.callee for row in foreign(fn)}


def foreign(fn: Function) -> Iterator[ForeignRow]:
    """The calls of functions that others compiled."""
    return (node.op for node in walk(fn.body) if isinstance(node, Call) and isinstance(node.op, ForeignRow))


def units(fn: Function) -> Iterator[Unit]:
    """The units that a program calls, each once."""
    seen: set[Unit | None] = set()
    for node in walk(fn.body):
        if isinstance(node, Call) and isinstance(node.op, NativeRow) and node.op.unit not in seen:
            seen.add(node.op.unit)
            assert node.op.unit is not None
            yield node.op.unit


def load(unit: Unit) -> Library:
    """A unit as machine code in this process. Raises `NativeCodeError` and `NoCompilerError`."""
    loaded = _loaded.get(unit.symbol)
    if loaded is None:
        # Threads that meet here do the same work twice, and one result stays.
        loaded = _loaded.setdefault(unit.symbol, load_library(library(unit), unit.symbol))
        _recent.append(loaded)
    return loaded


def compiles(unit: Unit) -> bool:
    """Whether a text that may be refused is not; a refusal is kept on disk too. Without a compiler it is."""
    if unit.symbol in _loaded:
        return True
    try:
        key, store = cache_key(unit), object_cache()
    except NoCompilerError:
        return False
    if store is not None and store.load(key) == _REFUSED:
        return False
    try:
        load(unit)
    except NativeCodeError:
        if store is not None:
            store.store(key, _REFUSED, f"native {unit.function} refused")
        return False
    return True


def throws(unit: Unit) -> bool:
    """Whether an exception may leave the text: the compiler drops the handler where it sees that none does."""
    return _HANDLER in library(unit)


def cache_key(unit: Unit) -> str:
    """A digest of all that decides the library."""
    tools = tools_for(unit)
    parts = (cpp_source(unit), *tools.flags, tools.identity, host_signature())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def tools_for(unit: Unit) -> Toolchain:
    """The compiler; without one, an error that says who needs it."""
    # What finds compilers takes as long to load as the rest of the emitter, and most programs have no native code.
    toolchain = importlib.import_module("warpsim.core.emit.native.toolchain")
    try:
        tools: Toolchain = toolchain.find()
        return tools
    except NoCompilerError as error:
        error.location = unit.location
        raise


def library(unit: Unit) -> bytes:
    """The shared library of a unit: from the disk, else compiled and kept there."""
    key, store = cache_key(unit), object_cache()
    code = store.load(key) if store is not None else None
    if code is None or code == _REFUSED:
        tools, source = tools_for(unit), cpp_source(unit)
        code, said = tools.build(source, {file_name(unit): unit.text})
        if code is None:
            raise compile_error(unit, said)
        if config.verbose:
            log.info("%s of %s compiled", unit.part, unit.function)
        if store is not None:
            store.store(key, code, f"native {unit.function}")
    return code


def compile_error(unit: Unit, said: str) -> NativeCodeError:
    """The compiler's words about a text, and what to do where that is known."""
    lines = list(_about(file_name(unit), said)) or said.splitlines()
    cure = "lines are those of the text given to func_native"
    if match := _CUDA_ONLY.search(unit.text):
        cure = f"{match.group()} exists in CUDA only: such a function runs on a GPU"
    return NativeCodeError(
        f"the {unit.part} of native function {unit.function!r} does not compile",
        unit.location,
        found="\n".join(lines[:_SHOWN_LINES]),
        help=cure,
    )


def _about(file: str, said: str) -> Iterator[str]:
    """What concerns a file in the compiler's words: messages and quoted lines; of other files errors alone."""
    keeping = False
    for line in said.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            if keeping:
                yield line
            continue
        own = match["file"] == file
        keeping = own and "In function" not in match["text"]
        if keeping or (not own and "error:" in match["text"]):
            yield line if own else match["text"]


def load_library(code: bytes, symbol: str) -> Library:
    """Load a library with a function from a file that is there only meanwhile, in a folder of this user's alone."""
    reasons = []
    for place in _places():
        try:
            with tempfile.TemporaryDirectory(prefix="warpsim-native-", dir=place, ignore_cleanup_errors=True) as folder:
                path = Path(folder) / "unit.library"
                path.write_bytes(code)
                loaded = ctypes.CDLL(str(path))
                where = ctypes.cast(_function(loaded, symbol), ctypes.c_void_p).value
                assert where is not None
                return Library(loaded._handle, where)
        except OSError as error:  # also a folder from which nothing may be executed
            reasons.append(str(error))
    raise CompilerError(f"the library of a native function cannot be loaded: {'; '.join(reasons)}")


def _function(library: ctypes.CDLL, symbol: str) -> Any:
    try:
        return library[symbol]
    except AttributeError as error:
        raise CompilerError(f"the library of a native function has no {symbol!r}") from error


def _places() -> Iterator[Path]:
    """Folders in which other users cannot rename what is ours."""
    store = object_cache()
    places = [store.directory] if store is not None else []
    yield from filter(is_private, [*places, Path(tempfile.gettempdir())])
