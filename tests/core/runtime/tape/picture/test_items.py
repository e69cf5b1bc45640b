"""Records as steps in scopes: what a launch reads and writes is what its program does, not what was declared."""

import warpsim as wp
from warpsim.core.runtime.tape.picture.items import items_of
from warpsim.core.runtime.tape.picture.repeats import Group, Step


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float), idle: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def arrays(count):
    return [wp.zeros(2, dtype=float, requires_grad=True) for _ in range(count)]


def items(tape):
    return items_of(tape.records, tape.scopes)


def test_sides_follow_the_program():
    x, y, idle = arrays(3)
    with wp.Tape() as tape:
        wp.launch(double, dim=2, inputs=[x, y], outputs=[idle])
    (step,) = items(tape)
    assert (step.name, step.reads, step.writes, step.linked) == ("double", [("x", x)], [("y", y)], [("idle", idle)])
    assert "test_items.py:" in step.place and step.about.startswith("dim=")


def test_an_array_that_is_updated_stands_on_both_sides():
    @wp.kernel
    def grow(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * 1.5

    (x,) = arrays(1)
    with wp.Tape() as tape:
        wp.launch(grow, dim=2, inputs=[x])
    (step,) = items(tape)
    assert step.reads == step.writes == [("x", x)]


def test_copies_fills_and_functions():
    x, y = arrays(2)
    with wp.Tape() as tape:
        x.fill_(1.0)
        wp.copy(y, x)
        tape.record_func(lambda: None, [x, y])
    fill, copy, function = items(tape)
    assert (fill.name, fill.reads, fill.writes) == ("fill_", [], [("dest", x)])
    assert (copy.reads, copy.writes) == ([("source", x)], [("dest", y)])
    assert (function.name, function.linked) == ("<lambda>", [("0", x), ("1", y)])


def shape(found):
    return [(i.name, shape(i.items)) if isinstance(i, Group) else i.name for i in found if isinstance(i, Step | Group)]


def test_steps_on_whole_arrays():
    x = wp.array([1.0, 2.0], dtype=float, device="cpu", requires_grad=True)
    total = wp.zeros(1, dtype=float, device="cpu", requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_sum(x, out=total)
    (step,) = items(tape)
    assert [a for _, a in step.reads] == [x] and [a for _, a in step.writes] == [total]
    assert "array_sum" in step.name and "array_sum" in tape.visualize()


def test_scopes_nest_and_need_no_end():
    x, y, idle = arrays(3)

    def launch():
        wp.launch(double, dim=2, inputs=[x], outputs=[y, idle])

    with wp.Tape() as tape:
        launch()
        tape.record_scope_begin("a")
        tape.record_scope_begin("b")
        launch()
        tape.record_scope_end()
        launch()
        tape.record_scope_end()
        tape.record_scope_begin("c")
        launch()
    assert shape(items(tape)) == ["double", ("a", [("b", ["double"]), "double"]), ("c", ["double"])]
