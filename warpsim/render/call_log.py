"""`CallLog`: an animation under construction, with a log of what it was given, from which it can be made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.language import array
from ..errors import SceneFileError, shown
from ..usd import UsdWriter

_CALLS = ("frame", "mesh", "points", "instances", "sphere")
_ROOM = 64 << 20  # of arrays that are in memory before they are kept in a part [bytes]

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""The name of a method, and its arguments."""


class CallLog:
    """A `UsdWriter` that notes the calls from its first frame on; what stands still is written before, by every run.

    keep: takes lists of calls, the next ones each time; None where no log is needed. end: called when the block ends,
    with its error or None.
    """

    def __init__(
        self,
        usd: UsdWriter,
        keep: Callable[[list[Call]], None] | None,
        end: Callable[[BaseException | None], None] | None = None,
    ):
        self._usd, self._keep, self._end = usd, keep, end
        self._calls: list[Call] = []
        self._begun, self._bytes = False, 0
        self._last: dict[tuple[Any, ...], np.ndarray] = {}

    def __enter__(self) -> CallLog:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self._usd.__exit__(kind, error, trace)
        finally:
            if self._end is not None:
                self._end(error)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._usd, name)
        if self._keep is None or name not in _CALLS:
            return method

        def call(*args: Any, **options: Any) -> Any:
            result = method(*args, **options)
            self._note(name, args, options)
            return result

        return call

    def flush(self) -> None:
        """Hand on what has been noted."""
        if self._calls and self._keep is not None:
            self._keep(self._calls)
        self._calls, self._bytes = [], 0

    def replay(self, calls: Sequence[Call]) -> None:
        """Make calls again. Raises `SceneFileError` for what no log holds."""
        for call in calls:
            if not isinstance(call, tuple) or len(call) != 3 or call[0] not in _CALLS:
                raise SceneFileError(f"a part of an animation has the call {shown(call)}\nexpected: one of {_CALLS}")
            name, args, options = call
            self._begun = True
            getattr(self._usd, name)(*args, **options)

    def _note(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._begun = self._begun or name == "frame"
        if self._begun:
            if self._bytes > _ROOM:
                self.flush()
            prim = args[0] if args else options.get("name")
            self._calls.append((name, self._as_now(args, (name, prim)), self._as_now(options, (name, prim))))

    def _as_now(self, value: Any, place: tuple[Any, ...]) -> Any:
        """A value whose arrays stay as they are now: copies, but of those that the last call had in the same place."""
        if isinstance(value, list):
            return [self._as_now(item, (*place, k)) for k, item in enumerate(value)]
        if isinstance(value, tuple):
            return tuple(self._as_now(item, (*place, k)) for k, item in enumerate(value))
        if isinstance(value, dict):
            return {key: self._as_now(item, (*place, key)) for key, item in value.items()}
        if not isinstance(value, (array, np.ndarray)):
            return value
        now, last = np.array(value.numpy() if isinstance(value, array) else value, order="C"), self._last.get(place)
        if last is None or not _are_same(last, now):
            self._last[place], self._bytes = now, self._bytes + now.nbytes
        return self._last[place]


def _are_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have the same bits."""
    return a.dtype == b.dtype and a.shape == b.shape and bool((_bits(a) == _bits(b)).all())


def _bits(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1).view(np.uint8)
