"""Types of textures stand in structs and stay empty."""

import pytest

import warpsim as wp


@wp.struct
class Grid:
    coarse: wp.Texture3D
    fine: wp.Texture2D
    cells: wp.array[float]


@wp.kernel
def sums(grids: wp.array[Grid], out: wp.array[float]):
    i = wp.tid()
    out[i] = 2.0 * grids[i].cells[1] + float(grids[i].coarse.id)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_structs_with_fields_of_empty_textures_go_through_arrays(device):
    grid = Grid()
    grid.cells = wp.array([1.0, 3.0], dtype=float, device=device)
    out = wp.zeros(2, dtype=float, device=device)
    wp.launch(sums, 2, [wp.array([grid, grid], dtype=Grid, device=device), out], device=device)
    assert out.numpy().tolist() == [6.0, 6.0]


@pytest.mark.parametrize("texture", [wp.Texture1D, wp.Texture2D, wp.Texture3D])
def test_contents_are_refused(texture):
    assert texture() == texture()
    with pytest.raises(NotImplementedError, match="textures are not here yet"):
        texture([1.0])
    with pytest.raises(NotImplementedError, match=f"{texture.__name__} is given contents"):
        texture(num_channels=1)
