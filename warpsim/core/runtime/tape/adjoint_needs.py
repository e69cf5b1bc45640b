"""Requirements of a kernel's adjoint: the contents to save at a launch, before the adjoint is compiled.

Recording a launch must know which contents some day matter. First the forward program decides, which is
cheap and too careful: every array that is read matters. Only where an overwrite is about to happen, or where
a kernel overwrites what it reads itself, the program of the adjoint is made (no machine code) and
decides exactly: a linear kernel needs no contents at all. That adjoint is the one for gradients in all
arrays of floats, so that arrays may get gradients later; where there is none, or the one for the gradients
that there are needs something else, the latter counts too (`Needs.suited`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ....errors import KernelError, Location
from ...emit.program import Form, FormKind, Program
from ...ir.nodes import Call, Function, walk
from ...passes.analysis.array_uses import array_uses, read_after_write
from ...passes.reverse.extra_params import Before, Returned
from ...passes.simplify.handle_params import resolved, with_handle_params
from ...types.array_ref import ArrayRef, array_refs, element_refs, refers
from ...types.arrays import ArrayType
from ...types.cotangents import has_cotangent
from ...types.structs import members
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..launches.kernel import Kernel, Settings
from ..launches.structures import whole_arguments

Same = tuple[tuple[int, int], ...]


class User:
    """A recorded kernel that may look at the contents of one of its arrays in reverse."""

    __slots__ = ("needs", "ref")

    def __init__(self, needs: Needs, ref: ArrayRef):
        self.needs, self.ref = needs, ref

    def needed(self) -> bool:
        """Whether its adjoint really does."""
        return self.ref in self.needs.looked_at

    def __str__(self) -> str:
        plural = "s" * self.ref.in_elements
        return f"array{plural} {self.needs.words(self.ref)} of kernel {self.needs.kernel.key!r}"


class Always:
    """A user that needs the contents for certain."""

    def __init__(self, what: str):
        self.what = what

    def needed(self) -> bool:
        return True

    def __str__(self) -> str:
        return self.what


class Own(NamedTuple):
    """What a kernel needs of arrays that it writes itself."""

    before: dict[int, list[ArrayRef]]
    """Parameters whose contents from before the launch are needed, with the arrays in them."""
    after: tuple[tuple[ArrayRef, User], ...]
    """Arrays whose contents after the launch are needed."""
    recording: bool
    """Whether the launch must note what its atomics return."""


class Needs:
    """The needs of a kernel at fixed argument types.

    same: pairs of parameters that are given one array, see `same_arrays`. gradients: names of the arrays that
    have one; None for all arrays of floats.
    """

    def __init__(
        self, kernel: Kernel, types: tuple[Any, ...], settings: Settings, same: Same = (),
        gradients: frozenset[str] | None = None,
    ):  # fmt: skip
        self.kernel, self.types, self.settings, self.same = kernel, types, settings, same
        self.gradients = gradients
        program = kernel.program(types, settings)
        self.handle_params = program.handle_params
        self.fn = with_handle_params(program.fn, self.handle_params)
        self.arguments = tuple(p.type for p in self.fn.params)
        """The types of the kernel's parameters, and those of the structures that it reaches by ids."""
        self.names = [*kernel.patterns, *(p.hint for p in self.fn.params[len(types) :])]
        refs = array_refs(self.arguments)
        self.name = {ref: ref.name(self.names) for ref in refs}
        self.floats = tuple(ref for ref, t in refs.items() if has_cotangent(t.dtype))
        self.held = element_refs(self.arguments)
        """Arrays that are reached through elements of arrays."""
        self.float_arrays = tuple(ref.position for ref in self.floats if not ref.path)
        uses = array_uses(self.fn) if self.handle_params else program.uses
        self.read, self.changed, self.extremes, self.returns = uses.read, uses.changed, uses.extremes, uses.returns
        self.reads: tuple[tuple[ArrayRef, User], ...] = ()
        if has_own_gradients(kernel.lowered(types)):  # their reverse may read what the kernel does not
            self.read |= self.looked_at
        self.unify({k: j for j, k in same})
        overlapping = (self.read | self.extremes) & self.changed
        reads = [ref for ref in refs if ref in self.read and ref not in overlapping]
        reads += [ref for ref in self.held if ref in self.read]
        self.reads = tuple((ref, User(self, ref)) for ref in reads)
        self.written = tuple(sorted(self.changed))
        special = any(ref.path or t.indexed or refers(t) for ref, t in refs.items())
        self.reaches = bool(self.handle_params or resolved(self.fn))
        """Whether the kernel reaches structures by ids."""
        self.plain = not (special or same or self.returns or self.reaches)
        """Whether all arrays are arguments of their own, so that launches can be recorded the short way."""
        self.plain_reads = tuple((ref.position, user) for ref, user in self.reads) if self.plain else ()
        self.plain_writes = tuple(ref.position for ref in self.written) if self.plain else ()
        self.disjoint = tuple((k, ref.position) for k in self.plain_writes for ref in refs if ref.position != k)
        """Pairs of parameters that must not be given one memory: one of the two is written."""
        self.overlapping = overlapping
        self.changing = bool(overlapping or self.returns)
        """Whether the kernel changes what it reads: then the adjoint tells what to keep of it."""
        self.orders: dict[tuple[ArrayRef, ArrayRef], bool] = {}
        self.choices: dict[tuple[bool, ...], frozenset[str]] = {}
        self.served: dict[frozenset[str], bool] = {}
        self.enough: set[tuple[bool, ...]] = set()
        """Which arrays of floats had gradients in launches that these needs are enough for."""

    def unify(self, first: dict[int, int]) -> None:
        """Count what happens to an array under its first name."""
        for refs in (self.read, self.changed, self.extremes):
            others = {ref for ref in refs if ref.position in first}
            refs -= others
            refs |= {ref._replace(position=first[ref.position]) for ref in others}

    def whole(self, args: Sequence[Any]) -> list[Any]:
        """Arguments, and behind them the structures that they have ids of.

        Raises `StructureIdError` for an id that stands for none.
        """
        return whole_arguments(args, self.handle_params, self.names) if self.handle_params else list(args)

    @cached_property
    def hidden(self) -> Location | None:
        """Where the adjoint reaches a structure whose id does not come from an argument."""
        calls = [] if self.adjoint is None else resolved(self.adjoint.fn)
        return calls[0].location if calls else None

    def form(self, kind: FormKind, gradients: frozenset[str]) -> Form:
        """A form of the kernel for these arguments."""
        return Form(kind, gradients, self.same)

    def words(self, ref: ArrayRef) -> str:
        """An array in messages."""
        return f"in elements of {self.names[ref.position]!r}" if ref.in_elements else repr(self.name[ref])

    def disorder(self, read: ArrayRef, written: ArrayRef) -> bool:
        """Whether a thread may read one array after it wrote the other."""
        if (read, written) not in self.orders:
            self.orders[read, written] = read_after_write(self.fn, read, written)
        return self.orders[read, written]

    def chosen(self, present: tuple[bool, ...]) -> frozenset[str]:
        """The names of the arrays of floats that have gradients."""
        names = self.choices.get(present)
        if names is None:
            pairs = zip(self.floats, present, strict=True)
            names = self.choices[present] = frozenset(self.name[ref] for ref, has in pairs if has)
        return names

    def suited(self, present: tuple[bool, ...]) -> Needs:
        """These needs, or those for the gradients there are, where the adjoint for these needs something else."""
        if not self.changing or present in self.enough:
            return self
        names = self.chosen(present)
        if not self.serves(names):
            return needs_of(self.kernel, self.types, self.settings, self.same, names)
        self.enough.add(present)
        return self

    def serves(self, names: frozenset[str]) -> bool:
        """Whether a tape that kept what these needs ask for has what the adjoint for the named arrays needs."""
        if not self.changing or names == self.gradients:
            return True
        fits = self.served.get(names)
        if fits is None:
            other = needs_of(self.kernel, self.types, self.settings, self.same, names)
            fits = self.gradients is None if other.adjoint is None else other.kept <= self.kept
            self.served[names] = fits = fits and self.adjoint is not None
        return fits

    @cached_property
    def kept(self) -> frozenset[Any]:
        """What a tape has of a launch for its adjoint."""
        before = {("before", ref) for refs in self.own.before.values() for ref in refs}
        after = {("after", ref) for ref in self.looked_at}
        return frozenset(before | after | ({"recorded"} if self.own.recording else set()))

    @cached_property
    def adjoint(self) -> Program | None:
        """The program of the adjoint, or None when there is none: `backward` will say why."""
        floats = frozenset(self.name[ref] for ref in self.floats)
        form = self.form(FormKind.ADJOINT, floats if self.gradients is None else self.gradients)
        try:
            return self.kernel.program(self.types, self.settings, False, form)
        except KernelError:
            return None

    @cached_property
    def general(self) -> Needs | None:
        """Of needs for chosen gradients, those for gradients in all arrays, which forward mode has; None without."""
        if self.gradients is None:
            return None
        needs = needs_of(self.kernel, self.types, self.settings, self.same)
        return None if needs.adjoint is None else needs

    @cached_property
    def looked_at(self) -> frozenset[ArrayRef]:
        """The arrays whose contents the adjoint reads."""
        if self.adjoint is None:
            return frozenset(ref for ref, _ in self.reads)
        read = frozenset(ref for ref in self.adjoint.uses.read if ref.position < len(self.arguments))
        return read if self.general is None else read | self.general.looked_at

    @cached_property
    def plain_before(self) -> tuple[tuple[int, User | Always], ...]:
        """Positions whose contents from before the launch are needed, with their users: those only read come first."""
        return (*self.plain_reads, *((k, self.user_before(ArrayRef(k))) for k in self.own.before))

    @cached_property
    def plain_after(self) -> tuple[tuple[int, User], ...]:
        """Positions that the kernel writes whose contents from after the launch are needed, with their users."""
        return tuple((ref.position, user) for ref, user in self.own.after)

    def user_before(self, ref: ArrayRef) -> Always:
        return Always(f"array {self.name[ref]!r} of kernel {self.kernel.key!r}")

    @cached_property
    def own(self) -> Own:
        """What must be kept of arrays that the kernel writes itself."""
        if not self.changing or self.adjoint is None:
            return Own({}, (), False)
        extras, first = self.adjoint.extras, len(self.arguments)
        read = sorted(self.adjoint.uses.read)
        before = {} if self.general is None else dict(self.general.own.before)
        for k, e in enumerate(extras):
            if isinstance(e, Before):
                refs = (ref._replace(position=e.position) for ref in read if ref.position == first + k)
                before[e.position] = sorted({*before.get(e.position, ()), *refs})
        recording = any(isinstance(e, Returned) for e in extras)
        # Arrays in elements of others hold their contents from before the launch in reverse, see `overlap_error`.
        changed = [ref for ref in self.overlapping if ref in self.looked_at and not ref.in_elements]
        after = tuple((ref, User(self, ref)) for ref in changed)
        return Own(before, after, recording or (self.general is not None and self.general.own.recording))


