"""Local arrays that fit run on every thread; what does not fit is refused before anything runs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.passes.analysis import stack
from warpsim.core.passes.analysis.stack import MOST_BYTES
from warpsim.errors import KernelValueError

FLOATS = MOST_BYTES // 4


def with_arrays(first, second):
    @wp.kernel
    def local_room(x: wp.array(dtype=float), at: int):
        i = wp.tid()
        a = wp.zeros(shape=first, dtype=float)
        b = wp.zeros(shape=(second, 2), dtype=wp.vec3)
        a[at] = x[i]
        b[at, 1] = wp.vec3(x[i])
        x[i] = 2.0 * a[at] + b[at, 1][2]

    return local_room


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_arrays_up_to_the_limit_work(device):
    x = wp.ones(3, dtype=float, device=device)
    wp.launch(with_arrays(FLOATS - 60, 10), dim=3, inputs=[x, 7], device=device)
    np.testing.assert_array_equal(x.numpy(), 3.0)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("first, second", [(FLOATS - 59, 10), (10**6, 1), (10**9, 10**9), (3, 10**12)])
def test_arrays_beyond_the_limit_are_refused(device, first, second):
    x = wp.ones(3, dtype=float, device=device)
    with pytest.raises(KernelValueError) as caught:
        wp.launch(with_arrays(first, second), dim=3, inputs=[x, 7], device=device)
    message = str(caught.value)
    assert "the local arrays of 'local_room' take " in message
    assert "found: " in message and " KiB for a local array in line " in message
    assert "expected: at most 480 KiB for all" in message
    np.testing.assert_array_equal(x.numpy(), 1.0)


@wp.kernel
def repeated_sine(x: wp.array(dtype=float), n: int, loss: wp.array(dtype=float)):
    v = x[0]
    for _ in range(n):
        v = wp.sin(v)
    loss[0] = v


def test_states_of_loops_count(monkeypatch):
    """A kernel may fit where its reverse does not."""
    monkeypatch.setattr(stack, "MOST_BYTES", 2048)
    x = wp.ones(1, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(repeated_sine, dim=1, inputs=[x, 3, loss])
    with pytest.raises(KernelValueError, match="the local arrays of 'adj_repeated_sine' take 4 KiB of") as caught:
        tape.backward(loss)
    assert "found: 2 KiB for checkpoints of the loop in line " in str(caught.value)


SCRIPT = """
import numpy as np
import warpsim as wp

@wp.kernel
def full(x: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape={floats}, dtype=float)
    for k in range(a.shape[0]):
        a[k] = x[i] + float(k)
    total = float(0.0)
    for k in range(0, a.shape[0], 4096):
        total += a[k] - float(k)
    x[i] = total

x = wp.ones(256, dtype=float)
wp.launch(full, dim=256, inputs=[x])
assert (x.numpy() == {count}).all(), x.numpy()
print("fits")
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_every_thread_has_the_room(threads, tmp_path):
    """In processes of their own: a stack that is too small ends them."""
    script = tmp_path / "full.py"
    script.write_text(SCRIPT.format(floats=FLOATS, count=float(-(-FLOATS // 4096))), encoding="utf-8")
    root = str(Path(wp.__file__).parents[1])
    environment = {**os.environ, "WARPSIM_NUM_THREADS": threads, "PYTHONPATH": root}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "fits", done.stderr
