"""Graph colorings: numbers for nodes so that no edge joins two equal ones, and groups of about equal size.

Nodes of one color can be worked on at once. Orders of nodes are those of maximum cardinality search (Tarjan and
Yannakakis 1984, SIAM J. Comput. 13), which is optimal for chordal graphs, and by degree (Welsh and Powell 1967); each
node takes the smallest color that no neighbor has.
"""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

import numpy as np

from ....errors import ArrayError, shown
from ...frontend.functions.functions import func
from ...types.scalars import int32
from ...types.structs import struct
from ..arrays.array import array
from ..devices.device import DeviceLike
from ..launch import launch
from ..launches.kernel import kernel


class GraphColoringAlgorithm(IntEnum):
    """The order in which nodes take colors."""

    MCS = 0
    """Maximum cardinality search: next comes a node with the most colored neighbors."""
    GREEDY = 1
    """Nodes with the most neighbors come first."""


@struct
class _WeightLists:
    """Nodes by their weight, the number of neighbors with a color: doubly linked lists that start at `heads`."""

    heads: array(dtype=int32)
    after: array(dtype=int32)
    before: array(dtype=int32)
    weights: array(dtype=int32)


@func
def _free_color(
    v: int32,
    starts: array(dtype=int32),
    ends: array(dtype=int32),
    colors: array(dtype=int32),
    marks: array(dtype=int32),
) -> int32:
    """The smallest color that no neighbor of a node has; `marks` are its notes."""
    for k in range(starts[v], starts[v + 1]):
        c = colors[ends[k]]
        if c >= 0:
            marks[c] = v
    color = int32(0)
    while marks[color] == v:
        color += 1
    return color


@kernel(enable_backward=False)
def _color_in_order(
    order: array(dtype=int32),
    starts: array(dtype=int32),
    ends: array(dtype=int32),
    marks: array(dtype=int32),
    colors: array(dtype=int32),
):
    for k in range(order.shape[0]):
        v = order[k]
        colors[v] = _free_color(v, starts, ends, colors, marks)


@func
def _unlink(v: int32, weight: int32, lists: _WeightLists):
    """Take a node from the list of nodes of its weight."""
    if lists.before[v] >= 0:
        lists.after[lists.before[v]] = lists.after[v]
    else:
        lists.heads[weight] = lists.after[v]
    if lists.after[v] >= 0:
        lists.before[lists.after[v]] = lists.before[v]


@kernel(enable_backward=False)
def _color_by_cardinality(
    starts: array(dtype=int32),
    ends: array(dtype=int32),
    marks: array(dtype=int32),
    lists: _WeightLists,
    colors: array(dtype=int32),
):
    top = int32(0)
    for _ in range(colors.shape[0]):
        while lists.heads[top] < 0:
            top -= 1
        v = lists.heads[top]
        _unlink(v, top, lists)
        colors[v] = _free_color(v, starts, ends, colors, marks)
        for k in range(starts[v], starts[v + 1]):
            u = ends[k]
            if colors[u] < 0:
                weight = lists.weights[u]
                _unlink(u, weight, lists)
                lists.weights[u] = weight + 1
                lists.before[u] = int32(-1)
                lists.after[u] = lists.heads[weight + 1]
                if lists.after[u] >= 0:
                    lists.before[lists.after[u]] = u
                lists.heads[weight + 1] = u
                top = max(top, weight + 1)


def graph_coloring_assign(
    edges: array, node_colors: array, algorithm: GraphColoringAlgorithm = GraphColoringAlgorithm.MCS
) -> int:
    """Color the nodes of an undirected graph; returns the number of colors.

    edges: (n, 2) int32, the nodes that each joins. node_colors: (nodes,) int32, filled. Both on the host. Raises
    `ArrayError` for arrays that do not fit, and for edges to nodes that are not there.
    """
    pairs, colors = _checked_edges(edges, node_colors), node_colors._data
    if not colors.size:
        return 0
    starts, ends = _neighbors(pairs, colors.size)
    degrees = np.diff(starts)
    marks = np.full(colors.size + 1, -1, np.int32)
    node_colors.fill_(-1)
    graph = [_on_host(starts), _on_host(ends), _on_host(marks)]
    if GraphColoringAlgorithm(algorithm) is GraphColoringAlgorithm.GREEDY:
        order = np.argsort(-degrees, kind="stable").astype(np.int32)
        launch(_color_in_order, 1, [_on_host(order), *graph], [node_colors], device="cpu")
    else:
        launch(_color_by_cardinality, 1, [*graph, _one_list(degrees)], [node_colors], device="cpu")
    return int(colors.max()) + 1


def _one_list(degrees: np.ndarray) -> _WeightLists:
    """A list of all nodes, of weight 0; nodes with many neighbors stand first."""
    count = degrees.size
    order = np.argsort(-degrees, kind="stable")
    heads = np.full(int(degrees.max()) + 2, -1, np.int32)
    heads[0] = order[0]
    after, before = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
    after[order[:-1]], before[order[1:]] = order[1:], order[:-1]
    weights = np.zeros(count, np.int32)
    return _WeightLists(*map(_on_host, (heads, after, before, weights)))


