"""What decorators are given: functions and classes written in Python, and nothing else."""

import functools

import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError


class Callable:
    def __call__(self, x: float):
        return x


@pytest.mark.parametrize("decorator", [wp.kernel, wp.func], ids=["kernel", "func"])
@pytest.mark.parametrize(
    "given",
    [1.5, "f", len, Callable, Callable(), functools.partial(max, 1), wp.vec3],
    ids=["number", "text", "builtin", "class", "object", "partial", "vector"],
)
def test_kernels_and_functions_are_made_of_functions(decorator, given):
    with pytest.raises(ArgumentTypeError, match="expected: function"):
        decorator(given)


@pytest.mark.parametrize("given", [1, Callable()], ids=["number", "object"])
def test_structs_are_made_of_classes(given):
    with pytest.raises(TypeError, match="expected: a class"):
        wp.struct(given)


@pytest.mark.parametrize("given", [None, "fast_math", ["fast_math"]], ids=["none", "text", "list"])
def test_options_of_a_module_are_a_dict(given):
    with pytest.raises(ArgumentTypeError, match="expected: dict"):
        wp.set_module_options(given)


def test_code_that_belongs_to_no_module_has_functions(tmp_path):
    path = tmp_path / "script.txt"
    path.write_text("""@wp.func
def twice(x: float):
    return x + x


@wp.kernel
def double(x: wp.array(dtype=float)):
    x[wp.tid()] = twice(x[wp.tid()])
""")
    scope = {"wp": wp}
    exec(compile(path.read_text(), path, "exec"), scope)  # without __name__
    x = wp.array([1.0, 2.0], dtype=float)
    wp.launch(scope["double"], 2, inputs=[x])
    assert x.list() == [2.0, 4.0] and scope["twice"](2.0) == 4.0 and scope["twice"].key == "twice"
