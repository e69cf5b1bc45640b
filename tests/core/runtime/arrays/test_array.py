"""Arrays on the host: how they are made, what they share with NumPy, and the views of their memory."""

import gc

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.devices.device import ALIGNMENT
from warpsim.errors import ArrayError, DeviceError

SCALARS = (wp.bool, wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float16)
SCALARS += (wp.float32, wp.float64)


@wp.struct
class Particle:
    mass: float
    position: wp.vec3
    cell: wp.int64


def grid():
    return np.arange(12, dtype=np.float32).reshape(3, 4)


# ----- construction -----------------------------------------------------------------------------


@pytest.mark.parametrize("t", SCALARS)
def test_every_scalar_type_from_lists_and_numpy(t):
    for source in ([0, 1, 1], np.array([0, 1, 1], t), (0, 1, 1)):
        a = wp.array(source, dtype=t)
        assert (a.dtype, a.shape, a.ndim, a.size, len(a)) == (t, (3,), 1, 3, 3)
        assert a.numpy().dtype == np.dtype(t)
        assert a.numpy().tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1, 2], wp.int64),
        ([1.0, 2.0], wp.float64),
        ([True, False], wp.bool),
        (grid(), wp.float32),
        ([wp.vec3(1, 2, 3)], wp.vec3),
        ([[wp.vec2d(1, 2)], [wp.vec2d(3, 4)]], wp.vec2d),
        ([Particle()], Particle),
    ],
)
def test_the_data_gives_the_type_when_none_is_asked_for(data, dtype):
    assert wp.array(data).dtype is dtype


def test_nested_lists_of_vectors_keep_their_shape():
    a = wp.array([[wp.vec2(1, 2), wp.vec2(3, 4)], [wp.vec2(5, 6), wp.vec2(7, 8)]])
    assert a.shape == (2, 2)
    assert a[1, 0] == wp.vec2(5, 6)


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (np.arange(6.0), wp.vec3, (2,)),
        ([1, 2, 3, 4, 5, 6], wp.vec3, (2,)),
        ([1, 2, 3], wp.vec3, (1,)),
        (np.zeros((2, 6)), wp.vec3, (2, 2)),
        (np.zeros((2, 4)), wp.mat22, (2,)),
        (np.zeros((5, 2, 2)), wp.mat22, (5,)),
        (np.zeros((2, 7)), wp.transform, (2,)),
        (np.zeros((3, 4)), wp.quat, (3,)),
        ([], wp.vec3, (0,)),
        (np.zeros((2, 0)), float, (2, 0)),
    ],
)
def test_components_are_grouped_into_elements(data, dtype, shape):
    a = wp.array(data, dtype=dtype)
    assert a.shape == shape
    assert np.array_equal(a.numpy().ravel(), np.ravel(data))


def test_extents_given_as_shape_length_and_rank():
    assert wp.array(grid(), dtype=float, shape=(2, 6)).shape == (2, 6)
    assert wp.array(grid(), dtype=float, shape=(2, -1, 3)).shape == (2, 2, 3)
    assert wp.array(grid(), dtype=wp.vec2, shape=6).shape == (6,)
    assert wp.array(shape=(2, 3), dtype=wp.vec3).numpy().tolist() == [[[0.0] * 3] * 3] * 2
    assert wp.array(length=4, dtype=int).shape == (4,)
    assert wp.array(grid(), dtype=float, ndim=2).ndim == 2
    assert wp.array2d(grid(), dtype=float).shape == (3, 4)


