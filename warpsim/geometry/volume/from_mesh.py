"""From a triangle mesh to a narrow-band signed distance volume.

Guarantees: voxels nearer to the surface than the band is wide are active and hold the distance to the closest point of
the mesh, to rounding; all others, stored or not, answer with plus or minus the width of the band, so that the sign is
right everywhere. Only blocks of 8^3 voxels with an active one are stored. The same bits for any number of threads.

Blocks are found from coarse to fine: a block is divided where the mesh is nearer to its middle than its corners and the
band reach. Signs are those of `mesh_query_point_sign_winding_number` where the mesh supports it, which forgives holes
and overlaps, else those of `mesh_query_point`.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.language import Kernel, array, array2d, float32, int32, uint64, uint8
from ...core.language import empty, func, kernel, launch, length, min, resolve, tid, vector_type, zeros
from ...core.runtime.devices.capture import current_graph
from ...errors import LaunchError, MeshError, VolumeError, counted
from ..bvh.extent import extent_of
from ..mesh.closest import closest_face
from ..mesh.data import MeshData
from ..mesh.eval import mesh_eval_position
from ..mesh.mesh import Mesh
from ..mesh.pack import bound_faces
from ..mesh.query import mesh_query_point_no_sign
from ..mesh.sign import sign_by_rays
from ..mesh.winding import winding_number
from ..nanovdb import build as nanovdb_build
from ..nanovdb import checksum as nanovdb_checksum
from ..nanovdb import statistics as nanovdb_statistics
from ..nanovdb.check import set_bits
from ..nanovdb.grid import Grid
from ..nanovdb.layout import LEAF_SLOTS, LEAF_SPAN_LOG2, LOWER_LOG2, LOWER_SLOTS, LOWER_SPAN_LOG2, UPPER_LOG2
from ..nanovdb.layout import UPPER_SLOTS, UPPER_SPAN_LOG2
from ..nanovdb.voxels import leaf_origins, local_coordinates
from .volume import Volume

vec3, vec3i = vector_type(3, float32), vector_type(3, int32)

_FARTHEST = 1 << 22  # voxels from the origin whose positions float32 still tells apart to a quarter


# ----- kernels ------------------------------------------------------------------------------------


@func
def _sign(mesh: uint64, p: vec3) -> float32:
    """-1 inside, 1 outside."""
    data = resolve(mesh, MeshData)
    sign = float32(1.0)
    if data.moments.shape[0] == 0:
        sign = sign_by_rays(data, p)
    elif winding_number(data, p, 2.0) > 0.5:
        sign = -1.0
    return sign


@func
def _middle(block: vec3i, side: int32, voxel_size: float32) -> vec3:
    """The middle of a block of side^3 voxels whose lowest one is `block`."""
    half = 0.5 * float32(side - 1)
    return vec3(float32(block[0]) + half, float32(block[1]) + half, float32(block[2]) + half) * voxel_size


@kernel
def _find_near(
    mesh: uint64, blocks: array(dtype=vec3i), side: int32, voxel_size: float32, reach: float32, near: array(dtype=uint8)
):
    """Which blocks have their middle nearer to the mesh than `reach`."""
    n = tid()
    face = closest_face(resolve(mesh, MeshData), _middle(blocks[n], side, voxel_size), reach)
    near[n] = uint8(face >= 0)


@kernel
def _measure(
    mesh: uint64, blocks: array(dtype=vec3i), voxel_size: float32, band: float32, values: array2d(dtype=float32)
):
    """The signed distance of every voxel of blocks of 8^3, at most `band`."""
    n, slot = tid()
    voxel = blocks[n] + vec3i(slot >> 6, slot >> 3 & 7, slot & 7)
    p = _middle(voxel, 1, voxel_size)
    query = mesh_query_point_no_sign(mesh, p, 1.001 * band)
    distance = band
    if query.result:
        distance = min(length(p - mesh_eval_position(mesh, query.face, query.u, query.v)), band)
    values[n, slot] = distance * _sign(mesh, p)


@kernel
def _find_inside(
    mesh: uint64, blocks: array(dtype=vec3i), side: int32, voxel_size: float32, inside: array(dtype=uint8)
):
    """Which blocks have their middle inside the mesh."""
    n = tid()
    inside[n] = uint8(_sign(mesh, _middle(blocks[n], side, voxel_size)) < 0.0)


# ----- the volume ---------------------------------------------------------------------------------


def mesh_to_volume(mesh: Mesh, voxel_size: float, half_width: float = 3.0, name: str = "surface") -> Volume:
    """The signed distance to a closed mesh, negative inside, as a float32 level set.

    voxel_size: edge of a voxel [unit of the mesh]; voxel (i, j, k) is at voxel_size * (i, j, k).
    half_width: how far the band reaches on each side of the surface [voxels], above 1 so that the surface is always
    between two voxels that know it.

    Raises `MeshError` for what is no mesh or a mesh without a face that is finite, `VolumeError` for sizes that are
    not finite or too small for the mesh: it must end within 4 million voxels from the origin, and must not be longer
    than 4096 voxels along all axes; `LaunchError` while a graph is captured.
    """
    if not isinstance(mesh, Mesh):
        raise MeshError(f"mesh is {type(mesh).__name__}\nexpected: a Mesh")
    if current_graph() is not None:
        raise LaunchError("the blocks of a volume are not known while a graph is captured\nhelp: make it outside")
    voxel_size, half_width = float(voxel_size), float(half_width)
    if not (math.isfinite(voxel_size) and voxel_size > 0.0 and math.isfinite(half_width) and half_width > 1.0):
        raise VolumeError(
            f"voxels of {voxel_size:g} and a band of {half_width:g} voxels\nexpected: finite, above 0 and above 1"
        )
    band = float(np.float32(half_width) * np.float32(voxel_size))
    box = _box(mesh, voxel_size)
    blocks, values = _measure_blocks(mesh, voxel_size, band, _near_blocks(mesh, voxel_size, band, *box))
    grid = nanovdb_build.from_tiles(
        blocks, background=np.float32(band), voxel_size=voxel_size, grid_class="level_set", name=name
    )
    _fill_leaves(grid, blocks, values, band)
    _fill_inside(grid, mesh, voxel_size, -band, *box)
    nanovdb_statistics.fill_boxes(grid)
    nanovdb_statistics.fill(grid)
    nanovdb_checksum.update(grid)
    return Volume._of([grid], mesh.device)


def _near_blocks(mesh: Mesh, voxel_size: float, band: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The lowest voxels (n, 3) of all blocks of 8^3 voxels that the band may meet; the mesh is in a box of voxels."""
    margin = math.ceil(band / voxel_size) + 1
    side = LEAF_SLOTS
    low, high = (low - margin) // side, (high + margin) // side
    blocks = np.stack(np.meshgrid(*map(np.arange, low, high + 1), indexing="ij"), axis=-1).reshape(-1, 3) * side
    while True:
        corner = 0.5 * math.sqrt(3.0) * (side - 1) * voxel_size
        near = _marks(_find_near, mesh, blocks, side, voxel_size, 1.001 * (band + corner))
        blocks = blocks[near]
        if side == 1 << LEAF_SPAN_LOG2:
            return blocks
        side //= 8
        children = local_coordinates(np.arange(LEAF_SLOTS), 3) * side
        blocks = (blocks[:, None] + children).reshape(-1, 3)


