"""Loop metadata for LLVM, which disables transformations of single loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from ..layout import I1


def not_vectorized(module: ll.Module) -> Any:
    """For a loop that few threads take."""
    return _hints(module, ["llvm.loop.vectorize.enable", ll.Constant(I1, 0)], ["llvm.loop.unroll.disable"])


def not_unrolled(module: ll.Module) -> Any:
    """For a loop over lanes: copies of its body would cost much to compile and gain nothing."""
    return _hints(module, ["llvm.loop.unroll.disable"])


def _hints(module: ll.Module, *wishes: list[Any]) -> Any:
    """Metadata that begins with itself, and so is the loop's own."""
    own = ll.values.MDValue(module, [], name=str(len(module.metadata)))
    own.operands = (own, *(module.add_metadata(wish) for wish in wishes))
    return own
