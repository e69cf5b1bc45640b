"""`KernelArrays`: the arrays that a kernel at fixed argument types is given or reaches, and those among arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....forks import cached_property
from ...emit.program import Form, FormKind, Program
from ...ops.handles import open_handle
from ...passes.analysis.array_uses import array_uses
from ...passes.simplify.handle_params import HandleParam, resolving_calls, with_handle_params
from ...types.array_ref import ArrayRef, array_refs, element_refs, member_at
from ...types.arrays import ArrayType
from ...types.cotangents import has_cotangent
from ...types.structs import members
from ..arrays.array import array
from ..arrays.host_memory import TypedMemory
from ..arrays.indexed import indexedarray
from ..launches.kernel import Kernel, Settings

Same = tuple[tuple[int, int], ...]


class KernelArrays:
    """The arrays of a kernel at fixed argument types.

    same: pairs of parameters that are given one array, see `same_arrays`; what happens to it counts under its first
    name. fn: the kernel, with the structures that it reaches by ids as parameters behind its own. uses: what it does to
    arrays. name: of arrays in parameters. floats: those of floats. in_elements: arrays that are reached through
    elements. written: those that are written or updated; picked: those of them that are written through tables.
    """

    def __init__(self, kernel: Kernel, types: tuple[Any, ...], settings: Settings, same: Same = ()):
        self.kernel, self.types, self.settings, self.same = kernel, types, settings, same
        program = kernel.program(types, settings)
        self.handle_params, self.has_own_gradients = program.handle_params, program.has_own_gradients
        self.fn = with_handle_params(program.fn, self.handle_params)
        self.arguments = tuple(p.type for p in self.fn.params)
        uses = array_uses(self.fn) if self.handle_params else program.uses
        self.uses = uses.unify(same) if same else uses
        self.names = [*kernel.patterns, *(p.hint for p in self.fn.params[len(types) :])]
        refs = array_refs(self.arguments)
        self.name = {ref: ref.name(self.names) for ref in refs}
        self.floats = tuple(ref for ref, t in refs.items() if has_cotangent(t.dtype))
        self.in_elements = element_refs(self.arguments)
        self.written = tuple(sorted(self.uses.changed))
        self.picked = tuple(ref for ref in self.written if not ref.in_elements and refs[ref].indexed)
        self.needs: dict[frozenset[str] | None, Any] = {}  # of its adjoint, by the gradients there are
        self._chosen: dict[tuple[bool, ...], frozenset[str]] = {}

    @cached_property
    def reaches(self) -> bool:
        """Whether the kernel reaches structures by ids."""
        return bool(self.handle_params or resolving_calls(self.fn))

    def whole(self, args: Sequence[Any]) -> list[Any]:
        """Arguments, and behind them the structures that they have ids of: what derived programs take.

        Raises `StructureIdError` for an id that stands for none.
        """
        whole = list(args)
        if self.handle_params:
            whole += [structure(args, r, self.names) for r in self.handle_params]
        return whole

    def parameters(self, refs: Iterable[ArrayRef]) -> set[str]:
        """The names of the parameters that arrays come with, by structures or not."""
        return {self.name[ref].partition(".")[0] for ref in refs if ref in self.name}

    def words(self, ref: ArrayRef) -> str:
        """An array in messages."""
        return f"in elements of {self.names[ref.position]!r}" if ref.in_elements else repr(self.name[ref])

    # ----- derived programs -------------------------------------------------------------------

    def form(self, kind: FormKind, gradients: frozenset[str]) -> Form:
        """A form of the kernel for these arguments."""
        return Form(kind, gradients, self.same)

    def program(self, form: Form) -> Program:
        """The program of a form."""
        return self.kernel.program(self.types, self.settings, False, form)

    def names_with_gradients(self, present: tuple[bool, ...]) -> frozenset[str]:
        """The names of the arrays of floats that have gradients."""
        names = self._chosen.get(present)
        if names is None:
            pairs = zip(self.floats, present, strict=True)
            names = self._chosen[present] = frozenset(self.name[ref] for ref, has in pairs if has)
        return names


def arrays_of(kernel: Kernel, types: tuple[Any, ...], settings: Settings, same: Same = ()) -> KernelArrays:
    """The arrays of a kernel at these types, made once."""
    key = (types, settings.max_unroll, same)
    known: dict[Any, KernelArrays] = kernel.arrays
    if key not in known:
        known[key] = KernelArrays(kernel, types, settings, same)
    return known[key]


def structure(args: Sequence[Any], param: HandleParam, names: Sequence[str]) -> Any:
    """The struct that an id among arguments stands for."""
    value, name = member_at(args[param.position], param.path), ".".join((names[param.position], *param.path))
    return open_handle(int(value), param.type, f"argument {name!r}").data if value else param.type()


# ----- arrays among arguments -------------------------------------------------------------------


def same_arrays(arrays: KernelArrays, args: Any) -> Same:
    """Pairs of array parameters of one type, of which the kernel writes one, that are given the same elements."""
    positions: dict[tuple[Any, ...], int] = {}
    pairs = []
    for k, t in enumerate(arrays.types):
        a = args[k]
        if not isinstance(t, ArrayType) or t.indexed or not a.size:
            continue
        first = positions.setdefault((a._address, a.shape, a.strides, t), k)
        if first != k:
            pairs.append((first, k))
    written = {ref.position for ref in arrays.written if not (ref.path or ref.in_elements)}
    met = {first for first, k in pairs if first in written or k in written}
    return tuple(pair for pair in pairs if pair[0] in met)


def arrays_in(value: Any, name: str) -> Iterator[tuple[str, array]]:
    """The arrays of one argument with their names: itself, the array behind an indexedarray, fields of a struct."""
    for member, inner in members(value, name):
        if isinstance(inner, TypedMemory):
            yield member, inner._array


def arrays_at(args: Any, ref: ArrayRef, tables: bool = True) -> list[tuple[int | None, array]]:
    """The arrays that are meant, with the number of the index table or None; none for a missing one."""
    k, path, _, in_elements = ref
    value = member_at(args[k], path) if path else args[k]
    if in_elements:
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


def has_gradients(arrays: KernelArrays, args: Any) -> bool:
    """Whether some argument has a gradient."""
    refs = (*arrays.floats, *arrays.in_elements)
    return any(a._memory.has_gradient for ref in refs for _, a in arrays_at(args, ref, tables=False))
