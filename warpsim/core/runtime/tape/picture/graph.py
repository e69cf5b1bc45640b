"""The picture of a recording as a graph: which launches read and write which arrays (`Tape.visualize`).

Launches are grey boxes with a port for every array; arrays are ellipses, green with a gradient and grey
without: a grey ellipse on the way from a parameter to the loss is where a gradient ends. Scopes are boxes
around their launches. Repeated runs are drawn once, in a box that says how often; arrays that take the
same part in every round share an ellipse, and dashed edges lead from one round to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, NamedTuple

from .....atomic_file import AtomicFile
from .....errors import TapeError, counted, instance
from ....types.arrays import type_name
from ...arrays.array import array
from ...arrays.indexed import indexedarray
from ...devices.memory_range import bounds
from .dot import DotText, Markup, escape
from .repeats import Group, Item, Repeat, Step, fold_repeats, walk

DIRECTIONS = ("LR", "RL", "TB", "BT")
_GREEN, _GREY, _BLUE = "#7cc66f", "#d9d9d9", "#2f6fae"
_LATER = {"style": "dashed", "color": _BLUE, "constraint": "false"}
_FONT = "Helvetica,Arial,sans-serif"


@dataclass
class PictureOptions:
    """The options of `Tape.visualize`; `names` are names of arrays in the user's program."""

    simplify: bool = True
    hide_readonly: bool = False
    longest_name: bool = True
    ignore_scopes: bool = False
    direction: str = "LR"
    names: Sequence[tuple[Any, str]] = ()
    labels: Sequence[tuple[Any, str]] = ()
    tracked: Sequence[Any] = ()

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise TapeError(f"graph_direction is {self.direction!r}\nexpected: one of {', '.join(DIRECTIONS)}")


class Tracked(NamedTuple):
    """Arrays that are always drawn: the option that holds them, and names for them, if there are any."""

    option: str
    arrays: Sequence[Any] | None
    names: Sequence[str] | None


Key = tuple[int, ...]


def key_of(a: array) -> Key:
    """What makes two array objects one ellipse: the same range of memory."""
    low, high = bounds(a._data)
    return (low, high) if high > low else (id(a),)


@dataclass(eq=False)
class Ellipse:
    """An ellipse: one array, or several that take the same part in the rounds of a loop."""

    number: int
    arrays: dict[Key, Any]
    parameters: list[str] = field(default_factory=list)
    written: bool = False
    tracked: bool = False
    home: tuple[int, ...] | None = None
    """The boxes that hold everything that uses it, outermost first."""

    @property
    def name(self) -> str:
        return f"array{self.number}"

    def meet(self, home: tuple[int, ...]) -> None:
        """Used by a step in these boxes as well."""
        if self.home is None:
            self.home = home
        shared = 0
        while shared < min(len(home), len(self.home)) and home[shared] == self.home[shared]:
            shared += 1
        self.home = self.home[:shared]


