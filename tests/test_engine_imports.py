"""What engines on top of Warp import of its private parts."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import warpsim as wp
import warpsim._src
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
    with pytest.raises(AttributeError, match=r"warpsim\._src' has no attribute 'context'"):
        str(wp._src.context)


def test_who_calls_the_package_warp_serves_the_other_private_parts(monkeypatch):
    context = ModuleType("warp._src.context")
    for name, module in {"warp": wp, "warp._src": ModuleType("warp._src"), "warp._src.context": context}.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert wp._src.context is context


def test_another_package_called_warp_is_left_alone(monkeypatch):
    for name in ("warp", "warp._src", "warp._src.context"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(AttributeError, match="no attribute 'context'"):
        str(wp._src.context)
