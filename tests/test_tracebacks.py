"""Tracebacks of users' mistakes end at warpsim's door, and their messages name nothing of warpsim's inside."""

import os
import re
import traceback

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import WarpsimError

PACKAGE = os.path.dirname(os.path.abspath(wp.__file__))
SWITCH = "WARPSIM_TRACEBACK"
INSIDE = re.compile(
    r"struct\.pack|struct\.error|format requires|required argument|np\.str_|NoneType' object|object has no attribute|"
    r"positional arguments? but|unpack|__\w+__|site-packages"
)


@pytest.fixture(autouse=True)
def without_switch(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)


@wp.struct
class Pair:
    x: float
    v: wp.vec3


@wp.func
def of_nothing(x: float):
    return undefined_name(x)  # noqa: F821


@wp.kernel
def calls_nothing(a: wp.array(dtype=float)):
    a[wp.tid()] = of_nothing(1.0)


@wp.kernel
def mixes(a: wp.array(dtype=float)):
    a[wp.tid()] = wp.float64(1.0) + a[0]


@wp.kernel
def takes(a: wp.array(dtype=float), s: float, v: wp.vec3, n: int, b: bool, u: wp.uint8, m: wp.mat22, p: Pair):
    a[wp.tid()] = s


def usual(device="cpu"):
    return {
        "a": wp.zeros(3, dtype=float, device=device),
        "s": 1.0,
        "v": wp.vec3(),
        "n": 1,
        "b": True,
        "u": 1,
        "m": wp.mat22(),
        "p": Pair(),
    }


class Odd:
    def __repr__(self):
        raise RuntimeError("no text")


ODD = {
    "none": None, "text": "x", "bytes": b"x", "list": [1.0], "empty list": [], "dict": {}, "set": {1}, "int": 3,
    "huge int": 2**70, "int past 32 bits": 2**31, "digits": 10**5000, "negative": -1, "float": 1.5, "nan": float("nan"),
    "inf": float("inf"), "complex": 1j, "bool": True, "object": object(), "odd": Odd(), "type": float, "function": len,
    "texts": ("a", "b", "c"), "two numbers": (1.0, 2.0), "nested": [[1.0, 2.0], [3.0]], "ragged": [1, [2]],
    "array": np.ones(3), "wrong dtype": np.ones(3, np.int8), "rank": np.ones((2, 2), np.float32),
    "objects": np.array([None, 1]), "vector": wp.vec4(), "struct": Pair(), "kernel": mixes, "long text": "y" * 10000,
}  # fmt: skip


def refused(call):
    """The error of a call, or None; whatever is raised is warpsim's, short and about the user's words."""
    try:
        call()
    except WarpsimError as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [f for f in frames if os.path.abspath(f.filename).startswith(PACKAGE)]
        assert len(inside) <= 1, inside
        assert error.__cause__ is None and (error.__suppress_context__ or error.__context__ is None)
        assert not INSIDE.search(str(error)), str(error)
        return error
    return None


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("name", list(usual()))
def test_wrong_arguments_of_every_kind_are_refused_in_few_words(name, device):
    count = 0
    for kind, value in ODD.items():
        arguments = {**usual(device), name: value}
        error = refused(lambda: wp.launch(takes, dim=1, inputs=list(arguments.values()), device=device))  # noqa: B023
        if error is not None:
            count += 1
            assert repr(name) in str(error) and "expected" in str(error), (kind, str(error))
            assert len(str(error)) < 500, kind
    assert count >= 20


def test_wrong_calls_of_launch_are_refused_in_few_words():
    good = list(usual().values())
    for call in (
        lambda: wp.launch(takes, dim=1, inputs=good[:1]),
        lambda: wp.launch(takes, dim=1, inputs=[*good, 1]),
        lambda: wp.launch(takes, dim=1, inputs=None),
        lambda: wp.launch(takes, dim=1, inputs=good, outputs=3),
        lambda: wp.launch(takes, dim=None, inputs=good),
        lambda: wp.launch(takes, dim="x", inputs=good),
        lambda: wp.launch(takes, dim=-1, inputs=good),
        lambda: wp.launch(takes, dim=2**70, inputs=good),
        lambda: wp.launch(takes, dim=float("nan"), inputs=good),
        lambda: wp.launch(None, dim=1, inputs=good),
        lambda: wp.launch(takes, dim=1, inputs=good, device="xpu"),
        lambda: wp.launch(takes, 1, good, stream=3),
        lambda: wp.launch(takes, dim=1, input=good),
        lambda: wp.launch(takes, (1, 2, 3, 4, 5), inputs=good),
    ):
        assert refused(call) is not None


@pytest.mark.parametrize("kernel", [calls_nothing, mixes])
def test_errors_of_the_compiler_show_the_launch_and_the_message(kernel):
    error = refused(lambda: wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float, device="cpu")], device="cpu"))
    lines = "".join(traceback.format_exception(error)).splitlines()
    assert len(lines) < 30 and any("wp.launch(kernel" in line for line in lines)


def test_the_environment_keeps_the_frames(monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    with pytest.raises(WarpsimError) as caught:
        wp.launch(mixes, dim=1, inputs=[wp.zeros(1, dtype=float, device="cpu")], device="cpu")
    inside = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename.startswith(PACKAGE)]
    assert len(inside) > 5


def test_a_cause_in_the_code_of_the_user_is_kept():
    def fails():
        raise KeyError("of the user")

    @wp.kernel
    def k(a: wp.array(dtype=float)):
        a[wp.tid()] = wp.static(fails())

    with pytest.raises(WarpsimError) as caught:
        wp.launch(k, dim=1, inputs=[wp.zeros(1, dtype=float, device="cpu")], device="cpu")
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError) and traceback.extract_tb(cause.__traceback__)[-1].name == "fails"


@pytest.mark.parametrize("ptr", [0, -1, 2**64, 2**70, None, "x", 1.5, True])
def test_what_is_no_address_makes_no_array(ptr):
    assert "ptr" in str(refused(lambda: wp.from_ptr(ptr, 3, dtype=float, device="cpu")) or "")
    if ptr is not None:
        assert "ptr" in str(refused(lambda: wp.array(ptr=ptr, dtype=float, shape=(3,), device="cpu")) or "")


def test_an_empty_array_may_lie_at_address_zero():
    assert wp.array(ptr=0, dtype=float, shape=(0,), device="cpu").shape == (0,)
    kept = np.arange(3, dtype=np.float32)
    assert wp.from_ptr(kept.ctypes.data, 3, dtype=float, device="cpu").numpy().tolist() == [0.0, 1.0, 2.0]