class TapeGraph:
    """Nodes and edges of a recording; `text()` is the graph in the dot language."""

    def __init__(self, items: Sequence[Item], options: PictureOptions):
        self.options = options
        whole = list(_flat(items)) if options.ignore_scopes else list(items)
        self.drawn: list[Item] = fold_repeats(whole) if options.simplify else whole
        self.labels = _by_key(options.labels)
        self.names = _by_key(options.names, options.longest_name)
        self.nodes: dict[Key, Ellipse] = {}
        self.steps: dict[Step, str] = {}
        self.homes: dict[Step, tuple[int, ...]] = {}
        self.edges: dict[tuple[str, str, Ellipse], bool] = {}
        """(step and port, side, node) -> whether it is there in later rounds only."""
        self.handed_on: dict[tuple[Ellipse, Ellipse], None] = {}
        """(array, array whose part it takes in later rounds)."""
        self._number(self.drawn, ())
        self.tracked = {key_of(a) for a in options.tracked}
        for step, shown in walk(self.drawn, self.drawn):
            self._connect(step, shown)
        for a in options.tracked:
            self._node(a).home = ()

    # ----- what is connected --------------------------------------------------------------------

    def _number(self, items: Sequence[Item], home: tuple[int, ...]) -> None:
        """Names of the boxes that are drawn, and the nested boxes each step stands in."""
        for item in items:
            if isinstance(item, Step):
                self.steps[item] = f"step{len(self.steps)}"
                self.homes[item] = home
            else:
                inner = item.items if isinstance(item, Group) else item.rounds[0]
                self._number(inner, (*home, id(item)))

    def _connect(self, step: Step, shown: Step) -> None:
        """Edges of one step, drawn at the step that stands for it."""
        for (side, k, a), (_, _, first) in zip(step.ports(), shown.ports(), strict=True):
            like = self._node(first)
            node = like if step is shown else self._node(a, like)
            name = getattr(step, side)[k][0]
            if name not in node.parameters:
                node.parameters.append(name)
            node.written |= side != "reads"
            node.meet(self.homes[shown])
            if node is not like and side == "reads":
                self.handed_on[node, like] = None
                continue
            edge = (f"{self.steps[shown]}:{side}{k}", side, node)
            self.edges[edge] = self.edges.get(edge, True) and node is not like

    def _node(self, a: array, like: Ellipse | None = None) -> Ellipse:
        """The ellipse of an array; an array first met in a later round joins that of its part."""
        key = key_of(a)
        node = self.nodes.get(key)
        if node is None:
            tracked = key in self.tracked
            node = like if like is not None and not tracked and not like.tracked else None
            if node is None:
                node = Ellipse(len(self.nodes), {}, tracked=tracked)
            node.arrays[key] = a
            self.nodes[key] = node
        return node

    # ----- text ---------------------------------------------------------------------------------

    def text(self) -> str:
        out = DotText("tape")
        out.attributes(rankdir=self.options.direction, fontname=_FONT, compound="true")
        out.defaults("node", fontname=_FONT, fontsize="11")
        out.defaults("edge", fontname=_FONT, fontsize="9", color="#555555", arrowsize="0.7")
        hidden = {n for n in self._unique() if self.options.hide_readonly and not (n.written or n.tracked)}
        visible = [n for n in self._unique() if n not in hidden]
        at_home: dict[tuple[int, ...], list[Ellipse]] = {}
        for node in visible:
            at_home.setdefault(node.home or (), []).append(node)
        self._write(out, self.drawn, (), at_home)
        for (port, side, node), later in self.edges.items():
            if node not in hidden:
                _edge(out, port, side, node, later)
        for node, like in self.handed_on:
            if not {node, like} & hidden:
                out.edge(node.name, like.name, **_LATER)
        _write_views(out, visible)
        return out.text()

    def _unique(self) -> list[Ellipse]:
        return list(dict.fromkeys(self.nodes.values()))

    def _write(
        self, out: DotText, items: Sequence[Item], home: tuple[int, ...], at_home: dict[tuple[int, ...], list[Ellipse]]
    ) -> None:
        for node in at_home.get(home, ()):
            self._write_node(out, node)
        for item in items:
            if isinstance(item, Step):
                _write_step(out, self.steps[item], item)
                continue
            inner = item.items if isinstance(item, Group) else item.rounds[0]
            with out.cluster(**_cluster_style(item)):
                self._write(out, inner, (*home, id(item)), at_home)

    def _write_node(self, out: DotText, node: Ellipse) -> None:
        first = next(iter(node.arrays.values()))
        with_gradient = {a.requires_grad for a in node.arrays.values()}
        label = self._label(node)
        about = f"shape={first.shape}, dtype={type_name(first.dtype)}, requires_grad={first.requires_grad}"
        if len(node.arrays) > 1:
            label += f"\n{len(node.arrays):,} arrays"
        if len(with_gradient) > 1:
            without = sum(not a.requires_grad for a in node.arrays.values())
            label += f"\n{without:,} without a gradient"
        style = {"peripheries": "2"} if node.tracked else {}
        fill = _GREEN if with_gradient == {True} else _GREY
        out.node(node.name, label=label, tooltip=about, shape="ellipse", style="filled", fillcolor=fill, **style)

    def _label(self, node: Ellipse) -> str:
        """A label that was given, a name in the user's program, or the name of a parameter."""
        for known in (self.labels, self.names):
            names = [known[key] for key in node.arrays if key in known]
            if names:
                return names[0] if names[0] == names[-1] else f"{names[0]} \u2026 {names[-1]}"
        return _choice(node.parameters, self.options.longest_name) or "array"


def _write_views(out: DotText, nodes: Sequence[Ellipse]) -> None:
    """Dotted lines from views to the smallest array around them."""
    keys = [(key, node) for node in nodes for key in node.arrays if len(key) == 2]
    around: list[tuple[int, Ellipse]] = []
    lines: dict[tuple[str, str], None] = {}
    for (low, high), node in sorted(keys, key=lambda pair: (pair[0][0], -pair[0][1])):
        while around and around[-1][0] <= low:
            around.pop()
        if around and around[-1][0] >= high and around[-1][1] is not node:
            lines[around[-1][1].name, node.name] = None
        around.append((high, node))
    for whole, part in lines:
        out.edge(whole, part, style="dotted", arrowhead="none", label="view")


