"""warpsim: differentiable physics simulation in Python.

    import warpsim as wp

    @wp.kernel
    def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    wp.launch(saxpy, dim=len(x), inputs=[x, y, 2.0])

This file only gathers public names; each is defined in the file that its neighbours suggest.
"""

from math import e, inf, nan, pi, tau
from typing import TYPE_CHECKING

from . import autograd, geometry, late, types
from .config import config
from .core.frontend.derivatives import grad
from .core.frontend.forms import adjoint, cast, constant, select, static
from .core.frontend.forms import length as len
from .core.frontend.forms import print_ as print
from .core.frontend.functions import Func as Function
from .core.frontend.functions import func
from .core.frontend.gradients import func_grad, func_replay
from .core.frontend.native import func_native
from .core.lib.decompose import eig3, qr3, svd2, svd3
from .core.lib.closest import closest_point_edge_edge
from .core.lib.intersect import intersect_tri_tri
from .core.lib.noise import curlnoise, noise, pnoise
from .core.lib.quaternions import (
    quat_between_vectors, quat_from_axis_angle, quat_from_euler, quat_from_matrix, quat_identity, quat_inverse,
    quat_rotate, quat_rotate_inv, quat_rpy, quat_slerp, quat_to_axis_angle, quat_to_euler, quat_to_matrix, quat_to_rpy,
    quat_twist, quat_twist_angle,
)  # fmt: skip
from .core.lib.random import poisson, rand_init, randf, randi, randn, randu
from .core.lib.sampling import (
    lower_bound, sample_cdf, sample_triangle, sample_unit_cube, sample_unit_disk, sample_unit_hemisphere,
    sample_unit_hemisphere_surface, sample_unit_ring, sample_unit_sphere, sample_unit_sphere_surface,
    sample_unit_square,
)  # fmt: skip
from .core.lib.spatial import (
    spatial_adjoint, spatial_bottom, spatial_cross, spatial_cross_dual, spatial_dot, spatial_top, velocity_at_point,
)  # fmt: skip
from .core.lib.special import erfcinv, erfinv
from .core.lib.transforms import (
    transform_compose, transform_decompose, transform_from_matrix, transform_get_rotation, transform_get_translation,
    transform_identity, transform_inverse, transform_multiply, transform_point, transform_set_rotation,
    transform_set_translation, transform_to_matrix, transform_twist, transform_vector, transform_wrench,
)  # fmt: skip
from .core.ops import (
    abs, acos, add, argmax, argmin, asin, atan, atan2, atomic_add, atomic_and, atomic_cas, atomic_exch, atomic_max,
    atomic_min, atomic_or, atomic_sub, atomic_xor, bit_and, bit_count, bit_or, bit_xor, block_dim, cbrt, ceil, clamp,
    copysign, cos, cosh, cross, cw_div, cw_mul, ddot, degrees, determinant, diag, div, dot, erf, erfc, exp,
    expect_eq, expect_near, floor, floordiv, frac, get_diag, identity, inverse, invert, isfinite, isinf, isnan, length,
    length_sq, lerp, load, log, log10, log2, lshift, matrix, matrix_from_cols, matrix_from_rows, max, min, mod, mul,
    neg, nonzero, norm_huber, norm_l1, norm_l2, norm_pseudo_huber, normalize, outer, pos, pow, printf, quaternion,
    radians, rint, round, rshift, sign, sin, sinh, skew, smooth_normalize, smoothstep, sqrt, step, store, sub, tan,
    tanh, tid, trace, transformation, transpose, trunc, unot, vector, view, where,
)  # fmt: skip
from .core.ops import breakpoint_ as breakpoint
from .core.runtime.algorithms import primitives as utils
from .core.runtime.arrays.array import array, array1d, array2d, array3d, array4d
from .core.runtime.arrays.creation import (
    clone, copy, dtype_from_numpy, dtype_to_numpy, empty, empty_like, from_dlpack, from_numpy, from_ptr, full,
    full_like, ones, ones_like, to_dlpack, zeros, zeros_like,
)  # fmt: skip
from .core.runtime.rollout.checkpoint import checkpoint
from .core.runtime.devices.cuda.access import (
    ScopedMempool, ScopedMempoolAccess, ScopedPeerAccess, get_cuda_driver_version, get_mempool_release_threshold,
    get_mempool_used_mem_current, get_mempool_used_mem_high, is_mempool_access_enabled, is_mempool_access_supported,
    is_mempool_enabled, is_mempool_supported, is_peer_access_enabled, is_peer_access_supported,
    set_mempool_access_enabled, set_mempool_enabled, set_mempool_release_threshold, set_peer_access_enabled,
)  # fmt: skip
from .core.runtime.devices.device import (
    Device, ScopedDevice, get_cuda_device, get_cuda_device_count, get_cuda_devices, get_device, get_devices,
    get_preferred_device, is_cpu_available, is_cuda_available, is_device_available, set_device, synchronize,
    synchronize_device,
)  # fmt: skip
from .core.runtime.commands.command import Launch
from .core.runtime.commands.graph import Graph, ScopedCapture, capture_begin, capture_end, capture_launch
from .core.runtime.arrays.indexed import indexedarray
from .core.runtime.launches.kernel import (
    Kernel, Module, force_load, get_module, get_module_options, kernel, load_module, overload, set_module_options,
)  # fmt: skip
from .core.runtime.launch import launch
from .core.runtime.map import map
from .core.runtime.launches.session import clear_kernel_cache, init, set_num_threads
from .core.runtime.devices.stream import (
    Event, ScopedStream, Stream, get_event_elapsed_time, get_stream, record_event, set_stream, synchronize_event,
    synchronize_stream, wait_event, wait_stream,
)  # fmt: skip
from .core.runtime.tape.tape import Tape
from .core.runtime.tape.timer import ScopedTimer
from .core.types.compounds import standard_names
from .core.types.scalars import (
    float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
)  # fmt: skip
from .core.types.scalars import bool_ as bool
from .core.types.signatures import Float, Int, Scalar
from .core.types.structs import struct

