"""Compilation of programs to machine code, once per process and cached on disk."""

from __future__ import annotations

import importlib
import json
import logging
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ...config import config
from ...errors import Location
from ..frontend.translate.translator import shallow_enough
from ..ir.dump import is_dumped, show
from ..types.handles import ROWS, TABLE_NAME
from .compile_lock import CompileLock
from .cpu.entry import BODY
from .cuda import tools as cuda_tools
from .cuda.code import KERNEL, CudaCode
from .disk.cache import object_cache
from .native import snippets, stacks
from .native.cpp import cpp_source
from .native.linker import NativeObject
from .native.native import host_signature
from .program import Program, cache_key
from .target import Options, Site

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from .cpu.cpu import Artefact

log = logging.getLogger("warpsim")

# Front end and passes share caches of library functions; one compilation at a time keeps them whole.
compiling = CompileLock()

_begun: dict[str, Future[bytes]] = {}
"""What other threads compile for a later `build`, by the keys of the disk cache."""

ON_COLD_START: list[Callable[[], None]] = []
"""Called before a program is translated that was not on disk: so other things that the process needs are not either."""


def _begin_child() -> None:
    _begun.clear()  # threads are not forked
    compiling.release()


# A child forked while another thread compiles would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=compiling.acquire, after_in_parent=compiling.release, after_in_child=_begin_child)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel as machine code in this process: as long as this object, or a function of its `native`, lives.

    entry: the address for who calls it in whatever floating-point mode; address: that for the pool of threads, which
    has set the standard one.
    """

    entry: int
    address: int
    sites: tuple[Site, ...]
    native: NativeObject


_present: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()  # by the keys of the disk cache


def build(program: Program, options: Options) -> Compiled:
    """Machine code for this CPU: what the process has, else from the disk, else compiled and kept there."""
    with compiling, shallow_enough(program.fn.location):
        key = cache_key(program, options, host_signature())
        compiled = None if is_dumped("llvm") else _present.get(key)
        if compiled is None:
            begun = _begun.pop(key, None)
            compile_ = partial(compile_native, program, options) if begun is None else begun.result
            sites, code = unpack(load_or_compile(key, program, compile_))
            compiled = link(code, [site_of(s) for s in sites], snippets.libraries(program.fn))
            _present[key] = compiled
        return compiled


def link(code: bytes, sites: Iterable[Site], libraries: Mapping[str, Any]) -> Compiled:
    """Object code of a kernel in this process. libraries: what it calls by symbols, each with an `address`."""
    callees = {name: library.address for name, library in libraries.items()}
    room = stacks.symbols(code)
    native = NativeObject(code, {**callees, **room, TABLE_NAME: ROWS.ctypes.data}, callees=tuple(libraries.values()))
    entry = native.address(KERNEL)
    return Compiled(entry, entry if room else native.address(BODY), tuple(sites), native)


@contextmanager
def threads_for(count: int) -> Iterator[Executor | None]:
    """Threads that compile what `begin` gives them, None for one thread."""
    if count <= 1:
        yield None
        return
    futures = importlib.import_module("concurrent.futures")  # rarely needed
    with futures.ThreadPoolExecutor(count, "warpsim compiles") as threads:
        yield threads


def begin(program: Program, options: Options, threads: Executor) -> None:
    """Let another thread do LLVM's part of `build`, which then waits for it; the others are done here."""
    with compiling, shallow_enough(program.fn.location):
        key = cache_key(program, options, host_signature())
        store = object_cache()
        if key not in _present and key not in _begun and (store is None or key not in store):
            _begun[key] = threads.submit(object_code, program.fn.name, translate(program, options))


def build_cuda(program: Program, options: Options, arch: tuple[int, int]) -> CudaCode:
    """Machine code for GPUs of compute capability `arch`: from the disk, else compiled and kept there.

    Raises `ImportError` for packages of the extra `cuda` that are missing, `KernelTypeError` for more arguments
    than a CUDA kernel can be given, `DeviceError` for an `arch` that the tools do not know, and
    `NativeCodeError` for native text that does not compile.
    """
    with compiling, shallow_enough(program.fn.location):
        natives = "\n".join(cpp_source(unit) for unit in snippets.units(program.fn))  # they become part of the code
        processor = f"sm_{arch[0]}{arch[1]} {cuda_tools.versions()} {natives}"
        key = cache_key(program, options, processor)
        payload = load_or_compile(key, program, lambda: compile_cuda(program, options, arch))
        (sites, *facts), code = unpack(payload)
        return CudaCode(code, tuple(site_of(s) for s in sites), *facts)


def load_or_compile(key: str, program: Program, compile_: Callable[[], bytes]) -> bytes:
    """The code of a program from the disk, where it is under `key`, else compiled and kept there."""
    store = object_cache()
    payload = store.load(key) if store is not None and not is_dumped("llvm") else None
    if payload is None:
        payload = compile_()
        if store is not None:
            store.store(key, payload, program.fn.name)
    elif config.verbose:
        log.info("kernel %s loaded from the cache", program.fn.name)
    return payload


def compile_native(program: Program, options: Options) -> bytes:
    """Run the CPU back end; the result holds the places of checks and the object code."""
    return object_code(program.fn.name, translate(program, options))


def translate(program: Program, options: Options) -> Artefact:
    """A program as text for LLVM."""
    for prepare in ON_COLD_START:
        prepare()
    # The emitter is needed on a cache miss only; a warm start never loads it.
    emitter = importlib.import_module("warpsim.core.emit.cpu.cpu")
    artefact: Artefact = emitter.emit(program.fn, program.ndim, options, program.plan)
    show("llvm", program.fn.name, lambda: artefact.llvm)
    return artefact


def object_code(name: str, artefact: Artefact) -> bytes:
    """What is kept of a kernel, once LLVM has compiled it."""
    payload = pack([site_words(s) for s in artefact.sites], artefact.code)
    if config.verbose:
        log.info("kernel %s compiled", name)
    return payload


def compile_cuda(program: Program, options: Options, arch: tuple[int, int]) -> bytes:
    """Run the CUDA back end; the result holds the places of checks, facts for launches, and the cubin."""
    emitter = importlib.import_module("warpsim.core.emit.cuda.cuda")
    show("llvm", program.fn.name, lambda: emitter.emit_module(program.fn, program.ndim, options, program.plan)[1])
    artefact = emitter.machine_code(program.fn, program.ndim, options, program.plan, arch, lineinfo=options.lineinfo)
    if config.verbose:
        log.info("kernel %s compiled for compute capability %d.%d", program.fn.name, *arch)
    header = [[site_words(s) for s in artefact.sites], artefact.block_bytes, artefact.reduces, artefact.max_threads]
    return pack(header, artefact.code)


def pack(header: list[Any], code: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + code


def unpack(payload: bytes) -> tuple[list[Any], bytes]:
    size = int.from_bytes(payload[:8], "little")
    return json.loads(payload[8 : 8 + size]), payload[8 + size :]


def site_words(site: Site) -> list[Any]:
    at = site.location
    return [site.kind, site.text, None if at is None else [at.file, at.line, at.column, at.end_column, at.function]]


def site_of(words: list[Any]) -> Site:
    kind, text, at = words
    return Site(kind, text, None if at is None else Location(*at))
