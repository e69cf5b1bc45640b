"""Memory-to-register promotion: contents that a reverse could not find in memory again become variables.

Guarantees: the program does what it did. Local arrays whose accesses are all plain disappear: their
contents become a vector that travels like any variable. An element of an array argument that a thread
reads, overwrites, reads and overwrites again is read once where its story begins; later reads take what
the thread wrote, as constants where the argument has no gradient. Stores to arguments stay. For the adjoint
only: in the launch itself memory is faster.

It relies on threads not racing, as `primal_reads` does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.builder import Builder, constant
from ...ir.nodes import Call, Constant, For, Function, If, Node, Region, Value, While, walk
from ...ir.rewrite import Rewriter
from ...ops import construct, memory
from ...ops.choice import cast
from ...ops.registry import TABLE
from ...types.compounds import is_compound, matrix, size_of, vector
from ...types.cotangents import has_cotangent
from ...types.scalars import NUMBERS, bool_, int32, is_signed
from ..analysis.affine import leaves
from ..analysis.alias import VIEWS, BaseArray
from ..analysis.dependence import BEFORE, Access, Dependences, Loop
from .primal_reads import written_around
from .recompute import CONSTANT

LARGEST_LOCAL = 256  # numbers: a larger local array stays in memory
_COMBINED = {"atomic_add": "add", "atomic_sub": "sub", "atomic_min": "min", "atomic_max": "max"}
_MOST_ELEMENTS = 64  # of arguments carried in one kernel; each costs a pass over the program


def promote_memory(fn: Function, with_gradient: frozenset[BaseArray] | None = None) -> Function:
    """`fn` with contents carried in variables where that is needed and possible.

    with_gradient: the arrays that have one, or None for all.
    """
    for call in [n for n in walk(fn.body) if isinstance(n, Call) and n.op.name == "local_array"]:
        fn = _local(fn, call)
    for _ in range(_MOST_ELEMENTS):
        story = _next_element(fn)
        if story is None:
            break
        if with_gradient is not None and has_cotangent(story.whole):
            story.constant = story.base not in with_gradient
        fn = replace(fn, body=_Carrier(story).region(fn.body))
    return fn


@dataclass
class Story:
    """Memory to carry in a variable, from its first access in `region` to the end of it."""

    accesses: dict[Call, Access]
    region: Region
    whole: Any
    """The type of the variable."""
    involved: set[Node]
    """The accesses, and the nodes of the region and inside it that have some in them."""
    maker: Call | None = None
    """The call that makes a local array; what an argument holds is read instead."""
    shapes: dict[Node, Constant] = field(default_factory=dict)
    """The calls that ask for an extent of the local array or a view of it, with the answers."""
    first: Access | None = None
    homes: _Homes | None = None
    definitions: dict[Value, Call] = field(default_factory=dict)
    constant: bool = False
    """Whether no derivative passes through the memory."""

    @property
    def base(self) -> BaseArray:
        return next(iter(self.accesses.values())).base


# ----- local arrays -----------------------------------------------------------------------------


def _local(fn: Function, maker: Call) -> Function:
    """Replace a local array by a variable, if every access is plain."""
    array = maker.results[0]
    whole = _content_type(array.type.dtype, array.type.local_shape)
    dependences, base = Dependences(fn), BaseArray(array)
    calls = {a.call: a for a in dependences.by_base.get(base, ())}
    if whole is None or base in dependences.vague or not _plain(calls) or _escapes(fn.body, base, dependences, calls):
        return fn
    homes = _Homes(fn.body)
    region = homes.region_of[maker]
    shapes: dict[Node, Constant] = dict(_extents(fn.body, base, dependences))
    story = Story(calls, region, whole, homes.involved_nodes((*calls, *shapes), region), maker, shapes)
    return replace(fn, body=_Carrier(story).region(fn.body))


def _content_type(dtype: Any, extents: tuple[int, ...]) -> Any:
    """The vector or matrix type that holds a whole local array, or None."""
    count = math.prod(extents)
    if not 1 <= count * size_of(dtype) <= LARGEST_LOCAL:
        return None
    if dtype in NUMBERS:
        return vector(count, dtype)
    return matrix((count, dtype.size), dtype.dtype) if is_compound(dtype) and dtype.dtype in NUMBERS else None


def _plain(accesses: dict[Call, Access]) -> bool:
    return all(call.op.name in ("load", "store", "atomic_exch", *_COMBINED) for call in accesses)


def _extents(region: Region, base: BaseArray, dependences: Dependences) -> Iterator[tuple[Call, Constant]]:
    """Questions for extents of a local array, with the answers; views lack its first dimensions."""
    whole = base.holder.type
    for node in walk(region):
        if isinstance(node, Call) and node.op.name == "shape" and base in dependences.points_to[node.args[0]]:
            axis = whole.ndim - node.args[0].type.ndim + node.attributes["axis"]
            yield node, constant(int32, whole.local_shape[axis])


def _escapes(region: Region, base: BaseArray, dependences: Dependences, known: dict[Call, Access]) -> bool:
    """Whether anything but plain accesses, views and questions of shape has the array."""
    for node in walk(region):
        for value in (*node.operands(), *(v for part in node.regions() for v in part.yields)):
            mine = base in dependences.points_to.get(value, ())
            if mine and not (isinstance(node, Call) and (node in known or node.op.name in (*VIEWS, "shape"))):
                return True
    return False


# ----- elements of arguments --------------------------------------------------------------------


def _next_element(fn: Function) -> Story | None:
    """An element that is read after one write and before another, and whose every access is known."""
    dependences = Dependences(fn)
    homes = _Homes(fn.body)
    for access in dependences.accesses:
        at_stake = not access.writes and access.base in dependences.written and access.base not in dependences.vague
        if at_stake and access.base.holder in fn.params:
            if len(written_around(access, dependences)) == 2:
                story = _story(access, dependences, homes)
                if story is not None:
                    return story
    return None


def _story(read: Access, dependences: Dependences, homes: _Homes) -> Story | None:
    """The story of the element that a read is about, or None when it cannot be told from outside."""
    atoms = [leaf for i in read.indices for atom, _ in dependences.affine.of(i).terms for leaf in leaves(atom)]
    region = homes.innermost(atoms, read.call)
    same, others = {}, []
    for access in dependences.by_base[read.base]:
        if homes.contains(region, access.call) and dependences.same(access.indices, read.indices):
            same[access.call] = access
        elif access.writes:
            others.append(access)
    first = next(iter(same.values()))
    start = replace(
        first, parts=(), place=dependences.up_to(region, first.place), loops=homes.loops_around(region, first.loops)
    )
    writes = [a for a in same.values() if a.writes]
    if any(BEFORE in dependences.order(start, a) for a in (*writes, *others)):
        return None  # the element does not hold any more what it held before the launch
    element = replace(read, parts=())
    if any(dependences.order(element, a) for a in others if homes.contains(region, a.call)) or not _plain(same):
        return None  # another write may hit the element
    dtype = read.base.type.dtype
    return Story(
        same, region, dtype, homes.involved_nodes(same, region), None, {}, first, homes, dependences.definitions
    )


class _Homes:
    """In which region each value and node stands."""

    def __init__(self, body: Region):
        self.body = body
        self.region_of: dict[Any, Region] = {}
        self.owners: dict[Region, Node] = {}
        self.enter(body)

    def enter(self, region: Region) -> None:
        self.region_of.update(dict.fromkeys(region.params, region))
        for node in region.nodes:
            self.region_of[node] = region
            self.region_of.update(dict.fromkeys(node.results, region))
            for inner in node.regions():
                self.owners[inner] = node
                self.enter(inner)

    def chain(self, region: Region) -> Iterator[Region]:
        """A region and those around it."""
        yield region
        while region in self.owners:
            region = self.region_of[self.owners[region]]
            yield region

    def innermost(self, values: list[Value], node: Node) -> Region:
        """The region around a node in which the last of some values becomes known."""
        around = list(self.chain(self.region_of[node]))
        regions = [self.beside(self.region_of.get(v, self.body), around) for v in values]
        return max(regions, key=lambda r: len(list(self.chain(r))), default=self.body)

    def beside(self, region: Region, around: list[Region]) -> Region:
        """What the test of a While knows its body is handed: then the body is meant."""
        loop = self.owners.get(region)
        return loop.body if isinstance(loop, While) and loop.body in around else region

    def contains(self, region: Region, node: Node) -> bool:
        return any(r is region for r in self.chain(self.region_of[node]))

    def involved_nodes(self, calls: Iterable[Node], region: Region) -> set[Node]:
        around: set[Node] = set()
        for call in calls:
            node = call
            while node not in around:
                around.add(node)
                if self.region_of[node] is region:
                    break
                node = self.owners[self.region_of[node]]
        return around

    def loops_around(self, region: Region, loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        inside = list(self.chain(region))
        return tuple(loop for loop in loops if any(part in inside for part in loop.regions()))


# ----- rewriting --------------------------------------------------------------------------------


class _Carrier(Rewriter):
    """Threads the variable of one story through the program."""

    def __init__(self, story: Story):
        super().__init__()
        self.story = story
        self.current: Value | None = None

    def region(self, region: Region) -> Region:
        if region is not self.story.region:
            return super().region(region)
        nodes = self.story_nodes(region.nodes)
        self.current = None
        return Region(region.params, nodes, self.uses(region.yields))

    def story_nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            if node is self.story.maker:
                self.current = construct.zero(Value(self.story.whole))
            elif node in self.story.shapes:
                self.rename(node.results, (self.story.shapes[node],))
            elif node not in self.story.involved:
                rewritten.append(self.node(node))
            else:
                builder = Builder(Region(nodes=rewritten), node.location)
                with builder.active():
                    if self.current is None:
                        self.current = self.opening(node, builder)
                    if isinstance(node, Call):
                        self.access(node, builder)
                    else:
                        rewritten.append(self.carry(node))
        return rewritten

    # ----- the first read ---------------------------------------------------------------------

    def opening(self, node: Node, builder: Builder) -> Value:
        """What the element held before the launch. The access may be behind a test: then look at the bounds."""
        first = self.story.first
        assert first is not None
        array = construct.member(self.use(first.base.holder), first.base.path)
        indices = tuple(self.available(i, builder) for i in first.indices)
        if isinstance(node, Call):
            element: Value = memory.load(array, *indices)
            return element
        inside: Value = constant(bool_, True)
        for axis, i in enumerate(indices):
            extent = cast(memory.shape(array, axis=axis), to=i.type)
            lowest = -extent if is_signed(i.type) else i.type(0)
            inside = TABLE["bit_and"](inside, TABLE["bit_and"](TABLE["ge"](i, lowest), TABLE["lt"](i, extent)))
        then = Region()
        with builder.inside(then):
            then.yields = (memory.load(array, *indices),)
        return builder.branch(inside, then, Region(yields=(construct.zero(then.yields[0]),)))[0]

    def available(self, index: Value, builder: Builder) -> Value:
        """An index where the story begins: computed again if its computation stands further inside."""
        homes, first = self.story.homes, self.story.first
        assert homes is not None and first is not None
        if isinstance(index, Constant) or homes.region_of[index] in list(homes.chain(self.story.region)):
            return self.use(index)
        call = self.story.definitions[index]
        args = tuple(self.available(a, builder) for a in call.args)
        results: Any = builder.call(call.op, args, tuple(r.type for r in call.results), call.attributes)
        again: Value = results[call.results.index(index)] if isinstance(results, tuple) else results
        return again

    # ----- nodes with accesses inside -----------------------------------------------------------

    def carry(self, node: Node) -> Node:
        """The node with the variable going in and coming out."""
        result = Value(self.story.whole)
        if isinstance(node, If):
            copy: Node = self.branch(node)
        elif isinstance(node, For):
            start, stop, step = self.uses((node.start, node.stop, node.step))
            init = (*self.uses(node.init), self.now())
            copy = For(start, stop, step, init, self.passing(node.body))
        else:
            assert isinstance(node, While)
            init = (*self.uses(node.init), self.now())
            copy = While(init, self.passing(node.before), self.passing(node.body))
        copy.results, copy.location, copy.trips = (*node.results, result), node.location, node.trips
        self.current = result
        return copy

    def now(self) -> Value:
        assert self.current is not None
        return self.current

    def branch(self, node: If) -> If:
        start, arms = self.now(), []
        for arm in node.regions():
            self.current = start
            nodes = self.story_nodes(arm.nodes)
            arms.append(Region(arm.params, nodes, (*self.uses(arm.yields), self.now())))
        return If(self.use(node.condition), *arms)

    def passing(self, region: Region) -> Region:
        """A part of a loop that takes the variable as its last parameter and yields it."""
        param = self.current = Value(self.story.whole)
        nodes = self.story_nodes(region.nodes)
        return Region((*region.params, param), nodes, (*self.uses(region.yields), self.now()))

    # ----- accesses -----------------------------------------------------------------------------

    def access(self, call: Call, builder: Builder) -> None:
        name, now = call.op.name, self.now()
        steps = self.steps(self.story.accesses[call])
        if self.story.maker is None and name != "load":
            builder.region.nodes.append(self.node(call))
        if name != "store":
            self.rename(call.results, (self.read(_part(now, steps), builder),))
        if name != "load":
            value = self.use(call.args[-1])
            if name in _COMBINED:
                value = TABLE[_COMBINED[name]](self.use(call.results[0]), value)
            self.current = _replace_part(now, steps, value)

    def read(self, part: Value, builder: Builder) -> Value:
        """What a read gives."""
        if not self.story.constant:
            return part
        value: Value = builder.call(CONSTANT, (part,), (part.type,))
        return value

    def steps(self, access: Access) -> list[tuple[str, Any]]:
        """From the variable to the part that an access is about."""
        steps: list[tuple[str, Any]] = []
        if self.story.maker is not None:
            extents = self.story.maker.results[0].type.local_shape
            position: Value = constant(int32, 0)
            for i, sign, extent in zip(self.uses(access.indices), access.signs, extents, strict=True):
                at = cast(i, to=int32)
                if sign <= 0:
                    at = TABLE["where"](TABLE["lt"](at, 0), at + int32(extent), at)
                position = position * int32(extent) + at
            steps.append(("component", (position,)))
            element = self.story.maker.results[0].type.dtype
            if is_compound(element) and element is not vector(element.size, element.dtype):
                steps.append(("components of", element))
        steps += [(kind, self.uses(what) if kind == "component" else what) for kind, what in access.parts]
        return steps


def _part(value: Value, steps: list[tuple[str, Any]]) -> Value:
    for kind, what in steps:
        if kind == "components of":  # a vector in the place of a matrix, a quaternion or a transform
            value = construct.construct(value, to=what)
        else:
            value = construct.field(value, name=what) if kind == "field" else construct.extract(value, *what)
    return value


def _replace_part(value: Value, steps: list[tuple[str, Any]], part: Value) -> Value:
    """The value with one part of it replaced."""
    if not steps:
        return part
    (kind, what), *rest = steps
    inner = _replace_part(_part(value, steps[:1]), rest, part) if rest else part
    if kind == "components of":
        return construct.construct(inner, to=value.type)  # type: ignore[no-any-return]
    if kind == "field":
        return construct.with_field(value, inner, name=what)  # type: ignore[no-any-return]
    return construct.insert(value, *what, inner)  # type: ignore[no-any-return]
