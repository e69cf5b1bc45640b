"""`ArrayUses`: what a program does to each of the arrays that come with its parameters (mod/ref).

Guarantees: for a program whose calls are inlined, or are those of shared functions, every access to an array parameter,
to an array in a struct parameter, to arrays that elements of arrays refer to (`in_elements`), and to the gradients of
all these is counted; an access that may go to several arrays counts for each. What is used `always` is used by
every thread, whatever happens: what stands under a branch or in a loop may be left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ...ir.def_use import defining_calls, used_values
from ...ir.nodes import Call, Function, If, Region, Value, While
from ...types.array_ref import ArrayRef, element_refs
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays, is_struct
from .accesses import with_accesses
from .alias import UNKNOWN, VIEWS, BaseArray, PointsTo, points_to
from .effects import array_effects, based_on, calls_in, effects_of

_EXTREMES = ("atomic_min", "atomic_max")


@dataclass
class ArrayUse:
    """What a program does to one array."""

    reads: bool = False
    writes: bool = False
    updates: bool = False
    """By atomics."""
    extremes: bool = False
    """By `atomic_min` or `atomic_max`, whose adjoints look at what is there afterwards."""
    always: bool = False
    atomics: list[Call] = field(default_factory=list)
    summed: bool = False
    """Whether all that happens to it are sums of floats whose results nobody uses."""
    gathered: bool = False
    """Summed, and only at addresses that all threads share."""
    near: int | None = None
    """Summed, and only at leading indices near the thread's first one: how near."""

    @property
    def changes(self) -> bool:
        return self.writes or self.updates

    def join(self, other: ArrayUse) -> None:
        """Count what happens to the same array under another name."""
        self.reads, self.writes = self.reads or other.reads, self.writes or other.writes
        self.updates, self.extremes = self.updates or other.updates, self.extremes or other.extremes

    def __str__(self) -> str:
        """The use in words."""
        words = [("reads", self.reads), ("writes", self.writes), ("updates", self.updates), ("always", self.always)]
        sums = [("sums", self.summed), ("at shared addresses", self.gathered), (f"near {self.near}", bool(self.near))]
        return ", ".join(word for word, holds in (*words, *sums) if holds) or "nothing"


class ArrayUses(dict[ArrayRef, ArrayUse]):
    """The uses of arrays by a program: of all array parameters, and of what else it reaches."""

    def __init__(self, uses: Mapping[ArrayRef, ArrayUse] | None = None):
        super().__init__(uses or {})
        self.returns = False
        """Whether the result of an atomic is used."""
        self.stores_arrays = False
        """Whether references to arrays are stored in elements."""
        self.fields_written: set[str | None] = set()
        """The fields in elements through which arrays are written that elements refer to; None: through any."""

    def use(self, ref: ArrayRef) -> ArrayUse:
        """The use of an array, noted from now on."""
        return self.setdefault(ref, ArrayUse())

    @property
    def read(self) -> set[ArrayRef]:
        """The arrays, gradients apart, that are read."""
        return {ref for ref, use in self.items() if use.reads and not ref.is_grad}

    @property
    def changed(self) -> set[ArrayRef]:
        """The arrays, gradients apart, that are written or updated."""
        return {ref for ref, use in self.items() if use.changes and not ref.is_grad}

    @property
    def extremes(self) -> set[ArrayRef]:
        """The arrays whose contents after a launch decide where gradients go."""
        return {ref for ref, use in self.items() if use.extremes and not ref.is_grad}

    @property
    def followed(self) -> bool:
        """Whether arrays that elements refer to are used."""
        return any(ref.in_elements for ref in self)

    @property
    def summed(self) -> list[ArrayRef]:
        """The arrays, and then the gradients, that are only summed into."""
        refs = (ref for ref, use in self.items() if use.summed)
        return sorted(refs, key=lambda ref: (ref.is_grad, ref.position))

    def unify(self, same: Iterable[tuple[int, int]]) -> ArrayUses:
        """The uses where pairs of parameters are one array, under its first name."""
        first, uses = {k: j for j, k in same}, ArrayUses()
        vars(uses).update(vars(self))
        for ref, use in self.items():
            uses.use(ref._replace(position=first.get(ref.position, ref.position))).join(use)
        return uses

    def without_sums(self) -> ArrayUses:
        """The same where every atomic is a real one."""
        uses = ArrayUses({ref: replace(use, summed=False, gathered=False, near=None) for ref, use in self.items()})
        vars(uses).update(vars(self))
        return uses

    def table(self, fn: Function, own: Mapping[ArrayRef, Iterable[tuple[int, int]]] | None) -> str:
        """The uses in lines, for dumps. own: see `ownership.own_indices`."""
        names = [p.hint or f"%{k}" for k, p in enumerate(fn.params)]
        axes = {ref: [f"{axis} is thread {t}" for t, axis in sorted(pairs)] for ref, pairs in (own or {}).items()}
        rows = [(ref.name(names), str(use), axes.get(ref)) for ref, use in sorted(self.items())]
        width = max((len(name) for name, _, _ in rows), default=0)
        return "".join(
            f"  {name:{width}}  {use}" + (f"; index {', '.join(at)}" if at else "") + "\n" for name, use, at in rows
        )


def array_uses(fn: Function, arrays: Mapping[Value, PointsTo] | None = None) -> ArrayUses:
    """What a program does to the arrays of its parameters. arrays: what `points_to` tells, where it is known."""
    expanded = with_accesses(fn)
    return _Uses(expanded, points_to(expanded) if arrays is None or expanded is not fn else arrays).uses


