"""Structs: any identifier names a field, everywhere that structs go."""

import copy
import keyword
import linecache
import pickle
import re

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.types.structs import Struct
from warpsim.errors import KernelNameError

OURS = """fields defaults key numpy_dtype numpy dtype shape ptr to assign type value name self cls kind size ndim wrap
make data strides device grad requires_grad fill_ zero_ x y z w xyz i t a values given layout kernel_form library
offset tobytes any _data _tag _grad _memory _pack _x _ __ __x _private register symbol print range len int float str
wp tid min
max abs struct class_ tangent primal adj_ret arguments results begin end total block nan inf e pi lambda_ match case
soft
_struct mro update get items keys copy pop self_ result entry index thread header launch func kernel args kwargs
Ω größe 変数 naïve x1 X II l O very_long_name_of_a_field_that_goes_on_and_on_and_on_and_on_and_on_and_on""".split()
MACHINERY = sorted({name for t in (Struct, type(Struct), type, object) for name in dir(t)} - set(dir(object)))
PUBLIC = sorted({name for t in (wp.array, wp.vec3, wp.quat) for name in dir(t)})
NAMES = [n for n in dict.fromkeys([*OURS, *MACHINERY, *PUBLIC]) if not re.fullmatch(r"__\w+__", n)]


def struct_of(**fields):
    """A struct with such fields, the last one an array."""
    return wp.struct(type("S", (), {"__annotations__": fields, "__module__": __name__}))


def made(source, **space):
    file = f"<struct {source}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space |= {"wp": wp, "__name__": __name__}
    exec(compile(source, file, "exec"), space)
    return space


PROGRAM = """
@wp.func
def doubled(s: S):
{doubled}
    return s

@wp.kernel
def k(s: S, of: wp.array(dtype=S), out: wp.array(dtype=float), count: wp.array(dtype=float)):
    i = wp.tid()
    local = S({ones}, other=wp.vec3(1.0, 2.0, 3.0))
{lines}
    wp.atomic_add(count, 0, 1.0)
"""
LINES = """
    local.{n} += s.{n}
    of[i].{n} = of[i].{n} + doubled(local).{n}
    s.{n}_array[i] = s.{n}_array[i] * s.{n}
    out[i] += s.{n}_array[i] + local.other[1] + constant.{n}
"""


@pytest.mark.parametrize("names", [NAMES[k : k + 12] for k in range(0, len(NAMES), 12)], ids=lambda names: names[0])
def test_any_identifier_names_a_field(names):
    arrays = [f"{n}_array" for n in names]
    S = struct_of(**dict.fromkeys(names, float), other=wp.vec3, **dict.fromkeys(arrays, wp.array(dtype=float)))
    s, constant = S(**dict.fromkeys(names, 3.0)), S(**dict.fromkeys(names, 10.0))
    assert [getattr(s, n) for n in names] == [3.0] * len(names) and all(f"{n}=" in repr(s) for n in names)
    assert s == s and copy.copy(s) == s and s != S() and list(S.fields) == [*names, "other", *arrays]
    with pytest.raises(AttributeError, match="has no field 'missing'"):
        s.missing = 1.0
    with pytest.raises(AttributeError, match=f"{names[0]} cannot be deleted"):
        delattr(s, names[0])
    text = PROGRAM.format(
        doubled="\n".join(f"    s.{n} = s.{n} * 2.0" for n in names),
        ones=", ".join(f"{n}=1.0" for n in names),
        lines="".join(LINES.format(n=n) for n in names),
    )
    k = made(text, S=S, constant=constant)["k"]
    for device in ("cpu", "interp"):
        for n in arrays:
            setattr(s, n, wp.array([5.0, 7.0], dtype=float, device=device))
        records = np.zeros(2, S.numpy_dtype())
        for n in names:
            records[n] = [1.0, 2.0]
        of, out = wp.array(records, dtype=S, device=device), wp.zeros(2, dtype=float, device=device)
        wp.launch(k, dim=2, inputs=[s, of, out, wp.zeros(1, dtype=float, device=device)], device=device)
        for n in names:
            assert of.numpy()[n].tolist() == [9.0, 10.0]
        assert out.numpy().tolist() == [len(names) * (5.0 * 3 + 2 + 10), len(names) * (7.0 * 3 + 2 + 10)]


