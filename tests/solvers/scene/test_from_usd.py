"""Stages become models: which prim becomes what, and with which numbers; obstacles follow the file; results go back."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom
from usd_shots import FIRST, RATE, physics, shot, world_points

import warpsim as wp
from warpsim.errors import ModelError, StateError
from warpsim.solvers import ModelBuilder, ShapeType, SolverXPBD, SurfaceContacts
from warpsim.usd import UsdLayerWriter, read_scene


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return shot(tmp_path_factory.mktemp("stages") / "shot.usda")


@pytest.fixture
def builder():
    return ModelBuilder()


def test_patterns_choose(builder, path):
    bodies = builder.add_usd(
        path,
        cloth={"/World/clothes": {"density": 0.5, "spring_ke": 2.0e3}},
        soft="*/jelly",
        colliders=["/World/figure"],
        particles={"*/dust": {}, "*/hair": {"spring_ke": 10.0}, "*/stones": {"mass": 0.2}},
    )
    assert list(bodies.shapes) == [f"/World/figure/{n}" for n in ("body", "head", "ball")]
    assert bodies.simulated == [f"/World/{n}" for n in ("clothes/dress", "jelly", "dust", "hair", "stones")]
    assert set(bodies.particles) - set(bodies.simulated) == {"/World/figure/chest"}
    assert "/World/dust: 5 particles, " in repr(bodies) and "/World/figure/ball: shape 2" in repr(bodies)
    model = builder.finalize()
    types = [ShapeType(t) for t in model.shape_type]
    assert types == [ShapeType.MESH, ShapeType.MESH, ShapeType.SPHERE]
    mass, radius = model.particle_mass.numpy(), model.particle_radius.numpy()
    dress = bodies.particles["/World/clothes/dress"]
    assert mass[dress[:-1]].sum() == pytest.approx(0.5 * 0.36, rel=1e-5) and dress[-1] == -1
    assert mass[bodies.particles["/World/jelly"]].sum() == pytest.approx(1000.0 * 0.008, rel=1e-5)
    assert not mass[bodies.particles["/World/figure/chest"]].any()
    np.testing.assert_allclose(radius[bodies.particles["/World/dust"]], [0.005, 0.01, 0.005, 0.01, 0.005], rtol=1e-5)
    np.testing.assert_allclose(mass[bodies.particles["/World/stones"]], 0.2)
    speed = model.particle_qd.numpy()[bodies.particles["/World/dust"]]
    np.testing.assert_allclose(np.linalg.norm(speed, axis=1), 0.1 * np.arange(5), atol=1e-6)
    pairs = model.spring_indices.numpy()
    assert np.isin(pairs, bodies.particles["/World/hair"]).all(axis=1).sum() == 5


@pytest.mark.parametrize("name", ["clothes/dress", "jelly", "dust", "hair"])
def test_particles_stand_where_pxr_has_the_points(path, name):
    for up in ("Y", "Z"):
        builder = ModelBuilder(up_axis=up)
        role = {"clothes/dress": "cloth", "jelly": "soft"}.get(name, "particles")
        bodies = builder.add_usd(path, **{role: f"/World/{name}"})
        state = builder.finalize().state()
        expected = world_points(Usd.Stage.Open(str(path)), f"/World/{name}", FIRST)
        expected = expected if up == "Y" else expected[:, [0, 2, 1]] * [1, -1, 1]
        np.testing.assert_allclose(bodies.positions(f"/World/{name}", state), expected, atol=1e-6)


def test_schemas_of_physics_choose(builder, tmp_path):
    bodies = builder.add_usd(physics(shot(tmp_path / "shot.usda")))
    assert bodies.simulated == ["/World/clothes/dress", "/World/jelly"]
    assert list(bodies.shapes) == [f"/World/figure/{n}" for n in ("body", "head")]
    model = builder.finalize()
    mu = model.shape_mu.numpy()
    assert mu[bodies.shapes["/World/figure/body"]] == pytest.approx(0.3)
    dress = bodies.particles["/World/clothes/dress"]
    dress = dress[dress >= 0]
    assert model.particle_mass.numpy()[dress].sum() == pytest.approx(1200.0 * 0.001 * 0.36, rel=1e-5)
    assert model.particle_mass.numpy()[bodies.particles["/World/jelly"]].sum() == pytest.approx(0.5, rel=1e-5)
    stiffness = builder.triangles["ke"][np.isin(model.tri_indices.numpy(), dress).all(axis=1)]
    np.testing.assert_allclose(stiffness, 2.0e4 * 0.001, rtol=1e-5)
    np.testing.assert_allclose(model.particle_radius.numpy()[dress], 0.0005, rtol=1e-5)


def test_obstacles_follow_the_file(builder, path):
    """Shapes and surfaces, against pxr's points; the steps in between end where the next begins."""
    bodies = builder.add_usd(path, colliders="/World/figure")
    model = builder.finalize()
    state, control, solver = model.state(), model.control(), SolverXPBD(model, substeps=2)
    stage, dt = Usd.Stage.Open(str(path)), 1.0 / (2.5 * RATE)
    body, chest = bodies.shapes["/World/figure/body"], bodies.particles["/World/figure/chest"]
    local = bodies.scene["/World/figure/body"].points - bodies.scene["/World/figure/body"].placement[3, :3]
    for step in range(6):
        bodies.move(state, control, step * dt, dt)
        solver.step(state, state, control, None, dt)
        control.advance(dt)
        code = FIRST + (step + 1) * dt * RATE
        expected = world_points(stage, "/World/figure/chest", code)
        np.testing.assert_allclose(state.particle_q.numpy()[chest], expected, atol=2e-6)
        pose = control.shape_transform.numpy()[body].astype(float)
        placed = wp.quat_to_matrix(wp.quat(*pose[3:]))
        placed = local @ np.array(placed, float).reshape(3, 3).T + pose[:3]
        np.testing.assert_allclose(placed, world_points(stage, "/World/figure/body", code), atol=2e-6)


