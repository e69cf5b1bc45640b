"""Scenes saved and gone on from: equal to runs that never stopped, for every solver, and what a file can hold."""

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scenes_to_save import SCENES, cloth, grains, numbers_of, soft, step

import warpsim as wp
from warpsim.errors import ArgumentTypeError, SceneFileError
from warpsim.plot import Balls, Surface
from warpsim.solvers import AutoSubsteps, Fluid, Material, ModelBuilder, Scene, ShapeConfig

TYPES = [wp.float32, wp.float64, wp.int32, wp.uint64, wp.bool, wp.float16, wp.vec3, wp.mat33d, wp.quat, wp.transform]
HERE = Path(__file__).resolve().parent


def run(scene, steps):
    for _ in range(steps):
        step(scene)


@pytest.mark.parametrize("name", SCENES)
def test_a_run_that_goes_on_is_the_run_that_never_stopped(name, tmp_path):
    """Bit for bit, whatever the numbers of threads before and after."""
    wp.set_num_threads(2)
    scene = SCENES[name]()
    run(scene, 7)
    Scene(**scene).save(tmp_path / "run.scene")
    run(scene, 7)
    for threads in (1, 3):
        wp.set_num_threads(threads)
        loaded = vars(Scene.load(tmp_path / "run.scene"))
        run(loaded, 7)
        assert numbers_of(loaded) == numbers_of(scene)


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_made_anew_is_restored_in_place(name, tmp_path):
    scene = {**SCENES[name](), "rows": [], "rng": np.random.default_rng(3), "table": np.zeros(3)}
    run(scene, 5)
    scene["rows"].append(1.5)
    scene["table"][:] = scene["rng"].random(3)
    Scene(**scene).save(tmp_path / "run.scene")
    run(scene, 5)
    other = {**SCENES[name](), "rows": [9.0, 9.0], "rng": np.random.default_rng(8), "table": np.ones(3)}
    run(other, 2)
    there = Scene(**other)
    there.restore(tmp_path / "run.scene")
    assert all(getattr(there, key) is other[key] for key in other if key != "frame")
    assert other["rows"] == [1.5] and (other["table"] == scene["table"]).all()
    assert other["rng"].random() == scene["rng"].random()
    other.update(vars(there))
    run(other, 5)
    assert numbers_of(other) == numbers_of(scene)


def test_gradients_of_the_second_half_are_equal(tmp_path):
    scene = cloth(requires_grad=True)
    run(scene, 4)
    Scene(**scene).save(tmp_path / "run.scene")
    gradients = []
    for each in (scene, vars(Scene.load(tmp_path / "run.scene"))):
        start = each["state"]
        with wp.Tape() as tape:
            states = [start, *(each["solver"].model.state() for _ in range(4))]
            for before, after in pairwise(states):
                each["solver"].step(before, after, each["control"], each["contacts"], 1 / 60)
        tape.backward(grads={states[-1].particle_q: wp.ones_like(states[-1].particle_q)})
        arrays = [start.particle_q, start.particle_qd, each["control"].wind, each["solver"].model.spring_rest_length]
        gradients.append([a.grad.numpy().copy() for a in arrays])
    assert all((a == b).all() for a, b in zip(*gradients, strict=True))
    assert all(np.abs(a).max() > 0.0 for a in gradients[0])


