"""Arrays over tensors and tensors over arrays: one memory, one gradient, and refusals of what cannot be shared."""

import gc
import importlib.util
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.cpu(reason="tensors of the CPU build of PyTorch")

DTYPES = [wp.bool, wp.int8, wp.int16, wp.int32, wp.int64, wp.uint8, wp.float16, wp.float32, wp.float64, wp.bfloat16]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, wp.length_sq(x[wp.tid()]))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)
def test_one_memory_both_ways(dtype):
    t = torch.arange(6).reshape(2, 3).to(wp.dtype_to_torch(dtype))
    a = wp.from_torch(t)
    assert (a.dtype, a.shape, a.ptr) == (dtype, (2, 3), t.data_ptr())
    np.testing.assert_array_equal(a.numpy().astype(np.float64), t.double().numpy())
    back = wp.to_torch(a)
    assert back.data_ptr() == t.data_ptr() and back.dtype is t.dtype and back.shape == t.shape
    a.fill_(1)
    assert (t == 1).all() and (back == 1).all()


@pytest.mark.parametrize("dtype", (wp.uint16, wp.uint32, wp.uint64), ids=lambda t: t.__name__)
def test_wide_unsigned_integers_are_lent_as_signed_ones(dtype):
    a = wp.array(np.array([0, 5, np.iinfo(dtype).max], dtype), dtype=dtype)
    t = wp.to_torch(a)
    assert t.data_ptr() == a.ptr and t.tolist() == [0, 5, -1] and wp.dtype_to_torch(dtype) is t.dtype
    assert wp.from_torch(t, dtype=dtype).list() == a.list()
    unsigned = getattr(torch, dtype.__name__)
    assert wp.from_torch(torch.tensor([7], dtype=unsigned)).dtype is dtype is wp.dtype_from_torch(unsigned)


@pytest.mark.parametrize(
    "shape, dtype, outer",
    [((4, 3), wp.vec3, (4,)), ((2, 4, 3), wp.vec3, (2, 4)), ((5, 2, 2), wp.mat22, (5,)), ((6, 7), wp.transform, (6,))],
)
def test_elements_are_trailing_extents(shape, dtype, outer):
    t = torch.rand(shape)
    a = wp.from_torch(t, dtype=dtype)
    assert a.shape == outer and a.dtype is dtype and a.ptr == t.data_ptr()
    assert tuple(wp.to_torch(a).shape) == shape


def test_strides_are_kept():
    t = torch.rand(4, 6)
    for view in (t[::2], t.T, t[:, 1:4], t.expand(3, 4, 6)):
        a = wp.from_torch(view)
        np.testing.assert_array_equal(a.numpy(), view.numpy())
        assert a.strides == tuple(4 * s for s in view.stride()) and wp.to_torch(a).stride() == view.stride()


def test_empty_tensors():
    a = wp.from_torch(torch.zeros(0, 3), dtype=wp.vec3)
    assert a.shape == (0,) and wp.to_torch(a).shape == (0, 3)


def test_the_gradient_is_the_tensors():
    x = torch.rand(5, 3, requires_grad=True)
    out = torch.zeros(1, requires_grad=True)
    a, b = wp.from_torch(x, dtype=wp.vec3), wp.from_torch(out)
    assert a.grad.ptr == x.grad.data_ptr() and a.grad.dtype is wp.vec3
    with wp.Tape() as tape:
        wp.launch(total, 5, inputs=[a], outputs=[b])
    for _ in range(2):  # an optimiser writes between two passes of one tape
        tape.zero()
        tape.backward(b)
        torch.testing.assert_close(x.grad, 2.0 * x.detach())
        with torch.no_grad():
            x -= 0.1 * x.grad


