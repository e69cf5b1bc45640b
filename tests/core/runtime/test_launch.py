"""Launches: every kind of argument reaches the kernel, every dimension runs, every switch takes effect."""

import math
from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.runtime.launches.launcher import Launcher
from warpsim.errors import (
    ArgumentCountError,
    ArgumentTypeError,
    DeviceError,
    DimensionError,
    LaunchError,
    ReadOnlyError,
    WarpsimError,
)

INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
FLOATS = (wp.float16, wp.float32, wp.float64)
DEVICES = ("cpu", "interp")


def echo(t):
    """A kernel that writes its first argument to every element of the second."""

    @wp.kernel
    def write(x: t, out: wp.array(dtype=t)):
        out[wp.tid()] = x

    return write


def echoed(value, t, device=None):
    """What the kernel saw of `value` as an argument of type `t`."""
    out = wp.zeros(3, dtype=t)
    wp.launch(echo(t), dim=3, inputs=[value], outputs=[out], device=device)
    first, second, third = out.numpy()
    assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    assert np.array_equal(first, third, equal_nan=first.dtype.kind == "f")
    return first


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = factor * x[i]


@wp.kernel
def count(hits: wp.array(dtype=int)):
    wp.atomic_add(hits, 0, 1)


@wp.kernel
def fill(out: wp.array(dtype=Any), value: Any):
    out[wp.tid()] = value


def line(n):
    return wp.array(np.arange(n, dtype=np.float32))


# ----- numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("t", INTEGERS)
def test_integers_at_their_limits(t, device):
    limits = np.iinfo(t)
    for value in (limits.min, 0, 7, limits.max):
        for given in (value, t(value), np.int64(value) if value < 2**63 else np.uint64(value)):
            assert echoed(given, t, device) == value


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("t", INTEGERS)
def test_integers_that_do_not_fit_are_refused(t, device):
    limits = np.iinfo(t)
    for value in (limits.max + 1, limits.min - 1, 2.5, "7", None, [1]):
        with pytest.raises(WarpsimError, match=r"argument 'x' of kernel 'echo.write'[\s\S]*expected: u?int"):
            echoed(value, t, device)


@pytest.mark.parametrize("t", FLOATS)
def test_floats_round_to_the_parameter(t):
    for value in (0.1, -0.0, 3, np.float64(1 / 3), np.float32(0.3), np.int16(-4), math.inf, -math.inf, math.nan):
        found = echoed(value, t)
        assert found.tobytes() == np.asarray(t(value)).tobytes() or (np.isnan(value) and np.isnan(found))


@pytest.mark.parametrize("t", [wp.float16, wp.float32])
def test_floats_too_large_for_the_parameter_are_refused(t):
    with pytest.raises(ArgumentTypeError, match=f"argument 'x'.*1e\\+40[\\s\\S]*expected: {t.__name__}"):
        echoed(1e40, t)