def graph_coloring_balance(
    edges: array,
    node_colors: array,
    color_count: int,
    target_max_min_ratio: float,
    *,
    max_iterations: int | None = None,
) -> float:
    """Give nodes other colors until the largest group is at most so many times the smallest; returns that ratio.

    A step takes a node of a group as large as possible to the smallest one, where no neighbor has that color. It ends
    at the target, when no step is left, or after `max_iterations` steps (None: as many as there are nodes), which it
    warns of; the best coloring that it saw stays. Raises `ArrayError` for arrays, edges and colors that do not fit,
    `TypeError` and `ValueError` for a limit that is no count.
    """
    pairs, colors = _checked_edges(edges, node_colors), node_colors._data
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, int | np.integer | None):
        raise TypeError(f"max_iterations is {max_iterations!r}\nexpected: a whole number, or None")
    if max_iterations is not None and not 0 <= max_iterations < 2**31:
        raise ValueError(f"max_iterations is {max_iterations}\nexpected: 0 to {2**31 - 1}, or None")
    wrong = np.flatnonzero((colors < 0) | (colors >= color_count))
    if wrong.size:
        raise ArrayError(f"node {wrong[0]} has color {colors[wrong[0]]}\nexpected: 0 to {color_count - 1}")
    balance = _Balance(pairs, colors.copy(), color_count)
    ratio = balance.improve(target_max_min_ratio, colors.size if max_iterations is None else int(max_iterations))
    node_colors.assign(balance.best)
    return ratio


class _Balance:
    """A coloring in the course of being balanced.

    touching: (nodes, colors), how many neighbors of each color a node has. sizes: of groups.
    """

    def __init__(self, pairs: np.ndarray, colors: np.ndarray, count: int):
        self.colors, self.best, self.count = colors, colors.copy(), count
        self.starts, self.ends = _neighbors(pairs, colors.size)
        self.sizes = np.bincount(colors, minlength=count)
        self.touching = np.zeros((colors.size, count), np.int32)
        np.add.at(self.touching, (np.repeat(np.arange(colors.size), np.diff(self.starts)), colors[self.ends]), 1)

    def ratio(self) -> float:
        """The size of the largest group by that of the smallest."""
        least = int(self.sizes.min(initial=0) if not self.count else self.sizes.min())
        return float(self.sizes.max()) / least if least else float("inf") if self.colors.size else 1.0

    def improve(self, target: float, steps: int) -> float:
        """Step until the target, the end of what is possible, or the limit; returns the best ratio."""
        best = self.ratio()
        for done in range(steps + 1):
            step = None if best <= target else self.step()
            if step is None:
                return best
            if done == steps:
                warnings.warn(
                    f"balancing a graph coloring stopped after {steps} steps at the ratio {best:g}, and {target:g} was "
                    "asked for\nhelp: a larger max_iterations",
                    UserWarning,
                    stacklevel=4,
                )
                return best
            self.move(*step)
            ratio = self.ratio()
            if ratio < best:
                best, self.best = ratio, self.colors.copy()
        return best

    def step(self) -> tuple[int, int] | None:
        """A node and its new color: the smallest group's, from the largest group that has a node for it."""
        target = int(np.argmin(self.sizes))
        for source in np.argsort(-self.sizes, kind="stable"):
            if self.sizes[source] <= self.sizes[target]:
                return None
            free = np.flatnonzero((self.colors == source) & (self.touching[:, target] == 0))
            if free.size:
                return int(free[0]), target
        return None

    def move(self, node: int, color: int) -> None:
        """Give a node another color."""
        around = self.ends[self.starts[node] : self.starts[node + 1]]
        old = self.colors[node]
        np.subtract.at(self.touching[:, old], around, 1)
        np.add.at(self.touching[:, color], around, 1)
        self.sizes[old] -= 1
        self.sizes[color] += 1
        self.colors[node] = color


def graph_coloring_get_groups(
    node_colors: array, color_count: int, return_wp_array: bool = True, device: DeviceLike = "cpu"
) -> tuple[Any, ...]:
    """The nodes of each color, in order: int32 arrays on a device, or NumPy arrays.

    Raises ArrayError unless `node_colors` (nodes,) is of int32 and its colors are from 0 to `color_count - 1`.
    """
    if not (isinstance(node_colors, array) and node_colors.dtype is int32 and node_colors.ndim == 1):
        raise ArrayError(f"node_colors is {shown(node_colors)}\nexpected: an array of int32, of shape (nodes,)")
    colors = node_colors.numpy()
    if colors.size and not 0 <= colors.min() <= colors.max() < color_count:
        raise ArrayError(f"colors run from {colors.min()} to {colors.max()}\nexpected: 0 to {color_count - 1}")
    order = np.argsort(colors, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(colors, minlength=color_count))
    groups = np.split(order, ends[:-1])
    return tuple(array(g, dtype=int32, device=device) for g in groups) if return_wp_array else tuple(groups)


def _checked_edges(edges: array, colors: array) -> np.ndarray:
    """The edges, (n, 2), without those from a node to itself."""
    for name, a, rank in (("edges", edges, 2), ("node_colors", colors, 1)):
        fits = isinstance(a, array) and a.dtype is int32 and a.ndim == rank and a.device.shares_host_memory
        if not fits or (rank == 2 and a.shape[1] != 2):
            shape = "(n, 2)" if rank == 2 else "(nodes,)"
            raise ArrayError(f"{name} is {a!r}\nexpected: an array of int32 on the CPU, of shape {shape}")
    pairs: np.ndarray = edges._data
    wrong = np.flatnonzero(((pairs < 0) | (pairs >= colors.size)).any(1))
    if wrong.size:
        ends = tuple(int(n) for n in pairs[wrong[0]])
        raise ArrayError(f"edge {wrong[0]} joins the nodes {ends}\nexpected: nodes from 0 to {colors.size - 1}")
    return pairs[pairs[:, 0] != pairs[:, 1]]


def _neighbors(pairs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The neighbors of all nodes one after the other, each once, and where those of each node start."""
    both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=count))]).astype(np.int32)
    return starts, np.ascontiguousarray(both[:, 1], np.int32)


def _on_host(x: np.ndarray) -> array:
    return array(x, dtype=int32, device="cpu")
