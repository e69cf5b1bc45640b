"""A written stage re-opened with pxr: conventions, every sample, refusals, and no half files."""

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom

from warpsim.usd import UsdError, UsdWriter, read_mesh

FRAMES = 5
FPS = 48.0
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 0, -1], [0, 0, -1]], dtype=np.float32)
QUAD = [[0, 1, 2, 3]]


def positions(frame: int) -> np.ndarray:
    """A square that rises and folds, never twice the same."""
    return SQUARE * (1.0 + 0.1 * frame) + np.array([0.0, 1.0, 0.0]) * frame * SQUARE[:, :1]


def drops(frame: int) -> np.ndarray:
    return np.random.default_rng(frame).random((2 + frame, 3))


def write(path, up_axis="Y") -> None:
    with UsdWriter(path, fps=FPS, up_axis=up_axis, metadata={"seed": 7, "solver": "test"}) as usd:
        usd.ground(size=4.0, height=-0.5)
        usd.sphere("rock", (0.0, 2.0, 0.0), 0.5, color=(0.1, 0.2, 0.3))
        for frame in range(FRAMES):
            assert usd.frame() == frame
            velocities = FPS * (positions(frame + 1) - positions(frame))
            usd.mesh("cloth", positions(frame), QUAD, color=(0.8, 0.1, 0.0), velocities=velocities)
            usd.mesh("water", positions(frame), QUAD, color=np.full((4, 3), 0.1 * frame))
            count = 2 + frame
            usd.points("rain", drops(frame), np.linspace(0.1, 0.2, count), ids=np.arange(count))
            usd.points("sand", positions(frame), 0.05)
            usd.sphere("tool", (frame, 0.0, 0.0), 0.25)


@pytest.fixture(scope="module", params=[("a.usda", "Y"), ("b.usdc", "Z"), ("c.usd", "Y")])
def stage(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("usd") / request.param[0]
    write(path, request.param[1])
    stage = Usd.Stage.Open(str(path))
    assert UsdGeom.GetStageUpAxis(stage) == request.param[1]
    return stage


def test_stage_metadata_is_authored(stage):
    root = stage.GetRootLayer().pseudoRoot
    for key in ("metersPerUnit", "upAxis", "timeCodesPerSecond", "framesPerSecond", "defaultPrim"):
        assert root.HasInfo(key), key
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == FPS
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, FRAMES - 1.0)
    default = stage.GetDefaultPrim()
    assert default.IsA(UsdGeom.Xform) and Usd.ModelAPI(default).GetKind() == "component"
    assert stage.GetRootLayer().customLayerData == {
        "creator": "warpsim",
        "seed": 7,
        "solver": "test",
    }


def validate(stage) -> list[str]:
    """What USD's own validators say; they came after the oldest usd-core that is supported."""
    validation = pytest.importorskip("pxr.UsdValidation")
    validators = validation.ValidationRegistry().GetOrLoadAllValidators()
    return [error.GetMessage() for error in validation.ValidationContext(validators).Validate(stage)]


def test_the_validators_of_usd_find_nothing(stage):
    assert validate(stage) == []


def test_the_validators_are_awake():
    bare = Usd.Stage.CreateInMemory()
    UsdGeom.Mesh.Define(bare, "/a")
    UsdGeom.Mesh.Define(bare, "/a/b")  # a shape in a shape, on a stage without units
    assert len(validate(bare)) > 1


def gprims(stage):
    return [UsdGeom.Gprim(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Gprim)]


def test_moving_prims_are_sampled_at_every_frame_and_still_ones_never(stage):
    frames = list(map(float, range(FRAMES)))
    for name in ("cloth", "water", "rain", "sand"):
        prim = UsdGeom.PointBased.Get(stage, f"/World/{name}")
        assert prim.GetPointsAttr().GetTimeSamples() == frames
        assert prim.GetExtentAttr().GetTimeSamples() == frames
    tool = UsdGeom.Sphere.Get(stage, "/World/tool")
    assert tool.GetOrderedXformOps()[0].GetTimeSamples() == frames
    for name in ("ground", "rock"):
        prim = stage.GetPrimAtPath(f"/World/{name}")
        assert not any(attribute.GetTimeSamples() for attribute in prim.GetAttributes())


