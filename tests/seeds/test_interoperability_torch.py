"""Programs on PyTorch of the interoperability guide for NVIDIA Warp, with only the import line changed.

Loops of optimisers are shorter, and the device is the CPU.
"""

import numpy as np
import pytest
from guide_kernels import eval_rosenbrock, loss

import warpsim as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.cpu(reason="tensors of the CPU build of PyTorch")


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def test_tensors_are_launched_directly():
    n, device = 100, "cpu"
    x = torch.arange(n, dtype=torch.float32, device=device)
    y = torch.ones(n, dtype=torch.float32, device=device)
    wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device=device)
    assert torch.equal(y, x + 1.0)


def test_conversion_both_ways():
    w = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    # convert to Torch tensor
    t = wp.to_torch(w)
    # convert from Torch tensor
    w = wp.from_torch(t)
    assert w.list() == [1.0, 2.0, 3.0] and w.ptr == t.data_ptr()


def test_optimization_using_from_torch():
    # indicate requires_grad so that Warp can accumulate gradients in the grad buffers
    xs = torch.randn(100, 2, requires_grad=True)
    l = torch.zeros(1, requires_grad=True)  # noqa: E741
    opt = torch.optim.Adam([xs], lr=0.1)

    wp_xs = wp.from_torch(xs)
    wp_l = wp.from_torch(l)

    tape = wp.Tape()
    with tape:
        # record the loss function kernel launch on the tape
        wp.launch(loss, dim=len(xs), inputs=[wp_xs], outputs=[wp_l], device=wp_xs.device)

    for _ in range(200):
        tape.zero()
        tape.backward(loss=wp_l)  # compute gradients
        # now xs.grad will be populated with the gradients computed by Warp
        opt.step()  # update xs (and thereby wp_xs)

        # these lines are only needed for evaluating the loss
        # (the optimization just needs the gradient, not the loss value)
        wp_l.zero_()
        wp.launch(loss, dim=len(xs), inputs=[wp_xs], outputs=[wp_l], device=wp_xs.device)
    assert l.item() < 1e-3


def test_optimization_using_to_torch():
    # initialize the optimization variables in Warp
    xs = wp.array(np.random.default_rng(0).normal(size=(100, 2)), dtype=wp.float32, requires_grad=True)
    l = wp.zeros(1, dtype=wp.float32, requires_grad=True)  # noqa: E741
    # just a single wp.to_torch call is needed, Adam optimizes using the Warp array gradients
    opt = torch.optim.Adam([wp.to_torch(xs)], lr=0.1)

    tape = wp.Tape()
    with tape:
        wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)

    for _ in range(200):
        tape.zero()
        tape.backward(loss=l)
        opt.step()

        l.zero_()
        wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)
    assert l.numpy()[0] < 1e-3


class Rosenbrock(torch.autograd.Function):
    @staticmethod
    def forward(ctx, xy, num_points):
        ctx.xy = wp.from_torch(xy, dtype=wp.vec2, requires_grad=True)
        ctx.num_points = num_points

        # allocate output
        ctx.z = wp.zeros(num_points, requires_grad=True)

        wp.launch(kernel=eval_rosenbrock, dim=ctx.num_points, inputs=[ctx.xy], outputs=[ctx.z])

        return wp.to_torch(ctx.z)

    @staticmethod
    def backward(ctx, adj_z):
        # map incoming Torch grads to our output variables
        ctx.z.grad = wp.from_torch(adj_z)

        wp.launch(
            kernel=eval_rosenbrock,
            dim=ctx.num_points,
            inputs=[ctx.xy],
            outputs=[ctx.z],
            adj_inputs=[ctx.xy.grad],
            adj_outputs=[ctx.z.grad],
            adjoint=True,
        )

        # return adjoint w.r.t. inputs
        return (wp.to_torch(ctx.xy.grad), None)


def start(num_points):
    torch_device = wp.device_to_torch(wp.get_device())
    rng = np.random.default_rng(42)
    xy = torch.tensor(rng.normal(size=(num_points, 2)), dtype=torch.float32, requires_grad=True, device=torch_device)
    return xy, torch.optim.Adam([xy], lr=5e-2)


def in_torch(xy):
    x, y = xy.T
    return (1.0 - x) ** 2.0 + 100.0 * (y - x**2.0) ** 2.0


def test_optimization_using_autograd_function():
    num_points = 50
    xy, opt = start(num_points)
    (expected,) = torch.autograd.grad(in_torch(xy).sum(), xy)
    for k in range(2000):
        # step
        opt.zero_grad()
        z = Rosenbrock.apply(xy, num_points)
        z.backward(torch.ones_like(z))
        if k == 0:
            torch.testing.assert_close(xy.grad, expected, rtol=1e-4, atol=1e-3)
        opt.step()

    # minimum at (1, 1)
    xy_np = xy.numpy(force=True)
    np.testing.assert_allclose(np.mean(xy_np, axis=0), [1.0, 1.0], atol=0.15)


