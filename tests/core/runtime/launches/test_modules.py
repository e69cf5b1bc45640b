"""Modules of kernels: their options, in full and by default; unique modules; overloads declared for loading."""

import threading
from typing import Any

import pytest
from test_kernel_options import checks_bounds, make_reader, module_options  # noqa: F401 - a fixture

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit import build as builder
from warpsim.errors import ArgumentTypeError, KernelError


def test_options_of_a_module_are_all_there_and_can_be_changed_in_place(module_options):  # noqa: F811
    module = wp.get_module("warpsim_test_options")
    for name in ("enable_backward", "max_unroll", "mode", "block_dim", "fuse_fp", "optimization_level"):
        assert name in module.options and name in wp.get_module_options(module)
    module.options["max_unroll"] = 5
    assert wp.get_module_options(module)["max_unroll"] == 5 != config.max_unroll
    config.enable_backward = False
    assert module.options["enable_backward"] is False
    with pytest.raises(ValueError, match="unknown option"):
        wp.set_module_options({"max_unrol": 1}, module)


def test_mode_debug_checks_bounds_where_nothing_else_is_said(module_options):  # noqa: F811
    plain, unchecked = make_reader(), make_reader(verify=False)
    module_options(mode="debug")
    assert [checks_bounds(k) for k in (plain, unchecked)] == [True, False]
    module_options(mode="release")
    assert not checks_bounds(plain)
    module_options(mode=None)
    config.mode = "debug"
    assert [checks_bounds(k) for k in (plain, unchecked)] == [True, False]
    config.mode = "release"


def test_a_unique_module_has_options_of_its_own(module_options):  # noqa: F811
    module_options(max_unroll=3)

    @wp.kernel(module="unique", module_options={"max_unroll": 7}, name="alone")
    def one(x: wp.array[float]):
        x[0] = 1.0

    assert one.key == "alone" and one.option("max_unroll") == 7
    assert one.module is not wp.get_module(__name__)
    with pytest.raises(ValueError, match='expected: module="unique"'):
        wp.kernel(one.function, module_options={"max_unroll": 7})


def test_options_of_other_compilers_are_accepted():
    @wp.kernel(grid_stride=False, cluster_dim=2, cuda_max_registers=64)
    def one(x: wp.array[float]):
        x[wp.tid()] = 1.0

    x = wp.zeros(3)
    wp.launch(one, 3, inputs=[x])
    assert x.list() == [1.0] * 3
    assert wp.config.deterministic is wp.DeterministicMode.NOT_GUARANTEED and not one.option("deterministic")
    wp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN
    assert one.option("deterministic")
    assert wp.config.version.split(".")[0] == "1"


def test_overloads_are_checked_when_declared_and_compiled_when_loaded():
    @wp.kernel(module="unique")
    def product(x: wp.array[Any], y: Any):
        i = wp.tid()
        x[i] = x[i] * y

    wp.overload(product, [wp.array[float], wp.vec3])  # the types fit, the body does not

    @wp.kernel(module="unique")
    def double(x: wp.array[Any]):
        x[wp.tid()] = x[wp.tid()] + x[wp.tid()]

    for t in (float, wp.vec3):
        wp.overload(double, {"x": wp.array[t]})
    assert not double._compiled
    double.module.load("cpu")
    assert len(double._compiled) == 2
    with pytest.raises(KernelError):
        product.module.load("cpu")
    with pytest.raises(ArgumentTypeError, match="for 'x' of kernel"):
        wp.overload(double, [float])


@wp.kernel
def declared_by_decorator(x: wp.array[Any], y: Any):
    x[wp.tid()] = x[wp.tid()] + y


def test_overload_decorates_a_function_of_the_kernel_s_name():
    def declared_by_decorator(x: wp.array[wp.int64], y: wp.int64): ...

    declared_by_decorator.__qualname__ = "declared_by_decorator"
    kernel = wp.overload(declared_by_decorator)
    assert kernel.declared[-1] == (wp.array[wp.int64], wp.int64)

    def nothing_like_it(x: wp.array[float]): ...

    with pytest.raises(ArgumentTypeError, match="no kernel"):
        wp.overload(nothing_like_it)


def shifted(k):
    @wp.kernel(module="warpsim_test_workers")
    def shift(x: wp.array[float], y: wp.array[float]):
        i = wp.tid()
        y[i] = wp.sin(x[i]) + float(k)

    return shift


@pytest.fixture
def stored(tmp_path):
    """A function that loads new kernels on some threads, launches them and tells what the disk cache then holds."""
    saved = config.kernel_cache_dir, config.load_module_max_workers

    def load(workers):
        kernels = [shifted(k) for k in range(3)]
        config.kernel_cache_dir = str(tmp_path / f"{workers}")
        wp.load_module("warpsim_test_workers", max_workers=workers)
        entries = {path.name: path.read_bytes() for path in (tmp_path / f"{workers}").glob("*.wscode")}
        assert all(kernel._compiled for kernel in kernels)
        return entries

    yield load
    config.kernel_cache_dir, config.load_module_max_workers = saved


@pytest.mark.cpu(reason="threads share LLVM's part of the work")
def test_several_threads_compile_what_one_would(stored, monkeypatch):
    results = []
    for workers in (1, 3):
        monkeypatch.setattr(builder, "_present", {})
        results.append(stored(workers))
    code = [{name: entry for name, entry in each.items() if not name.startswith("program-")} for each in results]
    assert len(code[0]) >= 3 and code[0] == code[1]
    assert results[0].keys() == results[1].keys()  # pickles of one program differ in the order of sets
    assert not builder._begun


@pytest.mark.cpu(reason="threads share LLVM's part of the work")
def test_other_threads_compile_and_only_what_is_not_on_disk(stored, monkeypatch):
    names = []
    code = builder.object_code

    def noted(name, artefact):
        names.append(threading.current_thread().name)
        return code(name, artefact)

    monkeypatch.setattr(builder, "object_code", noted)
    monkeypatch.setattr(builder, "_present", {})
    stored(2)
    assert len(names) == 3 and threading.current_thread().name not in names
    monkeypatch.setattr(builder, "_present", {})
    stored(2)
    assert len(names) == 3


def test_broken_kernels_stop_no_thread_and_are_named_together():
    def broken(k):
        @wp.kernel(module="warpsim_test_broken_workers")
        def f(x: wp.array[float]):
            x[0] = unknown_name + float(k)  # noqa: F821

        return f

    @wp.kernel(module="warpsim_test_broken_workers")
    def sound(x: wp.array[float]):
        x[wp.tid()] = 41.0

    kernels = [broken(k) for k in range(2)]
    with pytest.raises(KernelError, match=r"unknown_name[\s\S]*unknown_name"):
        wp.load_module("warpsim_test_broken_workers", max_workers=2)
    assert sound._compiled and not any(k._compiled for k in kernels)


@pytest.mark.parametrize("count", [-1, 1.5, "two", True])
def test_wrong_numbers_of_workers_are_refused(count):
    with pytest.raises(ValueError, match="expected: a number of threads"):
        wp.force_load(modules=[], max_workers=count)
