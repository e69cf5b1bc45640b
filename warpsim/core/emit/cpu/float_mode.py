"""The floating-point mode of a thread: rounding, flushing of subnormal numbers, traps.

Code that runs kernels sets the standard mode (round to nearest, nothing flushed, no traps) and puts back what it found.
A thread that has it already pays for reading one register. What is called between the two must not be inlined: LLVM
knows nothing of modes, and would move arithmetic out of there.
"""

from __future__ import annotations

from typing import NamedTuple

from ..native.native import process_triple


class ModeRegister(NamedTuple):
    """The register of a processor in LLVM text.

    read, write: from and to a 64-bit value, with `room` at the entry of the function; mode: the bits that are no sticky
    flags; standard: these in the standard mode.
    """

    declarations: str
    room: str
    read: str
    write: str
    mode: int
    standard: int

    def reading(self, name: str) -> str:
        """Lines that give the register a name."""
        return self.read.format(name=name)

    def writing(self, value: str) -> str:
        """Lines that set the register; once in a function."""
        return self.write.format(value=value)


# MXCSR: bits 0 to 5 are sticky flags, 6 takes subnormal operands for zero, 7 to 12 mask traps, 13 and 14 round, 15
# flushes results.
_X86_64 = ModeRegister(
    "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
    "  %place = alloca i32",
    "  call void @llvm.x86.sse.stmxcsr(ptr %place)\n  %{name}.word = load i32, ptr %place\n"
    "  %{name} = zext i32 %{name}.word to i64",
    "  %word.{value} = trunc i64 %{value} to i32\n  store i32 %word.{value}, ptr %place\n"
    "  call void @llvm.x86.sse.ldmxcsr(ptr %place)",
    0xFFC0,
    0x1F80,
)
# FPCR has no sticky flags, and zero is the standard.
_AARCH64 = ModeRegister(
    "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)\n",
    "",
    "  %{name} = call i64 @llvm.aarch64.get.fpcr()",
    "  call void @llvm.aarch64.set.fpcr(i64 %{value})",
    0xFFFFFFFF,
    0,
)
# Of other processors nobody has tried the register: threads keep the mode that they have.
_UNKNOWN = ModeRegister("", "", "  %{name} = add i64 0, 0", "", 0, 0)

_BY_ARCHITECTURE = {"x86_64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}

_FUNCTIONS = """
define internal i64 @float_register() alwaysinline {{
{room}
{reading}
  ret i64 %found
}}
define internal void @leave_float_mode(i64 %found) alwaysinline {{
{room}
{writing}
  ret void
}}
define internal i64 @float_mode() alwaysinline {{
  %found = call i64 @float_register()
  %mode = and i64 %found, {mode}
  ret i64 %mode
}}
define internal i1 @float_mode_is_standard() alwaysinline {{
  %mode = call i64 @float_mode()
  %standard = icmp eq i64 %mode, {standard}
  ret i1 %standard
}}
define internal i64 @enter_float_mode() alwaysinline {{
  %found = call i64 @float_register()
  %flags = and i64 %found, {others}
  %standard = or i64 %flags, {standard}
  call void @leave_float_mode(i64 %standard)
  ret i64 %found
}}
"""


def register() -> ModeRegister:
    """The register of this processor."""
    return _BY_ARCHITECTURE.get(process_triple().split("-")[0], _UNKNOWN)


def functions() -> str:
    """LLVM text of functions to go into other text.

    `i64 @float_mode()` is the mode, `i1 @float_mode_is_standard()` looks at it, `i64 @enter_float_mode()` sets the
    standard one and returns what the register held, and `void @leave_float_mode(i64)` puts that back.
    """
    own = register()
    return own.declarations + _FUNCTIONS.format(
        room=own.room,
        reading=own.reading("found"),
        writing=own.writing("found"),
        mode=own.mode,
        standard=own.standard,
        others=~own.mode,
    )
