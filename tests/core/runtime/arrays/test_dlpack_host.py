"""Memory of the host through DLPack: capsules given and taken, for every element type, without copies."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError

pytestmark = pytest.mark.cpu
TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16"]
TYPES += ["float32", "float64"]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 1, 4)])
def test_a_capsule_gives_the_same_memory_back(name, shape):
    dtype = getattr(wp, name)
    source = wp.array(np.random.default_rng(0).integers(0, 2, shape), dtype=dtype, device="cpu")
    other = wp.from_dlpack(wp.to_dlpack(source))
    assert (other.ptr, other.dtype, other.shape, other.strides) == (source.ptr, dtype, shape, source.strides)
    source.fill_(1)
    assert np.array_equal(other.numpy(), source.numpy())


@pytest.mark.parametrize("scalar", ["float32", "float64", "bfloat16", "int32"])
def test_components_are_axes_and_axes_components(scalar):
    vec = wp.types.vector(3, getattr(wp, scalar))
    vectors = wp.zeros(4, dtype=vec, device="cpu")
    numbers = wp.from_dlpack(wp.to_dlpack(vectors))
    assert numbers.shape == (4, 3) and numbers.ptr == vectors.ptr
    again = wp.from_dlpack(wp.to_dlpack(numbers), dtype=vec)
    assert again.shape == (4,) and again.dtype is vec and again.ptr == vectors.ptr


@pytest.mark.parametrize("wanted", ["int8", "uint8"])
def test_truth_values_may_be_taken_as_bytes(wanted):
    source = wp.array([True, False, True], dtype=wp.bool, device="cpu")
    other = wp.from_dlpack(wp.to_dlpack(source), dtype=getattr(wp, wanted))
    assert other.ptr == source.ptr and list(other.numpy()) == [1, 0, 1]


def test_memory_outlives_the_array_that_had_it():
    other = wp.from_dlpack(wp.to_dlpack(wp.full(1000, 7, dtype=wp.bfloat16, device="cpu")))
    wp.zeros(1000, dtype=wp.bfloat16, device="cpu")
    assert (other.numpy() == 7).all()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArrayError, match="cannot be shared as float32"):
        wp.from_dlpack(wp.to_dlpack(wp.zeros(1, dtype=wp.bool, device="cpu")), dtype=wp.float32)
    with pytest.raises(ArgumentTypeError, match="DLPack device"):
        wp.from_dlpack(_Pretender((123, 7)))
    with pytest.raises(ArgumentTypeError, match="gave object"):
        wp.from_dlpack(_Pretender((1, 0)))


class _Pretender:
    def __init__(self, device):
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        assert self.device == (1, 0), "asked without need"
        return object()
