"""Values are buffers: NumPy, `bytes.join` and C read and write them where they lie."""

import copy
import ctypes
import gc
import pickle
import weakref

import numpy as np
import pytest

import warpsim as wp

BUFFERS = [wp.vec3, wp.vec2i, wp.vec4ub, wp.vec3d, wp.mat22, wp.types.matrix((2, 3), wp.float64), wp.quat, wp.transform]
BUFFERS += [wp.types.vector(2, bool), wp.types.vector(5, wp.int64)]
HALVES = [wp.vec3h, wp.mat22h, wp.types.vector(3, wp.bfloat16)]


def counted(t):
    """A value whose components are 0, 1, 2 ..."""
    return t(*np.arange(t.size).astype(t.dtype))


@pytest.mark.parametrize("t", BUFFERS + HALVES)
def test_numpy_sees_the_value_itself(t):
    value = counted(t)
    view = np.asarray(value)
    assert view.dtype == t.dtype and view.shape == t.shape and np.shares_memory(view, np.asarray(value))
    view[...] = 1
    assert np.all(value.numpy() == 1)
    assert not np.shares_memory(np.array(value), view) and not np.shares_memory(value.numpy(), view)


@pytest.mark.parametrize("t", BUFFERS + HALVES)
def test_values_and_what_is_made_of_them_share_nothing(t):
    value = counted(t)
    again = [t(value), t.wrap(np.asarray(value)), copy.copy(value), copy.deepcopy(value), +value, value[0], value[:1]]
    again += [pickle.loads(pickle.dumps(value))]
    a = wp.array([value, value], dtype=t)
    before = [str(x) for x in (*again, a)]
    np.asarray(value)[...] = 1
    assert [str(x) for x in (*again, a)] == before


@pytest.mark.parametrize("t", BUFFERS)
def test_bytes_of_many_are_joined_in_row_order(t):
    values = [counted(t), t(1), counted(t)]
    joined = np.frombuffer(b"".join(values), t.dtype).reshape(3, *t.shape)
    np.testing.assert_array_equal(joined, [v.numpy() for v in values])
    assert memoryview(values[0]).nbytes == ctypes.sizeof(values[0]) == t.size * np.dtype(t.dtype).itemsize


def test_a_transposed_matrix_lies_in_row_order():
    m = wp.transpose(wp.mat22(1, 2, 3, 4))
    assert bytes(m) == np.float32([1, 3, 2, 4]).tobytes()


def test_c_writes_through_a_pointer():
    value = wp.vec3(1, 2, 3)
    ctypes.memset(ctypes.byref(value), 0, 8)
    assert value == (0, 0, 3)


@pytest.mark.parametrize("t", BUFFERS + HALVES)
def test_a_value_over_memory_of_others(t):
    memory = np.arange(1 + t.size).astype(t.dtype)
    value = t.from_buffer(memory, np.dtype(t.dtype).itemsize)
    packed = t.from_buffer_copy(memory)
    np.testing.assert_array_equal(value.numpy().ravel(), memory[1:])
    memory[:] = 1
    assert np.all(value.numpy() == 1) and packed == counted(t)


@pytest.mark.parametrize("t", BUFFERS)
def test_elements_of_arrays_that_c_types_make_are_values(t):
    first, second = (t * 2).from_buffer_copy(bytes(counted(t)) * 2)
    assert first == second == counted(t)
    np.asarray(first)[...] = 1
    assert first == t.wrap(np.ones(t.shape)) and second == counted(t)
    assert bytes(first + first) == bytes(t.wrap(np.ones(t.shape)) + t.wrap(np.ones(t.shape)))


def test_memory_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="buffer"):
        wp.vec3.from_buffer(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="read-only"):
        wp.vec3.from_buffer(bytes(12))


@pytest.mark.parametrize("t", [wp.vec3, wp.vec3h])
def test_values_go_when_nobody_holds_them(t):
    gc.disable()
    try:
        value = t(1, 2, 3)
        value.note = np.asarray(value).sum()
        gone = weakref.ref(value.numpy())
        ids = weakref.ref(np.asarray(value) if t is wp.vec3 else value.numpy())
        del value
        assert gone() is None and ids() is None
    finally:
        gc.enable()


def test_classes_with_methods_of_their_own_are_buffers():
    class Point(wp.types.matrix((2, 3), float)):
        def corner(self):
            return self[1, 2]

    p = Point(1, 2, 3, 4, 5, 6)
    assert p.corner() == 6.0 and np.asarray(p).tolist() == [[1, 2, 3], [4, 5, 6]] and len(bytes(p)) == 24


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_kernels_keep_the_value_that_a_launch_had(device):
    @wp.kernel(module="unique")
    def put(v: wp.vec3, out: wp.array[wp.vec3]):
        w = v
        w[0] = 9.0
        out[wp.tid()] = w + v

    value, out = wp.vec3(1, 2, 3), wp.zeros(1, dtype=wp.vec3, device=device)
    wp.launch(put, 1, [value, out], device=device)
    assert value == (1, 2, 3) and out.numpy().tolist() == [[10, 4, 6]]