def test_the_name_is_a_type_in_annotations():
    assert wp.array(dtype=float) == wp.array[float] is wp.array1d[float]
    assert wp.array(dtype=wp.vec3, ndim=2) == wp.array2d(dtype=wp.vec3) == wp.array2d[wp.vec3]
    assert repr(wp.array(dtype=wp.vec3, ndim=3)) == "array(vec3f, ndim=3)"
    assert repr(wp.indexedarray(dtype=float)) == "indexedarray(float32, ndim=1)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: wp.array([[1, 2], [3]], dtype=int), "the list is ragged"),
        (lambda: wp.array([object()], dtype=int), "holds something that is not a number"),
        (lambda: wp.array(["a"], dtype=int), "expected: numbers"),
        (lambda: wp.array(object(), dtype=int), "data of type object is not numeric"),
        (lambda: wp.array(float), r"data is the type float\n.*\nhelp: .* wp\.array\[float\] or"),
        (lambda: wp.array(np.zeros(2, complex)), "expected: a scalar, vector"),
        (lambda: wp.array([1], dtype="nonsense"), "dtype 'nonsense'"),
        (lambda: wp.array([1], dtype=list), "expected: a scalar, vector"),
        (lambda: wp.array(np.zeros(4), dtype=wp.vec3), r"does not hold elements of vec3f\nexpected: trailing extents"),
        (lambda: wp.array(np.zeros((2, 4)), dtype=wp.vec3), "does not hold elements of vec3f"),
        (lambda: wp.array([300], dtype=wp.int8), "300 does not fit int8\nexpected: -128 to 127"),
        (lambda: wp.array([1, -1], dtype=wp.uint16), "-1 does not fit uint16"),
        (lambda: wp.array(grid(), dtype=float, shape=(5, 5)), "12 elements cannot fill shape"),
        (lambda: wp.array(grid(), dtype=float, shape=(-1, -1)), "has a negative extent"),
        (lambda: wp.array(shape=-3, dtype=float), "has a negative extent"),
        (lambda: wp.array(shape=2.5, dtype=float), "expected: an integer or a tuple of integers"),
        (lambda: wp.array(shape=(1,) * 5, dtype=float), "has 5 dimensions\nexpected: 1 to 4"),
        (lambda: wp.array(np.zeros((1,) * 5), dtype=float), "rank 5\nexpected: 1 to 4"),
        (lambda: wp.array(shape=2**31, dtype=wp.uint8), "extent of 2\\*\\*31 or more"),
        (lambda: wp.array(shape=(2**31 - 1,) * 3, dtype=wp.mat44), "more than 2\\*\\*63 bytes"),
        (lambda: wp.array([1.0], dtype=float, strides=(8,)), "describe memory given by ptr="),
        (lambda: wp.array(shape=2, dtype=float, capacity=8), "describe memory given by ptr="),
        (lambda: wp.array([Particle(), 1], dtype=Particle), "element 1 is int\nexpected: Particle"),
        (lambda: wp.array(np.zeros(2, [("m", "f4")]), dtype=Particle), "expected: the layout of struct Particle"),
    ],
)
def test_data_that_makes_no_array_is_refused(make, message):
    with pytest.raises(ArrayError, match=message):
        make()


def test_data_has_a_rank_of_its_own():
    assert wp.array(grid(), dtype=float, ndim=1).shape == grid().shape
    assert wp.array([1.0, 2.0], dtype=float, ndim=3).shape == (2,)
    assert wp.array1d(grid(), dtype=float).ndim == 2


def test_axes_count_from_the_end():
    a = wp.array(np.arange(24.0).reshape(2, 3, 4), dtype=float)
    np.testing.assert_array_equal(a.transpose((-1, 0, -2)).numpy(), a.numpy().transpose(2, 0, 1))
    with pytest.raises(ArrayError, match="axis -4 is out of bounds for array of dimension 3"):
        a.transpose((-4, 0, 1))
    with pytest.raises(ArrayError, match="expected: an order of"):
        a.transpose((0, -3, 1))


def test_unknown_devices_are_refused():
    with pytest.raises(DeviceError, match="unknown device 'tpu'\nexpected: cpu"):
        wp.array([1.0], dtype=float, device="tpu")


# ----- memory -----------------------------------------------------------------------------------


@pytest.mark.cpu(reason="shares memory with NumPy")
@pytest.mark.parametrize("n", [1, 3, 1000])
@pytest.mark.parametrize("dtype", [wp.int8, float, wp.vec3, wp.mat33d, Particle])
def test_fresh_memory_is_aligned(dtype, n):
    arrays = [wp.zeros(n, dtype=dtype), wp.empty(n, dtype=dtype), wp.array(wp.zeros(n, dtype=dtype))]
    arrays.append(wp.zeros(n, dtype=dtype, requires_grad=dtype is not Particle))
    assert all(a.ptr % ALIGNMENT == 0 for a in arrays)
    assert all(a.ptr == a.numpy().ctypes.data for a in arrays)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_data_is_copied_unless_asked_otherwise():
    x = grid()
    copied, shared = wp.array(x), wp.array(x, copy=False)
    x[0, 0] = 7.0
    assert (copied.numpy()[0, 0], shared.numpy()[0, 0]) == (0.0, 7.0)
    assert shared.ptr == x.ctypes.data


