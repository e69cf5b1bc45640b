"""Modules load when a name is first asked for: whatever a program asks for first works, with nothing loaded before it.

Every statement runs in a child of a process that has imported warpsim and nothing of it besides.
"""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import warpsim as wp
from warpsim import names

ROOT = Path(__file__).resolve().parent.parent

_CHILDREN = """
import os, sys, traceback
import numpy as np
import warpsim as wp

for line in sys.stdin.read().splitlines():
    child = os.fork()
    if child == 0:
        try:
            exec(line, {"wp": wp, "np": np})
        except BaseException as error:
            print(line, "->", "".join(traceback.format_exception_only(error)).strip(), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(line, "-> ended with", status, flush=True)
"""

_SIMULATOR = "import simulator; simulator.start()\n"

ARRAYS = """
a[0]; a[-1]; a[1:]; a[::2]; a[[0, 1]]; a[wp.array([0, 1], dtype=int)]; a[np.array([0, 1])]; len(a); repr(a)
list(a); a.numpy(); a.fill_(1.0); a.zero_(); a.assign([1.0, 2.0, 3.0]); a.list()
np.asarray(a); a.grad.numpy(); a.flatten(); a.reshape((3, 1)); a.view(int); a.contiguous(); a.to("cpu"); wp.clone(a)
wp.copy(wp.zeros(3), a); a.__array_interface__; np.from_dlpack(a); wp.from_dlpack(np.ones(2)); wp.zeros_like(a)
a.__setitem__(0, 1.0); a.__setitem__(slice(0, 2), 1.0); a.__setitem__(0, np.float32(1)); wp.map(wp.sin, a)
wp.utils.array_sum(a); wp.Tape().zero(); wp.capture_begin(); wp.get_stream("cpu"); wp.synchronize()
"""

DEVICES = """
assert wp.is_cuda_available(); assert len(wp.get_devices()) > 1; wp.get_device("cuda"); wp.get_cuda_devices()[0]
assert wp.get_preferred_device().is_cuda; assert wp.get_cuda_device_count(); wp.set_device("cuda:0")
assert wp.is_device_available("cuda:0"); wp.Stream("cuda:0"); wp.Event("cuda:0"); wp.get_stream("cuda:0")
wp.zeros(3, device="cuda:0"); wp.array([1.0], device="cuda"); wp.from_numpy(np.zeros(3), device="cuda")
wp.ScopedDevice("cuda:0").__enter__(); wp.capture_begin("cuda:0"); wp.HashGrid(4, 4, 4, device="cuda:0")
wp.get_mempool_used_mem_current("cuda:0"); wp.map(wp.sin, wp.zeros(3, device="cuda:0")); wp.synchronize_device("cuda")
"""

VALUES = (wp.vec3(1.0, 2.0, 3.0), wp.mat22d(1.0), wp.quat(0.0, 0.0, 0.0, 1.0), wp.transform(), wp.spatial_vectorh(2.0))

FUNCTIONS = """
import warpsim as wp


@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func_native("return 2.0f * x;")
def twice_in_cpp(x: float) -> float: ...


@wp.struct
class Pair:
    point: wp.vec3
    others: wp.array(dtype=float)
"""


def _statements(text):
    return [part.strip() for line in text.splitlines() for part in line.split(";") if part.strip()]


def _complaints(statements, before=""):
    done = subprocess.run(
        [sys.executable, "-c", before + _CHILDREN],
        input="\n".join(statements),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_name_of_every_module_can_be_the_first_one():
    of_modules = {module: name for name, module in names.HOME.items()}
    assert _complaints([f"wp.{name}" for name in (*of_modules.values(), *names.FURTHER, "vec3", "quatd")]) == ""


def test_every_use_of_an_array_can_be_the_first_one():
    start = "a = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True); "
    assert _complaints([start + use for use in _statements(ARRAYS)]) == ""


def test_unpickling_a_value_can_be_the_first_statement():
    statements = [f"import pickle; assert str(pickle.loads({pickle.dumps(v)!r})) == {str(v)!r}" for v in VALUES]
    assert _complaints(statements) == ""


@pytest.mark.parametrize("use", ["twice(2.0) == 4.0", "twice_in_cpp(2.0) == 4.0", "Pair().point == wp.vec3()"])
def test_a_call_from_python_can_be_the_first_statement(tmp_path, use):
    if "cpp" in use and shutil.which("c++") is None:
        pytest.skip("native functions need a C++ compiler")
    (tmp_path / "first_functions.py").write_text(FUNCTIONS, encoding="utf-8")
    before = f"import sys; sys.path.append({str(tmp_path)!r})\n"
    assert _complaints([f"import first_functions as f; assert f.{use}"], before) == ""


def test_every_question_after_a_gpu_can_be_the_first_one():
    pytest.importorskip("cuda.bindings")
    if shutil.which("cc") is None:
        pytest.skip("the simulated driver needs a C compiler")
    here = f"import sys; sys.path.append({str(ROOT / 'tests' / 'cuda_simulator')!r})\n"
    assert _complaints(_statements(DEVICES), here + _SIMULATOR) == ""
