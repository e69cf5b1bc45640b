"""USD files in and out: animations that any tool opens, meshes and scenes read from any stage, layers over them.

Needs the `usd-core` package.  `UsdWriter` writes a stage of its own, `read_mesh` reads one mesh, `read_scene` all that
a simulation may use, and `UsdLayerWriter` writes results over the stage that was read.  `UsdError` is what all of them
raise for content they cannot accept (a missing file or folder stays a `FileNotFoundError`).
"""

from warpsim.usd.checks import UsdError
from warpsim.usd.layer import UsdLayerWriter
from warpsim.usd.meshes import TriangleMesh, read_mesh
from warpsim.usd.stage import UsdWriter
from warpsim.usd.stage_scene import UsdPrim, UsdScene, read_scene

__all__ = [
    "TriangleMesh",
    "UsdError",
    "UsdLayerWriter",
    "UsdPrim",
    "UsdScene",
    "UsdWriter",
    "read_mesh",
    "read_scene",
]
