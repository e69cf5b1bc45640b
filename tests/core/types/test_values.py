"""Host values of compound types are made of numbers, and of nothing that NumPy would take for one."""

import pytest

import warpsim as wp


@pytest.mark.parametrize("make", [wp.vec3, wp.mat22, wp.quat, wp.transform])
@pytest.mark.parametrize("wrong", ["a", None, b"abc", [None, 1.0], {"x": 1.0}])
def test_what_is_no_number_is_refused_by_name(make, wrong):
    with pytest.raises(TypeError, match="expected: numbers, or a sequence of"):
        make(wrong)


@pytest.mark.parametrize("number", [True, 2, 2.5])
def test_one_number_fills_every_component(number):
    assert list(wp.vec3(number)) == [float(number)] * 3
