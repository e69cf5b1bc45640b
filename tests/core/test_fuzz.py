"""Random kernels mean the same everywhere: in Python, on the interpreter, after every pass, and as machine code.

Every example is one text (see `grammar.bits`), run four ways: as plain Python on the host forms of the op rows,
on the interpreter before and after the passes, and as machine code with and without bounds checks. Memory must be equal
to the bit; only a NaN may differ from another NaN.

WARPSIM_FUZZ=5000 runs that many random examples instead of the fixed ones of every day.
"""

from __future__ import annotations

import os
import secrets

import numpy as np
import plain_python
import pytest
import samples
from fuzz_runs import TYPES, assert_same, inputs, on_device
from grammar.bits import SIZE, texts
from hypothesis import HealthCheck, given, note, seed, settings
from kernel_text import module

import warpsim as wp
from warpsim.core.frontend.function import kernel_function
from warpsim.core.ir.host_arrays import HostArray
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.passes.simplify.inline import inline

pytestmark = pytest.mark.assembled_one_in(11)
EXAMPLES = int(os.environ.get("WARPSIM_FUZZ", "0"))


def by_python(text, struct):
    """Every array after the text ran as plain Python; structs field by field."""
    memory = [*inputs(), np.zeros(SIZE, struct.numpy_dtype()), np.zeros(SIZE, np.int32)]
    arrays = plain_python.run(text, "k", list(zip(memory, (*TYPES, struct, np.int32), strict=True)), SIZE)
    for record, element in zip(arrays[-2].memory, memory[-2], strict=True):
        for field in struct.fields:
            element[field] = plain_python.bare(getattr(record, field))
    return memory


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


def check(text):
    found = module(text, {"wp": wp})
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


@pytest.mark.parametrize("part", samples.parts(1 if EXAMPLES else 3, 1))
def test_random_kernels_mean_the_same_everywhere(part):
    @seed(secrets.randbits(32) if EXAMPLES else part)
    @settings(
        max_examples=EXAMPLES or 50,
        deadline=None,
        database=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(texts(most=40 if EXAMPLES else 20))
    def every(text):
        note(text)
        wp.config.verify = False
        check(text)

    every()
