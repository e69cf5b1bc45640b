"""The public names of warpsim and the modules that define them.

`import warpsim` loads next to nothing: the module of a name is loaded when the name is first asked for. From this list
follow what `warpsim` offers, `from warpsim import *`, and the stub that editors and type checkers read.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from .errors import MissingPackageError
from .warp import absent

NAMES = {
    "core.frontend.rules.addresses": "address_of",
    "core.frontend.functions.derivatives": "grad",
    "core.frontend.translate.forms": "adjoint cast constant select static len=length print=print_",
    "core.frontend.functions.functions": "Function=Func func",
    "core.frontend.functions.gradients": "func_grad func_replay",
    "core.frontend.functions.native": "func_native",
    "core.lib.decompose": "eig3 qr3 svd2 svd3",
    "core.lib.dense": (
        "dense_chol dense_chol_batched dense_gemm dense_gemm_batched dense_solve dense_solve_batched dense_subs"
    ),
    "core.lib.closest": "closest_point_edge_edge",
    "core.lib.intersect": "intersect_tri_tri",
    "core.lib.noise": "curlnoise noise pnoise",
    "core.lib.quaternions": (
        "quat_between_vectors quat_from_axis_angle quat_from_euler quat_from_matrix quat_identity quat_inverse "
        "quat_rotate quat_rotate_inv quat_rpy quat_slerp quat_to_axis_angle quat_to_euler quat_to_matrix quat_to_rpy "
        "quat_twist quat_twist_angle quat_twist_angle_signed"
    ),
    "core.lib.random": "poisson rand_init randf randi randn randu",
    "core.lib.sampling": (
        "lower_bound sample_cdf sample_triangle sample_unit_cube sample_unit_disk sample_unit_hemisphere "
        "sample_unit_hemisphere_surface sample_unit_ring sample_unit_sphere sample_unit_sphere_surface "
        "sample_unit_square"
    ),
    "core.lib.spatial": (
        "spatial_adjoint spatial_bottom spatial_cross spatial_cross_dual spatial_dot spatial_top velocity_at_point"
    ),
    "core.lib.special": "erfcinv erfinv",
    "core.lib.tile_algebra": (
        "tile_axpy tile_cholesky tile_cholesky_inplace tile_cholesky_solve tile_cholesky_solve_inplace tile_diag_add "
        "tile_dot tile_lower_solve tile_lower_solve_inplace tile_matmul tile_upper_solve tile_upper_solve_inplace"
    ),
    "core.lib.tile_order": "tile_sort",
    "core.lib.tile_random": "tile_randf tile_randi",
    "core.lib.tiles": (
        "tile_scan_exclusive tile_scan_inclusive tile_scan_max_inclusive tile_scan_min_inclusive untile"
    ),
    "core.frontend.rules.tiles": "tile",
    "core.frontend.tiles.shapes": (
        "tile_assign tile_broadcast tile_reshape tile_slice_indexed tile_squeeze tile_transpose tile_view"
    ),
    "core.frontend.tiles.scatter": "tile_scatter_add tile_scatter_masked",
    "core.frontend.tiles.stack": "tile_stack tile_stack_clear tile_stack_count tile_stack_pop tile_stack_push",
    "core.frontend.tiles.arithmetic": (
        "tile_argmax tile_argmin tile_astype tile_extract tile_map tile_max tile_min tile_reduce tile_sum"
    ),
    "core.frontend.tiles.memory": (
        "tile_arange tile_atomic_add tile_atomic_add_indexed tile_empty tile_from_thread tile_full tile_load "
        "tile_load_indexed tile_ones tile_store tile_store_indexed tile_zeros"
    ),
    "core.lib.transforms": (
        "transform_compose transform_decompose transform_from_matrix transform_get_rotation transform_get_translation "
        "transform_identity transform_inverse transform_multiply transform_point transform_set_rotation "
        "transform_set_translation transform_to_matrix transform_twist transform_vector transform_wrench"
    ),
    "core.ops": (
        "abs acos add argmax argmin asin atan atan2 atomic_add atomic_and atomic_cas atomic_exch atomic_max atomic_min "
        "atomic_or atomic_sub atomic_xor bit_and bit_count bit_or bit_xor block_dim cbrt ceil clamp copysign cos cosh "
        "cross cw_div cw_mul ddot degrees determinant diag div dot erf erfc exp expect_eq expect_near expect_neq floor "
        "floordiv frac get_diag identity inverse invert isfinite isinf isnan length length_sq lerp load log log10 log2 "
        "lshift matrix matrix_from_cols matrix_from_rows max min mod mul neg nonzero norm_huber norm_l1 norm_l2 "
        "norm_pseudo_huber normalize outer pos pow printf quaternion radians rint round rshift sign sin sinh skew "
        "smooth_normalize smoothstep sqrt step store sub tan tanh tid trace transform_expand transformation transpose "
        "trunc unot vector view where breakpoint=breakpoint_ div_approx=div inverse_approx=inverse"
    ),
    "core.runtime.arrays.annotations": (
        "array1d array2d array3d array4d fixedarray indexedarray1d indexedarray2d indexedarray3d indexedarray4d"
    ),
    "core.runtime.arrays.array": "array",
    "core.runtime.arrays.creation": (
        "clone copy dtype_from_numpy dtype_to_numpy empty empty_like from_dlpack from_numpy from_ptr full full_like "
        "ones ones_like to_dlpack zeros zeros_like"
    ),
    "core.runtime.rollout.checkpoint": "checkpoint",
    "core.runtime.devices.cuda.access": (
        "ScopedMempool ScopedMempoolAccess ScopedPeerAccess get_cuda_driver_version get_mempool_release_threshold "
        "get_mempool_used_mem_current get_mempool_used_mem_high is_mempool_access_enabled is_mempool_access_supported "
        "is_mempool_enabled is_mempool_supported is_peer_access_enabled is_peer_access_supported "
        "set_mempool_access_enabled set_mempool_enabled set_mempool_release_threshold set_peer_access_enabled"
    ),
    "core.runtime.devices.allocators": (
        "ScopedAllocator get_device_allocator set_cuda_allocator set_device_allocator"
    ),
    "core.runtime.devices.allotted": "Allocator",
    "core.runtime.devices.cuda.managed": "CudaManagedAllocator",
    "core.runtime.devices.memory_kinds": "MemoryKind",
    "core.runtime.devices.device": (
        "Device DeviceLike ScopedDevice get_cuda_device get_cuda_device_count get_cuda_devices get_device get_devices "
        "get_preferred_device is_cpu_available is_cuda_available is_device_available set_device synchronize "
        "synchronize_device"
    ),
    "core.runtime.commands.command": "Launch",
    "core.runtime.commands.conditional": "capture_if capture_while is_conditional_graph_supported",
    "warp.logger": (
        "LOG_DEBUG LOG_ERROR LOG_INFO LOG_WARNING Logger ScopedLogLevel ScopedLogger get_logger set_logger"
    ),
    "warp.profiling": (
        "ScopedCudaProfiler TIMING_ALL TIMING_GRAPH TIMING_KERNEL TIMING_KERNEL_BUILTIN TIMING_MEMCPY TIMING_MEMSET "
        "TimingResult can_access cuda_profiler_start cuda_profiler_stop get_cuda_supported_archs "
        "get_cuda_toolkit_version is_cubql_available map_cuda_device timing_begin timing_end timing_print "
        "unmap_cuda_device"
    ),
    "warp.captures": "CaptureMode ScopedCapture capture_begin capture_end",
    "core.runtime.commands.dot": "capture_debug_dot_print",
    "core.runtime.commands.graph": "Graph capture_launch",
    "core.graph_files.files": "capture_load capture_load_from_bytes capture_save",
    "warp.fabric": "fabricarray indexedfabricarray",
    "warp.fabric_rows": "fabricarrayarray indexedfabricarrayarray",
    "core.runtime.arrays.memory_tracker": "ScopedMemoryTracker print_memory_report",
    "core.runtime.arrays.indexed": "indexedarray",
    "core.runtime.launches.kernel": "Kernel kernel kernel_from_source overload",
    "core.runtime.launches.kernel_properties": (
        "get_cpu_kernel_cache_key get_cuda_kernel_properties get_suggested_block_size"
    ),
    "core.runtime.launches.modules": (
        "Module force_load get_module get_module_options load_module set_module_options"
    ),
    "core.runtime.launch": "launch launch_tiled",
    "core.runtime.map": "map",
    "core.runtime.launches.session": "clear_kernel_cache init set_num_threads",
    "profiling.profile": "Profile profile",
    "core.runtime.devices.stream": (
        "Event ScopedStream Stream get_event_elapsed_time get_stream record_event set_stream synchronize_event "
        "synchronize_stream wait_event wait_stream"
    ),
    "core.runtime.tape.tape": "Tape",
    "core.runtime.tape.timer": "ScopedTimer",
    "core.types.scalars": (
        "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool=bool_ handle=uint64"
    ),
    "core.types.references": "ref",
    "core.types.signatures": "Float Int Scalar",
    "core.types.structs": "struct",
    "diagnostics": "print_diagnostics",
    "errors": (
        "WarpCodegenError=KernelError WarpCodegenTypeError=KernelError WarpCodegenValueError=KernelError "
        "WarpCodegenAttributeError=KernelError WarpCodegenIndexError=KernelError WarpCodegenKeyError=KernelError "
        "WarpDeterminismError=LaunchError"
    ),
    "geometry.bvh.bvh": "Bvh",
    "geometry.bvh.query": (
        "BvhQuery BvhQueryAabb BvhQueryCapsule BvhQueryRay BvhQuerySphere bvh_get_group_root bvh_query_aabb "
        "bvh_query_capsule bvh_query_next bvh_query_ray bvh_query_sphere"
    ),
    "geometry.hash_grid.hash_grid": "HashGrid",
    "geometry.hash_grid.neighbors": (
        "HashGridNeighbors HashGridNeighborsD hash_grid_neighbors hash_grid_neighbors_next nearest_image"
    ),
    "geometry.hash_grid.query": "HashGridQuery HashGridQueryD hash_grid_point_id hash_grid_query hash_grid_query_next",
    "geometry.marching_cubes.marching_cubes": "MarchingCubes",
    "geometry.mesh.mesh": "Mesh",
    "geometry.mesh.data": "MeshData",
    "geometry.mesh.eval": (
        "mesh_eval_face_normal mesh_eval_position mesh_eval_velocity mesh_get mesh_get_group_root mesh_get_index "
        "mesh_get_point mesh_get_velocity"
    ),
    "geometry.mesh.files": "load_mesh mesh_from_file",
    "geometry.mesh.overlap": (
        "MeshQuery MeshQueryAABB MeshQuerySphere mesh_query_aabb mesh_query_aabb_next mesh_query_next mesh_query_sphere"
    ),
    "geometry.mesh.tiled": (
        "MeshQueryAABBTiled mesh_query_aabb_next_tiled mesh_query_aabb_tiled tile_mesh_query_aabb "
        "tile_mesh_query_aabb_next tile_query_valid"
    ),
    "geometry.bvh.tiled": (
        "BvhQueryTiled bvh_query_aabb_tiled bvh_query_next_tiled bvh_query_ray_tiled tile_bvh_query_aabb "
        "tile_bvh_query_next tile_bvh_query_ray"
    ),
    "geometry.mesh.query": (
        "MeshQueryPoint mesh_query_furthest_point_no_sign mesh_query_point mesh_query_point_no_sign "
        "mesh_query_point_sign_normal mesh_query_point_sign_parity mesh_query_point_sign_winding_number"
    ),
    "geometry.mesh.ray": "MeshQueryRay mesh_query_ray mesh_query_ray_anyhit mesh_query_ray_count_intersections",
    "geometry.texture.modes": "TextureAddressMode TextureFilterMode",
    "geometry.texture.sample": "texture_sample",
    "geometry.texture.texture": "Texture Texture1D Texture2D Texture3D",
    "geometry.volume.from_mesh": "mesh_to_volume",
    "geometry.volume.volume": "Volume",
    "geometry.volume.index": "volume_sample_grad_index volume_sample_index",
    "geometry.volume.lookup": (
        "volume_lookup volume_lookup_f volume_lookup_i volume_lookup_index volume_lookup_v volume_store volume_store_f "
        "volume_store_i volume_store_v volume_voxel_count"
    ),
    "warp.older_volumes": "volume_sample_local volume_sample_world volume_transform volume_transform_inv",
    "geometry.volume.sample": (
        "volume_sample volume_sample_f volume_sample_grad volume_sample_grad_f volume_sample_grad_v volume_sample_i "
        "volume_sample_v"
    ),
    "geometry.volume.transform": (
        "volume_index_to_world volume_index_to_world_dir volume_world_to_index volume_world_to_index_dir"
    ),
}
"""What the modules below `warpsim` give: names, or `public=inner` where the module has another word for it."""

FRAMEWORKS = {
    "interop.torch.arrays": (
        "from_torch to_torch device_from_torch device_to_torch dtype_from_torch dtype_to_torch stream_from_torch "
        "stream_to_torch"
    ),
    "interop.torch.operator": "torch_op",
    "interop.jax.arrays": (
        "from_jax to_jax device_from_jax device_to_jax dtype_from_jax dtype_to_jax get_jax_device"
    ),
    "interop.paddle": (
        "from_paddle to_paddle device_from_paddle device_to_paddle dtype_from_paddle dtype_to_paddle stream_from_paddle"
    ),
    "interop.numba.from_numba": "from_numba",
    "interop.numba.to_numba": "to_numba",
    "interop.jax.frames": "register_ffi_callback",
    "interop.jax.kernel": "clear_jax_callable_graph_cache jax_callable jax_kernel",
    "interop.jax.modes": "JaxCallableGraphMode JaxModulePreloadMode",
}
"""The same of modules that import another framework; `from warpsim import *` leaves them out."""

MODULES = {
    "autograd": "autograd",
    "types": "types",
    "utils": "utils",
}
"""Modules that are public names."""

FURTHER = ("errors", "fem", "fft", "geometry", "optim", "plot", "record", "render", "solvers", "sparse", "usd")
FURTHER += ("viewer",)
"""Packages that need no import of their own either; `from warpsim import *` leaves them out."""

_OF_NUMBERS = ("vec2", "vec3", "vec4", "mat22", "mat33", "mat44")
_OF_FLOATS = ("quat", "transform", "spatial_vector", "spatial_matrix")
_FLOATS, _INTS = ("", "f", "d", "h"), ("b", "ub", "s", "us", "i", "ui", "l", "ul")

COMPOUNDS = (
    *(kind + suffix for suffix in _FLOATS for kind in (*_OF_NUMBERS, *_OF_FLOATS)),
    *(kind + suffix for suffix in _INTS for kind in _OF_NUMBERS),
)
"""vec3, mat33d, quath, transform, spatial_vector, ...: one table in `core.types.compounds` makes them all."""

HOME = {pair.partition("=")[0]: module for module, names in NAMES.items() for pair in names.split()}
_FRAMEWORKS = {name: module for module, names in FRAMEWORKS.items() for name in names.split()}
_INNER = dict(pair.split("=") for names in NAMES.values() for pair in names.split() if "=" in pair)

PUBLIC = (*HOME, *MODULES, *COMPOUNDS)
OPTIONAL = (*_FRAMEWORKS,)


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that a module of the face lacks: it may be one of the package, or have another name."""
    package, _, below = module.partition(".")
    cure = f"\nhelp: wp.{name}" if name in sys.modules[package].__all__ else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{absent.reason(f'{below}.{name}') or cure}")


