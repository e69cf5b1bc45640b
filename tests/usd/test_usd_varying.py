"""Meshes with other faces in every frame, and streams without what waits: written, read, shown, refused."""

import json

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from warpsim.plot import sphere
from warpsim.usd import UsdError, UsdWriter, read_mesh
from warpsim.viewer import Animation, write_film, write_page
from warpsim.viewer.pack import frame_bytes

FRAMES = 4


def drop(frame):
    """A ball of more and more triangles; nothing at first."""
    if not frame:
        return np.empty((0, 3)), np.empty((0, 3), np.int32)
    ball = sphere((0.0, 0.3 * frame, 0.0), 0.2, rings=2 + frame)
    return ball.points, ball.triangles


@pytest.fixture(scope="module", params=["usda", "usdc"])
def path(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("varying") / f"drop.{request.param}"
    with UsdWriter(path, fps=25) as usd:
        usd.ground()
        for frame in range(FRAMES):
            usd.frame()
            points, faces = drop(frame)
            usd.mesh("water", points, faces, color=(0.0, 0.1, 0.6), velocities=0.0 * points, varying=True)
    return path


def test_every_frame_has_its_own_faces(path):
    stage = Usd.Stage.Open(str(path))
    mesh = UsdGeom.Mesh.Get(stage, "/World/water")
    for frame in range(FRAMES):
        points, faces = drop(frame)
        np.testing.assert_allclose(np.array(mesh.GetPointsAttr().Get(frame)).reshape(-1, 3), points, rtol=1e-6)
        np.testing.assert_array_equal(np.array(mesh.GetFaceVertexIndicesAttr().Get(frame)), faces.ravel())
        np.testing.assert_array_equal(np.array(mesh.GetFaceVertexCountsAttr().Get(frame)), [3] * len(faces))
        assert len(mesh.GetNormalsAttr().Get(frame)) == len(mesh.GetVelocitiesAttr().Get(frame)) == len(points)
    assert mesh.GetFaceVertexCountsAttr().GetTimeSamples() == list(range(FRAMES))
    validation = pytest.importorskip("pxr.UsdValidation")
    validators = validation.ValidationRegistry().GetOrLoadAllValidators()
    assert [e.GetMessage() for e in validation.ValidationContext(validators).Validate(stage)] == []


def test_other_readers_see_them(path, tmp_path):
    assert len(read_mesh(path, "/World/water", time=2).triangles) == len(drop(2)[1])
    animation = Animation(path)
    [water] = [body for body in animation.bodies if body.name == "/World/water"]
    assert water.varying and water.triangles is None
    for frame in range(FRAMES):
        moment = animation.moment(water, frame)
        np.testing.assert_array_equal(moment.triangles, drop(frame)[1])
        data = frame_bytes(animation, [water], frame)
        count = np.frombuffer(data[:4], "<u4")[0]
        at = 20 + (6 * count + 3) // 4 * 4
        assert np.frombuffer(data[at : at + 4], "<u4")[0] == len(moment.triangles)
        np.testing.assert_array_equal(np.frombuffer(data[at + 4 :], "<u4").reshape(-1, 3), moment.triangles)
    page = write_page(animation, tmp_path / "drop.html").read_text()
    header = page[page.index('id="header">') + 12 :]
    bodies = json.loads(header[: header.index("</script>")])["bodies"]
    assert [body["varying"] for body in bodies] == [False, True]
    assert write_film(animation, tmp_path / "drop.webp", size=(64, 48)).stat().st_size > 100


@pytest.mark.parametrize(
    ("later", "text"),
    [
        ((np.eye(3), None), "its faces vary, and there are none; pass faces with every sample"),
        ((np.eye(3), [[0, 1, 3]]), "index 3 of face 0 names no point"),
        ((np.eye(3) * np.nan, [[0, 1, 2]]), "found nan"),
    ],
)
def test_refusals(tmp_path, later, text):
    with pytest.raises(UsdError, match=text), UsdWriter(tmp_path / "a.usda") as usd:
        usd.frame()
        usd.mesh("water", np.eye(3), [[0, 1, 2]], varying=True)
        usd.frame()
        usd.mesh("water", *later)
    with (
        pytest.raises(UsdError, match=r"unless its first sample is written with varying=True"),
        UsdWriter(tmp_path / "b.usda") as usd,
    ):
        usd.frame()
        usd.mesh("water", np.eye(3), [[0, 1, 2]])
        usd.frame()
        usd.mesh("water", np.eye(4)[:, :3], [[0, 1, 2]])


def test_a_stream_costs_what_has_come(tmp_path):
    """200,000 grains of which a hundred come in each frame: files grow with those that are there."""
    rng, sizes = np.random.default_rng(0), []
    grain = sphere((0.0, 0.0, 0.0), 1.0, rings=3)
    shapes = [(grain.points, grain.triangles, grain.color)]
    places, turns = rng.normal(size=(200_000, 3)), rng.normal(size=(200_000, 4))
    for name, present in (("all", lambda frame: 200_000), ("present", lambda frame: 100 * frame)):
        with UsdWriter(tmp_path / f"{name}.usdc") as usd:
            for frame in range(3):
                usd.frame()
                there = np.arange(present(frame))
                usd.instances("grains", shapes, places[there] + frame, turns[there], 0.01, ids=there)
        sizes.append((tmp_path / f"{name}.usdc").stat().st_size)
    print(f"{sizes[0]} bytes with those that wait, {sizes[1]} without")
    assert sizes[1] < 0.01 * sizes[0]
    stage = Usd.Stage.Open(str(tmp_path / "present.usdc"))
    instancer = UsdGeom.PointInstancer.Get(stage, "/World/grains")
    for frame in range(3):
        assert list(instancer.GetIdsAttr().Get(frame)) == list(range(100 * frame))
        assert len(instancer.ComputeInstanceTransformsAtTime(frame, frame)) == 100 * frame
