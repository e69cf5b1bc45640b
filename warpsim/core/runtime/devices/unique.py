"""`Unique`: base of objects that own resources outside of Python, such as streams and meshes, and refuse copies."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class Unique:
    """An object whose copy would be the same thing a second time: under one id, ended by whichever goes first."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """For `pickle` and `copy`. Raises `TypeError`."""
        raise TypeError(f"a {type(self).__name__} is neither copied nor pickled\nhelp: make another one")