def test_solids_keep_their_form(builder, tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "solids.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, "Z")
    pill = UsdGeom.Capsule.Define(stage, "/pill")
    pill.CreateAxisAttr("X")
    pill.CreateRadiusAttr(5.0)
    pill.CreateHeightAttr(20.0)
    pill.AddRotateZOp().Set(90.0)
    pill.AddScaleOp().Set((2, 2, 2))
    box = UsdGeom.Cube.Define(stage, "/box")
    box.CreateSizeAttr(2.0)
    box.AddScaleOp().Set((1, 2, -3))
    UsdGeom.Plane.Define(stage, "/floor").CreateAxisAttr("Z")
    egg = UsdGeom.Sphere.Define(stage, "/egg")
    egg.AddScaleOp().Set((1, 1, 2))
    stage.Save()
    builder.add_usd(stage, colliders="*")
    model = builder.finalize()
    kinds = [ShapeType(t) for t in model.shape_type]
    assert kinds == [ShapeType.CAPSULE, ShapeType.BOX, ShapeType.PLANE, ShapeType.MESH]
    scale, pose = model.shape_scale.numpy(), model.shape_transform.numpy()
    np.testing.assert_allclose(scale[:2], [[0.1, 0.2, 0.0], [0.01, 0.02, 0.03]], rtol=1e-5)
    axis = np.array(wp.quat_rotate(wp.quat(*map(float, pose[0, 3:])), wp.vec3(0.0, 0.0, 1.0)))
    np.testing.assert_allclose(np.abs(axis), [0.0, 0.0, 1.0], atol=1e-6)  # y of the file lies along z here
    up = np.array(wp.quat_rotate(wp.quat(*map(float, pose[2, 3:])), wp.vec3(0.0, 0.0, 1.0)))
    np.testing.assert_allclose(up, [0.0, 1.0, 0.0], atol=1e-6)


def test_seams_are_closed_and_written_to_all_their_points(tmp_path, builder):
    """Two squares with points of their own along the edge that they share."""
    original = tmp_path / "seam.usda"
    stage = Usd.Stage.CreateNew(str(original))
    mesh = UsdGeom.Mesh.Define(stage, "/m")
    mesh.CreatePointsAttr(
        [(x, 0, z) for far in (0, 100) for x, z in ((far, 0), (far + 100, 0), (far + 100, 100), (far, 100))]
    )
    mesh.CreateFaceVertexCountsAttr([4, 4])
    mesh.CreateFaceVertexIndicesAttr([0, 3, 2, 1, 4, 7, 6, 5])
    stage.Save()
    bodies = builder.add_usd(original, cloth="/m")
    assert builder.particle_count == 6 and bodies.particles["/m"].tolist() == [0, 1, 2, 3, 1, 4, 5, 2]
    state = builder.finalize().state()
    with UsdLayerWriter(tmp_path / "sim.usda", bodies.scene) as layer:
        layer.frame(0.0)
        bodies.write(layer, state)
    sim = Usd.Stage.Open(str(tmp_path / "sim.usda"))
    points = np.array(UsdGeom.Mesh.Get(sim, "/m").GetPointsAttr().Get(0))
    np.testing.assert_allclose(points[[4, 7]], points[[1, 2]])


def test_a_round_trip_of_everything(tmp_path):
    """Cloth, jelly, grains and hair fall on a figure that moves; what is written is what the states were."""
    original = shot(tmp_path / "shot.usda")
    builder = ModelBuilder()
    bodies = builder.add_usd(
        original,
        cloth="/World/clothes",
        soft="/World/jelly",
        colliders="/World/figure",
        particles={"*/dust": {}, "*/hair": {"spring_ke": 10.0}, "*/stones": {}},
    )
    model = builder.finalize()
    state, control, solver, contacts = (
        model.state(),
        model.control(),
        SolverXPBD(model, substeps=4),
        SurfaceContacts(model),
    )
    wanted = []
    with UsdLayerWriter(tmp_path / "sim.usdc", bodies.scene) as layer:
        for frame in range(5):
            if frame:
                bodies.move(state, control, (frame - 1) / RATE, 1.0 / RATE)
                solver.step(state, state, control, contacts, 1.0 / RATE)
            layer.frame(frame / RATE)
            bodies.write(layer, state)
            wanted.append({p: bodies.positions(p, state) for p in bodies.simulated})
    assert not solver.statistics(state).diverged
    stage = Usd.Stage.Open(str(tmp_path / "sim.usdc"))
    for frame, positions in enumerate(wanted):
        for path, expected in positions.items():
            name = "positions" if path.endswith("stones") else "points"
            found = world_points(stage, path, FIRST + frame, name)
            np.testing.assert_allclose(found, expected, atol=1e-5)
    moved = np.abs(wanted[-1]["/World/clothes/dress"] - wanted[0]["/World/clothes/dress"]).max()
    assert 0.01 < moved < 0.3


def test_gradients_go_to_positions_of_a_file(path):
    builder = ModelBuilder()
    bodies = builder.add_usd(path, cloth="/World/clothes")
    model = builder.finalize(requires_grad=True, dtype=wp.float64)
    solver, state, after = SolverXPBD(model, substeps=2), model.state(), model.state()
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        solver.step(state, after, None, None, 0.01)
        wp.launch(_height, dim=model.particle_count, inputs=[after.particle_q, loss])
    tape.backward(loss)
    grad = state.particle_q.grad.numpy()
    assert bodies.particles["/World/clothes/dress"].max() == len(grad) - 1
    np.testing.assert_allclose(grad.sum(axis=0), [0.0, len(grad), 0.0], atol=1e-8)


@wp.kernel
def _height(q: wp.array[wp.vec3d], loss: wp.array[wp.float64]):
    wp.atomic_add(loss, 0, q[wp.tid()][1])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "no prim of the stage has a schema of collision"),
        ({"cloth": "/World/skirt"}, "cloth='/World/skirt' names no prim with a shape\nthere are: /World/clothes/dress"),
        ({"cloth": 3}, "cloth is 3"),
        ({"cloth": "/World/clothes", "colliders": "*"}, "dress is cloth and colliders"),
        ({"cloth": "/World/dust"}, "/World/dust is points and has no faces"),
        ({"soft": "/World/figure/body"}, "which has no inside of its own\nexpected: a TetMesh"),
        ({"colliders": "/World/clothes"}, "dress is open.*surface': True"),
        ({"colliders": {"*/body": {"mass": 1.0}}}, "colliders take no mass"),
        ({"colliders": {"*/chest": {"mu": 1.0}}}, "takes no mu\nexpected: subset, particle_radius"),
        ({"particles": {"*/dust": {"spring_ke": 1.0}}}, "has no edges for springs"),
        ({"particles": {"*/dust": {"mu": 1.0}}}, "particles take no mu"),
        ({"cloth": {"/World/clothes": {"subset": "cuff"}}}, r"no subset 'cuff'\nits subsets of faces are: \['hem'\]"),
    ],
)
def test_refusals(builder, path, options, text):
    with pytest.raises(ModelError, match=f"(?s){text}"):
        builder.add_usd(path, **options)


