"""Annotations that are texts: names of the module, of the functions around and of the class are seen."""

import numpy as np
import pytest
from notebooks import Notebook

import warpsim as wp
from warpsim.errors import KernelNameError


@pytest.fixture
def notebook():
    return Notebook()


HEAD = "from __future__ import annotations\n"
FACTORY = """
T = wp.int8  # what an inner scope hides

def make(T, n):
    V = wp.types.vector(length=n, dtype=T)

    @wp.struct
    class Inner:
        v: V

    @wp.struct
    class Outer:
        Own = wp.types.matrix(shape=(2, n), dtype=T)
        x: T
        inner: Inner
        m: Own
        a: wp.array(dtype=T)

    @wp.func
    def f(s: Outer, v: V) -> T:
        return s.x * v[n - 1] + s.inner.v[0]

    @wp.kernel
    def k(s: Outer, v: V, out: wp.array(dtype=T)):
        out[0] = f(s, v) + s.m[1, n - 1] + s.a[0]

    return Outer, Inner, V, k
"""


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_types_of_a_factory_differ_from_call_to_call(notebook, device):
    names = notebook.run(HEAD + FACTORY)
    made = [(T, n, *names.make(T, n)) for T, n in ((wp.float64, 3), (wp.float32, 5), (wp.int32, 2))]
    for T, n, outer, inner, V, k in made:
        assert outer.fields["x"] is T and outer.fields["inner"] is inner and outer.fields["a"] == wp.array(dtype=T)
        s = outer(x=T(2), inner=inner(v=V(*range(7, 7 + n))), m=np.arange(2 * n).reshape(2, n))
        s.a = wp.array([5], dtype=T, device=device)
        out = wp.zeros(1, dtype=T, device=device)
        wp.launch(k, 1, [s, V(*range(1, n + 1)), out], device=device)
        assert out.numpy()[0] == 2 * n + 7 + 2 * n - 1 + 5


def test_scopes_that_are_seen(notebook):
    names = notebook.run(
        HEAD
        + """
        T = wp.float32

        def outer(A):
            def inner(B):
                class Holder:
                    C = wp.vec3

                    @wp.func
                    def f(a: A, b: B, c: C) -> C:
                        return c * (float(a) + float(b))

                    @wp.struct
                    class S:
                        a: A
                        b: B
                        t: T
                return Holder
            return inner(wp.int32)

        def late(cls):
            return wp.struct(cls)

        def make_late(A):
            class S:
                a: A
            return late(S)

        made, later = outer(wp.float64), [make_late(A) for A in (wp.vec2, wp.vec4)]
        listed = [wp.struct(type("S", (), {"__annotations__": {"t": "T"}, "__module__": __name__}))]
    """.replace("\n        ", "\n")
    )
    assert list(names.made.S.fields.values()) == [wp.float64, wp.int32, wp.float32]
    assert [s.fields["a"] for s in names.later] == [wp.vec2, wp.vec4]
    assert names.listed[0].fields["t"] is wp.float32
    assert names.made.f(wp.float64(1.0), 2, wp.vec3(1.0, 2.0, 3.0)) == wp.vec3(3.0, 6.0, 9.0)


def test_a_closure_comes_before_a_global(notebook):
    names = notebook.run(
        HEAD
        + """
        T = wp.int8

        def make(T):
            def later():
                @wp.func
                def f(x: T) -> T:
                    return x + T(1)
                return f
            return later

        f = make(wp.float64)()
    """.replace("\n        ", "\n")
    )
    assert names.f.overloads[0].patterns["x"] is wp.float64


@pytest.mark.parametrize(
    "text, words",
    [
        ("'T'", ["annotation 'T' of field S.x cannot be evaluated: name 'T' is not defined", "drop `from __future__"]),
        ("'float x'", ["annotation 'float x' of field S.x cannot be evaluated", "annotate with types: x: float"]),
    ],
)
def test_names_that_no_scope_has(notebook, text, words):
    with pytest.raises(KernelNameError) as caught:
        notebook.run(f"def make(T):\n    class S:\n        x: {text}\n    return S\nwp.struct(make(wp.vec3))")
    assert all(word in str(caught.value) for word in words)
    assert isinstance(caught.value, NameError)
