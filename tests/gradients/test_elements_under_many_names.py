"""Elements that are reached by parts, chosen views, narrow indices, changed structs and replaced gradients."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import NotDifferentiableError

D = wp.float64
Numbers, Vectors, Grid = wp.array(dtype=D), wp.array(dtype=wp.vec2d), wp.array(dtype=D, ndim=2)


@wp.struct
class Quantity:
    a: wp.array(dtype=wp.float64)
    s: wp.float64


def floats(*values, dtype=D):
    return wp.array(np.array(values, float), dtype=dtype, requires_grad=True)


def gradient(kernel, dim, *args, of):
    loss = wp.zeros(1, dtype=D, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim, inputs=[*args, loss])
    tape.backward(loss)
    return of.grad.numpy()


@wp.kernel
def another_part(a: Vectors, j: wp.array(dtype=int), loss: Numbers):
    i = wp.tid()
    a[i].x *= D(2.0)
    a[i].x *= D(1.5)
    a[j[i]].y = D(3.0)
    s = a[i].y * a[i].x
    a[i].x *= D(0.5)
    wp.atomic_add(loss, 0, s)


def test_a_write_to_another_part_of_perhaps_the_same_element():
    a = floats([2.0, 5.0], dtype=wp.vec2d)
    with pytest.raises(NotDifferentiableError, match="overwrote"):
        gradient(another_part, 1, a, wp.array([0], dtype=int), of=a)


@wp.kernel
def narrow_index(a: Numbers, loss: Numbers):
    i = wp.tid()
    x = a[i]
    a[int(wp.uint8(i + 256))] = x * x
    wp.atomic_add(loss, 0, a[i] * a[i])


def test_an_index_that_is_cut_to_eight_bits():
    a = floats(2.0, 3.0)
    np.testing.assert_allclose(gradient(narrow_index, 2, a, of=a), [32.0, 108.0])


@wp.kernel
def changed_struct(q: Quantity, loss: Numbers):
    i = wp.tid()
    q.s = q.s * D(2.0)
    q.a[i] = q.a[i] * q.a[i] * q.s
    wp.atomic_add(loss, 0, q.a[i])


def test_an_array_of_a_struct_that_the_kernel_changes():
    q = Quantity()
    q.a, q.s = floats(2.0, 3.0), 1.5
    np.testing.assert_allclose(gradient(changed_struct, 2, q, of=q.a), [12.0, 18.0])


@wp.kernel
def chosen_row_read(x: Grid, c: int, loss: Numbers):
    r = x[0]
    if c > 0:
        r = x[1]
    loss[0] = r[0] * r[0] * x[0, 1]


@wp.kernel
def chosen_row_written(x: Grid, c: int, loss: Numbers):
    r = x[0]
    if c > 0:
        r = x[1]
    r[0] = r[0] * r[0]
    loss[0] = r[0]


def test_a_row_chosen_at_run_time():
    x = floats([2.0, 5.0], [3.0, 7.0])
    np.testing.assert_allclose(gradient(chosen_row_read, 1, x, 1, of=x), [[0.0, 9.0], [30.0, 0.0]])
    with pytest.raises(NotDifferentiableError, match="overwrote"):
        gradient(chosen_row_written, 1, x, 1, of=x)


@wp.kernel
def total(x: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def doubled(x: Numbers):
    i = wp.tid()
    x[i] *= D(2.0)


@pytest.mark.parametrize("how", ["assigned", "off and on"])
def test_views_follow_a_gradient_that_is_replaced(how):
    x, loss = floats(1.0, 2.0, 3.0), wp.zeros(1, dtype=D, requires_grad=True)
    v = x[0:2]
    part = v[1:2]
    assert v.grad is not None and part.grad is not None
    if how == "assigned":
        x.grad = wp.zeros(3, dtype=D)
    else:
        x.requires_grad = False
        assert v.grad is None and part.grad is None
        x.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(doubled, 2, inputs=[v])
        wp.launch(total, 3, inputs=[x, loss])
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), [8.0, 16.0, 6.0])
    np.testing.assert_allclose(part.grad.numpy(), [16.0])


def test_a_view_with_a_gradient_of_its_own_keeps_it():
    x = floats(1.0, 2.0, 3.0)
    v = x[0:2]
    v.grad = own = wp.zeros(2, dtype=D)
    x.grad = wp.zeros(3, dtype=D)
    assert v.grad is own


@wp.kernel
def struct_round_a_loop(q: Quantity, n: int, loss: Numbers):
    for i in range(n):
        q.s = q.s * q.a[i]
    loss[0] = q.s


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_struct_with_an_array_that_a_loop_carries(device):
    q = Quantity()
    q.a, q.s = wp.array(np.array([2.0, 3.0]), dtype=D, device=device, requires_grad=True), 1.5
    loss = wp.zeros(1, dtype=D, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(struct_round_a_loop, 1, inputs=[q, 2, loss], device=device)
    tape.backward(loss)
    np.testing.assert_allclose(q.a.grad.numpy(), [4.5, 3.0])


@wp.kernel
def element_of_a_struct_array_twice(q: Quantity, b: Numbers, loss: Numbers):
    i = wp.tid()
    q.a[i] = q.a[i] + b[i] * q.s
    q.a[i] = q.a[i] * q.a[i]
    wp.atomic_add(loss, 0, q.a[i] * q.a[i])


def test_elements_of_arrays_in_structs_are_carried_too():
    q, b = Quantity(), floats(0.5, 1.5)
    q.a, q.s = floats(2.0, 3.0), 2.0
    np.testing.assert_allclose(gradient(element_of_a_struct_array_twice, 2, q, b, of=q.a), [4 * 3.0**3, 4 * 6.0**3])
    np.testing.assert_allclose(b.grad.numpy(), [8 * 3.0**3, 8 * 6.0**3])


def test_an_array_made_of_another_one_on_a_tape_is_a_copy():
    x, loss = floats(1.0, 2.0, 3.0), wp.zeros(1, dtype=D, requires_grad=True)
    with wp.Tape() as tape:
        y = wp.array(x, requires_grad=True)
        wp.launch(total, 3, inputs=[y, loss])
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 4.0, 6.0])
    with wp.Tape(), pytest.raises(wp.errors.GradientError, match="array_cast"):
        wp.array(x, dtype=float, requires_grad=True)


@wp.struct
class Two:
    a: wp.array(dtype=wp.float64)
    b: wp.array(dtype=wp.float64)
    s: wp.float64


@wp.kernel
def array_field_assigned(q: Two, loss: Numbers):
    q.s = q.s * q.a[0]
    q.a = q.b
    loss[0] = q.s * q.a[1]


def test_an_array_field_that_the_kernel_exchanges():
    q = Two()
    q.a, q.b, q.s = floats(2.0, 3.0), floats(4.0, 5.0), 1.5
    np.testing.assert_allclose(gradient(array_field_assigned, 1, q, of=q.a), [7.5, 0.0])
    np.testing.assert_allclose(q.b.grad.numpy(), [0.0, 3.0])


@wp.kernel
def two_names_of_one_array(p: Numbers, q: Numbers, m: Numbers, loss: Numbers):
    i = wp.tid()
    v = p[4 * i + 3]
    q[4 * i + 3] -= m[i]
    p[4 * i] = m[i]
    wp.atomic_add(loss, 0, v * v)


def test_an_array_that_is_read_and_written_under_two_names():
    """Under one name each the kernel needs no copies: it overwrites other elements than it reads."""
    b, m, loss = floats(*range(8)), floats(0.5, 0.25), wp.zeros(1, dtype=D, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(two_names_of_one_array, 2, inputs=[b, wp.zeros_like(b), m, loss])
        assert tape.report().bytes == 0
        wp.launch(two_names_of_one_array, 2, inputs=[b, b, m, loss])
        wp.launch(two_names_of_one_array, 2, inputs=[b, b, m, loss])
    tape.backward(loss)
    assert b.numpy()[[3, 7]].tolist() == [2.0, 6.5]
    np.testing.assert_allclose(b.grad.numpy()[[3, 7]], [2 * (3 + 3 + 2.5), 2 * (7 + 7 + 6.75)])
    np.testing.assert_allclose(m.grad.numpy(), [-2 * 2.5, -2 * 6.75])
