"""What engines on top of Warp import of its private parts."""

import ctypes
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import warpsim as wp
import warpsim._src
from warpsim._src.context import runtime
from warpsim._src.thirdparty.appdirs import user_cache_dir


@pytest.mark.parametrize(
    ("platform", "variable", "below"),
    [
        ("linux", "XDG_CACHE_HOME", ["engine", "2.0"]),
        ("win32", "LOCALAPPDATA", ["people", "engine", "Cache", "2.0"]),
    ],
)
def test_folders_for_caches_by_platform(monkeypatch, tmp_path, platform, variable, below):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    assert Path(user_cache_dir("engine", "people", "2.0")) == tmp_path.joinpath(*below)
    assert Path(user_cache_dir()) == tmp_path
    assert not list(tmp_path.iterdir())


def test_folders_of_windows_without_author_and_opinion(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert Path(user_cache_dir("engine")) == tmp_path / "engine" / "engine" / "Cache"
    assert Path(user_cache_dir("engine", False, opinion=False)) == tmp_path / "engine"


def test_tables_of_types_and_public_modules_by_the_inner_path():
    types = wp._src.types
    assert types.np_dtype_to_warp_type[np.dtype("uint16")] is wp.uint16
    assert types.np_dtype_to_warp_type[np.bool_] is wp.bool
    assert set(types.scalar_types) == {*types.int_types, *types.float_types} and wp.bfloat16 in types.float_types
    assert {wp.vec3, wp.mat22d, wp.quath, wp.transform} <= set(types.vector_types)
    assert types.vector(2, wp.int8) == wp.types.vector(2, wp.int8)
    assert wp._src.utils is wp.utils
    with pytest.raises(AttributeError, match=r"warpsim\._src' has no attribute 'codegen'"):
        str(wp._src.codegen)
    with pytest.raises(AttributeError, match="__warningregistry__"):  # `assertWarns` asks every module
        str(wp._src.__warningregistry__)


def test_who_calls_the_package_warp_serves_the_other_private_parts(monkeypatch):
    codegen = ModuleType("warp._src.codegen")
    for name, module in {"warp": wp, "warp._src": ModuleType("warp._src"), "warp._src.codegen": codegen}.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert wp._src.codegen is codegen


def test_another_package_called_warp_is_left_alone(monkeypatch):
    for name in ("warp", "warp._src", "warp._src.codegen"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(AttributeError, match="no attribute 'codegen'"):
        str(wp._src.codegen)


POSE = wp.transform((1.0, 2.0, 3.0), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.3))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("mul_transformf_transformf", (POSE, POSE), POSE * POSE),
        ("transform_inverse_transformf", (POSE,), wp.transform_inverse(POSE)),
        ("transform_point_transformf_vec3f", (POSE, wp.vec3(1.0)), wp.transform_point(POSE, wp.vec3(1.0))),
        ("transform_vector_transformf_vec3f", (POSE, wp.vec3(1.0)), wp.transform_vector(POSE, wp.vec3(1.0))),
        ("quat_from_matrix_mat44f", (wp.mat44.from_buffer(np.eye(4, dtype=np.float32)),), wp.quat(0.0, 0.0, 0.0, 1.0)),
    ],
)
def test_functions_of_the_native_library_write_to_a_value_by_reference(name, values, expected):
    result = type(expected)()
    getattr(runtime.core, f"wp_builtin_{name}")(*values, ctypes.byref(result))
    assert result == expected


@pytest.mark.parametrize("name", ["wp_builtin_nothing_vec3f", "wp_builtin_", "wp_unknown"])
def test_the_native_library_lacks_other_functions(name):
    with pytest.raises(AttributeError, match=f"no function '{name}'"):
        getattr(runtime.core, name)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_inner_product_at_addresses(count):
    a, b = np.random.default_rng(0).normal(size=(2, 5, 4)).astype(np.float32)
    out = np.full(1, 7.0, np.float32)
    address = (a.ctypes.data, b.ctypes.data, out.ctypes.data)
    runtime.core.wp_array_inner_float_host(*address, count, 16, 16, 3)
    np.testing.assert_allclose(out[0], (a[:count, :3] * b[:count, :3]).sum(), rtol=1e-6)