def test_extent_bounds_every_sample(stage):
    checked = 0
    for frame in range(FRAMES):
        for gprim in gprims(stage):
            extent = np.array(gprim.GetExtentAttr().Get(frame))
            computed = np.array(UsdGeom.Boundable.ComputeExtentFromPlugins(gprim, frame))
            np.testing.assert_allclose(extent, computed, rtol=1e-6)
            checked += 1
        rain = drops(frame).astype(np.float32)
        radii = np.linspace(0.1, 0.2, len(rain))[:, None]
        bounds = np.array([(rain - radii).min(0), (rain + radii).max(0)])
        extent = UsdGeom.Points.Get(stage, "/World/rain").GetExtentAttr().Get(frame)
        np.testing.assert_allclose(np.array(extent), bounds, rtol=1e-5)
    assert checked == FRAMES * 7


def test_topology_is_constant_and_polygonal(stage):
    meshes = [UsdGeom.Mesh(gprim) for gprim in gprims(stage) if gprim.GetPrim().IsA(UsdGeom.Mesh)]
    assert len(meshes) == 3
    for mesh in meshes:
        for attribute in (
            mesh.GetFaceVertexCountsAttr(),
            mesh.GetFaceVertexIndicesAttr(),
            mesh.GetSubdivisionSchemeAttr(),
            mesh.GetOrientationAttr(),
            mesh.GetDoubleSidedAttr(),
        ):
            assert attribute.HasAuthoredValue() and not attribute.GetTimeSamples()
        assert mesh.GetSubdivisionSchemeAttr().Get() == "none"
        assert mesh.GetOrientationAttr().Get() == "rightHanded"
        assert mesh.GetDoubleSidedAttr().Get() is True
        assert list(mesh.GetFaceVertexCountsAttr().Get()) == [4]


@pytest.mark.parametrize("frame", range(FRAMES))
def test_the_arrays_come_back(stage, frame):
    cloth = UsdGeom.Mesh.Get(stage, "/World/cloth")
    points = positions(frame).astype(np.float32)
    np.testing.assert_array_equal(np.array(cloth.GetPointsAttr().Get(frame)), points)
    normals = np.array(cloth.GetNormalsAttr().Get(frame))
    assert cloth.GetNormalsAttr().GetMetadata("interpolation") == "vertex"
    assert cloth.GetNormalsAttr().HasAuthoredMetadata("interpolation")
    assert normals.shape == points.shape
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
    velocities = np.array(cloth.GetVelocitiesAttr().Get(frame))
    following = points + velocities / FPS
    np.testing.assert_allclose(following, positions(frame + 1), atol=1e-5)
    rain = UsdGeom.Points.Get(stage, "/World/rain")
    np.testing.assert_array_equal(np.array(rain.GetPointsAttr().Get(frame)), drops(frame).astype(np.float32))
    widths = np.array(rain.GetWidthsAttr().Get(frame))
    np.testing.assert_allclose(widths, 2.0 * np.linspace(0.1, 0.2, 2 + frame), rtol=1e-6)
    assert list(rain.GetIdsAttr().Get(frame)) == list(range(2 + frame))
    sand = UsdGeom.Points.Get(stage, "/World/sand")
    np.testing.assert_allclose(np.array(sand.GetWidthsAttr().Get(frame)), np.full(4, 0.1))


def test_colors_are_constant_or_sampled_per_point(stage):
    cloth = UsdGeom.Mesh.Get(stage, "/World/cloth").GetDisplayColorPrimvar()
    assert cloth.GetInterpolation() == "constant" and not cloth.GetTimeSamples()
    np.testing.assert_allclose(np.array(cloth.Get()), [[0.8, 0.1, 0.0]], rtol=1e-6)
    water = UsdGeom.Mesh.Get(stage, "/World/water").GetDisplayColorPrimvar()
    assert water.GetInterpolation() == "vertex" and len(water.GetTimeSamples()) == FRAMES
    np.testing.assert_allclose(np.array(water.Get(3.0)), np.full((4, 3), 0.3), rtol=1e-6)


