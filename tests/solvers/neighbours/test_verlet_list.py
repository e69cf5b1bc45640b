"""Verlet lists hold every pair that can touch, in an order of their own, and hand on what is kept per pair."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers.neighbours.verlet_list import VerletList, note_moved


def random_particles(rng, n, width, offset=0.0):
    """Packed particles, (n, 4)."""
    return np.column_stack([rng.uniform(0.0, width, (n, 3)) + offset, rng.uniform(0.02, 0.05, n)])


def near_pairs(q, skin, period):
    """Ordered pairs whose surfaces are less than `skin` apart, by brute force in float64."""
    d = q[:, None, :3] - q[None, :, :3]
    for axis, length in enumerate(period):
        if length:
            d[..., axis] -= length * np.rint(d[..., axis] / length)
    reach = q[:, None, 3] + q[None, :, 3] + skin
    near = (d**2).sum(axis=2) < reach**2
    np.fill_diagonal(near, False)
    return {(int(i), int(j)) for i, j in np.argwhere(near)}


def in_one_world(q, device):
    return wp.zeros(len(q), dtype=int, device=device)


def lists_of(q, skin, period, device="cpu", dtype=wp.float64):
    """The list, and the packed particles in its order."""
    vec4 = wp.types.vector(4, dtype)
    source = wp.array(q, dtype=vec4, device=device)
    target = wp.zeros_like(source)
    lists = VerletList(len(q), skin, 2.0 * q[:, 3].max(initial=0.0) + skin, period, dtype, device)
    lists.rebuild(source, in_one_world(q, device), target)
    return lists, source, target


def pairs_of(lists):
    """Ordered pairs in the numbers that particles had before the build."""
    order, offsets, ids = lists.sort.order.numpy(), lists.rows.offsets.numpy(), lists.rows.ids.numpy()
    rows = np.repeat(np.arange(lists.count), np.diff(offsets))
    return [(int(order[i]), int(order[j])) for i, j in zip(rows, ids[: offsets[-1]], strict=True)]


@pytest.mark.parametrize(
    ("device", "period", "offset"),
    [
        ("cpu", (0.0, 0.0, 0.0), 0.0),
        ("cpu", (0.5, 0.0, 0.5), 0.0),
        ("cpu", (0.5, 0.5, 0.5), -300.0),
        ("interp", (0.5, 0.0, 0.0), 0.0),
    ],
)
def test_all_near_pairs_are_listed_once(device, period, offset):
    q = random_particles(np.random.default_rng(3), 30 if device == "interp" else 300, 0.5, offset)
    lists, *_ = lists_of(q, 0.01, period, device)
    pairs = pairs_of(lists)
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == near_pairs(q, 0.01, period)


def test_long_rows_hold_all_neighbours():
    """A large ball among small ones has more neighbours than are kept of the first search, in a graph too."""
    q = random_particles(np.random.default_rng(6), 200, 0.4)
    q[7] = (0.2, 0.2, 0.2, 0.15)
    lists, source, target = lists_of(q, 0.02, (0.0, 0.0, 0.0))
    world = in_one_world(q, "cpu")
    assert np.diff(lists.rows.offsets.numpy()).max() > 4 * lists._near.shape[1]
    pairs = pairs_of(lists)
    assert len(set(pairs)) == len(pairs) and set(pairs) == near_pairs(q, 0.02, (0.0, 0.0, 0.0))
    with wp.ScopedCapture() as capture:
        lists.rebuild(source, world, target)
    q[:, :3] = q[::-1, :3]
    source.assign(q)
    wp.capture_launch(capture.graph)
    assert set(pairs_of(lists)) == near_pairs(q, 0.02, (0.0, 0.0, 0.0))


def test_particles_follow_the_order_of_the_cells():
    q = random_particles(np.random.default_rng(4), 100, 0.5)
    lists, _, target = lists_of(q, 0.01, (0.0, 0.0, 0.0))
    np.testing.assert_array_equal(target.numpy(), q[lists.sort.order.numpy()])
    np.testing.assert_array_equal(lists.sort.rank.numpy()[lists.sort.order.numpy()], np.arange(100))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_particles_have_lists_too(n):
    q = np.array([(0.0, 0.0, 0.0, 0.1), (0.15, 0.0, 0.0, 0.1)])[:n].reshape(n, 4)
    lists, *_ = lists_of(q, 0.01, (0.0, 0.0, 0.0))
    assert sorted(pairs_of(lists)) == ([(0, 1), (1, 0)] if n == 2 else [])


def test_what_is_kept_per_pair_follows_it_through_rebuilds():
    """A number that names the pair finds its pair again, though particles moved and their order changed."""
    rng = np.random.default_rng(5)
    q = random_particles(rng, 200, 0.5)
    lists, source, target = lists_of(q, 0.02, (0.0, 0.0, 0.0))
    number = np.arange(200)
    kept, known = None, set()
    for _ in range(4):
        number = number[lists.sort.order.numpy()]
        offsets, ids = lists.rows.offsets.numpy(), lists.rows.ids.numpy()[: lists.rows.offsets.numpy()[-1]]
        rows = np.repeat(np.arange(200), np.diff(offsets))
        pairs = [(int(number[i]), int(number[j])) for i, j in zip(rows, ids, strict=True)]
        names = {(i, j): 1000.0 * i + j + 1.0 for i, j in pairs}
        if kept is not None:
            carried = dict(zip(names, kept.numpy()[: len(ids)], strict=True))
            for pair, value in carried.items():
                assert value == (names[pair] if pair in known else 0.0)
            assert any(pair in known for pair in names) and any(pair not in known for pair in names)
        values = wp.array(np.array([*names.values()]), dtype=wp.float64)
        known = set(names)
        source, target = target, source
        moved = source.numpy()
        moved[:, :3] += rng.uniform(-0.02, 0.02, (200, 3))
        source.assign(moved)
        lists.rebuild(source, in_one_world(q, "cpu"), target)
        kept = wp.zeros(lists.rows.capacity, dtype=wp.float64)
        lists.carry(values, kept)


@wp.kernel
def note(outdated: wp.array(dtype=int), limit: wp.float64, q: wp.array(dtype=wp.vec4d), seen: wp.array(dtype=wp.vec4d)):
    note_moved(outdated, limit, q[wp.tid()], seen[wp.tid()])


@pytest.mark.parametrize("grown", [0.0, 0.004, -0.004])
def test_lists_are_outdated_after_half_the_skin(grown):
    q = random_particles(np.random.default_rng(6), 10, 0.5)
    lists, *_ = lists_of(q, 0.02, (0.0, 0.0, 0.0))
    for moved, expected in ((0.0099, False), (0.0101, True)):
        way = moved - max(grown, 0.0)
        q, seen = (wp.array([r], dtype=wp.vec4d) for r in ((0.6 * way, 0.0, 0.8 * way, 0.05 + grown), (0, 0, 0, 0.05)))
        wp.launch(note, 1, [lists.outdated, lists.limit, q, seen])
        assert lists.is_outdated is expected
