"""Types of arrays in annotations: every spelling of one type is one type, and `None` may stand beside it."""

import pickle

import pytest

import warpsim as wp


def test_spellings_of_one_type_are_one_type():
    assert wp.array2d[float] is wp.array[float, 2] == wp.array2d(dtype=float) == wp.array(dtype=float, ndim=2)
    assert len({wp.array2d[float], wp.array2d(dtype=float), wp.array(dtype=wp.float32, ndim=2)}) == 1
    assert wp.indexedarray3d[int] is wp.indexedarray[int, 3] is wp.indexedarray(dtype=int, ndim=3)
    assert wp.indexedarray[float] is wp.indexedarray1d(dtype=float)
    assert wp.array[float] is not wp.indexedarray[float]


def test_an_annotation_keeps_attributes_of_its_own():
    bodies, joints = (wp.array(dtype=float, ndim=2) for _ in range(2))
    bodies.extents = ("worlds", "bodies")
    assert bodies == joints and not hasattr(joints, "extents")
    back = pickle.loads(pickle.dumps(bodies))
    assert back == bodies and back.extents == bodies.extents

    @wp.kernel
    def total(x: bodies, out: joints):
        out[0, 0] += x[0, 1]

    out = wp.zeros((1, 1), dtype=float)
    wp.launch(total, 1, inputs=[wp.ones((1, 2), dtype=float), out])
    assert out.list() == [1.0]


def test_alternatives_are_sets():
    assert (wp.array[float] | None) == (None | wp.array[wp.float32]) != (wp.array[int] | None)
    assert hash(wp.array[float] | None) == hash(None | wp.array[float])
    assert repr(wp.array[float] | wp.array[int] | None) == "array(float32, ndim=1) | array(int32, ndim=1) | None"
    assert ((wp.array[float] | None) | wp.array[float]) == (wp.array[float] | None)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_an_array_or_none_is_an_array_that_may_be_none(device):
    @wp.struct
    class Inputs:
        weights: wp.array[float] | None

    @wp.kernel
    def count(a: wp.array[float] | None, s: Inputs, out: wp.array[int]):
        if a:
            out[0] = 1
        if s.weights:
            out[0] += 2

    full = wp.zeros(2, device=device)
    for a, b, wanted in ((None, None, 0), (full, None, 1), (None, full, 2), (full, full, 3)):
        out = wp.zeros(1, dtype=int, device=device)
        wp.launch(count, 1, inputs=[a, Inputs(weights=b), out], device=device)
        assert out.list() == [wanted]


def test_functions_take_arrays_on_the_stack_by_shape():
    @wp.func
    def fill(a: wp.fixedarray(dtype=float, shape=4), by: float):
        for i in range(4):
            a[i] = by * float(i)

    @wp.func
    def last(a: wp.fixedarray(dtype=float)):
        return a[a.shape[0] - 1]

    @wp.kernel
    def run(out: wp.array[float]):
        a = wp.zeros(shape=4, dtype=float)
        fill(a, 0.5)
        out[0] = last(a)

    @wp.kernel
    def wrong(out: wp.array[float]):
        fill(out, 1.0)

    out = wp.zeros(1)
    wp.launch(run, 1, inputs=[out])
    assert out.list() == [1.5]
    with pytest.raises(TypeError, match="fill: no overload"):
        wp.launch(wrong, 1, inputs=[out])
