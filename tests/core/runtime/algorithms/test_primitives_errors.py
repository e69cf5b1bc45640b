"""What `wp.utils` refuses, by the text; and what it does while a graph is captured."""

import numpy as np
import pytest

import warpsim as wp
from warpsim import utils
from warpsim.core.runtime.devices.device import Device
from warpsim.errors import ArgumentTypeError, ArrayError, DeviceError, LaunchError, OutOfBoundsError, ReadOnlyError


@wp.struct
class Pair:
    a: int
    b: int


def f(*shape):
    return wp.zeros(shape or 4, dtype=float)


def i(*shape):
    return wp.zeros(shape or 4, dtype=int)


TYPES = [
    (lambda: utils.array_scan([1, 2], i()), r"in_array is list\nexpected: an array\nhelp: wp.array\(x\) makes one"),
    (lambda: utils.array_scan(i(), np.zeros(4, np.int32)), "out_array is ndarray\nexpected: an array"),
    (lambda: utils.array_scan(i(), f()), "out_array has dtype float32\nexpected: int32"),
    (lambda: utils.array_scan(i(), i()[[0, 1]]), "out_array is an indexedarray\nexpected: an array, whose memory"),
    (lambda: utils.array_scan(wp.zeros(2, dtype=wp.bool), wp.zeros(2, dtype=wp.bool)), "dtype bool\nexpected: numbers"),
    (lambda: utils.array_sum(wp.zeros(2, dtype=Pair)), "values has dtype Pair\nexpected: numbers, or vectors"),
    (lambda: utils.array_sum(f(), out=i(1)), "out has dtype int32\nexpected: float32"),
    (lambda: utils.array_sum(f(), value_count=1.5), "value_count is 1.5\nexpected: an integer"),
    (lambda: utils.array_inner(f(), i()), "b has dtype int32\nexpected: float32"),
    (lambda: utils.radix_sort_pairs(wp.zeros(4, dtype=wp.int16), i(), 2), "keys have dtype int16\nexpected: int32"),
    (lambda: utils.segmented_sort_pairs(i(), i(), 2, f(2)), "segment_start_indices has dtype float32\nexpected: int32"),
    (lambda: utils.segmented_sort_pairs(i(), i(), 2, i(2, 1)), "segment_start_indices has rank 2\nexpected: 1"),
    (lambda: utils.runlength_encode(i(), f(), i()), "run_values has dtype float32\nexpected: int32"),
    (lambda: utils.runlength_encode(i(), i(), f()), "run_lengths has dtype float32\nexpected: int32"),
    (lambda: utils.runlength_encode(i(), i(), i(), run_count=f(1)), "run_count has dtype float32\nexpected: int32"),
    (lambda: utils.array_cast(wp.zeros(2, dtype=Pair), i()), "in_array has dtype Pair\nexpected: scalars, vectors"),
]