def test_numbers_per_point_are_sampled_under_their_names(tmp_path):
    path = tmp_path / "foam.usda"
    with UsdWriter(path) as usd:
        for frame in range(2):
            usd.frame()
            usd.mesh("sea", positions(frame), QUAD, primvars={"foam": np.arange(4.0) + frame})
    stage = Usd.Stage.Open(str(path))
    foam = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath("/World/sea")).GetPrimvar("foam")
    assert foam.GetInterpolation() == "vertex" and str(foam.GetTypeName()) == "float[]"
    assert [list(foam.Get(frame)) for frame in range(2)] == [[0, 1, 2, 3], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [
        ({"foam": np.zeros(3)}, {}, "foam: found 3 numbers, expected 4"),
        ({"foam": np.full(4, np.nan)}, {}, "all finite"),
        ({"foam": np.zeros(4)}, {}, "primvars: found nothing, expected foam as in the first sample"),
        ({"foam": np.zeros(4)}, {"spray": np.zeros(4)}, "primvars: found spray, expected foam"),
        ({"white caps": np.zeros(4)}, {}, "expected letters, digits and '_'"),
    ],
)
def test_numbers_per_point_that_do_not_fit(tmp_path, first, then, message):
    with pytest.raises(UsdError, match=message), UsdWriter(tmp_path / "a.usda") as usd:
        for primvars in (first, then):
            usd.frame()
            usd.mesh("sea", SQUARE, QUAD, primvars=primvars)


def test_smooth_normals_point_up_and_loose_points_get_the_up_axis(tmp_path):
    points = np.concatenate([SQUARE, [[5.0, 5.0, 5.0]]])
    with UsdWriter(tmp_path / "up.usda", up_axis="Z") as usd:
        usd.mesh("sheet", points, QUAD)
    stage = Usd.Stage.Open(str(tmp_path / "up.usda"))
    mesh = UsdGeom.Mesh.Get(stage, "/World/sheet")
    expected = [[0, 1, 0]] * 4 + [[0, 0, 1]]
    np.testing.assert_allclose(np.array(mesh.GetNormalsAttr().Get()), expected, atol=1e-7)


def test_ground_faces_up_on_both_axes(tmp_path):
    for axis, up in (("Y", [0, 1, 0]), ("Z", [0, 0, 1])):
        path = tmp_path / f"ground{axis}.usda"
        with UsdWriter(path, up_axis=axis) as usd:
            usd.ground(size=3.0, height=0.25)
        stage = Usd.Stage.Open(str(path))
        mesh = UsdGeom.Mesh.Get(stage, "/World/ground")
        np.testing.assert_allclose(np.array(mesh.GetNormalsAttr().Get()), [up] * 4, atol=1e-7)
        points = np.array(mesh.GetPointsAttr().Get())
        np.testing.assert_allclose(points @ up, 0.25)
        assert np.ptp(points, axis=0).max() == 3.0


def test_a_still_stage_has_no_time_range(tmp_path):
    with UsdWriter(tmp_path / "still.usda") as usd:
        usd.mesh("sheet", SQUARE, QUAD)
    stage = Usd.Stage.Open(str(tmp_path / "still.usda"))
    assert not stage.HasAuthoredTimeCodeRange()


def test_no_points_at_all_is_a_legal_sample(tmp_path):
    with UsdWriter(tmp_path / "rain.usda") as usd:
        for count in (0, 2):
            usd.frame()
            usd.points("rain", np.zeros((count, 3)), 0.1, ids=np.arange(count))
    stage = Usd.Stage.Open(str(tmp_path / "rain.usda"))
    rain = UsdGeom.Points.Get(stage, "/World/rain")
    assert [len(rain.GetPointsAttr().Get(frame)) for frame in (0, 1)] == [0, 2]


def test_long_runs_are_flushed(tmp_path, monkeypatch):
    monkeypatch.setattr("warpsim.usd.stage.FLUSH_BYTES", 1000)
    path = tmp_path / "long.usdc"
    grid = np.random.default_rng(0).random((40, 3))
    sizes = []
    with UsdWriter(path) as usd:
        for frame in range(30):
            usd.frame()
            usd.mesh("cloth", grid + frame, [[0, 1, 2]])
            sizes.append(next(tmp_path.iterdir()).stat().st_size)
    assert sizes[-1] > sizes[10] > sizes[1]
    stage = Usd.Stage.Open(str(path))
    mesh = UsdGeom.Mesh.Get(stage, "/World/cloth")
    for frame in range(30):
        stored = np.array(mesh.GetPointsAttr().Get(frame))
        np.testing.assert_array_equal(stored, (grid + frame).astype(np.float32))


