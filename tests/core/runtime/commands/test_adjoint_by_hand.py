"""Adjoint launches by hand: `adjoint=True`, with gradients of the arrays or given for the launch."""

import contextlib

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.program import FormKind
from warpsim.errors import GradientError, NotDifferentiableError


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a * x[i] + y[i]


def leaf(*values):
    return wp.array(list(values), dtype=float, requires_grad=True)


def plain(*values):
    return wp.array(list(values), dtype=float)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_gradients_of_the_arrays_themselves(device):
    with wp.ScopedDevice(device):
        x, y, out = leaf(1, 2), leaf(3, 4), leaf(0, 0)
        out.grad.fill_(10.0)
        wp.launch(saxpy, 2, inputs=[2.0, x, y], outputs=[out], adjoint=True)
        assert x.grad.numpy().tolist() == [20.0, 20.0]
        assert y.grad.numpy().tolist() == [10.0, 10.0]
        assert out.grad.numpy().tolist() == [0.0, 0.0]
        assert out.numpy().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_adjoints_in_reverse_of_launches_that_overwrite_one_array(device):
    with wp.ScopedDevice(device):
        x, y, out, kept = leaf(1, 2), leaf(3, 4), leaf(0, 0), leaf(0, 0)
        first, second = ([2.0, x, plain(0, 0)], [out]), ([3.0, y, plain(0, 0)], [out])
        wp.launch(saxpy, 2, *first)
        wp.launch(saxpy, 2, [5.0, out, plain(0, 0)], [kept])
        wp.launch(saxpy, 2, *second)
        out.grad.fill_(1.0)
        kept.grad.fill_(1.0)
        wp.launch(saxpy, 2, *second, adjoint=True)
        wp.launch(saxpy, 2, [5.0, out, plain(0, 0)], [kept], adjoint=True)
        wp.launch(saxpy, 2, *first, adjoint=True)
        assert y.grad.numpy().tolist() == [3.0, 3.0]
        assert x.grad.numpy().tolist() == [10.0, 10.0]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_gradients_given_for_the_launch(device):
    with wp.ScopedDevice(device):
        x, y, out = plain(1, 2), leaf(3, 4), plain(0, 0)
        da, dx, dout = plain(100), plain(0, 1), plain(10, 1)
        wp.launch(
            saxpy, 2, inputs=[2.0, x, y], outputs=[out], adjoint=True, adj_inputs=[da, dx, None], adj_outputs=[dout]
        )
        assert da.numpy().tolist() == [112.0]
        assert dx.numpy().tolist() == [20.0, 3.0]
        assert y.grad.numpy().tolist() == [10.0, 1.0]
        assert dout.numpy().tolist() == [10.0, 1.0]
        assert x.grad is None


def test_a_given_gradient_takes_the_place_of_the_array_s_own():
    x, y, out = leaf(1, 2), plain(3, 4), leaf(0, 0)
    out.grad.fill_(1.0)
    dx = plain(0, 0)
    wp.launch(saxpy, 2, inputs=[2.0, x, y], outputs=[out], adjoint=True, adj_inputs=[None, dx, None])
    assert (dx.numpy().tolist(), x.grad.numpy().tolist()) == ([2.0, 2.0], [0.0, 0.0])