SIZES = [
    (lambda: utils.radix_sort_pairs(i(2, 2).transpose(), i(), 2), "reshape needs a contiguous array"),
    (lambda: utils.array_scan(i(), i(5)), "out_array has 5 elements\nexpected: 4, as many as in_array"),
    (lambda: utils.array_sum(f(), value_count=5), "value_count is 5\nexpected: 0 to 4"),
    (lambda: utils.array_sum(f(), value_count=-1), "value_count is -1\nexpected: 0 to 4"),
    (lambda: utils.array_sum(f(), out=f(2)), r"out has shape \(2,\)\nexpected: \(1,\)"),
    (lambda: utils.array_sum(f(2, 3), out=f(3), axis=0), r"out has shape \(3,\)\nexpected: \(1, 3\)"),
    (lambda: utils.array_inner(f(), f(5)), r"b has shape \(5,\)\nexpected: \(4,\), that of a"),
    (lambda: utils.radix_sort_pairs(i(), i(), 3), r"keys has room for 4 elements\nexpected: 2 \* count = 6"),
    (lambda: utils.radix_sort_pairs(i(6), i(), 3), "values has room for 4 elements"),
    (lambda: utils.radix_sort_pairs(i(), i(), -1), "count is -1\nexpected: at least 0"),
    (lambda: utils.radix_sort_pairs(i(), i(), 2, 5, 2), "bits 5 to 2 of 32-bit keys\nexpected: 0 <= begin_bit"),
    (lambda: utils.radix_sort_pairs(i(), i(), 2, end_bit=33), "bits 0 to 33 of 32-bit keys"),
    (lambda: segments([0, 3], [2, 6]), r"segment 1 is \[3, 6\)\nexpected: 0 <= start <= end <= count = 5"),
    (lambda: segments([0, 3], [2, 2]), r"segment 1 is \[3, 2\)"),
    (lambda: segments([-1], [2]), r"segment 0 is \[-1, 2\)"),
    (lambda: segments([2, 0], [4, 3]), "segments 1 and 0 overlap\nexpected: segments that share no element"),
    (lambda: segments([0, 3], [2]), "segment_end_indices has 1 element\nexpected: 2, one per start"),
    (lambda: utils.runlength_encode(i(), i(3), i()), r"run_values has shape \(3,\)\nexpected: one dimension of"),
    (lambda: utils.runlength_encode(i(), i(), i(2, 2)), r"run_lengths has shape \(2, 2\)"),
    (lambda: utils.runlength_encode(i(), i(), i(), run_count=i(0)), "run_count is empty"),
    (lambda: utils.array_cast(i(), f(3)), "out_array has room for 3 elements\nexpected: 4"),
    (lambda: utils.array_cast(i(2, 3), f(3, 2)), r"out_array has shape \(3, 2\)\nexpected: \(2, 3\), that of in_array"),
    (lambda: utils.array_cast(i(2, 3), f(2, 3), count=2), "count= with arrays of more than one dimension"),
]


def segments(starts, ends):
    utils.segmented_sort_pairs(i(10), i(10), 5, wp.array(starts, dtype=int), wp.array(ends, dtype=int))


@pytest.mark.parametrize(("call", "message"), TYPES)
def test_wrong_types_are_refused(call, message):
    with pytest.raises(ArgumentTypeError, match=message):
        call()


@pytest.mark.parametrize(("call", "message"), SIZES)
def test_wrong_sizes_are_refused(call, message):
    with pytest.raises(ArrayError, match=message):
        call()


@pytest.mark.parametrize("axis", [2, -3])
def test_wrong_axes_are_refused(axis):
    for call in (lambda: utils.array_sum(f(2, 3), axis=axis), lambda: utils.array_inner(f(2, 3), f(2, 3), axis=axis)):
        with pytest.raises(OutOfBoundsError, match=f"axis {axis} of an array of rank 2\nexpected: -2 to 1"):
            call()


def test_arrays_on_several_devices_are_refused():
    far, near, wide, number = f(), f(), f(8), wp.zeros(8, dtype=int)
    far.device = Device("cuda:5", "another device")
    far.device.memory_space = "cuda:5"
    calls = {
        "out_array": lambda: utils.array_scan(near, far),
        "out": lambda: utils.array_sum(f(1), out=far[:1]),
        "b": lambda: utils.array_inner(near, far),
        "values": lambda: utils.radix_sort_pairs(number, far, 2),
        "run_values": lambda: utils.runlength_encode(near, far, number),
    }
    for name, call in calls.items():
        text = f"{name} is on cuda:5\nexpected: {near.device}, where [a-z_]+ is\nhelp: "
        with pytest.raises(DeviceError, match=text):
            call()
    with pytest.raises(DeviceError, match=r"(in|out)_array is on"):
        utils.array_cast(far, wide)


