"""The pipeline, as named steps with the verifier between them.

    source -> lower -> inline -> unroll -> fold -> dce -> version -> plan -> emit
                                           dce -> assume -> forward -> adjoint -> fold -> dce -> version -> plan -> emit

`config.dump = "inline"` (or `all`, or the environment variable WARPSIM_DUMP) prints a program after
that step. Compilation is per kernel, argument types and target; machine code is kept on disk under a
key made of the final program's text and everything that shapes code.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from ..config import config
from ..errors import Location
from .emit import cuda_tools, snippets
from .emit.cache import object_cache
from .emit.cpp import cpp_source
from .emit.cuda_code import KERNEL, CudaCode
from .emit.fingerprint import fingerprint
from .emit.linker import NativeObject
from .emit.native import host_signature
from .emit.target import Options, Site
from .frontend.function import function_results, kernel_function, thread_rank
from .frontend.source import Source
from .frontend.translator import shallow_enough
from .ir.def_use import used_values
from .ir.nodes import Call, Function, walk
from .ir.printer import print_function
from .ir.rewrite import Rewriter
from .ir.verify import verify
from .passes.analysis.atomics import AtomicPlan, analyse
from .passes.analysis.cost import estimate
from .passes.analysis.stack import check_stack
from .passes.forward.derived import forward_again, forward_mode, second_order
from .passes.reverse.adjoint import adjoint, chosen
from .passes.reverse.assumptions import asserted
from .passes.reverse.primal_reads import Extra
from .passes.reverse.promote_memory import promote_memory
from .passes.reverse.recompute import refuse_unrecoverable
from .passes.reverse.recording import recording
from .passes.simplify.cse import cse
from .passes.simplify.dce import dce
from .passes.simplify.fold import fold
from .passes.simplify.handle_params import HandleParam, handle_params, with_handle_params
from .passes.simplify.inline import inline
from .passes.simplify.unroll import unroll
from .passes.simplify.versioning import versioned
from .types.arrays import ArrayType, type_name
from .types.handles import ROWS, TABLE_NAME
from .types.structs import is_struct

log = logging.getLogger("warpsim")

# Of the kernel itself; other forms add theirs, such as "adjoint" and "adjoint dce".
STAGES = ("source", "lower", "inline", "unroll", "fold", "dce", "llvm")

# Front end and passes share caches of library functions; one compilation at a time keeps them whole.
compiling = threading.RLock()

# A child forked while another thread compiles would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=compiling.acquire, after_in_parent=compiling.release, after_in_child=compiling.release
    )


class Form(NamedTuple):
    """What is compiled of a kernel: `forward` is the kernel itself, `adjoint` its reverse.

    `recording` is the kernel, noting what its atomics return for the adjoint. gradients: the names of the
    array parameters that have gradients, of arrays in struct parameters ("s.x"), and of other parameters
    whose gradients are wanted. `tangent` is the kernel in forward mode along these parameters, and
    `adjoint tangent` and `replayed tangent` are derivatives of recorded launches, see `passes.derived`.
    same: pairs of positions of array parameters that are given one and the same array.
    """

    kind: str = "forward"
    gradients: frozenset[str] = frozenset()
    same: tuple[tuple[int, int], ...] = ()


FORWARD = Form()


@dataclass(frozen=True)
class Program:
    """A kernel after all passes, at fixed argument types."""

    fn: Function
    ndim: int
    plan: AtomicPlan
    checks: bool
    nanoseconds: float
    extras: tuple[Extra, ...] = ()
    """What the last parameters are."""
    handle_params: tuple[HandleParam, ...] = ()
    """The structures that the kernel reaches by ids; derived programs take them behind the kernel's own parameters."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel as machine code in this process: as long as this object, or a function of its `native`, lives."""

    address: int
    sites: tuple[Site, ...]
    native: NativeObject


_present: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()  # by the keys of the disk cache


def lower(source: Source, patterns: dict[str, Any], types: list[Any]) -> Function:
    """Python source to a function in the IR, with calls in it."""
    with compiling:
        show("source", source.name, lambda: source_text(source, patterns, types))
        return step("lower", kernel_function(source, patterns, types))