def test_gradients_of_vectors_and_structs():
    @wp.struct
    class Line:
        slope: wp.vec2
        offset: float
        count: int

    @wp.kernel
    def line(v: wp.vec2, s: Line, x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = wp.dot(v, s.slope) * x[i] + s.offset * float(s.count)

    s = Line()
    s.slope, s.offset, s.count = wp.vec2(1.0, 2.0), 5.0, 3
    x, out = plain(1, 2), plain(0, 0)
    dv, ds = wp.zeros(1, dtype=wp.vec2), wp.zeros(1, dtype=Line)
    wp.launch(
        line,
        2,
        inputs=[wp.vec2(3.0, 4.0), s, x],
        outputs=[out],
        adjoint=True,
        adj_inputs=[dv, ds, None],
        adj_outputs=[plain(1, 10)],
    )
    assert dv.numpy().tolist() == [[21.0, 42.0]]
    found = ds.list()[0]
    assert list(found.slope) == [63.0, 84.0]
    assert (found.offset, found.count) == (33.0, 0)


def test_a_given_gradient_may_lie_otherwise_than_its_array():
    a = wp.array(np.arange(6).reshape(3, 2), dtype=float)
    out, dx = plain(0, 0, 0), plain(0, 0, 0)
    wp.launch(
        saxpy,
        3,
        inputs=[2.0, a[:, 1], plain(0, 0, 0)],
        outputs=[out],
        adjoint=True,
        adj_inputs=[None, dx, None],
        adj_outputs=[plain(1, 10, 100)],
    )
    assert dx.numpy().tolist() == [2.0, 20.0, 200.0]


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_numpy_arrays_as_arguments():
    x, out = np.ones(2, np.float32), np.zeros(2, np.float32)
    dx = plain(0, 0)
    wp.launch(
        saxpy,
        2,
        inputs=[2.0, x, x],
        outputs=[out],
        adjoint=True,
        adj_inputs=[None, dx, None],
        adj_outputs=[plain(1, 1)],
    )
    assert dx.numpy().tolist() == [2.0, 2.0]


def test_indexed_arrays():
    @wp.kernel
    def pick(x: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = x[i] * x[i]

    x, dx = plain(1, 2, 3), plain(0, 0, 0)
    chosen = wp.indexedarray(x, [wp.array([2, 0], dtype=int)])
    wp.launch(pick, 2, inputs=[chosen], outputs=[plain(0, 0)], adjoint=True, adj_inputs=[dx], adj_outputs=[plain(1, 1)])
    assert dx.numpy().tolist() == [2.0, 0.0, 6.0]


def test_adjoint_launches_in_a_graph():
    x, y, out = leaf(1, 2), leaf(3, 4), leaf(0, 0)
    with wp.ScopedCapture() as capture:
        out.grad.fill_(1.0)
        wp.launch(saxpy, 2, inputs=[2.0, x, y], outputs=[out], adjoint=True)
    assert x.grad.numpy().tolist() == [0.0, 0.0]
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert x.grad.numpy().tolist() == [4.0, 4.0]


def test_forward_and_backward_in_one_graph():
    x, out, loss = leaf(1, 2), leaf(0, 0), wp.zeros(1, dtype=float, requires_grad=True)

    @wp.kernel
    def square(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * x[i]

    @wp.kernel
    def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        wp.atomic_add(loss, 0, x[wp.tid()])

    with wp.ScopedCapture() as capture:
        with wp.Tape() as tape:
            loss.zero_()
            wp.copy(out, x)
            wp.launch(square, 2, inputs=[out])
            wp.launch(square, 2, inputs=[out])
            wp.launch(total, 2, inputs=[out, loss])
        tape.backward(loss)
    for values in ([1.0, 2.0], [3.0, 1.0]):
        x.assign(values)
        x.grad.zero_()
        wp.capture_launch(capture.graph)
        assert loss.numpy()[0] == sum(v**4 for v in values)
        assert x.grad.numpy().tolist() == [4 * v**3 for v in values]


def test_more_threads_than_one_chunk_give_the_same_bits():
    n = 300_000
    x = wp.array(np.random.default_rng(0).random(n), dtype=float, requires_grad=True)
    y, out, da = wp.zeros(n, dtype=float), wp.zeros(n, dtype=float, requires_grad=True), plain(0)
    found = []
    for _ in range(2):
        da.zero_()
        out.grad.fill_(1.0)
        wp.launch(
            saxpy, n, inputs=[2.0, x, y], outputs=[out], adjoint=True, adj_inputs=[da, None, None], deterministic=True
        )
        found.append(da.numpy()[0])
    assert found[0] == found[1] == pytest.approx(x.numpy().sum(dtype=float), rel=1e-5)
    assert x.grad.numpy().tolist() == [4.0] * n


# ----- errors -------------------------------------------------------------------------------------------


def launch(**options):
    arrays = {"inputs": [2.0, plain(1, 2), plain(3, 4)], "outputs": [plain(0, 0)]}
    wp.launch(saxpy, 2, adjoint=True, **{**arrays, **options})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"adj_inputs": [None]}, "adj_inputs has 1 entry\nexpected: 3, one for each of inputs, or none"),
        ({"adj_outputs": [None, None]}, "adj_outputs has 2 entries\nexpected: 1, one for each of outputs"),
        ({"adj_inputs": plain(1)}, "adj_inputs is array\nexpected: a list"),
        (
            {"adj_inputs": [None, plain(1, 2, 3), None]},
            "argument 'x' of kernel 'saxpy' has shape (3,) and dtype float32\nexpected: shape (2,) and dtype float32",
        ),
        (
            {"adj_inputs": [None, wp.zeros(2, dtype=wp.float64), None]},
            "has shape (2,) and dtype float64\nexpected: shape (2,) and dtype float32",
        ),
        ({"adj_inputs": [plain(1, 2), None, None]}, "argument 'a' of kernel 'saxpy' has shape (2,)"),
        ({"adj_inputs": ["1", None, None]}, "'a' of kernel 'saxpy' is str\nexpected: an array of one float32"),
        ({"adj_inputs": [None, 0.0, None]}, "argument 'x' of kernel 'saxpy' is float\nexpected: an array"),
        ({"adj_inputs": [None, [1.0, 2.0], None]}, "argument 'x' of kernel 'saxpy' is list\nexpected: an array"),
    ],
)
def test_gradients_that_do_not_fit(options, text):
    with pytest.raises(GradientError) as error:
        launch(**options)
    assert text in str(error.value)


