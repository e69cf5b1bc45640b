"""Adjoint stencils: sums that threads scatter to their neighbours' elements become sums that each element gathers.

A kernel that reads `u[i - 1]`, `u[i]` and `u[i + 1]` adds, in reverse, to three elements of a gradient that other
threads add to as well. Here thread `t` of the *gathering* kernel looks after element `t` alone: for every offset `c` it
computes what thread `t - c` of the adjoint would have added there, if there is such a thread and its branches lead
there, and adds up. So no two threads meet, the order of the sums is the program's, and LLVM can vectorise them (after
Hueckelheim, Kukreja, Narayanan, Luporini, Gorman, Hovland: Automatic Differentiation for Adjoint Stencil Loops, 2019).

Guarantees: the gathering kernel and then the *rest* do what the adjoint does, but for the rounding of sums, where
gradients of different arguments share no memory. The rest is the adjoint without these sums: it clears the gradients
of what the kernel wrote, which every thread has read by then. A program in which a thread could tell the difference,
by reading a gradient that it or another thread has changed before, is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...ir.builder import Builder, constant
from ...ir.def_use import used_values
from ...ir.nodes import Call, Constant, Function, If, Node, Region, Value, count, walk
from ...ir.rewrite import Cloner
from ...ops import construct, memory
from ...ops.registry import ATOMIC, PURE, READ, TABLE, WRITE
from ...types.compounds import scalar_of
from ...types.scalars import bool_, int32, is_float
from ...types.structs import is_struct
from ..analysis.alias import BaseArray
from ..analysis.atomics import AtomicPlan
from ..analysis.dependence import BEFORE, Access, Dependences
from ..analysis.gather_cost import gains_from_gathering
from ..simplify.dce import dce
from .cotangents import accumulate
from .extra_params import Extent, Extras
from .primal_reads import thread_index

_LARGEST = 1000  # nodes of the gathering kernel: LLVM vectorises no more, see emit/cpu/cpu

_TESTS = {"eq", "ne", "lt", "le", "gt", "ge", "unot", "bit_and", "bit_or", "add", "sub", "shape"}

Offset = tuple[int, ...]
"""Along every axis of the launch, how far an element is from the thread's own."""


class Element(NamedTuple):
    """The element that a thread reaches, but for its offset: part of an array, and what each index follows."""

    base: BaseArray
    parts: tuple[tuple[str, Any], ...]
    axes: tuple[int | None, ...]
    """The axis of the launch that an index runs along; None where it is a constant."""
    constants: tuple[int, ...]
    """The indices that are constants; 0 at the others."""


class Gathered(NamedTuple):
    """An adjoint in two steps: each element gathers its sums, then threads do the rest."""

    fn: Function
    extras: Extras
    rest: Function | None
    """What the threads of the launch do afterwards; None for nothing."""
    margin: Offset
    """How many more threads gather along each axis than were launched, if the arrays are so large."""
    arrays: tuple[tuple[int, tuple[int, ...]], ...]
    """The arrays whose gradients are gathered: position, and which of its axes each axis of the launch runs along."""

    def dims(self, launched: Sequence[int], args: Sequence[Any]) -> tuple[int, ...]:
        """The threads that gather for a launch."""
        shapes = [[args[k].shape[axis] for axis in axes] for k, axes in self.arrays]
        reach = zip(launched, self.margin, zip(*shapes, strict=True), strict=True)
        return tuple([min(n + more, max(extents)) for n, more, extents in reach])


