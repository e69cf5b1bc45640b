"""Launch dimensions meet the indices that `tid()` asks for: one counts all threads, what is left out is one."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import DimensionError


@wp.kernel
def scale(x: wp.array[float], s: float, y: wp.array[float]):
    i = wp.tid()
    y[i] = s * x[i]


@wp.kernel
def number_cells(a: wp.array2d[float]):
    i, j = wp.tid()
    a[i, j] += float(10 * i + j)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_dimensions_fill_up_what_tid_asks_for(device):
    x, y = (wp.array(np.arange(6.0), dtype=float, requires_grad=True, device=device) for _ in range(2))
    wp.launch(scale, dim=(2, 3), inputs=[x, 2.0, y], device=device, record_cmd=True).launch()
    assert y.list() == [0, 2, 4, 6, 8, 10]
    with wp.Tape() as tape:
        wp.launch(scale, dim=(3, 1, 2), inputs=[x, 3.0, y], device=device)
    assert y.list() == [0, 3, 6, 9, 12, 15]
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.list() == [3.0] * 6
    cells = wp.zeros((3, 1), device=device)
    wp.launch(number_cells, 3, inputs=[cells], device=device)
    assert cells.numpy().ravel().tolist() == [0, 10, 20]
    with pytest.raises(DimensionError, match=r"unpacks tid\(\) into 2 indices, launched over dim=\(2, 3, 4\)"):
        wp.launch(number_cells, (2, 3, 4), inputs=[cells], device=device)