@pytest.mark.parametrize("value", ["1.0", None, [1.0], wp.vec3(), 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ArgumentTypeError, match=r"argument 'x' of kernel 'echo\.write'"):
        echoed(value, wp.float32)


@pytest.mark.parametrize("device", DEVICES)
def test_bools(device):
    for value in (True, False, np.True_, np.False_, 1, 0):
        assert echoed(value, wp.bool, device) == bool(value)


@pytest.mark.parametrize("value", [0.5, "yes", None])
def test_what_is_no_bool_is_refused(value):
    with pytest.raises(ArgumentTypeError, match="expected: bool"):
        echoed(value, wp.bool)


# ----- vectors, matrices, structs -------------------------------------------------------------


@pytest.mark.parametrize("t", [wp.vec3, wp.vec2h, wp.vec4d, wp.vec3i, wp.vec4ub, wp.quat, wp.types.vector(5, wp.int64)])
def test_vectors_from_any_sequence(t):
    numbers = list(range(1, t.size + 1))
    for given in (tuple(numbers), numbers, np.array(numbers), np.array(numbers, t.dtype), t(*numbers)):
        assert list(echoed(given, t)) == numbers


def test_matrices_from_rows_flat_or_host_values():
    rows = np.arange(6.0).reshape(2, 3)
    t = wp.types.matrix((2, 3), wp.float64)
    for given in (rows, rows.tolist(), rows.ravel(), t(*rows.ravel())):
        assert np.array_equal(echoed(given, t), rows)
    pose = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    assert list(echoed(pose, wp.transform)) == [1, 2, 3, 0, 0, 0, 1]


@pytest.mark.parametrize("value", [(1.0, 2.0), [1.0] * 4, 1.0, None, "xyz", wp.vec2()])
def test_vectors_of_wrong_length_are_refused(value):
    with pytest.raises(ArgumentTypeError, match=r"argument 'x'[\s\S]*expected: vec3f"):
        echoed(value, wp.vec3)


@wp.struct
class Material:
    density: wp.float64
    colour: wp.vec3
    opaque: wp.bool


@wp.struct
class Body:
    small: wp.int8
    material: Material
    weights: wp.array(dtype=float)
    frame: wp.mat22d
    grid: wp.array2d(dtype=wp.vec3)


@wp.kernel
def look_into(body: Body, out: wp.array(dtype=wp.float64)):
    material = body.material
    out[0] = wp.float64(body.small)
    out[1] = material.density
    out[2] = wp.float64(material.colour[1])
    out[3] = wp.float64(body.weights[2])
    out[4] = body.frame[1, 0]
    out[5] = wp.float64(body.grid[1, 2].z)
    out[6] = wp.float64(body.grid.shape[1])
    if material.opaque:
        body.weights[0] = -1.0


@pytest.mark.parametrize("device", DEVICES)
def test_nested_structs_with_arrays(device):
    grid = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    body = Body()
    body.small, body.frame = -5, wp.mat22d(1.0, 2.0, 3.0, 4.0)
    body.material.density, body.material.colour, body.material.opaque = 2.5, wp.vec3(7.0, 8.0, 9.0), True
    body.weights, body.grid = line(4), wp.array(grid, dtype=wp.vec3)
    out = wp.zeros(7, dtype=wp.float64)
    wp.launch(look_into, dim=1, inputs=[body, out], device=device)
    assert out.list() == [-5.0, 2.5, 8.0, 2.0, 3.0, 17.0, 3.0]
    assert body.weights.list() == [-1.0, 1.0, 2.0, 3.0]
    body.material.density = 4.0  # by value: the next launch sees the change
    wp.launch(look_into, dim=1, inputs=[body, out], device=device)
    assert out.numpy()[1] == 4.0


def test_struct_of_another_type_is_refused():
    with pytest.raises(ArgumentTypeError, match=r"argument 'body'[\s\S]*expected: Body"):
        wp.launch(look_into, dim=1, inputs=[Material(), wp.zeros(7, dtype=wp.float64)])


# ----- arrays ---------------------------------------------------------------------------------


class Interface:
    """Nothing but `__array_interface__`."""

    def __init__(self, memory):
        self.__array_interface__ = memory.__array_interface__
        self.memory = memory


class Capsule:
    """Nothing but `__dlpack__`."""

    def __init__(self, memory):
        self.memory = memory

    def __dlpack__(self, **options):
        return self.memory.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()


@pytest.mark.cpu(reason="NumPy memory as an argument")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("wrap", [lambda m: m, Interface, Capsule, lambda m: wp.array(m, copy=False)])
def test_foreign_arrays_are_used_in_place(wrap, device):
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    for factor in (2.0, 3.0):  # the second launch takes the fast path
        wp.launch(scale, dim=5, inputs=[wrap(x), factor], outputs=[wrap(y)], device=device)
        assert np.array_equal(y, factor * x)


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_numpy_arrays_of_vectors_and_structs():
    @wp.kernel
    def move(x: wp.array2d(dtype=wp.vec3), m: wp.array(dtype=Material)):
        i, j = wp.tid()
        x[i, j] = x[i, j] + m[i].colour

    x, m = np.ones((2, 3, 3), np.float32), np.zeros(2, Material.numpy_dtype())
    m["colour"] = [[1, 2, 3], [4, 5, 6]]
    wp.launch(move, dim=(2, 3), inputs=[x, m])
    assert np.array_equal(x, 1 + m["colour"][:, None] + np.zeros((2, 3, 3)))


def test_none_is_an_array_without_elements():
    @wp.kernel
    def optional(extra: wp.array2d(dtype=wp.vec3), out: wp.array(dtype=int)):
        out[0] = extra.shape[0] + extra.shape[1]
        if extra.shape[0] > 0:
            out[0] = int(extra[1, 0].y)

    out = wp.ones(1, dtype=int)
    wp.launch(optional, dim=1, inputs=[None, out])
    assert out.list() == [0]
    wp.launch(optional, dim=1, inputs=[wp.full((2, 2), 5.0, dtype=wp.vec3), out])
    assert out.list() == [5]


@pytest.mark.cpu(reason="NumPy memory as an argument")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3), "ndarray of float64"),
        (np.zeros((3, 3), np.float32), r"an array of shape \(3, 3\)"),
        ([1.0, 2.0], "list of float64"),
        (2.0, "float"),
        ("abc", "str"),
        (wp.vec3(), "vec3f"),
        (wp.zeros(3, dtype=int), r"array\(int32, ndim=1\)"),
        (wp.zeros((3, 3), dtype=float), r"array\(float32, ndim=2\)"),
        (wp.zeros(3, dtype=wp.vec3), r"array\(vec3f, ndim=1\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(value, message):
    pattern = rf"argument 'x' of kernel 'scale' is {message}\nexpected: array\(float32"
    with pytest.raises(ArgumentTypeError, match=pattern):
        wp.launch(scale, dim=2, inputs=[value, 1.0, wp.zeros(3, dtype=float)])


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_read_only_memory_is_refused_where_it_is_written():
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    x.flags.writeable = False
    wp.launch(scale, dim=3, inputs=[x, 2.0, y])
    assert list(y) == [2, 2, 2]
    y.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ReadOnlyError, match="argument 'y' of kernel 'scale' is read-only"):
            wp.launch(scale, dim=3, inputs=[x, 2.0, y])
    assert list(y) == [2, 2, 2]


