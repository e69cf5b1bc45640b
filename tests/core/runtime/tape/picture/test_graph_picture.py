"""The picture of a recording: nodes, edges, boxes and names, read back from the dot text."""

import pytest
from dot_reader import read

import warpsim as wp
from warpsim.core.runtime.tape.picture.graph import PictureOptions, TapeGraph
from warpsim.core.runtime.tape.picture.repeats import Group, Step
from warpsim.errors import TapeError

GREEN, GREY = "#7cc66f", "#d9d9d9"


def arrays(count, requires_grad=True):
    return [wp.zeros(2, dtype=float, requires_grad=requires_grad) for _ in range(count)]


def named(**values):
    return [(a, name) for name, a in values.items()]


def step(reads, writes, name="k", place=""):
    """A launch that reads parameters a, b, ... and writes z, y, ..."""
    pairs = (list(zip(letters, given, strict=False)) for letters, given in (("abcd", reads), ("zyxw", writes)))
    return Step(name, place, "", *pairs)


def drawn(items, **options):
    return read(TapeGraph(items, PictureOptions(**options)).text())


def test_launches_arrays_and_colors():
    x, y = arrays(2)
    (c,) = arrays(1, requires_grad=False)
    graph = drawn([step([x, c], [y])], names=named(x=x, y=y, c=c))
    assert graph.arrows() == ["x -> k.a", "c -> k.b", "k.z -> y"]
    colors = {n["label"]: n["fillcolor"] for n in graph.nodes.values() if n["shape"] == "ellipse"}
    assert colors == {"x": GREEN, "y": GREEN, "c": GREY}
    assert graph.attributes["rankdir"] == "LR"


def test_scopes_are_boxes_in_boxes_and_arrays_stand_where_all_their_users_are():
    x, y, z = arrays(3)
    items = [Group("outer", [Group("inner", [step([x], [y])]), step([y], [z])]), step([z], [x], "last")]
    graph = drawn(items, names=named(x=x, y=y, z=z))
    (outer,) = graph.clusters
    (inner,) = outer.clusters
    assert (outer.attributes["label"], inner.attributes["label"]) == ("outer", "inner")
    assert [n["label"] for n in outer.nodes.values() if n["shape"] == "ellipse"] == ["y"]
    assert {n["label"] for n in graph.nodes.values() if n["shape"] == "ellipse"} == {"x", "z"}
    assert not drawn(items, ignore_scopes=True).clusters


def chain(n):
    x = arrays(n + 1)
    (loss,) = arrays(1)
    return x, loss, [*(step([x[k]], [x[k + 1]], place="s.py:1") for k in range(n)), step([x[n]], [loss], "sum")]


def test_a_thousand_launches_are_one_box():
    x, loss, items = chain(1000)
    graph = drawn(items, names=[*((a, f"x[{k}]") for k, a in enumerate(x)), (loss, "loss")])
    (box,) = graph.clusters
    assert box.attributes["label"] == "repeated 1,000x"
    assert len(graph.all_nodes()) == 5
    whole = "x[1] \u2026 x[1000]\n1,000 arrays"
    within = ["x[0] -> k.a", f"k.z -> {whole}", f"{whole} -> sum.a", "sum.z -> loss"]
    assert graph.arrows() == [*within, f"{whole} ~> x[0]"]
    assert len(drawn(items, simplify=False).all_nodes()) == 2003


def test_rounds_that_swap_their_arrays():
    p, q = arrays(2)
    items = [step([(p, q)[k % 2]], [(q, p)[k % 2]]) for k in range(10)]
    assert drawn(items, names=named(p=p, q=q)).arrows() == ["p -> k.a", "k.z -> q", "k.z ~> p", "q ~> p"]


def test_a_missing_gradient_in_one_round_shows():
    x, _, items = chain(10)
    x[4].requires_grad = False
    labels = [n["label"] for n in drawn(items).all_nodes().values() if n["shape"] == "ellipse"]
    assert "z\n10 arrays\n1 without a gradient" in labels


def test_a_tracked_array_keeps_an_ellipse_of_its_own():
    x, _, items = chain(10)
    graph = drawn(items, tracked=[x[5]], names=[(x[5], "halfway")])
    assert "k.z ~> halfway" in graph.arrows()
    tracked = [n["label"] for n in graph.all_nodes().values() if n.get("peripheries") == "2"]
    assert tracked == ["halfway"]


def test_arrays_that_nothing_writes_can_be_hidden():
    x, y, w = arrays(3)
    graph = drawn([step([x, w], [y])], hide_readonly=True, tracked=[x], names=named(x=x, y=y, w=w))
    assert graph.arrows() == ["x -> k.a", "k.z -> y"]


def test_an_array_that_no_launch_uses_is_shown_when_it_is_tracked():
    x, y, lonely = arrays(3)
    graph = drawn([step([x], [y])], tracked=[lonely], names=named(lonely=lonely))
    assert "lonely" in [n["label"] for n in graph.nodes.values()]


def test_names_come_from_labels_then_variables_then_parameters():
    x, y = arrays(2)
    items = [Step("f", reads=[("p", x), ("position", y)]), Step("g", reads=[("pos", x)])]
    labels = lambda **o: [n["label"] for n in drawn(items, **o).nodes.values() if n["shape"] == "ellipse"]  # noqa: E731
    assert labels() == ["pos", "position"]
    assert labels(longest_name=False) == ["p", "position"]
    assert labels(names=[(x, "state.x"), (x, "x")]) == ["state.x", "position"]
    assert labels(names=[(x, "x")], labels=[(x, "X")]) == ["X", "position"]