class TestNoHalfFiles:
    def test_a_failing_run_leaves_nothing(self, tmp_path):
        with pytest.raises(RuntimeError, match="diverged"), UsdWriter(tmp_path / "x.usdc") as usd:
            usd.frame()
            usd.mesh("cloth", SQUARE, QUAD)
            raise RuntimeError("diverged")
        assert list(tmp_path.iterdir()) == []

    def test_a_failing_run_keeps_the_older_file(self, tmp_path):
        path = tmp_path / "x.usda"
        write(path)
        before = path.read_bytes()
        with pytest.raises(UsdError), UsdWriter(path) as usd:
            usd.frame()
            usd.mesh("cloth", np.full((4, 3), np.nan), QUAD)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_the_name_appears_only_at_the_end(self, tmp_path):
        path = tmp_path / "x.usdc"
        usd = UsdWriter(path)
        usd.mesh("cloth", SQUARE, QUAD)
        assert not path.exists()
        usd.close()
        assert path.exists() and list(tmp_path.iterdir()) == [path]
        usd.close()

    def test_an_incomplete_last_frame_is_refused(self, tmp_path):
        with pytest.raises(UsdError, match="frame 1 has no sample of cloth"):
            with UsdWriter(tmp_path / "x.usdc") as usd:
                usd.frame()
                usd.mesh("cloth", SQUARE, QUAD)
                usd.frame()
        assert list(tmp_path.iterdir()) == []

    def test_an_empty_stage_is_refused(self, tmp_path):
        with pytest.raises(UsdError, match="nothing was written"), UsdWriter(tmp_path / "x.usdc"):
            pass
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"path": "x.obj"}, UsdError, r"'\.obj'.*expected one of \.usdc"),
        ({"path": "x"}, UsdError, "expected one of"),
        ({"path": "missing/x.usdc"}, FileNotFoundError, "does not exist; make it first"),
        ({"path": "x.usdc", "fps": 0}, UsdError, "fps: found 0, expected 1e-06 to 1e[+]06"),
        ({"path": "x.usdc", "fps": 1e30}, UsdError, "fps: found 1e[+]30, expected 1e-06 to"),
        ({"path": "x.usdc", "up_axis": "X"}, UsdError, "up_axis is 'X', expected 'Y' or 'Z'"),
        ({"path": "x.usdc", "metadata": {"a": [1]}}, UsdError, r"metadata: found 'a': \[1\]"),
    ],
)
def test_wrong_stage_arguments(tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        UsdWriter(**arguments)
    assert list(tmp_path.iterdir()) == []


def nan_points():
    bad = SQUARE.copy()
    bad[2, 1] = np.nan
    return bad


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.mesh("m", SQUARE[:, :2], QUAD), r"found shape \(4, 2\), expected \(n, 3\)"),
        (lambda w: w.mesh("m", nan_points(), QUAD), r"found nan in row 2 .*smaller time step"),
        (lambda w: w.mesh("m", SQUARE.astype(float) * 1e300, QUAD), r"found inf in row 1"),
        (lambda w: w.mesh("m", SQUARE), "has no faces yet"),
        (lambda w: w.mesh("m", SQUARE, [[0, 1, 4]]), "index 4 of face 0 names no point, .*0 to 3"),
        (lambda w: w.mesh("m", SQUARE, [[0, 1, -1]]), "index -1 of face 0"),
        (lambda w: w.mesh("m", SQUARE, [[0, 1]]), "face 0 has 2 corners, expected three"),
        (lambda w: w.mesh("m", SQUARE, [[0.0, 1.0, 2.0]]), "found float64 values, expected integ"),
        (lambda w: w.mesh("m", SQUARE, [0, 1, 2]), "pass counts with a flat list"),
        (lambda w: w.mesh("m", SQUARE, [0, 1, 2], [4]), "add up to 4, but there are 3"),
        (lambda w: w.mesh("m", SQUARE, np.zeros((0, 3), int)), "found no faces"),
        (lambda w: w.mesh("1 m", SQUARE, QUAD), "'1 m' cannot name a prim.* use '__m'"),
        (lambda w: w.mesh("m", SQUARE, QUAD, color=(255, 0, 0)), "divide 8-bit colors by 255"),
        (lambda w: w.mesh("m", SQUARE, QUAD, color=(1, 0)), r"expected \(3,\), or \(4, 3\)"),
        (lambda w: w.mesh("m", SQUARE, QUAD, velocities=SQUARE[:2]), "found 2 rows, expected 4"),
        (lambda w: w.points("p", SQUARE, 0.0), "expected lengths above zero"),
        (lambda w: w.points("p", SQUARE, [0.1, 0.2]), r"expected one number or \(4,\)"),
        (lambda w: w.points("p", SQUARE, 0.1, ids=[0, 1, 2, 2]), "found repeated values"),
        (lambda w: w.points("p", SQUARE, 0.1, ids=[0.5] * 4), "ids: found float64"),
        (lambda w: w.sphere("s", (0, 0), 1.0), r"expected \(n, 3\)"),
        (lambda w: w.sphere("s", (0, 0, 0), -1.0), "found -1, expected a finite number above"),
        (lambda w: w.ground(), "does not move; write it before the first frame"),
    ],
)
def test_wrong_samples(tmp_path, call, message):
    with pytest.raises(UsdError, match=message), UsdWriter(tmp_path / "x.usda") as usd:
        usd.frame()
        call(usd)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.mesh("m", SQUARE[:3]), "found 3 points, expected 4 as in the first sample"),
        (lambda w: w.mesh("m", SQUARE, [[3, 2, 1, 0]]), "faces differ from those of the first"),
        (lambda w: w.mesh("m", SQUARE, velocities=SQUARE), "found a 2-D array, expected nothing"),
        (lambda w: w.mesh("m", SQUARE), "color: found nothing, expected a 1-D array"),
        (lambda w: w.mesh("m", SQUARE, color=(0, 0, 1)), "one color per prim cannot change"),
        (lambda w: w.points("m", SQUARE, 0.1), "is already a MeshPrim; use another name"),
        (lambda w: w.points("p", SQUARE[:3], 0.1), "found 3 points, expected 4.*pass ids"),
        (lambda w: w.points("p", SQUARE, 0.1, ids=range(4)), "ids: found a 1-D array, expected no"),
        (lambda w: w.sphere("s", (0, 0, 0), 2.0), "found 2, expected 1 as in the first sample"),
        (lambda w: w.mesh("late", SQUARE, QUAD), "first written in frame 1; write it in frame 0"),
        (lambda w: w.sphere("rock", (0, 1, 0), 1.0), "stands still"),
        (lambda w: [w.sphere("s", (0, 0, 0), 1.0)] * 2 and w.sphere("s", (0, 0, 0), 1.0), "twice"),
        (lambda w: w.frame(), "frame 1 has no sample of m, p, s"),
    ],
)
def test_samples_that_do_not_follow_the_first(tmp_path, call, message):
    with pytest.raises(UsdError, match=message), UsdWriter(tmp_path / "x.usda") as usd:
        usd.sphere("rock", (0, 0, 0), 1.0)
        usd.frame()
        usd.mesh("m", SQUARE, QUAD, color=(1, 0, 0))
        usd.points("p", SQUARE, 0.1)
        usd.sphere("s", (0, 0, 0), 1.0)
        usd.frame()
        call(usd)


