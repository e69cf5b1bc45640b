"""Base class of forward-mode rewrites: keeps a dual next to each value, through branches, loops and structs.

What goes along with a value is a `Tangent`: one dual per float or array in it (or fewer). Branches
and loops get more results and carried values; nothing else of the program changes. What a call does with
duals is the business of the subclass. Loops carry a dual as soon as one arrives from before the
loop or from the end of its body: the body is translated again until that set no longer grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.builder import Builder
from ...ir.nodes import Call, For, Function, If, Node, Region, Value, While
from ...ir.rewrite import Rewriter
from ...ops.tangents import Tangent, TangentList, slots, tangent_at, union_of_paths
from ...types.array_ref import Fields

Shape = list[list[Fields]]
"""Per value the paths at which it has duals."""


class Duals(Rewriter):
    """Rewrites one function; `duals` holds those of each of its values."""

    def __init__(self) -> None:
        super().__init__()
        self.builder = Builder()
        self.duals: dict[Value, Tangent] = {}
        self.shapes: dict[Node, Shape] = {}

    def call(self, node: Call) -> None:
        """Append a call and what its duals need."""
        raise NotImplementedError

    def rewrite(self, fn: Function, more: tuple[Value, ...]) -> Function:
        """The function with duals, and `more` parameters."""
        with self.builder.active():
            body = self.inside(fn.body)
        return replace(fn, body=Region((*fn.params, *more), body.nodes, self.uses(fn.body.yields)))

    # ----- duals of values ---------------------------------------------------------------------

    def of(self, values: Sequence[Value]) -> TangentList:
        return [self.duals.get(v, {}) for v in values]

    def fresh(self, values: Sequence[Value], shape: Shape) -> tuple[Value, ...]:
        """New duals of some values, to be parameters or results."""
        fresh: list[Value] = []
        for value, paths in zip(values, shape, strict=True):
            types = dict(slots(value.type))
            own = {path: Value(types[path], value.hint) for path in paths}
            self.duals[value] = own
            fresh.extend(own.values())
        return tuple(fresh)

    def flat(self, values: Sequence[Value], shape: Shape) -> tuple[Value, ...]:
        """Values and then their duals at the paths of `shape`, zero where there is none."""
        tangents = [
            tangent_at(value.type, path, tangent)
            for value, tangent, paths in zip(values, self.of(values), shape, strict=True)
            for path in paths
        ]
        return (*self.uses(tuple(values)), *tangents)

    # ----- regions ------------------------------------------------------------------------------

    def inside(self, region: Region, carried: Sequence[Value] = (), shape: Shape | None = None) -> Region:
        """A region without yields yet; its `carried` parameters get duals of the given shape."""
        copy = Region((*region.params, *self.fresh(carried, shape or [])))
        with self.builder.inside(copy):
            for node in region.nodes:
                with self.builder.at(node.location):
                    self.visit(node)
        return copy

    def visit(self, node: Node) -> None:
        if isinstance(node, Call):
            self.call(node)
        elif isinstance(node, If):
            self.either(node)
        elif isinstance(node, For):
            self.count(node)
        else:
            assert isinstance(node, While)
            self.repeat(node)

    def rename_operands(self, node: Call) -> Call:
        """The call over renamed operands; itself if none has another name."""
        args = self.uses(node.args)
        if args is node.args:
            return node
        return Call(node.op, args, node.attributes, results=node.results, location=node.location)

    def append(self, node: Node) -> None:
        self.builder.region.nodes.append(node)

    def either(self, node: If) -> None:
        arms = [self.inside(arm) for arm in node.regions()]
        sides = [self.of(arm.yields) for arm in node.regions()]
        shape = [union_of_paths(r.type, list(pair)) for r, *pair in zip(node.results, *sides, strict=True)]
        for copy, arm in zip(arms, node.regions(), strict=True):
            copy.yields = self.flat(arm.yields, shape)
        results = (*node.results, *self.fresh(node.results, shape))
        self.append(If(self.use(node.condition), *arms, results=results, location=node.location))

    def grow(self, values: Sequence[Value], shape: Shape, ends: Sequence[Value]) -> Shape:
        """A shape and what arrives at the ends of a loop body."""
        joint = []
        for value, paths, tangent in zip(values, shape, self.of(ends), strict=True):
            joint.append(union_of_paths(value.type, [dict.fromkeys(paths, value), tangent]))
        return joint

    def count(self, node: For) -> None:
        carried = node.carried
        shape = self.grow(carried, self.shapes.get(node, [[] for _ in carried]), node.init)
        while True:
            body = self.inside(node.body, carried, shape)
            wider = self.grow(carried, shape, node.body.yields)
            if wider == shape:
                break
            shape = wider
        self.shapes[node] = shape
        body.yields = self.flat(node.body.yields, shape)
        start, stop, step = self.uses((node.start, node.stop, node.step))
        init = self.flat(node.init, shape)
        results = (*node.results, *self.fresh(node.results, shape))
        self.append(For(start, stop, step, init, body, results=results, location=node.location, trips=node.trips))

    def repeat(self, node: While) -> None:
        carried, passed = node.carried, node.passed
        shape = self.grow(carried, self.shapes.get(node, [[] for _ in carried]), node.init)
        while True:
            before = self.inside(node.before, carried, shape)
            through = [union_of_paths(v.type, [tangent]) for v, tangent in zip(passed, self.of(passed), strict=True)]
            body = self.inside(node.body, node.body.params, through)
            wider = self.grow(carried, shape, node.body.yields)
            if wider == shape:
                break
            shape = wider
        self.shapes[node] = shape
        body.yields = self.flat(node.body.yields, shape)
        before.yields = (self.use(node.test), *self.flat(passed, through))
        init = self.flat(node.init, shape)
        results = (*node.results, *self.fresh(node.results, through))
        self.append(While(init, before, body, results=results, location=node.location, trips=node.trips))