def finish(fn: Function, max_unroll: int) -> Program:
    """The final program of a kernel: the same for every target."""
    with compiling, shallow_enough(fn.location):
        fn = step("inline", inline(fn))
        fn = step("unroll", unroll(fn, max_unroll))
        fn = step("fold", fold(fn))
        fn = step("dce", dce(fn))
        return replace(planned(fn, (), thread_rank(fn)), handle_params=handle_params(fn))


def derive(fn: Function, max_unroll: int, form: Form, ndim: int, known: tuple[HandleParam, ...]) -> Program:
    """The final program of another form of a kernel: its threads have `ndim` indices, it reaches `known` structures."""
    with compiling, shallow_enough(fn.location):
        if form.kind == "adjoint tangent":
            reverse = derive(fn, max_unroll, form._replace(kind="adjoint"), ndim, known)
            return with_tangents(*second_order(reverse.fn, reverse.extras, form.gradients), ndim, total=True)
        fn = step("inline", inline(unified(fn, form.same), keep_gradients=True))
        fn = step("by value", with_handle_params(fn, known))
        fn = step("unroll", unroll(fn, max_unroll))
        fn = step("fold", fold(fn))
        fn = step("dce", dce(fn))
        if form.kind == "tangent":
            return with_tangents(*forward_mode(fn, form.gradients), ndim, total=False)
        if form.kind == "recording":
            fn, extras = recording(fn, ndim)
        else:
            fn = step("assume", asserted(fn))
            fn = promote_memory(fn, chosen(fn, form.gradients)[0])
            fn = step("forward", fold(dce(inline(fn, keep_gradients=True))))
            if form.kind == "replayed tangent":
                return with_tangents(*forward_again(fn, form.gradients, ndim), ndim, total=True)
            fn, extras = adjoint(fn, form.gradients, ndim)
        fn = step(form.kind, fn)
        fn = expanded(form.kind, fn, max_unroll)
        fn = step(f"{form.kind} fold", fold(fn))
        fn = step(f"{form.kind} dce", dce(fn, total=form.kind != "recording"))
        return planned(*without_unread(refuse_unrecoverable(fn), extras), ndim)


def expanded(kind: str, fn: Function, max_unroll: int) -> Function:
    """Calls of functions with gradients of their own in their place: once each, with short loops unrolled."""
    fn = step(f"{kind} share", cse(inline(fn, keep_gradients=True)))
    calls = any(isinstance(node, Call) and isinstance(node.op, Function) for node in walk(fn.body))
    fn = step(f"{kind} inline", inline(fn))
    return step(f"{kind} unroll", unroll(fn, max_unroll)) if calls else fn


def with_tangents(fn: Function, extras: tuple[Extra, ...], ndim: int, total: bool) -> Program:
    """The final program of forward mode. total: every loop is known to end."""
    fn = step("tangent", fn)
    fn = step("tangent fold", fold(fn))
    fn = step("tangent dce", dce(fn, total))
    return planned(*without_unread(refuse_unrecoverable(fn), extras), ndim)


def unified(fn: Function, same: tuple[tuple[int, int], ...]) -> Function:
    """The kernel that knows which of its array parameters are one array."""
    if not same:
        return fn
    one = Rewriter({fn.params[k]: fn.params[j] for j, k in same})
    return replace(fn, body=one.region(fn.body))


def without_unread(fn: Function, extras: tuple[Extra, ...]) -> tuple[Function, tuple[Extra, ...]]:
    """Drop parameters for contents that the adjoint turned out not to need."""
    used = used_values(fn.body)
    own, more = fn.params[: -len(extras) or None], fn.params[len(fn.params) - len(extras) :]
    kept = [(p, e) for p, e in zip(more, extras, strict=True) if e.kind not in ("before", "recorded") or p in used]
    body = replace(fn.body, params=(*own, *(p for p, _ in kept)))
    return replace(fn, body=body), tuple(e for _, e in kept)


