"""Privatized scatter sums: floats summed by `atomic_add`, in a private copy of the array for each chunk of a launch.

x86 has no float atomic, and the order in which threads meet would show in the sums. So a chunk of
threads adds into a private copy of the array, and the copies are added up in chunk order. The number
of chunks depends on the launch alone, never on the number of cores: equal bits on every machine size.
Where threads only add near their own index, as stencils do in reverse, chunks touch their neighbours at
most: then every second chunk runs, and after these the others, on the array itself.
All that takes some 20 us a launch and a pass over the copies, so a launch that one thread is thought to be
through with in 200 us is a single chunk, of plain sums. Copies cost memory traffic, so there are few, and none where
the array is much larger than the launch, by how often its threads add: then the chunks use real atomics, or, when the
launch must be deterministic, run one by one.
Sums at addresses that all threads share never depend on scheduling; without copies they are serial.
Measured on 2 cores with 1 M springs over 260 k vertices: private copies take 0.6 of the serial time,
real atomics 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...emit.layout import GATHERED_PRIVATE, SCATTERED_PRIVATE, WORD, argument_offsets
from ...emit.program import Program
from ...ir.nodes import Call
from ...passes.analysis.atomics import AtomicPlan
from ...passes.analysis.cost import times_run
from ...types.array_ref import ArrayRef
from ...types.compounds import scalar_of, size_of
from ...types.scalars import is_float
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..arrays.self_overlap import meets_itself
from ..devices.memory_range import any_meet, range_of
from . import private_copies
from .dimensions import as_indexed
from .launcher import LaunchCall
from .ways import InChunks, InCopies, InOrder, Way

MOST_COPIES = 64
LEAST_WORK = 200_000.0  # estimated time [ns] of a launch whose sums are worth several chunks
_COMMUTATIVE = ("atomic_add", "atomic_sub", "atomic_and", "atomic_or", "atomic_xor")
_EXTREMES = ("atomic_min", "atomic_max")


def scatters(plan: AtomicPlan) -> bool:
    """Whether threads may meet at elements that they do not all share: each pays for its own atomics then."""
    together = {*plan.uniform, *plan.combined, *plan.gathered}
    return any(call not in together and call not in plan.injective for call in plan.atomics())


class SumsOf:
    """What the program alone says of its sums: which parts scatter, which are gathered, whether order shows."""

    def __init__(self, program: Program, types: Sequence[Any]):
        plan, times = program.plan, times_run(program.fn)
        uses, parts = plan.uses, plan.uses.summed
        offsets, _ = argument_offsets(list(types))
        self.words = {part: offsets[part.position] // WORD + part.is_grad for part in parts}
        """Where argument blocks point at the arrays."""
        self.scattered = [part for part in parts if not uses[part].gathered]
        self.gathered = [part for part in parts if uses[part].gathered]
        near = [uses[part].near for part in self.scattered]
        self.may_be_near = bool(near) and not plan.unknown and None not in near
        self.is_order_free = order_free(plan)
        self.rounds = max((times[call] for part in self.scattered for call in uses[part].atomics), default=1.0)
        """How often a thread scatters, as far as the program tells: more than once in loops."""


def way_of(call: LaunchCall, size: int) -> Way:
    """How a launch of several chunks runs whose kernel has atomics."""
    launcher, total, args = call.launcher, call.total, call.args
    plan, sums = launcher.program.plan, launcher.sums
    scattered, gathered = sums.scattered, sums.gathered
    near = sums.may_be_near and not any(meets_itself(memory_of_part(args, part)._data) for part in scattered)
    few = copy_count(total, [memory_of_part(args, part) for part in scattered], sums.rounds)
    many = copy_count(total, [memory_of_part(args, part) for part in gathered])
    exact = (near or few > 0) and sums.is_order_free
    own_elements_meet = bool(plan.injective) and any_overlap(args)
    if many == 0 or own_elements_meet or (call.deterministic and not exact):
        return InOrder()
    flags = (SCATTERED_PRIVATE if near or few else 0) | (GATHERED_PRIVATE if many else 0)
    copied = [*(scattered if few and not near else ()), *gathered]
    private = [part for part in copied if memory_of_part(args, part).size]
    if near:
        reach = max(plan.uses[part].near or 0 for part in scattered)
        size = max(size, -(-total // (many if private else total)), (2 * reach + 1) * _row(call))
        return InCopies(_targets(call, private), size, flags, waves=2)
    if private:
        return InCopies(_targets(call, private), -(-total // min(few or many, many)), flags)
    return InChunks(size, flags)


def _targets(call: LaunchCall, parts: list[ArrayRef]) -> list[tuple[int, Any]]:
    """Where arguments point at the memory of these parts, and the memory."""
    memory = [memory_of_part(call.args, part)._data for part in parts]
    return [(call.launcher.sums.words[part], data) for part, data in zip(parts, memory, strict=True)]


def _row(call: LaunchCall) -> int:
    """Threads with one first index."""
    return 1 if call.launcher.ndim <= 1 else int(call.total // max(1, as_indexed(call.dim, call.launcher.ndim)[0]))


def memory_of_part(args: Sequence[Any], part: ArrayRef) -> Any:
    """An array argument, or its gradient array, which may be None."""
    argument = args[part.position]
    if not part.is_grad:
        return argument
    return (argument if isinstance(argument, array) else argument.data)._gradient


def copy_count(total: int, arrays: list[Any], rounds: float = 1.0) -> int:
    """How many private copies pay for themselves where each thread adds so many times; 0 for none.

    Depends on sizes and the program only.
    """
    if not all(isinstance(a, array) and a._data.dtype.names is None for a in arrays):
        return 0  # an indexedarray, or structs, which NumPy cannot add up
    if any(meets_itself(a._data) for a in arrays):
        return 0  # an element of the copies would not be an element of the array
    spans = ((private_copies.span(*private_copies.layout(a._data)), size_of(a.dtype)) for a in arrays)
    elements = max((numbers // size for numbers, size in spans), default=0)
    if elements > 2 * total * rounds:
        return 0
    return min(MOST_COPIES, max(4, total // (4 * max(elements, 1))))


def order_free(plan: AtomicPlan) -> bool:
    """Whether all atomics but sums give the same result in any order."""
    return all(call in plan.injective or call in plan.sums or _commutes(call, plan) for call in plan.atomics())


def is_ordered(plan: AtomicPlan) -> bool:
    """Whether the order of threads shows in a result where every atomic is real: sums of floats round."""
    return not all(call in plan.injective or _commutes(call, plan) for call in plan.atomics())


def _commutes(call: Call, plan: AtomicPlan) -> bool:
    """Integer sums, bits and extremes, when nobody reads what was there before."""
    floating = is_float(scalar_of(call.args[-1].type))
    free = call.op.name in _EXTREMES or (call.op.name in _COMMUTATIVE and not floating)
    return free and call.results[0] not in plan.used


def any_overlap(args: Sequence[Any]) -> bool:
    """Whether two arrays or gradients among the arguments may share memory, or one shares some with itself."""
    arrays = [a if isinstance(a, array) else a.data for a in args if isinstance(a, array | indexedarray)]
    arrays += [a._gradient for a in arrays if a._gradient is not None]
    if not all(a._tag.apart for a in arrays):
        return True
    return any_meet(map(range_of, arrays))