@pytest.mark.cpu  # memory that was adopted is read-only; a copy on a device is not
def test_read_only_outputs_are_refused():
    memory = np.zeros(8, np.int32)
    memory.flags.writeable = False
    fixed = wp.array(memory, copy=False)
    calls = (
        lambda: utils.array_scan(i(8), fixed),
        lambda: utils.radix_sort_pairs(i(8), fixed, 2),
        lambda: utils.radix_sort_pairs(fixed, i(8), 2),
        lambda: utils.runlength_encode(i(8), i(8), fixed),
        lambda: utils.array_cast(f(8), fixed),
        lambda: utils.array_sum(i(8), out=wp.array(memory[:1], copy=False)),
    )
    for call in calls:
        with pytest.raises(ReadOnlyError, match="read-only memory\nexpected: a writable array"):
            call()
    assert utils.array_sum(fixed) == 0  # reading is fine


# ----- captured graphs --------------------------------------------------------------------------


def test_everything_is_recorded_and_replayed():
    a, keys, values = i(), i(8), i(8)
    sums, total, inner, cast = i(), i(1), i(1), f()
    runs, lengths, count, rows = i(), i(), i(1), i(1, 2)
    starts = wp.array([0, 2, 4], dtype=int)
    with wp.ScopedCapture() as capture:
        utils.array_scan(a, sums)
        utils.array_sum(a, out=total)
        utils.array_sum(a.reshape((2, 2)), out=rows, axis=0)
        utils.array_inner(a, a, out=inner)
        utils.array_cast(a, cast)
        utils.runlength_encode(a, runs, lengths, run_count=count)
        wp.copy(keys, a, count=4)
        utils.segmented_sort_pairs(keys, values, 4, starts)
        columns = utils.array_sum(a.reshape((2, 2)), axis=1)
    untouched = (sums, total, inner, cast, runs, lengths, count, rows, keys)
    assert not any(x.numpy().any() for x in untouched)
    for data in ([4, 4, 2, 1], [3, 3, 3, 3]):
        a.assign(data)
        values.assign([0, 1, 2, 3, 0, 0, 0, 0])
        wp.capture_launch(capture.graph)
        assert sums.numpy().tolist() == np.cumsum(data).tolist()
        assert total.numpy()[0] == sum(data)
        assert rows.numpy().tolist() == [[data[0] + data[2], data[1] + data[3]]]
        assert columns.numpy().tolist() == [[data[0] + data[1]], [data[2] + data[3]]]
        assert inner.numpy()[0] == sum(x * x for x in data)
        assert cast.numpy().tolist() == data
        assert count.numpy()[0] == len(set(data))
        assert keys.numpy()[:4].tolist() == sorted(data[:2]) + sorted(data[2:])
    with wp.ScopedCapture() as capture:
        utils.radix_sort_pairs(keys, values, 4)
    keys.assign([3, 1, 2, 0, 0, 0, 0, 0])
    values.assign([0, 1, 2, 3, 0, 0, 0, 0])
    wp.capture_launch(capture.graph)
    assert (keys.numpy()[:4].tolist(), values.numpy()[:4].tolist()) == ([0, 1, 2, 3], [3, 1, 2, 0])


def test_segments_are_checked_at_the_replay():
    starts = wp.array([0, 2], dtype=int)
    with wp.ScopedCapture() as capture:
        utils.segmented_sort_pairs(i(), i(), 2, starts)
    wp.capture_launch(capture.graph)
    starts.assign([0, 3])
    with pytest.raises(ArrayError, match=r"segment 0 is \[0, 3\)\nexpected: 0 <= start <= end <= count = 2"):
        wp.capture_launch(capture.graph)


def test_numbers_cannot_be_returned_from_a_capture():
    with wp.ScopedCapture():
        for call in (lambda: utils.array_sum(f()), lambda: utils.array_inner(f(), f())):
            with pytest.raises(LaunchError, match=r"the sum is not known (.|\n)*help: give it an array: out="):
                call()
        with pytest.raises(LaunchError, match=r"the number of runs is not known (.|\n)*run_count="):
            utils.runlength_encode(i(), i(), i())