def planned(fn: Function, extras: tuple[Extra, ...], ndim: int) -> Program:
    """The program as it is emitted, and how it uses its arrays."""
    check_stack(fn)
    fn = versioned(fn)
    verify(fn, "version")
    return Program(fn, ndim, analyse(fn), has_checks(fn), estimate(fn).nanoseconds, extras)


def result_types(source: Source, names: list[str], types: list[Any]) -> tuple[Any, ...]:
    """What a function returns at concrete parameter types; None for what has no run-time value."""
    with compiling:
        return function_results(source, names, types)


def step(name: str, fn: Function) -> Function:
    """Verify and, on request, print a program after the pass `name`."""
    verify(fn, name)
    show(name, fn.name, lambda: print_function(fn, lines=True))
    return fn


def is_dumped(stage: str) -> bool:
    """Whether programs are printed after a stage."""
    return config.dump in (stage, "all")


def show(stage: str, name: str, text: Any) -> None:
    if is_dumped(stage):
        print(f"# ---- {name} after {stage}\n{text()}")


def source_text(source: Source, patterns: dict[str, Any], types: list[Any]) -> str:
    """The function as it was parsed, under the types its parameters have in this compilation."""
    given = (f"# {name}: {type_name(t)}\n" for name, t in zip(patterns, types, strict=True))
    return f"{''.join(given)}{ast.unparse(source.tree)}\n"


def has_checks(fn: Function) -> bool:
    """Whether the kernel holds assertions."""
    return any(isinstance(n, Call) and n.op.name == "assert" for n in walk(fn.body))


def build(program: Program, options: Options) -> Compiled:
    """Machine code for this CPU: what the process has, else from the disk, else compiled and kept there."""
    with compiling, shallow_enough(program.fn.location):
        key = cache_key(program, options, host_signature())
        found = None if is_dumped("llvm") else _present.get(key)
        if found is None:
            header, code = unpack(cached(key, program, lambda: compile_native(program, options)))
            libraries = snippets.libraries(program.fn)
            callees = {name: library.address for name, library in libraries.items()}
            native = NativeObject(code, {**callees, TABLE_NAME: ROWS.ctypes.data}, callees=tuple(libraries.values()))
            found = Compiled(native.address(KERNEL), tuple(site_of(s) for s in header), native)
            _present[key] = found
        return found


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


def cache_key(program: Program, options: Options, processor: str) -> str:
    """A digest of all that decides the code: the program, layouts of structs, options, processor."""
    fn = program.fn
    parts = [fingerprint(), processor, repr(options), str(program.ndim), print_function(fn), *struct_layouts(fn)]
    if program.checks or options.verify or options.lineinfo or any(snippets.units(fn)):
        parts.extend(check_places(fn))  # failed checks report them; other code does not depend on them
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def struct_layouts(fn: Function) -> Iterator[str]:
    """The fields of the structs among the program's values, whose text has their names alone."""
    values = [*fn.params]
    for node in walk(fn.body):
        values.extend((*node.results, *node.operands()))
    for value in values:
        layout = full_name(value.type)
        if "{" in layout:
            yield layout


@cache
def full_name(t: Any) -> str:
    """The name of a type with the fields of structs in it."""
    if isinstance(t, ArrayType):
        return f"{t!r} of {full_name(t.dtype)}"
    if is_struct(t):
        return f"{t.__name__}{{{', '.join(f'{name} {full_name(f)}' for name, f in t.fields.items())}}}"
    return type_name(t)


def check_places(fn: Function) -> Iterator[str]:
    """Where each statement stands, and the name of the array it is about."""
    for node in walk(fn.body):
        operands = node.operands()
        yield f"{node.location!r} {operands[0].hint if operands else ''}"


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
    made = emitter.machine_code(program.fn, program.ndim, options, program.plan, arch, lineinfo=options.lineinfo)
    if config.verbose:
        log.info("kernel %s compiled for compute capability %d.%d", program.fn.name, *arch)
    header = [[site_words(s) for s in made.sites], made.block_bytes, made.reduces, made.max_threads]
    return pack(header, made.code)


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
