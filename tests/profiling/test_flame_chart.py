"""The flame chart: boxes of neighbouring spans, colors, and files that can be opened."""

import pytest

import warpsim as wp

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from warpsim.profiling import picture
from warpsim.profiling.timeline import LAUNCH, Row

pytestmark = pytest.mark.cpu
ROW, OTHER = Row("copy", "a", None, 0), Row("copy", "b", None, 0)
WINDOW = (0, 900_000)  # in which a gap of 1000 is too small to be seen


def spans(*pairs):
    return [(row, start, end, 0) for row, start, end in pairs]


def test_neighbours_too_close_to_be_told_apart_are_one_box():
    boxes = picture.boxes_of(spans((ROW, 0, 500), (ROW, 700, 1000), (ROW, 5000, 6000), (OTHER, 6100, 6200)), WINDOW, 0)
    assert [(box.start, box.end, box.busy, box.count) for box in boxes] == [
        (0, 1000, 800, 2), (5000, 6000, 1000, 1), (6100, 6200, 100, 1),
    ]  # fmt: skip


def test_a_window_cuts_what_reaches_out_of_it():
    boxes = picture.boxes_of(spans((ROW, 0, 400), (ROW, 900, 2000)), (1000, 1500), 0)
    assert [(box.start, box.end, box.busy) for box in boxes] == [(1000, 1500, 500)]


def test_boxes_with_time_between_are_paler():
    assert picture.lighten("#000000", 1.0) == "#000000" and picture.lighten("#000000", 0.5) == "#808080"
    assert picture.lighten("#ffffff", 0.3) == "#ffffff"
    assert (picture.ink("#000000"), picture.ink("#ffffff")) == ("white", "black")


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@pytest.mark.parametrize(("ending", "head"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
@pytest.mark.parametrize("launches", [0, 3, 400])
def test_pictures_are_written(tmp_path, ending, head, launches):
    x, y = (wp.zeros(1000, dtype=float) for _ in range(2))
    with wp.profile(print=False, title="a title") as profile:
        for _ in range(launches):
            wp.launch(double, 1000, inputs=[x, y])
    path = profile.picture(tmp_path / f"chart.{ending}")
    content = path.read_bytes()
    assert content.startswith(head) and len(content) > 5000
    if ending == "svg" and launches:
        assert b"time [" in content


def test_kernels_have_a_color_each_whatever_their_call_sites():
    x, y = (wp.zeros(1000, dtype=float) for _ in range(2))
    with wp.profile(print=False) as profile:
        wp.launch(double, 1000, inputs=[x, y])
        wp.launch(double, 1000, inputs=[x, y])
    colors = picture.colors_of(profile.report)
    assert len(profile.report.launches) == 2 and list(colors) == ["double"]
    launcher = double.latest["cpu"]
    assert picture.color(Row(LAUNCH, launcher, None, 0), colors) == colors["double"]
