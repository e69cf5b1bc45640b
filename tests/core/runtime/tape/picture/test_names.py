"""Names of arrays are found in variables, lists, dicts and objects, without calling anything."""

import warpsim as wp
from warpsim.core.runtime.tape.picture.names import caller_names, names_in


class State:
    def __init__(self, q):
        self.q = q

    @property
    def trap(self):
        raise AssertionError("a property was evaluated")


def test_names_one_level_deep():
    x = wp.zeros(1)
    found = {name for a, name in names_in({"x": x, "xs": [None, x], "by": {"k": x}, "s": State(x), "_x": x, "n": 3})}
    assert found == {"x", "xs[1]", "by['k']", "s.q"}


def test_functions_classes_and_modules_are_not_searched():
    assert list(names_in({"wp": wp, "State": State, "f": test_names_one_level_deep})) == []


somewhere = wp.zeros(1)


def test_the_names_of_the_caller_are_locals_then_globals():
    mine = somewhere
    found = [name for a, name in caller_names() if a is mine]
    assert found == ["mine", "somewhere"]
