"""Maps of triplets: where each block of an assembly goes, to add up others at the same places without a sort.

`bsr_set_from_triplets(..., build_mapping=True)` makes one, `bsr_set_from_mapped_values` assembles by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.language import array, empty, get_device, int64, kernel, launch, tid
from ..errors import ArgumentTypeError, ArrayError, shown
from .blocks import as_blocks
from .lists import source_of
from .places import check_matrix, put_values

if TYPE_CHECKING:
    from .matrix import BsrMatrix


class BsrTripletMap:
    """The lists of triplets that make up each block of a matrix, as `bsr_set_from_triplets` found them.

    It belongs to the pattern that the matrix got then. triplet_count: how many triplets there were, those left out
    included. capacity: taken for programs written for Warp, which reserve memory; a map has what it needs.
    """

    def __init__(self, capacity: int = 0, device: Any = None):
        self.triplet_count, self.device = 0, get_device(device)
        self._reserved, self._lists, self._pattern = capacity, None, (None, None)

    @property
    def capacity(self) -> int:
        """For how many triplets there is room."""
        return max(self._reserved, self.triplet_count)

    def build(self, matrix: BsrMatrix, count: int, starts: array, entries: array) -> None:
        """Take the lists of an assembly; its blocks are sums of entries from one start to the next."""
        self._reserved, self.triplet_count = self.capacity, count
        self._lists, self._pattern = (starts, entries), (matrix.offsets, matrix.columns)

    def sums(self, matrix: BsrMatrix, blocks: array | None) -> array:
        """The blocks of the matrix for these triplets. Raises `ArrayError` for another pattern than the map's."""
        if self._lists is None:
            raise ArrayError("the mapping has not been built\nhelp: bsr_set_from_triplets(..., build_mapping=mapping)")
        if self._pattern[0] is not matrix.offsets or self._pattern[1] is not matrix.columns:
            raise ArrayError("the matrix has another pattern than when the mapping was built\nhelp: build it again")
        return sums_of(matrix, *self._lists, blocks)


def mapping_of(asked: Any, device: Any) -> BsrTripletMap | None:
    """The map that the argument of an assembly asks for: a new one for True, none for False or None."""
    if asked is None or asked is False:
        return None
    mapping = BsrTripletMap(device=device) if asked is True else asked
    if not isinstance(mapping, BsrTripletMap):
        raise ArgumentTypeError(f"build_mapping is {shown(asked)}\nexpected: True, False or a BsrTripletMap")
    if mapping.device is not device:
        raise ArrayError(f"the mapping is on {mapping.device}\nexpected: {device}, as the matrix")
    return mapping


@kernel
def _add_up(starts: array(dtype=int), entries: array(dtype=int64), source: array(dtype=Any), out: array(dtype=Any)):
    """A block is the sum of its triplets."""
    k = tid()
    total = out.dtype()
    for t in range(starts[k], starts[k + 1]):
        total += source[source_of(entries[t])]
    out[k] = total


def sums_of(dest: BsrMatrix, starts: array, entries: array, blocks: array | None) -> array:
    """The blocks that triplets add up to, as a new array; zeros for none."""
    grad = blocks is not None and blocks.requires_grad
    out = empty(starts.size - 1, dest.dtype, dest.device, requires_grad=grad)
    if blocks is None:
        out.zero_()
    else:
        launch(_add_up, out.size, [starts, entries, blocks, out], device=dest.device)
    return out


def bsr_set_from_mapped_values(
    dest: BsrMatrix, mapping: BsrTripletMap, values: array, reduction: str = "gather"
) -> None:
    """Assemble a matrix again from other blocks at the places of the triplets of a map; differentiable in the blocks.

    dest: the matrix that the map was built for, with the same pattern. values: as for `bsr_set_from_triplets`, of all
    triplets, those left out included. Blocks of one place are added in their order. reduction: "gather" or "atomic",
    taken for programs written for Warp; both are this sum.

    Raises `ArgumentTypeError` for other types, `ArrayError` for a map that does not fit, sizes and devices.
    """
    check_matrix(dest, "dest", used=True)
    if not isinstance(mapping, BsrTripletMap):
        raise ArgumentTypeError(f"mapping is {shown(mapping)}\nexpected: a BsrTripletMap")
    if reduction not in ("gather", "atomic"):
        raise ArrayError(f"reduction is {shown(reduction)}\nexpected: 'gather' or 'atomic'")
    blocks = as_blocks(values, dest.dtype, "values", dest.device)
    if mapping._lists is not None and blocks.size != mapping.triplet_count:
        raise ArrayError(f"values has {blocks.size} blocks\nexpected: {mapping.triplet_count}, as the mapping")
    put_values(dest, mapping.sums(dest, blocks))
