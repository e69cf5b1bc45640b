"""Arrays over tensors of Paddle and tensors over arrays: one memory, one gradient, and refusals."""

import warnings

import numpy as np
import pytest

import warpsim as wp

# The package is large (0.7 GB), so that the usual run is without it: pip install warpsim[paddle] to run these.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it misses a compiler's cache
    paddle = pytest.importorskip("paddle", reason="Paddle is not installed: pip install paddlepaddle")
pytestmark = pytest.mark.cpu(reason="tensors of the CPU build of Paddle")

DTYPES = [wp.bool, wp.int8, wp.int16, wp.int32, wp.int64, wp.uint8, wp.float16, wp.float32, wp.float64, wp.bfloat16]


@wp.kernel
def loss(xs: wp.array(dtype=float, ndim=2), l: wp.array(dtype=float)):  # noqa: E741
    tid = wp.tid()
    wp.atomic_add(l, 0, xs[tid, 0] ** 2.0 + xs[tid, 1] ** 2.0)


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)
def test_one_memory_both_ways(dtype):
    t = paddle.arange(6).reshape([2, 3]).astype(wp.dtype_to_paddle(dtype))
    a = wp.from_paddle(t)
    assert (a.dtype, a.shape, a.ptr) == (dtype, (2, 3), t.data_ptr())
    np.testing.assert_array_equal(a.numpy().astype(np.float64), t.astype("float64").numpy())
    back = wp.to_paddle(a)
    assert back.data_ptr() == t.data_ptr() and back.dtype == t.dtype and back.shape == t.shape
    a.fill_(1)
    assert (t.astype("float32").numpy() == 1).all() and wp.dtype_from_paddle(t.dtype) is dtype


@pytest.mark.parametrize("dtype", (wp.uint16, wp.uint32, wp.uint64), ids=lambda t: t.__name__)
def test_wide_unsigned_integers_are_lent_as_signed_ones(dtype):
    a = wp.array(np.array([0, 5, np.iinfo(dtype).max], dtype), dtype=dtype)
    t = wp.to_paddle(a)
    assert t.data_ptr() == a.ptr and t.tolist() == [0, 5, -1] and wp.from_paddle(t, dtype=dtype).list() == a.list()


def test_elements_strides_and_empty_tensors():
    t = paddle.rand([4, 3])
    a = wp.from_paddle(t, dtype=wp.vec3)
    assert a.shape == (4,) and a.ptr == t.data_ptr() and wp.to_paddle(a).shape == [4, 3]
    for view in (t[::2], t.T, t[:, 1:]):
        b = wp.from_paddle(view)
        np.testing.assert_array_equal(b.numpy(), view.numpy())
        assert b.ptr == view.data_ptr() and wp.to_paddle(b).strides == view.strides
    assert wp.from_paddle(paddle.zeros([0, 3]), dtype=wp.vec3).shape == (0,)


def test_an_optimiser_of_paddle_steps_on_tensors():
    xs, l = paddle.rand([100, 2]), paddle.zeros([1])  # noqa: E741
    xs.stop_gradient = l.stop_gradient = False
    opt = paddle.optimizer.Adam(learning_rate=0.1, parameters=[xs])
    wp_xs, wp_l = wp.from_paddle(xs), wp.from_paddle(l)
    assert wp_xs.grad.ptr == xs.grad.data_ptr()
    with wp.Tape() as tape:
        wp.launch(loss, dim=len(xs), inputs=[wp_xs], outputs=[wp_l], device=wp_xs.device)
    for _ in range(100):
        tape.zero()
        tape.backward(loss=wp_l)
        opt.step()
    assert float(xs.abs().max()) < 0.05 and wp_xs.ptr == xs.data_ptr()


def test_an_optimiser_of_paddle_steps_on_arrays():
    xs = wp.array(np.random.default_rng(0).normal(size=(100, 2)), dtype=wp.float32, requires_grad=True)
    l = wp.zeros(1, dtype=wp.float32, requires_grad=True)  # noqa: E741
    opt = paddle.optimizer.Adam(learning_rate=0.1, parameters=[wp.to_paddle(xs)])
    with wp.Tape() as tape:
        wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)
    for _ in range(100):
        tape.zero()
        tape.backward(loss=l)
        opt.step()
    assert np.abs(xs.numpy()).max() < 0.1


