"""Inlining decisions: a *shared* function is compiled once and called, as it is large and called often.

Guarantees: the program means the same, bit for bit unless it has fast mathematics, which shared functions have not.
A shared function has no derivative, changes no memory and asks for nothing of its thread, as searches of meshes do; a
call of it costs far less than what it does. An adjoint calls such searches some forty times where the kernel does ten:
of that many copies LLVM makes code for a minute.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from ...ir.nodes import Call, Function, Value, count, walk
from ...ir.printer import print_function
from ...ops.registry import PURE, READ, WRITE
from ...types.structs import full_name, holds_arrays
from ..analysis.alias import PointsTo, points_to
from ..analysis.effects import based_on, effects_of
from ..analysis.large_compounds import large_types
from .dce import dce
from .fold import fold
from .inline import inline
from .unroll import unroll
from .versioning import add_versions

_SMALLEST = 200
"""Nodes of a function below which it is inlined wherever it is called."""
_MOST_COPIED = 4000
"""Nodes that copies may add to a program; where they add more, all large functions are shared."""
_OF_KERNEL = frozenset({"tid", "block_dim", "resolve", "assert"})
"""Rows that need the kernel around them: of handles, assertions and block sizes, the kernel alone is searched."""


def shared_functions(fn: Function, max_unroll: int) -> dict[Function, Function]:
    """The functions that a program should share, each in its final form."""
    often = {f: n for f, n in _calls_of(fn, {}).items() if n > 1}
    inlined = {f: inline(f) for f in often}
    large = {f: body for f, body in inlined.items() if count(body.body) >= _SMALLEST}
    if sum((often[f] - 1) * count(body.body) for f, body in large.items()) <= _MOST_COPIED:
        return {}
    final = {f: _final(body, max_unroll) for f, body in large.items()}
    alone = {f: code for f, code in final.items() if _stands_alone(code)}
    return alone if sum((often[f] - 1) * count(large[f].body) for f in alone) > _MOST_COPIED else {}


def _calls_of(fn: Function, known: dict[Function, Counter[Function]]) -> Counter[Function]:
    """How often a function calls functions without derivative, also by way of others."""
    if fn not in known:
        calls = Counter(n.op for n in walk(fn.body) if isinstance(n, Call) and isinstance(n.op, Function))
        total: Counter[Function] = Counter()
        for callee, times in calls.items():
            inner = {callee: 1} if callee.nondiff else _calls_of(callee, known)
            total.update({f: times * n for f, n in inner.items()})
        known[fn] = total
    return known[fn]


def _final(fn: Function, max_unroll: int) -> Function:
    """A function that is inlined in itself as it is emitted. Its name ends in a digest of its text and types, as a
    program's text, and so its key in caches, shows a call by the name alone."""
    code = add_versions(dce(fold(unroll(fn, max_unroll))))
    nodes = [*walk(code.body)]
    types = {v.type for v in chain(code.params, *(n.results for n in nodes), *(n.operands() for n in nodes))}
    text = "\n".join([print_function(code), *sorted(map(full_name, types))])
    return replace(code, name=f"{fn.name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}", effect=READ)


def _stands_alone(fn: Function) -> bool:
    """Whether a function needs only its arguments, memory that it reads, and local arrays."""
    if large_types(fn) or any(holds_arrays(v.type) for v in fn.body.yields):
        return False
    arrays = points_to(fn)
    return all(_is_own(node, arrays, fn.params) for node in walk(fn.body) if isinstance(node, Call))


def _is_own(call: Call, arrays: Mapping[Value, PointsTo], params: tuple[Value, ...]) -> bool:
    """Whether a call only computes, reads, or stores to local arrays."""
    if call.row.opaque or call.op.name in _OF_KERNEL or call.op.effect not in (PURE, READ, WRITE):
        return False
    if call.op.name == "local_array":
        return True
    written = based_on(effects_of(call).writes, arrays)
    return all(base is not None and base.holder not in params for base in written)
