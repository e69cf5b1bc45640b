"""Volumes over grids in memory of others."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError, VolumeFormatError


@wp.kernel
def read(volume: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_lookup_f(volume, i, 1, 2)


@wp.kernel
def write(volume: wp.uint64):
    i = wp.tid()
    wp.volume_store_f(volume, i, 1, 2, float(i) * 100.0)


def values_in(volume, device):
    out = wp.zeros(4, dtype=float, device=device)
    wp.launch(read, 4, [volume.id, out], device=device)
    return out.list()


@pytest.mark.parametrize("device", [None, "interp"])
@pytest.mark.parametrize("sized", [True, False])
def test_a_grid_at_an_address_is_shared(sized, device):
    values = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
    owner = wp.Volume.load_from_numpy(values, device=device)
    data = owner.array()
    volume = wp.Volume.load_from_address(data.ptr, data.size if sized else 0, device=device)
    assert volume.get_grid_info().size_in_bytes == data.size
    assert values_in(volume, device) == values[:, 1, 2].tolist()
    wp.launch(write, 4, [volume.id], device=device)
    assert values_in(owner, device) == [0.0, 100.0, 200.0, 300.0]


def test_what_is_no_grid_is_refused():
    data = wp.Volume.load_from_numpy(np.ones((4, 4, 4), np.float32)).array()
    with pytest.raises(VolumeFormatError, match="grid size"):
        wp.Volume.load_from_address(data.ptr, data.size - 1)
    with pytest.raises(VolumeFormatError, match="grid magic"):
        wp.Volume.load_from_address(data.ptr + 32)
    for address in (0, None):
        with pytest.raises(ArrayError):
            wp.Volume.load_from_address(address)