def test_an_optimiser_steps_on_arrays():
    xs = wp.array(np.random.default_rng(0).normal(size=(100, 3)), dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    optimiser = torch.optim.Adam([wp.to_torch(xs)], lr=0.1)
    with wp.Tape() as tape:
        wp.launch(total, 100, inputs=[xs], outputs=[out])
    for _ in range(200):
        tape.zero()
        tape.backward(out)
        optimiser.step()
    assert np.abs(xs.numpy()).max() < 1e-2


def test_to_torch_shares_the_gradient():
    a = wp.zeros(4, dtype=float, requires_grad=True)
    t = wp.to_torch(a)
    assert t.requires_grad and t.grad.data_ptr() == a.grad.ptr
    (t * 3.0).sum().backward()
    assert a.grad.list() == [3.0] * 4
    assert not wp.to_torch(a, requires_grad=False).requires_grad


def test_gradients_that_are_given():
    x, g = torch.rand(4), torch.rand(4)
    a = wp.from_torch(x, grad=g, requires_grad=True)
    assert a.grad.ptr == g.data_ptr()
    assert not wp.from_torch(torch.rand(3, requires_grad=True), requires_grad=False).requires_grad
    g = wp.ones(4, dtype=float)
    assert wp.from_torch(x, grad=g, requires_grad=True).grad is g


def test_the_gradient_is_its_own_where_autograd_is_off():
    """Else `autograd.Function` would return the memory that autograd adds it to, and double the gradient."""
    x = torch.rand(4, requires_grad=True)
    x.grad = torch.ones(4)
    with torch.no_grad():
        a = wp.from_torch(x, requires_grad=True)
    assert a.grad.ptr != x.grad.data_ptr() and a.grad.list() == [0.0] * 4


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = wp.from_torch(x, requires_grad=True)
        ctx.y = wp.zeros(len(x), requires_grad=True)
        wp.launch(square, len(x), [ctx.x], [ctx.y])
        return wp.to_torch(ctx.y)

    @staticmethod
    def backward(ctx, seed):
        ctx.y.grad = wp.from_torch(seed)
        wp.launch(square, len(seed), [ctx.x], [ctx.y], adj_inputs=[ctx.x.grad], adj_outputs=[ctx.y.grad], adjoint=True)
        return wp.to_torch(ctx.x.grad)


def test_autograd_functions_give_the_right_gradient():
    x = torch.rand(6, requires_grad=True)
    Square.apply(x).backward(torch.ones(6))
    torch.testing.assert_close(x.grad, 2.0 * x.detach())


def test_descriptors_are_launched():
    x, y = torch.arange(5.0), torch.zeros(5)
    wp.launch(square, 5, [wp.from_torch(x, return_ctype=True)], [wp.from_torch(y, return_ctype=True)])
    assert y.tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]
    assert not wp.from_torch(torch.rand(2, requires_grad=True), return_ctype=True).requires_grad


def test_tensors_are_launched_as_they_are():
    x, y = torch.arange(5.0), torch.zeros(5)
    wp.launch(square, 5, [x], [y])
    assert y.tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]


def test_tapes_see_launches_over_one_tensor():
    """Two arrays over a tensor are one memory: what a launch outside of the tape overwrites is noticed."""
    t = torch.rand(3, requires_grad=True)
    a, y = wp.from_torch(t), wp.zeros(3, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, [a], [y])
    wp.launch(square, 3, [wp.ones(3)], [wp.from_torch(t.detach())])
    with pytest.raises(wp.errors.TapeOverwriteError, match="changed after it was recorded"):
        tape.backward(grads={y: wp.ones(3)})


def test_devices_and_types():
    assert wp.device_to_torch("cpu") == "cpu" and wp.device_to_torch("interp") == "cpu"
    assert str(wp.device_from_torch("cpu")) == "cpu" and wp.device_from_torch(torch.device("cpu")) == "cpu"
    assert wp.dtype_from_torch(torch.float64) is wp.float64
    assert wp.dtype_to_torch(wp.vec3) is torch.float32 and wp.dtype_to_torch(float) is torch.float32
    for bad in ("meta", "mps"):
        with pytest.raises(RuntimeError, match="expected: cpu or cuda"):
            wp.device_from_torch(bad)
    for bad in (torch.complex64, torch.complex128):
        with pytest.raises(TypeError, match="has no scalar type"):
            wp.dtype_from_torch(bad)
    with pytest.raises(RuntimeError, match="has no CUDA stream"):
        wp.stream_to_torch("cpu")