def _edge(out: DotText, port: str, side: str, node: Ellipse, later: bool) -> None:
    style = _LATER if later else {}
    if side == "reads":
        out.edge(node.name, port, **style)
    elif side == "writes":
        out.edge(port, node.name, **style)
    else:
        out.edge(node.name, port, arrowhead="none", **style)


def _write_step(out: DotText, name: str, step: Step) -> None:
    """A grey box: the name on top, arrays read on the left, arrays written on the right."""
    sides: dict[str, list[tuple[str, str, Any]]] = {"reads": [], "writes": [], "linked": []}
    for side, k, a in step.ports():
        sides[side].append((f"{side}{k}", getattr(step, side)[k][0], a))
    left, right = sides["reads"] + sides["linked"], sides["writes"]
    rows = []
    for k in range(max(len(left), len(right))):
        cells = [
            _cell(*side[k], align) if k < len(side) else '<td border="0"></td>'
            for side, align in ((left, "left"), (right, "right"))
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    title = f'<tr><td colspan="2" bgcolor="#f2f2f2"><b>{escape(step.name)}</b></td></tr>'
    frame = 'border="0" cellborder="1" cellspacing="2" cellpadding="4" bgcolor="#9a9a9a"'
    about = ", ".join(part for part in (step.place, step.about) if part)
    label = Markup(f"<table {frame}>{title}{''.join(rows)}</table>")
    out.node(name, label=label, shape="plain", tooltip=about)


def _cell(port: str, label: str, a: array, align: str) -> str:
    about = escape(f"array: dtype={type_name(a.dtype)}, ndim={a.ndim}")
    return f'<td port="{port}" align="{align}" bgcolor="#c8c8c8" title="{about}">{escape(label)}</td>'


def _cluster_style(item: Group | Repeat) -> dict[str, str]:
    if isinstance(item, Group):
        label, fill, line, text = item.name, "#7cc66f22", "#5a9e4e", "#2f5a27"
    else:
        label, fill, line, text = f"repeated {len(item.rounds):,}x", "#2f6fae18", _BLUE, _BLUE
    return {"label": label, "style": "rounded,filled", "fillcolor": fill, "color": line, "fontcolor": text}


def _flat(items: Iterable[Item]) -> Iterable[Item]:
    for item in items:
        if isinstance(item, Group):
            yield from _flat(item.items)
        else:
            yield item


def _by_key(pairs: Iterable[tuple[Any, str]], longest: bool = True) -> dict[Key, str]:
    names: dict[Key, list[str]] = {}
    for a, name in pairs:
        names.setdefault(key_of(a), []).append(name)
    return {key: _choice(choices, longest) for key, choices in names.items()}


def _choice(names: Sequence[str], longest: bool) -> str:
    """The longest name (of several the first), or the first."""
    return max(names, key=len) if longest and names else next(iter(names), "")


def visualize(
    items: Sequence[Item],
    filename: str | PathLike[str] | None,
    array_labels: Mapping[Any, str] | None,
    tracked: Sequence[Tracked],
    options: PictureOptions,
) -> str:
    """The graph as text, also written to a file when there is a name; the options are those of `Tape.visualize`."""
    if array_labels is not None:
        instance(array_labels, Mapping, "array_labels")
    labels = [(_drawable(a, "array_labels"), str(label)) for a, label in (array_labels or {}).items()]
    drawn: list[Any] = []
    for option, arrays, names in tracked:
        own = [_drawable(a, option) for a in arrays or []]
        if names is not None and len(names) != len(own):
            raise TapeError(f"{counted(len(names), 'name')} for {option}\nexpected: {len(own)}, one for every array")
        labels += [(a, str(name)) for a, name in zip(own, names or [], strict=False)]
        drawn += own

    text = TapeGraph(items, replace(options, labels=labels, tracked=drawn)).text()
    if filename is not None:
        with AtomicFile(filename) as partial:
            partial.write_text(text, encoding="utf-8")
    return text


def _drawable(a: Any, what: str) -> array:
    if not isinstance(a, array | indexedarray):
        raise TapeError(f"{what} holds {type(a).__name__}\nexpected: arrays")
    owner: array = a._array
    return owner
