"""Derivatives of sampling, reading and writing volumes: to points, to values, of gradients, and at faces of cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_cases import without_directory

import warpsim as wp
from warpsim.autograd import gradcheck, jvp
from warpsim.geometry.nanovdb import build as nanovdb_build
from warpsim.optim import Adam

Doubles = wp.array(dtype=wp.float64)
Points = wp.array(dtype=wp.vec3d)


@wp.kernel
def value(volume: wp.uint64, points: Points, mode: int, out: Doubles):
    n = wp.tid()
    out[n] = wp.volume_sample(volume, points[n], mode, wp.float64)


@wp.kernel
def world_value(volume: wp.uint64, points: Points, out: Doubles):
    n = wp.tid()
    out[n] = wp.volume_sample(volume, wp.volume_world_to_index(volume, points[n]), wp.Volume.LINEAR, wp.float64)


@wp.kernel
def vector_value(volume: wp.uint64, points: Points, out: Points):
    n = wp.tid()
    out[n] = wp.volume_sample(volume, points[n], wp.Volume.LINEAR, wp.vec3d)


@wp.kernel
def slope(volume: wp.uint64, points: Points, mode: int, out: Doubles, slopes: Points):
    n = wp.tid()
    grad = wp.vec3d()
    out[n] = wp.volume_sample_grad(volume, points[n], mode, grad, wp.float64)
    slopes[n] = grad


@wp.kernel
def vector_slope(volume: wp.uint64, points: Points, out: Points, slopes: wp.array(dtype=wp.mat33d)):
    n = wp.tid()
    grad = wp.mat33d()
    out[n] = wp.volume_sample_grad(volume, points[n], wp.Volume.LINEAR, grad, wp.vec3d)
    slopes[n] = grad


def smooth(low=(-3, -4, -5), components=(), walk=False):
    """Random float64 values in a box, background 0.5, with a transform that is neither a rotation nor a scaling."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(9, 10, 11, *components))
    transform = [[0.5, 0.1, 0.0], [0.0, 0.7, -0.2], [0.05, 0.0, 0.4]]
    grid = nanovdb_build.from_dense(
        values, low, background=np.full(components, 0.5), transform=transform, translation=(1.0, -2.0, 0.5)
    )
    volume = wp.Volume(grid.buffer)
    return without_directory(volume) if walk else volume


def inside_cells(n, low=(-3, -4, -5), extent=(9, 10, 11), seed=0):
    """Points at least 1/20 away from the faces of cells, in a box and one voxel around it."""
    rng = np.random.default_rng(seed)
    cells = np.floor(rng.uniform(-1.0, np.array(extent), (n, 3)))
    return cells + rng.uniform(0.05, 0.95, (n, 3)) + np.array(low)


def points_array(points, t=wp.vec3d):
    return wp.array(np.asarray(points, np.float64), dtype=t, requires_grad=True)


def results(n, t=wp.float64):
    return wp.zeros(n, dtype=t, requires_grad=True)


@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
def test_gradient_to_the_point(walk):
    volume, points = smooth(walk=walk), points_array(inside_cells(12))
    assert gradcheck(value, 12, [volume.id, points, wp.Volume.LINEAR], [results(12)], show_summary=False)


def test_forward_mode_agrees_with_differences():
    volume, points = smooth(), inside_cells(10)
    away, h = np.random.default_rng(1).normal(size=(10, 3)), 1e-6
    tangents = jvp(value, 10, [volume.id, points_array(points), wp.Volume.LINEAR], [results(10)], {"points": away})
    sides = [results(10), results(10)]
    for side, step in zip(sides, (-h, h), strict=True):
        wp.launch(value, 10, [volume.id, points_array(points + step * away), wp.Volume.LINEAR], [side])
    difference = (sides[1].numpy() - sides[0].numpy()) / (2.0 * h)
    assert np.abs(tangents["out"].numpy() - difference).max() < 1e-7 < np.abs(difference).min()


def test_gradient_to_the_point_in_the_world():
    volume = smooth()
    info = volume.get_grid_info()
    points = points_array(inside_cells(12) @ info.transform_matrix.T + info.translation)
    assert gradcheck(world_value, 12, [volume.id, points], [results(12)], show_summary=False)


