"""Charts: each kind of panel shows what it holds, sizes, the same bytes twice, and what is refused."""

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from warpsim.plot import Curves, Faces, Field, Image, Links, PlotError, Points, Stack, render_charts

X = np.linspace(0.0, 1.0, 30)
SQUARE, HALVES = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([[0, 1, 2], [0, 2, 3]])
PANELS = {
    "curves": Curves({"a": X, "b": X**2}, "title", levels={"a": 0.5}, colors={"a": "red", "b": "lime"}),
    "one": Curves(X, log=True, x=X),
    "many": Curves({"of many": np.outer(X, [1.0, 2.0, 3.0])}, limits=(0.0, 3.0), colors={"of many": "red"}),
    "points": Points({"right": np.stack([X, X], axis=1), "found": np.stack([X, X**2], axis=1)}),
    "field": Field(np.outer(X, X) - 0.5, lines=[np.zeros((2, 2))], extent=(-1.0, 1.0, -1.0, 1.0)),
    "faces": Faces(SQUARE, HALVES, [1.0, -1.0], "title", label="[N]", symmetric=True),
    "links": Links(SQUARE, 0.2, SQUARE[[[0, 1], [1, 2]]], [1.0, 3.0], label="[N]"),
    "lone": Links(SQUARE, 0.2, np.empty((0, 2, 2)), []),
    "image": Image(np.ones((4, 4, 3)) * [1.0, 0.0, 0.0], "caption"),
    "stack": Stack([Curves(X), Curves(X**2)]),
}


def amount(pixels, color):
    """The part of a picture that is of a color."""
    return (np.abs(pixels[..., :3] - to_rgb(color)) < 0.1).all(axis=-1).mean()


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_is_drawn(name, tmp_path):
    path = render_charts(tmp_path / "a.png", [PANELS[name]], panel=(300, 200))
    pixels = imread(path)
    assert pixels.shape[:2] == (200, 300) and 0.02 < 1.0 - amount(pixels, "white")
    again = render_charts(tmp_path / "b.png", [PANELS[name]], panel=(300, 200))
    assert again.read_bytes() == path.read_bytes()


def test_curves_have_their_colors(tmp_path):
    pixels = imread(render_charts(tmp_path / "a.png", [PANELS["curves"]]))
    assert amount(pixels, "red") > 1e-3 and amount(pixels, "lime") > 1e-3
    assert amount(imread(render_charts(tmp_path / "b.png", [PANELS["image"]])), "red") > 0.8


def test_faces_have_the_colors_of_their_values_and_links_are_darkest_where_they_are_largest(tmp_path):
    pixels = imread(render_charts(tmp_path / "a.png", [PANELS["faces"]]))
    low, high = (amount(pixels, color) for color in (colormaps["RdBu_r"](0.0)[:3], colormaps["RdBu_r"](1.0)[:3]))
    assert low > 0.05 and low == pytest.approx(high, rel=0.2)
    pixels = imread(render_charts(tmp_path / "b.png", [PANELS["links"]]))
    assert amount(pixels, colormaps["YlOrRd"](1.0)[:3]) > 2e-3


def test_maps_of_other_shapes_are_refused(tmp_path):
    with pytest.raises(PlotError, match=r"triangles have shape \(2, 3\), values \(1,\)"):
        render_charts(tmp_path / "a.png", [Faces(SQUARE, HALVES, [1.0])])
    with pytest.raises(PlotError, match="2 lines and 1 values"):
        render_charts(tmp_path / "a.png", [Links(SQUARE, 0.2, SQUARE[HALVES[:, :2]], [1.0])])


def test_rows_columns_and_widths(tmp_path):
    panels = [PANELS[name] for name in ("curves", "field", "points")]
    pixels = imread(render_charts(tmp_path / "a.png", panels, panel=(300, 250), columns=2, widths=[1.0, 0.8]))
    assert pixels.shape[:2] == (500, 540)


@pytest.mark.parametrize(
    "panels, options, text",
    [([], {}, "0 panels, 0 widths for 0 columns"), ([PANELS["one"]], {"widths": [1, 2]}, "1 panels, 2 widths for 1")],
)
def test_refusals(panels, options, text, tmp_path):
    with pytest.raises(PlotError, match=text):
        render_charts(tmp_path / "a.png", panels, **options)
    with pytest.raises(PlotError, match=r"expected \.png"):
        render_charts(tmp_path / "a.pdf", [PANELS["one"]])
    assert list(tmp_path.iterdir()) == []
