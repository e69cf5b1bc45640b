"""What a stage holds reaches the viewer in metres of the world, frame by frame; damaged stages are refused."""

import socket
import struct
import urllib.request

import numpy as np
import pytest
from pxr import Usd, UsdGeom
from usd_scenes import FRAMES, everything

from warpsim.usd import UsdError, UsdWriter
from warpsim.viewer import Animation, view


@pytest.fixture
def scene(tmp_path):
    return Animation(everything(tmp_path / "all.usda"))


def moment(scene, name, frame):
    [body] = [body for body in scene.bodies if body.name == f"/World/{name}"]
    return scene.moment(body, frame)


def test_bodies_and_frames(scene):
    kinds = {body.name.removeprefix("/World/"): (body.kind, body.moving) for body in scene.bodies}
    assert kinds == {
        "sheet": ("mesh", True),
        "balls": ("points", True),
        "grains/box": ("instances", True),
        "grains/pill": ("instances", True),
        "ball": ("mesh", True),
        "floor": ("mesh", False),
    }
    assert (len(scene), scene.fps, scene.up, scene.seconds) == (FRAMES, 25.0, "Z", FRAMES / 25.0)


def test_points_are_metres_of_the_world(scene):
    sheet = moment(scene, "sheet", 3)
    corners = [[1, 0, 0.03], [1.1, 0, 0.03], [1.1, 0.1, 0.03], [1, 0.1, 0.03]]
    np.testing.assert_allclose(sheet.points, corners, rtol=1e-6)
    np.testing.assert_allclose(sheet.color, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    balls = moment(scene, "balls", 1)
    np.testing.assert_allclose(balls.points, [[1.0, 0.01, 0], [1.01, 0.01, 0], [1.02, 0.01, 0]], rtol=1e-6)
    np.testing.assert_allclose(balls.radii, [0.01, 0.02, 0.03], rtol=1e-6)
    np.testing.assert_allclose(balls.color, [0.5, 0.25, 0.125])
    assert len(moment(scene, "balls", 3).points) == 4  # more of them


def test_instances_are_those_of_their_prototype(scene):
    box, pill = moment(scene, "grains/box", 2), moment(scene, "grains/pill", 2)
    np.testing.assert_allclose(box.points, [[1.0, 0, 0.02], [1.02, 0, 0.02]], rtol=1e-6)
    np.testing.assert_allclose(pill.points, [[1.01, 0, 0.02]], rtol=1e-6)
    np.testing.assert_allclose(box.turns, [[0, 0, 0, 1], [0, 0, np.sqrt(0.5), np.sqrt(0.5)]], atol=1e-3)
    np.testing.assert_allclose(box.sizes, [[1, 1, 1], [2, 1, 1]])
    np.testing.assert_allclose(box.color, [0.0, 0.5, 1.0])


def test_solids_are_closed_and_have_their_size(scene):
    ball = moment(scene, "ball", 2)
    np.testing.assert_allclose(np.linalg.norm(ball.points - [1.0, 0.0, 0.2], axis=1), 0.05, rtol=1e-5)
    floor = moment(scene, "floor", 0)
    np.testing.assert_allclose(np.ptp(floor.points, axis=0), [0.4, 0.2, 0.0], rtol=1e-5)


def test_bounds_are_those_of_what_moves(scene):
    low, high = scene.bounds()
    np.testing.assert_allclose(low, [0.95, -0.05, -0.05], atol=1e-3)
    np.testing.assert_allclose(high, [1.1, 0.1, 0.45], atol=1e-3)


def test_bounds_hold_balls_and_grains_whole(tmp_path):
    square = np.float32([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]])
    with UsdWriter(tmp_path / "both.usdc") as usd:
        for k in range(2):
            usd.frame()
            usd.points("balls", np.float32([[0, 0.5, 0], [3, 0.5, k]]), 0.5)
            tile = (square, [[0, 1, 2], [0, 2, 3]], (1, 0, 0))
            usd.instances("grains", [tile], np.float32([[1, 5, 0]]), [[0, 0, 0, 1]])
    low, high = Animation(tmp_path / "both.usdc").bounds()
    np.testing.assert_allclose(low, [-0.5, 0.0, -np.sqrt(2.0)], atol=1e-6)
    np.testing.assert_allclose(high, [3.5, 5.0 + np.sqrt(2.0), 1.5], atol=1e-6)


def test_a_browser_that_goes_leaves_no_trace(tmp_path, capfd):
    with UsdWriter(tmp_path / "many.usdc") as usd:
        for k in range(2):
            usd.frame()
            usd.points("grains", np.full((500_000, 3), k, np.float32), 0.1)
    server = view(Animation(tmp_path / "many.usdc"), browser=False)
    host, _, port = server.url[7:-1].partition(":")
    with socket.create_connection((host, int(port))) as visitor:
        visitor.sendall(f"GET /frame/1 HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode())
        visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, as of a closed tab
        assert visitor.recv(10)
    assert urllib.request.urlopen(f"{server.url}frame/0").status == 200
    server.close()
    assert capfd.readouterr().err == ""


def test_stages_of_our_writer_and_static_ones(tmp_path):
    with UsdWriter(tmp_path / "own.usdc", fps=50) as usd:
        usd.ground(size=2.0)
        for k in range(3):
            usd.frame()
            usd.points("grains", np.full((2, 3), k, np.float32), 0.1)
    own = Animation(tmp_path / "own.usdc")
    assert (len(own), own.fps, own.up) == (3, 50.0, "Y")
    stage = Usd.Stage.CreateNew(str(tmp_path / "still.usda"))
    UsdGeom.Cube.Define(stage, "/box")
    stage.Save()
    assert len(Animation(tmp_path / "still.usda")) == 1


def test_what_cannot_be_shown_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.usda' does not exist"):
        Animation(tmp_path / "none.usda")
    stage = Usd.Stage.CreateNew(str(tmp_path / "empty.usda"))
    stage.Save()
    with pytest.raises(UsdError, match="found nothing to draw, expected meshes"):
        Animation(tmp_path / "empty.usda")
    mesh = UsdGeom.Mesh.Define(stage, "/mesh")
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    mesh.GetPointsAttr().Set([(0, 0, 0), (1, 0, 0), (0, 1, 0)], 0)
    mesh.GetPointsAttr().Set([(0, 0, 0)], 1)
    stage.Save()
    shrinking = Animation(tmp_path / "empty.usda")
    with pytest.raises(UsdError, match="a frame has 1 points, but its faces name point 2"):
        shrinking.moment(shrinking.bodies[0], 1)
    (tmp_path / "broken.usdc").write_bytes(b"PXR-USDC" + bytes(100))
    with pytest.raises(UsdError):
        Animation(tmp_path / "broken.usdc")
