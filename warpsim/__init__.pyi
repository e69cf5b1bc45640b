# Made from warpsim/names.py: `pytest tests/test_public_api.py --update-golden` makes it anew.

from typing import Any

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from math import tau as tau
from .config import DeterministicMode as DeterministicMode
from .config import config as config
from .core.frontend.derivatives import (
    grad as grad,
)
from .core.frontend.forms import (
    adjoint as adjoint,
    cast as cast,
    constant as constant,
    select as select,
    static as static,
    length as len,
    print_ as print,
)
from .core.frontend.functions import (
    Func as Function,
    func as func,
)
from .core.frontend.gradients import (
    func_grad as func_grad,
    func_replay as func_replay,
)
from .core.frontend.native import (
    func_native as func_native,
)
from .core.lib.decompose import (
    eig3 as eig3,
    qr3 as qr3,
    svd2 as svd2,
    svd3 as svd3,
)
from .core.lib.closest import (
    closest_point_edge_edge as closest_point_edge_edge,
)
from .core.lib.intersect import (
    intersect_tri_tri as intersect_tri_tri,
)
from .core.lib.noise import (
    curlnoise as curlnoise,
    noise as noise,
    pnoise as pnoise,
)
from .core.lib.quaternions import (
    quat_between_vectors as quat_between_vectors,
    quat_from_axis_angle as quat_from_axis_angle,
    quat_from_euler as quat_from_euler,
    quat_from_matrix as quat_from_matrix,
    quat_identity as quat_identity,
    quat_inverse as quat_inverse,
    quat_rotate as quat_rotate,
    quat_rotate_inv as quat_rotate_inv,
    quat_rpy as quat_rpy,
    quat_slerp as quat_slerp,
    quat_to_axis_angle as quat_to_axis_angle,
    quat_to_euler as quat_to_euler,
    quat_to_matrix as quat_to_matrix,
    quat_to_rpy as quat_to_rpy,
    quat_twist as quat_twist,
    quat_twist_angle as quat_twist_angle,
    quat_twist_angle_signed as quat_twist_angle_signed,
)
from .core.lib.random import (
    poisson as poisson,
    rand_init as rand_init,
    randf as randf,
    randi as randi,
    randn as randn,
    randu as randu,
)
from .core.lib.sampling import (
    lower_bound as lower_bound,
    sample_cdf as sample_cdf,
    sample_triangle as sample_triangle,
    sample_unit_cube as sample_unit_cube,
    sample_unit_disk as sample_unit_disk,
    sample_unit_hemisphere as sample_unit_hemisphere,
    sample_unit_hemisphere_surface as sample_unit_hemisphere_surface,
    sample_unit_ring as sample_unit_ring,
    sample_unit_sphere as sample_unit_sphere,
    sample_unit_sphere_surface as sample_unit_sphere_surface,
    sample_unit_square as sample_unit_square,
)
from .core.lib.spatial import (
    spatial_adjoint as spatial_adjoint,
    spatial_bottom as spatial_bottom,
    spatial_cross as spatial_cross,
    spatial_cross_dual as spatial_cross_dual,
    spatial_dot as spatial_dot,
    spatial_top as spatial_top,
    velocity_at_point as velocity_at_point,
)
from .core.lib.special import (
    erfcinv as erfcinv,
    erfinv as erfinv,
)
from .core.lib.transforms import (
    transform_compose as transform_compose,
    transform_decompose as transform_decompose,
    transform_from_matrix as transform_from_matrix,
    transform_get_rotation as transform_get_rotation,
    transform_get_translation as transform_get_translation,
    transform_identity as transform_identity,
    transform_inverse as transform_inverse,
    transform_multiply as transform_multiply,
    transform_point as transform_point,
    transform_set_rotation as transform_set_rotation,
    transform_set_translation as transform_set_translation,
    transform_to_matrix as transform_to_matrix,
    transform_twist as transform_twist,
    transform_vector as transform_vector,
    transform_wrench as transform_wrench,
)
from .core.ops import (
    abs as abs,
    acos as acos,
    add as add,
    argmax as argmax,
    argmin as argmin,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    atomic_add as atomic_add,
    atomic_and as atomic_and,
    atomic_cas as atomic_cas,
    atomic_exch as atomic_exch,
    atomic_max as atomic_max,
    atomic_min as atomic_min,
    atomic_or as atomic_or,
    atomic_sub as atomic_sub,
    atomic_xor as atomic_xor,
    bit_and as bit_and,
    bit_count as bit_count,
    bit_or as bit_or,
    bit_xor as bit_xor,
    block_dim as block_dim,
    cbrt as cbrt,
    ceil as ceil,
    clamp as clamp,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    cross as cross,
    cw_div as cw_div,
    cw_mul as cw_mul,
    ddot as ddot,
    degrees as degrees,
    determinant as determinant,
    diag as diag,
    div as div,
    dot as dot,
    erf as erf,
    erfc as erfc,
    exp as exp,
    expect_eq as expect_eq,
    expect_near as expect_near,
    expect_neq as expect_neq,
    floor as floor,
    floordiv as floordiv,
    frac as frac,
    get_diag as get_diag,
    identity as identity,
    inverse as inverse,
    invert as invert,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    length as length,
    length_sq as length_sq,
    lerp as lerp,
    load as load,
    log as log,
    log10 as log10,
    log2 as log2,
    lshift as lshift,
    matrix as matrix,
    matrix_from_cols as matrix_from_cols,
    matrix_from_rows as matrix_from_rows,
    max as max,
    min as min,
    mod as mod,
    mul as mul,
    neg as neg,
    nonzero as nonzero,
    norm_huber as norm_huber,
    norm_l1 as norm_l1,
    norm_l2 as norm_l2,
    norm_pseudo_huber as norm_pseudo_huber,
    normalize as normalize,
    outer as outer,
    pos as pos,
    pow as pow,
    printf as printf,
    quaternion as quaternion,
    radians as radians,
    rint as rint,
    round as round,
    rshift as rshift,
    sign as sign,
    sin as sin,
    sinh as sinh,
    skew as skew,
    smooth_normalize as smooth_normalize,
    smoothstep as smoothstep,
    sqrt as sqrt,
    step as step,
    store as store,
    sub as sub,
    tan as tan,
    tanh as tanh,
    tid as tid,
    trace as trace,
    transformation as transformation,
    transpose as transpose,
    trunc as trunc,
    unot as unot,
    vector as vector,
    view as view,
    where as where,
    breakpoint_ as breakpoint,
    div as div_approx,
    inverse as inverse_approx,
)
from .core.runtime.arrays.annotations import (
    array1d as array1d,
    array2d as array2d,
    array3d as array3d,
    array4d as array4d,
    fixedarray as fixedarray,
    indexedarray1d as indexedarray1d,
    indexedarray2d as indexedarray2d,
    indexedarray3d as indexedarray3d,
    indexedarray4d as indexedarray4d,
)
from .core.runtime.arrays.array import (
    array as array,
)
from .core.runtime.arrays.creation import (
    clone as clone,
    copy as copy,
    dtype_from_numpy as dtype_from_numpy,
    dtype_to_numpy as dtype_to_numpy,
    empty as empty,
    empty_like as empty_like,
    from_dlpack as from_dlpack,
    from_numpy as from_numpy,
    from_ptr as from_ptr,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    to_dlpack as to_dlpack,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .core.runtime.rollout.checkpoint import (
    checkpoint as checkpoint,
)
from .core.runtime.devices.cuda.access import (
    ScopedMempool as ScopedMempool,
    ScopedMempoolAccess as ScopedMempoolAccess,
    ScopedPeerAccess as ScopedPeerAccess,
    get_cuda_driver_version as get_cuda_driver_version,
    get_mempool_release_threshold as get_mempool_release_threshold,
    get_mempool_used_mem_current as get_mempool_used_mem_current,
    get_mempool_used_mem_high as get_mempool_used_mem_high,
    is_mempool_access_enabled as is_mempool_access_enabled,
    is_mempool_access_supported as is_mempool_access_supported,
    is_mempool_enabled as is_mempool_enabled,
    is_mempool_supported as is_mempool_supported,
    is_peer_access_enabled as is_peer_access_enabled,
    is_peer_access_supported as is_peer_access_supported,
    set_mempool_access_enabled as set_mempool_access_enabled,
    set_mempool_enabled as set_mempool_enabled,
    set_mempool_release_threshold as set_mempool_release_threshold,
    set_peer_access_enabled as set_peer_access_enabled,
)
from .core.runtime.devices.device import (
    Device as Device,
    DeviceLike as DeviceLike,
    ScopedDevice as ScopedDevice,
    get_cuda_device as get_cuda_device,
    get_cuda_device_count as get_cuda_device_count,
    get_cuda_devices as get_cuda_devices,
    get_device as get_device,
    get_devices as get_devices,
    get_preferred_device as get_preferred_device,
    is_cpu_available as is_cpu_available,
    is_cuda_available as is_cuda_available,
    is_device_available as is_device_available,
    set_device as set_device,
    synchronize as synchronize,
    synchronize_device as synchronize_device,
)
from .core.runtime.commands.command import (
    Launch as Launch,
)
from .core.runtime.commands.conditional import (
    capture_if as capture_if,
    capture_while as capture_while,
    is_conditional_graph_supported as is_conditional_graph_supported,
)
from .core.runtime.logger import (
    LOG_DEBUG as LOG_DEBUG,
    LOG_ERROR as LOG_ERROR,
    LOG_INFO as LOG_INFO,
    LOG_WARNING as LOG_WARNING,
    Logger as Logger,
    ScopedLogLevel as ScopedLogLevel,
    ScopedLogger as ScopedLogger,
    get_logger as get_logger,
    set_logger as set_logger,
)
from .core.runtime.profiling import (
    ScopedCudaProfiler as ScopedCudaProfiler,
    TIMING_ALL as TIMING_ALL,
    TIMING_GRAPH as TIMING_GRAPH,
    TIMING_KERNEL as TIMING_KERNEL,
    TIMING_KERNEL_BUILTIN as TIMING_KERNEL_BUILTIN,
    TIMING_MEMCPY as TIMING_MEMCPY,
    TIMING_MEMSET as TIMING_MEMSET,
    TimingResult as TimingResult,
    can_access as can_access,
    cuda_profiler_start as cuda_profiler_start,
    cuda_profiler_stop as cuda_profiler_stop,
    get_cuda_supported_archs as get_cuda_supported_archs,
    get_cuda_toolkit_version as get_cuda_toolkit_version,
    is_cubql_available as is_cubql_available,
    map_cuda_device as map_cuda_device,
    timing_begin as timing_begin,
    timing_end as timing_end,
    timing_print as timing_print,
    unmap_cuda_device as unmap_cuda_device,
)
from .core.runtime.commands.graph import (
    Graph as Graph,
    ScopedCapture as ScopedCapture,
    capture_begin as capture_begin,
    capture_end as capture_end,
    capture_launch as capture_launch,
)
from .core.runtime.arrays.indexed import (
    indexedarray as indexedarray,
)
from .core.runtime.launches.kernel import (
    Kernel as Kernel,
    kernel as kernel,
    overload as overload,
)
from .core.runtime.launches.modules import (
    Module as Module,
    force_load as force_load,
    get_module as get_module,
    get_module_options as get_module_options,
    load_module as load_module,
    set_module_options as set_module_options,
)
from .core.runtime.launch import (
    launch as launch,
)
from .core.runtime.map import (
    map as map,
)
from .core.runtime.launches.session import (
    clear_kernel_cache as clear_kernel_cache,
    init as init,
    set_num_threads as set_num_threads,
)
from .core.runtime.devices.stream import (
    Event as Event,
    ScopedStream as ScopedStream,
    Stream as Stream,
    get_event_elapsed_time as get_event_elapsed_time,
    get_stream as get_stream,
    record_event as record_event,
    set_stream as set_stream,
    synchronize_event as synchronize_event,
    synchronize_stream as synchronize_stream,
    wait_event as wait_event,
    wait_stream as wait_stream,
)
from .core.runtime.tape.tape import (
    Tape as Tape,
)
from .core.runtime.tape.timer import (
    ScopedTimer as ScopedTimer,
)
from .core.types.scalars import (
    float16 as float16,
    float32 as float32,
    float64 as float64,
    bfloat16 as bfloat16,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    bool_ as bool,
    uint64 as handle,
)
from .core.types.references import (
    ref as ref,
)
from .core.types.signatures import (
    Float as Float,
    Int as Int,
    Scalar as Scalar,
)
from .core.types.structs import (
    struct as struct,
)
from .diagnostics import (
    print_diagnostics as print_diagnostics,
)
from .errors import (
    KernelError as WarpCodegenError,
    KernelError as WarpCodegenTypeError,
    KernelError as WarpCodegenValueError,
    KernelError as WarpCodegenAttributeError,
    KernelError as WarpCodegenIndexError,
    KernelError as WarpCodegenKeyError,
    LaunchError as WarpDeterminismError,
)
from .geometry.bvh.bvh import (
    Bvh as Bvh,
)
from .geometry.bvh.query import (
    BvhQuery as BvhQuery,
    BvhQueryAabb as BvhQueryAabb,
    BvhQueryCapsule as BvhQueryCapsule,
    BvhQueryRay as BvhQueryRay,
    BvhQuerySphere as BvhQuerySphere,
    bvh_get_group_root as bvh_get_group_root,
    bvh_query_aabb as bvh_query_aabb,
    bvh_query_capsule as bvh_query_capsule,
    bvh_query_next as bvh_query_next,
    bvh_query_ray as bvh_query_ray,
    bvh_query_sphere as bvh_query_sphere,
)
from .geometry.hash_grid.hash_grid import (
    HashGrid as HashGrid,
)
from .geometry.hash_grid.neighbors import (
    HashGridNeighbors as HashGridNeighbors,
    HashGridNeighborsD as HashGridNeighborsD,
    hash_grid_neighbors as hash_grid_neighbors,
    hash_grid_neighbors_next as hash_grid_neighbors_next,
    nearest_image as nearest_image,
)
from .geometry.hash_grid.query import (
    HashGridQuery as HashGridQuery,
    HashGridQueryD as HashGridQueryD,
    hash_grid_point_id as hash_grid_point_id,
    hash_grid_query as hash_grid_query,
    hash_grid_query_next as hash_grid_query_next,
)
from .geometry.marching_cubes.marching_cubes import (
    MarchingCubes as MarchingCubes,
)
from .geometry.mesh.mesh import (
    Mesh as Mesh,
)
from .geometry.mesh.data import (
    MeshData as MeshData,
)
from .geometry.mesh.eval import (
    mesh_eval_face_normal as mesh_eval_face_normal,
    mesh_eval_position as mesh_eval_position,
    mesh_eval_velocity as mesh_eval_velocity,
    mesh_get as mesh_get,
    mesh_get_group_root as mesh_get_group_root,
    mesh_get_index as mesh_get_index,
    mesh_get_point as mesh_get_point,
    mesh_get_velocity as mesh_get_velocity,
)
from .geometry.mesh.files import (
    load_mesh as load_mesh,
    mesh_from_file as mesh_from_file,
)
from .geometry.mesh.overlap import (
    MeshQuery as MeshQuery,
    MeshQueryAABB as MeshQueryAABB,
    MeshQuerySphere as MeshQuerySphere,
    mesh_query_aabb as mesh_query_aabb,
    mesh_query_aabb_next as mesh_query_aabb_next,
    mesh_query_next as mesh_query_next,
    mesh_query_sphere as mesh_query_sphere,
)
from .geometry.mesh.query import (
    MeshQueryPoint as MeshQueryPoint,
    mesh_query_furthest_point_no_sign as mesh_query_furthest_point_no_sign,
    mesh_query_point as mesh_query_point,
    mesh_query_point_no_sign as mesh_query_point_no_sign,
    mesh_query_point_sign_normal as mesh_query_point_sign_normal,
    mesh_query_point_sign_parity as mesh_query_point_sign_parity,
    mesh_query_point_sign_winding_number as mesh_query_point_sign_winding_number,
)
from .geometry.mesh.ray import (
    MeshQueryRay as MeshQueryRay,
    mesh_query_ray as mesh_query_ray,
    mesh_query_ray_anyhit as mesh_query_ray_anyhit,
    mesh_query_ray_count_intersections as mesh_query_ray_count_intersections,
)
from .geometry.volume.from_mesh import (
    mesh_to_volume as mesh_to_volume,
)
from .geometry.volume.volume import (
    Volume as Volume,
)
from .geometry.volume.index import (
    volume_sample_grad_index as volume_sample_grad_index,
    volume_sample_index as volume_sample_index,
)
from .geometry.volume.lookup import (
    volume_lookup as volume_lookup,
    volume_lookup_f as volume_lookup_f,
    volume_lookup_i as volume_lookup_i,
    volume_lookup_index as volume_lookup_index,
    volume_lookup_v as volume_lookup_v,
    volume_store as volume_store,
    volume_store_f as volume_store_f,
    volume_store_i as volume_store_i,
    volume_store_v as volume_store_v,
    volume_voxel_count as volume_voxel_count,
)
from .geometry.volume.older import (
    volume_sample_local as volume_sample_local,
    volume_sample_world as volume_sample_world,
    volume_transform as volume_transform,
    volume_transform_inv as volume_transform_inv,
)
from .geometry.volume.sample import (
    volume_sample as volume_sample,
    volume_sample_f as volume_sample_f,
    volume_sample_grad as volume_sample_grad,
    volume_sample_grad_f as volume_sample_grad_f,
    volume_sample_grad_v as volume_sample_grad_v,
    volume_sample_i as volume_sample_i,
    volume_sample_v as volume_sample_v,
)
from .geometry.volume.transform import (
    volume_index_to_world as volume_index_to_world,
    volume_index_to_world_dir as volume_index_to_world_dir,
    volume_world_to_index as volume_world_to_index,
    volume_world_to_index_dir as volume_world_to_index_dir,
)
from .interop.torch import (
    from_torch as from_torch,
    to_torch as to_torch,
    device_from_torch as device_from_torch,
    device_to_torch as device_to_torch,
    dtype_from_torch as dtype_from_torch,
    dtype_to_torch as dtype_to_torch,
    stream_from_torch as stream_from_torch,
    stream_to_torch as stream_to_torch,
)
from .interop.torch_operator import (
    torch_op as torch_op,
)
from .interop.jax import (
    from_jax as from_jax,
    to_jax as to_jax,
    device_from_jax as device_from_jax,
    device_to_jax as device_to_jax,
    dtype_from_jax as dtype_from_jax,
    dtype_to_jax as dtype_to_jax,
    get_jax_device as get_jax_device,
)
from .interop.paddle import (
    from_paddle as from_paddle,
    to_paddle as to_paddle,
    device_from_paddle as device_from_paddle,
    device_to_paddle as device_to_paddle,
    dtype_from_paddle as dtype_from_paddle,
    dtype_to_paddle as dtype_to_paddle,
    stream_from_paddle as stream_from_paddle,
)
from .interop.from_numba import (
    from_numba as from_numba,
)
from .interop.to_numba import (
    to_numba as to_numba,
)
from .interop.jax_frames import (
    register_ffi_callback as register_ffi_callback,
)
from .interop.jax_kernel import (
    jax_kernel as jax_kernel,
    jax_callable as jax_callable,
)
from . import autograd as autograd
from . import types as types
from . import utils as utils
from . import errors as errors
from . import fft as fft
from . import geometry as geometry
from . import optim as optim
from . import plot as plot
from . import render as render
from . import solvers as solvers
from . import usd as usd
from . import viewer as viewer

__version__: str
E: float
INF: float
NAN: float
PI: float
TAU: float
half_pi: float
HALF_PI: float
ln2: float
ln10: float
phi: float
log2e: float
log10e: float
LN2: float
LN10: float
LOG2E: float
LOG10E: float
PHI: float

vec2: Any
vec3: Any
vec4: Any
mat22: Any
mat33: Any
mat44: Any
quat: Any
transform: Any
spatial_vector: Any
spatial_matrix: Any
vec2f: Any
vec3f: Any
vec4f: Any
mat22f: Any
mat33f: Any
mat44f: Any
quatf: Any
transformf: Any
spatial_vectorf: Any
spatial_matrixf: Any
vec2d: Any
vec3d: Any
vec4d: Any
mat22d: Any
mat33d: Any
mat44d: Any
quatd: Any
transformd: Any
spatial_vectord: Any
spatial_matrixd: Any
vec2h: Any
vec3h: Any
vec4h: Any
mat22h: Any
mat33h: Any
mat44h: Any
quath: Any
transformh: Any
spatial_vectorh: Any
spatial_matrixh: Any
vec2b: Any
vec3b: Any
vec4b: Any
mat22b: Any
mat33b: Any
mat44b: Any
vec2ub: Any
vec3ub: Any
vec4ub: Any
mat22ub: Any
mat33ub: Any
mat44ub: Any
vec2s: Any
vec3s: Any
vec4s: Any
mat22s: Any
mat33s: Any
mat44s: Any
vec2us: Any
vec3us: Any
vec4us: Any
mat22us: Any
mat33us: Any
mat44us: Any
vec2i: Any
vec3i: Any
vec4i: Any
mat22i: Any
mat33i: Any
mat44i: Any
vec2ui: Any
vec3ui: Any
vec4ui: Any
mat22ui: Any
mat33ui: Any
mat44ui: Any
vec2l: Any
vec3l: Any
vec4l: Any
mat22l: Any
mat33l: Any
mat44l: Any
vec2ul: Any
vec3ul: Any
vec4ul: Any
mat22ul: Any
mat33ul: Any
mat44ul: Any

__all__ = [
    "e",
    "inf",
    "nan",
    "pi",
    "tau",
    "config",
    "DeterministicMode",
    "E",
    "INF",
    "NAN",
    "PI",
    "TAU",
    "half_pi",
    "HALF_PI",
    "ln2",
    "ln10",
    "phi",
    "log2e",
    "log10e",
    "LN2",
    "LN10",
    "LOG2E",
    "LOG10E",
    "PHI",
    "grad",
    "adjoint",
    "cast",
    "constant",
    "select",
    "static",
    "len",
    "print",
    "Function",
    "func",
    "func_grad",
    "func_replay",
    "func_native",
    "eig3",
    "qr3",
    "svd2",
    "svd3",
    "closest_point_edge_edge",
    "intersect_tri_tri",
    "curlnoise",
    "noise",
    "pnoise",
    "quat_between_vectors",
    "quat_from_axis_angle",
    "quat_from_euler",
    "quat_from_matrix",
    "quat_identity",
    "quat_inverse",
    "quat_rotate",
    "quat_rotate_inv",
    "quat_rpy",
    "quat_slerp",
    "quat_to_axis_angle",
    "quat_to_euler",
    "quat_to_matrix",
    "quat_to_rpy",
    "quat_twist",
    "quat_twist_angle",
    "quat_twist_angle_signed",
    "poisson",
    "rand_init",
    "randf",
    "randi",
    "randn",
    "randu",
    "lower_bound",
    "sample_cdf",
    "sample_triangle",
    "sample_unit_cube",
    "sample_unit_disk",
    "sample_unit_hemisphere",
    "sample_unit_hemisphere_surface",
    "sample_unit_ring",
    "sample_unit_sphere",
    "sample_unit_sphere_surface",
    "sample_unit_square",
    "spatial_adjoint",
    "spatial_bottom",
    "spatial_cross",
    "spatial_cross_dual",
    "spatial_dot",
    "spatial_top",
    "velocity_at_point",
    "erfcinv",
    "erfinv",
    "transform_compose",
    "transform_decompose",
    "transform_from_matrix",
    "transform_get_rotation",
    "transform_get_translation",
    "transform_identity",
    "transform_inverse",
    "transform_multiply",
    "transform_point",
    "transform_set_rotation",
    "transform_set_translation",
    "transform_to_matrix",
    "transform_twist",
    "transform_vector",
    "transform_wrench",
    "abs",
    "acos",
    "add",
    "argmax",
    "argmin",
    "asin",
    "atan",
    "atan2",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exch",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "bit_and",
    "bit_count",
    "bit_or",
    "bit_xor",
    "block_dim",
    "cbrt",
    "ceil",
    "clamp",
    "copysign",
    "cos",
    "cosh",
    "cross",
    "cw_div",
    "cw_mul",
    "ddot",
    "degrees",
    "determinant",
    "diag",
    "div",
    "dot",
    "erf",
    "erfc",
    "exp",
    "expect_eq",
    "expect_near",
    "expect_neq",
    "floor",
    "floordiv",
    "frac",
    "get_diag",
    "identity",
    "inverse",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "length",
    "length_sq",
    "lerp",
    "load",
    "log",
    "log10",
    "log2",
    "lshift",
    "matrix",
    "matrix_from_cols",
    "matrix_from_rows",
    "max",
    "min",
    "mod",
    "mul",
    "neg",
    "nonzero",
    "norm_huber",
    "norm_l1",
    "norm_l2",
    "norm_pseudo_huber",
    "normalize",
    "outer",
    "pos",
    "pow",
    "printf",
    "quaternion",
    "radians",
    "rint",
    "round",
    "rshift",
    "sign",
    "sin",
    "sinh",
    "skew",
    "smooth_normalize",
    "smoothstep",
    "sqrt",
    "step",
    "store",
    "sub",
    "tan",
    "tanh",
    "tid",
    "trace",
    "transformation",
    "transpose",
    "trunc",
    "unot",
    "vector",
    "view",
    "where",
    "breakpoint",
    "div_approx",
    "inverse_approx",
    "array1d",
    "array2d",
    "array3d",
    "array4d",
    "fixedarray",
    "indexedarray1d",
    "indexedarray2d",
    "indexedarray3d",
    "indexedarray4d",
    "array",
    "clone",
    "copy",
    "dtype_from_numpy",
    "dtype_to_numpy",
    "empty",
    "empty_like",
    "from_dlpack",
    "from_numpy",
    "from_ptr",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "to_dlpack",
    "zeros",
    "zeros_like",
    "checkpoint",
    "ScopedMempool",
    "ScopedMempoolAccess",
    "ScopedPeerAccess",
    "get_cuda_driver_version",
    "get_mempool_release_threshold",
    "get_mempool_used_mem_current",
    "get_mempool_used_mem_high",
    "is_mempool_access_enabled",
    "is_mempool_access_supported",
    "is_mempool_enabled",
    "is_mempool_supported",
    "is_peer_access_enabled",
    "is_peer_access_supported",
    "set_mempool_access_enabled",
    "set_mempool_enabled",
    "set_mempool_release_threshold",
    "set_peer_access_enabled",
    "Device",
    "DeviceLike",
    "ScopedDevice",
    "get_cuda_device",
    "get_cuda_device_count",
    "get_cuda_devices",
    "get_device",
    "get_devices",
    "get_preferred_device",
    "is_cpu_available",
    "is_cuda_available",
    "is_device_available",
    "set_device",
    "synchronize",
    "synchronize_device",
    "Launch",
    "capture_if",
    "capture_while",
    "is_conditional_graph_supported",
    "LOG_DEBUG",
    "LOG_ERROR",
    "LOG_INFO",
    "LOG_WARNING",
    "Logger",
    "ScopedLogLevel",
    "ScopedLogger",
    "get_logger",
    "set_logger",
    "ScopedCudaProfiler",
    "TIMING_ALL",
    "TIMING_GRAPH",
    "TIMING_KERNEL",
    "TIMING_KERNEL_BUILTIN",
    "TIMING_MEMCPY",
    "TIMING_MEMSET",
    "TimingResult",
    "can_access",
    "cuda_profiler_start",
    "cuda_profiler_stop",
    "get_cuda_supported_archs",
    "get_cuda_toolkit_version",
    "is_cubql_available",
    "map_cuda_device",
    "timing_begin",
    "timing_end",
    "timing_print",
    "unmap_cuda_device",
    "Graph",
    "ScopedCapture",
    "capture_begin",
    "capture_end",
    "capture_launch",
    "indexedarray",
    "Kernel",
    "kernel",
    "overload",
    "Module",
    "force_load",
    "get_module",
    "get_module_options",
    "load_module",
    "set_module_options",
    "launch",
    "map",
    "clear_kernel_cache",
    "init",
    "set_num_threads",
    "Event",
    "ScopedStream",
    "Stream",
    "get_event_elapsed_time",
    "get_stream",
    "record_event",
    "set_stream",
    "synchronize_event",
    "synchronize_stream",
    "wait_event",
    "wait_stream",
    "Tape",
    "ScopedTimer",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "handle",
    "ref",
    "Float",
    "Int",
    "Scalar",
    "struct",
    "print_diagnostics",
    "WarpCodegenError",
    "WarpCodegenTypeError",
    "WarpCodegenValueError",
    "WarpCodegenAttributeError",
    "WarpCodegenIndexError",
    "WarpCodegenKeyError",
    "WarpDeterminismError",
    "Bvh",
    "BvhQuery",
    "BvhQueryAabb",
    "BvhQueryCapsule",
    "BvhQueryRay",
    "BvhQuerySphere",
    "bvh_get_group_root",
    "bvh_query_aabb",
    "bvh_query_capsule",
    "bvh_query_next",
    "bvh_query_ray",
    "bvh_query_sphere",
    "HashGrid",
    "HashGridNeighbors",
    "HashGridNeighborsD",
    "hash_grid_neighbors",
    "hash_grid_neighbors_next",
    "nearest_image",
    "HashGridQuery",
    "HashGridQueryD",
    "hash_grid_point_id",
    "hash_grid_query",
    "hash_grid_query_next",
    "MarchingCubes",
    "Mesh",
    "MeshData",
    "mesh_eval_face_normal",
    "mesh_eval_position",
    "mesh_eval_velocity",
    "mesh_get",
    "mesh_get_group_root",
    "mesh_get_index",
    "mesh_get_point",
    "mesh_get_velocity",
    "load_mesh",
    "mesh_from_file",
    "MeshQuery",
    "MeshQueryAABB",
    "MeshQuerySphere",
    "mesh_query_aabb",
    "mesh_query_aabb_next",
    "mesh_query_next",
    "mesh_query_sphere",
    "MeshQueryPoint",
    "mesh_query_furthest_point_no_sign",
    "mesh_query_point",
    "mesh_query_point_no_sign",
    "mesh_query_point_sign_normal",
    "mesh_query_point_sign_parity",
    "mesh_query_point_sign_winding_number",
    "MeshQueryRay",
    "mesh_query_ray",
    "mesh_query_ray_anyhit",
    "mesh_query_ray_count_intersections",
    "mesh_to_volume",
    "Volume",
    "volume_sample_grad_index",
    "volume_sample_index",
    "volume_lookup",
    "volume_lookup_f",
    "volume_lookup_i",
    "volume_lookup_index",
    "volume_lookup_v",
    "volume_store",
    "volume_store_f",
    "volume_store_i",
    "volume_store_v",
    "volume_voxel_count",
    "volume_sample_local",
    "volume_sample_world",
    "volume_transform",
    "volume_transform_inv",
    "volume_sample",
    "volume_sample_f",
    "volume_sample_grad",
    "volume_sample_grad_f",
    "volume_sample_grad_v",
    "volume_sample_i",
    "volume_sample_v",
    "volume_index_to_world",
    "volume_index_to_world_dir",
    "volume_world_to_index",
    "volume_world_to_index_dir",
    "autograd",
    "types",
    "utils",
    "vec2",
    "vec3",
    "vec4",
    "mat22",
    "mat33",
    "mat44",
    "quat",
    "transform",
    "spatial_vector",
    "spatial_matrix",
    "vec2f",
    "vec3f",
    "vec4f",
    "mat22f",
    "mat33f",
    "mat44f",
    "quatf",
    "transformf",
    "spatial_vectorf",
    "spatial_matrixf",
    "vec2d",
    "vec3d",
    "vec4d",
    "mat22d",
    "mat33d",
    "mat44d",
    "quatd",
    "transformd",
    "spatial_vectord",
    "spatial_matrixd",
    "vec2h",
    "vec3h",
    "vec4h",
    "mat22h",
    "mat33h",
    "mat44h",
    "quath",
    "transformh",
    "spatial_vectorh",
    "spatial_matrixh",
    "vec2b",
    "vec3b",
    "vec4b",
    "mat22b",
    "mat33b",
    "mat44b",
    "vec2ub",
    "vec3ub",
    "vec4ub",
    "mat22ub",
    "mat33ub",
    "mat44ub",
    "vec2s",
    "vec3s",
    "vec4s",
    "mat22s",
    "mat33s",
    "mat44s",
    "vec2us",
    "vec3us",
    "vec4us",
    "mat22us",
    "mat33us",
    "mat44us",
    "vec2i",
    "vec3i",
    "vec4i",
    "mat22i",
    "mat33i",
    "mat44i",
    "vec2ui",
    "vec3ui",
    "vec4ui",
    "mat22ui",
    "mat33ui",
    "mat44ui",
    "vec2l",
    "vec3l",
    "vec4l",
    "mat22l",
    "mat33l",
    "mat44l",
    "vec2ul",
    "vec3ul",
    "vec4ul",
    "mat22ul",
    "mat33ul",
    "mat44ul",
]
