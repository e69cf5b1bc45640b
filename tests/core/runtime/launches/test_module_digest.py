"""`Module.hash_module` and `unload`: what changes a digest, and what does not."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpsim as wp

TEXT = """
import warpsim as wp
{extra}
@wp.func
def f(x: float):
    return x * {factor}
@wp.kernel
def k(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = f(a[i]) + STEP
"""


def module_with(tmp_path, name, factor="2.0", step=1.0, extra=""):
    """A module of its own with a kernel that calls a function and reads a global."""
    path = tmp_path / f"{name}.py"
    path.write_text(TEXT.format(factor=factor, extra=extra))
    scope = {"__name__": name, "STEP": step}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return wp.get_module(name), scope["k"]


def test_programs_and_options_decide(tmp_path):
    first, kernel = module_with(tmp_path, "digest_first")
    digest = first.hash_module()
    same, _ = module_with(tmp_path, "digest_same", extra="# a comment")
    assert digest == first.get_module_hash() == same.hash_module()
    assert digest != module_with(tmp_path, "digest_function", factor="3.0")[0].hash_module()
    assert digest != module_with(tmp_path, "digest_global", step=2.0)[0].hash_module()
    first.load("cpu")
    assert first.hash_module() == digest and kernel.module is first
    first.options["mode"] = "release"
    assert first.hash_module() == digest
    first.options["optimization_level"] = 2
    assert first.hash_module() != digest


def test_options_of_kernels_count():
    def made(**options):
        @wp.kernel(module="unique", **options)
        def k(a: wp.array(dtype=int)):
            a[0] = 1

        return k.module.hash_module()

    assert made() == made() != made(launch_bounds=64) != made(launch_bounds=128)
    assert made(enable_backward=False) != made()


def test_a_switch_of_the_process_counts(monkeypatch, tmp_path):
    module, _ = module_with(tmp_path, "digest_switch")
    digest = module.hash_module()
    monkeypatch.setattr(wp.config, "verify_fp", True)
    assert module.hash_module() != digest


@pytest.mark.parametrize("device", ("cpu", "interp"))
def test_unloaded_modules_go_on(device, tmp_path):
    module, kernel = module_with(tmp_path, f"digest_unload_{device}")
    a = wp.array([1.0, 2.0], dtype=float, device=device)
    wp.launch(kernel, 2, [a], device=device)
    with wp.ScopedCapture(device=device) as capture:
        wp.launch(kernel, 2, [a], device=device)
    module.unload()
    wp.capture_launch(capture.graph)
    wp.launch(kernel, 2, [a], device=device)
    np.testing.assert_array_equal(a.numpy(), [15, 23])


SCALE = 2.0
TABLE = {"x": [1.0, 2.0]}
ROWS = np.arange(3.0)


@wp.struct
class Settings:
    step: float
    at: wp.vec3


SETTINGS = Settings(0.5, wp.vec3(1.0, 2.0, 3.0))


@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func
def thrice(x: float):
    return 3.0 * x


@wp.func
def scaled(x: float):
    return SCALE * x


@wp.func
def applied(g: Callable, x: float):
    return g(x)


TARGET = twice


@wp.kernel(module="unique")
def reaches(a: wp.array(dtype=float)):
    a[0] = applied(TARGET, a[0]) + scaled(a[1]) + TABLE["x"][1] + SETTINGS.step
    a[1] = float(ROWS[2]) + SETTINGS.at[0] + wp.grad(TARGET)(a[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCALE", 3.0),
        ("SCALE", wp.float64(2.0)),
        ("TARGET", thrice),
        ("TARGET", wp.sin),
        ("TABLE", {"x": [1.0, 3.0]}),
        ("SETTINGS", Settings(0.5, wp.vec3(1.0, 2.0, 4.0))),
        ("ROWS", np.arange(3.0) + 1.0),
        ("twice", thrice),
    ],
)
def test_what_names_mean_now_counts(name, value, monkeypatch):
    before = reaches.module.hash_module()
    if name == "twice":  # which the kernel reaches by another name
        monkeypatch.setattr(sys.modules[__name__], name, value)
        assert reaches.module.hash_module() == before
        return
    monkeypatch.setattr(sys.modules[__name__], name, value)
    changed = reaches.module.hash_module()
    assert changed != before and reaches.module.hash_module() == changed
    monkeypatch.undo()
    assert reaches.module.hash_module() == before


def test_closures_count():
    def made():
        @wp.kernel(module="unique")
        def k(a: wp.array(dtype=float)):
            a[0] = RATE

        RATE = 1.0
        first = k.module.hash_module()
        RATE = 2.0
        return first, k.module.hash_module()

    first, second = made()
    assert first != second and made() == (first, second)


def test_functions_that_reach_each_other_end():
    @wp.kernel(module="unique")
    def k(a: wp.array(dtype=float)):
        a[0] = twice(a[0]) + applied(twice, a[0])

    assert k.module.hash_module() == k.module.hash_module()


def test_unique_modules_have_the_names_of_their_kernels():
    def named(name):
        @wp.kernel(module="unique", name=name)
        def k(x: Any):
            _ = x

        return k

    first, second = named("first"), named("second")
    assert (first.module.name, second.module.name) == ("first", "second")
    assert first.module.hash_module() != second.module.hash_module()
