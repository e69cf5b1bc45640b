"""`Program`: a kernel after all passes, with everything that decides its machine code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from ...forks import cached_property
from ..ir.nodes import Call, Function, walk, walk_all
from ..ir.printer import print_function
from ..passes.analysis.array_uses import ArrayUses
from ..passes.analysis.atomics import AtomicPlan
from ..passes.analysis.ownership import Own, own_indices
from ..passes.reverse.adjoint_stencils import Gathered
from ..passes.reverse.extra_params import Extras
from ..passes.simplify.handle_params import HandleParam
from ..types.array_ref import ArrayRef
from ..types.structs import full_name
from .disk.fingerprint import fingerprint
from .native import snippets
from .target import Options


class FormKind(Enum):
    """What is compiled of a kernel: the kernel itself, or a kernel that was derived from it.

    `RECORDING` notes what atomics return for the adjoint, `MARKING` notes in gradients which elements are written.
    `TANGENT` is forward mode; that of recorded launches and of adjoints are the last two (`passes.forward.derived`).
    """

    PRIMAL = "primal"
    ADJOINT = "adjoint"
    RECORDING = "recording"
    MARKING = "marking"
    TANGENT = "tangent"
    RECOMPUTED_TANGENT = "recomputed tangent"
    ADJOINT_TANGENT = "adjoint tangent"


class Form(NamedTuple):
    """A kernel, or a kernel that was derived from it.

    gradients: the names of the array parameters that have gradients, of arrays in struct parameters ("s.x"), and of
    other parameters whose gradients are wanted; of tangents those along which they are taken.
    same: pairs of positions of array parameters that are given one and the same array.
    phase: of an adjoint in two steps (`passes.reverse.adjoint_stencils`) "gathered" or "rest"; empty for all in one.
    """

    kind: FormKind = FormKind.PRIMAL
    gradients: frozenset[str] = frozenset()
    same: tuple[tuple[int, int], ...] = ()
    phase: str = ""


PRIMAL = Form()


class Text(NamedTuple):
    """Digests of a program's text with the layouts of its structs, and of the places of its statements.

    tells_places: whether its code depends on these whatever the options.
    """

    digest: str
    places: str
    tells_places: bool


@dataclass(frozen=True)
class Program:
    """A kernel after all passes, at fixed argument types."""

    fn: Function
    ndim: int
    plan: AtomicPlan
    nanoseconds: float
    extras: Extras = ()
    """What the last parameters are."""
    handle_params: tuple[HandleParam, ...] = ()
    """The structures that the kernel reaches by ids; derived programs take them behind the kernel's own parameters."""
    gathered: Gathered | None = None
    """Of an adjoint, the same in two steps, where that is faster."""
    has_own_gradients: bool = False
    """Of a kernel, whether it calls functions with gradients or replays that the user wrote."""

    @property
    def uses(self) -> ArrayUses:
        """What the kernel does to the arrays of its parameters."""
        return self.plan.uses

    @cached_property
    def written(self) -> frozenset[int]:
        """The positions of the array parameters that threads write to."""
        return frozenset(ref.position for ref in self.uses.changed if not (ref.path or ref.in_elements))

    @cached_property
    def text(self) -> Text:
        """Digests of its text."""
        fn = self.fn
        calls = any(snippets.units(fn)) or any(snippets.foreign(fn))
        lines = "\n".join((str(self.ndim), print_function(fn), *struct_layouts(fn)))
        return Text(sha256(lines), sha256("\n".join(check_places(fn))), has_checks(fn) or calls)

    def with_plan(self, plan: AtomicPlan) -> Program:
        """The same program with another plan of its atomics."""
        other = replace(self, plan=plan)
        vars(other)["text"] = self.text  # the plan is no part of it
        return other

    @cached_property
    def own(self) -> dict[ArrayRef, Own] | None:
        """What is a thread's own of these; None if it reaches other memory too."""
        return own_indices(self.fn, self.ndim)


def cache_key(program: Program, options: Options, processor: str) -> str:
    """A digest of all that decides the code: the program, layouts of structs, options, processor."""
    text = program.text
    parts = [fingerprint(), processor, repr(options), text.digest]
    if text.tells_places or options.verify or options.lineinfo:
        parts.append(text.places)  # failed checks report them; other code does not depend on them
    return sha256("\n".join(parts))


def sha256(text: str) -> str:
    """The digest of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def has_checks(fn: Function) -> bool:
    """Whether the kernel holds assertions."""
    return any(isinstance(n, Call) and n.op.name == "assert" for n in walk(fn.body))


def struct_layouts(fn: Function) -> Iterator[str]:
    """The fields of the structs among the program's values, whose text has their names alone."""
    values = [*fn.params]
    for node in walk(fn.body):
        values.extend((*node.results, *node.operands()))
    for value in values:
        layout = full_name(value.type)
        if "{" in layout:
            yield layout


def check_places(fn: Function) -> Iterator[str]:
    """Where each statement stands, and the name of the array it is about, also in functions that it calls."""
    for node in walk_all(fn):
        operands = node.operands()
        yield f"{node.location!r} {operands[0].hint if operands else ''}"
