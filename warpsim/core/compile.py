"""The pipeline, as named steps with the verifier between them.

    finish:  source -> lower -> inline -> unroll -> fold -> dce -> version -> Program
    derive:            lower -> inline -> handles -> unroll -> fold -> dce -> (by form)
        adjoint             -> assume -> promote -> adjoint -> (clean) -> version -> Program
        adjoint in phases   the Program of `adjoint` -> gathered or rest -> cse -> fold -> dce -> version -> Program
        recording           -> recording -> (clean) -> version -> Program
        marking             -> marking -> (clean) -> version -> Program
        tangent             -> tangent -> fold -> dce -> version -> Program
        recomputed tangent    -> assume -> promote -> tangent -> fold -> dce -> version -> Program
        adjoint tangent     the Program of `adjoint` -> tangent -> fold -> dce -> version -> Program
    (clean):  cse -> inline -> [unroll] -> fold -> dce

`inline` leaves calls of shared functions in place (`passes/simplify/shared`), but in tangents and in `report`.
With `config.verify_fp` each Program goes through one step more, `report`.

`config.dump = "inline"` (or `all`, or the environment variable WARPSIM_DUMP) prints a program after that step; steps
of a form have its name before theirs, as in "adjoint dce". "uses" prints what the Program does to its arrays, as a
table. Derived forms start from `lower` again, because functions
with gradients of their own stay calls until the adjoint exists. `emit/build` makes machine code of the Program.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import NotDifferentiableError
from .emit.build import compiling
from .emit.program import Form, FormKind, Program
from .frontend.function import function_results, kernel_function, thread_rank
from .frontend.source.source import Source, typed_text
from .frontend.translate.translator import shallow_enough
from .ir.dump import show, step
from .ir.nodes import Call, Function, Value, callees, walk
from .passes.analysis.atomics import analyse
from .passes.analysis.cost import estimate
from .passes.analysis.stack import check_stack
from .passes.forward.derived import forward_again, forward_mode, second_order
from .passes.reverse.adjoint import adjoint, choose, shows_adjoints
from .passes.reverse.adjoint_stencils import gather
from .passes.reverse.assumptions import add_assertions
from .passes.reverse.extra_params import Extras, Returned
from .passes.reverse.marking import marking
from .passes.reverse.primal_reads import recorded_atomics, without_unread
from .passes.reverse.promote_memory import promote_memory
from .passes.reverse.recompute import refuse_unrecoverable
from .passes.reverse.recording import recording
from .passes.simplify.cse import cse
from .passes.simplify.dce import dce
from .passes.simplify.fold import fold
from .passes.simplify.handle_params import HandleParam, handle_params, with_handle_params
from .passes.simplify.inline import inline
from .passes.simplify.leading import with_leading_indices
from .passes.simplify.reports import add_reports
from .passes.simplify.shared import shared_functions
from .passes.simplify.unify import unify
from .passes.simplify.unroll import unroll
from .passes.simplify.versioning import add_versions

STAGES = ("source", "lower", "inline", "unroll", "fold", "dce", "version", "uses", "llvm")


def lower(source: Source, patterns: dict[str, Any], types: list[Any]) -> Function:
    """Python source to a function in the IR, with calls in it."""
    with compiling:
        show("source", source.name, lambda: typed_text(source, patterns, types))
        return step("lower", kernel_function(source, patterns, types))


def result_types(source: Source, names: list[str], types: list[Any]) -> tuple[Any, ...]:
    """What a function returns at concrete parameter types; None for what has no run-time value."""
    with compiling:
        return function_results(source, names, types)


def finish(fn: Function, max_unroll: int, rank: int = 0) -> Program:
    """The final program of a kernel: the same for every target. rank: of its launches, where `tid()` has fewer."""
    with compiling, shallow_enough(fn.location):
        own = has_own_gradients(fn)
        fn = step("inline", with_leading_indices(expand(fn, max_unroll), rank))
        fn = step("unroll", unroll(fn, max_unroll))
        fn = step("fold", fold(fn))
        fn = step("dce", dce(fn))
        return replace(plan(fn, (), thread_rank(fn)), handle_params=handle_params(fn), has_own_gradients=own)


def expand(fn: Function, max_unroll: int) -> Function:
    """`fn` with bodies for calls, but for those of functions that are large and called often."""
    return inline(fn, shared=shared_functions(fn, max_unroll))


def has_own_gradients(fn: Function) -> bool:
    """Whether a function calls functions with gradients or replays that the user wrote."""
    calls = [n.op for n in walk(fn.body) if isinstance(n, Call) and isinstance(n.op, Function)]
    return any(f.is_custom or has_own_gradients(f) for f in calls)


def derive(fn: Function, max_unroll: int, form: Form, ndim: int, known: tuple[HandleParam, ...]) -> Program:
    """The final program of another form of a kernel: its threads have `ndim` indices, it reaches `known` structures."""
    with compiling, shallow_enough(fn.location):
        if form.kind is FormKind.ADJOINT_TANGENT:
            reverse = derive(fn, max_unroll, form._replace(kind=FormKind.ADJOINT), ndim, known)
            return with_tangents(*second_order(reverse.fn, reverse.extras, form.gradients), ndim, total=True)
        fn = with_leading_indices(inline(unify(fn, form.same), keep_gradients=True), ndim)
        fn = step("inline", fn)
        fn = step("handles", with_handle_params(fn, known))
        fn = step("unroll", unroll(fn, max_unroll))
        fn = step("fold", fold(fn))
        fn = step("dce", dce(fn))
        if form.kind is FormKind.TANGENT:
            return with_tangents(*forward_mode(fn, form.gradients), ndim, total=False)
        if form.kind is FormKind.MARKING:
            return clean("marking", marking(inline(fn)), (), ndim, max_unroll, total=False)
        if form.kind is FormKind.RECORDING:
            return clean("recording", *recording(fn, ndim), ndim, max_unroll, total=False)
        noted = [call.results[0] for call in recorded_atomics(fn)]
        fn = step("assume", add_assertions(fn))
        fn = promote_memory(fn, choose(fn, form.gradients)[0])
        fn = step("promote", fold(dce(inline(fn, keep_gradients=True))))
        if form.kind is FormKind.RECOMPUTED_TANGENT:
            again, extras = forward_again(fn, form.gradients, ndim)
            return with_tangents(again, renumber(extras, fn, noted), ndim, total=True)
        whole = in_reverse(fn, form, max_unroll, ndim, noted)
        return replace(whole, gathered=gather(whole.fn, whole.extras, whole.plan, ndim))


def in_reverse(fn: Function, form: Form, max_unroll: int, ndim: int, noted: list[Value]) -> Program:
    """The adjoint; one that prints no cotangents where only printing them needs what is lost."""

    def reversed_with(prints: bool) -> Program:
        reverse, extras = adjoint(fn, form.gradients, ndim, prints)
        return clean("adjoint", reverse, renumber(extras, fn, noted), ndim, max_unroll, total=True)

    prints = any(map(shows_adjoints, walk(fn.body)))
    try:
        return reversed_with(prints)
    except NotDifferentiableError:
        if not prints:
            raise
    return reversed_with(False)


def renumber(extras: Extras, fn: Function, noted: list[Value]) -> Extras:
    """Extras that count atomics as the recording form does: it notes those, too, that have become variables since."""
    left = [call.results[0] for call in recorded_atomics(fn)]
    return tuple(Returned(noted.index(left[e.position])) if isinstance(e, Returned) else e for e in extras)


def reporting(program: Program) -> Program:
    """The program that prints what it writes and is not finite."""
    with compiling:
        fn = step("report", inline(add_reports(program.fn, program.ndim)))
        return replace(program, fn=fn, plan=analyse(fn))


def phase_of(whole: Program, phase: str) -> Program:
    """One of the two steps of an adjoint whose sums are gathered."""
    with compiling:
        assert whole.gathered is not None
        first = phase == "gathered"
        fn, extras = (whole.gathered.fn, whole.gathered.extras) if first else (whole.gathered.rest, whole.extras)
        assert fn is not None
        fn = step(f"{phase} cse", cse(step(phase, fn)))
        fn = step(f"{phase} dce", dce(fold(fn), total=True))
        return plan(*without_unread(fn, extras), whole.ndim)


def clean(form: str, fn: Function, extras: Extras, ndim: int, max_unroll: int, total: bool) -> Program:
    """The final program of an adjoint, a recording or a marking, its calls expanded. total: every loop ends."""
    fn = step(f"{form} cse", cse(inline(step(form, fn), keep_gradients=True)))
    calls = any(isinstance(node, Call) and isinstance(node.op, Function) for node in walk(fn.body))
    fn = step(f"{form} inline", with_leading_indices(expand(fn, max_unroll), ndim))
    fn = step(f"{form} unroll", unroll(fn, max_unroll)) if calls else fn
    fn = step(f"{form} fold", fold(fn))
    fn = step(f"{form} dce", dce(fn, total))
    return plan(*without_unread(refuse_unrecoverable(fn), extras), ndim)


def with_tangents(fn: Function, extras: Extras, ndim: int, total: bool) -> Program:
    """The final program of forward mode. total: every loop is known to end."""
    fn = step("tangent fold", fold(step("tangent", fn)))
    fn = step("tangent dce", dce(fn, total))
    return plan(*without_unread(refuse_unrecoverable(fn), extras), ndim)


def plan(fn: Function, extras: Extras, ndim: int) -> Program:
    """The program as it is emitted, and how it uses its arrays."""
    check_stack(fn)
    fn = step("version", add_versions(fn))
    for shared in callees(fn.body):
        step("version", shared)
    program = Program(fn, ndim, analyse(fn), estimate(fn).nanoseconds, extras)
    show("uses", fn.name, lambda: program.uses.table(fn, program.own))
    return program
