"""Runs what the CUDA target emits on the CPU, a grid of threads one after the other, where there is no GPU.

The LLVM code is the one that NVVM gets. Only what the GPU supplies is replaced, each by a body of the
documented meaning: special registers, libdevice (by libm), float atomic addition and `vprintf`; and each
thread updates shared addresses by itself instead of with its block. So the grid loop, thread indices, the
argument block, atomics, conversions and reports are the real ones.
"""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any

import numpy as np
from llvmlite import ir as ll

from warpsim.core.emit import layout
from warpsim.core.emit.cuda.reduce import BLOCK
from warpsim.core.emit.cuda.target import CudaTarget
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble
from warpsim.core.emit.target import Options, Site
from warpsim.core.runtime.launches.arguments import packer

KERNEL = "emulated_kernel"
_REGISTERS = ("ctaid.x", "ntid.x", "tid.x", "nctaid.x")
_PRINTER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_DECLARATION = re.compile(r'declare (?P<result>\w+) @"(?P<name>[^"]+)"\((?P<params>[^)]*)\)')
_REDUCTION = re.compile(
    r'call void asm sideeffect "red\.global\.(?P<kind>\w+)\.(?P<letter>\w)\d+ \[\$0\], \$1;", "[^"]*"\s*'
    r"\((?P<pointer>[^,]*), (?P<value>[^)]*)\)"
)
_INTEGERS = {"int": ("s", 32), "uint": ("u", 32), "ll": ("s", 64), "ull": ("u", 64)}


class EmulatedKernel:
    """The CUDA form of a kernel at its annotated types; `printed` gathers what it prints."""

    def __init__(self, kernel: Any, options: Options | None = None):
        types = tuple(kernel.patterns.values())
        program = kernel.program(types)
        target = CudaTarget(program.fn, program.ndim, options or Options(), program.plan)
        self.packers = [packer(t) for t in types]
        self.printed: list[str] = []
        self._printer = _PRINTER(self._print)
        address = ctypes.cast(self._printer, ctypes.c_void_p).value
        self._native = NativeObject(assemble(emulation(target, types)), {"emulated_vprintf": address})
        self.sites: tuple[Site, ...] = tuple(target.sites)

    def launch(self, dim: int | tuple[int, ...], args: list[Any], grid: int = 2, block: int = 3) -> np.ndarray:
        """Run every thread of a grid of `grid` blocks of `block` threads; returns the report."""
        return self.run(dim, args, [(k // block, block, k % block, grid) for k in range(grid * block)])

    def run(self, dim: int | tuple[int, ...], args: list[Any], threads: list[tuple[int, ...]]) -> np.ndarray:
        """Run some threads of a launch, which are told their block, its size, their place in it, and the blocks."""
        dims = (dim,) if isinstance(dim, int) else dim
        report = np.zeros(5, np.int64)
        header = np.array([report.ctypes.data, *dims, *[1] * (4 - len(dims)), 1], np.int64).tobytes()
        parts = (a._words if pack is None else pack(a) for a, pack in zip(args, self.packers, strict=True))
        data = ctypes.create_string_buffer(header + b"".join(parts))
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self._native.address(KERNEL))
        registers = (ctypes.c_int32 * 4).from_address(self._native.address("registers"))
        for thread in threads:
            registers[:] = thread
            run(ctypes.addressof(data), math.prod(dims))
        return report

    def _print(self, text: bytes, values: int) -> int:
        found = []
        kinds = {"%g": ctypes.c_double, "%lld": ctypes.c_int64, "%llu": ctypes.c_uint64, "%s": ctypes.c_char_p}
        for k, conversion in enumerate(re.findall(r"%(?:lld|llu|g|s)", text.decode())):
            value = kinds[conversion].from_address(values + 8 * k).value
            found.append(value.decode() if conversion == "%s" else value)
        self.printed.append(re.sub("ll[du]", "d", text.decode()) % tuple(found))
        return len(found)


def emulation(target: CudaTarget, types: tuple[Any, ...]) -> str:
    """LLVM text of the kernel as a host function (address of the argument block, count)."""
    module = ll.Module("emulated")
    words = ll.ArrayType(layout.I64, layout.argument_offsets(list(types))[1] // layout.WORD)
    fn = ll.Function(module, ll.FunctionType(ll.VoidType(), [words.as_pointer(), layout.I64]), KERNEL)
    builder = ll.IRBuilder(fn.append_basic_block("entry"))
    target.function(builder, builder.load(fn.args[0]), fn.args[1])
    builder.ret_void()
    for own in module.functions:
        if own.name.startswith(BLOCK):
            own.blocks.clear()
            ll.IRBuilder(own.append_basic_block()).ret(own.args[0])
    text = str(module).replace('@"llvm.nvvm.', '@"nvvm.').replace('@"vprintf"', '@"emulated_vprintf"')
    text = _REDUCTION.sub(_exchanged, text)
    text = re.sub(r'call i16 asm +"mov[^(]*\(i16 ([^)]*)\)', r"add i16 \1, 0", text)
    text = re.sub(r'@"__nv_(?!float2|double2)(?:fast_)?', '@"', text)
    return _DECLARATION.sub(_supplied, text) + '\n@"registers" = global [4 x i32] zeroinitializer\n'


def _exchanged(found: re.Match[str]) -> str:
    """An update without an answer as one whose answer nobody reads."""
    kind = {"f": "fadd", "u": {"min": "umin", "max": "umax"}.get(found["kind"], found["kind"])}
    return f"atomicrmw {kind.get(found['letter'], found['kind'])} {found['pointer']}, {found['value']} monotonic"


def _supplied(found: re.Match[str]) -> str:
    """A body for something that only the GPU has; other declarations stay."""
    name, result = found["name"], found["result"]
    if name.startswith("nvvm.read.ptx.sreg."):
        place = f'getelementptr ([4 x i32], [4 x i32]* @"registers", i32 0, i32 {_REGISTERS.index(name[19:])})'
        return f'define internal i32 @"{name}"() {{\n %v = load i32, i32* {place}\n ret i32 %v\n}}'
    if name.startswith("nvvm.atomic.load.add."):
        added = f"%v = atomicrmw fadd {result}* %p, {result} %x monotonic"
        return f'define internal {result} @"{name}"({result}* %p, {result} %x) {{\n {added}\n ret {result} %v\n}}'
    if conversion := re.fullmatch(r"__nv_(float|double)2(\w+)_rz", name):
        source, (sign, bits) = conversion[1], _INTEGERS[conversion[2]]
        saturating = f"@llvm.fpto{sign}i.sat.i{bits}.f{32 if source == 'float' else 64}"
        # A NaN gives what the hardware may give: the emitter must not rely on 0.
        body = f"%n = fcmp uno {source} %x, %x\n %s = call i{bits} {saturating}({source} %x)\n"
        body += f" %v = select i1 %n, i{bits} -9, i{bits} %s\n ret i{bits} %v"
        return f'declare i{bits} {saturating}({source})\ndefine internal i{bits} @"{name}"({source} %x) {{\n {body}\n}}'
    return found[0]
