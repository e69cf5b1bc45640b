"""Tiles of random numbers, drawn one after the other from the stream after a state, which stays as it is."""

from __future__ import annotations

from typing import Any

from ...errors import KernelTypeError
from ..frontend.rules.tile_elements import new_tile
from ..frontend.tiles.arguments import check_storage, static_shape
from ..frontend.tiles.builtin import tile_builtin
from ..frontend.translate.scope import typed_value
from ..frontend.translate.translator import Translator
from ..ir.nodes import Value
from ..types import scalars
from ..language import func, uint32
from .random import next_state, randf, randi
from .tile_order import line


@func
def draw_floats(t: Any, rng: uint32, low: float, high: float):
    state = next_state(rng)
    for k in range(t.shape[0]):
        t[k] = randf(state, low, high)


@func
def draw_integers(t: Any, rng: uint32):
    state = next_state(rng)
    for k in range(t.shape[0]):
        t[k] = randi(state)


@func(name="draw_integers", overload_of=draw_integers)
def _draw_integers_between(t: Any, rng: uint32, low: int, high: int):
    state = next_state(rng)
    for k in range(t.shape[0]):
        t[k] = randi(state, low, high)


@tile_builtin
def tile_randf(
    tr: Translator, shape: Any, rng: Any, min: Any = None, max: Any = None, storage: Any = "register"
) -> Value:
    """A tile of random float32, uniform in [0, 1), or in [min, max). `rng`: a state, which stays as it is."""
    bounds = [] if min is None and max is None else [min, max]
    return drawn(tr, draw_floats, scalars.float32, shape, rng, bounds or [0.0, 1.0], storage)


@tile_builtin
def tile_randi(
    tr: Translator, shape: Any, rng: Any, min: Any = None, max: Any = None, storage: Any = "register"
) -> Value:
    """A tile of random int32, uniform over all of them, or in [min, max). `rng`: as for `tile_randf`."""
    bounds = [] if min is None and max is None else [min, max]
    return drawn(tr, draw_integers, scalars.int32, shape, rng, bounds, storage)


def drawn(tr: Translator, draw: Any, t: Any, shape: Any, rng: Any, bounds: list[Any], storage: Any) -> Value:
    check_storage(storage)
    if any(bound is None for bound in bounds):
        raise KernelTypeError("a tile of random numbers with one bound", expected="min and max, or neither")
    out = new_tile(tr, static_shape(shape), t)
    draw.call(tr, [line(tr, out), rng, *(typed_value(bound, t) for bound in bounds)], {})
    return out
