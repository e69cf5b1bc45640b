"""Requirements of a kernel's adjoint: the contents to save at a launch, before the adjoint is compiled.

Recording a launch must know which contents some day matter. First the forward program decides, which is
cheap and too careful: every array that is read matters. Only where an overwrite is about to happen, or where
a kernel overwrites what it reads itself, the program of the adjoint is made (no machine code) and
decides exactly: a linear kernel needs no contents at all. That adjoint is the one for gradients in all
arrays of floats, so that arrays may get gradients later; where there is none, or the one for the gradients
that there are needs something else, the latter counts too (`Needs.for_gradients`).
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from ....errors import KernelError, Location
from ....forks import cached_property
from ...emit.program import FormKind, Program
from ...passes.reverse.extra_params import Before, Returned
from ...passes.simplify.handle_params import resolving_calls
from ...types.array_ref import ArrayRef, array_refs, refers
from ...types.structs import is_in_pieces, is_struct, none_is_empty
from ..arrays.array import array
from ..launches.kernel import Kernel, Settings
from .kernel_arrays import KernelArrays, Same, arrays_at, arrays_of


class User:
    """A recorded kernel that may look at the contents of one of its arrays in reverse."""

    __slots__ = ("needs", "ref")

    def __init__(self, needs: Needs, ref: ArrayRef):
        self.needs, self.ref = needs, ref

    def is_needed(self) -> bool:
        """Whether its adjoint really does."""
        return self.ref in self.needs.looked_at

    def __str__(self) -> str:
        plural, arrays = "s" * self.ref.in_elements, self.needs.arrays
        return f"array{plural} {arrays.words(self.ref)} of kernel {arrays.kernel.key!r}"


class Always:
    """A user that needs the contents for certain."""

    def __init__(self, what: str):
        self.what = what

    def is_needed(self) -> bool:
        return True

    def __str__(self) -> str:
        return self.what


class SavedRef(NamedTuple):
    """Contents that are registered at a launch: of which array, of its n-th index table, from before the launch.

    Contents from before are those that the launch overwrites, and that the adjoint takes as further parameters.
    """

    ref: ArrayRef
    table: int | None = None
    before: bool = False


class LaunchRecord(NamedTuple):
    """What is noted of a launch with gradients beside the registered contents of arrays.

    saved: what these are, in order. returned: what atomics returned, by the number of the atomic. overlap: names of
    arrays that overlap so that the launch cannot be reversed.
    """

    saved: tuple[SavedRef, ...] = ()
    returned: dict[int, array] = {}  # noqa: RUF012
    overlap: str = ""


class Own(NamedTuple):
    """What a kernel needs of arrays that it writes itself.

    before: contents from before the launch. after: those from after it. recording: whether the launch must note what
    its atomics return.
    """

    before: tuple[ArrayRef, ...] = ()
    after: tuple[ArrayRef, ...] = ()
    recording: bool = False


class Needs:
    """The needs of the adjoint of a kernel. gradients: names of the arrays that have one; None for all of floats."""

    def __init__(self, arrays: KernelArrays, gradients: frozenset[str] | None = None):
        self.arrays, self.gradients = arrays, gradients
        self.served: dict[frozenset[str], bool] = {}
        self.enough: set[tuple[bool, ...]] = set()
        """Which arrays of floats had gradients in launches that these needs are enough for."""
        uses, types = arrays.uses, arrays.arguments
        self.is_custom = arrays.has_own_gradients
        """Whether functions have gradients of their own, whose reverse may read what the kernel does not."""
        self.read = uses.read | (self.looked_at if self.is_custom else frozenset())
        self.overlapping = (self.read | uses.extremes) & uses.changed
        """The arrays that are read and written."""
        self.changing = bool(self.overlapping or uses.returns)
        """Whether the kernel changes what it reads: then the adjoint tells what to keep of it."""
        special = any(t.indexed or refers(t) for t in array_refs(types).values()) or any(map(has_pieces, types))
        is_plain = not (special or arrays.same or uses.returns or arrays.reaches)
        self.plain = PlainLaunch(arrays) if is_plain else None

    @cached_property
    def read_alone(self) -> tuple[ArrayRef, ...]:
        """The arrays that are read, and whose contents are those of the launch afterwards."""
        alone = (ref for ref in self.arrays.name if ref in self.read and ref not in self.overlapping)
        return (*alone, *(ref for ref in self.arrays.in_elements if ref in self.read))

    def flat(self, args: Any) -> Any:
        """The arrays among arguments as `plain` numbers them; nothing where these are no plain launch."""
        return None if self.plain is None else self.plain.flat(args)

    # ----- what the adjoint tells -------------------------------------------------------------

    @cached_property
    def adjoint(self) -> Program | None:
        """The program of the adjoint, or None when there is none: `backward` will say why."""
        arrays = self.arrays
        floats = frozenset(arrays.name[ref] for ref in arrays.floats)
        try:
            return arrays.program(arrays.form(FormKind.ADJOINT, floats if self.gradients is None else self.gradients))
        except KernelError:
            return None

    @cached_property
    def hidden(self) -> Location | None:
        """Where the adjoint reaches a structure whose id does not come from an argument."""
        calls = [] if self.adjoint is None else resolving_calls(self.adjoint.fn)
        return calls[0].location if calls else None

    @cached_property
    def general(self) -> Needs | None:
        """Of needs for chosen gradients, those for gradients in all arrays, which forward mode has; None without."""
        needs = None if self.gradients is None else needs_of_arrays(self.arrays)
        return None if needs is None or needs.adjoint is None else needs

    @cached_property
    def looked_at(self) -> frozenset[ArrayRef]:
        """The arrays whose contents the adjoint reads."""
        if self.adjoint is None:
            return frozenset() if self.is_custom else frozenset(self.read_alone)
        read = frozenset(ref for ref in self.adjoint.uses.read if ref.position < len(self.arrays.arguments))
        return read if self.general is None else read | self.general.looked_at

    @cached_property
    def own(self) -> Own:
        """What must be kept of arrays that the kernel writes itself."""
        if not self.changing or self.adjoint is None:
            return Own()
        extras, first = self.adjoint.extras, len(self.arrays.arguments)
        own = Own() if self.general is None else self.general.own
        positions = {first + k: e.position for k, e in enumerate(extras) if isinstance(e, Before)}
        read = (ref for ref in self.adjoint.uses.read if ref.position in positions)
        before = {*own.before, *(ref._replace(position=positions[ref.position]) for ref in read)}
        # Arrays in elements of others hold their contents from before the launch in reverse, see `overlap_error`.
        after = sorted(ref for ref in self.overlapping & self.looked_at if not ref.in_elements)
        recording = own.recording or any(isinstance(e, Returned) for e in extras)
        return Own(tuple(sorted(before)), tuple(after), recording)

    @cached_property
    def tape_contents(self) -> frozenset[Any]:
        """What a tape has of a launch for its adjoint."""
        before = (SavedRef(ref, before=True) for ref in self.own.before)
        return frozenset([*before, *map(SavedRef, self.looked_at), *(["returned"] if self.own.recording else [])])

    @cached_property
    def before(self) -> tuple[tuple[SavedRef, User | Always], ...]:
        """What is registered before a launch, with its users."""
        old = ((ref, f"array {self.arrays.words(ref)} of kernel {self.arrays.kernel.key!r}") for ref in self.own.before)
        users = ((SavedRef(ref), User(self, ref)) for ref in self.read_alone)
        return (*users, *((SavedRef(ref, before=True), Always(words)) for ref, words in old))

    @cached_property
    def after(self) -> tuple[tuple[SavedRef, User], ...]:
        """What is registered after it: of arrays that the kernel writes."""
        return tuple((SavedRef(ref), User(self, ref)) for ref in self.own.after)

    # ----- other gradients --------------------------------------------------------------------

    def for_gradients(self, present: tuple[bool, ...]) -> Needs:
        """These needs, or those for the gradients there are, where the adjoint for these needs something else."""
        if not self.changing or present in self.enough:
            return self
        names = self.arrays.names_with_gradients(present)
        if not self.serves(names):
            return needs_of_arrays(self.arrays, names)
        self.enough.add(present)
        return self

    def serves(self, names: frozenset[str]) -> bool:
        """Whether a tape that kept what these needs ask for has what the adjoint for the named arrays needs."""
        if not self.changing or names == self.gradients:
            return True
        fits = self.served.get(names)
        if fits is None:
            other = needs_of_arrays(self.arrays, names)
            fits = self.gradients is None if other.adjoint is None else other.tape_contents <= self.tape_contents
            self.served[names] = fits = fits and self.adjoint is not None
        return fits


Registered = tuple[list[tuple[int, Any]], list[tuple[int, Any]], LaunchRecord]


class PlainLaunch:
    """Launches whose arrays are all arguments of their own, or fields of structs: what recording looks at.

    Arrays are numbered as `flat` lists them. floats: the arrays of floats. writes: those that are written. places: all.
    """

    __slots__ = ("fields", "floats", "known", "number", "places", "writes")

    def __init__(self, arrays: KernelArrays):
        self.known: Registered | None = None
        """What `register` told, when it was asked."""
        refs = list(arrays.name)
        fields = [(ref.position, attrgetter(".".join(ref.path)) if ref.path else None) for ref in refs]
        self.fields = fields if any(ref.path for ref in refs) else None
        """How arrays are found where structs have some: the argument, and the way to its field."""
        self.number = {ref: ref.position if self.fields is None else n for n, ref in enumerate(refs)}
        self.floats = tuple(self.number[ref] for ref in arrays.floats)
        self.writes = tuple(self.number[ref] for ref in arrays.written)
        self.places = tuple(self.number.values())

    def flat(self, args: Any) -> Any:
        """The arrays among arguments by number; nothing where a field has none."""
        if self.fields is None:
            return args
        flat = [args[k] if field is None else field(args[k]) for k, field in self.fields]
        return None if any(a is None for a in flat) else flat

    def register(self, needs: Needs) -> Registered:
        """What is registered before a launch and after it, with users, and what is noted of that."""
        before, after = needs.before, needs.after
        first, then = ([(self.number[saved.ref], user) for saved, user in pairs] for pairs in (before, after))
        known = self.known = first, then, LaunchRecord(tuple(saved for saved, _ in (*before, *after)))
        return known


def has_pieces(t: Any) -> bool:
    """Whether a parameter is an array in pieces, or a struct that holds one; or a struct that may be None."""
    return is_struct(t) and (is_in_pieces(t) or none_is_empty(t) or any(map(has_pieces, t.fields.values())))


def needs_of(kernel: Kernel, types: tuple[Any, ...], settings: Settings, same: Same = ()) -> Needs:
    """The needs of a kernel at these types, made once."""
    return needs_of_arrays(arrays_of(kernel, types, settings, same))


def needs_of_arrays(arrays: KernelArrays, gradients: frozenset[str] | None = None) -> Needs:
    """The needs for these arrays and gradients, made once."""
    needs: Needs | None = arrays.needs.get(gradients)
    if needs is None:
        needs = arrays.needs[gradients] = Needs(arrays, gradients)
    return needs


def have_gradients(needs: Needs, args: Any) -> tuple[bool, ...]:
    """Which of the arrays of floats among arguments have gradients now."""
    flat = needs.flat(args)
    if flat is not None:
        return tuple([flat[k]._grad is not None for k in needs.plain.floats])  # type: ignore[union-attr]
    floats = needs.arrays.floats
    return tuple(any(a._array._gradient is not None for _, a in arrays_at(args, ref, tables=False)) for ref in floats)