def _box(mesh: Mesh, voxel_size: float) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest voxel of the box around all faces with finite corners."""
    n, device = mesh.face_count, mesh.device
    lowers, uppers = empty(n, vec3, device), empty(n, vec3, device)
    launch(bound_faces, n, [mesh.points, mesh.topology], [lowers, uppers], device=device, record_tape=False)
    [extent] = extent_of(lowers, uppers).numpy()
    if not extent["count"]:
        raise MeshError(f"a mesh of {counted(n, 'face')} has none with finite corners\nexpected: a surface")
    ends = np.stack([extent["lower"], extent["upper"]]).astype(np.float64) / voxel_size
    if np.abs(ends).max() > _FARTHEST:
        raise VolumeError(
            f"the mesh ends {np.abs(ends).max():.3g} voxels from the origin\nexpected: at most {_FARTHEST}\n"
            "help: make voxels larger, or move the mesh to the origin"
        )
    low, high = np.floor(ends[0]).astype(np.int64), np.ceil(ends[1]).astype(np.int64)
    span = 1 << UPPER_SPAN_LOG2
    if (-(-low // span) < (high + 1) // span).all():  # its inside might be that of a whole tile of the root
        raise VolumeError(
            f"a mesh of {' x '.join(map(str, high - low))} voxels\nexpected: at most {span} along some axis\n"
            "help: make voxels larger"
        )
    return low, high


def _measure_blocks(mesh: Mesh, voxel_size: float, band: float, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Those of the blocks (n, 3) that the band does meet, and the values of their voxels (n, 512)."""
    corners = array(blocks.astype(np.int32), dtype=vec3i, device=mesh.device)
    values = zeros((len(blocks), LEAF_SLOTS), float32, mesh.device)
    inputs = [mesh.id, corners, voxel_size, band, values]
    launch(_measure, values.shape, inputs, device=mesh.device, record_tape=False)
    measured = values.numpy()
    met = (np.abs(measured) < np.float32(band)).any(axis=1)
    return blocks[met], measured[met]


