"""Annotations of kernels that are no types are refused, with what to write in their place."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelNameError, KernelTypeError


@wp.kernel
def bare_array(a: wp.array):
    a[0] = 1.0


@wp.kernel
def numpy_array(a: np.ndarray):
    a[0] = 1.0


@wp.kernel
def no_annotation(a):
    a[0] = 1.0


@wp.kernel
def no_python(a: "float[]"):  # noqa: F722
    a[0] = 1.0


@wp.kernel
def unknown_name(a: "wp.array[Speed]"):  # noqa: F821
    a[0] = 1.0


@wp.kernel
def tile(a: wp.tile[float, 3]):
    a[0] = 1.0


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (bare_array, KernelTypeError, r"has type array\n(.*\n)*help: say of what: a: wp\.array\[float\]"),
        (numpy_array, KernelTypeError, r"has type ndarray\n(.*\n)*help: say of what: a: wp\.array\[float\]"),
        (tile, KernelTypeError, r"'a' of kernel 'tile' is a tile(.*\n)*help: load the tile.*wp\.tile_load\(a, shape="),
        (no_annotation, KernelTypeError, r"has no type\n(.*\n)*help: annotate it: a: float"),
        (no_python, KernelNameError, r"cannot be evaluated: invalid syntax(.*\n)*help: annotate with types: a: float"),
        (unknown_name, KernelNameError, r"name 'Speed' is not defined\n(.*\n)*help: the functions around"),
    ],
    ids=lambda value: getattr(value, "key", ""),
)
def test_annotations_that_are_no_types(kernel, error, message):
    with pytest.raises(error, match=message):
        wp.launch(kernel, 1, [wp.zeros(3, dtype=float)])
