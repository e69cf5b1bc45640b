"""Every public name exists, says what it does, and is listed in `__all__`.

The table below is the promise to users: names follow NVIDIA Warp's, so that a script written as
`import warp as wp` runs after `import warpsim as wp`. Removing a name means removing it here first.
"""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import stub_file

import warpsim as wp
from warpsim import names
from warpsim.core.types.compounds import standard_names

ROOT = Path(__file__).resolve().parents[1]

SCALARS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
COMPOUND_KINDS = ("vec2", "vec3", "vec4", "mat22", "mat33", "mat44")
COMPOUND_SUFFIXES = ("", "h", "f", "d", "i", "ui", "l", "ul", "s", "us", "b", "ub")
FLOAT_KINDS = ("quat", "transform", "spatial_vector", "spatial_matrix")
FLOAT_SUFFIXES = ("", "h", "f", "d")

NAMES = {
    "types": """
        array array1d array2d array3d array4d indexedarray struct constant static overload address_of
        Scalar Float Int vector matrix matrix_from_rows matrix_from_cols identity quaternion
        transformation types""",
    "scalar functions": """
        abs acos add argmax argmin asin atan atan2 bit_and bit_count bit_or bit_xor cbrt ceil clamp
        copysign cos cosh degrees div erf erfc erfcinv erfinv exp floor floordiv frac invert isfinite
        isinf isnan lerp log log10 log2 lshift max min mod mul neg nonzero pos pow radians rint round
        rshift sign sin sinh smoothstep sqrt step sub tan tanh trunc unot where select""",
    "vectors and matrices": """
        cross cw_div cw_mul ddot determinant diag dot eig3 get_diag inverse length length_sq normalize
        smooth_normalize norm_l1 norm_l2 norm_huber norm_pseudo_huber outer qr3 skew svd2 svd3 trace
        transpose""",
    "rotations and rigid motion": """
        quat_identity quat_from_axis_angle quat_to_axis_angle quat_from_matrix quat_to_matrix
        quat_from_euler quat_to_euler quat_rpy quat_to_rpy quat_inverse quat_rotate quat_rotate_inv
        quat_slerp quat_twist quat_twist_angle quat_between_vectors transform_identity
        transform_get_translation transform_set_translation transform_get_rotation
        transform_set_rotation transform_multiply transform_inverse transform_point transform_vector
        transform_from_matrix transform_to_matrix transform_compose transform_decompose
        transform_twist transform_wrench spatial_dot spatial_cross spatial_cross_dual spatial_top
        spatial_bottom spatial_adjoint velocity_at_point""",
    "random numbers and noise": """
        rand_init randi randu randf randn poisson sample_cdf sample_triangle sample_unit_ring
        sample_unit_disk sample_unit_sphere sample_unit_sphere_surface sample_unit_hemisphere
        sample_unit_hemisphere_surface sample_unit_square sample_unit_cube noise pnoise curlnoise""",
    "memory and debugging": """
        load store view atomic_add atomic_sub atomic_min atomic_max atomic_cas atomic_exch atomic_and
        atomic_or atomic_xor lower_bound cast zeros expect_near expect_eq printf breakpoint tid
        block_dim""",
    "kernels": """
        init kernel func Kernel Function Module launch Launch map get_module load_module force_load
        set_module_options get_module_options clear_kernel_cache config utils""",
    "arrays": """
        zeros ones full empty zeros_like ones_like full_like empty_like clone copy from_numpy from_ptr
        from_dlpack dtype_from_numpy dtype_to_numpy""",
    "devices, streams, graphs": """
        Device get_device get_devices set_device ScopedDevice is_cpu_available is_cuda_available
        get_preferred_device synchronize synchronize_device synchronize_stream synchronize_event
        Stream Event ScopedStream get_stream set_stream record_event wait_event wait_stream
        capture_begin capture_end capture_launch ScopedCapture ScopedTimer get_cuda_device get_cuda_devices
        get_cuda_device_count is_cuda_available get_cuda_driver_version is_peer_access_supported
        is_peer_access_enabled set_peer_access_enabled is_mempool_supported is_mempool_enabled set_mempool_enabled
        is_mempool_access_supported is_mempool_access_enabled set_mempool_access_enabled
        get_mempool_release_threshold set_mempool_release_threshold get_mempool_used_mem_current
        get_mempool_used_mem_high ScopedMempool ScopedMempoolAccess ScopedPeerAccess""",
    "neighbours and boxes": """
        HashGrid HashGridQuery HashGridQueryD hash_grid_query hash_grid_query_next hash_grid_point_id
        HashGridNeighbors HashGridNeighborsD hash_grid_neighbors hash_grid_neighbors_next nearest_image
        Bvh BvhQueryAabb BvhQuerySphere BvhQueryRay BvhQueryCapsule bvh_query_aabb
        bvh_query_sphere bvh_query_ray bvh_query_capsule bvh_query_next bvh_get_group_root""",
    "meshes": """
        Mesh MeshData MeshQueryPoint MeshQueryRay MeshQueryAABB MeshQuerySphere mesh_query_point
        mesh_query_point_no_sign mesh_query_point_sign_normal mesh_query_point_sign_winding_number
        mesh_query_point_sign_parity mesh_query_furthest_point_no_sign mesh_query_ray
        mesh_query_ray_anyhit mesh_query_ray_count_intersections mesh_query_aabb mesh_query_aabb_next
        mesh_query_sphere mesh_query_next mesh_eval_position mesh_eval_velocity mesh_eval_face_normal
        mesh_get mesh_get_point mesh_get_velocity mesh_get_index closest_point_edge_edge
        intersect_tri_tri""",
    "volumes": """
        Volume volume_sample volume_sample_f volume_sample_v volume_sample_i volume_sample_index
        volume_sample_grad volume_sample_grad_f volume_sample_grad_v volume_sample_grad_index
        volume_lookup volume_lookup_f volume_lookup_v volume_lookup_i volume_lookup_index volume_store
        volume_store_f volume_store_v volume_store_i volume_voxel_count volume_world_to_index
        volume_index_to_world volume_world_to_index_dir volume_index_to_world_dir volume_sample_world
        volume_sample_local volume_transform volume_transform_inv""",
    "surfaces from fields and files": "MarchingCubes load_mesh mesh_from_file mesh_to_volume",
}

