"""Stack space for code with large frames, on any calling thread.

Threads may have little: `threading.stack_size`, 128 KiB by default with musl, callback threads as their libraries made
them. `SYMBOL` runs a function where there is room: on this thread, whose limit is looked up once, or on one that lives
for the call. Other systems than Linux have not been tried: there code runs on the stack that it finds.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from .linker import NativeObject
from .own_code import own_object_code

SYMBOL = "warpsim_on_stack"
"""`void warpsim_on_stack(function, block, begin, end, flags, bytes)` calls `function(block, begin, end, flags)`."""
DEEP = 16 * 1024
"""From this many bytes of known frame on a kernel asks for room."""
SPARE = 64 * 1024
"""What a kernel may need beyond its known frame [bytes]: spilled registers (10 KiB at most were seen), libraries."""
KNOWS_LIMITS = sys.platform.startswith("linux")
"""Whether the limits of a thread's stack can be asked for."""

_COMPILER = 1 << 20
"""Stack for LLVM [bytes]: a cloth solver's kernels fit into 96 KiB. Threads have 2 MiB where no limit is set."""
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_ON_STACK = ctypes.CFUNCTYPE(None, _FUNCTION, ctypes.c_void_p, *[ctypes.c_int64] * 4)

T = TypeVar("T")


def symbols(code: bytes) -> dict[str, int]:
    """The address of `SYMBOL` for object code that refers to it."""
    return {SYMBOL: _on_stack().address(SYMBOL)} if SYMBOL.encode() in code else {}


def with_compiler_room(work: Callable[[], T]) -> T:
    """What `work` returns or raises, run where LLVM has room; the main thread has it."""
    if not KNOWS_LIMITS or threading.current_thread() is threading.main_thread():
        return work()
    outcome: list[Any] = []

    def run(*_: object) -> None:
        try:
            outcome.extend((work(), None))
        except BaseException as error:  # raised below, by the thread that asked
            outcome.extend((None, error))

    _on_stack().function(SYMBOL, _ON_STACK)(_FUNCTION(run), None, 0, 0, 0, _COMPILER)
    result, error = outcome
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


@cache
def _on_stack() -> NativeObject:
    source = Path(__file__).with_name("stacks.ll").read_text(encoding="utf-8")
    code = NativeObject(
        own_object_code(source, "warpsim stacks", opt=0)
    )  # a tenth of the time to assemble; it is no loop
    if code.function("ws_prepare_stacks", ctypes.CFUNCTYPE(ctypes.c_int32))():
        raise MemoryError("the process has no thread-specific key left for the limits of its stacks")
    return code