def test_a_gradient_for_what_has_none():
    @wp.kernel
    def pick(k: int, x: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[0] = x[k]

    with pytest.raises(GradientError, match=r"argument 'k' of kernel '.*pick', which is int32\nexpected: None"):
        wp.launch(
            pick,
            1,
            inputs=[1, plain(1, 2)],
            outputs=[plain(0)],
            adjoint=True,
            adj_inputs=[wp.zeros(1, dtype=int), None],
        )


@wp.struct
class Scales:
    by: float
    times: int


@pytest.mark.parametrize(
    ("count", "factor", "axis", "scales"),
    [(0, 0.0, wp.vec3(), Scales()), (5, np.float32(2), (0.0, 0.0, 0.0), None), (True, 1, None, Scales(by=3.0))],
)
def test_values_in_the_place_of_gradients_of_values(count, factor, axis, scales):
    @wp.kernel
    def scaled(n: int, k: float, v: wp.vec3, s: Scales, x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = float(n) * k * v[1] * s.by * x[i]

    dx = plain(0, 0)
    wp.launch(
        scaled,
        2,
        inputs=[2, 3.0, wp.vec3(0.0, 5.0, 0.0), Scales(by=7.0), plain(1, 2)],
        outputs=[plain(0, 0)],
        adj_inputs=[count, factor, axis, scales, dx],
        adj_outputs=[plain(1, 10)],
        adjoint=True,
    )
    assert dx.numpy().tolist() == [210.0, 2100.0]


@pytest.mark.parametrize("grad", [2.5, 2**40, (1, 2)])
def test_values_that_the_parameter_does_not_take_are_no_place_holders(grad):
    @wp.kernel
    def pick(k: int, x: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[0] = x[k]

    with pytest.raises(GradientError, match="argument 'k'"):
        wp.launch(pick, 1, inputs=[1, plain(1, 2), plain(0)], adj_inputs=[grad, None, None], adjoint=True)


def test_a_kernel_that_overwrites_what_it_needs_wants_a_tape():
    @wp.kernel
    def square(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * x[i]

    with pytest.raises(GradientError) as error:
        wp.launch(square, 2, inputs=[leaf(1, 2)], adjoint=True)
    assert "needs array 'x' as it was before the launch, which overwrites it" in str(error.value)
    assert "help: launch it inside `with wp.Tape() as tape:`" in str(error.value)


def test_a_kernel_without_backward():
    @wp.kernel(enable_backward=False)
    def fixed(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    with pytest.raises(NotDifferentiableError, match="' has enable_backward=False\nhelp: make it with"):
        wp.launch(fixed, 2, inputs=[leaf(1, 2)], adjoint=True)


# ----- gathered sums ----------------------------------------------------------------------------


def stencil():
    """A kernel with sums at neighbours, a number, and an output that it clears in reverse; nothing of it launched."""

    @wp.kernel
    def bend(k: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        if i > 0 and i < x.shape[0] - 1:
            out[i] = k * x[i - 1] * y[i] + wp.sin(x[i]) - k * x[i + 1] * x[i]

    return bend


@pytest.mark.parametrize("number", [False, True])
@pytest.mark.parametrize("captured", [False, True])
def test_sums_at_neighbours_are_gathered(captured, number):
    numbers = np.random.default_rng(3).random((4, 300), dtype=np.float32)
    gradients = {}
    for way in ("scattered", "gathered"):
        kernel = stencil()
        x, y, out, seed = (wp.array(n) for n in numbers)
        of_k, of_x, of_y = wp.zeros(1, dtype=float), wp.ones(300, dtype=float), wp.zeros(300, dtype=float)
        options = {"adj_inputs": [of_k if number else None, of_x, of_y], "adj_outputs": [seed], "adjoint": True}
        with wp.ScopedCapture() if captured else contextlib.nullcontext() as capture:
            command = wp.launch(kernel, 290, [0.5, x, y], [out], record_cmd=way == "scattered", **options)
            if command:
                command.launch()
        if captured:
            assert of_x.numpy().tolist() == [1.0] * 300
            wp.capture_launch(capture.graph)
        forms = {one.form.phase for one in kernel.launchers.values() if one.form.kind is FormKind.ADJOINT}
        assert forms == ({""} if way == "scattered" else {"gathered", "rest"})
        gradients[way] = [a.numpy() for a in (of_k, of_x, of_y)]
        assert bool((seed.numpy()[1:290] == numbers[3, 1:290]).all()) is (way == "gathered")  # commands take it out
    for scattered, gathered in zip(*gradients.values(), strict=True):
        np.testing.assert_allclose(gathered, scattered, rtol=1e-5, atol=1e-6)
    assert bool(gradients["gathered"][0]) is number


def test_gradients_that_share_memory_are_scattered():
    kernel, shared = stencil(), wp.zeros(9, dtype=float)
    x, y, out, seed = (wp.ones(9, dtype=float) for _ in range(4))
    wp.launch(kernel, 9, [0.5, x, y], [out], adj_inputs=[None, shared, shared], adj_outputs=[seed], adjoint=True)
    assert {one.form.phase for one in kernel.launchers.values()} == {""}
    np.testing.assert_allclose(shared.numpy()[2:7], [np.cos(1.0)] * 5, rtol=1e-6)  # the products cancel


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_gradients_of_outputs_stay_and_count_again(device):
    with wp.ScopedDevice(device):
        x, y, out = plain(1, 2), plain(3, 4), plain(0, 0)
        dx, base = plain(0, 0), plain(10, 7, 1, 7)
        for dout in (plain(10, 1), base[::2]):  # of the strides of the array, and of others
            for _ in range(2):
                wp.launch(
                    saxpy,
                    2,
                    inputs=[2.0, x, y],
                    outputs=[out],
                    adjoint=True,
                    adj_inputs=[None, dx, None],
                    adj_outputs=[dout],
                )
    assert base.numpy().tolist() == [10.0, 7.0, 1.0, 7.0]
    assert dx.numpy().tolist() == [80.0, 8.0]


@wp.kernel
def write_twice(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 5.0 * x[i]
    out[i] = 3.0 * x[i]


@wp.kernel
def triple_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 3.0 * x[i]


def test_gradients_of_what_is_overwritten_count_once():
    dx, dout, both = plain(0, 0), plain(1, 2), plain(1, 2)
    wp.launch(write_twice, 2, [plain(1, 1)], [plain(0, 0)], adj_inputs=[dx], adj_outputs=[dout], adjoint=True)
    wp.launch(triple_in_place, 2, [plain(1, 1)], adj_inputs=[both], adjoint=True)
    assert (dx.numpy().tolist(), dout.numpy().tolist()) == ([3.0, 6.0], [1.0, 2.0])
    assert both.numpy().tolist() == [3.0, 6.0]


def test_gradients_of_outputs_stay_in_graphs():
    x, out, dx, dout = plain(1, 1), plain(0, 0), plain(0, 0), plain(0, 0)
    with wp.ScopedCapture() as capture:
        wp.launch(write_twice, 2, [x], [out], adj_inputs=[dx], adj_outputs=[dout], adjoint=True)
    for numbers in ([1.0, 2.0], [3.0, 4.0]):
        dout.assign(numbers)
        wp.capture_launch(capture.graph)
        assert dout.numpy().tolist() == numbers
    assert dx.numpy().tolist() == [12.0, 18.0]
