"""Neighbours of triangles, against a dictionary of edges."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.geometry import find_triangle_neighbor_edge_index, tri_tri_adjacency


@wp.kernel
def find(neighbors: wp.array2d[int], pairs: wp.array[wp.vec2i], out: wp.array[int]):
    i = wp.tid()
    out[i] = find_triangle_neighbor_edge_index(neighbors, pairs[i][0], pairs[i][1])


def by_dictionary(triangles):
    neighbors, edges = np.full_like(triangles, -1), np.full_like(triangles, -1)
    seen = {}
    for t, corners in enumerate(triangles.tolist()):
        for j in range(3):
            edge = frozenset((corners[(j + 1) % 3], corners[(j + 2) % 3]))
            if edge in seen:
                u, k = seen[edge]
                neighbors[t, j], neighbors[u, k], edges[t, j], edges[u, k] = u, t, k, j
            seen[edge] = t, j
    return neighbors, edges


def grid(n, rng):
    """Squares cut in two, corners turned and orders mixed; some triangles upside down."""
    i, j = np.divmod(np.arange(n * n), n)
    a, b, c, d = (i * (n + 1) + j, (i + 1) * (n + 1) + j, (i + 1) * (n + 1) + j + 1, i * (n + 1) + j + 1)
    triangles = rng.permutation(np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]))
    turned = np.stack([np.roll(row, rng.integers(3)) for row in triangles])
    turned[::5] = turned[::5, ::-1]
    return turned.astype(np.int32)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_neighbours_of_a_grid(n):
    triangles = grid(n, np.random.default_rng(n))
    indices = wp.array(triangles, dtype=int)
    neighbors, edges = tri_tri_adjacency(indices)
    expected = by_dictionary(triangles)
    np.testing.assert_array_equal(neighbors.numpy(), expected[0])
    np.testing.assert_array_equal(edges.numpy(), expected[1])
    alone = tri_tri_adjacency(indices, vertex_count=(n + 1) ** 2, return_neighbor_edge_indices=False)
    np.testing.assert_array_equal(alone.numpy(), expected[0])


def test_edges_are_found_again():
    triangles = grid(5, np.random.default_rng(3))
    neighbors, edges = tri_tri_adjacency(wp.array(triangles, dtype=int))
    t, j = np.nonzero(neighbors.numpy() >= 0)
    u = neighbors.numpy()[t, j]
    pairs = np.concatenate([np.stack([u, t], 1), [[0, 0]]])
    out = wp.zeros(len(pairs), dtype=int)
    wp.launch(find, len(pairs), inputs=[neighbors, wp.array(pairs, dtype=wp.vec2i)], outputs=[out])
    np.testing.assert_array_equal(out.numpy(), [*edges.numpy()[t, j], -1])


def test_closed_surfaces_strips_and_nothing():
    tetrahedron = wp.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]], dtype=int)
    assert (np.sort(tri_tri_adjacency(tetrahedron)[0].numpy()) == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]).all()
    apart = wp.array([[0, 1, 2], [3, 4, 5]], dtype=int)
    assert (tri_tri_adjacency(apart)[0].numpy() == -1).all()
    neighbors, edges = tri_tri_adjacency(wp.zeros((0, 3), dtype=int))
    assert neighbors.shape == edges.shape == (0, 3)
    fan = wp.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]], dtype=int)  # three at an edge: the first two
    assert tri_tri_adjacency(fan)[0].numpy().tolist() == [[-1, -1, 1], [-1, -1, 0], [-1, -1, -1]]


def test_what_is_no_triangle():
    for wrong, error in ((wp.zeros((2, 3)), ArgumentTypeError), ([[0, 1, 2]], ArgumentTypeError)):
        with pytest.raises(error):
            tri_tri_adjacency(wrong)
    for shape in ((2, 4), 6):
        with pytest.raises(ArrayError, match=r"expected: \(triangles, 3\)"):
            tri_tri_adjacency(wp.zeros(shape, dtype=int))