def gather(fn: Function, extras: Extras, plan: AtomicPlan, ndim: int) -> Gathered | None:
    """An adjoint in two steps; None where it has no scattered sums, or where they must stay, or are better left."""
    lone = {*plan.injective, *plan.uniform, *plan.combined}
    scattered = [call for call in plan.atomics() if call not in lone]
    if not scattered or not ndim or plan.unknown or count(fn.body) > _LARGEST or not all(map(_is_plain, walk(fn.body))):
        return None
    stencil = _Stencil(fn, ndim)
    offsets = sorted({offset for _, offset in stencil.sums.values()})
    if not all(call in stencil.sums for call in scattered) or count(fn.body) * len(offsets) > _LARGEST:
        return None
    if not any(map(any, offsets)) or not stencil.is_readable():
        return None
    margin = tuple(max(0, *along) for along in zip(*offsets, strict=True))
    arrays = {stencil.position(e.base): tuple(map(e.axes.index, range(ndim))) for e, _ in stencil.sums.values()}
    more = tuple(Extent(axis) for axis in range(ndim))
    gathering = dce(_gathering(fn, stencil, offsets, margin), total=True)
    if not gains_from_gathering(fn, gathering):
        return None
    return Gathered(gathering, (*extras, *more), _rest(fn, stencil), margin, tuple(arrays.items()))


def _is_plain(node: Node) -> bool:
    """Whether a statement can be run again for other threads: it only computes, reads, and changes known arrays."""
    if not isinstance(node, Call):
        return True
    known = isinstance(node.op, Function) or node.op.opaque or node.op.name == "local_array"
    return not known and node.op.effect in (PURE, READ, WRITE, ATOMIC)


class _Stencil:
    """The sums of an adjoint at constant offsets from the thread's element, and what stands in the way of others."""

    def __init__(self, fn: Function, ndim: int):
        self.fn, self.ndim = fn, ndim
        self.dependences = Dependences(fn)
        self.used = used_values(fn.body)
        self.sums: dict[Call, tuple[Element, Offset]] = {}
        for base, accesses in self.dependences.by_base.items():
            sums = self.sums_of(base, accesses)
            self.sums.update(sums or {})

    def position(self, base: BaseArray) -> int:
        return self.fn.params.index(base.holder)

    def sums_of(self, base: BaseArray, accesses: list[Access]) -> dict[Call, tuple[Element, Offset]] | None:
        """The sums into an array that is only summed into; None if they are of another kind."""
        if base in self.dependences.vague or base.path or not base.is_grad or base.holder not in self.fn.params:
            return None
        places = {}
        for access in accesses:
            at = self.element(access) if self.is_sum(access) else None
            if at is None:
                return None
            places[access.call] = at
        ways = {element.axes for element, _ in places.values()}
        return places if len(ways) == 1 else None  # else a thread's element along one may be another's along the other

    def is_sum(self, access: Access) -> bool:
        call = access.call
        floating = is_float(scalar_of(call.args[-1].type)) and not is_struct(call.args[-1].type)
        return call.op.name == "atomic_add" and floating and call.results[0] not in self.used and not access.loops

    def element(self, access: Access) -> tuple[Element, Offset] | None:
        """Where an access goes: its indices are those of the thread plus constants, in any order, or constants."""
        if access.indexed or any(sign != 1 for sign in access.signs):
            return None
        axes: list[int | None] = []
        offset, constants = [0] * self.ndim, []
        for index in access.indices:
            form = self.dependences.affine.of(index)
            axis = next((k for k in range(self.ndim) if form.terms == {(("tid", k), 1)}), None)
            if (axis is None and form.terms) or (axis is not None and axis in axes):
                return None
            axes.append(axis)
            constants.append(form.constant if axis is None else 0)
            if axis is not None:
                offset[axis] = form.constant
        parts = tuple(_constant_part(*part) for part in access.parts)
        if not all(k in axes for k in range(self.ndim)) or None in parts:
            return None
        return Element(access.base, tuple(filter(None, parts)), tuple(axes), tuple(constants)), tuple(offset)

    def is_readable(self) -> bool:
        """Whether all threads find what they read as the launch found it, until the rest begins.

        So it is if a thread reads what it clears before it does, at an element that is its own.
        """
        where = self.dependences
        effects = {node for node in walk(self.fn.body) if isinstance(node, Call) and node.op.effect}
        if effects != {access.call for access in where.accesses}:
            return False
        if any(call.op.effect == ATOMIC and call.results[0] in self.used for call in effects):
            return False
        return all(self.is_cleared_last(where.by_base[base]) for base in where.written if not self.is_gathered(base))

    def is_gathered(self, base: BaseArray) -> bool:
        return any(access.call in self.sums for access in self.dependences.by_base[base])

    def is_cleared_last(self, accesses: list[Access]) -> bool:
        reads, writes = ([a for a in accesses if a.writes is wrote] for wrote in (False, True))
        if not reads:
            return True
        if any(access.loops for access in writes) or any(
            BEFORE in self.dependences.order(read, write) for read in reads for write in writes
        ):
            return False
        places = {at and (at[0].axes, at[1]) for at in map(self.element, accesses)}
        return len(places) == 1 and None not in places


