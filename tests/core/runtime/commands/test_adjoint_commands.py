"""Recorded adjoint launches: `adjoint=True, record_cmd=True` and `wp.Launch(adjoint=True)`."""

import pytest

import warpsim as wp
from warpsim.errors import GradientError, LaunchError, NotDifferentiableError


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a * x[i] + y[i]


def leaf(*values):
    return wp.array(list(values), dtype=float, requires_grad=True)


def plain(*values):
    return wp.array(list(values), dtype=float)


def test_a_recorded_adjoint_command_runs_again_with_other_numbers():
    x, y, out = leaf(1, 2), leaf(3, 4), leaf(0, 0)
    command = wp.launch(saxpy, 2, inputs=[2.0, x, y], outputs=[out], adjoint=True, record_cmd=True)
    assert x.grad.numpy().tolist() == [0.0, 0.0]
    out.grad.fill_(1.0)
    command.launch()
    command.set_param_by_name("a", 5.0)
    out.grad.fill_(1.0)
    command.launch()
    assert x.grad.numpy().tolist() == [7.0, 7.0]


def test_a_recorded_adjoint_command_takes_other_gradients():
    x, y, out, da = plain(1, 2), plain(3, 4), leaf(0, 0), plain(0)
    command = wp.launch(
        saxpy,
        2,
        inputs=[2.0, x, y],
        outputs=[out],
        adjoint=True,
        record_cmd=True,
        adj_inputs=[plain(0), plain(0, 0), None],
    )
    dx = plain(1, 1)
    command.set_param_by_name("x", dx, adjoint=True)
    command.set_param_at_index(0, da, adjoint=True)
    out.grad.assign([1.0, 10.0])
    command.launch()
    assert (dx.numpy().tolist(), da.numpy().tolist()) == ([3.0, 21.0], [21.0])
    with pytest.raises(GradientError, match="argument 'y' of kernel 'saxpy' had no gradient when the launch"):
        command.set_param_at_index(2, plain(0, 0), adjoint=True)
    with pytest.raises(GradientError, match=r"has shape \(3,\)"):
        command.set_param_at_index(1, plain(0, 0, 0), adjoint=True)
    forward = wp.launch(saxpy, 2, inputs=[2.0, x, y], outputs=[out], record_cmd=True)
    with pytest.raises(LaunchError, match="expected: an adjoint launch"):
        forward.set_param_at_index(1, dx, adjoint=True)


def test_a_recorded_adjoint_command_refuses_arrays_without_the_gradients_it_adds_to():
    x, y, out = leaf(1, 2), leaf(3, 4), leaf(0, 0)
    command = wp.launch(saxpy, 2, inputs=[2.0, x, y], outputs=[out], adjoint=True, record_cmd=True)
    out.grad.fill_(1.0)
    command.set_param_by_name("x", plain(1, 2))
    with pytest.raises(GradientError, match="x of an adjoint launch of kernel 'saxpy' have no gradient"):
        command.launch()
    assert out.grad.numpy().tolist() == [1.0, 1.0]  # nothing has run
    command.set_param_by_name("x", x)
    command.launch()
    assert x.grad.numpy().tolist() == [2.0, 2.0]


def test_arrays_without_gradients_are_set_before_gradients_are_given():
    x, y, out = leaf(1, 2), leaf(3, 4), leaf(0, 0)
    command = wp.launch(saxpy, 2, inputs=[2.0, x, y], outputs=[out], adjoint=True, record_cmd=True)
    bigger = [plain(*range(5)) for _ in range(3)]
    gradients = {"x": plain(*[0] * 5), "y": plain(*[0] * 5), "out": plain(*[1] * 5)}
    for name, value in zip(gradients, bigger, strict=True):
        command.set_param_by_name(name, value)
    for name, grad in gradients.items():
        command.set_param_by_name(name, grad, adjoint=True)
    command.set_dim(5)
    command.launch()
    assert gradients["x"].list() == [2.0] * 5 and gradients["y"].list() == [1.0] * 5
    assert not any(a.requires_grad for a in bigger) and not x.grad.numpy().any()


@wp.struct
class Weighted:
    x: wp.array(dtype=float)
    factor: int


@wp.kernel
def weigh(w: Weighted, y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = w.x[i] * w.x[i] * float(w.factor + j)


@wp.kernel
def blur(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0 and i < x.shape[0] - 1:
        y[i] = x[i - 1] + 2.0 * x[i] + x[i + 1] * x[i + 1]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_an_adjoint_command_made_before_its_arguments(device):
    """`Launch(adjoint=True)`: threads and arrays follow; also with arrays in structs, and where elements gather."""
    with wp.ScopedDevice(device):
        x, y = leaf(1, 2, 3), wp.zeros((3, 2), dtype=float, requires_grad=True)
        command = wp.Launch(weigh, device, adjoint=True)
        command.set_dim((3, 2))
        command.set_param_by_name("w", Weighted(x=x, factor=3))
        command.set_param_by_name("y", y)
        y.grad.fill_(1.0)
        command.launch()
        assert x.grad.numpy().tolist() == [14.0, 28.0, 42.0] and command.kernel is weigh
        command.set_param_at_index(0, Weighted(x=plain(1, 2, 3), factor=3))
        with pytest.raises(GradientError, match=r"w\.x of an adjoint launch"):
            command.launch()

        x, y, elsewhere = leaf(*range(9)), leaf(*[0] * 9), plain(*[0] * 9)
        command = wp.Launch(blur, device, adjoint=True)
        command.set_dim(9)
        command.set_params([x, y])
        command.set_param_by_name("x", elsewhere, adjoint=True)
        y.grad.fill_(1.0)
        command.launch()
        assert elsewhere.numpy().tolist() == [1, 3, 7, 9, 11, 13, 15, 16, 16] and not x.grad.numpy().any()


def test_an_adjoint_command_of_numbers_alone_and_of_kernels_without_adjoints():
    command = wp.Launch(saxpy, "cpu", adjoint=True)
    with pytest.raises(GradientError, match="argument 'a' of kernel 'saxpy' had no gradient when"):
        command.set_param_by_name("a", plain(0), adjoint=True)

    @wp.kernel(enable_backward=False)
    def forward_only(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    with pytest.raises(NotDifferentiableError, match="enable_backward=False"):
        wp.Launch(forward_only, "cpu", adjoint=True)