def test_gradients_of_vectors_to_the_point():
    volume, points = smooth(components=(3,)), points_array(inside_cells(8))
    assert gradcheck(vector_value, 8, [volume.id, points], [results(8, wp.vec3d)], show_summary=False)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31))
def test_sample_grad_gives_the_value_and_its_differences(seed):
    volume, points = smooth(), inside_cells(30, seed=seed)
    found, slopes = results(30), results(30, wp.vec3d)
    wp.launch(slope, 30, [volume.id, points_array(points), wp.Volume.LINEAR], [found, slopes])
    plain, h = results(30), 1e-4
    wp.launch(value, 30, [volume.id, points_array(points), wp.Volume.LINEAR], [plain])
    assert (plain.numpy() == found.numpy()).all()
    for axis, step in enumerate(h * np.eye(3)):
        sides = [results(30) for _ in range(2)]
        for side, away in zip(sides, (-step, step), strict=True):
            wp.launch(value, 30, [volume.id, points_array(points + away), wp.Volume.LINEAR], [side])
        difference = (sides[1].numpy() - sides[0].numpy()) / (2.0 * h)  # exact: linear along an axis
        assert np.abs(slopes.numpy()[:, axis] - difference).max() < 1e-9


def test_the_gradient_can_be_differentiated():
    volume, points = smooth(), points_array(inside_cells(10))
    outputs = [results(10), results(10, wp.vec3d)]
    assert gradcheck(slope, 10, [volume.id, points, wp.Volume.LINEAR], outputs, show_summary=False)


def test_the_jacobian_of_vectors_has_a_row_per_component_and_can_be_differentiated():
    volume, points = smooth(components=(3,)), points_array(inside_cells(5))
    outputs = [results(5, wp.vec3d), results(5, wp.mat33d)]
    assert gradcheck(vector_slope, 5, [volume.id, points], outputs, show_summary=False)
    wp.launch(vector_slope, 5, [volume.id, points], outputs)
    for component in range(3):
        values = volume.to_numpy((-3, -4, -5), (5, 5, 5))[..., component]
        single = wp.Volume(nanovdb_build.from_dense(values, (-3, -4, -5), background=0.5).buffer)
        found, slopes = results(5), results(5, wp.vec3d)
        wp.launch(slope, 5, [single.id, points, wp.Volume.LINEAR], [found, slopes])
        assert np.allclose(outputs[1].numpy()[:, component], slopes.numpy(), rtol=0.0, atol=1e-14)


