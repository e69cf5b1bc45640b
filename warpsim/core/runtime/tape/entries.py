"""What a tape remembers: launches, writes from the host, and functions to call in reverse.

Every record knows the arrays it wrote, the arrays whose gradients it moves, and the reads of contents
that it needs (`versions.Read`); `step` is what runs it in reverse, made at the first `backward`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np

from ...passes.analysis.mod_ref import NESTED, Path
from ...types import structs
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..arrays.call_site import Place
from ..arrays.indexed import indexedarray
from ..arrays.saved_contents import Memory, Read
from ..devices.device import INTERP, Device
from .adjoint_needs import Needs

Step = Callable[[], None]


class More:
    """What few launches have: arrays in structs, index tables, contents and values kept for the reverse."""

    def __init__(self) -> None:
        self.reads: list[tuple[Path, int | None, array, Read]] = []
        """Path of the array; which index table of an indexedarray, or None; the array; its contents."""
        self.before: dict[int, list[tuple[str, int | None, array, Read]]] = {}
        """Contents from before the launch, by parameter: field of a struct, index table, array, contents."""
        self.recorded: dict[int, array] = {}
        """What atomics returned, by the number of the atomic."""
        self.tangled = ""
        """Names of arrays that overlap so that the launch cannot be reversed."""
        self.metadata: Any = None
        self.max_blocks = 0
        self.block_dim: int | None = None


class LaunchRecord:
    """A recorded launch.

    kernel, dim, args: those of the launch (`inputs` and `outputs` as they were given), and behind them the
    structures that it reached by ids; device;
    deterministic; place: where `wp.launch` was called (file, line); metadata: that of `record_launch`.
    """

    __slots__ = (
        "args", "code", "deterministic", "dim", "input_count", "launcher", "more", "needs", "offset", "reads", "step",
    )  # fmt: skip

    def __init__(
        self, needs: Needs, launcher: Any, dim: Any, args: tuple[Any, ...], input_count: int, deterministic: bool,
        reads: list[Read] | None, code: CodeType | None, offset: int,
    ):  # fmt: skip
        self.needs, self.launcher, self.dim, self.args, self.input_count = needs, launcher, dim, args, input_count
        self.deterministic, self.code, self.offset = deterministic, code, offset
        self.reads = reads  # of `needs.plain_reads`, then of `needs.plain_own`; None when nothing had a gradient
        self.more: More | None = None
        self.step: Step | bool | None = False  # False: not made yet; None: no gradient passes

    @property
    def kernel(self) -> Any:
        return self.needs.kernel

    @property
    def inputs(self) -> list[Any]:
        return list(self.args[: self.input_count])

    @property
    def outputs(self) -> list[Any]:
        return list(self.args[self.input_count : len(self.needs.types)])

    @property
    def place(self) -> Place:
        return Place(self.code, self.offset)

    @property
    def metadata(self) -> Any:
        return self.more.metadata if self.more is not None else None

    @property
    def device(self) -> Device:
        device: Device = INTERP if self.launcher is None else self.launcher.device
        return device

    def note(self, metadata: Any, max_blocks: int, block_dim: int) -> None:
        """Keep what only a caller of `record_launch` knows."""
        self.more = self.more or More()
        self.more.metadata, self.more.max_blocks, self.more.block_dim = metadata, max_blocks, block_dim

    def written(self) -> Iterator[array]:
        """The arrays that the launch writes."""
        if self.needs.plain:
            for k in self.needs.plain_writes:
                yield self.args[k]
            return
        for path in self.needs.written:
            for _, a in arrays_at(self.args, path, tables=False):
                yield a

    def collect(self, found: dict[int, array], wrote: dict[int, array]) -> None:
        """Note the arrays of floats among the arguments, and what is written, by `id`."""
        needs, args = self.needs, self.args
        if not needs.plain:
            found.update((id(a), a) for a in self.arrays())
            wrote.update((id(a), a) for a in self.written())
            return
        for k in needs.float_arrays:
            a = args[k]
            found[id(a)] = a
        for k in needs.plain_writes:
            a = args[k]
            wrote[id(a)] = a

    def arrays(self) -> Iterator[array]:
        """The arrays of floats among the arguments."""
        for path in (*self.needs.floats, *self.needs.held):
            for _, a in arrays_at(self.args, path, tables=False):
                if has_cotangent(a.dtype):
                    yield a

    def __repr__(self) -> str:
        return f"LaunchRecord({self.kernel.key!r}, dim={self.dim}, at {self.place})"


class WriteRecord:
    """Elements of an array set from the host: the gradient of the source gets that of the elements.

    select: takes the part that is written out of memory that lies like the array's; None for an
    indexedarray. source: an array, or None for a constant. what: the method.
    """

    def __init__(self, dest: Any, select: Any, source: Any, what: str, place: Place):
        self.dest, self.select, self.source, self.what, self.place = dest, select, source, what, place
        self.picks = frozen_picks(dest) if isinstance(dest, indexedarray) else None
        self.source_picks = frozen_picks(source) if isinstance(source, indexedarray) else None
        self.step: Step | bool | None = self.run if has_cotangent(dest.dtype) else None

    def written(self) -> Iterator[array]:
        yield base(self.dest)

    def arrays(self) -> Iterator[array]:
        for a in (self.dest, self.source):
            if isinstance(a, array | indexedarray) and has_cotangent(a.dtype):
                yield base(a)

    def run(self) -> None:
        """Move the gradient of the written elements to where they came from."""
        slopes = base(self.dest)._slopes
        if slopes is not None:
            source = base(self.source)._slopes if self.source is not None else None
            self.move(slopes._data, None if source is None else source._data)

    def move(self, slopes: np.ndarray, source: np.ndarray | None) -> None:
        """The same, for gradients that lie as the memory of the array and of the source."""
        if self.picks is not None:
            share = slopes[self.picks]
            share[~last_writes(base(self.dest).shape, self.picks)] = np.zeros((), share.dtype)
            slopes[self.picks] = np.zeros((), share.dtype)
        else:
            part = self.select(slopes)
            share = part.copy()
            part[...] = np.zeros((), part.dtype)
        if source is not None and self.source_picks is not None:
            np.add.at(source, self.source_picks, share.reshape(source[self.source_picks].shape))
        elif source is not None:
            add_to(source, narrowed(share, source.shape))

    def carry(self, tangents: np.ndarray, source: np.ndarray | None) -> None:
        """Forward mode: the written elements get the tangent of what was written."""
        if source is None:
            given = np.zeros((), tangents.dtype)
        else:
            given = source if self.source_picks is None else source[self.source_picks]
        part = tangents[self.picks] if self.picks is not None else self.select(tangents)
        given = given.reshape(part.shape) if given.size == part.size else given
        if self.picks is not None:
            tangents[self.picks] = given
        else:
            part[...] = given


class FuncRecord:
    """A function of the user's to call in reverse; arrays: those that it uses."""

    def __init__(self, backward: Callable[[], Any], arrays: list[Any], reads: list[tuple[array, Read]], place: Place):
        self.backward, self.given, self.reads, self.place = backward, arrays, reads, place
        self.step: Step | bool | None = self.run

    def written(self) -> Iterator[array]:
        return iter(())

    def arrays(self) -> Iterator[array]:
        for a in self.given:
            if has_cotangent(a.dtype):
                yield base(a)

    def run(self) -> None:
        """Call the function while the arrays hold what they held when it was recorded."""
        with Restored([(a._data, read) for a, read in self.reads]):
            self.backward()