def _constant_part(kind: str, at: Any) -> tuple[str, Any] | None:
    """A field, or a component at constant indices."""
    if kind == "field":
        return kind, at
    known = all(isinstance(index, Constant) and index.value >= 0 for index in at)
    return (kind, tuple(int(index.value) for index in at)) if known else None


# ----- the two kernels -----------------------------------------------------------------------------


def _gathering(fn: Function, stencil: _Stencil, offsets: list[Offset], margin: Offset) -> Function:
    """The kernel in which each thread gathers what others would have added to its element."""
    extents = tuple(Value(int32, f"extent_{axis}") for axis in range(len(margin)))
    region = Region((*(Value(p.type, p.hint) for p in fn.params), *extents))
    builder = Builder(region, fn.location)
    params = dict(zip(fn.params, region.params, strict=False))
    totals: dict[Element, Value] = {}
    with builder.active():
        own = thread_index(builder, len(margin))
        for offset in offsets:
            thread, exists = _mirror(own, offset, margin, extents)
            sums = {call: element for call, (element, at) in stencil.sums.items() if at == offset}
            contributions = _contributions(fn.body, _OneThread(params, builder, thread, sums), exists)
            totals.update((at, accumulate(totals[at], x) if at in totals else x) for at, x in contributions.items())
        for element, total in totals.items():
            _add(element, total, own, params, builder)
    return replace(fn, name=f"{fn.name}_gathered", body=region)


def _mirror(
    own: tuple[Value, ...], offset: Offset, margin: Offset, extents: tuple[Value, ...]
) -> tuple[list[Value], Value]:
    """The thread whose element at an offset is the own one, and whether there is such a thread."""
    thread, exists = [], constant(bool_, True)
    for index, distance, more, extent in zip(own, offset, margin, extents, strict=True):
        thread.append(TABLE["sub"](index, distance) if distance else index)
        if distance > 0:
            exists = TABLE["bit_and"](exists, TABLE["ge"](thread[-1], 0))
        if distance < more:
            exists = TABLE["bit_and"](exists, TABLE["lt"](thread[-1], extent))
    return thread, exists


def _contributions(body: Region, copy: _OneThread, exists: Value) -> dict[Element, Value]:
    """What a thread adds, if it exists, by the element; else zeros."""
    there, nowhere = Region(), Region()
    with copy.builder.inside(there):
        copy.into(body.nodes)
    there.yields = tuple(copy.totals.values())
    nowhere.yields = tuple(map(construct.zero, there.yields))
    return dict(zip(copy.totals, copy.builder.branch(exists, there, nowhere), strict=True))


