"""Attributes that stay, arrays that may be replaced by their like, numbers that are checked when they are set."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.arrays.fixed import Fixed, read_only
from warpsim.errors import BvhError, FixedAttributeError, MeshError, ReadOnlyError
from warpsim.forks import cached_property


def small(value, name):
    if not 0 <= value < 10:
        raise ValueError(f"{name} is {value}\nexpected: 0 to 9")
    return float(value)


class Thing(Fixed):
    replaceable = ("points", "weights")
    settings = {"rate": small}  # noqa: RUF012
    constant = ("faces",)
    unfit = MeshError

    def __init__(self, weights=None):
        self.points, self.weights = wp.zeros(4, dtype=wp.vec3), weights
        self.faces = wp.array([0, 1, 2], dtype=int)
        self.rate, self.count = 1, 4
        self._hidden = 0

    @cached_property
    def total(self):
        return 5

    def grow(self):
        self._put(count=self.count + 1)


def test_an_array_may_be_replaced_by_its_like():
    thing = Thing()
    thing.points = wp.ones(4, dtype=wp.vec3)
    thing.check_replaced("thing")
    assert thing.points.numpy().all()


OTHERS = [None, 3, np.zeros((4, 3), np.float32), wp.zeros(3, dtype=wp.vec3), wp.zeros(4, dtype=wp.vec3d)]
OTHERS += [wp.zeros((4, 1), dtype=wp.vec3), wp.zeros(4, dtype=wp.vec3, device="interp")]


@pytest.mark.parametrize("other", OTHERS)
def test_any_other_one_is_refused_where_it_is_used(other):
    thing = Thing()
    before = thing.points
    thing.points = other
    with pytest.raises(MeshError, match=r"thing\.points is .*\nexpected: vec3f of shape \(4,\) on "):
        thing.check_replaced("thing")
    thing.points = before
    thing.check_replaced("thing")


def test_what_was_none_stays_none():
    thing = Thing()
    thing.weights = wp.zeros(4)
    with pytest.raises(MeshError, match="weights"):
        thing.check_replaced("thing")
    thing.weights = None
    thing.check_replaced("thing")


@pytest.mark.parametrize(
    ("name", "value"), [("count", 5), ("faces", wp.zeros(3, dtype=int)), ("total", 1), ("grow", 1)]
)
def test_all_else_stays(name, value):
    thing = Thing()
    with pytest.raises(FixedAttributeError, match=f"Thing.{name} is fixed\nhelp: "):
        setattr(thing, name, value)
    with pytest.raises(AttributeError, match="cannot be deleted"):
        delattr(thing, name)


def test_an_object_changes_what_is_its_own():
    thing = Thing()
    thing.grow()
    thing._hidden = 3
    assert thing.count == 5 and thing._hidden == 3


def test_numbers_are_checked_when_they_are_set():
    thing = Thing()
    thing.rate = 3
    assert thing.rate == 3.0
    with pytest.raises(ValueError, match="rate is 11"):
        thing.rate = 11
    assert thing.rate == 3.0


def test_indices_are_read_only():
    thing = Thing()
    for write in (lambda: thing.faces.fill_(9), lambda: thing.faces.assign([7, 7, 7]), lambda: thing.faces[:2].zero_()):
        with pytest.raises(ReadOnlyError):
            write()
    with pytest.raises(ValueError, match="read-only"):
        thing.faces.numpy()[0] = 9
    assert thing.faces.numpy().tolist() == [0, 1, 2]


@wp.kernel
def gather(faces: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[faces[i]]


@wp.kernel
def spoil(faces: wp.array(dtype=int)):
    faces[wp.tid()] = 1 << 30


def test_kernels_read_them_and_do_not_write_to_them():
    faces, x, out = read_only(wp.array([2, 0, 1], dtype=int)), wp.array([1.0, 2.0, 3.0], dtype=float), wp.zeros(3)
    wp.launch(gather, 3, [faces, x], [out])
    assert out.numpy().tolist() == [3.0, 1.0, 2.0]
    with pytest.raises(ReadOnlyError):
        wp.launch(spoil, 3, [faces])


@pytest.mark.parametrize(
    "change",
    [
        lambda b: setattr(b, "uppers", None),
        lambda b: setattr(b, "lowers", wp.zeros(1, dtype=wp.vec3)),
        lambda b: setattr(b, "groups", wp.zeros(3, dtype=int)),
    ],
)
@pytest.mark.parametrize("use", ["refit", "rebuild"])
def test_structures_look_at_what_was_replaced(change, use):
    boxes = wp.zeros(5, dtype=wp.vec3)
    bvh = wp.Bvh(boxes, boxes)
    change(bvh)
    with pytest.raises(BvhError, match="expected"):
        getattr(bvh, use)()
