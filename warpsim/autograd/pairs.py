"""Pairs of inputs and outputs of a Jacobian: the mask by names or positions, checked.

Guarantees: every pair that `chosen_pairs` returns names a differentiable input and a differentiable
output; an empty choice is an error, never an empty answer.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from ..core.language import array
from ..errors import JacobianError
from .subjects import Subject

Pair = tuple[str, str]
_SHAPE = "a list of (input, output) pairs, by name or position: [('x', 'y'), (0, 1)]"


def chosen_pairs(subject: Subject, mask: Sequence[tuple[Any, Any]] | None) -> list[Pair]:
    """All pairs of differentiable inputs and outputs, or those of a mask. Raises `JacobianError`."""
    _need_any(subject, "input", subject.inputs)
    _need_any(subject, "output", subject.outputs)
    if mask is None:
        return [(source, target) for source in subject.inputs for target in subject.outputs]
    if isinstance(mask, str) or not isinstance(mask, Sequence):
        raise JacobianError(f"input_output_mask is {mask!r}\nexpected: {_SHAPE}")
    pairs: list[Pair] = []
    for entry in mask:
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise JacobianError(f"input_output_mask has the entry {entry!r}\nexpected: {_SHAPE}")
        source = _name_of(subject, "input", entry[0], subject.input_labels, subject.inputs)
        target = _name_of(subject, "output", entry[1], subject.output_labels, subject.outputs)
        if (source, target) not in pairs:
            pairs.append((source, target))
    if not pairs:
        raise JacobianError(f"input_output_mask is empty\nexpected: {_SHAPE}\nhelp: None chooses all pairs")
    return pairs


def _need_any(subject: Subject, what: str, candidates: dict[str, array]) -> None:
    if not candidates:
        raise JacobianError(
            f"{subject.key} has no differentiable {what}: no float array with elements and requires_grad=True"
            f" among its {what}s"
            f"\nhelp: make the {what} arrays with requires_grad=True, and not empty"
        )


def _name_of(subject: Subject, what: str, choice: Any, labels: list[str], candidates: dict[str, array]) -> str:
    """The name of an input or output that is differentiable."""
    if isinstance(choice, int) and not isinstance(choice, bool):
        if not 0 <= choice < len(labels):
            raise JacobianError(
                f"{subject.key} has no {what} {choice}\nexpected: 0 to {len(labels) - 1}: {', '.join(labels)}"
            )
        choice = labels[choice]
    if choice in candidates:
        return str(choice)
    if choice in labels:
        raise JacobianError(
            f"{what} {choice!r} of {subject.key} has no gradient"
            f"\nexpected: a float array with requires_grad=True; such are: {', '.join(candidates)}"
        )
    known = [*labels, *(name for name in candidates if name not in labels)]
    near = difflib.get_close_matches(str(choice), known, 1)
    cure = f"\nhelp: did you mean {near[0]!r}?" if near else ""
    raise JacobianError(f"{subject.key} has no {what} {choice!r}\nexpected: one of {', '.join(known)}{cure}")