if TYPE_CHECKING:  # for editors: `late.HOME` says the same, and loads them when they are first asked for
    from .core.types.scalars import bfloat16
    from .geometry.bvh.bvh import Bvh
    from .geometry.bvh.query import (
        BvhQueryAabb, BvhQueryCapsule, BvhQueryRay, BvhQuerySphere, bvh_get_group_root, bvh_query_aabb,
        bvh_query_capsule, bvh_query_next, bvh_query_ray, bvh_query_sphere,
    )  # fmt: skip
    from .geometry.hash_grid.hash_grid import HashGrid
    from .geometry.hash_grid.neighbors import (
        HashGridNeighbors, HashGridNeighborsD, hash_grid_neighbors, hash_grid_neighbors_next, nearest_image,
    )  # fmt: skip
    from .geometry.hash_grid.query import (
        HashGridQuery, HashGridQueryD, hash_grid_point_id, hash_grid_query, hash_grid_query_next,
    )  # fmt: skip
    from .geometry.marching_cubes.marching_cubes import MarchingCubes
    from .geometry.mesh.mesh import Mesh
    from .geometry.mesh.data import MeshData
    from .geometry.mesh.eval import (
        mesh_eval_face_normal, mesh_eval_position, mesh_eval_velocity, mesh_get, mesh_get_index, mesh_get_point,
        mesh_get_velocity,
    )  # fmt: skip
    from .geometry.mesh.files import load_mesh, mesh_from_file
    from .geometry.mesh.overlap import (
        MeshQueryAABB, MeshQuerySphere, mesh_query_aabb, mesh_query_aabb_next, mesh_query_next, mesh_query_sphere,
    )  # fmt: skip
    from .geometry.mesh.query import (
        MeshQueryPoint, mesh_query_furthest_point_no_sign, mesh_query_point, mesh_query_point_no_sign,
        mesh_query_point_sign_normal, mesh_query_point_sign_parity, mesh_query_point_sign_winding_number,
    )  # fmt: skip
    from .geometry.mesh.ray import (
        MeshQueryRay, mesh_query_ray, mesh_query_ray_anyhit, mesh_query_ray_count_intersections,
    )  # fmt: skip
    from .geometry.volume.from_mesh import mesh_to_volume
    from .geometry.volume.volume import Volume
    from .geometry.volume.index import volume_sample_grad_index, volume_sample_index
    from .geometry.volume.lookup import (
        volume_lookup, volume_lookup_f, volume_lookup_i, volume_lookup_index, volume_lookup_v, volume_store,
        volume_store_f, volume_store_i, volume_store_v, volume_voxel_count,
    )  # fmt: skip
    from .geometry.volume.older import (
        volume_sample_local, volume_sample_world, volume_transform, volume_transform_inv,
    )  # fmt: skip
    from .geometry.volume.sample import (
        volume_sample, volume_sample_f, volume_sample_grad, volume_sample_grad_f, volume_sample_grad_v, volume_sample_i,
        volume_sample_v,
    )  # fmt: skip
    from .geometry.volume.transform import (
        volume_index_to_world, volume_index_to_world_dir, volume_world_to_index, volume_world_to_index_dir,
    )  # fmt: skip

__version__ = "0.1.0"

# Warp's other spellings of the constants
E, INF, NAN, PI, TAU = e, inf, nan, pi, tau
half_pi = HALF_PI = pi / 2.0

# vec3, mat33d, quath, transform, spatial_vector, ...: one table makes them all
globals().update(standard_names())

__getattr__ = late.loader(globals())

_INNER = ("TYPE_CHECKING", "core", "errors", "geometry", "late", "standard_names")
__all__ = [name for name in (*globals(), *late.HOME) if not name.startswith("_") and name not in _INNER]
__dir__ = __all__.copy
