"""Machine code of programs: what this process has, else from the disk, else compiled and kept there."""

from __future__ import annotations

import importlib
import json
import logging
import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...config import config
from ...errors import Location
from ..frontend.translator import shallow_enough
from ..ir.dump import is_dumped, show
from ..types.handles import ROWS, TABLE_NAME
from . import cuda_tools, snippets
from .cache import object_cache
from .cpp import cpp_source
from .cuda_code import KERNEL, CudaCode
from .linker import NativeObject
from .native import host_signature
from .program import Program, cache_key
from .target import Options, Site

log = logging.getLogger("warpsim")

# Front end and passes share caches of library functions; one compilation at a time keeps them whole.
compiling = threading.RLock()

# A child forked while another thread compiles would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=compiling.acquire, after_in_parent=compiling.release, after_in_child=compiling.release
    )


@dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel as machine code in this process: as long as this object, or a function of its `native`, lives."""

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
            header, code = unpack(cached(key, program, lambda: compile_native(program, options)))
            libraries = snippets.libraries(program.fn)
            callees = {name: library.address for name, library in libraries.items()}
            native = NativeObject(code, {**callees, TABLE_NAME: ROWS.ctypes.data}, callees=tuple(libraries.values()))
            compiled = Compiled(native.address(KERNEL), tuple(site_of(s) for s in header), native)
            _present[key] = compiled
        return compiled


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
        payload = cached(key, program, lambda: compile_cuda(program, options, arch))
        (sites, *facts), code = unpack(payload)
        return CudaCode(code, tuple(site_of(s) for s in sites), *facts)


def cached(key: str, program: Program, compile_: Callable[[], bytes]) -> bytes:
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
    # The emitter is needed on a cache miss only; a warm start never loads it.
    emitter = importlib.import_module("warpsim.core.emit.cpu")
    artefact = emitter.emit(program.fn, program.ndim, options, program.plan)
    show("llvm", program.fn.name, lambda: artefact.llvm)
    if config.verbose:
        log.info("kernel %s compiled", program.fn.name)
    return pack([site_words(s) for s in artefact.sites], artefact.code)


def compile_cuda(program: Program, options: Options, arch: tuple[int, int]) -> bytes:
    """Run the CUDA back end; the result holds the places of checks, facts for launches, and the cubin."""
    emitter = importlib.import_module("warpsim.core.emit.cuda")
    show("llvm", program.fn.name, lambda: emitter.translated(program.fn, program.ndim, options, program.plan)[1])
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