class Restored:
    """While it lasts, memory holds saved contents again."""

    def __init__(self, reads: list[tuple[np.ndarray, Read]]):
        self.reads = [(view, read.copy) for view, read in reads if read.copy is not None]

    def __enter__(self) -> None:
        self.present = [view.copy() for view, _ in self.reads]
        for view, copy in self.reads:
            view[...] = copy

    def __exit__(self, *error: Any) -> None:
        for (view, _), present in reversed(list(zip(self.reads, self.present, strict=True))):
            view[...] = present


# ----- arrays in arguments ----------------------------------------------------------------------


def base(a: Any) -> array:
    """The array itself, or the one behind an indexedarray."""
    return a.data if isinstance(a, indexedarray) else a


def arrays_at(args: Any, path: Path, tables: bool = True) -> list[tuple[int | None, array]]:
    """The arrays that a path leads to, with the number of the index table or None; none for a missing one."""
    k, field = path
    value = args[k]
    if field == NESTED:
        return [] if value._held is None else [(None, base(a)) for a in value._held.arrays()]
    for name in field.split(".") if field else ():
        value = getattr(value, name)
    if value is None:
        return []
    found: list[tuple[int | None, array]] = [(None, base(value))]
    if tables and isinstance(value, indexedarray):
        found += [(n, table) for n, table in enumerate(value.indices) if table is not None]
    return found


