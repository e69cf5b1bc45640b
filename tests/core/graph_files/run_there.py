"""What another process does with the graphs of a folder: `run_there.py FOLDER TIMES`."""

import sys
from pathlib import Path

import numpy as np

import warpsim as wp


def array_of(name, values):
    """bfloat16 came as float32."""
    return wp.array(values, dtype=wp.bfloat16) if "bfloat16" in name else wp.array(values)


for path in sorted(Path(sys.argv[1]).glob("*.wrp")):
    graph = wp.capture_load(path)
    data = np.load(path.with_suffix(".npz"))
    for name in data.files:
        if name.startswith("in "):
            graph.set_param(name[3:], array_of(name, data[name]))
    for _ in range(int(sys.argv[2])):
        wp.capture_launch(graph)
    for name in data.files:
        if name.startswith("out "):
            result = array_of(name, np.zeros_like(data[name]))
            graph.get_param(name[4:], result)
            assert np.array_equal(result.numpy(), data[name], equal_nan=True), f"{path.stem}: {name}"
assert "warpsim.core.emit.cpu.cpu" not in sys.modules, "something was compiled"
