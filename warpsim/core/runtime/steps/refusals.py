"""The errors of graphs in files: for what no file can hold, and for descriptions that say what cannot be."""

from __future__ import annotations

from ....errors import GraphFileError


def unsavable(what: str, cure: str = "") -> GraphFileError:
    """The error for a graph that holds what only this process has."""
    return GraphFileError(f"this graph cannot be saved: it holds {what}" + (cure and f"\nhelp: {cure}"))


def damage_error(place: str, what: str) -> GraphFileError:
    """The error for a description that says what cannot be. place: where; what: it says there, in words."""
    return GraphFileError(f"the graph is damaged: {place} is {what}\nhelp: capture and save it again")
