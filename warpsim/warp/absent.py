"""Modules and names of Warp, of its older versions too, that are not here: why, and what does their work."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from .. import errors

_PACKAGE = __name__.partition(".")[0]

_IN_ITSELF = "{name} is a module of older versions of Warp\nhelp: its public names are those of warpsim itself: "
_SIM = "physics is in warpsim.solvers, under names of its own\nhelp: docs/warp.md tells how Newton runs on warpsim"

ABSENT = {
    "Fourier transforms of tiles are not here yet": "tile_fft tile_ifft",
    "types of tiles are written wp.tile[float, 4, 4]": "Tile",
    "buffers and textures of OpenGL are not here yet": "GLTextureResource RegisteredGLBuffer TextureResourceFlags",
    "handles between processes are not here yet": "event_from_ipc_handle from_ipc_handle",
    "modules compiled ahead of time are not here yet": "compile_aot_module load_aot_module",
    "finite elements are not here yet\nhelp: of warp.fem, warpsim.fem.linalg is here": "fem.*",
    "{name} is a function of warpsim.sparse\nhelp: import warpsim.sparse": "bsr_*",
    "surface nets are not here yet": "geometry.IsoSurfaceNets",
    _SIM: "sim spatial_jacobian spatial_mass",
    "Warp gave it up\nhelp: multiply whole matrices by NumPy, PyTorch or JAX, which share memory with arrays": (
        "matmul adj_matmul batched_matmul mlp"
    ),
    "it lists what docs/site shows\nhelp: help(wp.sin), dir(wp)": "print_builtins",
    "types are made by wp.types\nhelp: wp.types.vector(length=3, dtype=float)": "vec",
    "types are made by wp.types\nhelp: wp.types.matrix(shape=(2, 3), dtype=float)": "mat",
    "the number of components is type_size": "types.type_length",
    "dtypes are told by wp.dtype_to_numpy and wp.dtype_from_numpy": (
        "types.warp_type_to_np_dtype types.np_dtype_to_warp_type"
    ),
    "tests and examples of Warp are part of Warp\nhelp: `warpsim run` lists the examples here": "tests examples",
    _IN_ITSELF + "wp.Device, wp.Kernel, wp.get_device": "context",
    _IN_ITSELF + "wp.struct, wp.Function": "codegen builtins",
    _IN_ITSELF + "wp.pi, wp.inf": "constants",
    _IN_ITSELF + "wp.Tape": "tape",
    _IN_ITSELF + "wp.MarchingCubes": "marching_cubes",
    _IN_ITSELF + "wp.from_torch, wp.to_torch": "torch",
    _IN_ITSELF + "wp.from_jax, wp.to_jax": "jax",
    _IN_ITSELF + "wp.jax_kernel, wp.jax_callable": "jax_experimental jax_experimental.*",
    _IN_ITSELF + "wp.from_paddle, wp.to_paddle": "paddle",
    _IN_ITSELF + "wp.from_dlpack, wp.to_dlpack": "dlpack",
    _IN_ITSELF + "wp.fabricarray": "fabric",
    _IN_ITSELF + "wp.clear_kernel_cache": "build",
    "renderers are names of warpsim.render\nhelp: from warpsim.render import UsdRenderer, OpenGLRenderer": (
        "render.render_usd render.render_opengl render.utils"
    ),
}
"""Names, and how such names begin, by what there is to say of them."""


def reason(name: str) -> str:
    """What a message adds for a name of Warp, or a module below it, that is not here; nothing for other names."""
    for what, names in ABSENT.items():
        if any(name == known or (known[-1] == "*" and name.startswith(known[:-1])) for known in names.split()):
            return ": " + what.format(name=f"warp.{name}")
    return ""


errors.reason = reason


class Finder:
    """Says why a module of Warp cannot be imported, where no other finder has found it."""

    @staticmethod
    def find_spec(path: str, folders: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        package, _, name = path.partition(".")
        if sys.modules.get(package) is sys.modules[_PACKAGE] and (why := reason(name)):
            raise errors.MissingPackageError(f"there is no module {path}{why}")


sys.meta_path.append(Finder)  # type: ignore[arg-type]