def test_more_refusals(builder, path, tmp_path):
    stage = Usd.Stage.Open(str(physics(shot(tmp_path / "shot.usda"))))
    stage.GetPrimAtPath("/World/figure").GetAttribute("physics:kinematicEnabled").Set(False)
    with pytest.raises(ModelError, match="figure/body is a rigid body that forces move"):
        builder.add_usd(stage)
    with read_scene(path, up_axis="Z") as scene, pytest.raises(ModelError, match="read with 'Z' up"):
        builder.add_usd(scene, cloth="/World/clothes")
    bodies = builder.add_usd(path, colliders="/World/figure/body")
    state = builder.finalize().state()
    with pytest.raises(StateError, match="body moves and there is no control"):
        bodies.move(state, None, 0.0, 0.01)
    with pytest.raises(StateError, match="dt is 0"):
        bodies.move(state, None, 0.0, 0.0)


def test_a_subset_alone_becomes_cloth(builder, path):
    bodies = builder.add_usd(path, cloth={"/World/clothes": {"subset": "hem"}})
    assert builder.particle_count == 14 and len(builder.triangles["indices"]) == 12
    assert (bodies.particles["/World/clothes/dress"] >= 0).sum() == 14


@pytest.mark.parametrize("form", ["points", "transform"])
def test_cloth_is_carried_by_a_surface_that_rises(tmp_path, form):
    """A tray that is animated by its points, or by a transform, in centimetres at 25 time codes a second."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "tray.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, "Y")
    stage.SetTimeCodesPerSecond(25.0)
    stage.SetStartTimeCode(0)
    for name, side, height in (("tray", 60.0, 0.0), ("sheet", 30.0, 1.5)):
        ticks = np.linspace(-side / 2, side / 2, 7)
        mesh = UsdGeom.Mesh.Define(stage, f"/{name}")
        points = [(x, height, z) for z in ticks for x in ticks]
        mesh.CreatePointsAttr(points)
        mesh.CreateFaceVertexCountsAttr([4] * 36)
        corners = [7 * j + i + k for j in range(6) for i in range(6) for k in (0, 7, 8, 1)]
        mesh.CreateFaceVertexIndicesAttr(corners)
        if name == "tray" and form == "points":
            for code in (0, 25):
                mesh.GetPointsAttr().Set([(x, 40.0 * code / 25, z) for x, _, z in points], code)
        elif name == "tray":
            rise = mesh.AddTranslateOp()
            for code in (0, 25):
                rise.Set((0.0, 40.0 * code / 25, 0.0), code)
    stage.Save()
    builder = ModelBuilder()
    surface = {"particle_radius": 0.004, **({"surface": True} if form == "transform" else {})}
    sheet = {"spring_ke": 1.0e3, "edge_ke": 1.0e-5, "particle_radius": 0.004}
    bodies = builder.add_usd(tmp_path / "tray.usda", cloth={"/sheet": sheet}, colliders={"/tray": surface})
    assert bodies.scene["/tray"].motion == ("deforming" if form == "points" else "rigid") and not bodies.shapes
    model = builder.finalize()
    solver, state, contacts = SolverXPBD(model, substeps=20), model.state(), SurfaceContacts(model)
    for step in range(20):
        bodies.move(state, None, step / 25.0, 1.0 / 25.0)
        solver.step(state, state, None, contacts, 1.0 / 25.0)
    tray, sheet = (bodies.positions(path, state) for path in ("/tray", "/sheet"))
    np.testing.assert_allclose(tray[:, 1], 0.4 * 20 / 25.0, atol=1e-5)
    assert 0.004 < (sheet[:, 1] - tray[0, 1]).min() and (sheet[:, 1] - tray[0, 1]).max() < 0.02
    np.testing.assert_allclose(bodies.velocities("/sheet", state)[:, 1].mean(), 0.4, atol=0.02)
