"""USD stages for the viewer's tests, written with pxr alone."""

import numpy as np
from pxr import Gf, Usd, UsdGeom, Vt

FRAMES = 5


def everything(path):
    """Every kind of body, in centimetres with z up: a mesh, balls, grains of two forms, a solid, a floor."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.SetTimeCodesPerSecond(25)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(FRAMES - 1)
    world = UsdGeom.Xform.Define(stage, "/World")
    world.AddTranslateOp().Set(Gf.Vec3d(100.0, 0.0, 0.0))
    _sheet(stage)
    _balls(stage)
    _grains(stage)
    _solid(stage)
    guide = UsdGeom.Cube.Define(stage, "/World/hidden")
    guide.MakeInvisible()
    stage.Save()
    return path


def _sheet(stage):
    mesh = UsdGeom.Mesh.Define(stage, "/World/sheet")
    mesh.CreateFaceVertexCountsAttr([4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    mesh.CreateDisplayColorAttr([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
    for frame in range(FRAMES):
        mesh.GetPointsAttr().Set([(0, 0, frame), (10, 0, frame), (10, 10, frame), (0, 10, frame)], frame)


def _balls(stage):
    points = UsdGeom.Points.Define(stage, "/World/balls")
    points.CreateWidthsAttr([2.0, 4.0, 6.0])
    points.CreateDisplayColorAttr([(0.5, 0.25, 0.125)])
    for frame in range(FRAMES):
        points.GetPointsAttr().Set([(k, frame, 0) for k in range(3 + (frame > 2))], frame)
        points.GetWidthsAttr().Set([2.0 + 2 * k for k in range(3 + (frame > 2))], frame)


def _grains(stage):
    grains = UsdGeom.PointInstancer.Define(stage, "/World/grains")
    box = UsdGeom.Cube.Define(stage, "/World/grains/box")
    box.CreateSizeAttr(2.0)
    box.CreateDisplayColorAttr([(0.0, 0.5, 1.0)])
    pill = UsdGeom.Capsule.Define(stage, "/World/grains/pill")
    pill.CreateRadiusAttr(1.0)
    grains.CreatePrototypesRel().SetTargets([box.GetPath(), pill.GetPath()])
    grains.CreateProtoIndicesAttr([0, 1, 0])
    half = float(np.sqrt(0.5))
    for frame in range(FRAMES):
        grains.GetPositionsAttr().Set([(k, 0, frame) for k in range(3)], frame)
        turns = [Gf.Quath(1, 0, 0, 0), Gf.Quath(half, half, 0, 0), Gf.Quath(half, 0, 0, half)]
        grains.GetOrientationsAttr().Set(Vt.QuathArray(turns), frame)
    grains.CreateScalesAttr([(1, 1, 1), (1, 1, 1), (2, 1, 1)])


def _solid(stage):
    sphere = UsdGeom.Sphere.Define(stage, "/World/ball")
    sphere.CreateRadiusAttr(5.0)
    place = sphere.AddTranslateOp()
    for frame in range(FRAMES):
        place.Set(Gf.Vec3d(0.0, 0.0, 10.0 * frame), frame)
    floor = UsdGeom.Plane.Define(stage, "/World/floor")
    floor.CreateWidthAttr(40.0)
    floor.CreateLengthAttr(20.0)
