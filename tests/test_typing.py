"""Type checkers read the stub: programs and examples that are right have no errors, and every wrong line has one."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ("bounce_to_target", "cloth_drop", "cloth_on_mesh", "dem_grains", "flag", "garment", "raymarch")
EXAMPLES += ("soft_squash", "soft_stack", "spring_cage", "wave")

RIGHT = """
import numpy as np
import warpsim as wp

Points = wp.array[wp.vec3]

@wp.struct
class Particle:
    x: wp.vec3
    mass: float

@wp.func
def drag(v: wp.vec3, k: float) -> wp.vec3:
    return -k * wp.length(v) * v

@wp.kernel
def push(x: Points, v: wp.array[wp.vec3], image: wp.array2d[float], mesh: wp.uint64, dt: float):
    i = wp.tid()
    v[i] += wp.vec3(0.0, -9.81, 0.0) * dt + drag(v[i], 0.1)
    x[i] += v[i] * dt
    p = Particle()
    p.x = wp.normalize(x[i]).zyx + wp.cross(v[i], x[i])
    p.mass = wp.max(0.0, wp.sin(p.mass)) + wp.dot(x[i], v[i]) + wp.mat33()[0, 1]
    hit = wp.mesh_query_ray(mesh, x[i], v[i], 1.0)
    if hit.result:
        p.mass += hit.t
    for j in wp.hash_grid_query(mesh, x[i], 0.5):
        p.mass += x[j].y
    a, b = wp.tid()
    wp.atomic_add(image, a, b, p.mass)
    state = wp.rand_init(42, i)
    x[i] = wp.quat_rotate(wp.quat_identity(), wp.vec3(wp.randf(state), 0.0, 1.0)) + wp.outer(x[i], v[i]) * x[i]

@wp.kernel(enable_backward=False)
def double(x: wp.array[wp.float64], n: wp.array[wp.vec2i]):
    i = wp.tid()
    x[i] = wp.pow(x[i], 2.0) + wp.float64(1.0) * wp.clamp(x[i], 0.0, 1.0)
    wp.atomic_add(x, i, wp.float64(n[i].x))

x = wp.array(np.zeros((3, 3)), dtype=wp.vec3)
v = wp.zeros(3, dtype=wp.vec3, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(push, dim=(3, 3), inputs=[x, v, wp.zeros((3, 3)), 0, 1.0 / 60.0])
tape.backward(loss=wp.zeros_like(v))
print(v.grad.numpy().max(), v[0].x + 1.0, x[1:].shape, wp.vec3(1.0, 2.0, 3.0) / 2.0, wp.config.verify)
"""

WRONG = """
import warpsim as wp

@wp.struct
class Particle:
    x: wp.vec3

@wp.func
def twice(x: float) -> float:
    return 2.0 * x

@wp.kernel
def wrong(x: wp.array[wp.vec3], m: wp.mat33, image: wp.array2d[float]):
    i = wp.tid()
    wp.sin("x")  # wrong
    wp.sin(x[i])  # wrong
    wp.lenght(x[i])  # wrong
    wp.length(1.0)  # wrong
    wp.cross(wp.vec2(), wp.vec2())  # wrong
    wp.dot(x[i], wp.vec2())  # wrong
    x[i] + wp.vec2()  # wrong
    x[i] * x[i]  # wrong
    m * wp.vec2()  # wrong
    x[i] = 1.0  # wrong
    x[i] = m  # wrong
    x[i] = wp.vec3(1.0, 2.0)  # wrong
    x[i].q  # wrong
    twice(x[i])  # wrong
    twice(1.0, 2.0)  # wrong
    wp.quat_rotate(x[i], x[i])  # wrong
    Particle().mass  # wrong
    wp.mesh_query_ray(0, x[i], x[i], 1.0).distance  # wrong
    wp.atomic_add(image, i, i, x[i])  # wrong
    y: wp.vec3 = wp.length(x[i])  # wrong
    z: wp.vec2 = wp.normalize(x[i])  # wrong

wp.launch(wrong, inputs=[])  # wrong
wp.zeros(3, dtype=wp.vec3, require_grad=True).nunpy()  # wrong
wp.zeros(3).nunpy()  # wrong
wp.Tape().backwards()  # wrong
"""

MYPY = """
[mypy]
check_untyped_defs = true
ignore_missing_imports = true
disable_error_code = import-untyped
cache_dir = {cache}
[mypy-torch.*,jax.*,matplotlib.*,scipy.*,PIL.*,pxr.*,trimesh.*,imageio.*,cuda.*,mpi4py.*,nvmath.*,numba.*,llvmlite.*]
follow_imports = skip
[mypy-warpsim.*]
ignore_errors = true
"""


@pytest.fixture
def programs(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    return [tmp_path / "right.py", tmp_path / "wrong.py", *(ROOT / "examples" / f"{name}.py" for name in EXAMPLES)]


def run_mypy(programs):
    settings = programs[0].with_name("mypy.ini")
    settings.write_text(MYPY.format(cache=settings.with_name("cache")), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--no-error-summary", *programs]
    here = {**os.environ, "MYPYPATH": str(ROOT)}
    text = subprocess.run(command, capture_output=True, text=True, cwd=settings.parent, env=here).stdout
    found = re.findall(r"(?m)^(.*?):(\d+): error: (.*)$", text)
    return [(Path(file).stem, int(line), message) for file, line, message in found]


def run_pyright(programs):
    settings = programs[0].with_name("pyrightconfig.json")
    # Variables that loops leave are for the example to answer for, and statements without effect are the point here.
    rules = {"reportPossiblyUnbound": False, "reportPossiblyUnboundVariable": False, "reportUnusedExpression": False}
    included = [os.path.relpath(path, settings.parent) for path in programs]
    settings.write_text(json.dumps({"extraPaths": [str(ROOT)], "include": included, **rules}), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "-p", settings, "--pythonpath", sys.executable, "--outputjson"]
    text = subprocess.run(command, capture_output=True, text=True, cwd=settings.parent).stdout
    found = [d for d in json.loads(text)["generalDiagnostics"] if d["severity"] == "error"]
    return [(Path(d["file"]).stem, d["range"]["start"]["line"] + 1, d["message"]) for d in found]


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_right_programs_have_no_errors_and_wrong_lines_have_one(checker, programs):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed: pip install '.[dev]'")
    found = {"mypy": run_mypy, "pyright": run_pyright}[checker](programs)
    assert [one for one in found if one[0] != "wrong"] == []
    marked = {number for number, line in enumerate(WRONG.split("\n"), 1) if line.endswith("# wrong")}
    assert {line for _, line, _ in found} == marked