@pytest.mark.cpu(reason="NumPy memory as an argument")
@pytest.mark.parametrize("device", DEVICES)
def test_contiguous_strided_and_indexed_memory_in_turn(device):
    base = np.arange(24, dtype=np.float32)
    for _ in range(2):
        views = [base[:6], base[::4], base.reshape(6, 4)[:, 1], base[2:8]]
        for view in views:
            y = np.full(24, -1, np.float32)
            wp.launch(scale, dim=6, inputs=[view, 2.0, y[::4]], device=device)
            assert np.array_equal(y[::4], 2 * view)
            assert np.all(y.reshape(6, 4)[:, 1:] == -1)


@pytest.mark.parametrize("device", DEVICES)
def test_indexed_arrays(device):
    @wp.kernel
    def double(x: wp.indexedarray(dtype=float), y: wp.indexedarray(dtype=float, ndim=2)):
        i = wp.tid()
        y[i, 1] = 2.0 * x[i]

    x, y = line(10), wp.zeros((4, 4), dtype=float)
    rows, columns = (wp.array(np.array(n, np.int32)) for n in ([3, 0, 2], [2, 1]))
    picked = wp.indexedarray(x, [wp.array(np.array([9, 0, 5], np.int32))])
    wp.launch(double, dim=3, inputs=[picked, wp.indexedarray(y, [rows, columns])], device=device)
    assert np.array_equal(y.numpy()[[3, 0, 2], 1], [18, 0, 10])
    assert y.numpy().sum() == 28
    wp.launch(double, dim=3, inputs=[picked, wp.indexedarray(y, [None, columns])], device=device)
    assert np.array_equal(y.numpy()[:3, 1], [18, 0, 10])


# ----- inputs and outputs, number of arguments ------------------------------------------------


def test_inputs_and_outputs_are_one_list():
    x, y = line(3), wp.zeros(3, dtype=float)
    for inputs, outputs in (([x, 2.0, y], []), ([x, 2.0], [y]), ([], [x, 2.0, y]), ((x,), (2.0, y)), ([x], (2.0, y))):
        y.zero_()
        wp.launch(scale, 3, inputs, outputs)
        assert y.list() == [0, 2, 4]


@pytest.mark.parametrize("arguments", [[], [1.0], [1.0] * 4])
def test_wrong_number_of_arguments(arguments):
    for _ in range(2):
        with pytest.raises(
            ArgumentCountError, match=rf"'scale' got {len(arguments)} arguments?\nexpected: 3: x, factor, y"
        ):
            wp.launch(scale, dim=1, inputs=arguments)
        wp.launch(scale, dim=1, inputs=[line(1), 1.0, line(1)])


