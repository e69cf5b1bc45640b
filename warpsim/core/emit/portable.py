"""Serialized machine code of a kernel: object code, libraries of native functions, checks.

Guarantees: `deserialize` of what `serialize` made runs as the kernel that was compiled here, on a machine that meets
the `requirements`; bytes that are something else raise `CompilerError` before anything of them is linked, as far as
they do not look like an object. They are code: who loads them must trust them as a library.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...errors import CompilerError
from ..frontend.translate.translator import shallow_enough
from .build import Compiled, compile_native, compiling, link, load_or_compile, pack, site_of, site_words, unpack
from .cuda.code import CudaCode
from .native import snippets
from .native.native import host_signature
from .program import Program, cache_key
from .target import Options

_LARGEST_HEADER = 1 << 26


def serialize(program: Program, options: Options) -> bytes:
    """What `build` links of a program for this CPU, from the disk or compiled, and the libraries that it calls.

    Raises `CompilerError` for a program that calls functions which others compiled.
    """
    for row in snippets.foreign(program.fn):
        raise CompilerError(f"kernel {program.fn.name!r} calls {row.title or row.name}, code of this process alone")
    with compiling, shallow_enough(program.fn.location):
        key = cache_key(program, options, host_signature())
        sites, code = unpack(load_or_compile(key, program, partial(compile_native, program, options)))
        libraries = {unit.symbol: snippets.library(unit) for unit in snippets.units(program.fn)}
    parts = [[name, len(library)] for name, library in libraries.items()]
    return pack([sites, len(code), parts], b"".join([code, *libraries.values()]))


def deserialize(payload: bytes) -> Compiled:
    """A kernel of another process in this one. Raises `CompilerError` for bytes that are none."""
    header, rest = _unpack(payload)
    try:
        sites, size, parts = header
        sizes = [_size(n) for n in (size, *(length for _, length in parts))]
        names, places = [str(name) for name, _ in parts], [site_of(s) for s in sites]
    except (TypeError, ValueError) as error:
        raise _damage_error(error) from error
    if sum(sizes) != len(rest):
        raise _damage_error(f"{len(rest)} bytes of code and not {sum(sizes)}")
    code, *libraries = _cut(rest, sizes)
    with compiling:
        loaded = {name: snippets.load_library(code, name) for name, code in zip(names, libraries, strict=True)}
        return link(code, places, loaded)


def serialize_cuda(code: CudaCode) -> bytes:
    """Machine code for a GPU as bytes."""
    sites = [site_words(s) for s in code.sites]
    return pack([sites, code.block_bytes, code.reduces, code.max_threads], code.code)


def deserialize_cuda(payload: bytes) -> CudaCode:
    """What `serialize_cuda` made bytes of. Raises `CompilerError` for bytes that are something else."""
    header, code = _unpack(payload)
    try:
        sites, block_bytes, reduces, max_threads = header
        facts = _size(block_bytes), bool(reduces), _size(max_threads)
        return CudaCode(code, tuple(site_of(s) for s in sites), *facts)
    except (TypeError, ValueError) as error:
        raise _damage_error(error) from error


def _unpack(payload: bytes) -> tuple[list[Any], bytes]:
    size = int.from_bytes(payload[:8], "little")
    if len(payload) < 8 or size > min(len(payload) - 8, _LARGEST_HEADER):
        raise _damage_error("its header lies outside of it")
    try:
        header, code = unpack(payload)
    except (ValueError, RecursionError) as error:
        raise _damage_error(error) from error
    if not isinstance(header, list):
        raise _damage_error("it has no header")
    return header, code


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no size")
    return value


def _cut(content: bytes, sizes: list[int]) -> list[bytes]:
    parts, at = [], 0
    for size in sizes:
        parts.append(content[at : at + size])
        at += size
    return parts


def _damage_error(why: object) -> CompilerError:
    return CompilerError(f"these bytes are no machine code of a kernel: {why}")
