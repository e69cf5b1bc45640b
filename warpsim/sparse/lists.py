"""Lists of entries, one for each row of a matrix, sorted by column: how patterns of sparse matrices are found.

An entry is an integer of 64 bits, its column in the upper half and where it came from in the lower: sorted, entries of
one place stand side by side in the order in which they came, for any number of threads. Lists are made in two passes,
which count and write, with a prefix sum between them (Gustavson 1978, ACM Trans. Math. Softw. 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.language import (
    array,
    array_scan,
    atomic_add,
    clone,
    empty,
    func,
    int32,
    int64,
    kernel,
    launch,
    tid,
    zeros,
    zeros_like,
)
from ..core.runtime.arrays.saved_contents import Paused
from ..core.runtime.devices.capture import current_graph
from ..core.runtime.devices.device_memory import on_host

_FEW = 24  # entries that are sorted sooner by insertion than by a heap


class Lists(NamedTuple):
    """Entries of every row, sorted. offsets: (rows + 1,), where each list starts; entries: (n,) int64."""

    offsets: array
    entries: array


class Pattern(NamedTuple):
    """The places that lists name. offsets, columns: of the matrix; starts: (nnz + 1,), its entries in the lists."""

    offsets: array
    columns: array
    starts: array


@func
def entry_of(column: int32, source: int32) -> int64:
    """An entry of a list."""
    return (int64(column) << int64(32)) | int64(source)


@func
def column_of(entry: int64) -> int32:
    """The column of an entry."""
    return int32(entry >> int64(32))


@func
def source_of(entry: int64) -> int32:
    """Where an entry came from."""
    return int32(entry & int64(0x7FFFFFFF))


# ----- counting -----------------------------------------------------------------------------------


def starts_of(counts: array) -> array:
    """Where lists start: sums of (n + 1,) counts, of which the first is 0."""
    starts = empty(counts.size, int32, counts.device)
    with Paused():
        array_scan(counts, starts)
    return starts


def total_of(starts: array, most: int) -> int:
    """How many entries there are; while a graph is captured, how many there may be."""
    return most if current_graph() is not None else int(on_host(starts._data[-1]))


def write_lists(
    kernel: Any, count: int, inputs: Sequence[Any], most: int, make: Callable[[int], list[array]]
) -> tuple[array, list[array]]:
    """Where lists start, and arrays of all of them. make: gives these arrays, for a number of entries, at most `most`.

    The kernel takes inputs, starts, arrays, counts: thread i writes list i from starts[i] on, as far as there is room,
    and the number of its entries into counts[i + 1]. It runs twice: once without room, to count, and once to write.
    """
    first = make(0)
    device = first[0].device
    counts = zeros(count + 1, int32, device)
    launch(kernel, count, [*inputs, zeros_like(counts), *first, counts], device=device, record_tape=False)
    starts = starts_of(counts)
    arrays = make(total_of(starts, most))
    launch(kernel, count, [*inputs, starts, *arrays, counts], device=device, record_tape=False)
    return starts, arrays


@kernel(enable_backward=False)
def _count(rows: array(dtype=int32), columns: array(dtype=int32), counts: array(dtype=int32)):
    t = tid()
    if rows[t] >= 0 and rows[t] < counts.shape[0] - 1 and columns[t] >= 0:
        atomic_add(counts, rows[t] + 1, 1)


@kernel(enable_backward=False)
def _scatter(
    rows: array(dtype=int32), columns: array(dtype=int32), cursors: array(dtype=int32), entries: array(dtype=int64)
):
    t = tid()
    if rows[t] >= 0 and rows[t] < cursors.shape[0] - 1 and columns[t] >= 0:
        slot = atomic_add(cursors, rows[t], 1)
        entries[slot] = entry_of(columns[t], t)


def lists_of_places(count: int, rows: array, columns: array) -> Lists:
    """The entries at (rows[t], columns[t]), without those of negative columns or outside of `count` rows."""
    device, number = rows.device, rows.size
    counts = zeros(count + 1, int32, device)
    launch(_count, number, [rows, columns, counts], device=device, record_tape=False)
    offsets = starts_of(counts)
    entries = zeros(number, int64, device)  # what is left out leaves room at the end, which may be read
    with Paused():
        cursors = clone(offsets)
    launch(_scatter, number, [rows, columns, cursors, entries], device=device, record_tape=False)
    return sort_lists(offsets, entries)


# ----- sorting ------------------------------------------------------------------------------------


@func
def _insert_in_order(entries: array(dtype=Any), begin: int32, end: int32):
    """Insertion sort: quick for few entries, and for those in order."""
    for k in range(begin + 1, end):
        entry = entries[k]
        at = k
        while at > begin and entries[at - 1] > entry:
            entries[at] = entries[at - 1]
            at -= 1
        entries[at] = entry


@func
def _sift_down(entries: array(dtype=Any), begin: int32, root: int32, count: int32):
    """Let an entry sink in a heap whose largest stands first."""
    entry = entries[begin + root]
    at = root
    child = 2 * at + 1
    while child < count:
        if child + 1 < count and entries[begin + child + 1] > entries[begin + child]:
            child += 1
        if entries[begin + child] <= entry:
            break
        entries[begin + at] = entries[begin + child]
        at = child
        child = 2 * at + 1
    entries[begin + at] = entry


@func
def sort_range(entries: array(dtype=Any), begin: int32, count: int32):
    """Sort integers in place by one thread: heapsort (Williams 1964), unless they are few or in order."""
    in_order = bool(True)
    for k in range(begin + 1, begin + count):
        if entries[k] < entries[k - 1]:
            in_order = False
            break
    if in_order:
        return
    if count <= _FEW:
        _insert_in_order(entries, begin, begin + count)
        return
    for k in range(count // 2):
        _sift_down(entries, begin, count // 2 - 1 - k, count)
    for k in range(count - 1):
        last = count - 1 - k
        largest = entries[begin]
        entries[begin] = entries[begin + last]
        entries[begin + last] = largest
        _sift_down(entries, begin, 0, last)


@kernel(enable_backward=False)
def _sort(offsets: array(dtype=int32), entries: array(dtype=int64)):
    row = tid()
    sort_range(entries, offsets[row], offsets[row + 1] - offsets[row])


def sort_lists(offsets: array, entries: array) -> Lists:
    """Lists of entries, sorted in place."""
    launch(_sort, offsets.size - 1, [offsets, entries], device=offsets.device, record_tape=False)
    return Lists(offsets, entries)


# ----- patterns -----------------------------------------------------------------------------------


@kernel(enable_backward=False)
def _write_columns(
    lists: array(dtype=int32), entries: array(dtype=int64), offsets: array(dtype=int32), columns: array(dtype=int32),
    starts: array(dtype=int32), counts: array(dtype=int32),
):  # fmt: skip
    """The columns in a list, each once, and where the entries of each start."""
    row = tid()
    slot = offsets[row]
    before = int32(-1)
    for k in range(lists[row], lists[row + 1]):
        column = column_of(entries[k])
        if column != before:
            if slot < columns.shape[0]:
                columns[slot] = column
                starts[slot] = k
            slot += 1
        before = column
    if slot < starts.shape[0]:
        starts[slot] = lists[row + 1]
    counts[row + 1] = slot - offsets[row]


def pattern_of(lists: Lists) -> Pattern:
    """The places in the lists, each once."""
    device = lists.offsets.device

    def make(nnz: int) -> list[array]:
        return [zeros(nnz, int32, device), zeros(nnz + 1, int32, device)]

    rows, most = lists.offsets.size - 1, lists.entries.size
    offsets, (columns, starts) = write_lists(_write_columns, rows, lists, most, make)
    return Pattern(offsets, columns, starts)
