"""Graphs in files: saved here, run there, with the same bits as here, without the kernels' Python."""

import os
import subprocess
import sys
from pathlib import Path

import graph_file_structures  # noqa: F401 - enters cases
import numpy as np
import pytest
from graph_file_cases import CASES

import warpsim as wp

TIMES = 3
THERE = Path(__file__).with_name("run_there.py")


def other(a, seed):
    """Other values for an array, of the kind that it holds."""
    values = a.numpy()
    if values.dtype.kind in "iu":
        return values[::-1].copy()
    return (values * np.random.default_rng(seed).uniform(0.5, 0.9)).astype(values.dtype)


def run_here(graph, inputs, outputs):
    """What the graph computes here: some launches, other inputs, some more launches."""
    for _ in range(TIMES):
        wp.capture_launch(graph)
    for k, a in enumerate(inputs.values()):
        a.assign(wp.array(other(a, k), dtype=a.dtype, device=a.device))
    for _ in range(TIMES):
        wp.capture_launch(graph)
    return {name: a.numpy() for name, a in outputs.items()}


def run_loaded(graph, inputs, outputs):
    """The same of a graph out of a file, by names; inputs as they are here after the first launches."""
    for _ in range(TIMES):
        wp.capture_launch(graph)
    for k, (name, a) in enumerate(inputs.items()):
        before = wp.empty_like(a)
        graph.get_param(name, before)
        graph.set_param(name, wp.array(other(before, k), dtype=a.dtype, device=a.device))
    for _ in range(TIMES):
        wp.capture_launch(graph)
    results = {}
    for name, a in outputs.items():
        result = wp.empty_like(a)
        graph.get_param(name, result)
        results[name] = result.numpy()
    return results


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_graph_computes_what_the_captured_one_does(name, tmp_path):
    graph, inputs, outputs = CASES[name]()
    wp.capture_save(graph, tmp_path / "graph", inputs, outputs)
    loaded = [wp.capture_load(tmp_path / "graph.wrp", device=graph.device) for _ in range(2)]
    here = run_here(graph, inputs, outputs)
    for copy in loaded:  # one after the other: each has memory of its own
        there = run_loaded(copy, inputs, outputs)
        for key, values in here.items():
            np.testing.assert_array_equal(there[key], values, err_msg=f"{name}: {key}")


@pytest.mark.cpu(reason="another process, without a simulated driver")
def test_graphs_run_in_a_process_that_has_nothing_else(tmp_path):
    """No kernel, no source, no cache: all graphs in one process, each with inputs from here."""
    for name, capture in CASES.items():
        graph, inputs, outputs = capture()
        graph_inputs = {key: other(a, 7) for key, a in inputs.items()}
        wp.capture_save(graph, tmp_path / name, inputs, outputs)
        for key, values in graph_inputs.items():
            inputs[key].assign(wp.array(values, dtype=inputs[key].dtype))
        for _ in range(TIMES):
            wp.capture_launch(graph)
        data = {f"in {key}": plain(values) for key, values in graph_inputs.items()}
        data |= {f"out {key}": plain(a.numpy()) for key, a in outputs.items()}
        np.savez(tmp_path / f"{name}.npz", **data)
    environment = {**os.environ, "WARPSIM_CACHE_PATH": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "error", str(THERE), str(tmp_path), str(TIMES)]
    for threads in ("1", "3"):
        environment["WARPSIM_NUM_THREADS"] = threads
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*axpy*"))


def plain(values):
    """Values as files of NumPy hold them: bfloat16 as float32."""
    return values.astype(np.float32) if values.dtype.name == "bfloat16" else values
