"""A module imports only lower floors and its own folder: this file holds the list of floors.

The list is the design: a feature that does not fit it needs a new place, not an exception.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from source_trees import PACKAGE, ROOT, trees

FLOORS = {
    "warpsim.config": 0,
    "warpsim.errors": 0,
    "warpsim.atomic_file": 0,
    "warpsim.arguments": 0,
    "warpsim.forks": 0,
    "warpsim.core.types": 1,
    "warpsim.core.ir": 2,
    "warpsim.core.ops": 3,
    "warpsim.core.passes": 4.0,
    "warpsim.core.passes.analysis": 4.1,
    "warpsim.core.passes.simplify": 4.2,
    "warpsim.core.passes.reverse": 4.3,
    "warpsim.core.passes.forward": 4.4,
    "warpsim.core.frontend.source": 5.1,
    "warpsim.core.frontend.translate": 5.2,
    "warpsim.core.frontend.rules": 5.3,
    "warpsim.core.frontend.tiles": 5.35,
    "warpsim.core.frontend.functions": 5.4,
    "warpsim.core.frontend": 5.5,
    "warpsim.core.emit": 6.0,
    "warpsim.core.emit.disk": 6.05,
    "warpsim.core.emit.native": 6.1,
    "warpsim.core.emit.program": 6.2,
    "warpsim.core.emit.cpu": 6.3,
    "warpsim.core.emit.cuda": 6.3,
    "warpsim.core.emit.build": 6.4,
    "warpsim.core.emit.portable": 6.5,
    "warpsim.core.emit.disk.stored_programs": 6.5,
    "warpsim.core.compile": 7,
    "warpsim.core.runtime": 8.0,
    "warpsim.core.runtime.devices": 8.1,
    "warpsim.core.runtime.arrays": 8.2,
    "warpsim.core.runtime.steps": 8.15,
    "warpsim.core.runtime.steps.operation": 8.25,
    "warpsim.core.runtime.launches": 8.3,
    "warpsim.core.runtime.steps.publication": 8.31,
    "warpsim.core.runtime.steps.launch": 8.31,
    "warpsim.core.runtime.steps.fusion": 8.32,
    "warpsim.core.runtime.steps.native_moves": 8.31,
    "warpsim.core.runtime.steps.kinds": 8.33,
    "warpsim.core.runtime.steps.batches": 8.33,
    "warpsim.core.runtime.tape": 8.4,
    "warpsim.core.runtime.commands": 8.5,
    "warpsim.core.runtime.launch": 8.6,
    "warpsim.core.runtime.algorithms": 8.7,
    "warpsim.core.runtime.rollout": 8.7,
    "warpsim.core.runtime.map": 8.7,
    "warpsim.core.graph_files": 8.8,
    "warpsim.core.language": 8.9,
    "warpsim.core.lib": 9,
    "warpsim.profiling": 9.1,
    "warpsim.usd": 9,
    "warpsim.progress": 9,
    "warpsim.autograd": 10,
    "warpsim.fft": 10,
    "warpsim._src": 12.5,
    "warpsim.geometry": 10.0,
    "warpsim.geometry.bvh": 10.2,
    "warpsim.geometry.hash_grid": 10.2,
    "warpsim.geometry.marching_cubes": 10.2,
    "warpsim.geometry.nanovdb": 10.2,
    "warpsim.geometry.texture": 10.2,
    "warpsim.geometry.triangulation": 10.2,
    "warpsim.geometry.mesh": 10.3,
    "warpsim.geometry.swept_volume": 10.4,
    "warpsim.geometry.volume": 10.4,
    "warpsim.interop": 10.5,
    "warpsim.interop.torch": 10.6,
    "warpsim.interop.jax": 10.6,
    "warpsim.interop.numba": 10.6,
    "warpsim.fem": 10.05,
    "warpsim.sparse": 10.05,
    "warpsim.optim": 10.1,
    "warpsim.plot": 10.5,
    "warpsim.solvers.graph_cache": 11.0,
    "warpsim.solvers.neighbours": 11.0,
    "warpsim.solvers.scene": 10.9,
    "warpsim.solvers.contact": 11.1,
    "warpsim.solvers.particles": 11.1,
    "warpsim.solvers.ocean": 11.2,
    "warpsim.solvers.xpbd": 11.2,
    "warpsim.solvers.bodies": 11.2,
    "warpsim.solvers.coupling": 11.22,
    "warpsim.solvers.dem": 11.2,
    "warpsim.solvers.sph": 11.2,
    "warpsim.solvers.saved": 11.25,
    "warpsim.solvers": 11.3,
    "warpsim.viewer": 11.32,
    "warpsim.record": 11.35,
    "warpsim.solvers.cases": 11.4,
    # The door: names of Warp. The face alone opens it.
    "warpsim.warp": 11.8,
    # The face gathers public names and the command line; nothing inside imports it.
    "warpsim.diagnostics": 12,
    "warpsim.types": 12,
    "warpsim.names": 12,
    "warpsim.render": 12,
    "warpsim.utils": 12,
    "warpsim.gallery": 12,
    "warpsim.notebook": 12,
    "warpsim.machine": 12,
    "warpsim.cli": 12,
    "warpsim.__main__": 12,
    "warpsim": 12,
}
ONE_FOLDER = (0, 12)  # modules on these floors count as one folder
WITHOUT_IMPORTS = ("warpsim.core",)  # a folder that only holds the map

# Imports inside functions, by module, with the reason. Optional packages belong here, nothing else.
LATE_IMPORTS = {
    ("warpsim.core.emit.build", "warpsim.core.emit.cpu.cpu"): "a warm start finds code on disk and needs no emitter",
    ("warpsim.core.emit.build", "concurrent.futures"): "launches compile on their own thread, only loading has several",
    ("warpsim.core.emit.native.snippets", "warpsim.core.emit.native.toolchain"): (
        "programs without native code look for no compiler"
    ),
    ("warpsim.core.emit.build", "warpsim.core.emit.cuda.cuda"): "the same for CUDA",
    ("warpsim.core.ops.native", "<computed: _COMPILER>"): "native code called from Python; it stands on this module",
    ("warpsim.core.emit.cuda.tools", "cuda.pathfinder"): "optional: CUDA alone needs it",
    ("warpsim.core.emit.cuda.tools", "<computed: f'cuda.bindings.{name.lower()}'>"): "optional: CUDA alone needs them",
    ("warpsim.core.emit.cuda.tools", "importlib.metadata"): "it takes 15 ms, and CUDA alone needs it",
    ("warpsim.core.runtime.devices.cuda.driver", "cuda.bindings.driver"): "optional: machines with a GPU have it",
    ("warpsim.core.runtime.algorithms.cuda.compute", "cuda.compute"): "optional: large arrays on CUDA alone need it",
    ("warpsim.interop.rmm", "rmm"): "optional: who takes memory from RAPIDS has it",
    ("warpsim.profiling.profile", "warpsim.profiling.picture"): "matplotlib is loaded by a picture",
    ("warpsim.optim.problem.problem", "<computed: f'{__package__}.picture'>"): "matplotlib is loaded by a picture",
    ("warpsim.optim.problem.methods", "scipy.optimize"): "bounds alone need it, and it takes longer than warpsim",
    ("warpsim.sparse.scipy_matrices", "scipy.sparse"): "who makes a matrix of SciPy has it",
    ("warpsim.optim.problem.methods", "cma"): "optional: one method needs it",
    ("warpsim.fft.cufft", "nvmath.bindings.cufft"): "optional: CUDA alone needs it",
    ("warpsim.autograd.plots", "warpsim.autograd.pictures"): "matplotlib is loaded by the first picture",
    ("warpsim.core.types.scalars", "ml_dtypes"): "bfloat16 is loaded when somebody asks for it",
    ("warpsim.core.runtime.arrays.array", "warpsim.core.runtime.arrays.indexed"): "a class made of `array`",
    ("warpsim.core.runtime.arrays.arithmetic", "<computed: _MAP>"): "operators of arrays are launches, floors above",
    ("warpsim.core.runtime.arrays.arithmetic", "<computed: _OPS>"): "arrays alone need no operations",
    ("warpsim.core.runtime.devices.device", "warpsim.core.runtime.devices.cuda.device"): (
        "asking after a GPU loads what knows them; it stands on this module"
    ),
    ("warpsim.core.runtime.devices.device", "warpsim.core.runtime.devices.stream"): "it stands on this module",
    ("warpsim.cli", "warpsim.viewer.command"): "pxr takes as long to load as all of warpsim",
    ("warpsim.cli", "warpsim.render.saves"): "as above",
    ("warpsim.viewer.film", "imageio.v3"): "optional: videos alone need it",
    ("warpsim.names", "<computed: f'.{path}'>"): "a public name loads its module",
    ("warpsim.config", "logging"): "who sets no level need not wait for it",
    ("warpsim.diagnostics", "warpsim"): "its version; the package loads this module when it is asked for",
    ("warpsim.core.runtime.commands.command", "warpsim.core.runtime.commands.adjoint_by_hand"): "it makes commands",
    ("warpsim._src", "<computed: path>"): "a public module is loaded when it is asked for",
    ("warpsim._src.types", "warpsim.types"): "as above",
    ("warpsim._src", "<computed: f'warp._src.{name}'>"): "of whoever calls this package warp",
    ("warpsim.geometry", "<computed: f'{__name__}.{module}'>"): "few programs extract surfaces",
    ("warpsim.diagnostics", "warpsim.geometry.nanovdb.layout"): "few programs need volumes",
    ("warpsim.geometry.mesh.files", "warpsim.usd"): "pxr is loaded by the first USD file",
    ("warpsim.solvers.scene.builder", "warpsim.solvers.scene.from_usd"): "as above; it stands on this module",
    ("warpsim.geometry.mesh.files", "trimesh"): "optional: USD needs none of it",
    ("warpsim.record", "<computed: f'.{_MODULES[name]}'>"): "a format loads its own packages alone",
    ("warpsim.record.hdf5_table", "h5py"): "optional: tables in other formats need none of it",
    ("warpsim.solvers.ocean.maps", "OpenEXR"): "optional: maps in other formats need none of it",
    ("warpsim.solvers", "<computed: f'.{SOLVERS[name]}'>"): "a solver loads its own modules alone",
    ("warpsim.solvers.saved.kinds", "<computed: f'{__package__}.{_ADAPTERS[name]}'>"): "what a scene has, no more",
    ("warpsim.solvers.saved.kinds", "<computed: f'.{_CLASSES[name]}'>"): "the same",
    ("warpsim.cli", "warpsim.solvers.validate"): "commands without solvers do not load them",
    ("warpsim.solvers.validate", "<computed: f'{_CASES}.{module}'>"): "cases are all modules of one folder",
    ("warpsim.solvers.validate", "<computed: _CASES>"): "the same",
    ("warpsim.geometry.nanovdb.codec", "blosc"): "optional: files without this codec need none of it",
}

# What no public name may load: each costs more start-up time than warpsim itself.
HEAVY = ("numba", "pxr", "matplotlib", "scipy", "tqdm", "torch", "jax", "cuda", "trimesh")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(p): p for p in trees()}


def place(name: str) -> str | None:
    """The entry of FLOORS that a module or imported name belongs to."""
    if name == "warpsim" or name.startswith("warpsim."):
        candidates = [entry for entry in FLOORS if name == entry or name.startswith(f"{entry}.")]
        longest = max(candidates, key=len)
        return longest if longest != "warpsim" or name == "warpsim" else None
    return None


@cache
def imports(module: str) -> list[tuple[str, int, bool]]:
    """Every imported module as (absolute name, line, whether inside a function)."""
    tree = parsed(module)
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    late = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        for name in imported(node, package):
            found.append((name, node.lineno, id(node) in late))
    return found


def imported(node: ast.AST, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*parents, *([base] if base else [])])
        inner = [f"{base}.{alias.name}" for alias in node.names]
        return [name if name in MODULES else base for name in inner]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
        target = node.args[0]
        return [target.value if isinstance(target, ast.Constant) else f"<computed: {ast.unparse(target)}>"]
    return []


def parsed(name: str) -> ast.Module:
    return trees()[MODULES[name]]


def test_every_module_stands_on_a_floor():
    lost = [name for name in MODULES if place(name) is None and name not in WITHOUT_IMPORTS]
    assert lost == [], f"give these modules a floor in FLOORS: {lost}"


def upward(name: str):
    """The imports of a module from its own floor, or from one above, in words."""
    here = place(name)
    for target, line, _ in imports(name):
        there = place(target)
        if there is not None and there != here:
            if not (FLOORS[there] < FLOORS[here] or FLOORS[there] == FLOORS[here] in ONE_FOLDER):
                yield f"{name}:{line} (floor {FLOORS[here]}) imports {target} (floor {FLOORS[there]})"


def test_imports_go_down():
    assert [text for name in MODULES for text in upward(name)] == []


def test_imports_stand_at_the_top():
    late = [(name, target, line) for name in MODULES for target, line, inside in imports(name) if inside]
    unlisted = [f"{name}:{line} imports {target}" for name, target, line in late if (name, target) not in LATE_IMPORTS]
    assert unlisted == [], "move these to the top, or list them in LATE_IMPORTS with a reason"


# How closely the folders of one place hang together: the most pairs of folders (or of verbs beside them) of which one
# imports the other. More of them is a design that nobody keeps in mind.
PAIRS = {
    "warpsim.core.frontend": 12,
    "warpsim.core.passes": 6,
    "warpsim.core.emit": 26,
    "warpsim.core.runtime": 37,
    "warpsim.geometry": 8,
    "warpsim.interop": 12,
    "warpsim.solvers": 31,
}


def part_of(folder: str, module: str) -> str | None:
    """The folder or file right inside `folder` that a module belongs to."""
    inside = module.startswith(f"{folder}.") and module in MODULES
    return module[len(folder) + 1 :].partition(".")[0] if inside else None


@pytest.mark.parametrize("folder", PAIRS)
def test_few_folders_import_each_other(folder):
    modules = [name for name in MODULES if part_of(folder, name)]
    used = {(part_of(folder, name), part_of(folder, target)) for name in modules for target, _, _ in imports(name)}
    pairs = sorted(pair for pair in used if pair[1] not in (None, pair[0]))
    assert len(pairs) <= PAIRS[folder], pairs


FACE = 12
DOOR = "warpsim.warp"  # and `warpsim._src`, whose place among packages is its interface, on the floor above the face


def test_only_the_face_opens_the_door():
    """Core, geometry, solvers and all other packages could be read, and would work, without names of Warp."""
    used = [(name, target) for name in MODULES for target, _, _ in imports(name) if place(target) == DOOR]
    inside = [f"{name} imports {target}" for name, target in used if place(name) != DOOR and FLOORS[place(name)] < FACE]
    assert used and inside == []


# Where the compiler and the runtime may name Warp: for a formula or a constant that is taken from there.
NAMES_WARP = {
    "core/lib/noise.py": "gradients of lattice points, which are draws of its generator",
    "core/lib/random.py": "the hash of its random numbers, and the order of draws",
    "core/lib/sampling.py": "how draws become points of a shape",
}


def test_core_names_warp_for_formulas_alone():
    files = [p for p in (PACKAGE / "core").rglob("*") if p.suffix in (".py", ".ll", ".h")]
    naming = {p.relative_to(PACKAGE).as_posix() for p in files if re.search(r"\bWarp\b", p.read_text(encoding="utf-8"))}
    assert naming == set(NAMES_WARP)


def test_only_devices_tell_kinds_of_devices_apart():
    """Everything else asks a device what it wants to know of it (see `Device`)."""
    inside = ("warpsim.core.runtime.devices", "warpsim.core.emit")
    asked = [
        f"{name}:{node.lineno}"
        for name in MODULES
        if not name.startswith(inside)
        for node in ast.walk(parsed(name))
        if isinstance(node, ast.Attribute) and node.attr in ("is_cuda", "is_cpu", "is_interp")
    ]
    assert asked == []


def test_the_list_of_late_imports_is_true():
    late = {(name, target) for name in MODULES for target, _, inside in imports(name) if inside}
    assert set(LATE_IMPORTS) <= late, f"no longer there: {set(LATE_IMPORTS) - late}"


def test_no_public_name_loads_a_heavy_package():
    ask = "[getattr(wp, name) for name in wp.__all__]"
    code = f"import sys, warpsim as wp; {ask}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert [name for name in out.stdout.split() if name in HEAVY] == []
