"""Long chains of alternatives, conditions, exits and terms: what they mean, in nests that stay shallow."""

import itertools
import linecache

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.compile import lower
from warpsim.core.ir.nodes import Region
from warpsim.errors import KernelErrors, KernelNameError, UnsupportedSyntaxError

DEVICES = pytest.mark.parametrize("device", ["cpu", "interp"])
LENGTHS = pytest.mark.parametrize("n", [64, 66])
_numbers = itertools.count()


@wp.func
def counted(calls: wp.array(dtype=int), holds: bool):
    """A condition that tells how often it is asked."""
    wp.atomic_add(calls, 0, 1)
    return holds


def kernel_of(*lines):
    """A kernel over x, out and calls with these lines in its body; `v` is the thread's element of x."""
    text = "def generated(x: wp.array(dtype=int), out: wp.array(dtype=int), calls: wp.array(dtype=int)):\n"
    text += "".join(f"    {line}\n" for line in ("i = wp.tid()", "v = x[i]", *lines))
    name = f"<chain {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"wp": wp, "counted": counted, "NEVER": False, "ALWAYS": True}
    exec(compile(text, name, "exec"), space)
    return wp.kernel(space["generated"])


def results(kernel, values, device):
    x = wp.array(values, dtype=int, device=device)
    out, calls = (wp.zeros(n, dtype=int, device=device) for n in (len(values), 1))
    wp.launch(kernel, dim=len(values), inputs=[x, out, calls], device=device)
    return out.numpy().tolist(), int(calls.numpy()[0])


def elif_chain(n, test, side):
    return [line for k in range(n) for line in (f"{'elif' if k else 'if'} {test(k)}:", f"    {side(k)}")]