MEMBERS = {
    "array": """
        numpy list fill_ zero_ assign reshape flatten transpose view contiguous to grad requires_grad
        shape strides ndim size dtype device ptr is_contiguous __len__ __getitem__ __setitem__ __array__
        __array_interface__ __dlpack__ __dlpack_device__""",
    "indexedarray": "numpy shape dtype fill_ zero_ contiguous",
    "Launch": "set_dim set_param_at_index set_param_by_name set_params launch",
    "Kernel": "key module",
    "utils": """
        array_scan array_sum array_inner radix_sort_pairs segmented_sort_pairs runlength_encode
        array_cast""",
    "sparse": """
        BsrMatrix bsr_matrix_t bsr_zeros bsr_from_triplets bsr_set_from_triplets bsr_compress bsr_assign bsr_copy
        bsr_set_zero bsr_diag bsr_set_diag bsr_get_diag bsr_identity bsr_set_identity bsr_scale bsr_transposed
        bsr_set_transpose bsr_axpy bsr_mm bsr_mv bsr_row_index bsr_block_index bsr_from_scipy bsr_to_scipy""",
    "fft": "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftfreq rfftfreq fft_index from_complex to_complex",
    "types": "vector matrix quaternion transformation",
    "HashGrid": "id build reserve",
    "Bvh": "id refit rebuild",
    "Mesh": "id refit rebuild points velocities indices",
    "Volume": """
        CLOSEST LINEAR id load_from_nvdb load_next_grid save_to_nvdb load_from_numpy to_numpy allocate
        allocate_by_tiles allocate_by_voxels dtype is_index array get_grid_info get_voxel_size
        get_tile_count get_tiles get_voxel_count get_voxels get_active_stats get_feature_array_count
        rebuild is_rebuildable get_rebuild_info RebuildInfo
        get_feature_array_info feature_array GridInfo FeatureArrayInfo ActiveStats""",
    "config": """
        verify dump fast_math kernel_cache_dir enable_backward max_unroll log_level deterministic""",
}