KILLED = """
import sys
sys.path.insert(0, {here!r})
from scenes_to_save import SCENES, step
import warpsim as wp
from warpsim.solvers import Scene
wp.set_num_threads({threads})
scene = Scene(**SCENES[{name!r}](), done=0)
while True:
    things = vars(scene)
    step(things)
    scene.done += 1
    scene.save({path!r}, wait={wait})
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads, wait", [(1, True), (2, False)])
@pytest.mark.parametrize("name", SCENES)
def test_a_killed_run_goes_on_from_its_last_save(name, threads, wait, tmp_path):
    """SIGKILL at a random moment of a run that saves after every step: its file is whole, and is of that run."""
    path, rng = tmp_path / "run.scene", np.random.default_rng()
    program = KILLED.format(here=str(HERE), threads=threads, name=name, path=str(path), wait=wait)
    child = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    try:
        deadline = time.monotonic() + 300.0
        while not path.exists():
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 1.0))
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    loaded = vars(Scene.load(path))
    scene = SCENES[name]()
    run(scene, loaded["done"] + 3)
    run(loaded, 3)
    assert numbers_of(loaded) == numbers_of(scene)


# ----- what a scene holds -------------------------------------------------------------------------


def reloaded(tmp_path, **things):
    Scene(**things).save(tmp_path / "things.scene")
    return Scene.load(tmp_path / "things.scene")


def test_values_come_back_as_they_were(tmp_path):
    things = {"none": None, "yes": True, "number": 3, "large": 1 << 80, "real": 0.1, "endless": np.inf, "text": "a\nb"}
    things |= {"pair": (1, [2.5, {"deep": (None,)}]), "rows": range(2, 9, 3), "settings": AutoSubsteps(3, 60)}
    things |= {"material": Material(2e6, friction=0.1), "fluid": Fluid(alpha=0.2), "surface": ShapeConfig(0.3)}
    scene = reloaded(tmp_path, **things)
    assert {name: getattr(scene, name) for name in things} == things
    nan = reloaded(tmp_path, x=float("nan"), n=np.float32(2.5), k=np.int64(7))
    assert nan.x != nan.x and nan.n == 2.5 and nan.k == 7
    assert type(nan.n) is np.float32 and type(nan.k) is np.int64 and type(nan.x) is float


def test_an_array_of_numpy_in_two_places_stays_one(tmp_path):
    faces = np.arange(3000)
    scene = reloaded(tmp_path, a=[faces, faces], b=faces, c=faces.copy())
    assert scene.a[0] is scene.a[1] is scene.b and scene.c is not scene.b
    assert (tmp_path / "things.scene").stat().st_size < 3 * faces.nbytes


def test_some_things_of_a_file_alone(tmp_path):
    Scene(**grains(), frame=7).save(tmp_path / "run.scene")
    scene = Scene.load(tmp_path / "run.scene", names=["frame", "absent"])
    assert vars(scene) == {"frame": 7}


def test_surfaces_and_balls_of_pictures(tmp_path):
    balls = Balls(np.eye(3), 0.5, (1.0, 0.0, 0.0))
    surface = Surface(np.eye(3), [[0, 1, 2]])
    scene = reloaded(tmp_path, views={"t = 0": [balls, surface]})
    for thing, original in zip(scene.views["t = 0"], (balls, surface), strict=True):
        assert type(thing) is type(original)
        for name, value in vars(original).items():
            np.testing.assert_array_equal(getattr(thing, name), value)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?", "c16", ">f8"])
def test_arrays_of_numpy_come_back_equal(dtype, tmp_path):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for each in (values, values.T, values[:, ::2], values[:0], np.array(values[0, 0, 1])):
        a = reloaded(tmp_path, a=each).a
        assert a.dtype == each.dtype and a.shape == each.shape and (a == each).all() and a.flags.writeable


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_come_back_with_type_contents_and_gradient(dtype, tmp_path):
    shape = wp.array(shape=(3, 2), dtype=dtype).numpy().shape
    numbers = np.random.default_rng(0).integers(0, 9, shape)
    a = wp.array(numbers, dtype=dtype, requires_grad=dtype in (wp.float32, wp.vec3))
    b = reloaded(tmp_path, a=a).a
    assert b.dtype is a.dtype and b.shape == a.shape and b.requires_grad == a.requires_grad
    assert (b.numpy() == a.numpy()).all()


def test_what_things_share_stays_shared(tmp_path):
    things = cloth()
    target = things["control"].wind
    scene = reloaded(tmp_path, **things, target=target, again=[things["state"]])
    assert scene.control.wind is scene.target and scene.again[0] is scene.state
    assert scene.solver.model is scene.state.model is scene.control.model is scene.contacts.model


def test_meshes_and_volumes_come_back(tmp_path):
    things = soft()
    mesh = things["solver"].model.shape_object[0]
    volume = wp.mesh_to_volume(mesh, 0.2)
    scene = reloaded(tmp_path, **things, mesh=mesh, volume=volume)
    assert scene.mesh is scene.solver.model.shape_object[0]
    assert (scene.mesh.points.numpy() == mesh.points.numpy()).all()
    assert (scene.volume.array().numpy() == volume.array().numpy()).all()


def test_equal_scenes_are_equal_files(tmp_path):
    for name in ("one", "two"):
        Scene(**grains()).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_numpy_reads_the_arrays_of_a_file(tmp_path):
    Scene(**grains()).save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        names = [name for name in file.files if name.endswith(".particle_q")]
        assert names and all(file[name].shape == (64, 3) for name in names)


@pytest.mark.parametrize(
    "thing, words",
    [
        (object(), "x is a object, which a scene cannot hold"),
        (lambda: 0, "x is a function"),
        (wp.Tape(), "x is a Tape"),
        ({3: "a"}, "x has the key 3\nexpected: texts as keys"),
        (np.array(["a"]), "x is an array of <U1"),
        (ModelBuilder(), "x is a ModelBuilder"),
    ],
)
def test_what_no_file_can_hold_is_named_and_the_older_file_stays(thing, words, tmp_path):
    path = tmp_path / "run.scene"
    Scene(x=1).save(path)
    with pytest.raises(SceneFileError) as caught:
        Scene(x=thing).save(path)
    assert words in str(caught.value) and Scene.load(path).x == 1
    assert [p.name for p in tmp_path.iterdir()] == ["run.scene"]


def test_a_thing_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="the scene has no 'stat'\nit has: state"):
        Scene(state=1).stat  # noqa: B018


def test_a_file_of_another_scene_is_refused(tmp_path):
    Scene(**grains()).save(tmp_path / "run.scene")
    with pytest.raises(SceneFileError, match="has a SolverDEM for solver, where a SolverXPBD is"):
        Scene(**soft()).restore(tmp_path / "run.scene")
    other = soft()
    Scene(solver=other["solver"]).save(tmp_path / "run.scene")
    with pytest.raises(SceneFileError, match=r"elements in solver\.model\.columns"):
        Scene(solver=cloth()["solver"]).restore(tmp_path / "run.scene")


def test_heights_that_were_written_later_come_back(tmp_path):
    builder = ModelBuilder()
    builder.add_shape_heightfield(None, np.zeros((3, 4)))
    builder.add_shape_sphere()
    model = builder.finalize(requires_grad=True)
    model.shape_heights[0].assign(np.arange(12.0).reshape(3, 4))
    loaded = reloaded(tmp_path, model=model).model
    assert (loaded.shape_heights[0].numpy() == model.shape_heights[0].numpy()).all()
    model.shape_heights[0].zero_()
    Scene(model=model).restore(tmp_path / "things.scene")
    assert (loaded.shape_heights[0].numpy() == model.shape_heights[0].numpy()).all()


@pytest.mark.parametrize("name", ["save", "load", "restore"])
def test_names_of_what_every_scene_has_are_refused(name):
    with pytest.raises(SceneFileError, match=f"named '{name}'"):
        Scene(**{name: 1})


def test_a_thing_that_holds_itself_is_refused(tmp_path):
    endless = []
    endless.append(endless)
    with pytest.raises(SceneFileError, match="holds itself"):
        Scene(a=endless).save(tmp_path / "run.scene")


@pytest.mark.parametrize("path", [None, 3, ["a"]])
def test_paths_that_are_none_are_refused(path):
    for call in (Scene(a=1).save, Scene.load, Scene(a=1).restore):
        with pytest.raises(ArgumentTypeError, match="path"):
            call(path)
