"""Random kernels mean the same everywhere: in Python, on the interpreter, after every pass, and as machine code.

Every example is one text (see `random_kernels`), run four ways: as plain Python on the host forms of the op rows,
on the interpreter before and after the passes, and as machine code with and without bounds checks. Memory must be equal
to the bit; only a NaN may differ from another NaN.

WARPSIM_FUZZ=5000 runs that many random examples instead of the fixed ones of every day.
"""

from __future__ import annotations

import itertools
import linecache
import os

import numpy as np
import plain_python
import pytest
from hypothesis import HealthCheck, given, note, settings
from random_kernels import SIZE, texts

import warpsim as wp
from warpsim.core.frontend.function import kernel_function
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ops.host_memory import HostArray
from warpsim.core.passes.simplify.inline import inline

pytestmark = pytest.mark.assembled_one_in(11)
EXAMPLES = int(os.environ.get("WARPSIM_FUZZ", "0"))
_numbers = itertools.count()


def module(text):
    """The globals of a text that Python compiled, with its source where `inspect` finds it."""
    name = f"<fuzz {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found = {"wp": wp, "__name__": name}
    exec(compile(text, name, "exec", dont_inherit=True), found)
    return found


def inputs():
    """Memory of the arrays a*, o*, os and shared, in the order of the kernel's parameters."""
    rng = np.random.default_rng(7)
    floats = np.array([0.0, 1.5, -2.25, 0.1, 1e6, -1e-3, 3.0, -7.5])
    ints = np.array([0, 1, -2, 7, 2147483647, -2147483648, 12, -100], dtype=np.int32)
    unsigned = np.array([0, 1, 5, 4294967295, 17, 2147483648, 31, 1000], dtype=np.uint32)
    vectors = rng.integers(-4, 5, (SIZE, 3)).astype(np.float32) / 2
    given = [floats.astype(np.float32), floats, ints, unsigned, vectors]
    return [*given, *(np.zeros_like(a) for a in given)]


TYPES = (np.float32, np.float64, np.int32, np.uint32, wp.vec3) * 2


def by_python(text, struct):
    """Every array after the text ran as plain Python; structs field by field."""
    memory = [*inputs(), np.zeros(SIZE, struct.numpy_dtype()), np.zeros(SIZE, np.int32)]
    arrays = plain_python.run(text, "k", list(zip(memory, (*TYPES, struct, np.int32), strict=True)), SIZE)
    for record, element in zip(arrays[-2].memory, memory[-2], strict=True):
        for field in struct.fields:
            element[field] = plain_python.bare(getattr(record, field))
    return memory


def on_device(kernel, struct, device):
    """Every array after a launch."""
    arrays = [wp.array(a, dtype=t, device=device) for a, t in zip(inputs(), TYPES, strict=True)]
    arrays += [wp.zeros(SIZE, dtype=struct, device=device), wp.zeros(SIZE, dtype=int, device=device)]
    wp.launch(kernel, dim=SIZE, inputs=arrays, device=device)
    return [a.numpy() for a in arrays]


def before_passes(kernel, struct):
    """Every array after the program ran as the front end made it, with calls inlined and nothing else done."""
    program = inline(kernel_function(kernel.source, kernel.patterns, list(kernel.patterns.values())))
    memory = [*inputs(), np.zeros(SIZE, struct.numpy_dtype()), np.zeros(SIZE, np.int32)]
    values = [HostArray(m, p.type, p.hint) for m, p in zip(memory, program.params, strict=True)]
    machine = Interpreter(check_numbers=False)
    for thread in range(SIZE):
        machine.thread = (thread,)
        machine.run(program.body, values)
    return memory


def assert_same(want, got, how):
    for k, (a, b) in enumerate(zip(want, got, strict=True)):
        for field in a.dtype.names or (None,):
            x, y = (a, b) if field is None else (a[field], b[field])
            np.testing.assert_array_equal(x, y, err_msg=f"array {k} {field or ''} {how}")
            if x.dtype.kind == "f":
                signs = np.signbit(x) != np.signbit(y)
                assert not np.any(signs & ~np.isnan(x)), f"sign of zero in array {k} {how}"


def check(text):
    found = module(text)
    kernel, struct = found["k"], found["S"]
    want = by_python(text, struct)
    assert_same(want, before_passes(kernel, struct), "before the passes")
    assert_same(want, on_device(kernel, struct, "interp"), "on interp")
    assert_same(want, on_device(kernel, struct, None), "compiled")
    if EXAMPLES or len(text) % 3 == 0:
        wp.config.verify = True
        assert_same(want, on_device(kernel, struct, None), "compiled with checks")


@pytest.fixture(autouse=True)
def _switches():
    wp.config.check_numbers = False
    wp.config.cache_kernels = False


@settings(
    derandomize=not EXAMPLES, max_examples=EXAMPLES or 150, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(texts(most=40 if EXAMPLES else 20))
def test_random_kernels_mean_the_same_everywhere(text):
    note(text)
    wp.config.verify = False
    check(text)
