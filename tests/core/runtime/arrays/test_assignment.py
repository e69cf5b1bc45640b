"""Writing elements from the host: items, fills, assignments, and what they refuse."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError, ReadOnlyError


@wp.struct
class Joint:
    angle: float
    axis: wp.vec3


def grid():
    return np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ((1, 2), 5),
        (0, 7.0),
        (slice(0, 2), -1.0),
        ((slice(None), 3), [1, 2, 3]),
        (2, np.arange(4)),
        (-1, (9, 8, 7, 6)),
        (slice(None), np.float64(2.5)),
        (slice(3, None), 1.0),
        ((slice(0, 3, 2), slice(1, 3)), [[1, 2], [3, 4]]),
    ],
)
def test_items_are_set_as_in_numpy(key, value):
    a, expected = wp.array(grid()), grid()
    a[key] = value
    expected[key] = value
    assert np.array_equal(a.numpy(), expected)


def test_items_of_vectors_matrices_and_structs():
    v = wp.zeros(3, dtype=wp.vec3)
    v[0] = wp.vec3(1, 2, 3)
    v[1:] = [4, 5, 6]
    assert v.list() == [wp.vec3(1, 2, 3), wp.vec3(4, 5, 6), wp.vec3(4, 5, 6)]
    v[2] = 0.5
    assert v[2] == wp.vec3(0.5, 0.5, 0.5)
    m = wp.zeros(2, dtype=wp.mat22)
    m[:] = [wp.mat22(1, 2, 3, 4), wp.mat22(5, 6, 7, 8)]
    assert m[1] == wp.mat22(5, 6, 7, 8)
    s = wp.zeros(3, dtype=Joint)
    s[1:] = Joint(angle=0.5, axis=wp.vec3(0, 1, 0))
    assert s.list() == [Joint(), Joint(angle=0.5, axis=wp.vec3(0, 1, 0)), Joint(angle=0.5, axis=wp.vec3(0, 1, 0))]
    s[0] = s[2]
    assert s[0].angle == 0.5


def test_arrays_and_overlapping_parts_as_values():
    a = wp.array(grid())
    a[0] = a[2]
    assert a.numpy()[0].tolist() == [8.0, 9.0, 10.0, 11.0]
    line = wp.array(np.arange(5.0))
    line[1:] = line[:-1]
    assert line.numpy().tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]
    a[1] = a[0, [3, 2, 1, 0]]
    assert a.numpy()[1].tolist() == [11.0, 10.0, 9.0, 8.0]


def test_fill_and_zero():
    a = wp.zeros(2, dtype=wp.vec3)
    a.fill_(2)
    assert a.list() == [wp.vec3(2, 2, 2)] * 2
    for value in (wp.vec3(1, 2, 3), (1, 2, 3), np.array([1.0, 2.0, 3.0])):
        a.zero_()
        assert not a.numpy().any()
        a.fill_(value)
        assert a.list() == [wp.vec3(1, 2, 3)] * 2
    strided = wp.array(grid())
    strided[:, ::2].fill_(-1.0)
    strided[:, 1].zero_()
    assert strided.numpy()[0].tolist() == [-1.0, 0.0, -1.0, 3.0]
    joints = wp.zeros(2, dtype=Joint)
    joints.fill_(Joint(angle=3.0))
    assert [j.angle for j in joints.list()] == [3.0, 3.0]
    joints.zero_()
    assert joints.list() == [Joint(), Joint()]


def test_assign_from_arrays_numpy_and_lists():
    a = wp.zeros((2, 3), dtype=float)
    numbers = np.arange(1.0, 7.0)
    for source in ([[1, 2, 3], [4, 5, 6]], [1, 2, 3, 4, 5, 6], numbers, wp.array(numbers, dtype=float)):
        a.zero_()
        a.assign(source)
        assert a.numpy().tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    turned = wp.zeros((3, 2), dtype=float).transpose()
    turned.assign(a)
    assert np.array_equal(turned.numpy(), a.numpy())
    v = wp.zeros(2, dtype=wp.vec3)
    v.assign(a.numpy())
    assert v[1] == wp.vec3(4, 5, 6)


def test_integers_keep_their_value_or_are_refused():
    a = wp.zeros(2, dtype=wp.int8)
    a[0] = 127
    a.fill_(-128)
    for change in (lambda: a.fill_(128), lambda: a.__setitem__(0, -129), lambda: a.__setitem__(slice(None), [1, 300])):
        with pytest.raises(ArrayError, match="does not fit int8\nexpected: -128 to 127"):
            change()
    assert a.numpy().tolist() == [-128, -128]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.__setitem__(0, [1, 2]), r"a value of shape \(2,\) does not fit shape \(4,\)"),
        (lambda a: a.__setitem__(slice(0, 2), np.zeros((3, 4))), "does not fit shape"),
        (lambda a: a.__setitem__(0, "x"), "expected: float32"),
        (lambda a: a.__setitem__(0, Joint()), "expected: float32"),
        (lambda a: a.__setitem__(slice(None, None, -1), 0), "negative strides"),
        (lambda a: a.fill_([1, 2, 3, 4]), r"fill value of shape \(4,\)\nexpected: a number or float32"),
        (lambda a: a.assign([1, 2]), r"assign from shape \(2,\) to shape \(3, 4\)"),
        (lambda a: a.assign(wp.zeros((3, 4), dtype=int)), "assign from int32 to float32\nexpected: equal dtypes"),
        (lambda a: wp.zeros(2, dtype=Joint).fill_(1.0), "expected: Joint"),
        (lambda a: wp.zeros(2, dtype=wp.vec3).fill_(wp.vec2(1, 2)), "expected: a number or vec3f"),
    ],
)
def test_values_that_do_not_fit_are_refused(change, message):
    a = wp.array(grid())
    with pytest.raises(ArrayError, match=message):
        change(a)
    assert np.array_equal(a.numpy(), grid())


def test_tables_are_not_set_by_brackets():
    with pytest.raises(TypeError, match=r"help: a\[indices\]\.assign\(values\)"):
        wp.array(grid())[[0, 1]] = 1.0


@pytest.mark.cpu(reason="shares memory with NumPy")
@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.__setitem__(0, 1.0),
        lambda a: a.fill_(1.0),
        lambda a: a.zero_(),
        lambda a: a.assign([0.0] * 12),
        lambda a: a[1:].fill_(1.0),
        lambda a: wp.copy(a, wp.zeros((3, 4), dtype=float)),
        lambda a: wp.utils.array_scan(a, a),
        lambda a: wp.utils.array_cast(wp.zeros((3, 4), dtype=int), a),
    ],
)
def test_read_only_memory_is_not_written(change):
    memory = grid()
    memory.flags.writeable = False
    with pytest.raises(ReadOnlyError, match="read-only memory\nexpected: a writable array\nhelp: make a copy"):
        change(wp.array(memory, copy=False))
    assert np.array_equal(memory, grid())


@pytest.mark.parametrize("misuse", [lambda a: a.assign(None), lambda a: a.reshape(None)], ids=["assign", "reshape"])
def test_none_is_neither_contents_nor_a_shape(misuse):
    with pytest.raises(ArrayError, match="None"):
        misuse(wp.zeros(3, dtype=float))


class Member:
    """A member of an enumeration, as extensions in C++ make them: an integer to Python, but not an `int`."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


def test_what_is_an_integer_to_python_is_a_number():
    one, two = Member(1), Member(2)
    a = wp.array([[one, 5], [two, 6]], dtype=float)
    assert a.numpy().tolist() == [[1.0, 5.0], [2.0, 6.0]]
    b = wp.full(3, two, dtype=int)
    b[0] = one
    assert b.list() == [1, 2, 2]
    b.assign([two, two, 7])
    assert b.list() == [2, 2, 7]
    b.fill_(one)
    assert b.list() == [1, 1, 1]