def test_on_a_face_the_side_of_larger_coordinates_counts():
    ramp = np.array([0.0, 1.0, 5.0, 6.0]).reshape(4, 1, 1)  # slopes 1, 4, 1
    volume = wp.Volume(nanovdb_build.from_dense(np.broadcast_to(ramp, (4, 3, 3)), background=0.0).buffer)
    points = points_array([[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]])
    out, slopes = results(2), results(2, wp.vec3d)
    with wp.Tape() as tape:
        wp.launch(value, 2, [volume.id, points, wp.Volume.LINEAR], [out])
    tape.backward(grads={out: wp.ones(2, dtype=wp.float64)})
    wp.launch(slope, 2, [volume.id, points, wp.Volume.LINEAR], [out, slopes])
    assert points.grad.numpy().tolist() == slopes.numpy().tolist() == [[4.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_points_that_are_nowhere_have_no_gradient_and_spoil_none(bad):
    volume = smooth()
    volume.requires_grad = True
    points = points_array([[bad, 0.5, 0.5], [0.5, 0.25, bad]])
    out, slopes = results(2), results(2, wp.vec3d)
    with wp.Tape() as tape:
        wp.launch(slope, 2, [volume.id, points, wp.Volume.LINEAR], [out, slopes])
    tape.backward(grads={out: wp.ones(2, dtype=wp.float64), slopes: wp.ones(2, dtype=wp.vec3d)})
    assert (out.numpy() == 0.5).all() and (slopes.numpy() == 0.0).all()
    assert (points.grad.numpy() == 0.0).all() and (volume.leaf_values.grad.numpy() == 0.0).all()


# ----- values ---------------------------------------------------------------------------------


def backward(kernel, volume, points, weights, *arguments):
    """The gradient of the weighted sum of samples with respect to the values of leaves."""
    volume.requires_grad = True
    volume.leaf_values.grad.zero_()
    out = results(len(points))
    with wp.Tape() as tape:
        wp.launch(kernel, len(points), [volume.id, points_array(points), *arguments], [out])
    tape.backward(grads={out: wp.array(weights, dtype=wp.float64)})
    return volume.leaf_values.grad.numpy()


def weighted(volume, points, weights, mode):
    out = results(len(points))
    wp.launch(value, len(points), [volume.id, points_array(points), mode], [out])
    return float(out.numpy() @ weights)


@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
@pytest.mark.parametrize("mode", [wp.Volume.CLOSEST, wp.Volume.LINEAR], ids=["closest", "linear"])
def test_gradient_to_values(mode, walk):
    volume, points = smooth(walk=walk), inside_cells(60)
    weights = np.random.default_rng(1).normal(size=60)
    found = backward(value, volume, points, weights, mode)
    values = volume.leaf_values
    before = weighted(volume, points, weights, mode)
    touched = np.argwhere(found)
    assert len(touched) > 30
    for at in map(tuple, np.concatenate([touched[::7], [[0, 0], [3, 100], [5, 511]]])):
        before_it = float(values[at])
        values[at] = before_it + 1.0  # the sum is linear in the values
        assert abs(weighted(volume, points, weights, mode) - before - found[at]) < 1e-11
        values[at] = before_it


def test_closest_has_no_gradient_to_the_point():
    volume, points = smooth(), points_array(inside_cells(20))
    out, slopes = results(20), wp.ones(20, dtype=wp.vec3d)
    with wp.Tape() as tape:
        wp.launch(slope, 20, [volume.id, points, wp.Volume.CLOSEST], [out, slopes])
    tape.backward(grads={out: wp.ones(20, dtype=wp.float64), slopes: wp.ones(20, dtype=wp.vec3d)})
    assert (points.grad.numpy() == 0.0).all() and (slopes.numpy() == 0.0).all()


def test_the_gradient_of_a_vector_goes_to_its_components():
    volume, points = smooth(components=(3,)), inside_cells(20)
    volume.requires_grad = True
    out = results(20, wp.vec3d)
    with wp.Tape() as tape:
        wp.launch(vector_value, 20, [volume.id, points_array(points)], [out])
    tape.backward(grads={out: wp.array(np.tile([1.0, 10.0, 100.0], (20, 1)), dtype=wp.vec3d)})
    found = volume.leaf_values.grad.numpy()
    assert found[..., 0].any()
    assert np.allclose(found[..., 1], 10.0 * found[..., 0]) and np.allclose(found[..., 2], 100.0 * found[..., 0])


def test_float32_values_take_gradients_of_many_threads():
    volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2), np.float32))
    volume.requires_grad = True
    n = 100_000
    out = wp.zeros(n, dtype=float)

    @wp.kernel
    def middle(volume: wp.uint64, out: wp.array(dtype=float)):
        out[wp.tid()] = wp.volume_sample_f(volume, wp.vec3(0.5, 0.5, 0.5), wp.Volume.LINEAR)

    with wp.Tape() as tape:
        wp.launch(middle, n, [volume.id], [out])
    tape.backward(grads={out: wp.ones(n, dtype=float)})
    found = volume.leaf_values.grad.numpy()
    assert np.allclose(found[found != 0.0], n / 8.0, rtol=1e-3) and (found != 0.0).sum() == 8


# ----- reading and writing --------------------------------------------------------------------


@wp.kernel
def put_squares(volume: wp.uint64, x: Doubles):
    n = wp.tid()
    wp.volume_store(volume, n, 1, 2, x[n] * x[n])


@wp.kernel
def get(volume: wp.uint64, out: Doubles):
    n = wp.tid()
    out[n] = 3.0 * wp.volume_lookup(volume, n, 1, 2, wp.float64)


