"""Kernels and volumes that several tests of volumes use."""

from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.geometry.volume.data import volume_data

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = ("rocks", "torus", "test_grid", "test_int32_grid", "test_vec_grid", "test_index_grid")


def asset(name: str) -> Path:
    """One of the sample files, which are not part of the project."""
    path = DATA / f"{name}.nvdb"
    if not path.exists():
        pytest.skip("the shared sample files are not on this machine")
    return path


def grids(name: str) -> list[wp.Volume]:
    """All grids of a sample file."""
    found = [wp.Volume.load_from_nvdb(asset(name))]
    while (following := found[-1].load_next_grid()) is not None:
        found.append(following)
    return found


def lookup_kernel(dtype):
    @wp.kernel
    def lookup(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), out: wp.array(dtype=dtype)):
        n = wp.tid()
        v = voxels[n]
        out[n] = wp.volume_lookup(volume, v[0], v[1], v[2], dtype)

    return lookup


def sample_kernel(dtype, point):
    @wp.kernel
    def sample(volume: wp.uint64, points: wp.array(dtype=point), mode: int, out: wp.array(dtype=dtype)):
        n = wp.tid()
        out[n] = wp.volume_sample(volume, points[n], mode, dtype)

    return sample


_kernels = {}


def looked_up(volume: wp.Volume, voxels, dtype=None, device=None) -> np.ndarray:
    """The values of voxels (n, 3)."""
    dtype = dtype or volume.dtype
    kernel = _kernels.setdefault((dtype,), lookup_kernel(dtype))
    out = wp.zeros(len(voxels), dtype=dtype, device=device)
    places = wp.array(np.asarray(voxels, np.int32), dtype=wp.vec3i, device=device)
    wp.launch(kernel, dim=len(voxels), inputs=[volume.id, places, out], device=device)
    return out.numpy()


def sampled(volume: wp.Volume, points, mode=wp.Volume.LINEAR, dtype=None, point=wp.vec3, device=None) -> np.ndarray:
    """The values at points (n, 3) of index space."""
    dtype = dtype or volume.dtype
    kernel = _kernels.setdefault((dtype, point), sample_kernel(dtype, point))
    out = wp.zeros(len(points), dtype=dtype, device=device)
    wp.launch(kernel, len(points), [volume.id, wp.array(points, dtype=point, device=device), mode, out], device=device)
    return out.numpy()


def without_directory(volume: wp.Volume) -> wp.Volume:
    """The same volume, made to walk its tree at every lookup."""
    volume._data = volume_data(volume._grid, volume.device, directory=False)
    volume._handle.update(volume._data)
    return volume
