"""`map`: what it accepts, what it gives back, which kernels it makes and keeps."""

import importlib
import math
import sys
import types

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentCountError, ArgumentTypeError, ArrayError, DeviceError, KernelError, ReadOnlyError

# The package's `map` is the function; this is the module that it comes from.
map_module = importlib.import_module("warpsim.core.runtime.map")

SCALE = 3.0


def line(n=4, t=float):
    return wp.array(np.arange(n), dtype=t)


@wp.func
def falloff(x: float, n: int) -> float:
    return wp.pow(x, float(n))


@wp.func
def polar(x: float, y: float):
    return wp.sqrt(x * x + y * y), wp.atan2(y, x)


@wp.func
def twice(x: wp.Float):
    return x + x


@wp.func
def twice(x: wp.Int):  # noqa: F811 - an overload
    return x << 1


@wp.struct
class Ball:
    center: wp.vec3
    radius: float


def clamped(x, low, high):
    """A plain Python function with branches."""
    if x < low:
        return low
    if x > high:
        return high
    return x


# ----- functions --------------------------------------------------------------------------------


def test_built_ins():
    x = line()
    assert np.allclose(wp.map(wp.sin, x).numpy(), np.sin(np.arange(4)), atol=1e-6)
    assert wp.map(wp.add, x, x).numpy().tolist() == [0.0, 2.0, 4.0, 6.0]
    assert wp.map(abs, wp.array([-1, 2], dtype=int)).numpy().tolist() == [1, 2]
    assert wp.map(max, x, 1.5).numpy().tolist() == [1.5, 1.5, 2.0, 3.0]
    assert np.allclose(wp.map(math.exp, x).numpy(), np.exp(np.arange(4)), rtol=1e-6)
    condition = wp.array([True, False, True, False])
    assert wp.map(wp.where, condition, x, -1.0).numpy().tolist() == [0.0, -1.0, 2.0, -1.0]


def test_library_functions_and_types():
    move = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    points = wp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=wp.vec3)
    assert wp.map(wp.transform_point, move, points).list() == [wp.vec3(2, 2, 3), wp.vec3(1, 3, 3)]
    built = wp.map(wp.vec3, line(), 1.0, line())
    assert built.dtype is wp.vec3
    assert built[2] == wp.vec3(2, 1, 2)
    assert wp.map(float, line(3, int)).dtype is wp.float32
    assert wp.map(wp.float64, line()).dtype is wp.float64


def test_functions_of_users():
    assert wp.map(falloff, line(), 2).numpy().tolist() == [0.0, 1.0, 4.0, 9.0]
    assert wp.map(twice, line()).numpy().tolist() == [0.0, 2.0, 4.0, 6.0]
    assert wp.map(twice, line(3, wp.int64)).dtype is wp.int64
    assert wp.map(clamped, line(), 1.0, 2.0).numpy().tolist() == [1.0, 1.0, 2.0, 2.0]
    assert wp.map(lambda x: SCALE * x, line()).numpy().tolist() == [0.0, 3.0, 6.0, 9.0]
    assert wp.map(lambda x: 1, line()).dtype is wp.int32
    assert wp.map(lambda x: x > 1.5, line()).numpy().tolist() == [False, False, True, True]


def test_several_results():
    radius, angle = wp.map(polar, wp.array([3.0, 0.0], dtype=float), wp.array([4.0, 2.0], dtype=float))
    assert radius.numpy().tolist() == [5.0, 2.0]
    assert np.allclose(angle.numpy(), [np.arctan2(4, 3), np.pi / 2])
    found = wp.map(lambda x: (x, wp.vec2(x, x), x > 1.0), line(2))
    assert [a.dtype for a in found] == [wp.float32, wp.vec2, wp.bool]


def test_structs_in_and_out():
    def grow(b, amount):
        b.radius += amount
        return b

    balls = wp.array([Ball(center=wp.vec3(1, 0, 0), radius=1.0), Ball(radius=2.0)])
    grown = wp.map(grow, balls, 0.5)
    assert grown.list() == [Ball(center=wp.vec3(1, 0, 0), radius=1.5), Ball(radius=2.5)]
    point = wp.array([[2.0, 0.0, 0.0]], dtype=wp.vec3)
    reach = wp.map(lambda b, p: wp.length(p - b.center) - b.radius, Ball(radius=1.0), point)
    assert reach.numpy().tolist() == [1.0]