@pytest.mark.cpu(reason="shares memory with NumPy")
@pytest.mark.parametrize(
    ("memory", "dtype", "shares"),
    [
        (grid(), float, True),
        (grid()[:, ::2], float, True),
        (np.asfortranarray(grid()), float, True),
        (grid(), wp.vec4, True),
        (grid()[::2], wp.vec4, True),
        (grid().reshape(3, 2, 2), wp.mat22, True),
        (grid().T, wp.vec3, False),
        (np.asfortranarray(grid()), wp.vec4, False),
        (grid().astype(np.float64), float, False),
        (grid().astype(">f4"), float, False),
    ],
)
def test_memory_is_shared_where_it_fits(memory, dtype, shares):
    """Components of an element must be neighbours; what does not fit is copied."""
    a = wp.array(memory, dtype=dtype, copy=False)
    assert np.shares_memory(a.numpy(), memory) is shares
    assert np.array_equal(a.numpy(), memory)
    assert a.strides == (memory.strides[: a.ndim] if shares else a.strides)


def test_misaligned_memory_is_copied():
    packed = np.frombuffer(bytearray(9), np.float32, count=2, offset=1)
    assert not np.shares_memory(wp.array(packed, dtype=float, copy=False).numpy(), packed)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_negative_strides_are_refused():
    assert wp.array(grid()[::-1]).numpy()[0, 0] == 8.0  # a copy is fine
    with pytest.raises(ArrayError, match=r"negative strides\nhelp: copy the data first: np.ascontiguousarray"):
        wp.array(grid()[::-1], copy=False)
    with pytest.raises(ArrayError, match=r"negative strides\nhelp: copy the data first"):
        wp.array(grid())[::-1]


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_numpy_sees_the_memory():
    a = wp.zeros((2, 3), dtype=wp.vec2)
    assert a.numpy().shape == (2, 3, 2)
    a.numpy()[1, 2] = (5.0, 6.0)
    assert a[1, 2] == wp.vec2(5, 6)
    assert np.shares_memory(np.asarray(a), a.numpy())
    assert np.array(a, dtype=np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(a, copy=True), a.numpy())


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_numpy_conversion_of_another_dtype():
    a = wp.array(grid())
    assert a.__array__(np.float64).dtype == np.float64
    assert np.shares_memory(a.__array__(copy=False), a.numpy())
    assert not np.shares_memory(a.__array__(copy=True), a.numpy())
    with pytest.raises(ValueError, match=r"array\(shape=\(3, 4\), .*\) as float64 needs a copy"):
        a.__array__(np.float64, copy=False)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_arrays_of_structs_as_numpy():
    a = wp.array([Particle(mass=1.0, position=wp.vec3(1, 2, 3), cell=7), Particle(mass=2.0)])
    assert a.numpy().dtype == wp.dtype_to_numpy(Particle) == np.asarray(a).dtype
    assert np.shares_memory(np.asarray(a), a.numpy())
    assert a.numpy()["mass"].tolist() == [1.0, 2.0]
    a.numpy()["position"][1] = (4.0, 5.0, 6.0)
    assert a[1] == Particle(mass=2.0, position=wp.vec3(4, 5, 6))
    assert wp.array(a.numpy(), dtype=Particle, copy=False).ptr == a.ptr
    packed = np.zeros(2, [("cell", "i8"), ("mass", "f8"), ("position", "f4", 3)])  # another order, no padding
    packed["cell"], packed["mass"] = [3, 4], [0.5, 1.5]
    assert wp.array(packed, dtype=Particle).list() == [Particle(cell=3, mass=0.5), Particle(cell=4, mass=1.5)]
    assert not hasattr(a, "__array_interface__")
    with pytest.raises(BufferError):
        np.from_dlpack(a)


class Interface:
    def __init__(self, a):
        self.__array_interface__ = a.__array_interface__


