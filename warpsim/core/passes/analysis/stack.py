"""Stack use of a thread: refuses programs whose local arrays do not fit. An analysis: it changes nothing.

Guarantees: a program that passes takes at most `MOST_BYTES` for its local arrays and the states that its reversed loops
keep, so it runs on every thread there is. On the CPU, threads have the stack of Python's threads, 8 MiB on
Linux unless `ulimit -s` says otherwise; a thread of a GPU may use 512 KiB.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....errors import KernelValueError
from ...ir.nodes import Call, Function, walk
from ...types import structs

MOST_BYTES = 480 * 1024  # of the 512 KiB on a GPU, where registers that do not fit need room as well
_SHOWN = 3


def check_stack(fn: Function) -> None:
    """Raise `KernelValueError` unless the local arrays of a final program fit on the stack of a thread."""
    taken = sorted(local_arrays(fn), key=lambda pair: -pair[0])
    total = sum(size for size, _ in taken)
    if total > MOST_BYTES:
        raise KernelValueError(
            f"the local arrays of {fn.name!r} take {kibibytes(total)} of each thread's stack",
            taken[0][1].location,
            found=found_in(taken),
            expected=f"at most {kibibytes(MOST_BYTES)} for all, with the states that the reverse of loops keeps",
            help="use an array argument with one row per thread, or smaller types",
        )


def local_arrays(fn: Function) -> Iterator[tuple[int, Call]]:
    """The local arrays of a program with their sizes in bytes; those of a shared function once a call."""
    for node in walk(fn.body):
        if isinstance(node, Call) and isinstance(node.op, Function):
            yield from local_arrays(node.op)
        elif isinstance(node, Call) and node.op.name == "local_array":
            shape, dtype = node.attributes["shape"], node.attributes["dtype"]
            yield math.prod(map(int, shape)) * structs.numpy_dtype(dtype).itemsize, node


def found_in(taken: list[tuple[int, Call]]) -> str:
    """The largest arrays, each with its place."""
    shown = []
    for size, call in taken[:_SHOWN]:
        what = "a local array" if call.attributes.get("cleared", True) else "checkpoints of the loop"
        line = f" in line {call.location.line}" if call.location else ""
        shown.append(f"{kibibytes(size)} for {what}{line}")
    return ", ".join(shown) + (f" and {len(taken) - _SHOWN} more" if len(taken) > _SHOWN else "")


def kibibytes(size: int) -> str:
    return f"{-(-size // 1024):,} KiB"
