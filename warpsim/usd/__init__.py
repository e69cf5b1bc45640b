"""USD files in and out: animations that any tool opens, triangle meshes read from any stage.

Needs the `usd-core` package.  `UsdWriter` writes, `read_mesh` reads; `UsdError` is what both raise
for content they cannot accept (a missing file or folder stays a `FileNotFoundError`).
"""

from warpsim.usd.checks import UsdError
from warpsim.usd.meshes import TriangleMesh, read_mesh
from warpsim.usd.stage import UsdWriter

__all__ = ["TriangleMesh", "UsdError", "UsdWriter", "read_mesh"]
