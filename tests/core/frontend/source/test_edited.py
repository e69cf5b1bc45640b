"""Text that was edited after Python compiled it is refused, or found elsewhere; it never runs with foreign code."""

import importlib
import linecache
import os
import sys
import textwrap
import time

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import UnsupportedSyntaxError

FACTORY = """
    import warpsim as wp

    @wp.func
    def outside(x: float):
        return x * 2.0

    def make(scale):
        @wp.func
        def helper(x: float):
            return x + {constant}

        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = helper(outside(1.0)) * scale

        return k

    def lambdas(scale):
        return lambda x: x * scale + {constant}
"""


class EditedFile:
    """A module on disk whose text can change after it was imported."""

    def __init__(self, folder, name):
        self.path, self.name = folder / f"{name}.py", name

    def write(self, text):
        self.path.write_text(textwrap.dedent(text))
        later = os.stat(self.path).st_mtime + 10.0 * (1 + self.path.stat().st_mtime_ns % 7)
        os.utime(self.path, (later, later))
        linecache.checkcache(str(self.path))

    def load(self):
        importlib.invalidate_caches()
        return importlib.import_module(self.name)


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = "edited_" + request.node.name.split("[")[0]
    yield EditedFile(tmp_path, name)
    sys.modules.pop(name, None)


def first_value(kernel):
    a = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(kernel, dim=1, inputs=[a], device="cpu")
    return float(a.numpy()[0])


def test_a_factory_called_after_an_edit_of_its_text_is_refused(module):
    module.write(FACTORY.format(constant="1.0"))
    loaded = module.load()
    assert first_value(loaded.make(10.0)) == 30.0
    module.write(FACTORY.format(constant="5.0"))
    with pytest.raises(UnsupportedSyntaxError, match=r"'helper' is not what Python compiled: it was edited"):
        first_value(loaded.make(10.0))
    with pytest.raises(UnsupportedSyntaxError, match="edited"):
        wp.map(loaded.lambdas(2.0), wp.zeros(1, dtype=float, device="cpu"))
    assert first_value(importlib.reload(loaded).make(10.0)) == 70.0


@pytest.mark.parametrize(
    "before, after",
    [
        ("* scale", "/ scale"),
        ("wp.tid()", "wp.tid() + 0"),
        ("a[", "a [0 * "),
        ("1.0)) ", "1.0 * 1.0)) "),
        ("float):\n            return", "float):\n            pass\n            return"),
        ("k(a:", "k(b:"),
        ("def k(", "def j("),
        ("outside(1.0)", "outside(-1.0)"),
        ("def make(scale):", "def make(scale:"),
    ],
)
def test_every_kind_of_edit_is_noticed_or_changes_nothing(module, before, after):
    text = FACTORY.format(constant="1.0")
    module.write(text)
    loaded = module.load()
    assert before in text
    module.write(text.replace(before, after))
    try:
        found = first_value(loaded.make(10.0))
    except UnsupportedSyntaxError as error:
        assert "edited" in str(error) and "importlib.reload" in str(error)
    else:
        assert found == 30.0


@pytest.mark.parametrize("where", ["above", "below", "indented elsewhere"])
def test_an_edit_of_another_part_changes_nothing(module, where):
    text = textwrap.dedent(FACTORY.format(constant="1.0"))
    module.write(text)
    loaded = module.load()
    more = "def other(x):\n    return x\n\n" * 3
    texts = {"above": more + text, "below": text + more, "indented elsewhere": "if True:\n    pass\n" + text}
    module.write(texts[where])
    assert first_value(loaded.make(10.0)) == 30.0
    doubled = wp.map(loaded.lambdas(2.0), wp.array([3.0], dtype=float, device="cpu"))
    assert doubled.numpy()[0] == 7.0


def test_kernels_defined_before_an_edit_keep_their_text(module):
    text = FACTORY.format(constant="1.0")
    module.write(text)
    kernel = module.load().make(10.0)
    module.write(text.replace("x * 2.0", "x * 7.0").replace("1.0", "4.0"))
    assert first_value(kernel) == 30.0


def test_a_file_cut_short_is_an_edit(module):
    module.write(FACTORY.format(constant="1.0"))
    loaded = module.load()
    module.write("import warpsim as wp\n")
    with pytest.raises(UnsupportedSyntaxError, match="edited"):
        loaded.make(1.0)


def test_text_in_linecache_that_changes_is_noticed():
    file = "<edited cell>"
    texts = [f"def k(a: wp.array(dtype=float)):\n    a[wp.tid()] = {x}\n" for x in (1.0, 2.0)]
    space = {"wp": wp}
    exec(compile(texts[0], file, "exec"), space)
    linecache.cache[file] = (len(texts[1]), None, texts[1].splitlines(keepends=True), file)
    with pytest.raises(UnsupportedSyntaxError, match="edited"):
        wp.kernel(space["k"])
    linecache.cache[file] = (len(texts[0]), None, texts[0].splitlines(keepends=True), file)
    assert first_value(wp.kernel(space["k"])) == 1.0


def test_the_newest_file_with_asserts_is_not_taken_for_edited():
    later = os.stat(__file__).st_mtime + 1e6
    before = os.stat(__file__).st_mtime
    os.utime(__file__, (later, later))
    try:

        @wp.kernel
        def checked(a: wp.array(dtype=float)):
            assert a.shape[0] > 0
            a[wp.tid()] = 3.0

        assert first_value(checked) == np.float32(3.0)
    finally:
        os.utime(__file__, (before, before))


SCALED = """
import warpsim as wp

@wp.func
def scaled(x: float):
    return x * {factor}

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = scaled(x[wp.tid()])
"""


@pytest.mark.parametrize("age", [0.0, 1e8])
def test_a_module_rewritten_with_equal_time_and_size_has_its_new_text_after_a_reload(module, age):
    """As `cp -p`, archives and SOURCE_DATE_EPOCH leave files; age [s] of the file."""
    at = time.time() - age
    results, loaded = [], None
    for factor in (3.0, 4.0, 5.0):
        module.path.write_text(SCALED.format(factor=factor))
        os.utime(module.path, (at, at))
        importlib.invalidate_caches()
        loaded = importlib.reload(loaded) if loaded else module.load()
        x = wp.ones(1, dtype=float)
        wp.launch(loaded.k, 1, [x])
        results.append(x.numpy()[0])
    assert results == [3.0, 4.0, 5.0]


def test_a_kernel_of_before_a_reload_is_refused_where_its_text_is_gone(module):
    at = time.time() - 1e8
    for factor in (3.0, 4.0):
        module.path.write_text(SCALED.format(factor=factor))
        os.utime(module.path, (at, at))
        importlib.invalidate_caches()
        if factor == 3.0:
            loaded = module.load()
            wp.launch(loaded.k, 1, [wp.ones(1, dtype=float)])
            older = loaded.scaled
        else:
            importlib.reload(loaded)
    wp.launch(loaded.k, 1, [wp.ones(1, dtype=float)])

    @wp.kernel
    def uses_the_older(x: wp.array(dtype=float)):
        x[wp.tid()] = older(x[wp.tid()])

    x = wp.ones(1, dtype=float)
    try:
        wp.launch(uses_the_older, 1, [x])
    except UnsupportedSyntaxError as error:
        assert "edited after it was imported" in str(error)
    else:
        assert x.numpy()[0] == 3.0
