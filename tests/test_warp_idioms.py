"""Idioms of recent scripts for Warp: each runs here, or an error says what is not here and what does its work."""

import importlib
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, KernelError, MissingPackageError

RUN = []


def runs(program):
    """Register a program that must run to its end."""
    RUN.append(program)
    return program


class Phase(IntEnum):
    SOLID = 3
    FLUID = 5


@wp.struct
class Material:
    stiffness: float = 2.0
    axis: wp.vec3 = wp.vec3(0.0, 1.0, 0.0)


def result(kernel, *args, size=4, dtype=float, dim=1):
    out = wp.zeros(size, dtype=dtype)
    wp.launch(kernel, dim, inputs=[*args], outputs=[out])
    return out.numpy().tolist()


@runs
def array_annotations_with_brackets():
    @wp.kernel
    def k(a: wp.array2d[wp.vec3], n: int, out: wp.array[float]):
        out[0] = a[1, 0][2] + float(n)

    assert result(k, wp.ones((2, 1), dtype=wp.vec3), 2)[0] == 3.0


@runs
def members_of_enums_and_defaults_of_structs():
    @wp.kernel
    def k(m: Material, out: wp.array(dtype=float)):
        out[0] = m.stiffness * m.axis[1]
        out[1] = float(Phase.FLUID)

    assert result(k, Material())[:2] == [2.0, 5.0]


@runs
def loops_over_statics():
    weights = (0.5, 1.5, 2.0)

    @wp.kernel
    def k(out: wp.array(dtype=float)):
        for i in range(wp.static(len(weights))):
            out[i] = wp.static(weights[i])

    assert result(k) == [0.5, 1.5, 2.0, 0.0]


@runs
def functions_that_return_tuples():
    @wp.func
    def divided(a: int, b: int) -> tuple[int, int]:
        return a // b, a % b

    @wp.kernel
    def k(out: wp.array(dtype=int)):
        parts = divided(17, 5)
        out[0] = parts[0]
        out[1] = parts[1]

    assert result(k, dtype=int)[:2] == [3, 2]


@runs
def derivatives_of_functions():
    @wp.func
    def cube(x: float):
        return x * x * x

    @wp.kernel
    def k(out: wp.array(dtype=float)):
        out[0] = wp.grad(cube)(2.0)

    assert result(k)[0] == 12.0