def has_gradients(needs: Needs, args: Any) -> bool:
    """Whether some argument has a gradient."""
    paths = (*needs.floats, *needs.held)
    return any(a._memory.has_gradient for path in paths for _, a in arrays_at(args, path, tables=False))


def have_gradients(needs: Needs, args: Any) -> tuple[bool, ...]:
    """Which of the arrays of floats among arguments have gradients now."""
    if needs.plain:
        return tuple([args[k]._grad is not None for k in needs.float_arrays])
    return tuple(any(base(a)._slopes is not None for _, a in arrays_at(args, p, tables=False)) for p in needs.floats)


def stand_in(a: array, contents: np.ndarray, slopes: bool = True) -> array:
    """An array with other contents and the gradient of `a`; without slopes, with none."""
    made = array.__new__(array)
    made.__dict__.update(a.__dict__)  # all but what follows is the same: contents lie as those of `a` do
    made._data, made.ptr, made._span, made._memory = contents, contents.ctypes.data, None, Memory()
    if not slopes:
        made._grad = None
    made._pack()
    return made


Copies = dict[tuple[str, int | None], np.ndarray]
"""Saved contents by field path and index table."""


def substituted(value: Any, copies: Copies, field: str = "", slopes: bool = True) -> Any:
    """An argument with saved contents in the place of present ones; without slopes, and no gradients there."""
    if isinstance(value, structs.Struct):
        made = object.__new__(type(value))
        for name in type(value).fields:
            inner = substituted(getattr(value, name), copies, f"{field}.{name}" if field else name, slopes)
            object.__setattr__(made, name, inner)
        return made
    kept = copies.get((field, None))
    if isinstance(value, indexedarray):
        data = value.data if kept is None else stand_in(value.data, kept, slopes)
        tables = [copies.get((field, n)) for n in range(value.ndim)]
        pairs = zip(value.indices, tables, strict=True)
        return indexedarray(data, [t if table is None else stand_in(t, table) for t, table in pairs])
    return value if kept is None else stand_in(value, kept, slopes)


# ----- gradients of host writes -----------------------------------------------------------------


def frozen_picks(a: indexedarray) -> tuple:
    """The selection as it is now."""
    return tuple(np.array(indices) for indices in a._picks)


def last_writes(shape: tuple[int, ...], picks: tuple) -> np.ndarray:
    """Which selected elements were written last: where indices repeat, the others left no trace."""
    writer = np.empty(shape, np.int64)
    order = np.arange(np.broadcast(*picks).size).reshape(np.broadcast(*picks).shape)
    writer[picks] = order
    return writer[picks] == order


def narrowed(share: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum what was broadcast, or give back the shape."""
    if share.size == int(np.prod(shape)):
        return share.reshape(shape)
    share = share.sum(axis=tuple(range(share.ndim - len(shape))))
    wide = tuple(axis for axis, n in enumerate(shape) if n == 1 and share.shape[axis] != 1)
    return share.sum(axis=wide, keepdims=True)


def add_to(target: np.ndarray, share: np.ndarray) -> None:
    """target += share, for floats and for the float fields of records."""
    if target.dtype.names is None:
        if target.dtype.kind == "f":
            target += share if share.dtype == target.dtype else share.astype(target.dtype)
        return
    for name in target.dtype.names:
        add_to(target[name], share[name])


def spent(a: array, count: int | None = None, flat: bool = False) -> np.ndarray:
    """The gradient of the first `count` elements (flat: numbers) of an array, which is zero from now on."""
    assert a._slopes is not None
    memory = a._slopes._data
    part = memory.reshape(-1) if flat else memory
    found = part[:count].copy()
    if flat and not np.shares_memory(part, memory):
        memory[...] = np.where(np.arange(memory.size).reshape(memory.shape) < (count or 0), 0, memory)
    else:
        part[:count] = 0
    return found


def add_gradient(a: Any, share: np.ndarray) -> None:
    """Add to the gradient of an array or indexedarray."""
    slopes = base(a)._slopes
    if slopes is None:
        return
    if isinstance(a, indexedarray):
        np.add.at(slopes._data, frozen_picks(a), share)
    else:
        add_to(slopes._data, share)
