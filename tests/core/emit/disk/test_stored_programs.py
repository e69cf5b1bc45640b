"""Programs on disk: found by what they are made of, and by nothing less."""

import io
import os
import pickle
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import warpsim as wp
from warpsim.core.emit.disk import stored_programs
from warpsim.core.frontend.functions.definitions import FUNCTIONS
from warpsim.core.runtime.launches import programs

pytestmark = pytest.mark.cpu(reason="programs are made before there is a device")

PARTS = {
    "constant": "2.0", "factor": "3.0", "default": "1.0", "field": "a", "size": "4", "static": "5.0", "body": "x + y",
    "gradient": "7.0", "unroll": "16", "closure": "1.5", "table": "[1.0, 2.0]", "annotation": "float",
}  # fmt: skip
PROGRAM = """
import numpy as np
import warpsim as wp

CONSTANT = {constant}
TABLE = {table}
SETTINGS = np.array([{factor}, 0.5])

@wp.struct
class Pair:
    a: float
    b: wp.types.vector({size}, float)

@wp.func
def inner(x: {annotation}, y: float = {default}):
    return {body}

@wp.func
def outer(x: float, p: Pair):
    return inner(x) * CONSTANT + p.{field} + wp.static(2.0 * {static}) + TABLE[1] + float(SETTINGS[0])

@wp.func
def square(x: float):
    return x * x

@wp.func_grad(square)
def adj_square(x: float, adj_ret: float):
    wp.adjoint[x] += {gradient} * adj_ret

def make(scale):
    @wp.kernel(module="unique", max_unroll={unroll})
    def kernel(x: wp.array[float], p: Pair, y: wp.array[float]):
        i = wp.tid()
        total = float(0.0)
        for k in range(3):
            total += outer(x[i], p) * scale
        y[i] = total + square(x[i])
    return kernel

def run(kernel):
    x, y = wp.ones(1, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    p = Pair()
    p.a, p.b = 1.0, wp.types.vector({size}, float)()
    with wp.Tape() as tape:
        wp.launch(kernel, 1, inputs=[x, p, y])
    tape.backward(grads={{y: wp.ones_like(y)}})
    return y.numpy()[0], x.grad.numpy()[0]
"""
OTHER = {
    "constant": "2.5", "factor": "4.0", "default": "-1.0", "field": "b[0]", "size": "5", "static": "6.0",
    "body": "x - y", "gradient": "8.0", "unroll": "0", "closure": "2.5", "table": "[1.0, 3.0]",
    "annotation": "wp.float32",
}  # fmt: skip


@pytest.fixture
def counts(monkeypatch, tmp_path):
    """An empty cache, and how many programs came from it and were translated."""
    seen = {"loaded": 0, "translated": 0}

    def adopt(*args, original=programs.adopt):
        seen["loaded"] += 1
        return original(*args)

    def keep(*args, original=programs.keep):
        seen["translated"] += 1
        return original(*args)

    monkeypatch.setattr(programs, "adopt", adopt)
    monkeypatch.setattr(programs, "keep", keep)
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "cache"))
    return seen