class _Uses:
    def __init__(self, fn: Function, arrays: Mapping[Value, PointsTo]):
        self.arrays, self.gradients, self.definitions = arrays, gradient_arrays(fn), defining_calls(fn.body)
        self.position = {p: k for k, p in enumerate(fn.params)}
        self.in_elements = element_refs([p.type for p in fn.params])
        known = (k for k, p in enumerate(fn.params) if isinstance(p.type, ArrayType))
        self.uses = ArrayUses({ArrayRef(k): ArrayUse() for k in known})
        used = used_values(fn.body)
        for call, own in array_effects(fn.body, arrays).calls:
            for use in self.of(own.reads):
                use.reads = True
            for use in self.of(own.writes):
                use.writes = True
            for use in self.of(own.updates):
                use.updates = True
                use.extremes |= call.op.name in _EXTREMES
            self.uses.returns |= bool(own.updates and used.intersection(call.results))
            self.elements(call, own.stores)
        for ref in self.refs(needed_arrays(fn.body, arrays)):
            self.uses.use(ref).always = True

    def of(self, values: Iterable[Value]) -> Iterable[ArrayUse]:
        """The uses of the arrays that some values may be."""
        refs: set[ArrayRef] = set()
        for value in values:
            bases = self.arrays.get(value, UNKNOWN)
            known = self.refs(base for base in bases if base is not None)
            refs.update(known)
            if is_struct(value.type):  # native code reaches the gradients of arrays in structs, too
                refs.update(ref._replace(is_grad=True) for ref in known)
            if None in bases:  # unknown memory may be any that elements of parameters refer to
                is_grad = value in self.gradients
                refs.update(ref._replace(is_grad=is_grad) for ref in self.in_elements)
        return [self.uses.use(ref) for ref in refs]

    def refs(self, bases: Iterable[BaseArray]) -> list[ArrayRef]:
        at = self.position
        return [ArrayRef(at[base.holder], base.path, base.is_grad) for base in bases if base.holder in at]

    def elements(self, call: Call, changed: Iterable[Value]) -> None:
        """Note what is written through references in elements, and which are stored there."""
        arrays = [a for a in changed if isinstance(a.type, ArrayType) and None in self.arrays.get(a, UNKNOWN)]
        self.uses.fields_written.update(_field(a, self.definitions) for a in arrays)
        if changed and not call.row.opaque:
            self.uses.stores_arrays |= any(holds_arrays(a.type) for a in call.args[1:])


def _field(a: Value, calls: Mapping[Value, Call]) -> str | None:
    """The field of a struct that an array was taken from."""
    call = calls.get(a)
    if call is None or call.op.name not in ("field", "load"):
        return None
    if call.op.name == "load":  # of a view of one field
        call = calls.get(call.args[0])
        if call is None or call.op.name != "field_view":
            return None
    return str(call.attributes.get("name"))


def gradient_arrays(fn: Function) -> set[Value]:
    """The values that are gradient arrays for certain, also of arrays in memory unknown here."""
    known: set[Value] = set()
    for call in calls_in(fn.body):
        if call.op.name == "gradient" or (call.op.name in VIEWS and call.args[0] in known):
            known.update(call.results)
    return known


# ----- must access --------------------------------------------------------------------------------


def needed_arrays(region: Region, arrays: Mapping[Value, PointsTo]) -> set[BaseArray]:
    """The arrays that every run of a region reads, writes or updates."""
    bases: set[BaseArray] = set()
    for node in region.nodes:
        if isinstance(node, Call):
            bases |= _accessed_array(node, arrays)
        elif isinstance(node, If):
            bases |= needed_arrays(node.then, arrays) & needed_arrays(node.orelse, arrays)
        elif isinstance(node, While):
            bases |= needed_arrays(node.before, arrays)
    return bases


def _accessed_array(call: Call, arrays: Mapping[Value, PointsTo]) -> set[BaseArray]:
    """The array that a call reads or writes, if it is one that the program knows."""
    if isinstance(call.op, Function) or call.op.opaque or not any(effects_of(call)):
        return set()
    bases = arrays.get(call.args[0], frozenset())
    return {base for base in bases if base is not None} if len(bases) == 1 else set()


# ----- order --------------------------------------------------------------------------------------


def read_after_write(fn: Function, read: ArrayRef, written: ArrayRef) -> bool:
    """Whether a thread may read one of its arrays after it wrote another one."""
    fn = with_accesses(fn)
    arrays = points_to(fn)

    def reaches(values: tuple[Value, ...], ref: ArrayRef) -> bool:
        at = fn.params[ref.position]
        known = None if ref.in_elements else BaseArray(at, ref.path, ref.is_grad)
        return any(base in (None, known) for base in based_on(values, arrays))

    def scan(region: Region, after: bool) -> tuple[bool, bool]:
        """Whether such a read is met, and whether the write was met when the region ends."""
        met = False
        for node in region.nodes:
            if isinstance(node, Call):
                effects = effects_of(node)
                met |= after and reaches(effects.loads, read)
                after |= reaches(effects.stores, written)
                continue
            times = 1 if isinstance(node, If) else 2  # the second iteration of a loop comes after the first
            ends = [after]
            for inner in node.regions() * times:
                inner_met, end = scan(inner, after if isinstance(node, If) else any(ends))
                met |= inner_met
                ends.append(end)
            after = any(ends)
        return met, after

    return scan(fn.body, False)[0]
