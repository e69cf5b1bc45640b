"""`Tag`: what compiled kernels must know of an array argument, compared by identity at every launch."""

from __future__ import annotations

from typing import Any, ClassVar

from ...types.arrays import ArrayType


class Tag:
    """What a compiled kernel must know of an array argument; one object per combination."""

    __slots__ = ("apart", "contiguous", "space", "type", "writable")
    _made: ClassVar[dict[tuple[ArrayType, bool, bool, str, bool], Tag]] = {}

    type: ArrayType
    contiguous: bool
    writable: bool
    space: str
    apart: bool

    def __new__(cls, t: ArrayType, contiguous: bool, writable: bool, space: str, apart: bool = True) -> Tag:
        """space: which memory it is, as devices name it. apart: no two elements share memory."""
        key = (t, contiguous, writable, space, apart)
        tags = cls._made if t.__known__ is None else t.__known__
        known = tags.get(key)
        if known is None:
            tag = super().__new__(cls)
            tag.type, tag.contiguous, tag.writable, tag.space, tag.apart = key
            known = tags.setdefault(key, tag)  # one object, whichever thread comes first
        return known

    def __reduce__(self) -> tuple[Any, ...]:
        return Tag, (self.type, self.contiguous, self.writable, self.space, self.apart)
