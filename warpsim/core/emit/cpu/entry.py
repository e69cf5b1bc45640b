"""Entry points of kernels: they set the standard floating-point mode and make room for the stack frame.

Guarantees: all threads of a launch compute in one mode, whatever the caller or a worker has set, and the caller finds
its own mode again; code of a large frame runs on a thread whose stack holds it. The pool of threads, which sets the
mode once for a list of launches, runs what is behind the entry, if the frame is not large.
"""

from __future__ import annotations

from ..native import stacks
from .float_mode import register

BODY = "warpsim_threads"
"""The function behind the entry, for who has set the mode; it is not inlined, so that its arithmetic stays behind the
change of mode."""

# LLVM does not optimise it: that would take 3 ms for each kernel, a tenth of all, and gain nothing.
_ENTRY = """
{declarations}
define void @{kernel}(ptr %block, i64 %begin, i64 %end, i64 %flags) noinline optnone {{
entry:
{room}
{reading}
  %mode = and i64 %found, {mode}
  %standard = icmp eq i64 %mode, {standard}
  br i1 %standard, label %run, label %enter
enter:
  %usual = add i64 {standard}, 0
{entering}
  br label %run
run:
  {call}
  br i1 %standard, label %done, label %leave
leave:
{leaving}
  br label %done
done:
  ret void
}}
"""
_CALL = "call void @{body}(ptr %block, i64 %begin, i64 %end, i64 %flags)"
_DEEP_CALL = "call void @{on_stack}(ptr @{body}, ptr %block, i64 %begin, i64 %end, i64 %flags, i64 {room})"


def entry_text(kernel: str, frame: int) -> str:
    """LLVM text of the function `kernel`, which runs `BODY`; frame: the bytes that it is known to keep on the stack."""
    own, deep = register(), frame >= stacks.DEEP and stacks.KNOWS_LIMITS
    declared = f"declare void @{stacks.SYMBOL}(ptr, ptr, i64, i64, i64, i64)" if deep else ""
    call = _DEEP_CALL if deep else _CALL
    return _ENTRY.format(
        declarations=own.declarations + declared,
        kernel=kernel,
        room=own.room,
        reading=own.reading("found"),
        mode=own.mode,
        standard=own.standard,
        entering=own.writing("usual"),
        leaving=own.writing("found"),
        call=call.format(body=BODY, on_stack=stacks.SYMBOL, room=frame + stacks.SPARE),
    )
