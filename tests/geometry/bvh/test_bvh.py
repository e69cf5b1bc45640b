"""`Bvh` as users meet it: arguments, life time, refit and rebuild, groups, devices."""

import threading

import numpy as np
import pytest
from bvh_boxes import DEFAULTS, boxes

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import ArgumentTypeError, BvhError, CheckpointError, DeviceError, LaunchError, StructureIdError
from warpsim.geometry.bvh.bvh import Bvh
from warpsim.geometry.bvh.query import (
    bvh_get_group_root,
    bvh_query_aabb,
    bvh_query_capsule,
    bvh_query_next,
    bvh_query_ray,
    bvh_query_sphere,
)

pytestmark = pytest.mark.usefixtures("every_constructor")

LOW = np.random.default_rng(5).uniform(-1, 1, (60, 3)).astype(np.float32)


@wp.kernel
def overlaps(bvh: wp.uint64, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), found: wp.array2d(dtype=int)):
    q = wp.tid()
    for i in bvh_query_aabb(bvh, low[q], high[q]):
        found[q, i] += 1


@wp.kernel
def in_order(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, order: wp.array(dtype=int)):
    query = bvh_query_aabb(bvh, low, high)
    i = int(-7)
    n = int(0)
    while bvh_query_next(query, i):
        order[n] = i
        n += 1
    order[n] = -i  # what the last call, which found nothing, left there
    if bvh_query_next(query, i):
        order[n] = 1000


@wp.kernel
def nearest_along(bvh: wp.uint64, lowers: wp.array(dtype=wp.vec3), start: wp.vec3, found: wp.array(dtype=int)):
    query = bvh_query_ray(bvh, start, wp.vec3(1.0, 0.0, 0.0))
    i = int(0)
    best = float(1e30)
    while bvh_query_next(query, i, best):
        found[0] += 1
        t = lowers[i][0] - start[0]
        if t < best:
            best = t
            found[1] = i


@wp.kernel
def in_group(bvh: wp.uint64, group: int, low: wp.vec3, high: wp.vec3, found: wp.array2d(dtype=int)):
    root = bvh_get_group_root(bvh, group)
    for i in bvh_query_aabb(bvh, low, high, root):
        found[0, i] += 1
    center = (low + high) * 0.5
    for i in bvh_query_sphere(bvh, center, 1.0e3, root):
        found[1, i] += 1
    for i in bvh_query_ray(bvh, center, wp.vec3(0.0), root):
        found[2, i] += 1
    for i in bvh_query_capsule(bvh, low, high - low, 1.0e3, root):
        found[3, i] += 1


def vectors(x, device=None):
    return wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device=device)


def bvh_of(lower, upper, device=None, **options):
    return Bvh(vectors(lower, device), vectors(upper, device), **{**DEFAULTS, **options})


def counts(bvh, low, high):
    n = bvh.lowers.size
    found = wp.zeros((len(low), n), dtype=int, device=bvh.device)
    given = [vectors(x, bvh.device) for x in (low, high)]
    wp.launch(overlaps, len(low), [bvh.id, *given], [found], device=bvh.device)
    return found.numpy()


def expected(lower, upper, low, high):
    return ((lower <= high[:, None]) & (upper >= low[:, None])).all(2)


SPACE = np.array([[-1e30] * 3]), np.array([[1e30] * 3])


# ----- queries ----------------------------------------------------------------------------------


def test_an_empty_hierarchy_finds_nothing():
    bvh = bvh_of(np.zeros((0, 3)), np.zeros((0, 3)))
    assert counts(bvh, *SPACE).shape == (1, 0)
    order = wp.zeros(2, dtype=int)
    wp.launch(in_order, 1, [bvh.id, wp.vec3(-1.0), wp.vec3(1.0)], [order])
    assert list(order.numpy()) == [7, 0]


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_few_boxes(n):
    lower = np.arange(n)[:, None] * np.ones(3)
    assert np.array_equal(counts(bvh_of(lower, lower + 0.5), *SPACE), np.ones((1, n)))


def test_the_index_keeps_its_value_at_the_end():
    bvh = bvh_of([[0, 0, 0]], [[1, 1, 1]])
    order = wp.zeros(3, dtype=int)
    wp.launch(in_order, 1, [bvh.id, wp.vec3(0.5), wp.vec3(0.6)], [order])
    assert list(order.numpy()) == [0, 0, 0]
    wp.launch(in_order, 1, [bvh.id, wp.vec3(2.0), wp.vec3(3.0)], [order])
    assert list(order.numpy()) == [7, 0, 0]


