"""Gradient checks: what the adjoint computes against central differences, as a table and as one answer.

An entry passes when the adjoint is finite and

    |adjoint - difference| <= atol + rtol * |difference| + error,

where `error` estimates how far the difference itself is off (see `differences`): a float32 sum of a million
does not fail the right gradient. Entries that the error hides are counted below the table. Tolerances that are
not given follow the precision.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.language import Kernel
from ..core.runtime.tape.launch_entry import LaunchEntry
from ..core.runtime.tape.tape import Tape
from ..errors import GradientMismatchError, JacobianError, user_frames
from .bound import BoundArguments
from .components import Components
from .differences import Differences, central_differences
from .jacobian import adjoint_rows
from .pairs import Pair, chosen_pairs
from .plots import plot_kernel_jacobians
from .subjects import FunctionMetadata, KernelSubject, Subject, subject_of

# (atol, rtol) by the least precise type among an input and an output
TOLERANCES = {"float16": (2e-2, 1e-1), "float32": (1e-3, 1e-2), "float64": (1e-7, 1e-5)}
_HIDDEN = 0.5  # share of an entry that the error of its difference may be before it says little
_WORST = 3  # failing entries that a message names, for every pair


class Entry(NamedTuple):
    """One number of a Jacobian that was compared: where it stands and both values."""

    row: str
    column: str
    adjoint: float
    difference: float


class PairResult(NamedTuple):
    """The comparison of one input and one output."""

    source: str
    target: str
    absolute: np.ndarray
    relative: np.ndarray
    compared: int
    failures: int
    hidden: int
    worst: list[Entry]

    @property
    def passed(self) -> bool:
        return not self.failures


class GradientComparison:
    """All pairs of one kernel or function. `str()` is the table; the truth value says whether it passed."""

    def __init__(self, title: str, pairs: dict[Pair, PairResult], metadata: FunctionMetadata):
        self.title, self.pairs, self.metadata = title, pairs, metadata

    @property
    def passed(self) -> bool:
        return all(pair.passed for pair in self.pairs.values())

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.table(colors=False)

    def table(self, colors: bool | None = None) -> str:
        """Input, output, largest errors and verdict of every pair. colors: None colors on terminals alone."""
        paint = sys.stdout.isatty() if colors is None else colors
        rows = [("Input", "Output", "Max Abs Error", "Max Rel Error", "Pass")]
        for p in self.pairs.values():
            rows.append(
                (p.source, p.target, _largest(p.absolute), _largest(p.relative), "PASS" if p.passed else "FAIL")
            )
        lines = _align(rows)
        lines.insert(1, "-" * len(lines[0]))
        lines.append(f"Gradient check for {self.title} {'passed' if self.passed else 'failed'}")
        lines += self.complaints()
        for p in self.pairs.values():
            if p.hidden:
                lines.append(f"  {p.hidden} of {p.compared} entries of {p.target} by {p.source} are lost in rounding")
        text = "\n".join(lines)
        return _paint(text) if paint else text

    def complaints(self) -> list[str]:
        """The worst entries of every pair that failed."""
        lines = []
        for p in self.pairs.values():
            for e in p.worst:
                lines.append(
                    f"  {p.target}{e.row} by {p.source}{e.column}: adjoint {e.adjoint:.7g}, "
                    f"finite difference {e.difference:.7g}"
                )
            if p.failures > len(p.worst):
                more = p.failures - len(p.worst)
                lines.append(f"  and {more} more of {p.compared} entries of {p.target} by {p.source}")
        return lines

    def figure(self, relative: bool = True, show_plot: bool = False) -> Any:
        """A picture of the errors, relative or absolute."""
        errors = {pair: p.relative if relative else p.absolute for pair, p in self.pairs.items()}
        title = f"{self.metadata.key} kernel Jacobian {'relative' if relative else 'absolute'} error"
        return plot_kernel_jacobians(errors, self.metadata, show_plot=show_plot, title=title, colormap="Reds")


def compare_gradients(
    subject: Subject,
    mask: Sequence[tuple[Any, Any]] | None,
    eps: float | None,
    atol: float | None,
    rtol: float | None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
) -> GradientComparison:
    """Both Jacobians of a subject, entry by entry where both were evaluated."""
    subject.find_outputs()
    pairs = chosen_pairs(subject, mask)
    rows = adjoint_rows(subject, pairs, max_outputs_per_var)
    columns = central_differences(subject, pairs, max_inputs_per_var, eps, rows)
    results = {}
    for pair in pairs:
        source, target = Components(subject.inputs[pair[0]]), Components(subject.outputs[pair[1]])
        evaluated = np.zeros(rows[pair].shape, bool)
        height = target.size if max_outputs_per_var <= 0 else max_outputs_per_var
        width = source.size if max_inputs_per_var <= 0 else max_inputs_per_var
        evaluated[:height, :width] = True
        limits = _tolerances(source, target, atol, rtol)
        differences = columns[pair]
        results[pair] = _compare(pair, (target, source), rows[pair], differences, evaluated, limits)
    return GradientComparison(subject.title, results, subject.metadata())


def _tolerances(source: Components, target: Components, atol: float | None, rtol: float | None) -> tuple[float, float]:
    coarsest = max(float(c.precisions().max()) for c in (source, target))
    default = next(limits for name, limits in TOLERANCES.items() if float(np.finfo(name).eps) <= coarsest)
    return (default[0] if atol is None else atol), (default[1] if rtol is None else rtol)


def _compare(
    pair: Pair,
    names: tuple[Components, Components],
    adjoint: np.ndarray,
    differences: Differences,
    evaluated: np.ndarray,
    limits: tuple[float, float],
) -> PairResult:
    atol, rtol = limits
    difference = differences.values
    with np.errstate(invalid="ignore"):
        absolute = np.abs(adjoint - difference)
        size = np.maximum(np.abs(adjoint), np.abs(difference))
        relative = absolute / np.maximum(size, atol or np.finfo(float).tiny)
        fits = np.isfinite(adjoint) & (absolute <= atol + rtol * np.abs(difference) + differences.errors)
        hidden = evaluated & fits & (size > atol) & (differences.errors > _HIDDEN * size)
    for errors in (absolute, relative):
        errors[~evaluated] = np.nan
    wrong = evaluated & ~fits
    order = np.argsort(np.where(wrong, np.where(np.isnan(relative), np.inf, relative), -1.0).ravel())[::-1]
    worst = []
    for flat in order[: min(_WORST, int(wrong.sum()))]:
        i, j = np.unravel_index(flat, wrong.shape)
        entry = Entry(names[0].name(int(i)), names[1].name(int(j)), float(adjoint[i, j]), float(difference[i, j]))
        worst.append(entry)
    return PairResult(*pair, absolute, relative, int(evaluated.sum()), int(wrong.sum()), int(hidden.sum()), worst)


@user_frames
def gradcheck(
    function: Kernel | Callable[..., Any], dim: Any = None, inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None, *, eps: float | None = None, atol: float | None = None,
    rtol: float | None = None, raise_exception: bool = True,
    input_output_mask: Sequence[tuple[str | int, str | int]] | None = None, device: Any = None, max_blocks: int = 0,
    block_dim: int | None = None, max_inputs_per_var: int = -1, max_outputs_per_var: int = -1,
    plot_relative_error: bool = False, plot_absolute_error: bool = False, show_summary: bool = True,
    restore_inputs: bool = True,
) -> bool:  # fmt: skip
    """Whether the gradients of a kernel or a Python function agree with finite differences.

    atol, rtol: tolerances; None takes those of the coarser type of an input and an output (see
    `TOLERANCES`). eps: the step of the differences, see `jacobian_fd`. show_summary: print the table.
    plot_relative_error, plot_absolute_error: show a picture of the errors, where there is a display.
    Everything else is as for `jacobian`.

    Raises `GradientMismatchError` when they differ, unless `raise_exception` is False, and `JacobianError`
    for arguments that make no Jacobian.
    """
    options = {"device": device, "max_blocks": max_blocks, "block_dim": block_dim}
    subject = subject_of(function, dim, inputs, outputs, options, None, restore_inputs)
    comparison = compare_gradients(subject, input_output_mask, eps, atol, rtol, max_inputs_per_var, max_outputs_per_var)
    return _verdict([comparison], raise_exception, show_summary, plot_relative_error, plot_absolute_error)


@user_frames
def gradcheck_tape(
    tape: Tape, *, eps: float | None = None, atol: float | None = None, rtol: float | None = None,
    raise_exception: bool = True,
    input_output_masks: Mapping[str, Sequence[tuple[str | int, str | int]]] | None = None,
    blacklist_kernels: Sequence[str] | None = None, whitelist_kernels: Sequence[str] | None = None,
    max_inputs_per_var: int = -1, max_outputs_per_var: int = -1, plot_relative_error: bool = False,
    plot_absolute_error: bool = False, show_summary: bool = True, reverse_launches: bool = False,
    skip_to_launch_index: int = 0,
) -> bool:  # fmt: skip
    """Whether the gradients of every launch on a tape agree with finite differences.

    Each launch is checked by itself, on copies of what its arrays hold now; neither they nor the tape change.
    What a launch reads are its inputs and what it writes its outputs, whichever list they were given in; a
    launch without differentiable ones, or of a kernel with `enable_backward=False`, is passed over.
    input_output_masks: masks by kernel name.
    blacklist_kernels, whitelist_kernels: kernels to leave out, and the only ones to check. reverse_launches:
    last launch first. skip_to_launch_index: pass over so many launches of that order.

    Everything else, and what is raised, is as for `gradcheck`; all launches are checked before it raises.
    """
    if not isinstance(tape, Tape):
        raise JacobianError(f"tape is {type(tape).__name__}\nexpected: a Tape")
    masks = input_output_masks or {}
    records = list(enumerate(tape.launches))
    _known_kernels({record.kernel.key for _, record in records}, masks, blacklist_kernels, whitelist_kernels)
    comparisons = []
    for k, record in (records[::-1] if reverse_launches else records)[skip_to_launch_index:]:
        key = record.kernel.key
        if key in (blacklist_kernels or ()) or (whitelist_kernels and key not in whitelist_kernels):
            continue
        subject = record_subject(record)
        subject.title += f" (launch {k} at {record.place})"
        if subject.inputs and subject.outputs and record.kernel.option("enable_backward"):
            limits = (max_inputs_per_var, max_outputs_per_var)
            comparisons.append(compare_gradients(subject, masks.get(key), eps, atol, rtol, *limits))
    return _verdict(comparisons, raise_exception, show_summary, plot_relative_error, plot_absolute_error)


def record_subject(record: LaunchEntry) -> KernelSubject:
    """A recorded launch with what it reads as inputs and what it writes as outputs."""
    names = list(record.kernel.patterns)
    needs = record.needs
    read, written = (needs.arrays.parameters(refs) for refs in (needs.read, needs.arrays.written))
    last = [k for k, name in enumerate(names) if name in written]
    first = [k for k, name in enumerate(names) if name in read or name not in written]
    options = {"device": record.device, "deterministic": record.deterministic}
    args = BoundArguments(record.args, needs.arrays.handle_params)
    return KernelSubject(record.kernel, record.dim, args.args, (first, last), options, FunctionMetadata())


def _known_kernels(known: set[str], masks: Mapping[str, Any], *lists: Sequence[str] | None) -> None:
    """Raise for names of kernels that the tape does not have."""
    for listed in [*masks, *(name for names in lists for name in names or ())]:
        if listed not in known:
            raise JacobianError(f"no kernel {listed!r} on the tape\nexpected: one of {', '.join(sorted(known))}")


def _verdict(
    comparisons: list[GradientComparison], raise_exception: bool, show_summary: bool, relative: bool, absolute: bool
) -> bool:
    """Print, draw and raise as asked; returns whether everything passed."""
    for comparison in comparisons:
        if show_summary:
            print(comparison.table())
        if relative:
            comparison.figure(relative=True, show_plot=True)
        if absolute:
            comparison.figure(relative=False, show_plot=True)
    failed = [comparison for comparison in comparisons if not comparison]
    if failed and raise_exception:
        lines = [line for c in failed for line in (f"wrong gradients of {c.title}:", *c.complaints())]
        raise GradientMismatchError("\n".join(lines))
    return not failed


def _largest(errors: np.ndarray) -> str:
    compared = errors[~np.isnan(errors)]
    return f"{compared.max():.7e}" if compared.size else "nan"


def _align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _paint(text: str) -> str:
    """Verdicts at the ends of lines in green and red."""
    colors = {"p": "\033[92m", "f": "\033[91m"}
    verdict = re.compile(r"\b(pass|fail|passed|failed)$", re.MULTILINE | re.IGNORECASE)
    return verdict.sub(lambda match: f"{colors[match[0][0].lower()]}{match[0]}\033[0m", text)