@DEVICES
@LENGTHS
def test_the_first_test_that_holds_decides(device, n):
    """Tests beyond it are not evaluated; variables of all sides have a value afterwards."""
    chain = elif_chain(n, lambda k: f"counted(calls, v <= {k})", lambda k: f"w = {k} + 7")
    kernel = kernel_of(*chain, "else:", "    w = -1", "out[i] = w")
    for value in (0, 1, n // 2, n - 1, n, n + 5):
        first = min(value, n)
        assert results(kernel, [value], device) == ([first + 7 if first < n else -1], min(first + 1, n))


@DEVICES
@LENGTHS
def test_sides_may_return(device, n):
    chain = elif_chain(n, lambda k: f"v == {k}", lambda k: "return" if k % 3 == 0 else f"out[i] = {k}")
    values = list(range(n + 2))
    expected = [1 if v >= n else 0 if v % 3 == 0 else v + 1 for v in values]
    assert results(kernel_of(*chain, "out[i] = out[i] + 1"), values, device)[0] == expected


@DEVICES
def test_what_is_decided_already_is_not_translated(device):
    """Also in the middle of a long chain: sides that cannot be reached may hold anything of the language."""
    tests = [f"v == {k}" for k in range(80)]
    tests[40] = "NEVER"
    sides = [f"out[i] = {k}" for k in range(80)]
    sides[40] = "out[i] = undefined_name"
    tests.append("ALWAYS")
    sides.append("out[i] = 1000")
    tests.append("v == undefined_name")
    sides.append("out[i] = 7")
    kernel = kernel_of(*elif_chain(82, tests.__getitem__, sides.__getitem__))
    assert results(kernel, [39, 40, 41, 99], device)[0] == [39, 1000, 41, 1000]


def test_errors_in_long_chains_keep_their_places():
    tests = [f"v == {k}" for k in range(100)]
    tests[70] = "v == missing_test"
    sides = [f"out[i] = {k}" for k in range(100)]
    sides[90] = "out[i] = missing_side"
    with pytest.raises(KernelErrors) as caught:
        results(kernel_of(*elif_chain(100, tests.__getitem__, sides.__getitem__)), [1], "cpu")
    assert [type(error) for error in caught.value.errors] == [KernelNameError] * 2
    assert {error.location.line for error in caught.value.errors} == {4 + 2 * 70, 4 + 2 * 90 + 1}


@DEVICES
@LENGTHS
def test_conditional_expressions(device, n):
    text = " else ".join(f"{k} + v if counted(calls, v == {k})" for k in range(n))
    kernel = kernel_of(f"out[i] = {text} else -5")
    for value in (0, n // 2, n - 1, n):
        expected = 2 * value if value < n else -5
        assert results(kernel, [value], device) == ([expected], min(value + 1, n))


@DEVICES
@LENGTHS
@pytest.mark.parametrize("word", ["or", "and"])
def test_conditions_evaluate_only_what_they_need(device, n, word):
    sign = "==" if word == "or" else "!="
    text = f" {word} ".join(f"counted(calls, v {sign} {k})" for k in range(n))
    kernel = kernel_of(f"if {text}:", "    out[i] = 1")
    for value in (0, n // 2, n - 1, n):
        assert results(kernel, [value], device) == ([int((value < n) == (word == "or"))], min(value + 1, n))


@DEVICES
def test_chained_comparisons(device):
    kernel = kernel_of(f"if {' <= '.join(['v'] * 600)} < 5 < 9:", "    out[i] = 1")
    assert results(kernel, [4, 5], device)[0] == [1, 0]


@DEVICES
@LENGTHS
@pytest.mark.parametrize("word", ["return", "break", "continue"])
def test_exits_one_after_the_other(device, n, word):
    exits = [line for k in range(n) for line in (f"    if v == {k}:", f"        {word}", "    s += 1")]
    kernel = kernel_of("s = int(0)", "for k in range(2):", *exits, "    s += 1000", "    out[i] = s", "out[i] = s + 1")
    rounds = {"return": 0, "break": 1, "continue": 2}[word]

    def expected(v):
        if v >= n:
            return 2 * (n + 1000) + 1
        return v * rounds + 1 if rounds else 0

    values = [0, 1, 63, 64, n - 1, n, n + 1]
    assert results(kernel, values, device)[0] == [expected(v) for v in values]


@pytest.mark.parametrize("n", [66])
def test_gradients_through_long_chains(n):
    text = "def scaled(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    v = x[i]\n"
    for k in range(n):
        text += f"    {'elif' if k else 'if'} v < {k + 1}.0:\n        w = v * v * {k}.0\n"
    text += "    else:\n        w = -v\n    y[i] = w\n"
    linecache.cache["<scaled>"] = (len(text), None, text.splitlines(True), "<scaled>")
    space = {"wp": wp}
    exec(compile(text, "<scaled>", "exec"), space)
    values = np.array([0.5, 1.5, 62.5, 63.5, n - 0.5, n + 0.5], dtype=np.float32)
    x, y = wp.array(values, requires_grad=True), wp.zeros(6, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(wp.kernel(space["scaled"]), dim=6, inputs=[x, y])
    tape.backward(grads={y: wp.ones(6, dtype=float)})
    expected = np.where(values < n, 2.0 * values * np.floor(values), -1.0)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)


# ----- depth ------------------------------------------------------------------------------------


def depth(region: Region) -> int:
    return max((1 + depth(inner) for node in region.nodes for inner in node.regions()), default=0)


LONG = {
    "elif": elif_chain(300, lambda k: f"v == {k}", lambda k: f"out[i] = {k}"),
    "if else": ["out[i] = " + " else ".join(f"{k} if v == {k}" for k in range(300)) + " else -1"],
    "or": ["if " + " or ".join(f"counted(calls, v == {k})" for k in range(300)) + ":", "    out[i] = 1"],
    "return": [line for k in range(300) for line in (f"if v == {k}:", "    return")] + ["out[i] = 1"],
    "sum": ["out[i] = " + " + ".join(["v"] * 2000)],
}


@pytest.mark.parametrize("kind", LONG)
def test_nests_stay_shallow(kind):
    kernel = kernel_of(*LONG[kind])
    assert depth(lower(kernel.source, kernel.patterns, list(kernel.patterns.values())).body) <= 80


@DEVICES
@pytest.mark.parametrize("text", ["-" * 1500 + "v", " ** ".join(["v"] * 1500)], ids=["signs", "powers"])
def test_what_is_nested_too_deeply_is_said(device, text):
    with pytest.raises(UnsupportedSyntaxError, match="this is nested too deeply"):
        results(kernel_of(f"out[i] = {text}"), [1], device)
