"""The limits on USD files are those that SECURITY.md gives in numbers."""

import re
import sys
from inspect import signature
from pathlib import Path

import pytest

from warpsim.usd import read_mesh, read_scene, reader, scene, stage_file
from warpsim.usd.reader import MAX_BYTES, MAX_SECONDS, Reader
from warpsim.viewer import Animation

SECURITY = Path(__file__).resolve().parents[2] / "SECURITY.md"
GIB = 1 << 30


@pytest.fixture(scope="module")
def promise():
    """The section on USD, without its line breaks."""
    section = SECURITY.read_text(encoding="utf-8").partition("\n## USD\n")[2].partition("\n## ")[0]
    return " ".join(section.split())


def test_the_page_has_the_numbers_of_the_code(promise):
    assert f"takes at most `max_seconds` ({MAX_SECONDS:g} s)" in promise
    assert f"takes at most `max_bytes` ({MAX_BYTES / GIB:g} GiB)" in promise
    assert (
        f"at most {stage_file.MOST_PRIMS:,} prims, {stage_file.MOST_LEVELS:,} levels deep and with samples at "
        f"{scene.MOST_FRAMES:,} times"
    ) in promise


def test_the_process_has_eight_times_as_much_and_one_gib(promise):
    assert "and the process eight times as much and 1 GiB" in promise
    for max_bytes in (1, 1 << 20, MAX_BYTES):
        assert reader._memory(max_bytes) == 8 * max_bytes + GIB


@pytest.mark.parametrize("reads", [Reader, read_mesh, read_scene])
def test_the_limits_hold_where_none_are_given(reads):
    limits = {name: signature(reads).parameters[name].default for name in ("max_bytes", "max_seconds")}
    assert limits == {"max_bytes": MAX_BYTES, "max_seconds": MAX_SECONDS}


def test_an_animation_is_read_within_the_same_limits(tmp_path, monkeypatch):
    asked = []

    class Noted(Reader):
        def __init__(self, name, *limits, **more):
            super().__init__(name, *limits, **more)
            asked.append((self.max_bytes, self.max_seconds))

    monkeypatch.setattr("warpsim.viewer.animation.Reader", Noted)
    path = tmp_path / "mesh.usda"
    path.write_text(text_of("", 1))
    Animation(path)
    assert asked == [(MAX_BYTES, MAX_SECONDS)]


def text_of(decimals, count):
    """A mesh of so many triangles, in digits or in numbers with decimals."""
    points = ", ".join([f"(0{decimals}, 0{decimals}, 0{decimals})"] * max(3, count if decimals else 0))
    corners = ", ".join("012" * count)
    return (
        '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Y"\n)\ndef Mesh "mesh" {\n'
        f"    int[] faceVertexCounts = [{', '.join('3' * count)}]\n    int[] faceVertexIndices = [{corners}]\n"
        f"    point3f[] points = [{points}]\n}}\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone limits the memory of a process")
@pytest.mark.parametrize("count", [500_000, 700_000])
def test_texts_of_the_size_that_the_page_gives_are_read(promise, tmp_path, monkeypatch, count):
    """Of single digits, which take most memory for their size; the limit is smaller here, in the same proportion."""
    size = int(re.search(r"so that (\d+) MB of text are read", promise).group(1)) * 10**6
    path = tmp_path / "digits.usda"
    path.write_text(text_of("", count))
    memory = path.stat().st_size * reader._memory(MAX_BYTES) // size
    monkeypatch.setattr(reader, "_memory", lambda max_bytes: memory)
    assert len(read_mesh(path).points) == 3
