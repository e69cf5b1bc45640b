"""Copies and pickles of objects: arrays are copied, kernels and devices are found by name, owners stay the only one."""

import copy
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import warpsim as wp


@wp.func
def doubled(x: float):
    return 2.0 * x


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float):
    i = wp.tid()
    x[i] = doubled(x[i]) * factor


@wp.kernel
def height_of_closest(mesh: wp.uint64, out: wp.array(dtype=float)):
    query = wp.mesh_query_point_no_sign(mesh, wp.vec3(0.2, 0.2, 1.0), 10.0)
    if query.result:
        out[0] = wp.mesh_eval_position(mesh, query.face, query.u, query.v)[2]


def triangle():
    return wp.Mesh(wp.array([[0, 0, 0.5], [1, 0, 0.5], [0, 1, 0.5]], dtype=wp.vec3), wp.array([0, 1, 2], dtype=int))


def tape():
    with wp.Tape() as made:
        wp.launch(scale, 2, [wp.ones(2, requires_grad=True), 1.0])
    return made


def graph():
    with wp.ScopedCapture() as capture:
        wp.launch(scale, 2, [wp.ones(2), 1.0])
    return capture.graph


OWNERS = {
    "Mesh": triangle,
    "HashGrid": lambda: wp.HashGrid(4, 4, 4),
    "Bvh": lambda: wp.Bvh(wp.zeros(3, dtype=wp.vec3), wp.ones(3, dtype=wp.vec3)),
    "Volume": lambda: wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0),
    "Stream": wp.Stream,
    "Event": wp.Event,
    "Tape": tape,
    "Graph": graph,
    "Launch": lambda: wp.launch(scale, 2, [wp.ones(2), 1.0], record_cmd=True),
}


@pytest.mark.cpu(reason="graphs of other devices are classes of their own")
@pytest.mark.parametrize("name", OWNERS)
@pytest.mark.parametrize("again", [copy.deepcopy, pickle.dumps])
def test_owners_are_neither_copied_nor_pickled(name, again):
    owner = OWNERS[name]()
    with pytest.raises(TypeError, match=f"a {name} is neither copied nor pickled"):
        again({"inside": [owner]})


def test_a_mesh_outlives_the_copy_that_was_refused():
    mesh, out = triangle(), wp.zeros(1, dtype=float)
    with pytest.raises(TypeError):
        copy.deepcopy(SimpleNamespace(mesh=mesh))
    wp.launch(height_of_closest, 1, [mesh.id, out])
    assert out.numpy().tolist() == [0.5]


def test_a_simulation_is_copied_with_arrays_of_its_own():
    first = SimpleNamespace(step=scale, of=doubled, x=wp.array([1.0, 2.0], dtype=float), device=wp.get_device())
    second = copy.deepcopy(first)
    wp.launch(second.step, 2, [second.x, 3.0], device=second.device)
    assert (first.x.numpy().tolist(), second.x.numpy().tolist()) == ([1, 2], [6, 12])
    assert second.step is scale and second.of is doubled and second.device is first.device is second.x.device


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_there_is_one_device_of_a_name(name):
    device = wp.get_device(name)
    for again in (copy.copy(device), copy.deepcopy(device), pickle.loads(pickle.dumps(device))):
        assert again is device


@pytest.mark.parametrize("of", [scale, doubled])
def test_kernels_and_functions_are_pickled_by_name(of):
    assert pickle.loads(pickle.dumps(of)) is of is copy.copy(of)
    assert len(pickle.dumps(of)) < 200


def test_kernels_inside_functions_are_copied_and_not_pickled():
    @wp.kernel
    def inside(x: wp.array(dtype=float)):
        x[0] = 1.0

    assert copy.deepcopy([inside])[0] is inside
    with pytest.raises(pickle.PicklingError, match=r"(?s)inside'\) is not pickled: .*define it once"):
        pickle.dumps(inside)


def test_a_definition_whose_name_means_another_is_not_pickled(monkeypatch):
    before = doubled
    monkeypatch.setattr(sys.modules[__name__], "doubled", scale)
    with pytest.raises(pickle.PicklingError, match="has no 'doubled' that is this one"):
        pickle.dumps(before)


SPAWNED = """
import multiprocessing
import numpy as np
import warpsim as wp

@wp.struct
class Ball:
    x: wp.vec3
    mass: float

@wp.func
def twice(x: float):
    return 2.0 * x

@wp.kernel
def weigh(balls: wp.array[Ball], gravity: float, weight: wp.array[float]):
    i = wp.tid()
    weight[i] = twice(gravity * balls[i].mass)

def work(kernel, function, balls, one):
    weight = wp.zeros(len(balls), dtype=float)
    wp.launch(kernel, len(balls), [balls, function(one.mass), weight])
    return weight

if __name__ == "__main__":
    one = Ball()
    one.mass = 3.0
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(work, (weigh, twice, wp.array([one, one], dtype=Ball), one)).numpy())
"""


def test_processes_that_are_spawned_take_kernels_functions_and_structs(tmp_path):
    (tmp_path / "program.py").write_text(SPAWNED)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[36. 36.]\n", 0), done.stderr


def test_a_copy_of_a_recorded_launch_takes_other_arguments():
    x, y = wp.ones(2, dtype=float), wp.ones(2, dtype=float)
    one = wp.launch(scale, 2, [x, 3.0], record_cmd=True)
    other = copy.copy(one)
    other.set_param_by_name("x", y)
    one.launch()
    assert np.all(x.numpy() == 6.0) and np.all(y.numpy() == 1.0)
    other.launch()
    assert np.all(x.numpy() == 6.0) and np.all(y.numpy() == 6.0)
