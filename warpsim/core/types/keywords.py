"""Keywords that something has not, or had once."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import ArgumentTypeError


def refuse_keywords(what: str, names: Iterable[str], cures: dict[str, str]) -> None:
    """Raise `ArgumentTypeError` for the first of keywords that something lacks; cures: for those that it had once."""
    for name in names:
        cure = f"\nhelp: {cures[name]}" if name in cures else ""
        raise ArgumentTypeError(f"{what} has no keyword {name!r}{cure}")
