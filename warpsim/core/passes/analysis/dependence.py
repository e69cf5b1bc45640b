"""Dependence analysis: which accesses of one thread may meet at one element, and which comes first.

Guarantees: `Dependences.order(a, b)` tells for two accesses of one array whether `b` may happen before `a` at
the element that `a` touches, and whether it may happen after; when neither, they never meet. Indices are
compared as sums of constants, unknowns and loop indices: `x[k + 1]` written in iteration `k` is what `x[k]`
reads in the next. Negative indices count from the end, so two indices are compared only if the signs of both are
known and equal: -1 and 2 are one element of three. What the comparison cannot decide counts as possible. Index
arithmetic is taken not to overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ir.def_use import defining_calls
from ...ir.nodes import Call, Constant, For, Function, Region, Value, While
from ...ops.registry import ATOMIC, READ, WRITE
from ...types import scalars
from ...types.arrays import ArrayType
from .affine import Affine, AffineForms, leaves
from .alias import TO_ARRAY, BaseArray, PointsTo, points_to, views_of
from .effects import array_effects
from .ranges import Ranges

BEFORE, AFTER = "before", "after"
Loop = For | While
Position = tuple[tuple[int, int], ...]
"""Which region and which node of it, from the outermost to the innermost."""


@dataclass(eq=False)
class Access:
    """One load, store or atomic: the array, the full index of the element, and the part of it that is meant."""

    call: Call
    base: BaseArray
    indices: tuple[Value, ...]
    operands: tuple[tuple[Call, int], ...]
    """Where the indices stand: as which operands of this call, or of those that made the view."""
    signs: tuple[int, ...]
    """Of each index: 1 where it is not negative, -1 where it is, 0 where nobody knows."""
    parts: tuple[tuple[str, Any], ...]
    """Fields and components from the element inwards: ("field", name) or ("component", indices)."""
    loops: tuple[Loop, ...]
    place: Position
    indexed: bool = False
    """Whether the array goes through tables, which may name an element twice."""

    @property
    def writes(self) -> bool:
        return bool(self.call.op.effect != READ)


class Dependences:
    """Accesses to known arrays, and what is known of their indices."""

    def __init__(self, fn: Function):
        self.ranges = Ranges(fn)
        self.trusting = False
        """Whether indices of unknown sign are compared as if they were not negative."""
        self.points_to = points_to(fn)
        self.definitions = defining_calls(fn.body)
        self.homes: dict[Value, tuple[Loop, ...]] = {}
        """The loops that a value is defined in, outermost first."""
        self.steps: dict[Value, int] = {}
        """Loop indices, with the sign of their step; 0 where it is not known."""
        self.accesses: list[Access] = []
        self.vague: set[BaseArray] = set()
        """Arrays with accesses that nobody can compare: through choices, functions, unknown memory."""
        self.written: set[BaseArray] = set()
        self.lent: set[BaseArray] = set()
        """Arrays that functions with gradients of their own are given."""
        self.blind: dict[BaseArray, list[tuple[tuple[Loop, ...], Position]]] = {}
        """Where the vague accesses stand that may write."""
        self.lends: dict[Call, tuple[tuple[Loop, ...], Position]] = {}
        """Where the calls of functions with gradients or replays of their own stand."""
        self.extents: set[tuple[BaseArray, int, int]] = set()
        """Arrays, axes and extents that they do not have, as assertions say."""
        self.affine = AffineForms(self.definitions)
        self.numbers: dict[Region, int] = {}
        self.enter(fn.body, (), ())
        self.by_base: dict[BaseArray, list[Access]] = {}
        for access in self.accesses:
            self.by_base.setdefault(access.base, []).append(access)

    # ----- one walk ---------------------------------------------------------------------------

    def enter(self, region: Region, loops: tuple[Loop, ...], place: Position) -> None:
        number = self.numbers[region] = len(self.numbers) + 1
        self.homes.update(dict.fromkeys(region.params, loops))
        for k, node in enumerate(region.nodes):
            at = (*place, (number, k))
            self.homes.update(dict.fromkeys(node.results, loops))
            if isinstance(node, Call):
                self.call(node, loops, at)
                continue
            inner = (*loops, node) if isinstance(node, For | While) else loops
            for turn, part in enumerate(node.regions()):
                # The test of a While comes before its body; the arms of an If exclude each other.
                self.enter(part, inner, (*at, (-number, turn)) if isinstance(node, While) else at)
                if isinstance(node, While) and part is node.before:
                    self.pass_on(node)
            if isinstance(node, For):
                self.count(node)
            elif isinstance(node, While):
                self.find_indices(node)

    def call(self, call: Call, loops: tuple[Loop, ...], place: Position) -> None:
        if call.op.name == "assert":
            self.note_extent(self.definitions.get(call.args[0]))
        arrays = [a for a in call.args if a in self.points_to]
        if isinstance(call.op, Function):
            self.lends[call] = (loops, place)
            effects = array_effects(call.op.body, self.points_to)
            changed = effects.written | effects.updated
            for a in arrays:
                self.spoil(a, None in changed or bool(self.points_to[a] & changed), loops, place)
                self.lent.update(base for base in self.points_to[a] if base is not None)
        elif call.op.effect in (READ, WRITE, ATOMIC) and arrays:
            writes = call.op.effect != READ
            about_element = isinstance(call.args[0].type, ArrayType) and not call.op.opaque
            access = self.parse(call, loops, place) if about_element else None
            if access is not None:
                self.accesses.append(access)
                self.written.update([access.base] if writes else [])
            for a in arrays[access is not None :]:
                self.spoil(a, writes, loops, place)  # among them structs with arrays that go to memory

    def looked_at(self, call: Call) -> PointsTo:
        """The arrays whose contents the gradient of a function may read."""
        grad = call.callee.grad
        if grad is None:
            return frozenset()
        read = array_effects(grad.body, points_to(grad)).read
        passed = dict(zip(grad.params, call.args, strict=False))
        holders = {base.holder for base in read if base is not None and not base.is_grad}
        bases = (self.points_to.get(passed[h], frozenset()) for h in holders if h in passed)
        return frozenset().union(*bases, self.lent if None in read else ())

    def spoil(self, array: Value, writes: bool, loops: tuple[Loop, ...], place: Position) -> None:
        bases = [base for base in self.points_to[array] if base is not None]
        self.vague.update(bases)
        if writes:
            self.written.update(bases)
            for base in bases:
                self.blind.setdefault(base, []).append((loops, place))

    def parse(self, call: Call, loops: tuple[Loop, ...], place: Position) -> Access | None:
        """The access that a call makes, through views down to the array itself."""
        array, views = views_of(call.args[0], self.definitions, TO_ARRAY)
        places: list[tuple[Call, int]] = []
        parts: list[tuple[str, Any]] = []
        for view in reversed(views):
            if view.op.name == "view":
                places += ((view, k) for k in range(1, len(view.args)))
            elif view.op.name == "field_view":
                parts.append(("field", view.attributes["name"]))
            elif view.op.name == "component_view":
                parts.append(("component", view.args[1:]))
        places += ((call, k) for k in range(1, 1 + call.args[0].type.ndim))
        maker = self.definitions.get(array)
        sources = self.points_to[call.args[0]]
        if len(sources) != 1 or None in sources:
            return None
        [base] = sources
        assert base is not None
        if array is not base.holder and (maker is None or maker.op.name != "field"):
            return None  # one of several views of the array
        indices = tuple(each.args[k] for each, k in places)
        signs = tuple(self.sign(each, k) for each, k in places)
        return Access(call, base, indices, tuple(places), signs, tuple(parts), loops, place, array.type.indexed)

    def note_extent(self, test: Call | None) -> None:
        """Learn from an assertion that an extent is not some number."""
        if test is None or test.op.name != "ne" or not isinstance(test.args[1], Constant):
            return
        asked = self.definitions.get(test.args[0])
        if asked is not None and asked.op.name == "shape":
            for base in filter(None, self.points_to[asked.args[0]]):
                self.extents.add((base, asked.attributes["axis"], int(test.args[1].value)))

    def sign(self, call: Call, k: int) -> int:
        limits = self.ranges.index(call, k)
        return 1 if limits.lo >= 0 else -1 if limits.hi < 0 else 0

    def comparable(self, a: int, b: int) -> bool:
        """Whether indices of these signs are different elements where they are different numbers."""
        return self.trusting or (a == b and a != 0)

    # ----- loop indices -----------------------------------------------------------------------

    def count(self, node: For) -> None:
        step = int(node.step.value) if isinstance(node.step, Constant) else 0
        self.steps[node.index] = (step > 0) - (step < 0)

    def pass_on(self, node: While) -> None:
        """What the test hands on is the same number in the body."""
        for value, param in zip(node.passed, node.body.params, strict=True):
            if scalars.is_integer(param.type):
                self.affine.equate(param, value)

    def find_indices(self, node: While) -> None:
        """Carried values that grow by a constant in every iteration count them."""
        for param, value in zip(node.carried, node.body.yields, strict=True):
            if scalars.is_integer(param.type):
                change = self.affine.of(value).plus(self.affine.of(param), -1)
                if not change.terms and change.constant:
                    self.steps[param] = 1 if change.constant > 0 else -1

    def varies(self, atom: Any, loops: tuple[Loop, ...]) -> bool:
        """Whether an unknown may change from iteration to iteration of one of the loops."""
        return any(loop in self.homes.get(leaf, ()) for leaf in leaves(atom) for loop in loops)

    def up_to(self, region: Region, place: Position) -> Position:
        """The node of a region that a place is, or is inside of."""
        k = next(k for k, (number, _) in enumerate(place) if number == self.numbers[region])
        return place[: k + 1]

    def same(self, a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
        """Whether two indices are the same numbers at one moment."""
        return len(a) == len(b) and all(self.affine.of(x) == self.affine.of(y) for x, y in zip(a, b, strict=True))

    def blindly(self, a: Access) -> set[str]:
        """When writes whose elements nobody knows may touch what `a` touches."""
        times: set[str] = set()
        for loops, place in self.blind.get(a.base, ()):
            times |= {BEFORE, AFTER} if a.loops[:1] == loops[:1] != () else in_one_iteration(a.place, place)
        return times

    # ----- order ------------------------------------------------------------------------------

    def order(self, a: Access, b: Access) -> set[str]:
        """When `b` may touch what `a` touches: before it, after it, both, or never (an empty set)."""
        if disjoint_parts(a.parts, b.parts):
            return set()
        common = []
        for x, y in zip(a.loops, b.loops, strict=False):
            if x is not y:
                break
            common.append(x)
        times: set[str] = set()
        for depth in range(len(common)):
            times |= self.in_other_iteration(a, b, tuple(common), depth)
        if self.may_meet(a, b, tuple(common)):
            times |= in_one_iteration(a.place, b.place)
        return times

    def may_meet(self, a: Access, b: Access, common: tuple[Loop, ...]) -> bool:
        """Whether the two may touch one element in the same iteration of all loops around both."""
        own = (*a.loops[len(common) :], *b.loops[len(common) :])
        if a.indexed:
            return True
        for axis, (x, y, *signs) in enumerate(zip(a.indices, b.indices, a.signs, b.signs, strict=True)):
            difference = self.affine.of(x).plus(self.affine.of(y), -1)
            if not any(self.varies(atom, own) for atom, _ in difference.terms):
                if not difference.terms and self.differ(a.base, axis, difference.constant, signs):
                    return False
            # Unknowns that both have may still differ between iterations of a loop around one of them alone.
        return True

    def differ(self, base: BaseArray, axis: int, distance: int, signs: list[int]) -> bool:
        """Whether indices of some signs that are a distance apart are different elements."""
        if not distance or self.comparable(*signs):
            return distance != 0
        if base.type.local_shape is not None:
            return distance % base.type.local_shape[axis] != 0
        return (base, axis, abs(distance)) in self.extents

    def in_other_iteration(self, a: Access, b: Access, common: tuple[Loop, ...], depth: int) -> set[str]:
        """When they may meet in different iterations of loop `depth`, and the same one of those around it."""
        own = (*a.loops[len(common) :], *b.loops[len(common) :])
        moving = (*common[depth:], *own)
        possible = {BEFORE, AFTER}
        if a.indexed:
            return possible
        for x, y, *signs in zip(a.indices, b.indices, a.signs, b.signs, strict=True):
            if self.comparable(*signs):
                possible &= self.iterations_apart(self.affine.of(x), self.affine.of(y), common[depth], moving)
        return possible

    def iterations_apart(self, x: Affine, y: Affine, loop: Loop, moving: tuple[Loop, ...]) -> set[str]:
        """When y in another iteration of `loop` may equal x in this one."""
        both = {BEFORE, AFTER}
        fixed_x, moving_x = self.split(x, moving)
        fixed_y, moving_y = self.split(y, moving)
        distance = fixed_x.plus(fixed_y, -1)
        if distance.terms:
            return both
        if not moving_x and not moving_y:
            return set() if distance.constant else both
        if moving_x != moving_y or len(moving_x) != 1:
            return both
        [(index, factor)] = moving_x
        if index not in self.steps or self.homes_in(index) is not loop:
            return both
        # factor * (this iteration's index - the other's) + distance = 0
        if distance.constant % factor or not distance.constant:
            return set()
        ahead = -distance.constant // factor * self.steps[index]
        return both if ahead == 0 else {BEFORE} if ahead > 0 else {AFTER}

    def homes_in(self, index: Value) -> Loop | None:
        homes = self.homes.get(index, ())
        return homes[-1] if homes else None

    def split(self, number: Affine, moving: tuple[Loop, ...]) -> tuple[Affine, frozenset[tuple[Any, int]]]:
        """A number as the part that is the same in all iterations of some loops, and the rest."""
        rest = frozenset(term for term in number.terms if self.varies(term[0], moving))
        return Affine(number.terms - rest, number.constant), rest


def in_one_iteration(a: Position, b: Position) -> set[str]:
    """Whether place b comes before or after place a; never when they are on two sides of a branch."""
    for (region_a, k), (region_b, m) in zip(a, b, strict=False):
        if region_a != region_b:
            return set()
        if k != m:
            return {BEFORE} if m < k else {AFTER}
    return set()


def disjoint_parts(a: tuple[tuple[str, Any], ...], b: tuple[tuple[str, Any], ...]) -> bool:
    """Whether two parts of one element have nothing in common."""
    for (kind, x), (other, y) in zip(a, b, strict=False):
        if kind == other == "field" and x != y:
            return True
        if kind == other == "component":
            for i, j in zip(x, y, strict=False):
                known = isinstance(i, Constant) and isinstance(j, Constant)
                if known and int(i.value) != int(j.value) and int(i.value) >= 0 and int(j.value) >= 0:
                    return True  # a negative index counts from the end
    return False
