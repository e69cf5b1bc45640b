"""Physics that a file says of a prim, in SI units: what it is, of which mass, stiffness and friction.

Read are UsdPhysics (rigid bodies, collision, mass, materials) and, by the names of schemas and attributes, deformable
bodies of PhysX, Omniverse and Newton, whose schemas pxr does not know: PhysxDeformableBodyAPI,
OmniPhysicsSurfaceDeformableSimAPI, physxDeformableBodyMaterial:youngsModulus and their kin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pxr import Usd, UsdPhysics, UsdShade

CLOTH, SOFT, COLLIDER, RIGID = "cloth", "soft", "collider", "rigid"
"""Roles; `RIGID` is a body that forces move."""

_NUMBERS = {  # by the last part of an attribute's name: our name, and powers of mass and length in its unit
    "mass": ("mass", 1, 0),
    "density": ("density", 1, -3),
    "youngsModulus": ("youngs_modulus", 1, -1),
    "poissonsRatio": ("poissons_ratio", 0, 0),
    "thickness": ("thickness", 0, 1),
    "surfaceThickness": ("thickness", 0, 1),
    "dynamicFriction": ("friction", 0, 0),
    "staticFriction": ("static_friction", 0, 0),
    "restitution": ("restitution", 0, 0),
}
_MAY_BE_ZERO = ("poissons_ratio", "friction", "static_friction", "restitution")
_SPACES = ("physics", "physx", "omniphysics", "newton", "warp")  # how names of attributes of physics begin


def physics_of(prim: Usd.Prim, unit: float, kilograms: float) -> dict[str, Any]:
    """The role of a prim, "" for none, and the numbers that its material and it say, by name.

    unit: metres of one unit of length. kilograms: of one unit of mass. What a file leaves at zero, which stands for
    "compute it" there, is left out.
    """
    answer: dict[str, Any] = {"role": role_of(prim)}
    material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
    for source in [material.GetPrim()] * bool(material) + [prim]:  # what the prim says counts more
        for name, value in _numbers_of(source):
            key, mass, length = _NUMBERS[name]
            number = value * kilograms**mass * unit**length
            if math.isfinite(number) and (number > 0.0 or (number == 0.0 and key in _MAY_BE_ZERO)):
                answer[key] = number
    return answer


def _numbers_of(prim: Usd.Prim) -> Iterator[tuple[str, float]]:
    for attribute in prim.GetAuthoredAttributes():
        space, _, name = attribute.GetName().rpartition(":")
        if name in _NUMBERS and space.lower().startswith(_SPACES):
            value = attribute.Get()
            if isinstance(value, int | float):
                yield name, float(value)


def role_of(prim: Usd.Prim) -> str:
    """What schemas make of a prim: `CLOTH`, `SOFT`, `COLLIDER`, `RIGID`, or "" for nothing."""
    above = prim
    while above and not above.IsPseudoRoot():
        schemas = _schemas(above)
        for schema in map(str.lower, schemas):
            if "cloth" in schema or ("deformable" in schema and "surface" in schema):
                return CLOTH
            if "deformable" in schema and "material" not in schema:
                return SOFT
        if "PhysicsCollisionAPI" in schemas:
            collides = UsdPhysics.CollisionAPI(above).GetCollisionEnabledAttr().Get() is not False
            return (RIGID if _is_dynamic(above) else COLLIDER) if collides else ""
        above = above.GetParent()
    return ""


def _is_dynamic(prim: Usd.Prim) -> bool:
    """Whether a prim is part of a rigid body that forces move."""
    while prim and not prim.IsPseudoRoot():
        if "PhysicsRigidBodyAPI" in _schemas(prim):
            body = UsdPhysics.RigidBodyAPI(prim)
            return body.GetRigidBodyEnabledAttr().Get() is not False and not body.GetKinematicEnabledAttr().Get()
        prim = prim.GetParent()
    return False


def _schemas(prim: Usd.Prim) -> list[str]:
    """Names of the schemas applied to a prim, also of those that pxr does not know."""
    listed = prim.GetMetadata("apiSchemas")
    return [] if listed is None else [str(name) for name in listed.GetAddedOrExplicitItems()]