@pytest.mark.parametrize("name", ["fields", "grad", "shape", "key"])
def test_gradients_pass_through_fields_of_any_name(name):
    S = struct_of(**{name: wp.array(dtype=float), "defaults": float})
    k = made(
        f"@wp.kernel\ndef k(s: S, y: wp.array(dtype=float)):\n    i = wp.tid()\n"
        f"    y[i] = s.{name}[i] * s.{name}[i] * s.defaults\n",
        S=S,
    )["k"]
    x = wp.array([2.0, 3.0], dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(2, dtype=float, device="cpu", requires_grad=True)
    s = S(**{name: x, "defaults": 10.0})
    with wp.Tape() as tape:
        wp.launch(k, dim=2, inputs=[s, y], device="cpu")
    tape.backward(grads={y: wp.ones(2, dtype=float, device="cpu")})
    assert x.grad.numpy().tolist() == [40.0, 60.0]
    found = wp.autograd.jvp(k, 2, [s], [y], tangents={f"s.{name}": wp.ones(2, dtype=float, device="cpu")}, device="cpu")
    assert found["y"].numpy().tolist() == [40.0, 60.0]


@pytest.mark.parametrize("name", sorted(n for n in dir(Struct) if re.fullmatch(r"__\w+__", n)))
def test_names_of_python_are_refused(name):
    with pytest.raises(TypeError, match=re.escape(f"field S.{name} of a struct has a name of Python's own")):
        struct_of(x=float, **{name: float})


def test_native_functions_refuse_names_that_cpp_keeps():
    S = struct_of(double=float)
    space = made("def f(s: S) -> float: ...\n", S=S)
    native = wp.func_native("return 1.0f;")(space["f"])
    with pytest.raises(KernelNameError, match="field 'double' of struct S has a name that C\\+\\+ keeps for itself"):
        native(S())


def test_every_name_is_an_identifier_that_python_takes():
    assert [n for n in NAMES if not n.isidentifier() or keyword.iskeyword(n)] == []
    assert {"fields", "defaults", "key", "numpy_dtype", "mro", "self"} <= set(NAMES)


def test_fields_that_are_tiles_are_refused():
    with pytest.raises(TypeError, match=r"field S\.x is a tile: local_array\(float32, .*\nexpected: an array"):
        struct_of(x=wp.tile[float, 2, 2])


def test_structs_are_made_of_their_fields_in_order():
    S = struct_of(x=float)
    assert S(1.0).x == 1.0
    with pytest.raises(TypeError, match=r"2 values for struct S\nexpected: each of x once"):
        S(1.0, 2.0)


def test_defaults_are_not_shared():
    @wp.struct
    class S:
        v: wp.vec3 = wp.vec3(1.0, 2.0, 3.0)

    first = S()
    first.v[0] = 9.0
    assert S().v == wp.vec3(1.0, 2.0, 3.0)


@wp.struct
class Kept:
    fields: float
    key: wp.vec3


def test_instances_are_pickled_and_copied():
    s = Kept(fields=2.0, key=wp.vec3(1.0, 2.0, 3.0))
    for again in (pickle.loads(pickle.dumps(s)), copy.copy(s), copy.deepcopy(s)):
        assert again == s and type(again) is Kept


def test_the_value_of_a_struct_fills_a_structured_array():
    @wp.struct
    class Inner:
        m: wp.mat22
        on: bool

    @wp.struct
    class Outer:
        x: wp.float16
        inner: Inner

    given = Outer(1.5, Inner(wp.mat22(1, 2, 3, 4), True))
    made = np.empty(2, Outer.numpy_dtype())
    made[:] = given.numpy_value()
    assert wp.array(made, dtype=Outer).list() == [given, given]
    a = wp.zeros(2, dtype=wp.mat22)
    a.fill_((1, 2, 3, 4))
    assert a.list() == [wp.mat22(1, 2, 3, 4)] * 2


def test_the_value_of_a_struct_describes_its_arrays():
    @wp.struct
    class Owner:
        k: int
        data: wp.array2d[float]
        picked: wp.indexedarray[float]

    line = wp.array([1.0, 2.0], dtype=float)
    for owner in (Owner(k=3), Owner(k=3, data=wp.zeros((2, 3), dtype=float), picked=line[[1, 0]])):
        made = wp.full(2, owner, dtype=Owner).numpy()
        wanted = np.zeros(2, Owner.numpy_dtype())
        wanted[:] = owner.numpy_value()
        assert made.tobytes() == wanted.tobytes()


@wp.struct
class Part:
    k: float
    v: wp.vec3
    data: wp.array(dtype=float)


@wp.struct
class Whole:
    part: Part
    n: int
    small: wp.uint8
    d: wp.float64
    m: wp.mat22
    t: wp.transform
    on: bool


def test_fields_keep_what_a_value_was_when_it_was_assigned():
    data, v = wp.zeros(2, dtype=float), wp.vec3(1, 2, 3)
    part = Part(k=1.0, v=v, data=data)
    whole = Whole(part=part)
    part.k, v.x = 5.0, 9.0
    whole.part.v[1] = -1.0
    assert (whole.part.k, whole.part.v, part.v) == (1.0, (1, -1, 3), (1, 2, 3))
    assert whole.part.data is part.data is data  # arrays are shared
    inner = whole.part
    inner.k = 7.0
    assert whole.part.k == 7.0 and whole.part is inner  # what is read is the field itself


def test_none_is_zero_in_every_field_but_structs():
    whole = Whole(n=3, d=1.5, m=wp.mat22(1, 2, 3, 4), on=True)
    whole.n = whole.d = whole.m = whole.t = whole.on = None
    assert (whole.n, whole.d, whole.on) == (0, 0.0, False) and whole.m == wp.mat22() and whole.t == (0.0,) * 7
    with pytest.raises(TypeError, match=r"Whole.part got NoneType\nexpected: Part"):
        whole.part = None
    whole.part.data = wp.zeros(1, dtype=float)
    whole.part.data = None


NUMBERS = [("n", 2.5), ("n", 2.0), ("n", np.float32(2)), ("n", "2"), ("small", 1.5), ("d", "1"), ("d", wp.vec3())]
NUMBERS += [("d", (1.0,)), ("n", [1]), ("on", "yes"), ("part", 5), ("m", "abcd"), ("m", (1, 2, 3)), ("t", 1j)]


@pytest.mark.parametrize(("name", "value"), NUMBERS)
def test_fields_take_numbers_of_their_kind(name, value):
    whole = Whole()
    before = copy.deepcopy(whole)
    with pytest.raises(TypeError):
        setattr(whole, name, value)
    assert whole == before
    with pytest.raises(TypeError):
        Whole(**{name: value})


@pytest.mark.parametrize("value", [True, 3, np.int64(3), np.float64(2.5), np.array(1.0)])
def test_floats_take_every_number(value):
    whole = Whole()
    whole.d = value
    assert whole.d == float(value) and type(whole.d) is wp.float64


def test_unknown_fields_are_attribute_errors_and_ours():
    for kind in (AttributeError, RuntimeError):
        with pytest.raises(kind, match="has no field 'lenght'\nexpected: one of part, n"):
            Whole().lenght = 1.0


def test_structs_show_plain_numbers():
    assert repr(Part(k=1.5, v=(1, 2, 3))) == "Part(k=1.5, v=vec3f([1.0, 2.0, 3.0]), data=None)"


def test_the_decorator_may_be_called_first():
    @wp.struct()
    class Called:
        x: float

    @wp.struct(module="unique")
    class OfModule:
        x: float = 2.0

    assert Called(1.0).x == 1.0 and OfModule().x == 2.0
