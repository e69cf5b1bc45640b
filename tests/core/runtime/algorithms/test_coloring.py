"""Graph colorings: valid on random graphs, few colors where the number is known, balanced groups, refusals."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError

pytestmark = pytest.mark.cpu
ALGORITHMS = list(wp.utils.GraphColoringAlgorithm)


def colored(pairs, nodes, algorithm):
    edges = wp.array(np.asarray(pairs, np.int32).reshape(-1, 2), dtype=wp.int32, device="cpu")
    colors = wp.empty(nodes, dtype=wp.int32, device="cpu")
    count = wp.utils.graph_coloring_assign(edges, colors, algorithm)
    return edges, colors, count


def is_valid(edges, colors):
    ends = colors.numpy()[edges.numpy()]
    return not (ends[:, 0] == ends[:, 1]).any()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(6))
def test_no_edge_joins_equal_colors(algorithm, seed):
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 300))
    pairs = rng.integers(0, nodes, (int(rng.integers(0, 5 * nodes)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    edges, colors, count = colored(pairs, nodes, algorithm)
    assert is_valid(edges, colors)
    assert set(colors.numpy()) == set(range(count))
    most = np.bincount(np.unique(np.sort(pairs, 1), axis=0).ravel(), minlength=nodes).max(initial=0)
    assert count <= most + 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("pairs", "nodes", "colors"),
    [
        ([], 5, 1),
        ([(0, 1)], 2, 2),
        ([(k, k + 1) for k in range(9)], 10, 2),
        ([(0, 1), (1, 2), (2, 0)], 3, 3),
        ([(i, j) for i in range(6) for j in range(i)], 6, 6),
        ([(0, k) for k in range(1, 8)], 8, 2),
    ],
)
def test_graphs_whose_number_is_known(algorithm, pairs, nodes, colors):
    assert colored(pairs, nodes, algorithm)[2] == colors


def test_cardinality_search_is_optimal_for_chordal_graphs():
    rng = np.random.default_rng(7)
    starts = np.sort(rng.random(80))
    ends = starts + 0.1 * rng.random(80)  # intervals that overlap: a chordal graph
    pairs = [(i, j) for i in range(80) for j in range(i) if starts[i] <= ends[j]]
    clique = max(int(((starts <= s) & (ends >= s)).sum()) for s in starts)
    assert colored(pairs, 80, wp.utils.GraphColoringAlgorithm.MCS)[2] == clique


@pytest.mark.parametrize("seed", range(4))
def test_balanced_groups_stay_valid_and_no_less_even(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 120, (240, 2))
    edges, colors, count = colored(pairs[pairs[:, 0] != pairs[:, 1]], 120, wp.utils.GraphColoringAlgorithm.MCS)
    before = np.bincount(colors.numpy())
    ratio = wp.utils.graph_coloring_balance(edges, colors, count, 1.1)
    after = np.bincount(colors.numpy(), minlength=count)
    assert is_valid(edges, colors) and ratio == after.max() / after.min() <= before.max() / before.min()
    assert ratio < 1.5


def test_balancing_ends_at_the_limit_with_a_warning():
    edges, colors, _ = colored([], 6, wp.utils.GraphColoringAlgorithm.MCS)
    colors.assign([0, 0, 0, 0, 0, 1])
    with pytest.warns(UserWarning, match="stopped after 1 steps at the ratio 2"):
        assert wp.utils.graph_coloring_balance(edges, colors, 2, 1.1, max_iterations=1) == 2
    assert wp.utils.graph_coloring_balance(edges, colors, 2, 1.1, max_iterations=1) == 1


def test_groups_are_the_nodes_of_each_color():
    colors = wp.array([2, 0, 2, 1], dtype=wp.int32, device="cpu")
    groups = wp.utils.graph_coloring_get_groups(colors, 4, return_wp_array=False)
    assert [list(g) for g in groups] == [[1], [3], [0, 2], []]
    assert all(g.dtype is wp.int32 for g in wp.utils.graph_coloring_get_groups(colors, 4))


def test_what_does_not_fit_is_refused():
    colors = wp.zeros(2, dtype=wp.int32, device="cpu")
    edges = wp.array([[0, 1]], dtype=wp.int32, device="cpu")
    assign, balance = wp.utils.graph_coloring_assign, wp.utils.graph_coloring_balance
    for wrong in ((-1, 0), (0, 2)):
        with pytest.raises(ArrayError, match="edge 0 joins the nodes"):
            assign(wp.array([wrong], dtype=wp.int32, device="cpu"), colors)
    with pytest.raises(ArrayError, match="edges is"):
        assign(wp.zeros((3, 3), dtype=wp.int32, device="cpu"), colors)
    with pytest.raises(ArrayError, match="node 1 has color 5"):
        balance(edges, wp.array([0, 5], dtype=wp.int32, device="cpu"), 2, 1.1)
    for limit, error in ((True, TypeError), (1.5, TypeError), (-1, ValueError), (2**31, ValueError)):
        with pytest.raises(error, match="max_iterations is"):
            balance(edges, colors, 2, 1.1, max_iterations=limit)


@pytest.mark.parametrize(
    "colors, count, told",
    [
        ([0, 1], 2, r"node_colors is \[0, 1\]"),
        (wp.array([0.0, 1.0]), 2, "expected: an array of int32"),
        (wp.array([0, 3], dtype=int), 2, "colors run from 0 to 3\nexpected: 0 to 1"),
    ],
)
def test_groups_of_what_is_no_coloring_are_refused(colors, count, told):
    with pytest.raises(wp.errors.ArrayError, match=told):
        wp.utils.graph_coloring_get_groups(colors, count)