def test_a_limit_that_comes_down_is_kept():
    rng = np.random.default_rng(0)
    lower = np.stack([rng.permutation(500), np.zeros(500), np.zeros(500)], 1).astype(float)
    bvh = bvh_of(lower, lower + np.array([0.5, 1, 1]))
    found = wp.zeros(2, dtype=int)
    wp.launch(nearest_along, 1, [bvh.id, bvh.lowers, wp.vec3(-1.0, 0.5, 0.5)], [found])
    number, nearest = found.numpy()
    assert lower[nearest, 0] == 0
    assert number < 100  # most are never looked at


def test_nothing_meets_what_is_no_number():
    bvh = bvh_of(*boxes("scattered", 50, 0))
    low = np.array([[np.nan, 0, 0], [-1, -1, -1], [np.nan] * 3])
    high = np.array([[1, 1, 1], [1, 1, np.nan], [np.nan] * 3])
    assert not counts(bvh, low, high).any()


def test_infinite_boxes_meet_everything():
    bvh = bvh_of(*boxes("scattered", 50, 0))
    assert counts(bvh, np.full((1, 3), -np.inf), np.full((1, 3), np.inf)).all()


@wp.kernel
def attraction(
    bvh: wp.uint64, centers: wp.array(dtype=wp.vec3), x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)
):
    p = x[wp.tid()]
    total = float(0.0)
    for i in bvh_query_sphere(bvh, p, 0.5):
        total += wp.length_sq(centers[i] - p)
    query = bvh_query_aabb(bvh, p - wp.vec3(0.3), p + wp.vec3(0.3))
    i = int(0)
    while bvh_query_next(query, i):
        total += wp.dot(centers[i], p)
    wp.atomic_add(out, 0, total)