def _similar(package: str, name: str) -> str:
    """The public name that is most like one that there is not. Tools ask every module for their private names."""
    if name.startswith("_"):
        return ""
    near = difflib.get_close_matches(name, [n for n in dir(sys.modules[package]) if n[:1] != "_"], 1)
    return f"\nhelp: did you mean {near[0]!r}?" if near else ""


def loader(namespace: dict[str, Any]) -> Callable[[str], Any]:
    """A `__getattr__` for the package with this namespace: it finds public names at home, and keeps them there.

    It raises `AttributeError` for other names, and `MissingPackageError` where a framework is not installed.
    """
    package = namespace["__name__"]

    def load(name: str) -> Any:
        if name in HOME:
            value = getattr(_module(HOME[name]), _INNER.get(name, name))
        elif name in _FRAMEWORKS:
            value = getattr(_module(_FRAMEWORKS[name], name), name)
        elif name in MODULES or name in FURTHER:
            value = _module(MODULES.get(name, name))
        elif name in COMPOUNDS:
            namespace.update(_module("core.types.compounds").standard_names())
            return namespace[name]
        else:
            help = absent.reason(name) or _similar(package, name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{help}")
        namespace[name] = value
        return value

    def _module(path: str, name: str = "") -> Any:
        try:
            with _loading:
                return importlib.import_module(f".{path}", package)
        except ModuleNotFoundError as error:
            if not name or error.name is None or error.name.startswith(package):
                raise
            missing = error.name.partition(".")[0]
            raise MissingPackageError(
                f"{package}.{name} needs the package {missing!r}, which is not installed\n"
                f"help: pip install {_PACKAGES.get(missing, missing)}"
            ) from error

    return load


_PACKAGES = {"paddle": "paddlepaddle"}  # which are called otherwise than their modules
_loading = threading.RLock()
_PATIENCE = 5.0  # [s]; the thread that imports could be waiting for the one that forks
_held: list[bool] = []  # whether the fork that is under way holds the lock


def _before_fork() -> None:
    """Let imports of other threads end: a child forked inside of one would wait for it for ever."""
    _held.append(_loading.acquire(timeout=_PATIENCE))


def _after_fork() -> None:
    if _held.pop():
        _loading.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