def _fill_leaves(grid: Grid, blocks: np.ndarray, values: np.ndarray, band: float) -> None:
    """Values and which of them are within the band; leaves stand in an order of their own."""
    leaf, block = (np.lexsort(corners.T) for corners in (leaf_origins(grid), blocks))
    grid.leaves["values"][leaf] = values[block]
    grid.leaves["mask"][leaf] = np.packbits(np.abs(values[block]) < np.float32(band), axis=1, bitorder="little")


def _fill_inside(grid: Grid, mesh: Mesh, voxel_size: float, value: float, low: np.ndarray, high: np.ndarray) -> None:
    """Give the value to all entries of nodes that have no child and lie inside: no surface passes through these."""
    origins = leaf_origins(grid)
    levels = (
        (grid.lowers, LOWER_SLOTS, LOWER_LOG2, LEAF_SPAN_LOG2, LOWER_SPAN_LOG2),
        (grid.uppers, UPPER_SLOTS, UPPER_LOG2, LOWER_SPAN_LOG2, UPPER_SPAN_LOG2),
    )
    for nodes, slots, log2, child_span, span in levels:
        parent, _ = set_bits(nodes["child_mask"], slots)
        first_children = np.flatnonzero(np.diff(parent, prepend=-1))  # nodes stand in the order of their parents
        origins = origins[first_children] & -(1 << span)
        node, slot = set_bits(~nodes["child_mask"], slots)
        corners = origins[node] + (local_coordinates(slot, log2) << child_span)
        possible = np.flatnonzero(((corners >= low) & (corners + (1 << child_span) <= high + 1)).all(axis=1))
        inside = possible[_marks(_find_inside, mesh, corners[possible], 1 << child_span, voxel_size)]
        nodes["table"]["value"][node[inside], slot[inside]] = value


def _marks(kernel: Kernel, mesh: Mesh, blocks: np.ndarray, side: int, *options: float) -> np.ndarray:
    """Which blocks (n, 3) a kernel marks, (n,) bool."""
    marks = zeros(len(blocks), uint8, mesh.device)
    corners = array(blocks.astype(np.int32), dtype=vec3i, device=mesh.device)
    inputs = [mesh.id, corners, side, *options, marks]
    launch(kernel, len(blocks), inputs, device=mesh.device, record_tape=False)
    return marks.numpy().astype(bool)
