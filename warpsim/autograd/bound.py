"""Launch arguments with ids of structures of one's own: what a launch does to them reaches no other structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.passes.simplify.handle_params import HandleParam
from ..core.runtime.launches.handles import Handle
from ..core.types.structs import freeze


class BoundArguments:
    """Arguments for a launch whose ids stand for given structs, as long as this object lives: `args`."""

    def __init__(self, whole: Sequence[Any], handle_params: Sequence[HandleParam]):
        count = len(whole) - len(handle_params)
        self.args = [freeze(a) for a in whole[:count]]
        self._handles = [Handle(data) for data in whole[count:]]
        for r, handle in zip(handle_params, self._handles, strict=True):
            if not r.path:
                self.args[r.position] = handle.id
                continue
            holder = self.args[r.position]
            for field in r.path[:-1]:
                holder = getattr(holder, field)
            setattr(holder, r.path[-1], handle.id)