# Owners whose members exist on an instance only.
INSTANCES = {
    "array": lambda: wp.zeros(2, device="cpu"),  # elsewhere it has other protocols
    "indexedarray": lambda: wp.indexedarray(wp.zeros(4), [wp.array([0, 2], dtype=int)]),
    "Kernel": lambda: nothing,
    "HashGrid": lambda: wp.HashGrid(1, 1, 1),
    "Bvh": lambda: wp.Bvh(wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=wp.vec3)),
    "Mesh": lambda: wp.Mesh(wp.zeros(3, dtype=wp.vec3), wp.array([0, 1, 2], dtype=int)),
}


@wp.kernel
def nothing():
    pass


WORDS = [name for names in NAMES.values() for name in names.split()]
COMPOUNDS = [kind + suffix for kind in COMPOUND_KINDS for suffix in COMPOUND_SUFFIXES]
COMPOUNDS += [kind + suffix for kind in FLOAT_KINDS for suffix in FLOAT_SUFFIXES]


@pytest.mark.parametrize("name", WORDS)
def test_the_name_is_public(name):
    assert hasattr(wp, name)
    assert name in wp.__all__


@pytest.mark.parametrize("name", WORDS)
def test_the_name_says_what_it_is(name):
    value = getattr(wp, name)
    rows = getattr(value, "rows", None)
    texts = [row.doc for row in rows] if rows else [inspect.getdoc(value)]
    assert all(text and text.strip() for text in texts), f"wp.{name} has no docstring"


@pytest.mark.parametrize("name", [*SCALARS.split(), *COMPOUNDS])
def test_the_type_is_public_and_makes_values(name):
    t = getattr(wp, name)
    assert name in wp.__all__
    assert type(t(0)) is t if name in SCALARS.split() else isinstance(t(), t)


@pytest.mark.parametrize("owner", MEMBERS)
def test_members_exist(owner):
    value = INSTANCES[owner]() if owner in INSTANCES else getattr(wp, owner)
    missing = [name for name in MEMBERS[owner].split() if not hasattr(value, name)]
    assert missing == []


@wp.func
def rest(query: wp.HashGridQuery) -> int:
    total = int(0)
    for index in query:
        total += index
    return total


@wp.func(overload_of=rest)
def rest(query: wp.HashGridQueryD) -> int:
    total = int(0)
    for index in query:
        total += 10 * index
    return total


@wp.func(overload_of=rest)
def rest(query: wp.HashGridNeighbors) -> int:
    total = int(0)
    for index in query:
        total += 100 * index
    return total


@wp.func(overload_of=rest)
def rest(query: wp.HashGridNeighborsD) -> int:
    total = int(0)
    for index in query:
        total += 1000 * index
    return total


@wp.kernel
def hand_over_queries(single: wp.uint64, double: wp.uint64, out: wp.array(dtype=int)):
    out[0] = rest(wp.hash_grid_query(single, wp.vec3(), 1.0))
    out[1] = rest(wp.hash_grid_query(double, wp.vec3d(), wp.float64(1.0)))
    out[2] = rest(wp.hash_grid_neighbors(single, wp.vec3(), 1.0))
    out[3] = rest(wp.hash_grid_neighbors(double, wp.vec3d(), wp.float64(1.0)))


def test_types_of_queries_annotate_functions():
    grids = [wp.HashGrid(8, 8, 8, dtype=t) for t in (wp.float32, wp.float64)]
    for grid, t in zip(grids, (wp.vec3, wp.vec3d), strict=True):
        grid.build(wp.array([[0.5, 0, 0], [3.0, 0, 0], [0, 1.9, 0], [0, 0, 0.1]], dtype=t), 1.0)
    out = wp.zeros(4, dtype=int)
    wp.launch(hand_over_queries, 1, [grid.id for grid in grids] + [out])
    assert out.numpy().tolist() == [5, 50, 300, 3000]


def test_all_is_the_truth():
    assert len(set(wp.__all__)) == len(wp.__all__)
    assert all(hasattr(wp, name) for name in wp.__all__)
    leaked = [n for n in wp.__all__ if inspect.ismodule(getattr(wp, n)) and n not in ("autograd", "types", "utils")]
    assert leaked == []


