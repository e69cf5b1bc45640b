"""Files of scenes from anybody: damaged, truncated, hostile, of other versions. An error with a reason, or a scene."""

import io
import json
import zipfile

import numpy as np
import pytest
from scenes_to_save import SCENES, grains, step

from warpsim.errors import SceneFileError
from warpsim.solvers import Scene


def saved(path, name="grains"):
    """A scene of a solver after a few steps, in a file; its bytes."""
    scene = SCENES[name]()
    for _ in range(2):
        step(scene)
    Scene(**scene).save(path)
    return path.read_bytes()


def members(path):
    with zipfile.ZipFile(path) as file:
        return {entry.filename: file.read(entry) for entry in file.infolist()}


def written(path, content, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in content.items():
            file.writestr(name, data)


def edited(path, **changes):
    """Rewrite the text of a file with other top entries."""
    content = members(path)
    text = json.loads(content["scene.json"]) | changes
    written(path, content | {"scene.json": json.dumps(text)})


def npy(values):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(values), allow_pickle=True)
    return stream.getvalue()


def refused(path, words=""):
    with pytest.raises(SceneFileError) as caught:
        Scene.load(path)
    assert words in str(caught.value), caught.value


def test_files_that_are_no_scenes_are_refused_with_a_reason(tmp_path):
    path = tmp_path / "run.scene"
    for content, words in ((b"", "no whole zip file"), (b"PK\x03\x04", "no whole zip"), (b"x" * 1000, "no whole zip")):
        path.write_bytes(content)
        refused(path, words)
    written(path, {"a": b""})
    refused(path, "it is no warpsim scene")
    written(path, {"scene.json": b"{"})
    refused(path, "is no JSON")
    written(path, {"scene.json": b"[" * 100_000})
    refused(path, "is no JSON")
    with pytest.raises(FileNotFoundError):
        Scene.load(tmp_path / "nothing")


def test_a_file_of_another_version_is_refused_with_both_versions(tmp_path):
    path = tmp_path / "run.scene"
    saved(path)
    edited(path, version=1)
    refused(path, "it has version 1 of the format; this warpsim reads version 4")


def test_a_thing_with_the_name_of_a_method_is_refused(tmp_path):
    path = tmp_path / "run.scene"
    Scene(a=1).save(path)
    edited(path, things={"save": 1})
    refused(path, "named 'save'")


def test_compressed_members_are_refused(tmp_path):
    path = tmp_path / "run.scene"
    saved(path)
    written(path, members(path), zipfile.ZIP_DEFLATED)
    refused(path, "is compressed")


@pytest.mark.parametrize("values", [np.array([object()]), np.array(["text"]), np.asfortranarray(np.ones((3, 4)))])
def test_arrays_of_objects_texts_and_other_orders_are_refused(values, tmp_path):
    path = tmp_path / "run.scene"
    Scene(a=np.ones(3)).save(path)
    content = members(path)
    written(path, {name: npy(values) if name.endswith(".npy") else data for name, data in content.items()})
    refused(path, "is no array")


def test_an_array_that_claims_more_than_there_is_takes_no_memory(tmp_path):
    path = tmp_path / "run.scene"
    Scene(a=np.ones(3)).save(path)
    content = members(path)
    large = npy(np.ones(3)).replace(b"(3,), }" + b" " * 11, b"(300000000000,), }")
    assert b"300000000000" in large
    written(path, {name: large if name.endswith(".npy") else data for name, data in content.items()})
    refused(path, "is no array")