def test_what_is_launched_must_be_a_kernel():
    with pytest.raises(LaunchError, match=r"is not a kernel\nhelp: decorate the function with @wp.kernel"):
        wp.launch(lambda: None, dim=1)
    with pytest.raises(TypeError, match="is not called"):
        scale(1)


# ----- dimensions -----------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [6, np.int64(6), np.uint8(6), (6,), [6], np.array([6]), np.array(6), (2, 3), [1, 2, 3]])
def test_kinds_of_dimensions(dim):
    hits = wp.zeros(1, dtype=int)
    wp.launch(count, dim=dim, inputs=[hits])
    assert hits.list() == [6]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dim", [0, (0,), (3, 0), (0, 3), (2**31 - 1, 2**31 - 1, 0, 5)])
def test_no_threads(dim, device):
    hits = wp.zeros(1, dtype=int)
    wp.launch(count, dim=dim, inputs=[hits], device=device)
    assert hits.list() == [0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (2, 1, 3, 2), (1, 1, 1, 1)])
def test_every_thread_runs_once_in_every_rank(shape, device):
    @wp.kernel
    def of1(out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] += i

    @wp.kernel
    def of2(out: wp.array2d(dtype=int)):
        i, j = wp.tid()
        out[i, j] += i * 10 + j

    @wp.kernel
    def of3(out: wp.array3d(dtype=int)):
        i, j, k = wp.tid()
        out[i, j, k] += (i * 10 + j) * 10 + k

    @wp.kernel
    def of4(out: wp.array4d(dtype=int)):
        i, j, k, m = wp.tid()
        out[i, j, k, m] += ((i * 10 + j) * 10 + k) * 10 + m

    out = wp.full(shape, 10**6, dtype=int)
    wp.launch([of1, of2, of3, of4][len(shape) - 1], dim=out.shape, inputs=[out], device=device)
    expected = sum(index * 10**k for k, index in enumerate(reversed(np.indices(shape))))
    assert np.array_equal(out.numpy(), 10**6 + expected)


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        (-1, "launch dimension -1"),
        ((3, -2), "launch dimension -2"),
        ((1,) * 5, "over 5 dimensions\nexpected: 1 to 4"),
        ((), "over 0 dimensions\nexpected: 1 to 4\nhelp: dim=1 runs one thread"),
        ((0, 2**40), "launch dimension 1099511627776"),
        ((2**31 - 1,) * 3, r"expected: fewer than 2\*\*63"),
        (2**31, r"expected: 0 to 2\*\*31 - 1"),
        (2.0, "expected: an integer or up to four integers"),
        ("3", "launch dimensions '3'"),
        ((2, 2.5), "expected: an integer or up to four integers"),
        (None, "launch dimensions None"),
    ],
)
def test_bad_dimensions(dim, message):
    hits = wp.zeros(1, dtype=int)
    for _ in range(2):
        with pytest.raises(DimensionError, match=message):
            wp.launch(count, dim=dim, inputs=[hits])
    assert hits.list() == [0]


# ----- devices and streams --------------------------------------------------------------------


@pytest.mark.cpu(reason="names the CPU and the interpreter")
def test_device_stream_and_options_for_cuda():
    y = wp.zeros(3, dtype=float)
    places = [{"device": "cpu"}, {"device": wp.get_device()}, {"stream": wp.Stream("cpu")}, {"device": "interp"}]
    for k, place in enumerate(places, 1):
        wp.launch(scale, dim=3, inputs=[line(3), float(k), y], **place)
        assert y.list() == [0, k, 2 * k]
    with wp.ScopedDevice("interp"):
        wp.launch(scale, dim=3, inputs=[line(3), 9.0, y], max_blocks=4, block_dim=64, record_tape=False)
    assert y.list() == [0, 9, 18]
    for name in ("cuda:99", "tpu"):
        with pytest.raises(DeviceError, match=f"device '{name}'"):
            wp.launch(scale, dim=3, inputs=[line(3), 1.0, y], device=name)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_launchers_are_made_once_per_kind_of_argument():
    scale.launchers.clear()
    scale.latest.clear()
    for n in (3, 4):
        for memory in (line(n), wp.array(np.arange(2 * n, dtype=np.float32)[::2], copy=False)):
            wp.launch(scale, dim=n, inputs=[memory, 1.0, line(n)])
    assert len(scale.launchers) == 2
    assert all(isinstance(found, Launcher) for found in scale.launchers.values())
    assert config.generation == scale.latest["cpu"].generation