def test_the_face_only_gathers():
    """`warpsim/__init__.py` defines no function and no class: each name has a home of its own."""
    tree = ast.parse((ROOT / "warpsim" / "__init__.py").read_text(encoding="utf-8"))
    defined = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    assert defined == []


def test_an_unknown_switch_is_refused_with_the_known_ones():
    with pytest.raises(wp.errors.WarpsimError, match=r"config has no switch 'verfy'[\s\S]*verify"):
        wp.config.verfy = True
    with pytest.raises(wp.errors.WarpsimError, match=r"config\.verify = 'maybe'\nexpected: True or False"):
        wp.config.verify = "maybe"


def test_the_access_mode_of_launches_is_one_of_its_enumeration(monkeypatch):
    modes = wp.config.LaunchArrayAccessMode
    assert wp.config.launch_array_access_mode is modes.RELAXED
    for mode in modes:
        monkeypatch.setattr(wp.config, "launch_array_access_mode", mode)
        assert wp.config.launch_array_access_mode is mode
    for other in (0, 1, 2, 5, False, "checked", None, wp.config.DeterministicMode.RUN_TO_RUN):
        with pytest.raises(ValueError, match="launch_array_access_mode"):
            wp.config.launch_array_access_mode = other
    assert wp.config.launch_array_access_mode is mode


def loaded_by(code):
    """The modules of warpsim that a program has loaded at its end."""
    program = f"import sys, warpsim as wp\n{code}\nprint(*(m for m in sys.modules if m.startswith('warpsim.')))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return shown.split()


def test_an_import_loads_the_list_of_names_alone():
    assert loaded_by("") == [
        "warpsim.errors",
        "warpsim.warp",
        "warpsim.warp.absent",
        "warpsim.names",
        "warpsim.config",
        "warpsim.warp.switches",
    ]


def test_a_kernel_loads_neither_geometry_nor_the_library_of_kernel_functions():
    loaded = loaded_by("wp.launch, wp.zeros, wp.Tape, wp.sin, wp.vec3")
    late = ("warpsim.geometry", "warpsim.core.lib.", "warpsim.autograd", "warpsim.optim", "warpsim.plot", "warpsim.usd")
    assert [m for m in loaded if m.startswith(late)] == []


def test_the_module_of_a_name_is_loaded_when_it_is_asked_for():
    assert "warpsim.geometry.mesh.mesh" in loaded_by("wp.Mesh")
    assert "warpsim.optim.adam" in loaded_by("wp.optim.Adam")


def test_the_vectors_and_matrices_of_the_list_are_those_that_exist():
    assert sorted(names.COMPOUNDS) == sorted(standard_names())


def test_a_mistyped_name_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'hash_grid_qeury'\nhelp: did you mean 'hash_grid_query"):
        _ = wp.hash_grid_qeury
    with pytest.raises(AttributeError, match=r"has no attribute 'something_else_entirely'$"):
        _ = wp.something_else_entirely


def test_completion_shows_the_parameters_of_built_in_functions():
    assert str(inspect.signature(wp.sin)) == "(x)"
    assert str(inspect.signature(wp.lerp)) == "(a, b, t)"


def test_the_stub_is_made_from_the_list(request):
    path = ROOT / "warpsim" / "__init__.pyi"
    if request.config.getoption("--update-golden"):
        path.write_text(stub_file.stub(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == stub_file.stub(), "run pytest tests/test_public_api.py --update-golden"


@pytest.mark.parametrize("name", names.OPTIONAL)
def test_names_of_frameworks_are_there_or_say_what_to_install(name):
    assert name in dir(wp) and name not in wp.__all__, "`from warpsim import *` loads no framework"
    try:
        assert getattr(wp, name).__doc__
    except wp.errors.MissingPackageError as error:
        assert "pip install" in str(error)


def test_a_framework_that_is_missing():
    code = "import sys; sys.modules['torch'] = None; import warpsim; warpsim.from_torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "MissingPackageError: warpsim.from_torch needs the package 'torch'" in done.stderr