@wp.kernel
def put_and_get(volume: wp.uint64, x: Doubles, out: Doubles):
    n = wp.tid()
    wp.volume_store(volume, n, 1, 2, x[n] * x[n])
    out[n] = 3.0 * wp.volume_lookup(volume, n, 1, 2, wp.float64)


def empty_volume():
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), voxel_size=1.0, bg_value=wp.float64(0.0))
    volume.requires_grad = True
    return volume


@pytest.mark.parametrize("launches", [[put_squares, get], [put_and_get]], ids=["two kernels", "one kernel"])
def test_values_that_were_written_pass_gradients_on(launches):
    volume, x = empty_volume(), wp.array([1.0, -2.0, 3.0], dtype=wp.float64, requires_grad=True)
    out = results(3)
    with wp.Tape() as tape:
        for kernel in launches:
            arguments = {put_squares: [x], get: [out], put_and_get: [x, out]}[kernel]
            wp.launch(kernel, 3, [volume.id, *arguments])
    tape.backward(grads={out: wp.array([1.0, 1.0, 10.0], dtype=wp.float64)})
    assert out.numpy().tolist() == [3.0, 12.0, 27.0]
    assert x.grad.numpy().tolist() == [6.0, -12.0, 180.0]


def test_what_was_written_over_gets_no_gradient():
    volume, x = empty_volume(), wp.array([1.0, -2.0, 3.0], dtype=wp.float64, requires_grad=True)
    first, second = results(3), results(3)
    y = wp.array([5.0, 6.0, 7.0], dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(put_squares, 3, [volume.id, x])
        wp.launch(get, 3, [volume.id], [first])
        wp.launch(put_squares, 3, [volume.id, y])
        wp.launch(get, 3, [volume.id], [second])
    tape.backward(grads={second: wp.ones(3, dtype=wp.float64)})
    assert x.grad.numpy().tolist() == [0.0, 0.0, 0.0] and y.grad.numpy().tolist() == [30.0, 36.0, 42.0]


def test_gradients_end_at_a_volume_that_has_none():
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), voxel_size=1.0, bg_value=wp.float64(0.0))
    x, out = wp.array([1.0, 2.0], dtype=wp.float64, requires_grad=True), results(2)
    with wp.Tape() as tape:
        wp.launch(put_squares, 2, [volume.id, x])
        wp.launch(get, 2, [volume.id], [out])
    tape.backward(grads={out: wp.ones(2, dtype=wp.float64)})
    assert x.grad.numpy().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_gradients_to_points_do_not_depend_on_threads(threads):
    volume, points = smooth(), inside_cells(20_000)
    found = []
    for count in (1, threads):
        wp.set_num_threads(count)
        array, out = points_array(points), results(len(points))
        with wp.Tape() as tape:
            wp.launch(value, len(points), [volume.id, array, wp.Volume.LINEAR], [out])
        tape.backward(grads={out: wp.ones(len(points), dtype=wp.float64)})
        found.append((out.numpy().copy(), array.grad.numpy().copy()))
    assert all((a == b).all() for a, b in zip(*found, strict=True))


@wp.kernel
def add_misfit(volume: wp.uint64, points: Points, wanted: Doubles, loss: Doubles):
    n = wp.tid()
    d = wp.volume_sample(volume, points[n], wp.Volume.LINEAR, wp.float64) - wanted[n]
    wp.atomic_add(loss, 0, d * d)


def test_an_optimiser_changes_the_values_in_place():
    volume, rng = empty_volume(), np.random.default_rng(0)
    points = rng.uniform(0.0, 7.0, (3000, 3))
    wanted = wp.array(points[:, 0] * points[:, 1] - points[:, 2], dtype=wp.float64)  # trilinear: it can be met
    places, losses = wp.array(points, dtype=wp.vec3d), []
    optimiser = Adam([volume.leaf_values], lr=2.0)
    for _ in range(60):
        loss = results(1)
        with wp.Tape() as tape:
            wp.launch(add_misfit, 3000, [volume.id, places, wanted, loss])
        tape.backward(loss)
        optimiser.step([volume.leaf_values.grad])
        tape.zero()
        losses.append(float(loss.numpy()[0]))
    assert losses[-1] < 0.02 * losses[0]