class _OneThread(Cloner):
    """Copies an adjoint for a thread, with some of its sums as values instead of effects."""

    def __init__(self, params: dict[Value, Value], builder: Builder, thread: list[Value], sums: dict[Call, Element]):
        super().__init__(params)
        self.builder, self.thread, self.sums = builder, thread, sums
        self.totals: dict[Element, Value] = {}
        """What the thread has added so far."""

    def nodes(self, nodes: list[Node]) -> list[Node]:
        region = Region()
        with self.builder.inside(region):
            self.into(nodes)
        return region.nodes

    def into(self, nodes: list[Node]) -> None:
        """Copy nodes to the open region."""
        for node in nodes:
            if isinstance(node, If):
                self.branch(node)
            elif not isinstance(node, Call) or node.op.effect not in (WRITE, ATOMIC):
                self.copy(node)
            elif node in self.sums:
                self.add(self.sums[node], self.use(node.args[-1]))

    def copy(self, node: Node) -> None:
        if isinstance(node, Call) and node.op.name == "tid":
            self.rename(node.results, tuple(self.thread))
        else:
            self.builder.region.nodes.append(self.node(node))

    def add(self, element: Element, contribution: Value) -> None:
        before = self.totals.get(element)
        self.totals[element] = contribution if before is None else accumulate(before, contribution)

    def branch(self, node: If) -> None:
        """A branch yields what its arms have added as well; of tests alone it becomes a test without branches.

        Their vectors are masks, and masks of a whole row are found once for it, if no branch is around them.
        """
        joined = _joined_tests(node)
        if joined is not None:
            op, arm = joined
            self.into(arm.nodes)
            self.rename(node.results, (TABLE[op](self.use(node.condition), self.use(arm.yields[0])),))
            return
        before, arms, totals = self.totals, [], []
        for region in node.regions():
            self.totals = {}
            arms.append(self.region(region))
            totals.append(self.totals)
        self.totals = before
        added = list(dict.fromkeys([*totals[0], *totals[1]]))
        for arm, sums_of_arm, other in zip(arms, totals, reversed(totals), strict=True):
            arm.yields += tuple([sums_of_arm[e] if e in sums_of_arm else construct.zero(other[e]) for e in added])
        results = self.builder.branch(self.use(node.condition), *arms)
        self.rename(node.results, results[: len(node.results)])
        for element, contribution in zip(added, results[len(node.results) :], strict=True):
            self.add(element, contribution)


def _joined_tests(node: Node) -> tuple[str, Region] | None:
    """How `and` or `or` of tests without effects can be computed at once, and from which arm; else None."""
    if not isinstance(node, If) or [r.type for r in node.results] != [bool_]:
        return None
    for op, decided, arm in (("bit_or", node.then, node.orelse), ("bit_and", node.orelse, node.then)):
        [known] = decided.yields
        settles = isinstance(known, Constant) and bool(known.value) == (op == "bit_or")
        if settles and not decided.nodes and all(map(_is_test, arm.nodes)):
            return op, arm
    return None


def _is_test(node: Node) -> bool:
    return node.op.name in _TESTS if isinstance(node, Call) else _joined_tests(node) is not None


def _add(element: Element, total: Value, own: tuple[Value, ...], params: dict[Value, Value], builder: Builder) -> None:
    """Add to an element of a gradient, where the array is so large."""
    array = memory.gradient(params[element.base.holder])
    indices = [
        constant(int32, at) if axis is None else own[axis]
        for axis, at in zip(element.axes, element.constants, strict=True)
    ]
    test = None
    for axis, index in enumerate(indices):
        asked = TABLE["lt"](index, memory.shape(array, axis=axis))
        test = asked if test is None else TABLE["bit_and"](test, asked)
    inside = Region()
    with builder.inside(inside):
        for kind, at in element.parts:
            array = memory.field_view(array, name=at) if kind == "field" else memory.component_view(array, *at)
        memory.store(array, *indices, memory.load(array, *indices) + total)
    assert test is not None
    builder.branch(test, inside, Region())


class _WithoutSums(Cloner):
    """Copies an adjoint without some of its sums."""

    def __init__(self, sums: set[Call]):
        super().__init__()
        self.sums = sums

    def nodes(self, nodes: list[Node]) -> list[Node]:
        return super().nodes([node for node in nodes if node not in self.sums])


def _rest(fn: Function, stencil: _Stencil) -> Function | None:
    """The adjoint without the sums that are gathered; None if nothing is left to do."""
    rest = replace(fn, name=f"{fn.name}_rest", body=_WithoutSums({*stencil.sums}).region(fn.body))
    effects = (node for node in walk(rest.body) if isinstance(node, Call) and node.op.effect in (WRITE, ATOMIC))
    return rest if any(effects) else None
