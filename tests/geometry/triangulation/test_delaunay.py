"""Edge flips end in Delaunay triangulations, those of SciPy where they are the only ones."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.geometry import delaunay_edge_flip, tri_tri_adjacency

KITE = np.float32([[0, 0], [2, -0.3], [4, 0], [2, 0.3]])
LONG_WAY = [[0, 1, 2], [0, 2, 3]]


def area(p, triangles):
    a, b, c = (p[triangles[:, k]].astype(float) for k in range(3))
    return 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def as_set(triangles):
    return {tuple(sorted(t)) for t in np.asarray(triangles).tolist()}


def flipped(p, triangles, dtype=wp.vec2, **options):
    indices = wp.array(np.asarray(triangles, np.int32).reshape(-1, 3), dtype=int)
    count = delaunay_edge_flip(wp.array(p, dtype=dtype), indices, **options)
    assert count.shape == (1,)
    return count.list()[0], indices.numpy()


def spoiled(p, rng, rounds=3):
    """A valid triangulation of points that is far from Delaunay: edges of one flipped at random."""
    triangles = Delaunay(p).simplices.astype(np.int32)
    triangles[area(p, triangles) < 0] = triangles[area(p, triangles) < 0][:, ::-1]
    for _ in range(rounds):
        neighbors, edges = (a.numpy() for a in tri_tri_adjacency(wp.array(triangles, dtype=int)))
        free = np.ones(len(triangles), bool)
        for t in rng.permutation(len(triangles)):
            j = rng.integers(3)
            u = neighbors[t, j]
            if u < 0 or not (free[t] and free[u]):
                continue
            a, b, c = np.roll(triangles[t], -j)
            d = triangles[u, edges[t, j]]
            new = np.int32([[a, b, d], [a, d, c]])
            if (area(p, new) > 1e-6).all():
                triangles[[t, u]], free[[t, u]] = new, False
    return triangles


@pytest.mark.parametrize("dtype, kind", [(wp.vec2, np.float32), (wp.vec2d, np.float64)])
@pytest.mark.parametrize("n", [5, 50, 400])
def test_random_points(n, dtype, kind):
    rng = np.random.default_rng(n)
    p = rng.uniform(-1, 1, (n, 2)).astype(kind)
    start = spoiled(p, rng)
    before = area(p, start).sum()
    count, triangles = flipped(p, start, dtype)
    assert as_set(triangles) == as_set(Delaunay(p).simplices)
    assert count >= len(as_set(start) - as_set(triangles)) // 2
    assert (area(p, triangles) > 0).all() and area(p, triangles).sum() == pytest.approx(before)
    assert flipped(p, triangles, dtype)[0] == 0


def test_one_edge_and_what_forbids_to_flip_it():
    assert flipped(KITE, LONG_WAY)[0] == 1
    assert as_set(flipped(KITE, LONG_WAY)[1]) == {(0, 1, 3), (1, 2, 3)}
    assert flipped(KITE, LONG_WAY, area_epsilon=0.59)[0] == 1
    assert flipped(KITE, LONG_WAY, area_epsilon=0.61)[0] == 0  # each half has 0.6
    assert flipped(KITE, LONG_WAY, ref_positions=wp.array(KITE, dtype=wp.vec2))[0] == 1
    assert flipped(KITE, LONG_WAY, ref_positions=wp.array(-KITE[:, ::-1], dtype=wp.vec2))[0] == 1  # inside out
    flat = np.float32([[0, 0], [2, 0], [4, 0], [0, 0]])
    assert flipped(KITE, LONG_WAY, ref_positions=wp.array(flat, dtype=wp.vec2))[0] == 0
    corner = np.float32([[0, 0], [2, 1.9], [4, 0], [2, 2]])  # the other diagonal would lie outside
    assert flipped(corner, [[0, 2, 1], [0, 1, 3]])[0] == flipped(corner, [[0, 2, 1], [1, 2, 3]])[0] == 0


def test_corners_on_one_circle_are_left():
    i, j = np.divmod(np.arange(400), 20)
    a = i * 21 + j
    squares = np.concatenate([np.stack([a, a + 21, a + 22], 1), np.stack([a, a + 22, a + 1], 1)])
    x, y = np.divmod(np.arange(21 * 21), 21)
    for scale, shift in ((1.0, 0.0), (0.1, 0.3), (1e-3, 1e3), (7e4, -3.0)):
        p = (np.stack([x, y], 1) * scale + shift).astype(np.float32)
        if np.unique(p, axis=0).shape == p.shape and (area(p, squares) > 0).all():
            count, triangles = flipped(p, squares)
            assert flipped(p, triangles)[0] == 0 and (area(p, triangles) > 0).all() and count < 400


def test_sheared_grids_are_done_in_few_passes():
    i, j = np.divmod(np.arange(900), 30)
    a = i * 31 + j
    squares = np.concatenate([np.stack([a, a + 31, a + 32], 1), np.stack([a, a + 32, a + 1], 1)])
    x, y = np.divmod(np.arange(31 * 31), 31)
    p = np.stack([x + 1.7 * y, y], 1).astype(np.float32)
    count, triangles = flipped(p, squares, max_passes=40)
    assert count > 500 and flipped(p, triangles, max_passes=1)[0] == 0
    fewer = flipped(p, squares, max_passes=1)[0]
    assert 0 < fewer < count


def test_graphs_flip_when_they_run():
    p, indices = wp.array(KITE, dtype=wp.vec2), wp.array(LONG_WAY, dtype=int)
    with wp.ScopedCapture() as capture:
        count = delaunay_edge_flip(p, indices)
    assert indices.numpy().tolist() == LONG_WAY
    wp.capture_launch(capture.graph)
    assert count.list() == [1] and as_set(indices.numpy()) == {(0, 1, 3), (1, 2, 3)}
    wp.capture_launch(capture.graph)
    assert count.list() == [0]


@wp.kernel
def sum_squares(p: wp.array[wp.vec2], indices: wp.array2d[int], loss: wp.array[float]):
    t = wp.tid()
    a, b = p[indices[t, 0]], p[indices[t, 1]]
    wp.atomic_add(loss, 0, wp.length_sq(b - a))


def test_tapes_keep_the_triangles_that_their_launches_saw():
    p, indices = wp.array(KITE, dtype=wp.vec2, requires_grad=True), wp.array(LONG_WAY, dtype=int)
    loss = wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(sum_squares, 2, inputs=[p, indices], outputs=[loss])
        assert delaunay_edge_flip(p, indices).list() == [1]
        tri_tri_adjacency(indices)
    assert len(tape.records) == 1
    tape.backward(loss)
    a, b = KITE[[0, 0]], KITE[[1, 2]]
    expected = np.zeros_like(KITE)
    np.add.at(expected, [0, 0], 2 * (a - b))
    np.add.at(expected, [1, 2], 2 * (b - a))
    np.testing.assert_allclose(p.grad.numpy(), expected, rtol=1e-6)


def test_nothing_and_mistakes():
    assert flipped(np.zeros((0, 2)), np.zeros((0, 3)))[0] == 0
    p, indices = wp.array(KITE, dtype=wp.vec2), wp.array(LONG_WAY, dtype=int)
    areas = [{"area_epsilon": -1.0}, {"area_epsilon": float("nan")}, {"ref_area_epsilon": -1}]
    for options in ({"max_passes": 0}, *areas):
        with pytest.raises(ValueError, match=f"{next(iter(options))} is"):
            delaunay_edge_flip(p, indices, **options)
    with pytest.raises(ArgumentTypeError, match="vec2 or vec2d"):
        delaunay_edge_flip(wp.zeros(4, dtype=wp.vec3), indices)
    with pytest.raises(ArrayError, match=r"\(triangles, 3\)"):
        delaunay_edge_flip(p, indices.flatten())
    with pytest.raises(ArrayError, match="that of positions"):
        delaunay_edge_flip(p, indices, ref_positions=p[:2])
    assert indices.numpy().tolist() == LONG_WAY
