"""`help` of a built-in function: its signatures, what it computes, whether it has a gradient."""

import pydoc

import pytest

import warpsim as wp
from warpsim.core.ops.registry import TABLE, Op


def test_help_shows_signature_description_and_gradient():
    text = pydoc.render_doc(wp.sin, renderer=pydoc.plaintext)
    for part in ("sin(x: Float) -> Float", "Sine of `x` [rad].", "Gradient: yes."):
        assert part in text


def test_every_overload_is_there_once():
    lines = wp.length.__doc__.split("\n")
    assert lines.count("length(a: Vec[N, Float]) -> Float") == lines.count("length(a: Quat[Float]) -> Float") == 1


@pytest.mark.parametrize(
    ("name", "gradient"),
    [
        ("floor", "Gradient: none, piecewise constant."),
        ("bit_and", "Gradient: none, integers have no derivative."),
        ("atomic_add", "Gradient: yes."),
    ],
)
def test_the_gradient_or_the_reason_for_none(name, gradient):
    assert gradient in getattr(wp, name).__doc__.split("\n")


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_op_is_documented_in_full(name):
    text = TABLE[name].__doc__
    assert text.startswith(f"{name}(")
    assert "\n\nGradient: " in text


def test_the_class_keeps_its_own_docstring():
    assert Op.__doc__.startswith("A public name and its overloads")