@pytest.mark.parametrize(
    "objects",
    [
        "text",
        [1],
        [{"kind": "os.system", "arguments": {}, "memory": {}}],
        [{"kind": ["a"]}],
        [{}],
        [{"kind": "State", "arguments": {"model": {"ref": 0}}, "memory": {}}],
        [{"kind": "Material", "arguments": {"youngs_modulus": -1}, "memory": {}}],
        [{"kind": "SolverXPBD", "arguments": {"model": 3}, "memory": {}}],
        [{"array": "a", "type": ["float32", "vector", [1 << 40]], "shape": [1], "requires_grad": False}],
        [{"array": "a", "type": ["float32", "quaternion", [1]], "shape": [1], "requires_grad": False}],
    ],
)
def test_records_that_nobody_wrote_are_refused(objects, tmp_path):
    path = tmp_path / "run.scene"
    Scene(a=1).save(path)
    edited(path, things={"a": {"ref": 0}}, objects=objects)
    refused(path, "run.scene")


@pytest.mark.parametrize(
    "value",
    [
        {"ref": -1},
        {"ref": 9},
        {"ref": "x"},
        {"what": 1},
        {"a": 1, "b": 2},
        {"numpy": 3},
        {"generator": {"dict": {"bit_generator": "os"}}},
        {"range": [1, 2, 0]},
    ],
)
def test_values_that_nobody_wrote_are_refused(value, tmp_path):
    path = tmp_path / "run.scene"
    Scene(a=1).save(path)
    edited(path, things={"a": value})
    refused(path, "run.scene")


INDICES = ("ids", "offsets", "number", "kind", "slot", "counts", "shape", "indices", "particle", "shape_index")


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("wrong", [-1, 1 << 30])
def test_indices_of_nothing_are_refused_before_any_kernel_reads_them(name, wrong, tmp_path):
    """Every array of integers in turn, with one number that cannot be; what is left loads and steps."""
    path = tmp_path / "run.scene"
    saved(path, name)
    content, count = members(path), 0
    for member, data in content.items():
        values = np.load(io.BytesIO(data)).copy() if member.endswith(".npy") else np.zeros(0)
        if values.dtype != np.int32 or not values.size:
            continue
        values.reshape(-1)[0] = wrong
        written(path, content | {member: npy(values)})
        try:
            scene = vars(Scene.load(path))
        except SceneFileError:
            count += 1
            continue
        step(scene)  # of what is no index: counts of warnings, marks, numbers of turns
    assert count >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_mutations_of_files_end_in_an_error_or_a_scene(name, tmp_path):
    """Random changes of bytes in the text and the arrays, with right sums: no crash, and no other exception."""
    path, rng = tmp_path / "run.scene", np.random.default_rng(0)
    saved(path, name)
    content = members(path)
    names = list(content)
    refusals = 0
    for _ in range(150):
        member = names[0] if rng.random() < 0.5 else names[rng.integers(len(names))]
        data = bytearray(content[member])
        for _ in range(rng.integers(1, 4)):
            at = rng.integers(len(data))
            data[at] = rng.choice([data[at] ^ (1 << rng.integers(8)), rng.integers(256), ord("9"), ord("-")])
        written(path, content | {member: bytes(data[: rng.integers(len(data))] if rng.random() < 0.1 else data)})
        try:
            Scene.load(path)
        except SceneFileError:
            refusals += 1
        except (MemoryError, UserWarning):
            pass
    assert refusals > 30


def test_truncated_files_are_refused(tmp_path):
    path = tmp_path / "run.scene"
    content = saved(path)
    for part in np.linspace(0, len(content) - 1, 60).astype(int):
        path.write_bytes(content[:part])
        refused(path)


def test_a_flipped_bit_is_noticed(tmp_path):
    """Members have sums: a file that lost a bit is not a scene."""
    path, rng = tmp_path / "run.scene", np.random.default_rng(1)
    content = saved(path)
    with zipfile.ZipFile(path) as file:
        entry = max(file.infolist(), key=lambda e: e.file_size)
    for _ in range(20):
        data = bytearray(content)
        at = entry.header_offset + 30 + len(entry.filename) + int(rng.integers(entry.file_size))
        data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(data))
        refused(path)


def test_a_folder_that_cannot_be_written_leaves_the_older_file(tmp_path):
    with pytest.raises(OSError):
        Scene(**grains()).save(tmp_path / "missing" / "run.scene")
