"""Lists of contacts: without gaps, and those of each particle in order; the same bits for any number of threads."""

from __future__ import annotations

from ...core.language import array, array2d, atomic_add, int32, kernel, min, tid, vec4i


@kernel
def clamp_counts(near: array2d(dtype=int32), counts: array(dtype=int32), stored: array(dtype=int32)):
    k = tid()
    stored[k] = min(counts[k], near.shape[1])


@kernel
def enter(
    corners: array(dtype=vec4i), offsets: array(dtype=int32), firsts: array(dtype=int32), cursor: array(dtype=int32),
    around: array(dtype=int32),
):  # fmt: skip
    """Contacts of each particle: four times the contact's number, plus which of its corners the particle is."""
    c = tid()
    if c < offsets[offsets.shape[0] - 1]:
        for n in range(4):
            i = corners[c][n]
            around[firsts[i] + atomic_add(cursor, i, 1)] = 4 * c + n


@kernel
def sort_rows(firsts: array(dtype=int32), around: array(dtype=int32)):
    """Each particle's contacts in order, by insertion: threads entered them in any."""
    i = tid()
    for k in range(firsts[i] + 1, firsts[i + 1]):
        value = around[k]
        at = k
        while at > firsts[i] and around[at - 1] > value:
            around[at] = around[at - 1]
            at -= 1
        around[at] = value