def test_to_paddle_moves_the_gradient_with_its_contents():
    a = wp.zeros(4, dtype=float, requires_grad=True)
    a.grad.fill_(2.0)
    t = wp.to_paddle(a)
    assert not t.stop_gradient and t.grad.data_ptr() == a.grad.ptr and t.grad.tolist() == [2.0] * 4
    (t * 3.0).sum().backward()
    assert a.grad.list() == [5.0] * 4
    assert wp.to_paddle(a, requires_grad=False).stop_gradient


class Scaled(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.zeros_like(x)
        wp.launch(saxpy, len(x), [wp.from_paddle(x.detach()), wp.from_paddle(y), 3.0])
        return y

    @staticmethod
    def backward(ctx, seed):
        found = paddle.zeros_like(seed)
        wp.launch(saxpy, len(seed), [wp.from_paddle(seed.detach()), wp.from_paddle(found), 3.0])
        return found


def test_kernels_in_layers_of_paddle():
    x = paddle.rand([5])
    x.stop_gradient = False
    Scaled.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0] * 5


def test_descriptors_are_launched():
    x, y = paddle.arange(5, dtype="float32"), paddle.ones([5])
    wp.launch(saxpy, 5, [wp.from_paddle(x, return_ctype=True), wp.from_paddle(y, return_ctype=True), 2.0])
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]


def test_dlpack_both_ways():
    a = wp.array([1.0, 2.0], dtype=float)
    t = paddle.utils.dlpack.from_dlpack(a)
    assert t.data_ptr() == a.ptr and wp.from_dlpack(t).ptr == a.ptr
    assert wp.from_dlpack(paddle.utils.dlpack.to_dlpack(t)).ptr == a.ptr
    assert paddle.utils.dlpack.from_dlpack(wp.to_dlpack(a)).data_ptr() == a.ptr


def test_devices():
    assert wp.device_to_paddle("cpu") == "cpu" == wp.device_to_paddle("interp")
    assert wp.device_from_paddle(paddle.CPUPlace()) == wp.device_from_paddle("cpu") == "cpu"
    with pytest.raises(RuntimeError, match="expected: cpu or gpu"):
        wp.device_from_paddle("xpu:0")
    with pytest.raises(TypeError, match="has no scalar type"):
        wp.dtype_from_paddle(paddle.complex64)
    if not paddle.is_compiled_with_cuda():
        with pytest.raises(RuntimeError, match="paddlepaddle-gpu"):
            wp.stream_from_paddle()


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: wp.from_paddle([1.0]), r"t is list[\s\S]*paddle.Tensor"),
        (lambda: wp.from_paddle(paddle.zeros([2], dtype="complex64")), "a tensor of paddle.complex64"),
        (lambda: wp.from_paddle(paddle.zeros([4, 2]), dtype=wp.vec3), r"of shape \(4, 2\) as vec3f"),
        (lambda: wp.from_paddle(paddle.zeros([3]), dtype=wp.float64), "paddle.float32 as float64"),
        (lambda: wp.from_paddle(paddle.to_tensor(1.0)), "rank 0"),
        (lambda: wp.from_paddle(paddle.sparse.sparse_coo_tensor([[0], [1]], [1.0], [2, 2])), "sparse"),
        (lambda: wp.from_paddle(paddle.zeros([2], dtype="int32"), requires_grad=True), "expected: floats"),
        (
            lambda: wp.from_paddle(paddle.zeros([2]), requires_grad=True, grad=paddle.zeros([3])),
            r"expected: shape \(2,\)",
        ),
        (lambda: wp.to_paddle(np.zeros(3)), "a is ndarray"),
        (lambda: wp.to_paddle(wp.zeros(2, dtype=int), requires_grad=True), "cannot require a gradient"),
        (lambda: wp.to_paddle(wp.array(np.broadcast_to(np.float32(1), 3), copy=False)), "read-only"),
    ],
)
def test_refusals(act, message):
    with pytest.raises(wp.errors.WarpsimError, match=message):
        act()


def test_memory_that_is_not_aligned_is_refused():
    """Paddle takes such memory from others by DLPack."""
    whole = np.zeros(41, np.uint8)
    odd = whole[1:].view(np.float32) if whole.ctypes.data % 4 == 0 else whole[:40].view(np.float32)
    with pytest.raises(wp.errors.ArrayError, match=r"does not fit the alignment of float32[\s\S]*copy"):
        wp.from_paddle(paddle.utils.dlpack.from_dlpack(odd))