def test_views_are_tied_to_the_array_around_them():
    whole = wp.zeros((4, 3), dtype=float, requires_grad=True)
    items = [step([whole[1:3]], [whole[3]]), step([whole], [])]
    graph = drawn(items, names=[(whole, "whole")])
    assert graph.arrows()[-2:] == ["whole -- a", "whole -- z"]


def test_a_reshaped_array_is_the_same_array():
    x = wp.zeros(6, dtype=float, requires_grad=True)
    graph = drawn([step([x], []), step([x.reshape((2, 3))], [])], names=[(x, "x")])
    assert graph.arrows() == ["x -> k.a", "x -> k.a"]


def test_functions_are_tied_to_their_arrays_without_a_direction():
    x, y = arrays(2)
    graph = drawn([Step("custom", linked=[("0", x), ("1", y)])], names=named(x=x, y=y))
    assert graph.arrows() == ["x -- custom.0", "y -- custom.1"]


def test_any_name_gives_valid_dot():
    x, y = arrays(2)
    strange = 'a "b" \\N <c> & {d} | ; \n e'
    items = [Group(strange, [Step(strange, strange, strange, reads=[(strange, x)], writes=[("w", y)])])]
    graph = drawn(items, labels=[(x, strange)], direction="TB")
    assert graph.clusters[0].attributes["label"] == strange
    assert graph.arrows()[0] == f"{strange} -> {strange}.{strange}"


def test_an_empty_recording_is_an_empty_graph():
    assert drawn([]).all_nodes() == {}


def test_scopes_that_repeat():
    x = arrays(31)
    items = [Group("step", [step([x[k]], [x[k + 1]])]) for k in range(30)]
    graph = drawn(items)
    (repeat,) = graph.clusters
    assert repeat.attributes["label"] == "repeated 30x"
    assert repeat.clusters[0].attributes["label"] == "step"
    assert repeat.nodes == {} or all(n["shape"] == "ellipse" for n in repeat.nodes.values())


# ----- Tape.visualize ---------------------------------------------------------------------------


@wp.struct
class State:
    q: wp.array(dtype=float)
    dt: float


@wp.kernel
def advance(state: State, force: wp.array(dtype=float), unused: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = state.q[i] + force[i] * state.dt


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


def test_a_tape_with_every_kind_of_record(tmp_path):
    start, force, idle, end, loss, kept = arrays(6)
    state = State()
    state.q, state.dt = start, 0.1
    tape = wp.Tape()
    with tape:
        loss.zero_()
        with wp.ScopedTimer("step", print=False):
            wp.launch(advance, dim=2, inputs=[state, force, idle], outputs=[end])
        wp.launch(total, dim=2, inputs=[end, loss])
        wp.copy(kept, end)
        tape.record_func(lambda: None, [kept])
    text = tape.visualize(tmp_path / "tape.dot", array_labels={loss: "the loss"})
    assert (tmp_path / "tape.dot").read_text(encoding="utf-8") == text
    graph = read(text)
    assert set(graph.arrows()) == {
        "zero_.dest -> the loss",
        "state.q -> advance.state.q",
        "force -> advance.force",
        "idle -- advance.unused",
        "advance.out -> end",
        "end -> total.x",
        "total.loss -> the loss",
        "end -> assign.source",
        "assign.dest -> kept",
        "kept -- <lambda>.0",
    }
    (scope,) = graph.clusters
    assert scope.attributes["label"] == "step" and len(scope.nodes) == 4
    (box,) = (n for n in scope.nodes.values() if n["shape"] == "plain")
    assert "test_graph_picture.py:" in box["tooltip"] and "dim=" in box["tooltip"]


def test_a_scope_that_is_still_open():
    x, y = arrays(2)
    tape = wp.Tape()
    with tape:
        tape.record_scope_begin("open")
        wp.launch(total, dim=2, inputs=[x, y])
        assert [c.attributes["label"] for c in read(tape.visualize()).clusters] == ["open"]


def test_names_of_tracked_arrays():
    x, y = arrays(2)
    with wp.Tape() as tape:
        wp.launch(total, dim=2, inputs=[x, y])
    names = {"track_input_names": ["in"], "track_output_names": ["out"]}
    graph = read(tape.visualize(track_inputs=[x], track_outputs=[y], **names))
    assert graph.arrows() == ["in -> total.x", "total.loss -> out"]
    assert all(n.get("peripheries") == "2" for n in graph.nodes.values() if n["shape"] == "ellipse")


def test_options_that_do_not_fit():
    x, y = arrays(2)
    with wp.Tape() as tape:
        wp.launch(total, dim=2, inputs=[x, y])
    for options, message in (
        ({"graph_direction": "UP"}, r"graph_direction is 'UP'\nexpected: one of LR, RL, TB, BT"),
        ({"array_labels": {3: "three"}}, r"array_labels holds int\nexpected: arrays"),
        ({"track_inputs": ["x"]}, r"track_inputs holds str"),
        ({"track_inputs": [x], "track_input_names": ["a", "b"]}, r"2 names for track_inputs\nexpected: 1"),
    ):
        with pytest.raises(TapeError, match=message):
            tape.visualize(**options)


def test_ports_say_what_their_arrays_are():
    table = wp.zeros((2, 3), dtype=wp.vec3)
    strange = wp.zeros(2, dtype=wp.types.vector(length=5, dtype=wp.float64))
    (box,) = (n for n in drawn([step([table], [strange])]).nodes.values() if n["shape"] == "plain")
    about = {cell.get("port"): cell.get("title") for cell in box["label"].iter("td") if cell.get("port")}
    assert about == {
        "reads0": "array: dtype=vec3f, ndim=2",
        "writes0": "array: dtype=vec5d, ndim=1",
    }
