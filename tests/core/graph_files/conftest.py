"""A graph in a file, for tests of files and of what comes out of them."""

import pytest
from graph_file_cases import axpy, numbers

import warpsim as wp


@pytest.fixture
def saved(tmp_path):
    """A graph in a file: y = y + 2 x."""
    x, y = numbers(6), wp.zeros(6, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(axpy, dim=6, inputs=[x, y, 2.0])
    wp.capture_save(capture.graph, tmp_path / "graph", {"x": x}, {"y": y})
    return tmp_path / "graph.wrp"
