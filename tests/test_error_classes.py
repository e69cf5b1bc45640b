"""Errors are of the classes of Python that say the same, so that `except KeyError` and its like catch them."""

import pickle

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelError, KernelErrors, WarpsimError

Floats = wp.array(dtype=float)
TABLE = (1.0, 2.0)
VALUES = {"x": 1.0}


@wp.struct
class Pair:
    x: float


class Empty:
    pass


@wp.kernel
def takes(a: Floats, v: wp.vec3, m: wp.mat22, q: wp.quat, t: wp.transform):
    a[0] = v[0] + m[0, 0] + q[0] + t[0]


@wp.func
def twice(x: float):
    return 2.0 * x


def kernel_of(statement):
    text = f"def k(a: wp.array(dtype=float), s: Pair):\n    v = wp.vec3(1.0, 2.0, 3.0)\n    {statement}\n"
    names = {"wp": wp, "Pair": Pair, "TABLE": TABLE, "VALUES": VALUES, "Empty": Empty, "np": np}
    return wp.kernel_from_source(text, "k", names)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize(
    ("statement", "classes"),
    [
        ("a[0] = nowhere", (NameError, KeyError)),
        ("a[0] = nowhere(1.0)", (NameError, KeyError)),
        ("a[0] = nowhere.at.all", (NameError, KeyError)),
        ("a[0] = late\n    late = 1.0", (NameError, KeyError)),
        ("a[0] = wp.nowhere(1.0)", (AttributeError,)),
        ("a[0] = wp.nowhere.at.all()", (AttributeError,)),
        ("a[0] = np.nowhere", (AttributeError,)),
        ("a[0] = Empty.nowhere", (AttributeError,)),
        ("a[0] = v.nowhere", (AttributeError,)),
        ("v.nowhere = 1.0", (AttributeError,)),
        ("a[0] = wp.quat_identity().nowhere", (AttributeError,)),
        ("a[0] = a.nowhere", (AttributeError,)),
        ("a[0] = s.nowhere", (AttributeError,)),
        ("s.nowhere = 1.0", (AttributeError,)),
        ("a[0] = v[7]", (ValueError, IndexError)),
        ("a[0] = TABLE[2]", (ValueError, IndexError)),
        ("a[0] = VALUES['y']", (ValueError, KeyError)),
        ("a[0] = wp.sin[0]", (TypeError,)),
        ("v[0:2] = v", (ValueError,)),
        ("a[0] = v[::0][0]", (ValueError,)),
        ("for i in range(0, 5, 0):\n        a[0] = 1.0", (ValueError,)),
        ("a[0] = wp.dot(1.0, 2.0)", (TypeError,)),
    ],
)
def test_classes_of_errors_of_compilation(statement, classes, device):
    with pytest.raises(KernelError) as caught:
        wp.launch(kernel_of(statement), dim=1, inputs=[wp.zeros(1, dtype=float, device=device), Pair()], device=device)
    assert not isinstance(caught.value, KernelErrors)
    for cls in (*classes, RuntimeError):
        assert isinstance(caught.value, cls)


@pytest.mark.parametrize(
    ("first", "cls", "other"), [("nowhere", KeyError, AttributeError), ("wp.nowhere", AttributeError, KeyError)]
)
def test_several_errors_are_of_the_classes_of_the_first(first, cls, other):
    kernel = kernel_of(f"a[0] = {first}\n    a[0] = wp.dot(1.0, 2.0)")
    with pytest.raises(KernelErrors) as caught:
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float), Pair()])
    assert isinstance(caught.value, cls) and not isinstance(caught.value, other)
    assert len(caught.value.errors) == 2 and str(caught.value).count("-->") == 2
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and [e.message for e in again.errors] == [
        e.message for e in caught.value.errors
    ]


def arguments(**others):
    usual = {"v": wp.vec3(), "m": wp.mat22(), "q": wp.quat(), "t": wp.transform()}
    return [wp.zeros(1, dtype=float), *(usual | others).values()]


@pytest.mark.parametrize("value", [None, (1.0,) * 5, "abc", ("a", "b", "c"), wp.vec2(1.0, 2.0)])
@pytest.mark.parametrize("name", ["v", "m", "q", "t"])
def test_arguments_that_make_no_vector_are_values_that_do_not_fit(name, value):
    with pytest.raises(WarpsimError, match=f"argument '{name}'") as caught:
        wp.launch(takes, dim=1, inputs=arguments(**{name: value}))
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("call", "classes"),
    [
        (lambda: takes(1.0), (NotImplementedError, TypeError)),
        (lambda: wp.tid(), (NotImplementedError, TypeError)),
        (lambda: wp.launch(takes, dim="a", inputs=arguments()), (TypeError, ValueError)),
        (lambda: wp.launch(takes, dim=1.5, inputs=arguments()), (TypeError, ValueError)),
        (lambda: wp.zeros(1.5, dtype=float), (TypeError, ValueError)),
        (lambda: wp.zeros(3, dtype=str), (TypeError, ValueError)),
        (lambda: wp.dtype_from_numpy(np.complex64), (TypeError,)),
        (lambda: wp.zeros(3, dtype=float)["a"], (TypeError,)),
        (lambda: wp.zeros((2, 2), dtype=float).transpose((0, -3)), (IndexError, ValueError)),
        (lambda: wp.vec3.from_ptr(0), (ValueError,)),
        (lambda: wp.mat22.from_ptr(None), (ValueError,)),
        (lambda: wp.vec3() + wp.vec2(), (TypeError,)),
        (lambda: wp.mat22() @ wp.vec3(), (TypeError,)),
        (lambda: Pair(y=1.0), (TypeError, AttributeError)),
        (lambda: setattr(Pair(), "y", 1.0), (AttributeError,)),
        (lambda: wp.map(twice, 1.0), (TypeError, ValueError)),
        (lambda: wp.map(twice, wp.zeros(2, dtype=float), out=wp.zeros(3, dtype=float)), (TypeError, ValueError)),
        (lambda: allocated("a"), (TypeError, ValueError)),
        (lambda: allocated(None), (TypeError, ValueError)),
        (lambda: allocated([1.0, (2.0, 3.0)]), (TypeError, ValueError)),
        (lambda: allocated(1.0, bg_value="a"), (TypeError, ValueError)),
    ],
)
def test_classes_of_errors_of_calls(call, classes):
    with pytest.raises(RuntimeError) as caught:
        call()
    for cls in classes:
        assert isinstance(caught.value, cls), cls


def allocated(voxel_size, bg_value=0.0):
    return wp.Volume.allocate([0, 0, 0], [8, 8, 8], voxel_size=voxel_size, bg_value=bg_value, device="cpu")