def test_a_closed_writer_refuses(tmp_path):
    usd = UsdWriter(tmp_path / "x.usda")
    usd.mesh("m", SQUARE, QUAD)
    usd.close()
    with pytest.raises(UsdError, match="is closed; open a new writer"):
        usd.frame()


def test_a_written_mesh_reads_back(tmp_path):
    write(tmp_path / "x.usdc")
    mesh = read_mesh(tmp_path / "x.usdc", "/World/cloth", time=3)
    np.testing.assert_array_equal(mesh.points, positions(3).astype(np.float32))
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_a_copy_of_the_file_so_far_is_whole_and_the_writer_goes_on(tmp_path):
    def samples():
        stage = Usd.Stage.Open(Sdf.Layer.OpenAsAnonymous(str(tmp_path / "a.usdc")))
        points = UsdGeom.Mesh(stage.GetPrimAtPath("/World/cloth")).GetPointsAttr()
        return [np.array(points.Get(code)) for code in points.GetTimeSamples()]

    with UsdWriter(tmp_path / "a.usdc") as usd:
        for frame in range(FRAMES):
            usd.frame()
            if frame:
                with pytest.raises(UsdError, match="has no sample of cloth"):
                    usd.publish()
            usd.mesh("cloth", positions(frame), QUAD)
            usd.publish()
            np.testing.assert_allclose(samples(), [positions(k) for k in range(frame + 1)], rtol=1e-6)
    with pytest.raises(UsdError, match="is closed"):
        usd.publish()