@torch.library.custom_op("wp::warp_rosenbrock", mutates_args=())
def warp_rosenbrock(xy: torch.Tensor, num_points: int) -> torch.Tensor:
    wp_xy = wp.from_torch(xy, dtype=wp.vec2)
    wp_z = wp.zeros(num_points, dtype=wp.float32)

    wp.launch(kernel=eval_rosenbrock, dim=num_points, inputs=[wp_xy], outputs=[wp_z])

    return wp.to_torch(wp_z)


@warp_rosenbrock.register_fake
def _(xy, num_points):
    return torch.empty(num_points, dtype=torch.float32)


@torch.library.custom_op("wp::warp_rosenbrock_backward", mutates_args=())
def warp_rosenbrock_backward(xy: torch.Tensor, num_points: int, z: torch.Tensor, adj_z: torch.Tensor) -> torch.Tensor:
    wp_xy = wp.from_torch(xy, dtype=wp.vec2)
    wp_z = wp.from_torch(z, requires_grad=False)
    wp_adj_z = wp.from_torch(adj_z, requires_grad=False)

    wp.launch(
        kernel=eval_rosenbrock,
        dim=num_points,
        inputs=[wp_xy],
        outputs=[wp_z],
        adj_inputs=[wp_xy.grad],
        adj_outputs=[wp_adj_z],
        adjoint=True,
    )

    return wp.to_torch(wp_xy.grad)


@warp_rosenbrock_backward.register_fake
def _(xy, num_points, z, adj_z):
    return torch.empty_like(xy)


def backward(ctx, adj_z):
    ctx.xy.grad = warp_rosenbrock_backward(ctx.xy, ctx.num_points, ctx.z, adj_z)
    return ctx.xy.grad, None


def setup_context(ctx, inputs, output):
    ctx.xy, ctx.num_points = inputs
    ctx.z = output


warp_rosenbrock.register_autograd(backward, setup_context=setup_context)


def test_optimization_using_custom_operators():
    """The guide's gradient is stored in `xy.grad` and returned as well: PyTorch adds the two."""
    num_points = 50
    xy, opt = start(num_points)

    @torch.compile(fullgraph=True, backend="aot_eager")  # inductor, the default, gives the same and compiles longer
    def forward():
        z = warp_rosenbrock(xy, num_points)
        return z

    for _ in range(1500):
        # step
        opt.zero_grad()
        z = forward()
        z.backward(torch.ones_like(z))
        opt.step()

    # minimum at (1, 1)
    xy_np = xy.numpy(force=True)
    np.testing.assert_allclose(np.mean(xy_np, axis=0), [1.0, 1.0], atol=0.15)


def test_repeated_conversions():
    n, device = 10, "cpu"
    x_t = torch.arange(n, dtype=torch.float32, device=device)
    y_t = torch.ones(n, dtype=torch.float32, device=device)

    for _ in range(10):
        x_w = wp.from_torch(x_t)
        y_w = wp.from_torch(y_t)
        wp.launch(saxpy, dim=n, inputs=[x_w, y_w, 1.0], device=device)
    assert torch.equal(y_t, 10.0 * x_t + 1.0)


def test_one_conversion():
    n, device = 10, "cpu"
    x_t = torch.arange(n, dtype=torch.float32, device=device)
    y_t = torch.ones(n, dtype=torch.float32, device=device)

    x_w = wp.from_torch(x_t)
    y_w = wp.from_torch(y_t)

    for _ in range(10):
        wp.launch(saxpy, dim=n, inputs=[x_w, y_w, 1.0], device=device)
    assert torch.equal(y_t, 10.0 * x_t + 1.0)


def test_array_descriptors():
    device = "cpu"
    for n in range(1, 10):
        # get Torch tensors for this iteration
        x_t = torch.arange(n, dtype=torch.float32, device=device)
        y_t = torch.ones(n, dtype=torch.float32, device=device)

        # get Warp array descriptors
        x_ctype = wp.from_torch(x_t, return_ctype=True)
        y_ctype = wp.from_torch(y_t, return_ctype=True)

        wp.launch(saxpy, dim=n, inputs=[x_ctype, y_ctype, 1.0], device=device)
        assert torch.equal(y_t, x_t + 1.0)


def test_tensors_are_launched_ten_times():
    n, device = 10, "cpu"
    x = torch.arange(n, dtype=torch.float32, device=device)
    y = torch.ones(n, dtype=torch.float32, device=device)

    for _ in range(10):
        wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device=device)
    assert torch.equal(y, 10.0 * x + 1.0)


def test_dlpack_both_ways():
    warp_array = wp.from_dlpack(torch.ones(4))
    torch_tensor = torch.utils.dlpack.from_dlpack(warp_array)
    assert torch_tensor.data_ptr() == warp_array.ptr
    warp_array2 = wp.from_dlpack(torch.utils.dlpack.to_dlpack(torch_tensor))
    torch_tensor = torch.utils.dlpack.from_dlpack(wp.to_dlpack(warp_array2))
    assert torch_tensor.data_ptr() == warp_array.ptr and torch_tensor.tolist() == [1.0] * 4