def test_gradients_flow_through_what_is_computed_of_found_boxes():
    lower, upper = boxes("scattered", 60, 2)
    bvh = bvh_of(lower, upper)
    centers = wp.array((lower + upper) / 2, dtype=wp.vec3, requires_grad=True)
    x = wp.array(lower[:9], dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(attraction, 9, [bvh.id, centers, x], [out])
    tape.backward(out)
    p, c = x.numpy().astype(np.float64), centers.numpy().astype(np.float64)
    gap = np.maximum(np.maximum(lower - p[:, None], p[:, None] - upper), 0)
    near = (np.linalg.norm(gap, axis=2) <= 0.5)[..., None]
    meets = (gap <= 0.3).all(2)[..., None]
    d = c - p[:, None]
    assert np.allclose(x.grad.numpy(), (-2 * d * near).sum(1) + (c * meets).sum(1), atol=1e-4)
    assert np.allclose(centers.grad.numpy(), (2 * d * near).sum(0) + (p[:, None] * meets).sum(0), atol=1e-4)


# ----- changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["refit", "rebuild"])
def test_refit_and_rebuild_follow_the_boxes(change):
    lower, upper = boxes("scattered", 3000, 1)
    bvh = bvh_of(lower, upper)
    rng = np.random.default_rng(2)
    moved = rng.permutation(lower) * 3, rng.permutation(lower) * 3 + 0.2
    bvh.lowers.assign(moved[0])
    bvh.uppers.assign(moved[1])
    number = bvh.id
    getattr(bvh, change)()
    assert bvh.id == number
    low = rng.uniform(-3, 3, (20, 3)).astype(np.float32)
    stored = bvh.lowers.numpy(), bvh.uppers.numpy()
    assert np.array_equal(counts(bvh, low, low + 0.5), expected(*stored, low, low + 0.5))


def test_rebuild_takes_in_boxes_that_were_left_out():
    lower, upper = boxes("scattered", 20, 1)
    hurt = lower.copy()
    hurt[3, 1] = np.nan
    bvh = bvh_of(hurt, upper)
    assert list(np.flatnonzero(counts(bvh, *SPACE)[0] == 0)) == [3]
    bvh.lowers.assign(lower)
    bvh.refit()
    assert list(np.flatnonzero(counts(bvh, *SPACE)[0] == 0)) == [3]
    bvh.rebuild()
    assert counts(bvh, *SPACE).all()


def test_captures_refuse_builds_and_take_refits():
    """Sizes of trees are not known in a capture; a refit in it runs with the graph."""
    low, high = LOW, LOW + np.float32(0.1)
    bvh, lowers, uppers = bvh_of(low, high), vectors(low), vectors(high)
    grouped = wp.zeros(len(low), dtype=int)
    everywhere = np.float32([[-3, -3, -3]]), np.float32([[3, 3, 3]])
    with wp.ScopedCapture() as capture:
        for build in (bvh.rebuild, lambda: Bvh(lowers, uppers), lambda: Bvh(lowers, uppers, groups=grouped)):
            with pytest.raises(LaunchError, match="while a graph is captured"):
                build()
        bvh.refit()
    assert counts(bvh, *everywhere).all()
    bvh.lowers.assign(low + 10)
    bvh.uppers.assign(high + 10)
    assert counts(bvh, *everywhere).all()
    wp.capture_launch(capture.graph)
    assert not counts(bvh, *everywhere).any()
    assert counts(bvh, everywhere[0] + 10, everywhere[1] + 10).all()


@wp.kernel
def pull(bvh: wp.uint64, lowers: wp.array(dtype=wp.vec3), x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    t = wp.tid()
    y[t] = x[t]
    for i in bvh_query_sphere(bvh, x[t], 100.0):
        y[t] += 0.125 * (lowers[i] - x[t])


def test_loops_with_checkpoints():
    """`scratch=[bvh]` allows refits, which are refused without; a rebuild is refused by name."""
    bvh = bvh_of(LOW[:2], LOW[:2] + np.float32(0.1))

    def slope(change, scratch):
        x, y = (wp.array(LOW[2:5], dtype=wp.vec3, requires_grad=True) for _ in range(2))

        def step(k):
            change()
            wp.launch(pull, dim=3, inputs=[bvh.id, bvh.lowers, x], outputs=[y])
            wp.copy(x, y)

        with wp.Tape() as tape:
            wp.checkpoint(step, [x], 4, scratch=[y, *scratch])
        tape.backward(grads={x: wp.ones(3, dtype=wp.vec3)})
        return x.grad.numpy()

    np.testing.assert_allclose(slope(bvh.refit, [bvh]), np.full((3, 3), 0.75**4), atol=1e-6)
    with pytest.raises(CheckpointError, match="which is not declared"):
        slope(bvh.refit, [])
    with pytest.raises(CheckpointError, match=r"Bvh.rebuild\(\) in a step(.|\n)*help: bvh.refit\(\)"):
        slope(bvh.rebuild, [bvh])


# ----- groups -----------------------------------------------------------------------------------


def members(bvh, group, n):
    """What queries of all kinds find in a group, each box once or never."""
    found = wp.zeros((4, n), dtype=int, device=bvh.device)
    wp.launch(in_group, 1, [bvh.id, group, wp.vec3(-50.0), wp.vec3(50.0)], [found], device=bvh.device)
    made = found.numpy()
    assert made.max(initial=0) <= 1
    assert np.array_equal(made[0], made[1]) and np.array_equal(made[0], made[3])
    assert (made[2] <= made[0]).all()
    return list(np.flatnonzero(made[0]))


@pytest.mark.parametrize(("n", "kinds"), [(1, 1), (9, 9), (300, 1), (300, 5), (300, 150), (9000, 2), (9000, 700)])
def test_queries_of_one_group(n, kinds):
    lower, upper = boxes("scattered", n, n)
    groups = np.random.default_rng(n).integers(0, kinds, n) * 7 - 20
    bvh = bvh_of(lower, upper, groups=wp.array(groups, dtype=int))
    for group in np.unique(groups)[:: max(kinds // 10, 1)]:
        assert members(bvh, int(group), n) == list(np.flatnonzero(groups == group))
    assert members(bvh, 5, n) == list(range(n))  # no such group: from the root of all
    lower += 0.25
    bvh.lowers.assign(lower)
    bvh.refit()
    low = lower[:5]
    assert np.array_equal(counts(bvh, low, low + 0.01), expected(lower, upper, low, low + np.float32(0.01)))


def test_a_group_without_boxes_has_none():
    lower, upper = boxes("scattered", 30, 0)
    groups = np.arange(30) % 3
    lower[groups == 1] = np.nan
    bvh = bvh_of(lower, upper, groups=wp.array(groups, dtype=int))
    assert members(bvh, 1, 30) == []
    assert members(bvh, 2, 30) == list(range(2, 30, 3))


# ----- devices, threads, life time --------------------------------------------------------------


def test_the_interpreter_finds_the_same():
    lower, upper = boxes("cells", 40, 3, broken=0.2)
    groups = np.arange(40) % 3
    low = np.array([[-1.0, -2, 0], [0.5, 0.5, 0.5]])
    results = []
    for device in ("cpu", "interp"):
        bvh = bvh_of(lower, upper, device, groups=wp.array(groups, dtype=int, device=device))
        results.append((counts(bvh, low, low + 2), members(bvh, 1, 40)))
    assert np.array_equal(results[0][0], results[1][0]) and results[0][0].any()
    assert results[0][1] == results[1][1]


def test_the_number_of_threads_does_not_show():
    lower, upper = boxes("clustered", 20_000, 3)
    low = lower[::7]
    before, results = get_pool().threads, []
    try:
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            bvh = bvh_of(lower, upper, groups=wp.array(np.arange(20_000) % 9, dtype=int))
            order = wp.zeros(30_000, dtype=int)
            wp.launch(in_order, 1, [bvh.id, wp.vec3(-1e3), wp.vec3(1e3)], [order])
            results.append((order.numpy().tobytes(), counts(bvh, low[:50], low[:50] + 1).tobytes()))
    finally:
        wp.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_python_threads_use_hierarchies_at_once():
    lower, upper = boxes("scattered", 2000, 3)
    truth = expected(lower, upper, lower[:30], upper[:30])
    wrong = []

    def work():
        for _ in range(5):
            bvh = bvh_of(lower, upper)
            if not np.array_equal(counts(bvh, lower[:30], upper[:30]), truth):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@wp.kernel
def count_all(ids: wp.array(dtype=wp.uint64), found: wp.array(dtype=int)):
    for _ in bvh_query_aabb(ids[0], wp.vec3(-1.0e30), wp.vec3(1.0e30)):
        found[0] += 1


def test_the_id_of_a_lost_hierarchy_finds_nothing():
    bvh = bvh_of(*boxes("scattered", 20, 0))
    ids, found = wp.array([bvh.id], dtype=wp.uint64), wp.zeros(1, dtype=int)
    wp.launch(count_all, 1, [ids], [found])
    assert found.numpy()[0] == 20
    number = bvh.id
    del bvh
    wp.launch(count_all, 1, [ids], [found])
    assert found.numpy()[0] == 20
    with pytest.raises(StructureIdError):
        wp.launch(overlaps, 1, [wp.uint64(number), *[vectors(x) for x in SPACE], wp.zeros((1, 20), dtype=int)])
    given = [wp.array(ids.numpy(), dtype=wp.uint64, device="interp"), wp.zeros(1, dtype=int, device="interp")]
    with pytest.raises(StructureIdError):
        wp.launch(count_all, 1, given, device="interp")


# ----- errors -----------------------------------------------------------------------------------


def test_arguments_are_checked():
    a, b = vectors(np.zeros((3, 3))), vectors(np.ones((3, 3)))
    with pytest.raises(BvhError, match="3 lowers and 2 uppers"):
        Bvh(a, vectors(np.zeros((2, 3))))
    with pytest.raises(ArgumentTypeError, match="uppers is float32, rank 1"):
        Bvh(a, wp.zeros(3, dtype=float))
    with pytest.raises(ArgumentTypeError, match="lowers is"):
        Bvh([[0, 0, 0]], b)
    with pytest.raises(ArgumentTypeError, match="rank 2"):
        Bvh(wp.zeros((3, 1), dtype=wp.vec3), b)
    with pytest.raises(DeviceError, match="uppers on interp"):
        Bvh(a, vectors(np.ones((3, 3)), "interp"))
    with pytest.raises(BvhError, match="constructor is 'best'"):
        Bvh(a, b, constructor="best")
    with pytest.raises(BvhError, match="constructor is 'best'"):
        Bvh(a, b).rebuild("best")
    with pytest.raises(BvhError, match="leaf_size is 0"):
        Bvh(a, b, leaf_size=0)
    with pytest.raises(BvhError, match="2 groups for 3 boxes"):
        Bvh(a, b, groups=wp.zeros(2, dtype=int))
    with pytest.raises(ArgumentTypeError, match="groups is float32"):
        Bvh(a, b, groups=wp.zeros(3, dtype=float))


def test_names_of_constructors_are_accepted():
    for name in ("sah", "median", "lbvh", "cubql"):
        bvh = bvh_of(*boxes("scattered", 20, 0), constructor=name, leaf_size=4)
        bvh.rebuild(name)
        assert counts(bvh, *SPACE).all()
