"""What a tape keeps of kernels whose adjoint needs other contents, or is there at all, with some gradients alone."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import GradientError, NotDifferentiableError, TapeError

D = wp.float64
Numbers = wp.array(dtype=D)


@wp.struct
class Pair:
    y: wp.array(dtype=wp.float64)
    z: wp.array(dtype=wp.float64)


@wp.kernel
def swaps(x: Numbers, y: Numbers, z: Numbers):
    t = wp.tid()
    y[t] = wp.atomic_exch(y, t, D(1.0))
    z[t + 2] = z[t] * x[t]


@wp.kernel
def swaps_in_a_struct(x: Numbers, s: Pair):
    t = wp.tid()
    s.y[t] = wp.atomic_exch(s.y, t, D(1.0))
    s.z[t + 2] = s.z[t] * x[t]


@wp.kernel
def squares_after_a_swap(x: Numbers, y: Numbers):
    t = wp.tid()
    y[t] = wp.atomic_exch(y, t, D(1.0))
    x[t] = x[t] * x[t]


def numbers(*values, requires_grad=True):
    return wp.array(np.array(values, float), dtype=D, requires_grad=requires_grad)


def launched(kernel, dim, args):
    wp.launch(kernel, dim, inputs=args)


def commanded(kernel, dim, args):
    wp.launch(kernel, dim, inputs=args, record_cmd=True).launch()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("launch", [launched, commanded], ids=["launch", "command"])
def test_contents_are_kept_for_the_gradients_that_are_there(device, launch):
    with wp.ScopedDevice(device):
        x, y, z, out = numbers(1, 2), numbers(0, 0, requires_grad=False), numbers(3, 4, 0, 0), numbers(0, 0, 0, 0)
        with wp.Tape() as tape:
            launch(swaps, 2, [x, y, z])
            wp.copy(out, z)
            z.fill_(7.0)
        tape.backward(grads={out: wp.ones_like(out)})
    assert x.grad.numpy().tolist() == [3.0, 4.0]
    assert len(tape.session.copies) == 1


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_contents_of_a_field(device):
    with wp.ScopedDevice(device):
        x, s, out = numbers(1, 2), Pair(), numbers(0, 0, 0, 0)
        s.y, s.z = numbers(0, 0, requires_grad=False), numbers(3, 4, 0, 0)
        with wp.Tape() as tape:
            wp.launch(swaps_in_a_struct, 2, inputs=[x, s])
            wp.copy(out, s.z)
            s.z.fill_(7.0)
        tape.backward(grads={out: wp.ones_like(out)})
    assert x.grad.numpy().tolist() == [3.0, 4.0]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_contents_from_before_the_launch(device):
    with wp.ScopedDevice(device):
        x, y = numbers(3, 4), numbers(0, 0, requires_grad=False)
        with wp.Tape() as tape:
            wp.launch(squares_after_a_swap, 2, inputs=[x, y])
        tape.backward(grads={x: wp.ones_like(x)})
    assert x.grad.numpy().tolist() == [6.0, 8.0]


def test_with_gradients_everywhere_the_exchange_is_refused():
    x, y, z = numbers(1, 2), numbers(0, 0), numbers(3, 4, 0, 0)
    with wp.Tape() as tape:
        wp.launch(swaps, 2, inputs=[x, y, z])
    with pytest.raises(NotDifferentiableError, match="atomic_exch has no derivative"):
        tape.backward(grads={z: wp.ones_like(z)})


@pytest.mark.parametrize("then", [True, False], ids=["got", "lost"])
def test_gradients_that_come_or_go_after_the_launch(then):
    x, y = numbers(3, 4), numbers(0, 0, requires_grad=not then)
    with wp.Tape() as tape:
        wp.launch(squares_after_a_swap, 2, inputs=[x, y])
    y.requires_grad = then
    found = ("x, y", "x") if then else ("x", "x, y")
    with pytest.raises(GradientError, match=f"found: gradients in {found[0]}; at the launch in {found[1]}\n"):
        tape.backward(grads={x: wp.ones_like(x)})


def test_a_launch_that_ran_elsewhere_needs_what_its_gradients_need():
    x, y = numbers(3, 4), numbers(0, 0, requires_grad=False)
    tape = wp.Tape()
    with pytest.raises(TapeError, match="overwrites what its gradient needs"):
        tape.record_launch(squares_after_a_swap, 2, 0, [x, y], [])
    tape.record_launch(swaps, 2, 0, [x, y, numbers(1, 2, 0, 0, requires_grad=False)], [])
    tape.backward(grads={x: wp.ones_like(x)})
    assert x.grad.numpy().tolist() == [1.0, 1.0]


def test_tangents_of_all_arrays_are_refused():
    x, y, z = numbers(1, 2), numbers(0, 0, requires_grad=False), numbers(3, 4, 0, 0)
    with wp.Tape() as tape:
        wp.launch(swaps, 2, inputs=[x, y, z])
    with pytest.raises(NotDifferentiableError, match=r"kernel 'swaps', launched at .*, has no adjoint for"):
        wp.autograd.jvp(tape, tangents={x: np.ones(2)})


@wp.kernel
def scales_then_sums(x: Numbers, p: Numbers, v: wp.array(dtype=wp.vec2d), n: int):
    t = wp.tid()
    for _ in range(2):
        if x[2 * t + 1] * p[t] < x[2 * t + 1] + p[t]:
            v[2 * t + 1][0] *= v[2 * t][1] * D(1.25)
            wp.atomic_add(x, 2 * t, wp.cos(x[2 * t + 1]))
    for _ in range(n):
        wp.atomic_add(x, 2 * t, p[t])
    v[2 * t + 1][0] *= D(0.5)
    wp.atomic_sub(x, 2 * t, v[2 * t][1] + x[2 * t])


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("graded", [("v",), ("v", "p"), ("x", "p", "v")], ids=" ".join)
def test_contents_that_only_the_adjoint_for_some_gradients_asks_for(device, graded):
    with wp.ScopedDevice(device):
        x = numbers(0.7, 0.4, requires_grad="x" in graded)
        p = numbers(0.9, requires_grad="p" in graded)
        v = wp.array([[0.3, 0.8], [0.6, 0.2]], dtype=wp.vec2d, requires_grad="v" in graded)
        with wp.Tape() as tape:
            wp.launch(scales_then_sums, 1, inputs=[x, p, v, 3])
        seeds = wp.array([[0, 0], [1, 0]], dtype=wp.vec2d)
        tangent = wp.autograd.jvp(tape, tangents={v: seeds})[v]
        tape.backward(grads={v: seeds})
        # v[1][0] = 0.6 * (0.8 * 1.25) ** 2 * 0.5
        np.testing.assert_allclose(v.grad.numpy(), [[0.0, 0.75], [0.5, 0.0]], atol=1e-12)
        np.testing.assert_allclose(tangent.numpy()[1, 0], 0.5, atol=1e-12)