@runs
def arrays_on_the_stack_and_slices():
    @wp.kernel
    def k(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
        local = wp.zeros(shape=(3,), dtype=float)
        part = a[1, 1:4]
        for i in range(3):
            local[i] = 2.0 * part[i]
        out[0] = local[2]

    assert result(k, wp.array(np.arange(8.0).reshape(2, 4), dtype=float))[0] == 14.0


@runs
def generic_kernels_with_overloads():
    @wp.kernel
    def k(a: wp.array(dtype=Any), factor: Any, out: wp.array(dtype=Any)):
        out[0] = a[0] * factor

    wp.overload(k, {"a": wp.array(dtype=wp.float64), "factor": wp.float64, "out": wp.array(dtype=wp.float64)})
    assert result(k, wp.ones(1, dtype=wp.float64), wp.float64(3.0), dtype=wp.float64)[0] == 3.0


@runs
def updates_of_elements_are_atomic():
    @wp.kernel
    def k(out: wp.array(dtype=float)):
        out[0] += 1.0
        out[1] -= 0.5
        wp.atomic_max(out, 2, float(wp.tid()))

    assert result(k, dim=8) == [8.0, -4.0, 7.0, 0.0]


@runs
def maps_of_lambdas():
    assert wp.map(lambda x, y: wp.max(x, y) + 1.0, wp.ones(3), wp.zeros(3)).numpy().tolist() == [2.0, 2.0, 2.0]


@runs
def mesh_queries_with_arguments_for_results():
    mesh = wp.Mesh(wp.array(np.eye(3), dtype=wp.vec3), wp.array([0, 1, 2], dtype=int), support_winding_number=True)

    @wp.kernel
    def k(mesh: wp.uint64, out: wp.array(dtype=float)):
        sign, face, u, v = float(0.0), int(0), float(0.0), float(0.0)
        if wp.mesh_query_point(mesh, wp.vec3(0.0, 0.0, 0.0), 10.0, sign, face, u, v):
            out[0] = wp.length(wp.mesh_eval_position(mesh, face, u, v))
        query = wp.mesh_query_ray(mesh, wp.vec3(0.1, 0.1, -1.0), wp.vec3(0.0, 0.0, 1.0), 10.0)
        if query.result:
            out[1] = query.t

    np.testing.assert_allclose(result(k, mesh.id)[:2], [3.0**-0.5, 1.8], rtol=1e-5)


@runs
def neighbours_in_a_grid():
    points = wp.array(np.zeros((5, 3)), dtype=wp.vec3)
    grid = wp.HashGrid(dim_x=8, dim_y=8, dim_z=8)
    grid.build(points=points, radius=0.5)

    @wp.kernel
    def k(grid: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        for index in wp.hash_grid_query(grid, points[0], 0.5):
            out[0] += 1.0 + 0.0 * points[index][0]

    assert result(k, grid.id, points)[0] == 5.0


@runs
def volumes_from_numpy():
    ones = np.ones((4, 4, 4), np.float32)
    volume = wp.Volume.load_from_numpy(ones, min_world=(0, 0, 0), voxel_size=1.0, bg_value=0.0)

    @wp.kernel
    def k(volume: wp.uint64, out: wp.array(dtype=float)):
        out[0] = wp.volume_sample_f(volume, wp.vec3(1.5, 1.5, 1.5), wp.Volume.LINEAR)

    assert result(k, volume.id)[0] == 1.0


@runs
def graphs_and_commands():
    a = wp.zeros(3)
    with wp.ScopedCapture(device="cpu", force_module_load=False) as capture:
        a.fill_(2.0)
    wp.capture_launch(capture.graph)
    assert a.numpy().tolist() == [2.0] * 3

    @wp.kernel
    def add(a: wp.array(dtype=float), s: float):
        a[wp.tid()] += s

    command = wp.launch(add, 3, inputs=[a, 1.0], record_cmd=True)
    command.set_param_at_index(1, 4.0)
    command.launch()
    assert a.numpy().tolist() == [6.0] * 3


@runs
def adjoints_by_hand_and_tapes():
    @wp.kernel
    def double(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        b[wp.tid()] = 2.0 * a[wp.tid()]

    a, b = wp.ones(2, requires_grad=True), wp.zeros(2, requires_grad=True)
    b.grad.fill_(1.0)
    grads = {"adj_inputs": [a.grad], "adj_outputs": [b.grad]}
    wp.launch(double, 2, inputs=[a], outputs=[b], adjoint=True, **grads)
    assert a.grad.numpy().tolist() == [2.0, 2.0]
    with wp.Tape() as tape:
        wp.launch(double, 2, inputs=[a], outputs=[b])
    tape.backward(grads={b: wp.ones(2)})
    tape.zero()
    tape.reset()


@runs
def optimisers_with_lists_of_gradients():
    x = wp.ones(3, requires_grad=True)
    optimiser = wp.optim.Adam([x], lr=0.1)
    x.grad.fill_(1.0)
    optimiser.step([x.grad])
    assert (x.numpy() < 1.0).all()


@runs
def linear_solvers():
    from warpsim.optim.linear import cg  # noqa: PLC0415 - the idiom

    A, b, x = wp.array(np.eye(3) * 2.0, dtype=float), wp.ones(3), wp.zeros(3)
    cg(A, b, x, tol=1e-6)
    np.testing.assert_allclose(x.numpy(), 0.5)


@runs
def arrays_made_of_numpy_with_every_option():
    a = wp.from_numpy(np.zeros((3, 3)), dtype=wp.vec3, shape=(3,), device="cpu", requires_grad=True)
    assert a.dtype is wp.vec3 and a.requires_grad and wp.zeros(n=3, dtype=float).shape == (3,)


@runs
def switches_and_devices():
    wp.init()
    wp.config.quiet = True
    wp.config.log_level = wp.LOG_WARNING
    with wp.ScopedDevice("cpu"), wp.ScopedTimer("step", active=False, use_nvtx=False, synchronize=True):
        assert wp.get_device().is_cpu and wp.get_device("cpu") in wp.get_devices()


@runs
def transforms_by_parts():
    t = wp.transform(p=wp.vec3(1.0, 2.0, 3.0), q=wp.quat_identity())
    assert wp.transform_get_translation(t) == wp.vec3(1.0, 2.0, 3.0) == t.p and t.q == wp.quat(0.0, 0.0, 0.0, 1.0)


@runs
def names_of_types():
    from warpsim.types import array, float32, matrix, vec3, vector  # noqa: PLC0415 - the idiom

    assert array is wp.array and vec3 is wp.vec3 and wp.types.type_scalar_type(wp.mat33d) is wp.float64
    assert vector(length=3, dtype=float32) is vec3 and matrix(shape=(3, 3), dtype=float32) is wp.mat33


@runs
def surfaces_of_fields():
    field = np.linalg.norm(np.mgrid[-1:1:9j, -1:1:9j, -1:1:9j], axis=0)
    cubes = wp.MarchingCubes(nx=9, ny=9, nz=9)
    cubes.surface(wp.array(field, dtype=float), threshold=0.5)
    assert len(cubes.verts) and len(cubes.indices) % 3 == 0


@pytest.mark.parametrize("program", RUN, ids=lambda program: program.__name__)
def test_it_runs_as_it_stands(program):
    program()


# ----- what is not here -------------------------------------------------------------------------

MODULES = {
    "fem.geometry": "finite elements are not here yet", "fem.utils": "warpsim.fem.linalg is here",
    "sim": "physics is in warpsim.solvers", "sim.model": "Newton",
    "torch": "wp.from_torch", "jax": "wp.from_jax", "paddle": "wp.from_paddle", "dlpack": "wp.from_dlpack",
    "jax_experimental": "wp.jax_kernel", "jax_experimental.ffi": "wp.jax_callable", "fabric": "wp.fabricarray",
    "context": "wp.get_device", "codegen": "wp.struct", "constants": "wp.pi", "build": "wp.clear_kernel_cache",
    "marching_cubes": "wp.MarchingCubes", "render.render_usd": "from warpsim.render import UsdRenderer",
    "render.render_opengl": "OpenGLRenderer", "examples": "`warpsim run`", "tests.unittest_utils": "part of Warp",
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_that_are_not_here_say_so(name):
    for statement in (f"import warpsim.{name}", f"from warpsim.{name} import anything"):
        with pytest.raises(MissingPackageError) as caught:
            exec(statement)
        assert str(caught.value).startswith("there is no module warpsim.") and MODULES[name] in str(caught.value)
        assert isinstance(caught.value, ModuleNotFoundError)  # what tools that probe for modules expect


def test_a_module_as_a_name_of_the_package():
    with pytest.raises(ImportError, match=r"warpsim\.fem\.Grid2D: finite elements are not here yet"):
        exec("from warpsim.fem import Grid2D")
    with pytest.raises(AttributeError, match=r"'warpsim\.fem' has no attribute 'Grid2D': finite elements are not"):
        wp.fem.Grid2D(1, 1)
    with pytest.raises(AttributeError, match=r"warp\.bsr_mv is a function of warpsim\.sparse\nhelp: import warpsim"):
        wp.bsr_mv(3, 3)
    assert not hasattr(wp, "sim") and not hasattr(wp, "tile_fft")


def test_modules_that_nobody_knows_are_not_found_as_ever():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'warpsim\.nothing'"):
        importlib.import_module("warpsim.nothing")


CALLS = {
    "matmul": (lambda: wp.matmul(1, 2), AttributeError, "NumPy, PyTorch or JAX"),
    "tile_fft": (lambda: wp.tile_fft, AttributeError, "Fourier transforms of tiles are not here yet"),
    "vec": (lambda: wp.vec(length=3, dtype=float), AttributeError, r"wp\.types\.vector\(length=3"),
    "print_builtins": (lambda: wp.print_builtins, AttributeError, r"dir\(wp\)"),
    "context": (lambda: wp.context.runtime, AttributeError, r"wp\.get_device"),
    "utils.ScopedTimer": (lambda: wp.utils.ScopedTimer, AttributeError, r"help: wp\.ScopedTimer"),
    "types.HALF_PI": (lambda: wp.types.HALF_PI, AttributeError, r"help: wp\.HALF_PI"),
    "types.type_length": (lambda: wp.types.type_length, AttributeError, "type_size"),
    "max_verts": (lambda: wp.MarchingCubes(8, 8, 8, max_verts=9), ArgumentTypeError, "'max_verts'\nhelp: leave it out"),
    "max_tris": (lambda: wp.MarchingCubes(8, 8, 8, max_tris=99), ArgumentTypeError, "'max_tris'\nhelp: leave it out"),
    "places of max_verts": (lambda: wp.MarchingCubes(8, 8, 8, 9, 9), ArgumentTypeError, "max_verts .* are left out"),
    "resize": (lambda: wp.MarchingCubes(8, 8, 8).resize(9, 9, 9, 99, 99), ArgumentTypeError, "leave it out"),
    "owner": (lambda: wp.array(np.zeros(3), owner=False), ArgumentTypeError, "'owner'\nhelp: leave it out"),
    "misspelt": (lambda: wp.array(np.zeros(3), dtyp=float), ArgumentTypeError, "no keyword 'dtyp'"),
    "aot": (lambda: wp.compile_aot_module("m"), AttributeError, "compiled ahead of time are not here yet"),
}


@pytest.mark.parametrize("name", CALLS)
def test_older_names_and_keywords_tell_what_to_write(name):
    call, cls, words = CALLS[name]
    with pytest.raises(cls, match=words):
        call()


def test_kernels_with_names_that_come_later_are_told_of_all_of_them():
    @wp.kernel
    def k(a: wp.array(dtype=wp.vec2)):
        t = wp.tile_load(a, shape=4)
        wp.tile_fft(t)
        wp.tile_ifft(t)

    with pytest.raises(KernelError) as caught:
        wp.launch_tiled(k, dim=[1], inputs=[wp.zeros(8, dtype=wp.vec2)], block_dim=32)
    later = "Fourier transforms of tiles are not here yet"
    assert all(f"'{name}': {later}" in str(caught.value) for name in ("tile_fft", "tile_ifft"))


def test_functions_made_of_python_functions_and_named_anew():
    double, module = wp.utils.create_warp_function(lambda x: 2.0 * x)
    assert double(3.0) == 6.0 and module is wp.get_module(__name__)
    double.key = "double"
    assert double.key == "double" and double(4.0) == 8.0
