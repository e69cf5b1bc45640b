"""Numbers as the host sees them: Python's own for 32-bit types and bool, typed scalars for the others.

Inside functions of the library that run on the host every number keeps its type, so that they round and wrap as in
kernels; what such a function returns becomes Python's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...config import config
from .scalar_classes import OWN, own
from .scalars import bool_, float32, int32

_PLAIN = {float32, int32, bool_, *(t for t in OWN if OWN[t] in (float32, int32))}


class _State(threading.local):
    depth = 0


_state = _State()


@contextmanager
def typed_numbers() -> Iterator[None]:
    """While library code runs on the host, numbers keep their types."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1


def host_number(x: Any) -> Any:
    """A scalar for the caller: a Python number of the same value where `float`, `int` and `bool` name its type."""
    if _state.depth:
        return own(x)
    if type(x) in _PLAIN or (config.legacy_scalar_return_types and isinstance(x, np.generic)):
        return x.item()
    return own(x)


def host_result(x: object) -> Any:
    """What a function returns, in tuples too, see `host_number`."""
    return tuple(map(host_result, x)) if type(x) is tuple else host_number(x)
