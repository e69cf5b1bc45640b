"""Names from outside: constants as they are when first compiled, all else as defined; functions are followed."""

import enum
import textwrap

import pytest
from notebooks import Notebook, value

import warpsim as wp
from warpsim.errors import KernelNameError

DEVICES = ["cpu", "interp"]


@pytest.fixture
def notebook():
    return Notebook()


CAPTURED_IN_A_LOOP = {
    "a number": ("(1.0, 2.0, 3.0)", "v"),
    "static": ("(1.0, 2.0, 3.0)", "wp.static(v)"),
    "static expression": ("(1, 2, 3)", "float(wp.static([0, 1, 2, 3][v]))"),
    "static with a local constant": ("(0.0, 1.0, 2.0)", "wp.static(v + one)"),
    "NumPy's number": ("map(np.float32, (1, 2, 3))", "v"),
    "a vector": ("[wp.vec3(x, 0.0, 0.0) for x in (1.0, 2.0, 3.0)]", "v[0]"),
    "a component": ("[wp.vec3(x, 0.0, 0.0) for x in (1.0, 2.0, 3.0)]", "v.x"),
    "a tuple": ("[(0.0, x) for x in (1.0, 2.0, 3.0)]", "v[1]"),
    "a list": ("[[0.0, x] for x in (1.0, 2.0, 3.0)]", "v[1]"),
    "a function": ("(plus_0, plus_1, plus_2)", "v(1.0)"),
    "a lambda": ("LAMBDAS", "v(1.0)"),
    "an object": ("[Simple(part=Simple(k=x)) for x in (1.0, 2.0, 3.0)]", "v.part.k"),
    "a struct": ("[S(k=x) for x in (1.0, 2.0, 3.0)]", "v.k"),
    "a condition": ("('one', 'two', 'three')", "wp.static({'one': 1.0, 'two': 2.0, 'three': 3.0}[v])"),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CAPTURED_IN_A_LOOP)
@pytest.mark.parametrize("scope", ["module", "function"])
def test_kernels_made_in_a_loop_keep_their_own_value(notebook, name, scope, device):
    values, expression = CAPTURED_IN_A_LOOP[name]
    body = f"""
        for v in {values}:
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                one = 1.0
                a[wp.tid()] = {expression}
            kernels.append(k)
    """
    head = """
        from types import SimpleNamespace as Simple
        kernels = []
        @wp.struct
        class S:
            k: float
        plus_0 = wp.func(lambda x: x)
        plus_1 = wp.func(lambda x: x + 1.0)
        LAMBDAS = [
            plus_0,
            plus_1,
            wp.func(lambda x: x + 2.0)
        ]
        @wp.func
        def plus_0(x: float):
            return x
        @wp.func
        def plus_1(x: float):
            return x + 1.0
        @wp.func
        def plus_2(x: float):
            return x + 2.0
    """
    text = textwrap.dedent(head) + (
        textwrap.dedent(body) if scope == "module" else "def make():" + body.replace("\n", "\n    ") + "\nmake()\n"
    )
    kernels = notebook.run(text).kernels
    assert [value(k, device) for k in kernels] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("scope", ["module", "function"])
def test_functions_made_in_a_loop_keep_their_own_value(notebook, scope):
    body = """
    for s in (1.0, 2.0, 3.0):
        @wp.func
        def inner(x: float):
            return s * x
        @wp.func
        def outer(x: float):
            return inner(x)
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = outer(1.0)
        kernels.append(k)
    """
    text = "kernels = []\n"
    text += textwrap.dedent(body) if scope == "module" else "def make():" + body.replace("\n", "\n    ") + "\nmake()\n"
    assert [value(k) for k in notebook.run(text).kernels] == [1.0, 2.0, 3.0]


def test_members_of_enumerations_and_of_classes_are_values(notebook):
    class Kind(enum.IntEnum):
        A = 3

    class Settings:
        gain = 2.0

    @wp.kernel
    def k(a: wp.array(dtype=float)):
        a[wp.tid()] = Settings.gain * float(Kind.A)

    Settings.gain = 5.0
    assert value(k) == 15.0


def test_postponed_annotations_belong_to_the_definition(notebook):
    names = notebook.run("""
        from __future__ import annotations
        kernels = []
        for T in (wp.float32, wp.float64):
            @wp.kernel
            def k(a: wp.array(dtype=T)):
                a[wp.tid()] = T(1.5)
            kernels.append(k)
    """)
    assert [k.patterns["a"].dtype for k in names.kernels] == [wp.float32, wp.float64]


# ----- names that come later ------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("expression", ["late", "wp.static(late)", "helper()", "part.late"])
def test_a_closure_variable_assigned_later_is_never_a_global_of_that_name(notebook, expression, device):
    names = notebook.run(f"""
        from types import SimpleNamespace
        late, part = 42.0, SimpleNamespace(late=42.0)
        def make():
            @wp.func
            def helper():
                return late
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = {expression}
            late, part = 99.0, SimpleNamespace(late=99.0)
            return k
        def unassigned():
            @wp.kernel
            def k(a: wp.array(dtype=float)):
                a[wp.tid()] = late
            yield k
            late = 1.0
        missing = next(unassigned())
    """)
    assert value(names.make(), device) == 99.0
    with pytest.raises(KernelNameError, match=r"'late' is not defined(.|\n)*enclosing function"):
        value(names.missing, device)


def test_a_name_that_came_later_keeps_the_value_it_was_first_compiled_with(notebook):
    names = notebook.run("""
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[wp.tid()] = later(1.0) + C
    """)
    notebook.run("""
        C = 1.0
        @wp.func
        def later(x: float):
            return x * 10.0
    """)
    assert value(names.k) == 11.0
    notebook.run("C = 2.0")
    assert value(names.k, "interp") == 11.0


def test_an_array_of_the_script_is_not_kept_alive_by_a_kernel_with_a_parameter_of_that_name(notebook):
    names = notebook.run("""
        x = wp.zeros(4, dtype=float, device="cpu")
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            y = x[0]
            x[wp.tid()] = y + 1.0
    """)
    assert not {"x", "y"} & (set(names.k.source.captured.settled) | names.k.source.captured.late)


def test_a_name_that_meant_no_constant_to_the_kernel_before_belongs_to_each_definition(notebook):
    names = notebook.run("""
        @wp.func
        def plus(x: float):
            return x + 1.0
        def make():
            kernels = []
            for op in (plus, 2.0, [3.0]):
                @wp.kernel
                def k(a: wp.array(dtype=float)):
                    a[wp.tid()] = wp.static(op[0] if isinstance(op, list) else 1.0)
                    if wp.static(isinstance(op, float)):
                        a[wp.tid()] = op
                kernels.append(k)
            op = 5.0
            return kernels
        kernels = make()
    """)
    assert [value(k) for k in names.kernels] == [1.0, 2.0, 3.0]
