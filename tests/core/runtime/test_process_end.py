"""What is alive when the process ends goes without a word."""

import importlib.util
import subprocess
import sys

import pytest

PROGRAM = """
import {keeper}
import warpsim as wp

@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]

x, y = (wp.ones(3, dtype=float, requires_grad=True) for _ in range(2))
with wp.Tape() as tape:
    wp.launch(square, 3, inputs=[x], outputs=[y])
    y.zero_()
with wp.ScopedCapture() as capture, wp.Tape() as captured:
    wp.launch(square, 3, inputs=[x], outputs=[y])
    captured.backward(grads={{y: wp.ones_like(y)}})
mesh = wp.Mesh(wp.zeros(3, dtype=wp.vec3), wp.array([0, 1, 2], dtype=int))
{keeper}.alive = [tape, captured, capture.graph, mesh]
"""


@pytest.mark.parametrize("keeper", ["builtins", "torch"])
def test_tapes_graphs_and_structures(keeper, tmp_path):
    if importlib.util.find_spec(keeper) is None:
        pytest.skip(f"{keeper} is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(keeper=keeper), encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