# ----- inputs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [wp.float16, wp.float32, wp.float64, wp.int8, wp.uint64])
def test_python_numbers_take_the_type_of_the_arrays(t):
    found = wp.map(lambda x, s: x * s + s, line(3, t), 2)
    assert (found.dtype, found.numpy().tolist()) == (t, [2, 4, 6])


def test_numbers_of_another_type_than_the_arrays():
    assert wp.map(lambda x, k: x[k], wp.array([[5.0, 6.0]], dtype=wp.vec2d), 1).numpy().tolist() == [6.0]
    assert wp.map(lambda n, s: float(n) * s, line(3, int), 0.5).numpy().tolist() == [0.0, 0.5, 1.0]
    assert wp.map(lambda x, s: x * s, line(3, wp.float64), np.float64(0.1)).numpy()[2] == 0.2
    assert wp.map(lambda x, n: n, line(2, wp.uint8), 300).dtype is wp.int32
    assert wp.map(lambda x, n: n, line(2), 2**40).numpy().tolist() == [2.0**40] * 2
    assert wp.map(lambda x, on: wp.where(on, x, -x), line(2), True).numpy().tolist() == [0.0, 1.0]
    with pytest.raises(KernelError, match="float32, float64"):
        wp.map(lambda x, s: x * s, line(), np.float64(2.0))


@pytest.mark.parametrize(
    "shapes",
    [
        [(3,), (3,)],
        [(3, 1), (4,)],
        [(3, 1, 4), (5, 4)],
        [(1,), (2, 3)],
        [(2, 1, 1, 3), (4, 5, 1)],
        [(1, 1), (1, 1)],
        [(0,), (1,)],
        [(2, 0), (1, 1)],
        [(4,), (1, 4), (3, 1)],
    ],
)
def test_shapes_broadcast_as_in_numpy(shapes):
    rng = np.random.default_rng(1)
    data = [rng.integers(0, 9, shape).astype(np.float32) for shape in shapes]
    add = {2: lambda a, b: a + b, 3: lambda a, b, c: a + b + c}[len(data)]
    found = wp.map(add, *[wp.array(d) for d in data])
    expected = sum(data[1:], data[0])
    assert found.shape == expected.shape
    assert np.array_equal(found.numpy(), expected)


def test_memory_of_every_kind():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    negated = lambda v: -v  # noqa: E731 - the same lambda for all
    for source in (wp.array(x)[:, ::2], wp.array(x).transpose(), wp.array(x)[[3, 1], [0, 5]], x, x.T, x[1:, 2:]):
        expected = source.numpy() if hasattr(source, "numpy") else source
        assert np.array_equal(wp.map(negated, source).numpy(), -expected)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_devices(device):
    found = wp.map(twice, wp.array([1.0, 2.0], dtype=float, device=device))
    assert (str(found.device), found.numpy().tolist()) == (device, [2.0, 4.0])
    assert str(wp.map(twice, line(), device=device).device) == device
    with pytest.raises(DeviceError, match="unknown device"):
        wp.map(twice, line(), device="tpu")


def test_numpy_arrays_go_where_the_others_are():
    x, ones = line(), np.ones(4, np.float32)
    with wp.ScopedDevice("cpu"):
        for inputs in ((x, ones), (ones, x)):
            found = wp.map(wp.add, *inputs)
            assert found.device is x.device and found.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_gradients_are_wanted_where_they_make_sense():
    x = wp.zeros(2, dtype=wp.vec2, requires_grad=True)
    norm, positive, index = wp.map(lambda v: (wp.length(v), v[0] > 0.0, 3), x)
    assert [a.requires_grad for a in (norm, positive, index)] == [True, False, False]
    assert not wp.map(twice, line()).requires_grad


# ----- outputs ----------------------------------------------------------------------------------


def test_given_outputs():
    x = wp.array([-1.0, 0.0, 1.0], dtype=float)
    assert wp.map(wp.clamp, x, -0.5, 0.5, out=x) is x
    assert x.numpy().tolist() == [-0.5, 0.0, 0.5]
    radius, angle = wp.zeros(2, dtype=float), wp.zeros(2, dtype=float)
    found = wp.map(polar, wp.array([3.0, 0.0], dtype=float), 4.0, out=[radius, angle])
    assert (found[0] is radius, found[1] is angle) == (True, True)
    assert radius.numpy().tolist() == [5.0, 4.0]
    strided = wp.zeros(8, dtype=float)
    wp.map(twice, line(), out=strided[::2])
    assert strided.numpy().tolist() == [0, 0, 2, 0, 4, 0, 6, 0]
    wp.map(twice, line(2), out=strided[[7, 1]])
    assert strided.numpy().tolist() == [0, 2, 2, 0, 4, 0, 6, 0]


