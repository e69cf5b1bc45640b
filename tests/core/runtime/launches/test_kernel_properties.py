"""What programs ask about kernels: blocks that fit, registers, and names of caches."""

from typing import Any

import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, DeviceError


@wp.kernel
def double(x: wp.array[float]):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.kernel(launch_bounds=64)
def bounded(x: wp.array[float]):
    x[wp.tid()] = 0.0


@wp.kernel
def generic(x: wp.array[Any]):
    i = wp.tid()
    x[i] = x[i] + x[i]


def test_a_block_that_fits():
    threads, least = wp.get_suggested_block_size(double)
    if not wp.get_device().is_cuda:
        assert (threads, least) == (1, 1)
    else:
        assert 32 <= threads <= 1024 and least >= 1
        assert wp.get_suggested_block_size(bounded)[0] <= 64
    x = wp.ones(1000)
    wp.launch(double, 1000, [x], block_dim=threads)
    assert x.list() == [2.0] * 1000
    assert wp.get_suggested_block_size(double, "cpu") == (1, 1)


def test_properties_on_a_gpu():
    if wp.get_device().is_cuda:
        properties = wp.get_cuda_kernel_properties(double, block_dim=64)
        assert properties["register_count"] > 0 and properties["local_memory_size"] >= 0
    with pytest.raises(DeviceError, match="expected: a CUDA device"):
        wp.get_cuda_kernel_properties(double, "cpu")


def test_kernels_of_which_nothing_is_known():
    with pytest.raises(ArgumentTypeError, match=r"@wp\.kernel"):
        wp.get_suggested_block_size(test_a_block_that_fits)
    with pytest.raises(ArgumentTypeError, match=r"@wp\.kernel"):
        wp.get_cuda_kernel_properties(5)
    if wp.get_device().is_cuda:
        with pytest.raises(ArgumentTypeError, match="sets of types"):
            wp.get_suggested_block_size(generic)
        wp.overload(generic, [wp.array[float]])
        assert wp.get_suggested_block_size(generic)[0] >= 32


def test_the_name_of_a_cache_is_that_of_the_machine():
    key = wp.get_cpu_kernel_cache_key()
    assert key == wp.get_cpu_kernel_cache_key() and key and not set(key) & set("/\\ :")


def test_names_and_types_of_parameters_as_engines_read_them():
    names = [(p.label, p.type) for p in generic.adj.args]
    assert [name for name, _ in names] == ["x"] and names[0][1].ndim == 1 and names[0][1].dtype is Any
    assert wp.types.is_array(names[0][1]) and double.adj.args[0].type.dtype is wp.float32
