"""Options of kernels that are for CUDA alone: bounds of blocks, and line tables."""

import pytest

import warpsim as wp
from warpsim.config import config


def make_kernel(**options):
    @wp.kernel(module="warpsim_test_bounds", **options)
    def double(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * 2.0

    return double


@pytest.mark.parametrize("given, wanted", [(None, (0, 0)), (256, (256, 0)), ((128,), (128, 0)), ((1024, 2), (1024, 2))])
def test_blocks_may_be_bounded(given, wanted):
    kernel = make_kernel(launch_bounds=given)
    assert kernel.bounds == wanted
    x = wp.array([1.0, 2.0], dtype=float, device="cpu")
    wp.launch(kernel, dim=2, inputs=[x], device="cpu")
    assert x.numpy().tolist() == [2.0, 4.0], "the CPU knows no blocks"


@pytest.mark.parametrize("given", [0, -1, 1025, 2.5, True, "256", (), (256, 0), (256, 2, 1), [256]])
def test_other_bounds_are_refused(given):
    with pytest.raises(ValueError, match=r"launch_bounds is .*\nexpected: the most threads of a block, up to 1024"):
        make_kernel(launch_bounds=given)


def test_line_tables_are_wanted_by_kernel_module_or_config():
    assert not make_kernel().option("lineinfo")
    assert make_kernel(lineinfo=True).option("lineinfo")
    config.lineinfo = True
    assert make_kernel().option("lineinfo")
    module = wp.get_module("warpsim_test_bounds")
    wp.set_module_options({"lineinfo": False}, module)
    try:
        assert not make_kernel().option("lineinfo")
    finally:
        module.options.clear()