def has_own_gradients(fn: Function) -> bool:
    """Whether a function calls functions with gradients or replays that the user wrote."""
    calls = [n.op for n in walk(fn.body) if isinstance(n, Call) and isinstance(n.op, Function)]
    return any(f.is_custom or has_own_gradients(f) for f in calls)


def needs_of(
    kernel: Kernel, types: tuple[Any, ...], settings: Settings, same: Same = (), gradients: frozenset[str] | None = None
) -> Needs:
    """The needs of a kernel at these types, made once."""
    key = (types, settings.max_unroll, same, gradients)
    known: dict[Any, Needs] = kernel.needs
    if key not in known:
        known[key] = Needs(kernel, types, settings, same, gradients)
    return known[key]


def same_arrays(needs: Needs, args: Any) -> Same:
    """Pairs of array parameters of one type, of which the kernel writes one, that are given the same elements."""
    positions: dict[tuple[Any, ...], int] = {}
    pairs = []
    for k, t in enumerate(needs.types):
        a = args[k]
        if not isinstance(t, ArrayType) or t.indexed or not a.size:
            continue
        first = positions.setdefault((a._address, a.shape, a.strides, t), k)
        if first != k:
            pairs.append((first, k))
    written = {ref.position for ref in needs.written if not ref.path}
    met = {first for first, k in pairs if first in written or k in written}
    return tuple(pair for pair in pairs if pair[0] in met)


