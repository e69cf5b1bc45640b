"""Dot text: whatever the names are, the text keeps the grammar of Graphviz."""

from warpsim.core.runtime.tape.picture.dot import DotText, Markup, escape, quote


def test_quotes_backslashes_and_line_ends_are_escaped():
    assert quote('say "\\N"\nend') == '"say \\"\\\\N\\"\\nend"'


def test_text_in_markup_is_escaped():
    assert escape('<b>&"') == "&lt;b&gt;&amp;&quot;"


def test_a_graph_with_a_cluster():
    out = DotText("a b")
    out.attributes(rankdir="LR")
    out.defaults("node", fontsize="9")
    with out.cluster(label="in"):
        out.node("x", label=Markup("<b>x</b>"), shape="plain")
    out.node("y")
    out.edge("x:p", "y", style="dashed")
    assert out.text() == (
        'digraph "a b" {\n'
        '  rankdir="LR";\n'
        '  node [fontsize="9"];\n'
        "  subgraph cluster0 {\n"
        '    label="in";\n'
        '    x [label=<<b>x</b>>, shape="plain"];\n'
        "  }\n"
        "  y;\n"
        '  x:p -> y [style="dashed"];\n'
        "}\n"
    )
