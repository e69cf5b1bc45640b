"""Locals and results that some path leaves without a value are zero, and one warning names the place."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelError, UnassignedLocalWarning


@wp.func
def positive_half(x: float):
    if x > 0.0:
        return 0.5 * x


@wp.func
def limited(x: float):
    if x > 1.0:
        y = x
    return y


@wp.kernel
def mixed(x: wp.array[float], out: wp.array[float], n: int):
    i = wp.tid()
    for j in range(n):
        last = float(j) * x[i]
        if j == 2:
            pair = (x[i], wp.vec2(x[i], 1.0))
    a, v = pair
    out[i] = last + a + v[0] * v[1] + positive_half(x[i]) + limited(x[i])


def expected(x, n):
    seen = x if n > 2 else 0.0
    return max(n - 1, 0) * x + 2.0 * seen + np.where(x > 0, 0.5 * x, 0) + np.where(x > 1, x, 0)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("n", [0, 2, 5])
@pytest.mark.filterwarnings("ignore::warpsim.errors.UnassignedLocalWarning")
def test_what_no_path_assigned_is_zero_with_right_gradients(device, n):
    x = wp.array([-2.0, 0.5, 3.0], dtype=float, requires_grad=True, device=device)
    out = wp.zeros(3, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(mixed, 3, inputs=[x, out, n], device=device)
    at = x.numpy().astype(float)
    np.testing.assert_allclose(out.numpy(), expected(at, n), rtol=1e-6)
    tape.backward(grads={out: wp.ones_like(out)})
    np.testing.assert_allclose(x.grad.numpy(), slope(at, n))


def slope(x, n, h=1e-6):
    return np.round((expected(x + h, n) - expected(x - h, n)) / (2 * h), 6)


def test_one_warning_names_the_use():
    @wp.kernel
    def one(out: wp.array[float]):
        i = wp.tid()
        if i > 0:
            found = float(i)
        out[i] = found + found

    out = wp.zeros(2)
    with pytest.warns(UnassignedLocalWarning) as seen:
        wp.launch(one, 2, inputs=[out])
    assert len(seen) == 1 and "out[i] = found + found" in str(seen[0].message)
    assert out.list() == [0.0, 2.0]


@wp.struct
class Held:
    a: wp.array[wp.float64]


@wp.kernel
def squares(
    x: wp.array[wp.float64], z: wp.array2d[wp.float64], s: Held, which: wp.array[int], out: wp.array[wp.float64]
):
    """Sums over one of several arrays, or over none."""
    i = wp.tid()
    if which[i] == 1:
        p = x
    elif which[i] == 2:
        p = z[1]
    elif which[i] == 3:
        p = s.a
    total = wp.float64(0.0)
    for j in range(p.shape[0]):
        total += p[j] * p[j]
    if p:
        total += p[0]
    out[i] = total


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.filterwarnings("ignore::warpsim.errors.UnassignedLocalWarning")
def test_an_array_that_no_path_assigned_is_empty_with_right_gradients(device):
    with wp.ScopedDevice(device):
        x, a = (wp.array(values, dtype=wp.float64, requires_grad=True) for values in ([1.0, 2.0], [7.0, 8.0]))
        z = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=wp.float64, requires_grad=True)
        out = wp.zeros(4, dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(squares, 4, inputs=[x, z, Held(a), wp.array([0, 1, 2, 3], dtype=int), out])
        assert out.list() == [0.0, 6.0, 81.0, 120.0]
        tape.backward(grads={out: wp.ones_like(out)})
        assert x.grad.list() == [3.0, 4.0] and a.grad.list() == [15.0, 16.0]
        assert z.grad.numpy().tolist() == [[0.0] * 3, [9.0, 10.0, 12.0]]


def test_the_warning_about_an_array_says_that_it_is_empty():
    @wp.kernel
    def one(x: wp.array[float], out: wp.array[float]):
        if out[0] > 0.0:
            p = x
        out[0] = p[0]

    with pytest.warns(UnassignedLocalWarning, match="'p' may be used here before it has a value; then it is empty"):
        wp.launch(one, 1, inputs=[wp.full(1, 3.0), wp.ones(1)])


def test_arrays_of_a_struct_made_in_a_kernel_are_empty_on_the_interpreter():
    @wp.kernel
    def extent(out: wp.array[int]):
        s = Held()
        out[0] = s.a.shape[0]

    out = wp.ones(1, dtype=int, device="interp")
    wp.launch(extent, 1, inputs=[out], device="interp")
    assert out.list() == [0]


def test_what_was_never_assigned_is_an_error():
    @wp.kernel
    def wrong(out: wp.array[float]):
        out[0] = later  # noqa: F821
        later = 1.0  # noqa: F841

    with pytest.raises(KernelError, match="'later' is a local of this function and has no value yet"):
        wp.launch(wrong, 1, inputs=[wp.zeros(1)])


def test_locals_of_several_types_are_an_error():
    @wp.kernel
    def wrong(out: wp.array[float]):
        if out[0] > 0.0:
            x = 1.0
        else:
            x = wp.vec2()
        out[0] = x[0]

    with pytest.raises(KernelError, match="no single type"):
        wp.launch(wrong, 1, inputs=[wp.zeros(1)])
