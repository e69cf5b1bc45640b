"""What two forms are apart, and where: against closest points that SciPy finds."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation
from touching_scenes import FORMS, SIZES, Points, add_form, random_pose

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverBodies

PAIRS = list(itertools.combinations_with_replacement(FORMS, 2))
APART = 10.0
FIRM = 0.02 * 0.15  # by how much the best of two boxes' axes is to be better than the preferred one


def core(form, pose):
    """A form as the points A u + c with |u| <= 1, and the radius around them."""
    sizes, axes = SIZES[form], Rotation.from_quat(pose[3:]).as_matrix()
    if form == "sphere":
        return np.zeros((3, 0)), pose[:3], sizes[0]
    if form == "capsule":
        return axes[:, 2:] * sizes[1], pose[:3], sizes[0]
    return axes * np.asarray(sizes), pose[:3], 0.0


def distance(one, two):
    """How far two forms are apart; 0 or less only tells of radii, where the points within overlap."""
    (a, p, r), (b, q, s) = one, two
    if a.shape[1] + b.shape[1] == 0:
        return np.linalg.norm(p - q) - r - s
    matrix = np.hstack([a, -b])
    best = lsq_linear(matrix, q - p, bounds=(-1.0, 1.0), tol=1e-14, max_iter=500)
    return np.linalg.norm(matrix @ best.x + p - q) - r - s


def separation(one, two):
    """How far two boxes are apart along the best of the fifteen axes, below 0 where they overlap."""
    (a, p, _), (b, q, _) = one, two
    axes = [*a.T, *b.T, *(np.cross(u, v) for u in a.T for v in b.T)]
    axes = [n / np.linalg.norm(n) for n in axes if np.linalg.norm(n) > 1e-4]
    reach = [np.abs(n @ a).sum() + np.abs(n @ b).sum() for n in axes]
    return max(abs(n @ (q - p)) - far for n, far in zip(axes, reach, strict=True))


def measured(first, second, poses, margin=0.0):
    """Pairs of bodies at poses, each far from the others: what a solver measures, by number."""
    builder = ModelBuilder(gravity=0.0)
    for i, (one, two) in enumerate(poses):
        away = np.array([APART * i, 0, 0, 0, 0, 0, 0])
        cfg = ShapeConfig(margin=margin)
        add_form(builder, first, one + away, cfg=cfg)
        add_form(builder, second, two + away, cfg=cfg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = SolverBodies(builder.finalize("cpu", dtype=wp.float64))
    found = {}
    for shapes, normals, gaps, places in Points(solver).pairs:
        i = shapes[0] // 2
        assert shapes[1] // 2 == i
        sign = 1.0 if shapes[0] % 2 == 0 else -1.0
        found[i] = (sign * normals, gaps, places - np.array([APART * i, 0, 0]))
    return found


def random_pairs(first, second, count, seed=0):
    """Poses of pairs that are near each other."""
    rng, poses = np.random.default_rng(seed), []
    while len(poses) < count:
        one, two = random_pose(rng, 0.05), random_pose(rng, 0.45)
        if -0.05 < distance(core(first, one), core(second, two)) < 0.015:
            poses.append((one, two))
    return poses


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_gap_is_the_distance_of_the_forms(first, second):
    poses = random_pairs(first, second, 60)
    found, seen = measured(first, second, poses), 0
    for i, (one, two) in enumerate(poses):
        a, b = core(first, one), core(second, two)
        apart = distance(a, b)
        if first == second == "box":
            apart = separation(a, b)
            if i not in found or not len(found[i][1]):
                continue
        elif apart <= -a[2] - b[2] + 1e-9:
            continue  # the points within overlap: no closest points
        normals, gaps, places = found[i]
        nearest = np.argmin(gaps)
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-12)
        if first == second == "box":  # the deepest corner may lie beside the other's face: then what is cut off counts
            assert gaps[nearest] > apart - FIRM
            moved = two.copy()
            moved[:3] += normals[nearest] * max(0.0, FIRM - apart)
            assert separation(a, core(second, moved)) > -1e-9
            seen += abs(gaps[nearest] - apart) < FIRM
        else:
            assert gaps[nearest] == pytest.approx(apart, abs=1e-7)
            seen += 1
        on_one, on_two = places - 0.5 * gaps[:, None] * normals, places + 0.5 * gaps[:, None] * normals
        for x, form, pose in ((on_one[nearest], first, one), (on_two[nearest], second, two)):
            assert abs(distance((np.zeros((3, 0)), x, 0.0), core(form, pose))) < 1e-5
    assert seen > 0.6 * len(poses)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_exchanged_forms_touch_the_same(first, second):
    poses = random_pairs(first, second, 20, seed=1)
    there, back = measured(first, second, poses), measured(second, first, [(two, one) for one, two in poses])
    for i in there.keys() & back.keys():
        (normals, gaps, _), (reverse, others, _) = there[i], back[i]
        if not len(gaps) or not len(others):
            continue
        slack = FIRM if first == second == "box" else 1e-9
        assert gaps.min() == pytest.approx(others.min(), abs=slack + 1e-9)
        if slack < 1e-6:
            np.testing.assert_allclose(normals[gaps.argmin()], -reverse[others.argmin()], atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_margin_widens_a_form(form):
    poses = random_pairs(form, form, 10, seed=2)
    bare, wide = measured(form, form, poses), measured(form, form, poses, margin=0.01)
    for i in bare:
        if len(bare[i][1]):
            assert wide[i][1].min() == pytest.approx(bare[i][1].min() - 0.02, abs=1e-9)


def test_aligned_boxes_touch_with_their_faces():
    turn = Rotation.from_rotvec([0.3, 0.2, -0.5])
    for shift in ((0.0, 0.0), (1e-7, -1e-7), (0.1, 0.0), (0.12, 0.17)):
        up = turn.apply([shift[0], 0.5, shift[1]])
        poses = [(np.array([0, 0, 0, *turn.as_quat()]), np.array([*up, *turn.as_quat()]))]
        normals, gaps, _places = measured("box", "box", poses)[0]
        assert len(gaps) == 4
        np.testing.assert_allclose(gaps, 0.0, atol=1e-9)
        np.testing.assert_allclose(normals, np.tile(turn.apply([0, 1, 0]), (4, 1)), atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_points_on_a_plane_are_the_lowest(form):
    rng = np.random.default_rng(3)
    builder = ModelBuilder(gravity=0.0)
    builder.add_shape_plane((1.0, 2.0, -0.5), (0.1, 0.2, 0.3))
    n = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    side, poses = np.cross(n, [0, 0, 1.0]), []
    for i in range(30):
        pose = random_pose(rng, 0.0)
        a, _c, r = core(form, pose)
        reach = np.abs(n @ a).sum() + r
        pose[:3] = np.array([0.1, 0.2, 0.3]) + APART * i * side + n * (reach + rng.uniform(-0.05, 0.01))
        poses.append(pose)
        add_form(builder, form, pose)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = SolverBodies(builder.finalize("cpu", dtype=wp.float64))
    pairs = Points(solver).pairs
    assert len(pairs) == 30
    for shapes, normals, gaps, places in pairs:
        a, c, r = core(form, poses[shapes[0] - 1])
        lowest = n @ (c - [0.1, 0.2, 0.3]) - np.abs(n @ a).sum() - r
        assert gaps.min() == pytest.approx(lowest, abs=1e-9)
        np.testing.assert_allclose(normals, np.tile(-n, (len(gaps), 1)), atol=1e-9)
        np.testing.assert_allclose((places - [0.1, 0.2, 0.3]) @ n, 0.5 * gaps, atol=1e-9)
