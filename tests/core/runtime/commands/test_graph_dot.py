"""Captured graphs as text for Graphviz."""

import re

import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


def drawn(graph, path, **options):
    """Nodes as label by name, edges as pairs."""
    wp.capture_debug_dot_print(graph, path, **options)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("digraph") and text.count("{") == text.count("}")
    nodes = dict(re.findall(r'^ *(n\d+) \[label="((?:[^"\\]|\\.)*)"\];$', text, re.MULTILINE))
    return nodes, re.findall(r"^ *(n\d+) -> (n\d+);$", text, re.MULTILINE), text


def test_launches_and_copies_in_order(tmp_path):
    x, y, out = wp.ones(5, dtype=float), wp.zeros(5, dtype=float), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        x.fill_(2.0)
        wp.launch(double, dim=5, inputs=[x, y])
        wp.launch(total, dim=5, inputs=[y, out])
        wp.capture_if(wp.ones(1, dtype=int), on_true=lambda: y.zero_())
    nodes, edges, _ = drawn(capture.graph, tmp_path / "graph.dot")
    words = list(nodes.values())
    assert words[0] == r"fill\lreads float64[]\lwrites float32[5]\l"
    assert words[1].startswith(r"double\ldim 5\lx = array(shape=(5,)") and f"at {y.ptr:#x}" in words[1]
    assert words[2].startswith(r"total\ldim 5\lx = array")
    assert words[-1] == r"capture_if\lreads int32[1]\l"
    assert edges == [(f"n{k}", f"n{k + 1}") for k in range(len(nodes) - 1)]
    brief, _, _ = drawn(capture.graph, str(tmp_path / "graph.dot") and tmp_path / "brief.dot", verbose=False)
    assert list(brief.values())[1:3] == [r"double\ldim 5\l", r"total\ldim 5\l"]


@pytest.mark.cpu(reason="launches of a GPU are no loops")
def test_launches_of_one_loop_stand_in_a_box(tmp_path):
    x, y, z = (wp.zeros(100_000, dtype=float) for _ in range(3))
    with wp.ScopedCapture() as capture:
        wp.launch(double, dim=100_000, inputs=[x, y])
        wp.launch(double, dim=100_000, inputs=[y, z])
    nodes, edges, text = drawn(capture.graph, tmp_path / "loop.dot")
    assert len(nodes) == 2 and edges == [("n0", "n1")]
    assert text.count("subgraph cluster_") == 1 and 'label="one loop"' in text


def test_adjoints_are_told_from_kernels(tmp_path):
    x, out = wp.ones(4, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.ScopedCapture() as capture:
        with wp.Tape() as tape:
            wp.launch(total, dim=4, inputs=[x, out])
        tape.backward(out)
    words = [label.partition(r"\l")[0] for label in drawn(capture.graph, tmp_path / "tape.dot")[0].values()]
    assert words.index("total") < words.index("total (adjoint)")


def test_a_graph_out_of_a_file(tmp_path):
    x, y = wp.ones(5, dtype=float), wp.zeros(5, dtype=float)
    with wp.ScopedCapture() as capture:
        y.fill_(1.0)
        wp.launch(double, dim=5, inputs=[x, y])
    wp.capture_save(capture.graph, tmp_path / "graph")
    nodes, edges, _ = drawn(wp.capture_load(tmp_path / "graph"), tmp_path / "loaded.dot")
    assert list(nodes.values()) == [r"fill\lreads float64[]\lwrites float32[5]\l", r"double\ldim 5\l"]
    assert edges == [("n0", "n1")]


def test_an_empty_graph_and_no_graph(tmp_path):
    with wp.ScopedCapture() as capture:
        pass
    assert drawn(capture.graph, tmp_path / "empty.dot")[:2] == ({}, [])
    with pytest.raises(ArgumentTypeError, match="graph"):
        wp.capture_debug_dot_print(None, tmp_path / "none.dot")
    with pytest.raises(OSError, match="folder"):
        wp.capture_debug_dot_print(capture.graph, tmp_path / "folder" / "graph.dot")
