"""Look of a USD stage besides shapes: a material, a camera that sees all of it, a sun and a sky.

The material shows the color of each prim or point (`UsdPreviewSurface` fed with `displayColor`) and is bound to the
default prim, so that it goes along where the file is referenced; camera and lights stand beside it, and do not.
"""

from __future__ import annotations

import math

from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdShade

MATERIALS = "Looks"
"""Name under the default prim that no shape can have."""

_ROUGHNESS = 0.55
_AZIMUTH, _ELEVATION = 35.0, 22.0  # of the viewer around the scene [deg]
_FOCAL, _APERTURE = 50.0, 36.0  # of the lens and the width of its film [mm]
_MARGIN = 1.15
_LOOKS = 9  # moments at which the size of the scene is measured


def author_material(stage: Usd.Stage, root: Usd.Prim) -> None:
    """Bind a material that shows display colors to everything under a prim."""
    folder = UsdGeom.Scope.Define(stage, root.GetPath().AppendChild(MATERIALS)).GetPath()
    material = UsdShade.Material.Define(stage, folder.AppendChild("displayed"))
    reader = UsdShade.Shader.Define(stage, material.GetPath().AppendChild("color"))
    reader.CreateIdAttr("UsdPrimvarReader_float3")
    reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("displayColor")
    reader.CreateInput("fallback", Sdf.ValueTypeNames.Float3).Set(Gf.Vec3f(0.45, 0.45, 0.45))
    surface = UsdShade.Shader.Define(stage, material.GetPath().AppendChild("surface"))
    surface.CreateIdAttr("UsdPreviewSurface")
    color = reader.CreateOutput("result", Sdf.ValueTypeNames.Float3)
    surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).ConnectToSource(color)
    surface.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(_ROUGHNESS)
    material.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", Sdf.ValueTypeNames.Token))
    UsdShade.MaterialBindingAPI.Apply(root).Bind(material)


def author_lights(stage: Usd.Stage) -> None:
    """A sun from over the viewer's shoulder and a white sky."""
    up_is_z = UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    sun = UsdLux.DistantLight.Define(stage, "/Lights/sun")
    sun.CreateAngleAttr(2.5)
    sun.CreateIntensityAttr(2.4)
    sun.CreateNormalizeAttr(True)
    UsdGeom.Xformable(sun).AddTransformOp().Set(_facing(_direction(_AZIMUTH - 70.0, 52.0, up_is_z), up_is_z))
    sky = UsdLux.DomeLight.Define(stage, "/Lights/sky")
    sky.CreateIntensityAttr(0.6)


def author_camera(stage: Usd.Stage, frames: int, without: set[str]) -> None:
    """A camera that sees what there is in any of `frames`, but for paths that do not count, such as the ground."""
    box = _bounds(stage, frames, without)
    if box.IsEmpty():
        return
    up_is_z = UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    radius = max(0.5 * box.GetSize().GetLength(), 1e-6)
    distance = _MARGIN * radius * math.hypot(1.0, 2.0 * _FOCAL / (0.75 * _APERTURE))  # a ball fills the shorter side
    direction = _direction(_AZIMUTH, _ELEVATION, up_is_z)
    camera = UsdGeom.Camera.Define(stage, "/camera")
    camera.CreateFocalLengthAttr(_FOCAL)
    camera.CreateHorizontalApertureAttr(_APERTURE)
    camera.CreateVerticalApertureAttr(0.75 * _APERTURE)
    camera.CreateFocusDistanceAttr(distance)
    camera.CreateClippingRangeAttr(Gf.Vec2f(1e-3 * distance, 100.0 * distance))
    pose = _facing(direction, up_is_z)
    pose.SetTranslateOnly(box.GetMidpoint() + distance * direction)
    camera.AddTransformOp().Set(pose)


def _bounds(stage: Usd.Stage, frames: int, without: set[str]) -> Gf.Range3d:
    """The box around all shapes at some of the frames, by their extents."""
    counted = [prim for prim in stage.GetDefaultPrim().GetChildren() if str(prim.GetPath()) not in without]
    cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [UsdGeom.Tokens.default_], useExtentsHint=True)
    box = Gf.Range3d()
    for frame in sorted({round(k * (frames - 1) / (_LOOKS - 1)) for k in range(_LOOKS)} if frames else {0}):
        cache.SetTime(Usd.TimeCode(frame))
        for prim in counted:
            box.UnionWith(cache.ComputeWorldBound(prim).ComputeAlignedRange())
    return box


def _direction(azimuth: float, elevation: float, up_is_z: bool) -> Gf.Vec3d:
    """Unit vector `elevation` [deg] above the floor and `azimuth` [deg] around the axis that is up, from the front."""
    a, e = math.radians(azimuth), math.radians(elevation)
    aside, front, above = math.cos(e) * math.sin(a), math.cos(e) * math.cos(a), math.sin(e)
    return Gf.Vec3d(aside, -front, above) if up_is_z else Gf.Vec3d(aside, above, front)


def _facing(direction: Gf.Vec3d, up_is_z: bool) -> Gf.Matrix4d:
    """What turns a camera or a light, which look along -z, so that they look from `direction` at the origin."""
    up = Gf.Vec3d(0.0, 0.0, 1.0) if up_is_z else Gf.Vec3d(0.0, 1.0, 0.0)
    return Gf.Matrix4d().SetLookAt(direction, Gf.Vec3d(0.0), up).GetInverse().SetTranslateOnly(Gf.Vec3d(0.0))
