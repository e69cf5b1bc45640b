"""Pictures of Jacobians: panels, colors, lines and ticks, read from the figure; no window, no waiting."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

import warpsim as wp
from warpsim.autograd import FunctionMetadata, gradcheck, jacobian, jacobian_fd, jacobian_plot, plot_kernel_jacobians
from warpsim.errors import JacobianError


@wp.kernel
def blend(
    a: wp.array(dtype=float), b: wp.array(dtype=wp.vec3), out1: wp.array(dtype=wp.vec2), out2: wp.array(dtype=wp.quat)
):
    i = wp.tid()
    out1[i] = wp.vec2(a[i] * wp.length(b[i]), -a[i] * b[i][1])
    out2[i] = wp.normalize(wp.quat(a[i], b[i][0], b[i][1], b[i][2]))


def jacobians(**options):
    a = wp.array([2.0, -1.0], dtype=float, requires_grad=True)
    b = wp.array([[3.0, 1.0, 2.0], [-4.0, -1.0, 0.0]], dtype=wp.vec3, requires_grad=True)
    outs = [wp.zeros(2, dtype=t, requires_grad=True) for t in (wp.vec2, wp.quat)]
    return jacobian_fd(blend, dim=2, inputs=[a, b], outputs=outs, **options)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def panels(figure):
    """Panels by the names that stand below their column and left of their row."""
    drawn = [(axes.get_subplotspec(), axes) for axes in figure.axes if axes.images and axes.get_subplotspec()]
    below = {place.colspan.start: axes.get_xlabel() for place, axes in drawn if axes.get_xlabel()}
    left = {place.rowspan.start: axes.get_ylabel() for place, axes in drawn if axes.get_ylabel()}
    return {f"{left[place.rowspan.start]} by {below[place.colspan.start]}": axes for place, axes in drawn}


def lines(axes):
    """Positions of thick and thin lines along x and y."""
    found = {"thick x": [], "thin x": [], "thick y": [], "thin y": []}
    for line in axes.lines:
        along = "x" if line.get_xdata()[0] == line.get_xdata()[1] else "y"
        place = (line.get_xdata() if along == "x" else line.get_ydata())[0]
        found[f"{'thick' if line.get_linestyle() == '-' else 'thin'} {along}"].append(float(place))
    return found


def test_one_panel_for_every_pair_inputs_across_outputs_down():
    figure = plot_kernel_jacobians(jacobians(), title="all")
    found = panels(figure)
    assert list(found) == ["out1 by a", "out1 by b", "out2 by a", "out2 by b"]
    corner = {name: axes.get_position() for name, axes in found.items()}
    figure.canvas.draw()
    assert corner["out1 by a"].x0 < corner["out1 by b"].x0
    assert corner["out1 by a"].y0 > corner["out2 by a"].y0
    assert figure.get_suptitle() == "all"
    assert [axes.get_xlabel() for axes in found.values()] == ["", "", "a", "b"]  # names once, at the border
    assert [axes.get_ylabel() for axes in found.values()] == ["out1", "", "out2", ""]
    assert found["out2 by b"].images[0].get_array().shape == (8, 6)


def test_the_title_is_the_name_of_what_was_differentiated_where_that_is_known():
    known = jacobians()
    assert plot_kernel_jacobians(known).get_suptitle() == f"{known.metadata.key} kernel Jacobian"
    plain = {pair: matrix.numpy() for pair, matrix in known.items()}
    assert plot_kernel_jacobians(plain, blend).get_suptitle() == "blend kernel Jacobian"
    assert plot_kernel_jacobians(plain).get_suptitle() == ""


def test_thick_lines_between_elements_thin_ones_between_components():
    axes = panels(plot_kernel_jacobians(jacobians()))["out1 by b"]
    assert lines(axes) == {"thick x": [2.5], "thin x": [0.5, 1.5, 3.5, 4.5], "thick y": [1.5], "thin y": [0.5, 2.5]}
    np.testing.assert_array_equal(axes.get_xticks(), [1.0, 4.0])
    assert axes.xaxis.get_major_formatter().format_ticks([1.0, 4.0]) == ["0", "1"]


def test_one_scale_for_all_panels_or_one_each():
    both = [panels(plot_kernel_jacobians(jacobians(), scale_colors_per_submatrix=each)) for each in (False, True)]
    limits = [[axes.images[0].get_clim() for axes in found.values()] for found in both]
    assert len(set(limits[0])) == 1 and len(set(limits[1])) == 4
    low, high = limits[0][0]
    assert low == -high == pytest.approx(-np.sqrt(17.0), rel=1e-3)


def test_cells_that_were_not_evaluated_stay_bare():
    found = panels(plot_kernel_jacobians(jacobians(max_inputs_per_var=1, input_output_mask=[("b", "out1")])))
    assert list(found) == ["out1 by b"]
    shown = found["out1 by b"].images[0].get_array()
    assert shown.mask[:, 1:].all() and not shown.mask[:, 0].any()
    assert found["out1 by b"].patch.get_hatch() == "////"


def test_magnitudes_on_a_logarithmic_scale():
    axes = panels(plot_kernel_jacobians({("x", "y"): np.array([[0.0, -100.0], [1e-3, 1.0]])}, log_scale=True))["y by x"]
    assert axes.images[0].get_clim() == (1e-3, 100.0)
    np.testing.assert_array_equal(axes.images[0].get_array(), [[1e-3, 100.0], [1e-3, 1.0]])


@pytest.mark.parametrize(
    ("colormap", "lowest"), [("Reds", 0.0), ("viridis_r", 0.0), ("coolwarm", -0.5), ("RdBu_r", -0.5)]
)
def test_magnitudes_are_drawn_from_zero_unless_the_colors_have_a_middle(colormap, lowest):
    axes = panels(plot_kernel_jacobians({("x", "y"): np.array([[0.0, 0.5]])}, colormap=colormap))["y by x"]
    assert axes.images[0].get_clim() == (lowest, 0.5)


def test_panels_are_as_large_as_they_have_numbers_and_pairs_left_out_stay_empty():
    figure = plot_kernel_jacobians(jacobians(input_output_mask=[("b", "out1"), ("a", "out2")]))
    assert [axes.axison for axes in figure.axes] == [False, True, True, False, True]  # the last is the bar of colors
    shares = figure.axes[0].get_gridspec()
    assert shares.get_width_ratios() == [2, 6] and shares.get_height_ratios() == [4, 8]
    found = panels(figure)
    assert {name: (axes.get_xlabel(), axes.get_ylabel()) for name, axes in found.items()} == {
        "out1 by b": ("b", "out1"),
        "out2 by a": ("a", "out2"),
    }


def test_a_small_panel_beside_a_large_one_can_be_read():
    figure = plot_kernel_jacobians({("x", "y"): np.ones((1, 1)), ("x", "z"): np.ones((600, 1))})
    figure.canvas.draw()
    size = panels(figure)["y by x"].get_window_extent()
    assert min(size.width, size.height) > 20.0


def test_bars_of_colors_have_one_width(tmp_path):
    figure = plot_kernel_jacobians(jacobians(), scale_colors_per_submatrix=True)
    figure.savefig(tmp_path / "each.png")
    bars = [child for axes in panels(figure).values() for child in axes.child_axes]
    assert len(bars) == 4
    widths = [bar.get_window_extent().width for bar in bars]
    assert max(widths) < 1.5 * min(widths)
    assert plot_kernel_jacobians(jacobians(), show_colorbar=False).axes[-1].images


def test_pictures_of_errors_name_what_they_show():
    x, y = (wp.array([1.0, 2.0], dtype=float, requires_grad=True) for _ in "xy")

    @wp.kernel
    def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i] * x[i]

    assert gradcheck(cube, 2, [x], [y], plot_relative_error=True, plot_absolute_error=True, show_summary=False)
    titles = [pyplot.figure(number).get_suptitle() for number in pyplot.get_fignums()]
    assert titles == [f"{cube.key} kernel Jacobian {kind} error" for kind in ("relative", "absolute")]


def test_large_matrices_have_no_lines_but_sparse_ticks():
    axes = panels(plot_kernel_jacobians({("x", "y"): np.eye(300)}))["y by x"]
    assert len(axes.lines) == 0 and len(axes.get_xticks()) <= 45


def test_matrices_by_position_with_a_kernel_and_its_arguments():
    named = jacobians()
    a, b = (wp.zeros(2, dtype=t) for t in (float, wp.vec3))
    outs = [wp.zeros(2, dtype=t) for t in (wp.vec2, wp.quat)]
    figure = jacobian_plot({(1, 0): named["b", "out1"]}, blend, [a, b], outputs=outs)
    assert lines(panels(figure)["out1 by b"])["thick x"] == [2.5]
    assert list(panels(jacobian_plot({(1, 0): named["b", "out1"]}))) == ["0 by 1"]


def test_layout_given_as_metadata():
    layout = FunctionMetadata("f", input_strides={"x": 2})
    figure = plot_kernel_jacobians({("x", "y"): np.ones((1, 4))}, layout)
    assert lines(panels(figure)["y by x"])["thick x"] == [1.5]


def test_layout_given_as_lists_in_the_order_of_the_labels():
    """As in scripts for Warp, whose strides are steps in memory."""
    layout = FunctionMetadata(
        "f", ["a", "k", "b"], ["out"], [(4,), None, (24, 12)], [(8,)], [wp.float32, None, wp.vec3], [wp.vec2]
    )
    figure = plot_kernel_jacobians({(2, 0): np.ones((2, 6)), (0, 0): np.ones((2, 1))}, layout)
    assert list(panels(figure)) == ["out by a", "out by b"] and figure.get_suptitle() == "f kernel Jacobian"
    assert lines(panels(figure)["out by b"])["thick x"] == [2.5]
    assert lines(panels(figure)["out by b"])["thin y"] == [0.5]
    with pytest.raises(JacobianError, match="1 dtypes for 2 labels"):
        FunctionMetadata("f", ["a", "b"], input_dtypes=[wp.vec3])


def test_nothing_to_draw():
    with pytest.raises(JacobianError, match="no Jacobians to draw"):
        plot_kernel_jacobians({})
    with pytest.raises(JacobianError, match=r"shape \(3,\)"):
        plot_kernel_jacobians({("x", "y"): np.zeros(3)})


def test_without_a_display_nothing_waits_and_the_picture_is_the_current_one(tmp_path):
    assert matplotlib.get_backend().lower() == "agg"
    figure = jacobians(plot_jacobians=True).figure
    assert pyplot.gcf() is figure
    pyplot.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


@pytest.mark.parametrize("take", [jacobian, jacobian_fd])
def test_pictures_are_shown_once_unless_told_otherwise(monkeypatch, take):
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf()))
    x = wp.array([0.5, 2.0], dtype=float, requires_grad=True)
    result = take(lambda x: wp.map(wp.sin, x), inputs=[x], plot_jacobians=True)
    assert shown == [result.figure]
    assert list(panels(result.figure)) == ["output_0 by x"]
    plot_kernel_jacobians(result, show_plot=False)
    assert len(shown) == 1
