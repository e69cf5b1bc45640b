"""`map`: apply a function to every element of arrays."""

from __future__ import annotations

from typing import Any


def map(func: Any, *inputs: Any) -> Any:
    raise NotImplementedError
