"""The page of a live view: its script is whole, and a browser draws with it and follows the simulation."""

import re
import shutil
import subprocess
import threading

import numpy as np
import pytest
from live_client import Grains

from warpsim.viewer import Slider, live
from warpsim.viewer.commands import COMMANDS

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
NODE = shutil.which("node")


def page_of(**options):
    with live(Grains().scene, browser=False, **options) as view:
        return view._server._page.decode()


def test_a_page_needs_no_network_and_says_no_secret():
    with live(Grains().scene, browser=False) as view:
        text = view._server._page.decode()
        assert view.url.split("/")[3] not in text
    assert not re.findall(r'(?:src|href)="(?!data:,")', text) and "import(" not in text


def test_labels_are_text_and_no_markup():
    text = page_of(name="</title><script>alert(1)</script>", sliders=[Slider("</script><b>x", 0.0, 0.0, 1.0, print)])
    assert "<script>alert(1)" not in text and "</script><b>x" not in text
    assert "innerHTML: ICONS[id]" in text and text.count("innerHTML") == 1


def test_the_page_sends_commands_that_there_are():
    """Each with its numbers, as they stand in its script."""
    script = page_of().rpartition("<script>")[2]
    sent = dict(re.findall(r'\{ do: "(\w+)"((?:, \w+(?:: [^,{}]+)?)*) \}', script))
    assert sent.keys() | {"play", "pause"} == COMMANDS.keys()
    for name, words in sent.items():
        assert tuple(re.findall(r", (\w+)", words)) == COMMANDS[name], name


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_rays_meet_what_is_in_front(tmp_path):
    """The functions that tell what the pointer is on, against closed forms."""
    script = page_of().rpartition("<script>")[2].partition("</script>")[0]
    functions = re.findall(r"^function meet(?:Balls|Triangles)\(.*?^\}\n", script, re.DOTALL | re.MULTILINE)
    assert len(functions) == 2
    program = tmp_path / "rays.mjs"
    program.write_text(VECTORS + "".join(functions) + RAYS)
    done = subprocess.run([NODE, program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "4", "-1", "0", "0.5", "2", "5", "-1"]


VECTORS = """
class Vector3 {
  constructor(x = 0, y = 0, z = 0) { Object.assign(this, { x, y, z }); }
  copy(v) { return Object.assign(this, { x: v.x, y: v.y, z: v.z }); }
  clone() { return new Vector3(this.x, this.y, this.z); }
  fromArray(a, k) { return Object.assign(this, { x: a[k], y: a[k + 1], z: a[k + 2] }); }
  sub(v) { return this.addScaledVector(v, -1); }
  addScaledVector(v, s) { this.x += s * v.x; this.y += s * v.y; this.z += s * v.z; return this; }
  multiplyScalar(s) { this.x *= s; this.y *= s; this.z *= s; return this; }
  dot(v) { return this.x * v.x + this.y * v.y + this.z * v.z; }
  crossVectors(a, b) {
    return Object.assign(this, { x: a.y * b.z - a.z * b.y, y: a.z * b.x - a.x * b.z, z: a.x * b.y - a.y * b.x });
  }
  cross(v) { return this.crossVectors(this.clone(), v); }
}
const THREE = { Vector3 };
"""
RAYS = """
const ray = (x, y) => ({ from: new Vector3(x, y, 5), along: new Vector3(0, 0, -1) });
const say = ({ point, away }) => console.log(point, Number.isFinite(away) ? away : "");
// Balls at depths 5, 4 and behind the eye: the nearer one in front is met; beside them none.
const places = [0, 0, 0, 0, 0, 1, 0, 0, 9];
say(meetBalls(ray(0.1, 0), places, () => 0.2));
say(meetBalls(ray(0.3, 0), places, () => 0.2));
say(meetBalls({ from: new Vector3(0, 0, 0.5), along: new Vector3(0, 0, -1) }, places, () => 0.2));
// A triangle with corners at (0, 0), (1, 0), (0, 1): the corner that is nearest to where the ray meets it.
const corners = [0, 0, 0, 1, 0, 0, 0, 1, 0];
say(meetTriangles(ray(0.1, 0.8), corners, [0, 1, 2]));
say(meetTriangles(ray(0.6, 0.6), corners, [0, 1, 2]));
"""


def shown_in(text):
    """The number of the shot that a page had drawn last, 0 for none."""
    shown = re.search(r'data-shown="(\d+)"', text)
    return int(shown.group(1)) if shown else 0


def browse(url, folder):
    """What a page holds when Chromium's virtual time is over; on a busy machine it is asked again."""
    drawing = "--headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader".split()
    window = ["--window-size=640,480", "--virtual-time-budget=5000", f"--user-data-dir={folder / 'profile'}"]
    for _ in range(5):
        command = [CHROMIUM, *drawing, *window, "--dump-dom", url]
        text = subprocess.run(command, check=True, capture_output=True, timeout=300, text=True).stdout
        if shown_in(text) >= 2:
            break
    return text


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_follows(tmp_path):
    grains, errors = Grains(), []
    with live(grains.scene, fps=100.0, sliders=[Slider("pull", 9.81, 0.0, 20.0, grains.pull)], browser=False) as view:

        def work():
            try:
                for number in view.frames():
                    if number:
                        grains.step()
                    grains.draw(view)
                    if view._exchange.closed:
                        return
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        text = browse(view.url, tmp_path)
        view.close()
        thread.join(30)
    assert not errors and not thread.is_alive()
    assert shown_in(text) >= 2, "it did not draw more than one frame"
    assert '<p id="message"></p>' in text and '<span title="' not in text
    assert re.search(r'<output id="clock"[^>]*>\d+\.\d\d s · \d+(\.\d)? frames/s</output>', text)
    assert "<span>pull</span><output>9.8</output>" in text
    assert np.isfinite(grains.state.particle_q.numpy()).all()
