"""HTML tables of facts about objects for Jupyter, with the value range of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ...types import scalars
from ...types.arrays import type_name

if TYPE_CHECKING:
    from .host_memory import TypedMemory


SHOWN = 4  # elements of an array


def table(title: str, facts: Mapping[str, Any]) -> str:
    """Facts by name, one a row."""
    rows = (
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f"<table><caption><b>{escape(title)}</b></caption>{''.join(rows)}</table>"


def array_table(a: TypedMemory) -> str:
    """Type, shape, device, gradient, range and first elements of an array or an indexedarray."""
    contents = a._contents()
    facts = {
        "shape": a.shape,
        "device": a._array.device,
        "gradient": gradient(a),
        **spread(contents),
        "first": ", ".join(map(str, contents[:SHOWN].tolist())) + ", …" * (len(contents) > SHOWN),
    }
    return table(f"{type(a).__name__} of {type_name(a.dtype)}", facts)


def gradient(a: TypedMemory) -> str:
    """Whether an array has a gradient, and how large it is."""
    grad = a.grad
    if grad is None:
        return "none"
    numbers = np.asarray(grad._contents(), np.float64)
    return f"norm {np.linalg.norm(numbers):.6g}"


def spread(contents: np.ndarray) -> dict[str, str]:
    """The range of the finite numbers, and how many are not finite; nothing of structures and empty arrays."""
    if not contents.size or not scalars.holds_numbers(contents.dtype):
        return {}
    numbers = contents.astype(np.float64) if scalars.holds_floats(contents.dtype) else contents
    finite = numbers[np.isfinite(numbers)]
    least = {"range": f"{finite.min():.6g} to {finite.max():.6g}"} if finite.size else {}
    bad = numbers.size - finite.size
    return {**least, "not finite": f"{bad} of {numbers.size} numbers"} if bad else least