@wp.struct
class Pair:
    a: float


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: wp.from_torch([1.0]), r"t is list[\s\S]*torch.Tensor"),
        (lambda: wp.from_torch(torch.zeros(2, dtype=torch.complex64)), "a tensor of torch.complex64"),
        (
            lambda: wp.from_torch(torch.zeros(4, 2), dtype=wp.vec3),
            r"shape \(4, 2\) as vec3f[\s\S]*trailing extents \(3,\)",
        ),
        (lambda: wp.from_torch(torch.zeros(3), dtype=wp.vec3), "trailing extents"),
        (lambda: wp.from_torch(torch.zeros(3), dtype=wp.float64), "torch.float32 as float64"),
        (lambda: wp.from_torch(torch.zeros(3, 4).T, dtype=wp.vec3), "components of elements lie apart"),
        (lambda: wp.from_torch(torch.zeros(2, 2).to_sparse()), "layout torch.sparse_coo"),
        (lambda: wp.from_torch(torch.zeros(2, device="meta")), "on meta"),
        (lambda: wp.from_torch(torch.zeros(1, 1, 1, 1, 1)), "rank 5"),
        (lambda: wp.from_torch(torch.tensor(1.0)), "rank 0"),
        (lambda: wp.from_torch(torch.zeros(2, dtype=torch.int32), requires_grad=True), "expected: floats"),
        (lambda: wp.from_torch(torch.zeros(2), requires_grad=True, grad=torch.zeros(3)), r"expected: shape \(2,\)"),
        (lambda: wp.to_torch(np.zeros(3)), "a is ndarray"),
        (lambda: wp.to_torch(wp.zeros(2, dtype=int), requires_grad=True), "cannot require a gradient"),
        (lambda: wp.to_torch(wp.zeros(2, dtype=Pair)), "array of structs"),
        (lambda: wp.to_torch(wp.array(np.broadcast_to(np.float32(1), 3), copy=False)), "read-only"),
    ],
)
def test_refusals(act, message):
    with pytest.raises(wp.errors.WarpsimError, match=message):
        act()


def test_conversions_leave_nothing_behind():
    x = torch.rand(64, requires_grad=True)
    a = wp.zeros(64, dtype=float, requires_grad=True)

    def convert(times):
        for _ in range(times):
            wp.from_torch(x)
            wp.to_torch(a)

    convert(100)
    gc.collect()
    tracemalloc.start()
    convert(2000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 64_000  # tables grow a little; an array that each leaves behind would be hundreds of bytes


def test_room_bytes_and_notes_of_tensors():
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    assert wp.from_torch(base[1:3, 2:5]).capacity == 64
    assert wp.from_torch(base[2:, 1::2]).capacity == 44
    flags = torch.tensor([True, False])
    as_bytes = wp.from_torch(flags, dtype=wp.uint8)
    assert as_bytes.list() == [1, 0]
    flags[1] = True
    assert as_bytes.list() == [1, 1]
    t = torch.zeros(2, requires_grad=True)
    assert wp.from_torch(t, retain_grad=True).retain_grad
    assert not wp.from_torch(t).retain_grad


@pytest.mark.slow
def test_twenty_thousand_conversions_take_no_memory():
    x, a = torch.rand(4096, requires_grad=True), wp.zeros(4096, dtype=float, requires_grad=True)

    def resident(times):
        for _ in range(times):
            wp.from_torch(x)
            wp.to_torch(a)
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = resident(5000)
    assert resident(20_000) - before < 500  # pages; a leak of one array each would be 80,000


def test_an_older_torch_is_refused(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.1.0+cpu")
    source = importlib.util.find_spec("warpsim.interop.torch.arrays")
    with pytest.raises(wp.errors.MissingPackageError, match=r"PyTorch 2.1.0\+cpu is installed[\s\S]*2.6 or newer"):
        source.loader.exec_module(importlib.util.module_from_spec(source))


def test_memory_that_is_not_aligned_is_refused():
    """The first call of an operator, and one that would repeat another."""
    odd = torch.from_numpy(np.zeros(41, np.uint8)[1:].view(np.float32))
    operator = wp.torch_op(square)
    for call in (wp.from_torch, operator):
        with pytest.raises(wp.errors.ArrayError, match=r"does not fit the alignment of float32[\s\S]*copy"):
            call(odd)
        call(torch.zeros(10))


@pytest.mark.parametrize(
    "view",
    [lambda base: base[::2, 1], lambda base: base.t()[2], lambda base: base[1:5, 2]],
    ids=["every second", "of the transpose", "column"],
)
@pytest.mark.parametrize("by_autograd", [True, False])
def test_gradients_of_strided_tensors_have_their_strides(view, by_autograd):
    """The gradient that is made for a column of a tensor has room for its strides, in `t.grad` or of its own."""
    t = view(torch.arange(24.0).reshape(6, 4)).detach().requires_grad_(by_autograd)
    with torch.set_grad_enabled(by_autograd):
        x = wp.from_torch(t, requires_grad=True)
    y = wp.zeros(t.shape[0], dtype=float, requires_grad=True)
    assert not t.is_contiguous() and x.grad.strides == x.strides
    with wp.Tape() as tape:
        wp.launch(square, t.shape[0], inputs=[x], outputs=[y])
    seed = torch.ones(2 * t.shape[0])[::2]
    tape.backward(grads={y: wp.from_torch(seed)})
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * t.detach().numpy())
    assert (t.grad is not None) == by_autograd and (seed == 1).all()
