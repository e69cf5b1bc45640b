"""Launch dimensions meet the indices that `tid()` asks for: it takes the leading ones, what is left out is one."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError, DimensionError


@wp.kernel
def number_cells(a: wp.array2d[float]):
    i, j = wp.tid()
    a[i, j] += float(10 * i + j)


@wp.func
def row_of():
    return wp.tid()


@wp.kernel
def sum_rows(a: wp.array2d[float], out: wp.array[float]):
    i = row_of()
    j = a.shape[1] - 1
    wp.atomic_add(out, i, a[i, j] * a[i, j])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_dimensions_that_a_launch_leaves_out_have_one_thread(device):
    cells = wp.zeros((3, 1), device=device)
    wp.launch(number_cells, 3, inputs=[cells], device=device)
    assert cells.numpy().ravel().tolist() == [0, 10, 20]


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dim, times", [((4, 3), 3), ((4, 2, 5), 10), ((4, 1, 1, 2), 2), (4, 1), ((4, 0), 0)])
def test_fewer_indices_are_the_leading_ones(dim, times, device):
    values = np.arange(8.0, dtype=np.float32).reshape(4, 2) + 1
    a = wp.array(values, requires_grad=True, device=device)
    out = wp.zeros(4, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(sum_rows, dim, inputs=[a], outputs=[out], device=device)
    tape.backward(grads={out: wp.ones(4, device=device)})
    np.testing.assert_array_equal(out.numpy(), times * values[:, 1] ** 2)
    np.testing.assert_array_equal(a.grad.numpy(), times * 2 * values * [0, 1])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_leading_indices_in_every_way_to_launch(device):
    values = np.arange(6.0, dtype=np.float32).reshape(2, 3) + 1
    a = wp.array(values, requires_grad=True, device=device)
    out = wp.zeros(2, requires_grad=True, device=device)
    command = wp.launch(sum_rows, (2, 4), inputs=[a], outputs=[out], device=device, record_cmd=True)
    for dim, times in (((2, 4), 4), (2, 1), ((2, 3, 2), 6)):
        out.zero_()
        command.set_dim(dim)
        command.launch()
        np.testing.assert_array_equal(out.numpy(), times * values[:, 2] ** 2)
    out.zero_()
    with wp.ScopedCapture(device) as capture:
        wp.launch(sum_rows, (2, 5), inputs=[a], outputs=[out], device=device)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(out.numpy(), 10 * values[:, 2] ** 2)
    gradient = wp.zeros_like(a)
    adjoints = {"adj_inputs": [gradient], "adj_outputs": [wp.ones(2, device=device)], "adjoint": True}
    wp.launch(sum_rows, (2, 4), inputs=[a], outputs=[out], device=device, **adjoints)
    np.testing.assert_array_equal(gradient.numpy(), 4 * 2 * values * [0, 0, 1])


def test_forward_mode_over_more_dimensions_than_indices():
    values = np.arange(6.0, dtype=np.float32).reshape(2, 3) + 1
    a, out = wp.array(values), wp.zeros(2)
    moved = wp.autograd.jvp(sum_rows, (2, 4), [a], [out], tangents={"a": wp.ones_like(a)})
    np.testing.assert_array_equal(moved["out"].numpy(), 8 * values[:, 2])


def test_threads_that_share_an_element_are_known_to():
    """On one thread or on many, with an element for each thread or for eight of them."""
    a = wp.array(np.full((300, 200), 0.5, dtype=np.float32))
    for dim, times in (((300, 200), 1), ((300, 200, 8), 8), ((300, 200), 1)):
        out = wp.zeros((300, 200))
        wp.launch(add_cells, dim, inputs=[a], outputs=[out])
        assert (out.numpy() == 0.25 * times).all()


@wp.kernel
def add_cells(a: wp.array2d[float], out: wp.array2d[float]):
    i, j = wp.tid()
    wp.atomic_add(out, i, j, a[i, j] * a[i, j])


# ----- extents of launches and of arrays are written alike ----------------------------------------

AXES = [3, 0, 1, np.int32(2), np.uint8(4), np.int64(1), np.array(2), wp.int32(3), wp.uint16(2)]
LISTS = [list, tuple, np.array, lambda axes: wp.types.vector(len(axes), int)(*axes)]


@wp.kernel
def count(hits: wp.array[int]):
    wp.atomic_add(hits, 0, 1)


def written(rng):
    """Extents in one of the ways to write them, and what they are."""
    axes = [AXES[k] for k in rng.integers(len(AXES), size=rng.integers(1, 5))]
    plain = tuple(int(n) for n in axes)
    return (axes[0], plain[:1]) if rng.random() < 0.3 else (LISTS[rng.integers(len(LISTS))](axes), plain)


def test_any_integers_are_extents():
    rng = np.random.default_rng(3)
    for _ in range(60):
        extents, plain = written(rng)
        hits = wp.zeros(1, dtype=int)
        wp.launch(count, extents, [hits])
        command = wp.launch(count, 1, [hits], record_cmd=True)
        command.set_dim(extents)
        command.launch()
        assert hits.numpy()[0] == 2 * np.prod(plain), extents
        assert wp.empty(extents, dtype=wp.uint8).shape == plain, extents


DEGENERATE = [(), [], (0, 2**40), (2**40, 0), 2**31, -2, (0, -2), (2, -2), (2**31 - 1,) * 4, (1,) * 5, True, (2, True)]
DEGENERATE += [np.bool_(True), 2.0, (2, 2.0), np.array(2.0), np.zeros((2, 2), int), ((2, 3),), ((2,), 3), (None,), "3"]
DEGENERATE += [b"3", {2, 3}, {2: 3}, range(3), float("nan"), (2, "3"), np.array([True, False]), object()]


@pytest.mark.parametrize("extents", DEGENERATE, ids=lambda extents: repr(extents).partition(" at ")[0])
def test_what_is_no_extent_is_none_everywhere(extents):
    hits = wp.zeros(1, dtype=int)
    command = wp.launch(count, 1, [hits], record_cmd=True)
    with pytest.raises(DimensionError):
        wp.launch(count, extents, [hits])
    with pytest.raises(DimensionError):
        wp.launch(count, extents, [hits], record_cmd=True)
    with pytest.raises(DimensionError):
        wp.launch_tiled(count, extents, [hits], block_dim=4)
    with pytest.raises(DimensionError):
        command.set_dim(extents)
    with pytest.raises(DimensionError):
        wp.autograd.jvp(count, extents, [hits], tangents={})
    for shaped in (wp.empty, wp.zeros, lambda n: wp.array(shape=n), lambda n: wp.full(n, 1.0)):
        with pytest.raises(ArrayError, match=r"^shape "):
            shaped(extents)
    assert hits.numpy()[0] == 0
