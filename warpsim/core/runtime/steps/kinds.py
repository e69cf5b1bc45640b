"""The kinds of steps that files hold: what reads one, by the word for it in a description ("do")."""

from __future__ import annotations

from collections.abc import Callable

from .choice import Branch, Repeat
from .fields import Fields
from .fusion import FusedLaunches
from .launch import LaunchStep
from .move import Move
from .operation import Operation, Transpose
from .publication import Publication
from .step import GraphReader, Step

KINDS: dict[str, Callable[[Fields, GraphReader], Step]] = {
    "launch": LaunchStep.read,
    "loop": FusedLaunches.read,
    "move": Move.read,
    "operation": Operation.read,
    "transpose": Transpose.read,
    "publish": Publication.read,
    "branch": Branch.read,
    "repeat": Repeat.read,
}
