"""A stage as artists leave it, written with pxr alone: in centimetres with z up, under transforms, with every kind of
prim that simulations use, animated from time code 101 on; and what pxr itself says of its points."""

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade

FIRST, LAST, RATE = 101, 113, 24.0
CUBE = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
CUBE_FACES = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
TETS = [(0, 1, 3, 5), (0, 2, 6, 3), (0, 4, 5, 6), (3, 5, 6, 7), (0, 3, 5, 6)]  # some of them left-handed


def shot(path, up="Z", unit=0.01):
    """Write the stage and return its path."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, unit)
    stage.SetTimeCodesPerSecond(RATE)
    stage.SetFramesPerSecond(RATE)
    stage.SetStartTimeCode(FIRST)
    stage.SetEndTimeCode(LAST)
    world = UsdGeom.Xform.Define(stage, "/World")
    Usd.ModelAPI(world).SetKind("component")
    world.AddTranslateOp().Set(Gf.Vec3d(100.0, 20.0, 5.0))
    world.AddRotateZOp().Set(30.0)
    stage.SetDefaultPrim(world.GetPrim())
    UsdLux.DomeLight.Define(stage, "/World/light")
    _dress(stage)
    _figure(stage)
    _others(stage)
    stage.GetRootLayer().Save()
    return path


def _mesh(stage, path, points, indices, each=4):
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(points)
    mesh.CreateFaceVertexCountsAttr([each] * (len(indices) // each))
    mesh.CreateFaceVertexIndicesAttr(indices)
    mesh.CreateSubdivisionSchemeAttr("none")
    mesh.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(mesh.GetPointsAttr().Get()))
    return mesh


def _dress(stage, cells=6):
    """A sheet of 60 cm with texture coordinates, a subset, a material; a loose point belongs to no face."""
    group = UsdGeom.Xform.Define(stage, "/World/clothes")
    group.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 60.0))
    group.AddScaleOp().Set(Gf.Vec3f(2.0, 2.0, 2.0))
    side = np.linspace(-15.0, 15.0, cells + 1)
    points = [(x, y, 0.0) for y in side for x in side] + [(0.0, 0.0, 99.0)]
    row = cells + 1
    faces = [n + k for j in range(cells) for i in range(cells) for n in [j * row + i] for k in (0, 1, row + 1, row)]
    mesh = _mesh(stage, "/World/clothes/dress", points, faces)
    mesh.CreateNormalsAttr([(0, 0, 1)] * len(points))
    mesh.SetNormalsInterpolation("vertex")
    mesh.CreatePurposeAttr("render")
    uv = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying")
    table = [(x / 30.0 + 0.5, y / 30.0 + 0.5) for x, y, _ in points]
    uv.Set(table)
    uv.SetIndices(faces)
    subset = UsdGeom.Subset.CreateGeomSubset(mesh, "hem", "face", list(range(cells)))
    material = UsdShade.Material.Define(stage, "/World/Looks/linen")
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material)
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(material)


def _figure(stage):
    """Two closed meshes on a frame that slides and turns, a mesh that breathes, and a ball of its own kind."""
    figure = UsdGeom.Xform.Define(stage, "/World/figure")
    slide, turn = figure.AddTranslateOp(), figure.AddRotateZOp()
    for code, place, angle in ((FIRST, (0, 0, 20), 0.0), (LAST, (12, 0, 26), 240.0)):
        slide.Set(Gf.Vec3d(*place), code)
        turn.Set(angle, code)
    body = _mesh(stage, "/World/figure/body", [(8 * x, 5 * y, 12 * z) for x, y, z in CUBE], CUBE_FACES[::-1])
    body.CreateOrientationAttr("leftHanded")
    head = _mesh(stage, "/World/figure/head", [(4 * x, 4 * y, 4 * z + 18) for x, y, z in CUBE], CUBE_FACES)
    UsdGeom.Xformable(head).AddScaleOp().Set(Gf.Vec3f(-1.0, 1.0, 1.0))  # mirrored, so that it is not inside out
    chest = _mesh(stage, "/World/figure/chest", [(3 * x, 3 * y, 3 * z) for x, y, z in CUBE], CUBE_FACES)
    for code, size in ((FIRST, 1.0), (FIRST + 4, 2.0), (LAST, 1.5)):
        chest.GetPointsAttr().Set([(size * x, size * y, size * z) for x, y, z in CUBE], code)
    ball = UsdGeom.Sphere.Define(stage, "/World/figure/ball")
    ball.CreateRadiusAttr(3.0)
    UsdGeom.Xformable(ball).AddTranslateOp().Set(Gf.Vec3d(20.0, 0.0, 0.0))


def _others(stage):
    dust = UsdGeom.Points.Define(stage, "/World/dust")
    dust.CreatePointsAttr([(k, 2.0 * k, 80.0) for k in range(5)])
    dust.CreateWidthsAttr([1.0, 2.0, 1.0, 2.0, 1.0])
    dust.CreateVelocitiesAttr([(0.0, 10.0 * k, 0.0) for k in range(5)])
    dust.CreateIdsAttr([7, 8, 9, 10, 11])
    hair = UsdGeom.BasisCurves.Define(stage, "/World/hair")
    hair.CreateTypeAttr("linear")
    hair.CreatePointsAttr([(40.0, k, 70.0) for k in range(7)])
    hair.CreateCurveVertexCountsAttr([4, 3])
    hair.CreateWidthsAttr([0.4])
    hair.SetWidthsInterpolation("constant")
    jelly = UsdGeom.TetMesh.Define(stage, "/World/jelly")
    jelly.CreatePointsAttr([(10 * x - 50, 10 * y, 10 * z + 40) for x, y, z in CUBE])
    jelly.CreateTetVertexIndicesAttr(TETS)
    stones = UsdGeom.PointInstancer.Define(stage, "/World/stones")
    stone = _mesh(stage, "/World/stones/kinds/stone", [(2 * x, 2 * y, 2 * z) for x, y, z in CUBE], CUBE_FACES)
    UsdGeom.Xformable(stone).AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 1.0))
    stones.CreatePrototypesRel().SetTargets([stone.GetPath()])
    stones.CreateProtoIndicesAttr([0, 0, 0])
    stones.CreatePositionsAttr([(0.0, 40.0, 50.0), (10.0, 40.0, 50.0), (20.0, 40.0, 50.0)])
    stones.CreateOrientationsAttr([Gf.Quath(1, 0, 0, 0), Gf.Quath(0.5, 0.5, 0.5, 0.5), Gf.Quath(0, 1, 0, 0)])
    stones.CreateScalesAttr([(1, 1, 1), (2, 2, 2), (1, 1, 1)])


def physics(path):
    """Add schemas of physics to a shot: what there is is said by the file."""
    stage = Usd.Stage.Open(str(path))
    UsdPhysics.SetStageKilogramsPerUnit(stage, 0.001)
    fabric = UsdShade.Material.Define(stage, "/World/Looks/fabric")
    stuff = UsdPhysics.MaterialAPI.Apply(fabric.GetPrim())
    stuff.CreateDynamicFrictionAttr(0.3)
    stuff.CreateStaticFrictionAttr(0.4)
    stuff.CreateRestitutionAttr(0.1)
    stuff.CreateDensityAttr(1.2)  # grams in a cubic centimetre
    number = Sdf.ValueTypeNames.Float
    fabric.GetPrim().CreateAttribute("omniphysics:youngsModulus", number).Set(2.0e5)
    fabric.GetPrim().CreateAttribute("omniphysics:poissonsRatio", number).Set(0.25)
    fabric.GetPrim().CreateAttribute("omniphysics:surfaceThickness", number).Set(0.1)
    for name, schema in (("clothes/dress", "OmniPhysicsSurfaceDeformableSimAPI"), ("jelly", "PhysxDeformableBodyAPI")):
        prim = stage.GetPrimAtPath(f"/World/{name}")
        schemas = prim.GetMetadata("apiSchemas") or Sdf.TokenListOp()
        schemas.prependedItems = [*schemas.prependedItems, schema]
        prim.SetMetadata("apiSchemas", schemas)
    for name in ("clothes/dress", "jelly", "figure/body"):
        prim = stage.GetPrimAtPath(f"/World/{name}")
        UsdShade.MaterialBindingAPI.Apply(prim).Bind(fabric, UsdShade.Tokens.weakerThanDescendants, "physics")
    for name in ("body", "head"):
        UsdPhysics.CollisionAPI.Apply(stage.GetPrimAtPath(f"/World/figure/{name}"))
    UsdPhysics.RigidBodyAPI.Apply(stage.GetPrimAtPath("/World/figure")).CreateKinematicEnabledAttr(True)
    UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/World/jelly")).CreateMassAttr(500.0)
    stage.GetRootLayer().Save()
    return path


def world_points(stage, path, code, attribute="points"):
    """Where pxr has the points of a prim at a time code, in metres, with y up: the oracle."""
    prim = stage.GetPrimAtPath(path)
    matrix = UsdGeom.XformCache(Usd.TimeCode(code)).GetLocalToWorldTransform(prim)
    points = prim.GetAttribute(attribute).Get(Usd.TimeCode(code))
    placed = np.array([matrix.Transform(Gf.Vec3d(*map(float, p))) for p in points]).reshape(-1, 3)
    placed *= UsdGeom.GetStageMetersPerUnit(stage)
    return placed[:, [0, 2, 1]] * [1.0, 1.0, -1.0] if UsdGeom.GetStageUpAxis(stage) == "Z" else placed
