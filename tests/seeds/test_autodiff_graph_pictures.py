"""The documents on gradients, "Visualizing Computation Graphs": a tape as a graph of boxes and ellipses.

The program is that of the document with only the import line changed.
"""

import re

import warpsim as wp


@wp.kernel
def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    tid = wp.tid()
    c[tid] = a[tid] + b[tid]


def recorded():
    tape = wp.Tape()

    a = wp.array([2.0], dtype=wp.float32)
    b = wp.array([3.0], dtype=wp.float32, requires_grad=True)
    c = wp.array([4.0], dtype=wp.float32)
    d = c
    e = wp.array([5.0], dtype=wp.float32, requires_grad=True)
    result = wp.zeros(1, dtype=wp.float32, requires_grad=True)

    with tape:
        wp.launch(add, dim=1, inputs=[b, e], outputs=[a])

        # ScopedTimer registers itself as a scope on the tape
        with wp.ScopedTimer("Adder"):
            # we can also manually record scopes
            tape.record_scope_begin("Custom Scope")
            wp.launch(add, dim=1, inputs=[a, b], outputs=[c])
            tape.record_scope_end()

            wp.launch(add, dim=1, inputs=[d, a], outputs=[result])

    return tape, {a: "a", b: "b", c: "c", e: "e", result: "result"}


def nodes(dot, label):
    """Attribute lists of the nodes whose label is that word."""
    return re.findall(rf'\[[^\]]*label="{label}"[^\]]*\]', dot)


def test_visualize(tmp_path):
    tape, labels = recorded()
    dot = tape.visualize(filename=str(tmp_path / "tape.dot"), array_labels=labels)

    assert (tmp_path / "tape.dot").read_text() == dot
    assert dot.lstrip().startswith("digraph") and dot.count("{") == dot.count("}")
    assert "Adder" in dot and "Custom Scope" in dot
    for label in labels.values():
        assert len(nodes(dot, label)) == 1, label


def test_arrays_with_gradient_look_different():
    tape, labels = recorded()
    dot = tape.visualize(array_labels=labels)
    colors = {label: re.search(r'fillcolor="?([^",\]\s]+)', nodes(dot, label)[0]).group(1) for label in labels.values()}
    assert colors["b"] == colors["e"] == colors["result"] != colors["a"] == colors["c"]


def test_scopes_can_be_left_out():
    tape, labels = recorded()
    dot = tape.visualize(array_labels=labels, ignore_graph_scopes=True)
    assert "Adder" not in dot and "Custom Scope" not in dot