# ----- arrays in arguments ----------------------------------------------------------------------


def arrays_at(args: Any, ref: ArrayRef, tables: bool = True) -> list[tuple[int | None, array]]:
    """The arrays that are meant, with the number of the index table or None; none for a missing one."""
    value = ref.of(args)
    if ref.in_elements:
        return [(None, a._array) for a in held_by(value)]
    if value is None:
        return []
    reached: list[tuple[int | None, array]] = [(None, value._array)]
    if tables and isinstance(value, indexedarray):
        reached += [(n, table) for n, table in enumerate(value.indices) if table is not None]
    return reached


def held_by(value: Any) -> Iterator[Any]:
    """The arrays in elements of an array, or of the arrays of a struct, and those in elements of these."""
    for _, a in members(value):
        held = getattr(a, "_held", None)
        for inner in () if held is None else held.arrays():
            yield inner
            yield from held_by(inner)


def has_gradients(needs: Needs, args: Any) -> bool:
    """Whether some argument has a gradient."""
    refs = (*needs.floats, *needs.held)
    return any(a._memory.has_gradient for ref in refs for _, a in arrays_at(args, ref, tables=False))


def have_gradients(needs: Needs, args: Any) -> tuple[bool, ...]:
    """Which of the arrays of floats among arguments have gradients now."""
    if needs.plain:
        return tuple([args[k]._grad is not None for k in needs.float_arrays])
    return tuple(any(a._array._gradient is not None for _, a in arrays_at(args, p, tables=False)) for p in needs.floats)
