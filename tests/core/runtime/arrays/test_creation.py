"""Making arrays, copying between them, importing NumPy's; and the gradients that belong to them."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError


@wp.struct
class Tag:
    number: int


def grid():
    return np.arange(12, dtype=np.float32).reshape(3, 4)


# ----- new arrays -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0, 5, (2, 3), [4], (1, 2, 3, 4), np.int64(3), (0, 2)])
def test_zeros_ones_full_and_empty(shape):
    extents = tuple(np.zeros(shape).shape)
    for dtype in (float, wp.int8, wp.vec3d, wp.mat22):
        assert wp.empty(shape, dtype=dtype).shape == extents
        assert not wp.zeros(shape, dtype=dtype).numpy().any()
        assert (wp.ones(shape, dtype=dtype).numpy() == 1).all()
        made = wp.full(shape, 3, dtype=dtype)
        assert (made.numpy() == 3).all()
        assert (made.shape, made.dtype is wp.dtype_from_numpy(np.float32) or dtype is not float) == (extents, True)


def test_lengths_and_defaults():
    assert (wp.zeros(length=3).shape, wp.zeros(n=3).dtype, wp.zeros().shape) == ((3,), wp.float32, (0,))
    with pytest.raises(TypeError, match="unexpected keyword 'dytpe'\nexpected: shape, dtype, device"):
        wp.zeros(3, dytpe=float)
    for wrong in (-1, (2, -1)):
        with pytest.raises(ArrayError, match="has a negative extent"):
            wp.empty(wrong)


VALUES = [(3, wp.int32), (3.0, wp.float32), (True, wp.bool), (np.float64(2), wp.float64), (np.int16(2), wp.int16)]
VALUES += [(wp.vec3(1, 2, 3), wp.vec3), (wp.quatd(0, 0, 0, 1), wp.quatd), ([1, 2, 3], wp.vec3i), ((1.0, 2), wp.vec2)]
VALUES += [([[1.0, 2.0], [3.0, 4.0]], wp.mat22), (np.zeros(4), wp.vec4d), (Tag(number=5), Tag)]
VALUES += [(np.zeros((2, 3), np.float32), wp.types.matrix((2, 3), float))]


@pytest.mark.parametrize(("value", "dtype"), VALUES)
def test_full_takes_the_type_of_its_value(value, dtype):
    a = wp.full(2, value)
    assert a.dtype is dtype
    assert a[1] == (value if isinstance(value, Tag) else dtype(value) if dtype is not wp.bool else True)


def test_full_of_something_without_type():
    with pytest.raises(ArrayError, match="expected: a number, a vector or a matrix"):
        wp.full(2, np.zeros((1, 2, 3)))


def test_arrays_like_others():
    src = wp.array(grid(), dtype=wp.vec4, requires_grad=True)
    for made, value in ((wp.zeros_like(src), 0), (wp.ones_like(src), 1), (wp.full_like(src, 7), 7)):
        assert (made.shape, made.dtype, made.requires_grad) == (src.shape, wp.vec4, True)
        assert (made.numpy() == value).all()
    assert not wp.zeros_like(src, requires_grad=False).requires_grad
    picked = wp.zeros_like(wp.array(grid())[[0, 1]])
    assert (type(picked), picked.shape) == (wp.array, (2, 4))
    with pytest.raises(ArgumentTypeError, match="src is ndarray\nexpected: an array"):
        wp.zeros_like(grid())


# ----- copies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda a: a, lambda a: a.transpose(), lambda a: a[::2, 1:], lambda a: a[[2, 0]], lambda a: a[3:]]
)
def test_clones_are_contiguous_and_apart(make):
    src = make(wp.array(grid()))
    made = wp.clone(src)
    assert made.is_contiguous
    assert np.array_equal(made.numpy(), src.numpy())
    assert not np.shares_memory(made.numpy(), src.numpy())


def test_clones_and_gradients():
    src = wp.array(grid(), requires_grad=True)
    assert wp.clone(src).requires_grad
    assert not wp.clone(src, requires_grad=False).requires_grad
    assert wp.clone(wp.array(grid()), requires_grad=True).requires_grad


@pytest.mark.cpu(reason="names its devices")
def test_devices_share_host_memory_but_not_arrays():
    a = wp.array(grid())
    assert a.to("cpu") is a
    other = a.to("interp")
    assert str(other.device) == "interp"
    assert np.array_equal(other.numpy(), grid())
    assert other.ptr != a.ptr
    assert str(wp.clone(a, device="interp").device) == "interp"


def test_copy_of_whole_arrays_and_ranges():
    src, dest = wp.array(grid()), wp.zeros((3, 4), dtype=float)
    wp.copy(dest, src)
    assert np.array_equal(dest.numpy(), grid())
    wp.copy(dest, src.transpose().contiguous().transpose())
    dest.zero_()
    wp.copy(dest, src, dest_offset=2, src_offset=5, count=3)
    assert dest.numpy().ravel().tolist() == [0, 0, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0]
    longer = wp.zeros(20, dtype=float)
    wp.copy(longer, src)
    assert longer.numpy()[:13].tolist() == [*range(12), 0]
    line = wp.array(np.arange(6, dtype=np.float32))
    wp.copy(line, line, dest_offset=1, src_offset=0, count=5)  # overlapping
    assert line.numpy().tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((wp.zeros(3, dtype=float), wp.zeros(4, dtype=float)), "copy of 4 elements at 0 leaves the destination of 3"),
        ((wp.zeros(9, dtype=float), wp.zeros(4, dtype=float), 0, 2, 3), "copy of 3 elements at 2 leaves the source"),
        ((wp.zeros(9, dtype=float), wp.zeros(4, dtype=float), -1), "leaves the destination"),
        ((wp.zeros(4, dtype=float), wp.zeros(4, dtype=int)), "copy of int32 to float32\nexpected: equal dtypes"),
        ((wp.zeros((2, 4), dtype=float)[:, ::2], wp.zeros(4, dtype=float)), "a destination that is contiguous"),
    ],
)
def test_copies_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ArrayError, match=message):
        wp.copy(*arguments)


def test_copies_of_ranges_of_lines_whose_elements_lie_apart():
    base = wp.array(grid(), requires_grad=True)
    column, out = base[:, 1], wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(out, column, dest_offset=2, src_offset=1, count=2)
    assert out.list() == [0, 0, 5, 9]
    tape.backward(grads={out: wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)})
    assert base.grad.numpy().tolist() == [[0, 0, 0, 0], [0, 3, 0, 0], [0, 4, 0, 0]]
    wp.copy(base[0, ::2], out, dest_offset=1, src_offset=3, count=1)
    assert base.numpy()[0].tolist() == [0, 1, 9, 3]
    wp.copy(out, base[:, ::2], src_offset=4, count=2)
    assert out.list()[:2] == grid()[2, ::2].tolist()
    wp.copy(out, out[[1, 3]], dest_offset=1, count=2)
    assert out.list()[1:3] == [10, 9]


def test_copy_takes_arrays():
    with pytest.raises(ArgumentTypeError, match=r"src is list\nexpected: an array\nhelp: wp.array"):
        wp.copy(wp.zeros(2, dtype=float), [1.0, 2.0])


# ----- import -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype", "extents"),
    [
        ((5,), wp.float32, (5,)),
        ((5, 3), wp.vec3, (5,)),
        ((5, 7), wp.types.vector(7, float), (5,)),
        ((5, 2, 2), wp.mat22, (5,)),
        ((4, 5, 3, 3), wp.mat33, (4, 5)),
        ((5, 2, 3), wp.types.matrix((2, 3), float), (5,)),
    ],
)
def test_from_numpy_reads_trailing_extents_as_elements(shape, dtype, extents):
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    a = wp.from_numpy(data)
    assert (a.dtype, a.shape) == (dtype, extents)
    assert np.array_equal(a.numpy(), data)
    assert not np.shares_memory(a.numpy(), data)


def test_from_numpy_with_a_type_or_shape():
    assert wp.from_numpy(grid(), dtype=float).shape == (3, 4)
    assert wp.from_numpy(grid(), dtype=wp.vec2).shape == (3, 2)
    assert wp.from_numpy(grid(), shape=(2, 6)).dtype is wp.float32
    assert wp.from_numpy(grid(), dtype=float, requires_grad=True).requires_grad
    with pytest.raises(ArrayError, match=r"data of shape \(1, 5000\) as vectors(.|\n)*dtype=float"):
        wp.from_numpy(np.zeros((1, 5000)))


def test_types_of_numpy_and_back():
    for t in (wp.bool, wp.int8, wp.uint16, wp.int64, wp.float16, wp.float64):
        assert wp.dtype_from_numpy(np.dtype(t)) is t
        assert np.dtype(wp.dtype_to_numpy(t)) == np.dtype(t)
    assert wp.dtype_from_numpy("float32") is wp.float32
    assert wp.dtype_to_numpy(wp.vec3) is np.float32
    assert wp.dtype_to_numpy(float) is np.float32
    assert wp.dtype_to_numpy(Tag) == np.zeros(1, [("number", "i4")]).dtype
    with pytest.raises(ArrayError, match="expected: a scalar, vector"):
        wp.dtype_from_numpy(np.complex64)


# ----- gradients --------------------------------------------------------------------------------


def test_gradients_are_made_and_dropped():
    a = wp.zeros((2, 3), dtype=wp.vec3, requires_grad=True)
    assert (a.grad.shape, a.grad.dtype, a.grad.requires_grad) == ((2, 3), wp.vec3, False)
    assert not a.grad.numpy().any()
    first = a._words
    a.requires_grad = False
    assert a.grad is None
    assert a._words != first
    given = wp.ones((2, 3), dtype=wp.vec3)
    a.grad = given
    assert a.grad is given
    assert wp.array(grid(), grad=wp.zeros((3, 4), dtype=float)).requires_grad


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_gradients_have_the_strides_of_their_array():
    """Kernels reach both with one set of strides."""
    memory = np.zeros((4, 6), np.float32)
    for view in (memory[:, ::2], memory.T, memory[1:, 2:5], np.broadcast_to(memory[0], (3, 6)), memory[:0, ::3]):
        a = wp.array(view, dtype=float, copy=False, requires_grad=True)
        assert a.grad.shape == a.shape
        assert a.grad.strides == a.strides == view.strides
        assert not np.shares_memory(a.grad.numpy(), memory)
        a.grad.fill_(1.0)
        assert (a.grad.numpy() == 1.0).all()


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_views_see_the_gradients():
    a = wp.zeros((3, 4), dtype=wp.vec2, requires_grad=True)
    a.grad.numpy()[...] = np.arange(24).reshape(3, 4, 2)
    for part in (a[1], a[1:, ::2], a.transpose(), a.reshape((4, 3)), a.flatten(), a.view(wp.vec2i)):
        expected = part.grad.numpy()
        assert np.shares_memory(expected, a.grad.numpy())
        assert part.grad.shape == part.shape
        assert np.frombuffer(part._words, np.uint64)[:2].tolist() == [part.ptr, part.grad.ptr]
    assert np.array_equal(a[1:, ::2].grad.numpy(), a.grad.numpy()[1:, ::2])
    assert np.array_equal(a.transpose().grad.numpy(), a.grad.numpy().transpose(1, 0, 2))
    assert a.transpose().contiguous().requires_grad


@pytest.mark.parametrize(
    ("grad", "message"),
    [
        (wp.zeros(3, dtype=float), "expected: shape .* and dtype float32"),
        (wp.zeros((3, 4), dtype=int), "dtype int32\nexpected: shape .* and dtype float32"),
        (wp.zeros((4, 3), dtype=float).transpose(), r"gradient with strides .*\nexpected: .*, those of the array"),
    ],
)
def test_gradients_that_do_not_fit_are_refused(grad, message):
    with pytest.raises(ArrayError, match=message):
        wp.zeros((3, 4), dtype=float).grad = grad


def test_integers_too_far_apart_for_numpy_stay_whole():
    numbers = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
    assert wp.array(numbers, dtype=wp.uint64).list() == numbers
    assert wp.array([[2**63, 1]], dtype=wp.vec2ul).numpy().tolist() == [[2**63, 1]]
    with pytest.raises(ArrayError, match="-1 does not fit uint64"):
        wp.array([-1, 2**64 - 1], dtype=wp.uint64)


@pytest.mark.parametrize("make", [wp.empty, wp.zeros, wp.ones])
def test_the_rank_may_be_said_and_must_be_that_of_the_shape(make):
    assert make((2, 3), dtype=wp.vec3, ndim=2).shape == (2, 3) and make(4, dtype=int, ndim=1).shape == (4,)
    with pytest.raises(wp.errors.ArrayError, match="ndim=3"):
        make((2, 3), dtype=float, ndim=3)
