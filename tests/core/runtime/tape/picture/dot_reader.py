"""Reads the dot language strictly: what it accepts, Graphviz accepts, and ports and nodes of edges exist.

The grammar is that of https://graphviz.org/doc/info/lang.html without its optional forms. Labels in angle
brackets must be well-formed XML.
"""

import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

_TOKEN = re.compile(r'\s*(->|[{}\[\]=,;:]|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z_0-9]*|<)', re.DOTALL)


@dataclass
class Graph:
    """A digraph or a cluster in it."""

    attributes: dict = field(default_factory=dict)
    nodes: dict = field(default_factory=dict)
    edges: list = field(default_factory=list)
    clusters: list = field(default_factory=list)

    def all_nodes(self):
        return {**self.nodes, **{key: node for c in self.clusters for key, node in c.all_nodes().items()}}

    def label(self, key):
        """The label of a node; of a box the text of its first cell."""
        label = self.all_nodes()[key]["label"]
        return label if isinstance(label, str) else "".join(label.find("tr").itertext())

    def arrows(self):
        """Every edge as text: 'x -> add.a', 'add.c -> y'; dashed ones with '~>'."""
        out = []
        for tail, head, attributes in self.edges:
            arrow = "~>" if attributes.get("style") == "dashed" else "->"
            if attributes.get("arrowhead") == "none":
                arrow = "--"
            out.append(f"{self.end(tail)} {arrow} {self.end(head)}")
        return out

    def end(self, end):
        key, _, port = end.partition(":")
        if not port:
            return self.label(key)
        cell = self.all_nodes()[key]["label"].find(f".//td[@port='{port}']")
        assert cell is not None, f"no port {port} at {key}"
        return f"{self.label(key)}.{''.join(cell.itertext())}"


class _Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def peek(self):
        found = _TOKEN.match(self.text, self.at)
        return found and found[1]

    def take(self, expected=None):
        found = _TOKEN.match(self.text, self.at)
        assert found, f"no token at {self.text[self.at : self.at + 40]!r}"
        assert expected is None or found[1] == expected, f"{found[1]!r} instead of {expected!r}"
        self.at = found.end()
        return found[1]

    def identifier(self):
        token = self.take()
        if token == "<":
            return self.markup()
        if token.startswith('"'):
            return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], token[1:-1], flags=re.DOTALL)
        assert re.fullmatch(r"\w+", token), token
        return token

    def markup(self):
        start, depth = self.at, 1
        while depth:
            character = self.text[self.at]
            depth += (character == "<") - (character == ">")
            self.at += 1
        return ElementTree.fromstring(self.text[start : self.at - 1])

    def attribute_list(self):
        values = {}
        if self.peek() == "[":
            self.take("[")
            while self.peek() != "]":
                name = self.identifier()
                self.take("=")
                values[name] = self.identifier()
                if self.peek() == ",":
                    self.take(",")
            self.take("]")
        return values

    def block(self, graph):
        self.take("{")
        while self.peek() != "}":
            self.statement(graph)
        self.take("}")

    def statement(self, graph):
        name = self.identifier()
        if name == "subgraph":
            assert self.identifier().startswith("cluster")
            graph.clusters.append(Graph())
            self.block(graph.clusters[-1])
            return
        if self.peek() == "=":
            self.take("=")
            graph.attributes[name] = self.identifier()
        elif name in ("node", "edge"):
            self.attribute_list()
        else:
            self.node_or_edge(graph, name)
        self.take(";")

    def node_or_edge(self, graph, name):
        tail = self.end(name)
        if self.peek() == "->":
            self.take("->")
            head = self.end(self.identifier())
            graph.edges.append((tail, head, self.attribute_list()))
        else:
            assert name not in graph.nodes
            graph.nodes[name] = self.attribute_list()

    def end(self, name):
        if self.peek() == ":":
            self.take(":")
            return f"{name}:{self.identifier()}"
        return name


def read(text):
    """The graph of a text; raises `AssertionError` or a parser error for anything that is not dot."""
    reader = _Reader(text)
    reader.take("digraph")
    reader.identifier()
    graph = Graph()
    reader.block(graph)
    assert not text[reader.at :].strip()
    known = graph.all_nodes()
    assert all(end.partition(":")[0] in known for tail, head, _ in graph.edges for end in (tail, head))
    return graph
