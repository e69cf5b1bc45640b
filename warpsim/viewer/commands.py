"""What browsers may ask of a running simulation, checked: a name and the finite numbers that belong to it, no more."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..errors import shown
from .page import ViewError

COMMANDS: dict[str, tuple[str, ...]] = {
    "play": (),
    "pause": (),
    "step": (),
    "reset": (),
    "speed": ("factor",),
    "slide": ("slider", "value"),
    "grab": ("shot", "body", "point", "reach"),
    "pull": ("x", "y", "z"),
    "release": (),
}
"""The numbers of each command: speed by real time, 0 for as fast as it goes; lengths and places in metres."""

_WHOLE = ("slider", "shot", "body", "point")
_POSITIVE = ("reach", "factor")
_MOST = 1.0e9


class Command(NamedTuple):
    """A wish of a browser."""

    name: str
    numbers: dict[str, float]


def read_command(text: bytes) -> Command:
    """The command of a body in JSON, as {"do": "slide", "slider": 0, "value": 1.5}. Raises ViewError for all else."""
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):  # UnicodeDecodeError among them
        raise ViewError("the body is no JSON") from None
    name = words.get("do") if isinstance(words, dict) else None
    if not isinstance(name, str) or name not in COMMANDS:
        raise ViewError(f"the command is {shown(name)}\nexpected: one of {', '.join(COMMANDS)}")
    if words.keys() != {"do", *COMMANDS[name]}:
        raise ViewError(f"{name} has {', '.join(map(shown, words))}\nexpected: {', '.join(('do', *COMMANDS[name]))}")
    return Command(name, {key: _number(key, words[key]) for key in COMMANDS[name]})


def _number(name: str, value: Any) -> float:
    """A number that a command can have under a name."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_MOST <= value <= _MOST:  # NaN neither
        raise ViewError(f"{name} is {shown(value)}\nexpected: a number, -{_MOST:g} to {_MOST:g}")
    if name in _WHOLE and (value < 0 or value != int(value)):
        raise ViewError(f"{name} is {shown(value)}\nexpected: a whole number from 0 on")
    if name in _POSITIVE and value < 0.0:
        raise ViewError(f"{name} is {shown(value)}\nexpected: 0 or more")
    return float(value)
