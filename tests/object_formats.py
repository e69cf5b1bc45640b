"""Kernels as objects of other platforms: what LLVM emits for them on this one, where nothing of them can run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import llvmlite.binding as llvm

from warpsim.core.emit.cpu import cpu, float_mode
from warpsim.core.emit.native import native
from warpsim.core.emit.program import Program
from warpsim.core.emit.target import Options

# Triples, processors, and how objects begin.
PLATFORMS = {
    "aarch64-unknown-linux-gnu": ("generic", b"\x7fELF"),
    "arm64-apple-darwin": ("apple-m1", b"\xcf\xfa\xed\xfe"),
    "x86_64-apple-darwin": ("x86-64-v2", b"\xcf\xfa\xed\xfe"),
    "x86_64-pc-windows-msvc": ("x86-64-v2", b"\x64\x86"),
}


@contextmanager
def platform(triple: str) -> Iterator[None]:
    """Emit and assemble for a platform: its processor, without libmvec, with four lanes."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    processor, _ = PLATFORMS[triple]

    def machine(opt: int) -> llvm.TargetMachine:
        target = llvm.Target.from_triple(triple)
        return target.create_target_machine(cpu=processor, opt=opt, reloc="pic", codemodel=native._CODE_MODEL)

    with (
        mock.patch.object(native, "_target_machine", machine),
        mock.patch.object(native, "lanes", lambda: 4),
        mock.patch.object(native, "vector_math_library", lambda: False),
        mock.patch.object(float_mode, "process_triple", lambda: triple),
    ):
        yield


def object_of(program: Program, options: Options, triple: str) -> bytes:
    """The object of a program for a platform."""
    with platform(triple):
        return cpu.emit(program.fn, program.ndim, options, program.plan).code


def refusal(program: Program, options: Options, triple: str) -> str:
    """Why a program has no object for a platform; nothing where it has."""
    fn = program.fn
    try:
        code = object_of(program, options, triple)
        reason = "" if code.startswith(PLATFORMS[triple][1]) else f"its object begins with {code[:4].hex()}"
    except Exception as error:  # whatever it is, it is a kernel that this machine runs and that one does not
        reason = f"{type(error).__name__}: {error}"
    return reason and f"kernel {fn.name!r} ({fn.location}) has no object for {triple}: {reason}"