def test_kernels_can_be_had():
    kernel = wp.map(polar, line(), 1.0, return_kernel=True)
    assert isinstance(kernel, wp.Kernel)
    assert kernel.key == "map_polar"
    outs = [wp.zeros(2, dtype=float), wp.zeros(2, dtype=float)]
    wp.launch(kernel, dim=2, inputs=[wp.array([3.0, 0.0], dtype=float), 4.0], outputs=outs)
    assert outs[0].numpy().tolist() == [5.0, 4.0]


@pytest.mark.cpu(reason="negative strides of NumPy memory are copied away on a GPU")
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: wp.map(wp.sin, 1.0), ArgumentTypeError, "map got no array\nexpected: at least one among the inputs"),
        (lambda: wp.map(wp.sin), ArgumentTypeError, "map got no array"),
        (lambda: wp.map(wp.sin, [1.0]), ArgumentTypeError, "input 0 of map is list\nexpected: an array, number"),
        (lambda: wp.map(wp.add, line(), "x"), ArgumentTypeError, "input 1 of map is str"),
        (lambda: wp.map(wp.sin, line()[::1].numpy()[::-1]), ArrayError, "negative strides"),
        (lambda: wp.map(wp.add, line(3), line(4)), ArrayError, r"shapes \(3,\), \(4,\)\nexpected: from the last dim"),
        (lambda: wp.map(wp.sin, line(), line()), KernelError, r"sin: no overload for \(float32, float32\)"),
        (lambda: wp.map(wp.sin, line(3, int)), KernelError, r"sin: no overload for \(int32\)"),
        (lambda: wp.map(np.sin, line()), KernelError, "NumPy's 'sin' does not run in kernels(.|\n)*help: use wp.sin"),
        (lambda: wp.map(lambda x: x.nothing, line()), KernelError, "nothing"),
        (lambda: wp.map(lambda x: print(x), line()), KernelError, "returns nothing"),
        (lambda: wp.map(lambda x: wp.sin, line()), ArgumentTypeError, "lambda returns something that is no value"),
        (lambda: wp.map(twice, line(), out=np.zeros(4)), ArgumentTypeError, r"out\[0\] of map is ndarray"),
        (lambda: wp.map(twice, line(), out=line(4, int)), ArgumentTypeError, "dtype int32\nexpected: float32, which"),
        (lambda: wp.map(twice, line(), out=line(5)), ArrayError, r"has shape \(5,\)\nexpected: \(4,\), that"),
        (lambda: wp.map(polar, line(), line(), out=line()), ArgumentCountError, "got 1 output array\nexpected: 2"),
    ],
)
def test_what_map_refuses(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_errors_point_into_the_function():
    with pytest.raises(KernelError, match=r"arrays.py:\d+:\d+ in wrong(.|\n)*called from <warpsim.map wrong"):

        def wrong(x):
            return x + "text"

        wp.map(wrong, line())


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_read_only_outputs():
    memory = np.zeros(4, np.float32)
    memory.flags.writeable = False
    with pytest.raises(ReadOnlyError, match="argument 'out0' of kernel 'map_twice' is read-only"):
        wp.map(twice, line(), out=wp.array(memory, copy=False))


# ----- kernels that are kept ----------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch):
    """The kernels that are written during the test."""
    found = []
    original = map_module._write_kernel
    monkeypatch.setattr(map_module, "_kernels", type(map_module._kernels)())
    monkeypatch.setattr(map_module, "_write_kernel", lambda *a: found.append(original(*a)) or found[-1])
    return found


def test_equal_functions_share_a_kernel(made):
    for n in (3, 5):
        for factor in (2.0, 3.0):  # a new lambda each time, and values that are arguments
            assert wp.map(lambda x, s: x * s, line(n), factor).numpy()[2] == 2.0 * factor
    assert len(made) == 1
    wp.map(twice, line())
    wp.map(twice, line(7))
    assert len(made) == 2


def test_what_differs_gets_another_kernel(made):
    """Types, shapes that broadcast otherwise, captured values, and outputs of another kind."""
    for captured in (1.0, 2.0, 1, True):
        assert wp.map(lambda x: x * float(captured), line()).numpy()[3] == 3.0 * float(captured)  # noqa: B023
    assert len(made) == 4
    wp.map(twice, line(4, wp.float64))
    wp.map(twice, wp.array(np.zeros((2, 2)), dtype=float))
    wp.map(twice, line()[[0, 1]])
    assert len(made) == 7
    for shapes in ((3, 1), (1, 3), (3, 3)):
        wp.map(wp.add, line(9)[: shapes[0]], line(9)[: shapes[1]])
    assert len(made) == 10


def test_what_python_functions_take_from_their_module_is_read_at_each_call(made, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SETTINGS", types.SimpleNamespace(k=1.0), raising=False)
    monkeypatch.setattr(sys.modules[__name__], "SHIFT", wp.vec2(0.0, 0.0), raising=False)

    def scaled(x):
        return SETTINGS.k * x + SHIFT[1]  # noqa: F821

    for k, shift in ((1.0, 0.0), (2.0, 0.0), (2.0, 5.0), (2.0, 5.0)):
        SETTINGS.k, SHIFT[1] = k, shift  # noqa: F821
        assert wp.map(scaled, line()).numpy()[3] == 3.0 * k + shift
        assert wp.map(lambda x: SETTINGS.k * x, line()).numpy()[3] == 3.0 * k  # noqa: F821
    assert len(made) == 3 + 2
    for k in (1.0, 2.0):
        SETTINGS.k = k  # noqa: F821
        assert wp.map(lambda x: wp.static(2.0 * SETTINGS.k) * x, line()).numpy()[3] == 6.0 * k  # noqa: F821
    constant = wp.func(scaled)
    assert wp.map(constant, line()).numpy()[3] == 11.0
    SETTINGS.k = 7.0  # noqa: F821
    assert wp.map(constant, line()).numpy()[3] == 11.0  # a function of kernels keeps its own


def test_names_that_are_gone_keep_their_meaning(made):
    module = sys.modules[__name__]
    module.GONE = 2.0

    def scaled(x):
        return wp.static(GONE + 1.0) * x + GONE  # noqa: F821

    assert wp.map(scaled, line()).numpy()[1] == 5.0
    del module.GONE
    assert wp.map(scaled, line()).numpy()[1] == 5.0
    assert len(made) == 1


def test_other_functions_of_that_name_are_called(made, monkeypatch):
    module = sys.modules[__name__]
    for name in ("sin", "cos", "sin"):
        monkeypatch.setattr(module, "chosen", getattr(wp, name), raising=False)
        assert wp.map(lambda x: chosen(x), line()).numpy()[0] == {"sin": 0.0, "cos": 1.0}[name]  # noqa: F821


def test_a_python_function_that_calls_itself_is_refused_by_the_compiler():
    def fact(x):
        return fact(x - 1.0) if x > 1.0 else 1.0

    with pytest.raises(KernelError, match="fact"):
        wp.map(fact, line())


def test_new_overloads_are_followed(made):
    @wp.func
    def shifted(x: float):
        return x + 1.0

    def again(x: float):
        return x + 2.0

    assert wp.map(shifted, line()).numpy()[0] == 1.0
    shifted.add(again)
    assert wp.map(shifted, line()).numpy()[0] == 2.0


def test_redefined_functions_are_followed(made):
    def define(factor):
        scope = {"__name__": __name__}
        text = f"def scaled(x):\n    return {factor} * x\n"
        file = f"<scaled {factor}>"
        map_module.linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), scope)
        return scope["scaled"]

    assert wp.map(define(2.0), line()).numpy()[1] == 2.0
    assert wp.map(define(5.0), line()).numpy()[1] == 5.0


def test_kernels_are_let_go_when_there_are_many(made, monkeypatch):
    monkeypatch.setattr(map_module, "_MOST_KERNELS", 3)
    for factor in range(6):
        wp.map(lambda x: x + float(factor), line(), return_kernel=True)  # noqa: B023
    assert (len(made), len(map_module._kernels)) == (6, 3)


def test_options_of_the_module_apply():
    wp.set_module_options({"verify": True}, __name__)
    try:
        kernel = wp.map(lambda x: x - 1.0, line(), return_kernel=True)
        assert kernel.option("verify") is True
    finally:
        wp.get_module(__name__).options.clear()
        wp.config.touch()
