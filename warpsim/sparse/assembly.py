"""Assembly of sparse matrices from triplets: `bsr_from_triplets`, `bsr_set_from_triplets`, `bsr_compress`.

Triplets are put into lists, one for each row, which are sorted by column and then by their number: blocks of one place
are added up in the order in which they were given, for any number of threads.
"""

from __future__ import annotations

from typing import Any

from ..core.language import array, atomic_min, empty, full, int32, kernel, launch, tid
from ..core.runtime.devices.capture import current_graph
from ..core.runtime.devices.device_memory import on_host
from ..errors import ArgumentTypeError, ArrayError
from .blocks import as_blocks, block_type_of, check_index, numbers_of
from .lists import lists_of_places, pattern_of
from .matrix import BsrMatrix, empty_matrix, fill
from .places import blocks_at, check_matrix, keeps_pattern, put_values
from .triplet_map import BsrTripletMap, mapping_of, sums_of

_NONE = 2**31 - 1


# ----- which triplets count -----------------------------------------------------------------------


@kernel(enable_backward=False)
def _select(
    rows: array(dtype=int32),
    columns: array(dtype=int32),
    count: array(dtype=int32),
    nrow: int32,
    ncol: int32,
    places: array(dtype=int32),
    first_wrong: array(dtype=int32),
):
    """The columns of triplets that lie in the matrix, -1 for others, and the first that lies beyond it."""
    t = tid()
    column = columns[t]
    if t >= count[0] or rows[t] < 0 or column < 0:
        column = int32(-1)
    elif rows[t] >= nrow or column >= ncol:
        atomic_min(first_wrong, 0, t)
        column = int32(-1)
    places[t] = column


@kernel(enable_backward=False)
def _leave_out_zeros(numbers: array(dtype=Any, ndim=3), places: array(dtype=int32)):
    t = tid()
    if places[t] >= 0:
        for i in range(numbers.shape[1]):
            for j in range(numbers.shape[2]):
                if numbers[t, i, j] != numbers.dtype(0):
                    return
        places[t] = -1


def _places_of(dest: BsrMatrix, rows: array, columns: array, blocks: array | None, count: Any) -> array:
    """The columns of triplets that count, -1 for others. blocks: without those that are zero.

    Raises `ArrayError` for a triplet beyond the matrix, unless a graph is captured.
    """
    device, number = dest.device, rows.size
    if not isinstance(count, array):
        count = full(1, number if count is None else count, int32, device=device)
    check_index(count, "count", device)
    places, first = empty(number, int32, device), full(1, _NONE, int32, device=device)
    extents = int(dest.nrow), int(dest.ncol)
    inputs = [rows, columns, count, *extents, places, first]
    launch(_select, number, inputs, device=device, record_tape=False)
    if current_graph() is None and (wrong := int(on_host(first._data[0]))) != _NONE:
        at = tuple(int(on_host(a._data[wrong])) for a in (rows, columns))
        raise ArrayError(
            f"triplet {wrong} is at {at}\nexpected: rows below {extents[0]} and columns below {extents[1]}; triplets "
            "of negative rows or columns are left out"
        )
    if blocks is not None:
        launch(_leave_out_zeros, number, [numbers_of(blocks), places], device=device, record_tape=False)
    return places


# ----- public -------------------------------------------------------------------------------------


def bsr_set_from_triplets(
    dest: BsrMatrix, rows: array, columns: array, values: array | None = None, count: array | int | None = None,
    prune_numerical_zeros: bool = True, masked: bool = False, topology: str | None = None,
    build_mapping: BsrTripletMap | bool | None = None,
) -> BsrTripletMap | None:  # fmt: skip
    """Let a matrix be the sum of blocks at places; differentiable in the blocks.

    rows, columns: (n,) int32; those with a negative row or column are left out. values: (n,) blocks, or their numbers
    in shape (n, rows, columns); None for a pattern of zeros. Blocks of one place are added in their order. count: how
    many triplets there are, an integer or an array of one, at most n. prune_numerical_zeros: leave out blocks of zeros,
    unless values have a gradient, which would be lost. masked: dest keeps its pattern, and triplets elsewhere are left
    out; topology="masked" says the same. build_mapping: True, or a map to build anew, for `bsr_set_from_mapped_values`;
    then no zeros are left out.

    Returns that map, if one was asked for.

    While a graph is captured, the number of blocks is not known: columns and values have room for all triplets, of
    which those beyond the matrix are left out. Raises `ArgumentTypeError` for other types, `ArrayError` for sizes and
    devices that do not fit, and for triplets beyond the matrix.
    """
    check_matrix(dest, "dest", used=masked)
    check_index(rows, "rows", dest.device)
    check_index(columns, "columns", dest.device)
    blocks = None if values is None else as_blocks(values, dest.dtype, "values", dest.device)
    sizes = [a.size for a in (rows, columns, blocks) if a is not None]
    if len(set(sizes)) > 1:
        raise ArrayError(f"rows, columns and values have {sizes} elements\nexpected: as many of each")
    mapping, masked = mapping_of(build_mapping, dest.device), keeps_pattern(topology, masked)
    if mapping is not None and masked:
        raise ArrayError("a mapping of masked triplets\nexpected: masked=False, or build_mapping=None")
    pruned = prune_numerical_zeros and mapping is None and blocks is not None and not blocks.requires_grad
    places = _places_of(dest, rows, columns, blocks if pruned else None, count)
    if masked:
        starts, entries = lists_of_places(int(dest.nnz), blocks_at(dest, rows, places), places)
        put_values(dest, sums_of(dest, starts, entries, blocks))
        return None
    lists = lists_of_places(int(dest.nrow), rows, places)
    pattern = pattern_of(lists)
    out = sums_of(dest, pattern.starts, lists.entries, blocks)
    fill(dest, (int(dest.nrow), int(dest.ncol)), pattern.offsets, pattern.columns, out)
    if mapping is not None:
        mapping.build(dest, rows.size, pattern.starts, lists.entries)
    return mapping


def bsr_from_triplets(
    rows_of_blocks: int, cols_of_blocks: int, rows: array, columns: array, values: array,
    count: array | int | None = None, prune_numerical_zeros: bool = True,
) -> BsrMatrix:  # fmt: skip
    """The sparse matrix that is the sum of blocks at places; differentiable in the blocks.

    values: (n,) blocks, or their numbers in shape (n, rows, columns): they decide the type of the blocks. All else is
    as for `bsr_set_from_triplets`, which it also raises like.
    """
    if not isinstance(rows, array):
        raise ArgumentTypeError(f"rows is {type(rows).__name__}\nexpected: an array of int32")
    matrix = empty_matrix((rows_of_blocks, cols_of_blocks), block_type_of(values), rows.device)
    bsr_set_from_triplets(matrix, rows, columns, values, count, prune_numerical_zeros)
    return matrix


def bsr_compress(A: BsrMatrix, prune_numerical_zeros: bool = True) -> None:
    """Bring a matrix into order whose offsets and columns somebody wrote: columns that rise, each once, none empty.

    Blocks of one place add up; blocks of zeros go, as in `bsr_set_from_triplets`. Raises `ArrayError` for blocks beyond
    the matrix.
    """
    check_matrix(A, "A")
    A.notify_nnz_changed()
    count = int(A.nnz)
    rows = A.uncompress_rows()
    bsr_set_from_triplets(A, rows, A.columns[:count], A.values[:count], None, prune_numerical_zeros)
