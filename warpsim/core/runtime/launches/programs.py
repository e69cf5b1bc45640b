"""Programs of kernels: from the disk, where one of the same inputs is there, else translated.

All programs of a kernel at given types belong to one moment: that at which the first of them was asked for. A
derivative may be asked for long after the launch that it belongs to, when functions have been defined again. So the
inputs are taken down then, names settle then, and what was loaded is translated before a function that it calls is
defined again.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ....config import config
from ....errors import KernelError
from ... import compile as compiler
from ...emit.disk import stored_programs
from ...emit.disk.stored_programs import Entry
from ...emit.program import PRIMAL, Form, Program
from ...frontend.functions.definitions import BEFORE_REDEFINITION, library_is_extended
from ...frontend.functions.functions import Func
from ...frontend.functions.reached import Meanings
from ...frontend.translate.missing_values import warnings_so_far

if TYPE_CHECKING:
    from .kernel import Kernel


class Recipe(NamedTuple):
    """Which program of a kernel: its parameter types, the most iterations that are unrolled, its form."""

    types: tuple[Any, ...]
    unroll: int
    form: Form = PRIMAL
    verify_fp: bool = False


class Inputs(NamedTuple):
    """What the programs of a kernel at given types are made of: a digest of its texts, and what was met in these."""

    digest: str
    meanings: Meanings


_loaded: weakref.WeakSet[Kernel] = weakref.WeakSet()
"""Kernels with programs from the disk, whose functions are not translated."""


def program_of(kernel: Kernel, recipe: Recipe) -> Program:
    """The program of a recipe. Raises `KernelError` where what it calls was bound anew since the others were made."""
    types = recipe.types
    if types not in kernel.inputs:
        kernel.inputs[types] = inputs_of(kernel, types)
    inputs = kernel.inputs[types]
    if inputs is None or config.dump:
        return translate(kernel, recipe)
    key = stored_programs.key_of([inputs.digest, options_text(kernel, recipe)])
    entry = stored_programs.load(key, inputs.meanings.structs)
    if entry is not None:
        return adopt(kernel, recipe, entry)
    warnings, is_first = warnings_so_far(), not kernel.is_lowered(types)
    if is_first and not same_inputs(kernel, types, inputs):
        raise KernelError(
            f"kernel {kernel.key!r} calls functions or reads constants that were bound anew since it was launched",
            help="launch it again before its gradient is asked for, or define functions anew with @wp.func",
        )
    program = translate(kernel, recipe)
    if is_first and not same_inputs(kernel, types, inputs):  # changed meanwhile, by another thread
        kernel.inputs[types] = None
    elif warnings == warnings_so_far():  # those of the front end are for every process
        keep(key, inputs.meanings, program)
    return program


def inputs_of(kernel: Kernel, types: tuple[Any, ...]) -> Inputs | None:
    """What programs at these types are made of now, or None where that has no exact text or programs are not kept."""
    if not config.cache_kernels or library_is_extended():
        return None
    meanings = Meanings(exact=True)
    texts = list(input_texts(kernel, types, meanings))
    return None if meanings.unknown else Inputs(stored_programs.key_of(texts), meanings)


def same_inputs(kernel: Kernel, types: tuple[Any, ...], inputs: Inputs) -> bool:
    """Whether the inputs are still these."""
    now = inputs_of(kernel, types)
    return now is not None and now.digest == inputs.digest


def input_texts(kernel: Kernel, types: tuple[Any, ...], meanings: Meanings) -> Iterator[str]:
    """The texts of all that the front end looks at."""
    yield kernel.key
    yield from (f"{name}: {meanings.of(t)}" for name, t in kernel.patterns.items())
    yield from map(meanings.of, types)
    if kernel.source.is_library:
        yield meanings.of_library(kernel.function)
    else:
        yield meanings.of_function(kernel.source)


def options_text(kernel: Kernel, recipe: Recipe) -> str:
    """What the passes are told beside the function."""
    form = recipe.form
    options = f"{kernel.rank} {recipe.unroll} {recipe.verify_fp}"
    return f"{options} {form.kind} {sorted(form.gradients)} {form.same} {form.phase}"


def adopt(kernel: Kernel, recipe: Recipe, entry: Entry) -> Program:
    """A program from the disk, after what a translation does beside it: names keep their meanings for good, gradients
    of functions count as asked for."""
    inputs = kernel.inputs[recipe.types]
    assert inputs is not None
    meanings = inputs.meanings
    for source, names in zip(meanings.sources, entry.settled, strict=True):
        if names is not None:
            source.captured.settle_as(names)
    for overload in meanings.overloads:
        overload.differentiated = True
    kernel.note_called()
    if meanings.overloads:
        _loaded.add(kernel)
    program: Program = entry.program
    return program


def translate_callers(function: Func) -> None:
    """Translate the kernels that call a function and came from the disk, as it is about to be defined again."""
    overloads = set(function.overloads)
    for kernel in list(_loaded):
        for types, inputs in list(kernel.inputs.items()):
            if inputs is not None and not overloads.isdisjoint(inputs.meanings.overloads):
                kernel.lower(types)


BEFORE_REDEFINITION.append(translate_callers)


def keep(key: str, meanings: Meanings, program: Program) -> None:
    """Write a program that was translated, with the digests of its text."""
    captured = [source.captured for source in meanings.sources]
    settled = tuple(None if each.open else tuple(each.settled) for each in captured)
    assert program.text.digest
    stored_programs.save(key, Entry(program, settled), meanings.structs)


def translate(kernel: Kernel, recipe: Recipe) -> Program:
    """The program of a recipe, by the front end and the passes."""
    types, unroll, form, verify_fp = recipe
    if verify_fp:
        return compiler.reporting(kernel.program_of(recipe._replace(verify_fp=False)))
    if form.phase:
        return compiler.phase_of(kernel.program_of(recipe._replace(form=form._replace(phase=""))), form.phase)
    if form == PRIMAL:
        return compiler.finish(kernel.lower(types), unroll, kernel.rank)
    forward = kernel.program_of(recipe._replace(form=PRIMAL))
    return compiler.derive(kernel.lower(types), unroll, form, forward.ndim, forward.handle_params)
