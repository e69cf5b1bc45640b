"""In which order a set of coupled joints is eliminated, and what blocks that fills: the host's part of a direct solver.

Joints are coupled that share a body. One that is eliminated couples those that it was coupled with. In each round those
of fewest couplings go that are not coupled with one another (multiple minimum degree: J. W. H. Liu 1985), so that a
chain of n takes about log2(n) rounds, and an open chain or tree fills little.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

_FEW = 2
"""So many couplings are always few: those within a chain."""


class Table(NamedTuple):
    """Lists of rows of integers: those of list k are `rows[starts[k] : starts[k + 1]]`."""

    starts: np.ndarray
    rows: np.ndarray


class Elimination(NamedTuple):
    """Blocks (row, column) are in order of the round of their column; a block's row goes after its column, or is it.

    joint_rounds, block_rounds: (first, count) of each round in `order` and in `pairs`. order: joints, (joints,). pairs:
    (blocks, 2). terms: for each block, what is taken off it: block (row, k), block (column, k), k. before: for each
    joint, block (joint, k), k of those that go before it; after: block (k, joint), k of those that go after it.
    """

    joint_rounds: list[tuple[int, int]]
    block_rounds: list[tuple[int, int]]
    order: np.ndarray
    pairs: np.ndarray
    terms: Table
    before: Table
    after: Table


def table(lists: list[list[tuple[int, ...]]], width: int) -> Table:
    """A `Table` of lists. width: of a row, as there may be none."""
    starts = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    flat = [row for one in lists for row in one]
    return Table(starts.astype(np.int32), np.array(flat, dtype=np.int32).reshape(-1, width))


def couplings(bodies: np.ndarray) -> list[set[int]]:
    """The joints that each is coupled with. bodies: of each, (joints, 2), -1 is none."""
    of_body: dict[int, list[int]] = {}
    for joint, pair in enumerate(bodies.tolist()):
        for body in set(pair) - {-1}:
            of_body.setdefault(body, []).append(joint)
    neighbours: list[set[int]] = [set() for _ in bodies]
    for joints in of_body.values():
        for joint in joints:
            neighbours[joint].update(joints)
    for joint, own in enumerate(neighbours):
        own.discard(joint)
    return neighbours


def rounds_of(neighbours: list[set[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """The joints of each round, and for each joint those that it is still coupled with when it goes."""
    left, rounds = set(range(len(neighbours))), []
    later: list[list[int]] = [[] for _ in neighbours]
    while left:
        few = max(_FEW, min(len(neighbours[j]) for j in left))
        chosen: list[int] = []
        blocked: set[int] = set()
        for j in sorted(left, key=lambda j: (len(neighbours[j]), j)):
            if len(neighbours[j]) > few:
                break
            if j not in blocked:
                chosen.append(j)
                blocked |= neighbours[j]
        for j in chosen:
            later[j] = sorted(neighbours[j])
            for k in later[j]:
                neighbours[k].update(later[j])
                neighbours[k] -= {j, k}
        left.difference_update(chosen)
        rounds.append(chosen)
    return rounds, later


def elimination(bodies: np.ndarray) -> Elimination:
    """How the joints of a model are eliminated. bodies: of each, (joints, 2), -1 is none."""
    rounds, later = rounds_of(couplings(bodies))
    place = {j: (number, j) for number, chosen in enumerate(rounds) for j in chosen}
    pairs = [(row, j) for chosen in rounds for j in chosen for row in (j, *later[j])]
    block = {pair: number for number, pair in enumerate(pairs)}
    terms: list[list[tuple[int, ...]]] = [[] for _ in pairs]
    before: list[list[tuple[int, ...]]] = [[] for _ in later]
    after: list[list[tuple[int, ...]]] = [[] for _ in later]
    for k in itertools.chain.from_iterable(rounds):
        for a, b in itertools.product(later[k], repeat=2):
            if place[a] >= place[b]:
                terms[block[a, b]].append((block[a, k], block[b, k], k))
        for a in later[k]:
            before[a].append((block[a, k], k))
            after[k].append((block[a, k], a))
    order = np.array([j for chosen in rounds for j in chosen], dtype=np.int32)
    sizes = [sum(1 + len(later[j]) for j in chosen) for chosen in rounds]
    ranges = (_ranges([len(chosen) for chosen in rounds]), _ranges(sizes))
    tables = (table(terms, 3), table(before, 2), table(after, 2))
    return Elimination(*ranges, order, np.array(pairs, dtype=np.int32).reshape(-1, 2), *tables)


def _ranges(sizes: list[int]) -> list[tuple[int, int]]:
    """(first, count) of parts of these sizes."""
    ends = list(itertools.accumulate(sizes))
    return [(end - size, size) for end, size in zip(ends, sizes, strict=True)]


def in_loops(bodies: np.ndarray) -> np.ndarray:
    """Whether each joint hangs together with joints that close a loop, through bodies or the world: bool (joints,).

    bodies: of each, (joints, 2), -1 for what does not move.
    """
    count = max(int(bodies.max(initial=-1)) + 1, 1)
    pairs = bodies[(bodies >= 0).all(axis=1)]
    graph = csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    parts, part = connected_components(graph, directed=False)
    fixed = (bodies < 0).any(axis=1)
    of_joint = part[np.maximum(bodies.max(axis=1, initial=-1), 0)]
    joints, held = np.bincount(of_joint, minlength=parts), np.bincount(of_joint[fixed], minlength=parts) > 0
    loops: np.ndarray = (joints > np.bincount(part, minlength=parts) - 1 + held)[of_joint]
    return loops