def defined(tmp_path, **changed):
    """The program above as a module of its own, at the same place each time."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(**PARTS | changed))
    for place in [place for place in FUNCTIONS if place[0] == "program_on_disk"]:
        del FUNCTIONS[place]  # as in another process: the functions are not defined again, and have one overload
    space = {"__name__": "program_on_disk"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space


def result(tmp_path, **changed):
    space = defined(tmp_path, **changed)
    return space["run"](space["make"](float((PARTS | changed)["closure"])))


def test_an_equal_program_is_loaded_with_its_adjoint(tmp_path, counts):
    first = result(tmp_path)
    assert counts == {"loaded": 0, "translated": 2}
    assert result(tmp_path) == first
    assert counts == {"loaded": 2, "translated": 2}


@pytest.mark.parametrize("part", PARTS)
def test_whatever_changes_is_translated(tmp_path, counts, part):
    result(tmp_path)
    changed = result(tmp_path, **{part: OTHER[part]})
    assert counts == {"loaded": 0, "translated": 4}, "a program of other inputs was loaded"
    wp.config.cache_kernels = False
    assert changed == result(tmp_path, **{part: OTHER[part]})


# What is no name in the text, or a name that stands for other things than it says: before and after a change.
UNSEEN = {
    "a function for an operator": (
        "@wp.struct\nclass P:\n    v: float\n{}def p(x: float):\n    s = P()\n    s.v = x\n    return s\n"
        "p = wp.func(p)\n"
        "@wp.kernel\ndef k(y: wp.array[float]):\n    y[0] = (p(1.0) + p(2.0)).v\n",
        *(f"@wp.func\ndef add(a: P, b: P):\n    c = P()\n    c.v = a.v {sign} b.v\n    return c\n" for sign in "+-"),
    ),
    "the order of fields": (
        "from typing import NamedTuple\nclass C(NamedTuple):\n    {}\nc = C(1.0, 2.0)\n"
        "@wp.kernel\ndef k(y: wp.array[float]):\n    y[0] = c.a\n",
        "a: float; b: float",
        "b: float; a: float",
    ),
    "what a class holds": (
        "class C:\n    n = {}\n@wp.func\ndef f(c: Any, x: float):\n    return x * c.n\n"
        "@wp.kernel\ndef k(y: wp.array[float]):\n    y[0] = f(C, 2.0)\n",
        "3.0",
        "4.0",
    ),
    "a sign of zero": ("Z = {}\n@wp.kernel\ndef k(y: wp.array[float]):\n    y[0] = 1.0 / Z\n", "0.0", "-0.0"),
    "which of two structs of a name": (
        "def make(x):\n    @wp.struct\n    class S:\n        v: float = x\n    return S\nA, B = make(1.0), make(2.0)\n"
        "T = A\nU = {}\n@wp.kernel\ndef k(y: wp.array[float]):\n    y[0] = T().v + 10.0 * U().v + 0.0 * B().v\n",
        "B",
        "A",
    ),
    "an attribute of an object": (
        "class C:\n    pass\nc = C()\nc.n = {}\n@wp.kernel\ndef k(y: wp.array[float]):\n    y[0] = c.n\n",
        "3.0",
        "4.0",
    ),
    "a member of an enumeration": (
        "import enum\nclass E(enum.IntEnum):\n    A = {}\n"
        "@wp.kernel\ndef k(y: wp.array[float]):\n    y[0] = float(E.A)\n",
        "3",
        "4",
    ),
}


@pytest.mark.parametrize("case", UNSEEN)
def test_what_the_text_does_not_say_counts(tmp_path, counts, case):
    text, *parts = UNSEEN[case]
    values = []
    for part in (parts[0], parts[0], parts[1], parts[1]):
        for place in [place for place in FUNCTIONS if place[0] == "unseen"]:
            del FUNCTIONS[place]
        path = tmp_path / "unseen.py"
        path.write_text(text.format(part))
        space = {"__name__": "unseen", "wp": wp, "Any": Any}
        exec(compile(path.read_text(), str(path), "exec"), space)
        y = wp.zeros(1, dtype=float)
        wp.launch(space["k"], 1, inputs=[y])
        values.append(y.numpy()[0])
    assert values[0] == values[1] != values[2] == values[3]
    assert counts["loaded"] in (0, 2)  # not at all where an object has no exact text, else an equal one each time


def test_constants_are_settled_by_a_program_from_the_disk(tmp_path, counts):
    """As by a translation: a value that is bound later reaches neither this program nor the adjoint made after it."""
    result(tmp_path)
    space = defined(tmp_path)
    kernel = space["make"](1.5)
    x, y = wp.ones(1, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(kernel, 1, inputs=[x, space["Pair"](), y])
    space["CONSTANT"], before = 100.0, y.numpy()[0]
    assert space["run"](kernel)[1] == pytest.approx(9.0 + 7.0)  # 3 * scale * CONSTANT as it was, and square's own
    wp.launch(kernel, 1, inputs=[x, space["Pair"](), y])
    assert y.numpy()[0] == before and counts["loaded"] == 2


def test_a_tape_keeps_the_function_that_was_defined_anew_after_a_load(tmp_path, counts):
    text = "@wp.func\ndef f(x: float):\n    return {}\n"
    kernel_text = "@wp.kernel\ndef k(x: wp.array[float], y: wp.array[float]):\n    y[wp.tid()] = f(x[wp.tid()])\n"

    def cell(space, name, text):
        path = tmp_path / name
        path.write_text(text)
        exec(compile(text, str(path), "exec"), space)

    def forward(space):
        x = wp.full(1, 3.0, dtype=float, requires_grad=True)
        y = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(space["k"], 1, inputs=[x, y])
        return tape, x, y

    for is_known in (False, True):
        space = {"__name__": f"notebook_{tmp_path.name}", "wp": wp}
        cell(space, "one.py", text.format("x * x"))
        cell(space, "two.py", kernel_text)
        tape, x, y = forward(space)
        assert counts["loaded"] == is_known
        cell(space, f"three_{is_known}.py", text.format("x * x * x"))
        tape.backward(grads={y: wp.ones_like(y)})
        assert x.grad.numpy()[0] == 6.0
        tape, x, y = forward(space)
        tape.backward(grads={y: wp.ones_like(y)})
        assert (y.numpy()[0], x.grad.numpy()[0]) == (27.0, 27.0)


def test_what_has_no_exact_text_is_translated_each_time(tmp_path, counts):
    class Thing:
        n = 2

    thing = Thing()

    @wp.func
    def of(thing: Any):
        return float(thing.n)

    def make():
        @wp.kernel(module="unique")
        def kernel(y: wp.array[float]):
            y[0] = of(thing)

        return kernel

    for n in (2, 3):
        thing.n = n
        y = wp.zeros(1, dtype=float)
        wp.launch(make(), 1, inputs=[y])
        assert y.numpy()[0] == n
    assert counts == {"loaded": 0, "translated": 0}


def test_warnings_of_the_front_end_are_for_every_process(tmp_path, counts):
    text = "@wp.kernel\ndef k(y: wp.array[float], n: int):\n    if n > 0:\n        a = 1.0\n    y[0] = a\n"
    for _ in range(2):
        kernel = wp.kernel_from_source(text)
        with pytest.warns(UserWarning, match="may be used here before it has a value"):
            wp.launch(kernel, 1, inputs=[wp.zeros(1, dtype=float), 1])


def in_a_process(tmp_path, text):
    """Run a program of its own, for what is for good."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text))
    subprocess.run([sys.executable, str(path)], check=True, env={**os.environ})


