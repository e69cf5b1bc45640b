"""What `SolverXPBD` and its steps are given, checked before a kernel sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from ...errors import ModelError, StateError, shown
from ..contact.contacts import Contacts
from ..contact.surface_contacts import SurfaceContacts
from ..scene.control import Control
from ..scene.model import Model
from ..scene.state import State


def check_owners(
    model: Model, state_in: State, state_out: State, control: Control, contacts: Sequence[Contacts | SurfaceContacts]
) -> None:
    """Raise `StateError` for what a step is given that is of another class or another model."""
    arguments: list[tuple[str, Any, type]] = [
        ("state_in", state_in, State),
        ("state_out", state_out, State),
        ("control", control, Control),
    ]
    for name, thing, kind in [*arguments, *(("contacts", touching, object) for touching in contacts)]:
        if not isinstance(thing, kind):
            raise StateError(f"{name} is {type(thing).__name__}\nexpected: a {kind.__name__} of the solver's model")
        if thing.model is not model:
            raise StateError(f"{name} belongs to another model\nhelp: make it with the solver's model")
        thing.check_replaced(name)
    model.check_replaced("model")


def as_contacts(
    contacts: Contacts | SurfaceContacts | Sequence[Contacts | SurfaceContacts] | None,
) -> tuple[Contacts | SurfaceContacts, ...]:
    """Contacts of a step, of which there may be none, one, or several; raises `StateError` for anything else."""
    listed = () if contacts is None else tuple(contacts) if isinstance(contacts, list | tuple) else (contacts,)
    for touching in listed:
        if not isinstance(touching, Contacts | SurfaceContacts):
            raise StateError(f"contacts is {touching!r}\nexpected: Contacts, SurfaceContacts, a list of them, or None")
    return listed


def as_time(dt: Any) -> float:
    """A time step as a float; raises `StateError` for what is none, and for one that is not above zero."""
    try:
        seconds = math.nan if isinstance(dt, str | bytes | bytearray) else float(dt)
    except (TypeError, ValueError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise StateError(f"dt is {shown(dt)}\nexpected: a time step above 0 [s]")
    return seconds


def check_numbers(**numbers: float) -> None:
    """Raise `ModelError` for what is no number, below zero, NaN or infinity."""
    for name, value in numbers.items():
        if not (is_number(value) and value >= 0.0):
            raise ModelError(f"{name} is {value}\nexpected: 0 or more")


def is_number(value: object) -> bool:
    """Whether it is a finite real number."""
    return isinstance(value, Real) and math.isfinite(value)