class OnBoth(Interface):
    """What describes memory of the host to devices as well, such as memory that both reach."""

    def __init__(self, a):
        super().__init__(a)
        self.__cuda_array_interface__ = self.__array_interface__


class Capsule:
    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **options):
        return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


@pytest.mark.cpu(reason="shares memory with NumPy")
@pytest.mark.parametrize("wrap", [Interface, OnBoth, Capsule])
def test_protocols_both_ways(wrap):
    x = grid()
    shared = wp.array(wrap(x), dtype=wp.vec4, copy=False)
    assert (shared.ptr, shared.shape, shared.dtype) == (x.ctypes.data, (3,), wp.vec4)
    assert wp.array(wrap(x)).ptr != x.ctypes.data
    exported = wrap(wp.array(x, copy=False))
    again = np.from_dlpack(exported) if wrap is Capsule else np.asarray(exported)
    assert np.shares_memory(again, x)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_dlpack():
    a = wp.array(grid(), dtype=wp.vec4)
    assert a.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.from_dlpack(a), a.numpy())
    back = wp.from_dlpack(a, dtype=wp.vec2)
    assert (back.ptr, back.shape) == (a.ptr, (3, 2))
    assert wp.from_dlpack(np.arange(3)).dtype is wp.int64
    with pytest.raises(ArrayError, match=r"cannot be shared as vec3d: float32 memory of shape"):
        wp.from_dlpack(np.zeros((2, 3), np.float32), dtype=wp.vec3d)
    with pytest.raises(DeviceError, match="memory of int cannot be shared"):
        wp.from_dlpack(3)


@pytest.mark.cpu(reason="shares memory of the host")
def test_torch_shares_memory():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    a = wp.array(tensor, dtype=wp.vec3, copy=False)
    assert a.ptr == tensor.data_ptr()
    assert torch.from_dlpack(a).data_ptr() == a.ptr


# ----- foreign addresses ------------------------------------------------------------------------


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_memory_at_an_address():
    x = grid()
    a = wp.array(ptr=x.ctypes.data, dtype=wp.vec2, shape=(3, 2), capacity=48)
    assert (a.ptr, a.strides) == (x.ctypes.data, (16, 8))
    a.numpy()[0, 0] = (8.0, 9.0)
    assert x[0, :2].tolist() == [8.0, 9.0]
    column = wp.array(ptr=x.ctypes.data + 4, dtype=float, shape=3, strides=(16,))
    assert column.numpy().tolist() == x[:, 1].tolist()
    assert not column.is_contiguous
    assert wp.from_ptr(x.ctypes.data, 12).numpy().tolist() == x.ravel().tolist()
    structs = np.zeros(2, wp.dtype_to_numpy(Particle))
    wp.array(ptr=structs.ctypes.data, dtype=Particle, shape=2)[1] = Particle(mass=3.0)
    assert structs["mass"].tolist() == [0.0, 3.0]


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_the_deleter_runs_when_the_last_view_is_gone():
    x, freed = grid(), []
    a = wp.array(ptr=x.ctypes.data, dtype=float, shape=12, deleter=lambda ptr, size: freed.append((ptr, size)))
    view = a[2:].numpy()
    del a
    gc.collect()
    assert freed == []
    del view
    gc.collect()
    assert freed == [(x.ctypes.data, 48)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": 3}, "needs dtype= and shape="),
        ({"dtype": float}, "needs dtype= and shape="),
        ({"dtype": float, "shape": 12, "capacity": 47}, "spans 48 bytes, capacity is 47"),
        ({"dtype": float, "shape": 3, "strides": (-4,)}, "negative strides"),
        ({"dtype": float, "shape": (3, 4), "strides": (4,)}, "one stride per dimension"),
        ({"dtype": float, "shape": (3, -1)}, "negative extent"),
    ],
)
def test_addresses_without_a_usable_layout_are_refused(options, message):
    x = grid()
    with pytest.raises(ArrayError, match=message):
        wp.array(ptr=x.ctypes.data, **options)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_misaligned_addresses_are_refused():
    x = grid()
    with pytest.raises(ArrayError, match=r"memory at 0x[0-9a-f]+ does not fit the alignment of float32"):
        wp.array(ptr=x.ctypes.data + 1, dtype=float, shape=2)
