"""Pictures of Jacobians: panels, colors, lines and ticks, read from the figure; no window, no waiting."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

import warpsim as wp
from warpsim.autograd import FunctionMetadata, jacobian_fd, jacobian_plot, plot_kernel_jacobians
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


def panels(figure):
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}


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
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0", "1"]
    np.testing.assert_array_equal(axes.get_xticks(), [1.0, 4.0])


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


def test_errors_are_drawn_from_zero():
    axes = panels(plot_kernel_jacobians({("x", "y"): np.array([[0.0, 0.5]])}))["y by x"]
    assert axes.images[0].get_clim() == (0.0, 0.5)


def test_large_matrices_have_no_lines_but_sparse_ticks():
    axes = panels(plot_kernel_jacobians({("x", "y"): np.eye(300)}))["y by x"]
    assert len(axes.lines) == 0 and len(axes.get_xticks()) <= 30


def test_matrices_by_position_with_a_kernel_and_its_arguments():
    named = jacobians()
    a, b = (wp.zeros(2, dtype=t) for t in (float, wp.vec3))
    outs = [wp.zeros(2, dtype=t) for t in (wp.vec2, wp.quat)]
    figure = jacobian_plot({(1, 0): named["b", "out1"]}, blend, [a, b], outs)
    assert lines(panels(figure)["0 by 1"])["thick x"] == [2.5]


def test_layout_given_as_metadata():
    layout = FunctionMetadata("f", input_strides={"x": 2})
    figure = plot_kernel_jacobians({("x", "y"): np.ones((1, 4))}, layout)
    assert lines(panels(figure)["y by x"])["thick x"] == [1.5]


def test_nothing_to_draw():
    with pytest.raises(JacobianError, match="no Jacobians to draw"):
        plot_kernel_jacobians({})
    with pytest.raises(JacobianError, match=r"shape \(3,\)"):
        plot_kernel_jacobians({("x", "y"): np.zeros(3)})


def test_without_a_display_nothing_opens_and_nothing_waits(tmp_path, monkeypatch):
    assert matplotlib.get_backend().lower() == "agg"
    monkeypatch.setattr(pyplot, "show", lambda: pytest.fail("waits for a window"))
    before = pyplot.get_fignums()
    figure = jacobians(plot_jacobians=True).figure
    assert pyplot.get_fignums() == before
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_with_a_display_the_window_is_shown(monkeypatch):
    shown = []
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "QtAgg")
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.get_fignums()))
    figure = plot_kernel_jacobians({("x", "y"): np.ones((1, 1))})
    pyplot.close(figure)
    assert shown == [[figure.number]]
    plot_kernel_jacobians({("x", "y"): np.ones((1, 1))}, show_plot=False)
    assert len(shown) == 1
