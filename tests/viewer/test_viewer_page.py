"""Pages hold every frame to the 16 bits that they promise, servers send the same, and a browser draws it."""

import gzip
import json
import re
import shutil
import socket
import struct
import subprocess
import urllib.error
import urllib.request
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image
from usd_scenes import FRAMES, everything

from warpsim.usd import UsdWriter
from warpsim.viewer import Animation, ViewError, view, write_page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture
def scene(tmp_path):
    return Animation(everything(tmp_path / "all.usda"))


def element(page, name):
    return re.search(rf'<script type="application/[a-z-]+" id="{name}">(.*?)</script>', page, re.DOTALL).group(1)


def frames_of(page):
    """What viewer.js makes of the frames of a page: differences summed up, as bytes."""
    header, data = json.loads(element(page, "header")), gzip.decompress(b64decode(element(page, "frames")))
    at, before, frames = 0, np.empty(0, np.uint16), []
    for size in header["sizes"]:
        planes = np.frombuffer(data[at : at + size], np.uint8).reshape(2, -1).astype(np.uint16)
        now = planes[0] | planes[1] << 8
        before = now + before if len(before) == len(now) else now
        frames.append(before.tobytes())
        at += size
    assert at == len(data)
    return header, frames


class Reader:
    """`Reader` of viewer.js."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, kind, count):
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += (found.nbytes + 3) & ~3
        return found

    def body(self, body):
        [count], [*low, extent] = self.take("<u4", 1), self.take("<f4", 4)
        points = np.float32(low) + self.take("<u2", 3 * count).reshape(-1, 3) * (np.float64(extent) / 65535)
        found = {"points": points, "extent": extent}
        if body["colored"]:
            found["color"] = self.take("u1", 3 * count).reshape(-1, 3) / 255
        if body["kind"] == "points":
            found["radii"] = self.take("<f4", count)
        if body["kind"] == "instances":
            found["turns"] = self.take("<i2", 4 * count).reshape(-1, 4) / 32767
            found["sizes"] = self.take("<f4", 3 * count).reshape(-1, 3)
        return found


def compare(scene, header, data, frame):
    reader = Reader(data)
    for body, told in zip(scene.bodies, header["bodies"], strict=True):
        if not body.moving:
            continue
        found, right = reader.body(told), scene.moment(body, frame)
        np.testing.assert_allclose(found["points"], right.points, atol=found["extent"] / 65535)
        for name in ("radii", "sizes"):
            if name in found:
                np.testing.assert_array_equal(found[name], getattr(right, name))
        if "turns" in found:
            np.testing.assert_allclose(found["turns"], right.turns, atol=1e-4)
        if "color" in found:
            np.testing.assert_allclose(found["color"], right.color, atol=1 / 255)
    assert reader.at == len(data)


def test_a_page_holds_every_frame(scene, tmp_path):
    header, frames = frames_of(write_page(scene, tmp_path / "all.html").read_text())
    assert len(frames) == header["frames"] == FRAMES and header["ground"]
    for k, data in enumerate(frames):
        compare(scene, header, data, k)


def test_a_page_of_fewer_frames(scene, tmp_path):
    header, frames = frames_of(write_page(scene, tmp_path / "all.html", every=2, play=False).read_text())
    assert len(frames) == 3 and (header["every"], header["play"]) == (2, False)
    compare(scene, header, frames[2], 4)


def test_a_page_needs_no_network(scene, tmp_path):
    text = write_page(scene, tmp_path / "all.html").read_text()
    assert not re.findall(r'(?:src|href)="(?!data:,")', text) and "import(" not in text
    assert scene._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.parametrize(
    "options, told",
    [
        ({"max_bytes": 1000}, r"the page would take .* MiB, the limit is 0 MiB\nhelp: keep fewer frames \(every=2\)"),
        ({"every": 0}, "every is 0\nexpected: 1 or more"),
    ],
)
def test_pages_that_cannot_be_written(scene, tmp_path, options, told):
    with pytest.raises(ViewError, match=told):
        write_page(scene, tmp_path / "all.html", **options)
    with pytest.raises(ViewError, match=r"expected: \.html"):
        write_page(scene, tmp_path / "all.txt")
    with pytest.raises(FileNotFoundError, match="make it first"):
        write_page(scene, tmp_path / "none" / "all.html")
    assert not list(tmp_path.glob("*.html"))


def test_a_server_sends_the_page_and_its_frames_and_nothing_else(scene):
    server = view(scene, browser=False)
    try:
        page = urllib.request.urlopen(server.url).read().decode()
        header = json.loads(element(page, "header"))
        assert element(page, "frames") == ""
        for k in (0, FRAMES - 1):
            compare(scene, header, urllib.request.urlopen(f"{server.url}frame/{k}").read(), k)
        for path in (f"frame/{FRAMES}", "frame/-1", "frame/x", "frame/", "../all.usda", "%2e%2e/all.usda"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(server.url + path)
    finally:
        server.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.url, timeout=2)


def test_a_browser_that_leaves_early_is_no_error(scene, capfd):
    server = view(scene, browser=False)
    try:
        server._page = bytes(50_000_000)
        host, port = server.url[7:-1].split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leaves with a reset
            connection.sendall(f"GET / HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode())
            connection.recv(1000)
        assert urllib.request.urlopen(f"{server.url}frame/0").read()
    finally:
        server.close()
    assert capfd.readouterr().err == ""


def browse(page, *options):
    """What headless Chromium prints for a page."""
    drawing = "--headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader".split()
    window = ["--window-size=640,480", "--virtual-time-budget=5000", f"--user-data-dir={page.parent / 'profile'}"]
    command = [CHROMIUM, *drawing, *window, *options, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, timeout=300, text=True).stdout


def screenshot(page, shows):
    """A page as Chromium draws it: sRGB (h, w, 3).

    Chromium takes the picture when its virtual time is over, drawn or not; on a busy machine it is asked again, until
    `shows` says that the picture shows what it should.
    """
    picture = page.with_suffix(".png")
    for _ in range(5):
        browse(page, f"--screenshot={picture}")
        pixels = np.asarray(Image.open(picture).convert("RGB"), np.int32)
        if shows(pixels):
            break
    return pixels


def colors(pixels):
    """How many colors the middle of a picture has."""
    return len(np.unique(pixels[100:380].reshape(-1, 3), axis=0))


def blue(pixels):
    """How many pixels are blue."""
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    return ((blue > red + 60) & (blue > green)).sum()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_draws_the_page(scene, tmp_path):
    page = write_page(scene, tmp_path / "all.html")
    pixels = screenshot(page, lambda pixels: blue(pixels) > 50)
    assert blue(pixels) > 50, "the blue boxes are missing"
    assert colors(pixels) > 200, "nothing is drawn"
    text = browse(page, "--dump-dom")
    assert 'data-shown="' in text and '<p id="message"></p>' in text


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("up_axis", ["Y", "Z"])
def test_a_sheet_is_lit_whichever_way_its_triangles_turn(tmp_path, up_axis):
    across = np.float32([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]])
    corners = across if up_axis == "Y" else across[:, [0, 2, 1]]
    seen = []
    for name, triangles in (("up", [0, 2, 1, 0, 3, 2]), ("down", [0, 1, 2, 0, 2, 3])):
        with UsdWriter(tmp_path / f"{name}.usda", up_axis=up_axis) as usd:
            usd.frame()
            usd.mesh("sheet", corners, np.int32(triangles).reshape(-1, 3), color=(0.6, 0.6, 0.6))
        page = write_page(Animation(tmp_path / f"{name}.usda"), tmp_path / f"{name}.html")
        seen.append(screenshot(page, lambda pixels: colors(pixels) > 5)[200:240, 300:340].mean())
    assert abs(seen[0] - seen[1]) < 2.0 and min(seen) > 170.0