@pytest.mark.parametrize("declared", ["@wp.func(overload_of=wp.quat_slerp)", "@wp.func_grad(wp.quat_slerp)"])
def test_functions_of_the_package_that_users_extend_end_the_use_of_programs_on_disk(tmp_path, declared):
    grad = "a: wp.quat, b: wp.quat, x: float, adj: wp.quat"
    parameters = grad if "grad" in declared else "a: int, b: int, x: int"
    in_a_process(
        tmp_path,
        f"""
        import warpsim as wp
        from warpsim.core.frontend.functions.definitions import library_is_extended
        assert not library_is_extended()
        {declared}
        def more({parameters}):
            {"wp.adjoint[x] += adj[0]" if "grad" in declared else "return x"}
        assert library_is_extended()
        """,
    )


def test_programs_name_the_files_of_their_own_installation(tmp_path):
    """Installations of one version at several places share a cache; messages name places in files."""
    script = """
    import warpsim as wp
    from warpsim.geometry.bvh.build import _survey
    wp.Bvh(wp.zeros(4, dtype=wp.vec3), wp.ones(4, dtype=wp.vec3))
    [program] = _survey._programs.values()
    print(program.fn.location.file)
    """
    for name in ("first", "second"):
        package = tmp_path / name / "warpsim"
        package.parent.mkdir()
        package.symlink_to(stored_programs.PACKAGE)
        settings = {"PYTHONPATH": str(package.parent), "WARPSIM_CACHE_PATH": str(tmp_path / "cache")}
        command = [sys.executable, "-c", textwrap.dedent(script)]
        environment = {**os.environ, **settings}
        ran = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=environment, cwd=tmp_path)
        assert ran.stdout.startswith(str(package))


def test_names_in_functions_of_the_package_mean_what_they_did_where_these_are_defined(tmp_path):
    """They are read when they are first translated."""
    in_a_process(
        tmp_path,
        """
        import pkgutil
        import warpsim
        from warpsim.core.frontend.source.source import Source
        sources, begin = [], Source.__init__
        def read_at_once(source, function):
            begin(source, function)
            sources.append((source, source.captured))
        Source.__init__ = read_at_once
        for module in pkgutil.walk_packages(warpsim.__path__, "warpsim."):
            # Names with an underscore are no part of it: benchmarks and examples that a wheel brings.
            if "._" not in module.name and not module.name.startswith(("warpsim.interop", "warpsim.viewer")):
                __import__(module.name)
        assert len(sources) > 200
        for source, captured in sources:
            assert captured.is_current(), source.name
        """,
    )


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_what_is_no_program_is_translated_again(tmp_path, counts, damage):
    first = result(tmp_path)
    store = stored_programs.object_cache()
    for entry in store.entries():
        if entry.key.startswith("program-"):
            payload = store.load(entry.key)
            store.store(entry.key, payload[:100] if damage == "cut" else b"\x80\x05cos\nsystem\n.")
    assert result(tmp_path) == first and counts["loaded"] == 0


def test_programs_name_nothing_outside_of_the_package():
    with pytest.raises(pickle.UnpicklingError, match=r"a program holds os\.system"):
        stored_programs._Reader(io.BytesIO(b"cos\nsystem\n."), ()).load()
