"""Launch dimensions and shapes are integers."""

import pytest

import warpsim as wp
from warpsim.errors import ArrayError, DimensionError


@pytest.mark.parametrize("dim", [b"x", bytearray(b"ab"), "3", 2.0, None, [1.5]])
def test_dimensions_are_integers(dim):
    @wp.kernel
    def nothing():
        wp.tid()

    with pytest.raises(DimensionError, match="expected: an integer or up to four integers"):
        wp.launch(nothing, dim)
    with pytest.raises(ArrayError, match="expected: an integer or a tuple"):
        wp.zeros([dim])
