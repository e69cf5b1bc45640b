"""What Jupyter shows of arrays, tapes and meshes."""

import re

import numpy as np
import pytest

import warpsim as wp


@wp.kernel
def double(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def facts(shown):
    """Rows of a table as a dictionary."""
    html = shown._repr_html_()
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", html)
    return {"title": re.search(r"<b>(.*?)</b>", html)[1], **dict(rows)}


def test_an_array_shows_type_shape_device_range_and_first_elements():
    a = wp.array(np.arange(6.0), dtype=float)
    told = facts(a)
    assert told["title"] == "array of float32"
    assert (told["shape"], told["device"], told["gradient"]) == ("(6,)", str(a.device), "none")
    assert (told["range"], told["first"]) == ("0 to 5", "0.0, 1.0, 2.0, 3.0, …")


def test_a_gradient_shows_its_norm():
    a = wp.zeros(2, dtype=float, requires_grad=True)
    a.grad.assign([3.0, 4.0])
    assert facts(a)["gradient"] == "norm 5"


def test_numbers_that_are_not_finite_are_counted():
    told = facts(wp.array([1.0, np.nan, np.inf], dtype=float))
    assert (told["range"], told["not finite"]) == ("1 to 1", "2 of 3 numbers")


@pytest.mark.parametrize("dtype", [wp.vec3, wp.mat22, wp.int64, wp.bool, wp.float16, wp.bfloat16, wp.transform])
def test_every_kind_of_element_is_shown(dtype):
    assert facts(wp.zeros(2, dtype=dtype))["shape"] == "(2,)"
    assert facts(wp.zeros((2, 3), dtype=dtype))["shape"] == "(2, 3)"
    assert "range" not in facts(wp.zeros(0, dtype=dtype))


def test_parts_and_structures_are_shown():
    @wp.struct
    class Particle:
        x: wp.vec3

    assert facts(wp.zeros(3, dtype=Particle))["title"] == "array of Particle"
    picked = wp.array([1.0, 2.0, 3.0], dtype=float)[wp.array([2, 0], dtype=int)]
    assert facts(picked)["range"] == "1 to 3"
    assert facts(wp.array([1.0, 2.0, 3.0], dtype=float)[::2])["first"] == "1.0, 3.0"


def test_a_tape_counts_what_it_recorded():
    x, y = (wp.zeros(2, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        for _ in range(3):
            wp.launch(double, 2, [x, y])
    told = facts(tape)
    assert repr(tape) == "<Tape of 3 records>"
    assert told["title"] == "Tape of 3 records"
    assert told["kernel &#x27;double&#x27;"] == "3 times"
    assert told["copies"].endswith(" bytes")
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert facts(tape)["title"] == "Tape of 3 records"


def test_a_mesh_shows_its_size_and_bounds():
    mesh = wp.Mesh(wp.array([[0, 0, 0], [1, 0, 0], [0, 2, 0]], dtype=wp.vec3), wp.array([0, 1, 2], dtype=int))
    told = facts(mesh)
    assert (told["points"], told["faces"], told["from"], told["to"]) == ("3", "1", "[0.0, 0.0, 0.0]", "[1.0, 2.0, 0.0]")
