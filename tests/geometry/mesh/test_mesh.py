"""`Mesh`: what it takes and refuses, refits and rebuilds, ends; from several threads; leaves and boxes of its tree."""

import threading

import numpy as np
import pytest
from mesh_cases import CUBE, CUBE_FACES, KINDS, case, mesh_of, sphere, vectors

import warpsim as wp
from warpsim.config import config
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import CheckpointError, LaunchError, MeshError, StructureIdError
from warpsim.geometry.bvh.nodes import EMPTY
from warpsim.geometry.mesh.data import LANES

pytestmark = pytest.mark.usefixtures("every_constructor")


@wp.kernel
def nearest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), face: wp.array(dtype=int), at: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.mesh_query_point(mesh, p[i], 1.0e30)
    face[i] = q.face
    if q.result:
        at[i] = wp.mesh_eval_position(mesh, q.face, q.u, q.v)


def ask(mesh, p):
    device = mesh.device
    face, at = wp.zeros(len(p), dtype=int, device=device), wp.zeros(len(p), dtype=wp.vec3, device=device)
    wp.launch(nearest, dim=len(p), inputs=[mesh.id, vectors(p, device), face, at], device=device)
    return face.numpy(), at.numpy()


@wp.kernel
def everything(mesh: wp.uint64, p: wp.vec3, found: wp.array(dtype=int)):
    """1 for each query that finds something."""
    found[0] = wp.where(wp.mesh_query_point(mesh, p, 9.0).result, 1, 0)
    found[1] = wp.where(wp.mesh_query_point_sign_normal(mesh, p, 9.0).result, 1, 0)
    found[2] = wp.where(wp.mesh_query_point_sign_winding_number(mesh, p, 9.0).result, 1, 0)
    found[3] = wp.where(wp.mesh_query_point_sign_parity(mesh, p, 9.0).result, 1, 0)
    found[4] = wp.where(wp.mesh_query_furthest_point_no_sign(mesh, p, 0.0).result, 1, 0)
    found[5] = wp.where(wp.mesh_query_ray(mesh, p, wp.vec3(0.0, 0.0, -1.0), 9.0).result, 1, 0)
    found[6] = wp.where(wp.mesh_query_ray_anyhit(mesh, p, wp.vec3(0.0, 0.0, -1.0), 9.0), 1, 0)
    found[7] = wp.where(wp.mesh_query_ray_count_intersections(mesh, p, wp.vec3(0.0, 0.0, -1.0)) > 0, 1, 0)
    for _ in wp.mesh_query_sphere(mesh, p, 9.0):
        found[8] = 1
    for _ in wp.mesh_query_aabb(mesh, p - wp.vec3(9.0), p + wp.vec3(9.0)):
        found[9] = 1


def answers(id, device=None):
    found = wp.zeros(10, dtype=int, device=device)
    wp.launch(everything, dim=1, inputs=[id, wp.vec3(0.3, 0.4, 2.0), found], device=device)
    return found.numpy()


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_every_query_finds_the_cube_and_nothing_in_an_empty_mesh(device):
    for winding in (False, True):
        mesh = mesh_of(CUBE, CUBE_FACES, device, support_winding_number=winding)
        assert answers(mesh.id, device).all()
        for points in (CUBE, np.zeros((0, 3))):
            empty = mesh_of(points, np.zeros((0, 3)), device, support_winding_number=winding)
            assert not answers(empty.id, device).any()
            empty.refit()
            empty.rebuild()
            assert empty.face_count == 0
    assert not answers(0, device).any()


def test_points_that_are_no_numbers():
    """Their faces are not found, the others are; also when points become so, and numbers again, by refits."""
    points, faces = sphere(6)
    spoiled = points.copy()
    spoiled[3], spoiled[20], spoiled[40] = [np.nan, 0, 0], [0, np.inf, 0], [0, 0, -np.inf]
    lost = np.isin(faces, (3, 20, 40)).any(axis=1)
    p = np.random.default_rng(0).uniform(-1.5, 1.5, (200, 3)).astype(np.float32)
    whole, part = mesh_of(points, faces), mesh_of(points, faces[~lost])
    mesh = mesh_of(points, faces)
    expected = np.flatnonzero(~lost)[ask(part, p)[0]]
    np.testing.assert_array_equal(ask(mesh_of(spoiled, faces), p)[0], expected)
    mesh.points = vectors(spoiled)
    np.testing.assert_array_equal(ask(mesh, p)[0], expected)
    mesh.points = vectors(points)
    np.testing.assert_array_equal(ask(mesh, p)[0], ask(whole, p)[0])
    assert not answers(mesh_of(np.full((8, 3), np.nan), CUBE_FACES, support_winding_number=True).id).any()


def test_refit_follows_points():
    """After a change in place, after assignment and after a rebuild: as a mesh made of the new points."""
    points, faces = sphere(8)
    rng = np.random.default_rng(0)
    moved = (points * [1, 2, 0.5] + 0.1 * rng.normal(size=points.shape)).astype(np.float32)
    p = rng.uniform(-2, 2, (100, 3)).astype(np.float32)
    mesh, fresh = mesh_of(points, faces), mesh_of(moved, faces)
    before, expected = ask(mesh, p), ask(fresh, p)
    mesh.points.assign(moved)
    mesh.refit()
    for k in range(2):
        np.testing.assert_array_equal(ask(mesh, p)[k], expected[k])
    mesh.points = vectors(points)
    np.testing.assert_array_equal(ask(mesh, p)[0], before[0])
    mesh.points.assign(moved)
    mesh.rebuild()
    np.testing.assert_array_equal(ask(mesh, p)[1], expected[1])


@wp.kernel
def speeds(mesh: wp.uint64, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[2 * i] = wp.mesh_eval_velocity(mesh, i, 0.25, 0.5)
    out[2 * i + 1] = wp.mesh_get_velocity(mesh, 3 * i + 1)


def test_velocities():
    """Zero without an array; afterwards those assigned, weighted like positions."""
    mesh, out = mesh_of(CUBE, CUBE_FACES), wp.zeros(24, dtype=wp.vec3)
    wp.launch(speeds, dim=12, inputs=[mesh.id, out])
    assert mesh.velocities is None and not out.numpy().any()
    velocities = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    mesh.velocities = vectors(velocities)
    wp.launch(speeds, dim=12, inputs=[mesh.id, out])
    corners = velocities[CUBE_FACES]
    np.testing.assert_allclose(out.numpy()[::2], corners.transpose(0, 2, 1) @ [0.25, 0.5, 0.25], atol=1e-6)
    np.testing.assert_array_equal(out.numpy()[1::2], corners[:, 1])
    mesh.velocities = None
    wp.launch(speeds, dim=12, inputs=[mesh.id, out])
    assert not out.numpy().any()


@wp.kernel
def look(mesh: wp.uint64, out: wp.array(dtype=wp.vec3), numbers: wp.array(dtype=int)):
    i = wp.tid()
    data = wp.mesh_get(mesh)
    out[4 * i] = wp.mesh_eval_position(mesh, i, 0.5, 0.125)
    out[4 * i + 1] = wp.mesh_eval_face_normal(mesh, i)
    out[4 * i + 2] = wp.mesh_get_point(mesh, 3 * i + 2)
    out[4 * i + 3] = data.points[data.indices[3 * i + 2]]
    numbers[i] = wp.mesh_get_index(mesh, 3 * i + 1)


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_values_at_faces(device):
    mesh = mesh_of(CUBE, CUBE_FACES, device)
    out, numbers = wp.zeros(48, dtype=wp.vec3, device=device), wp.zeros(12, dtype=int, device=device)
    wp.launch(look, dim=12, inputs=[mesh.id, out, numbers], device=device)
    corners, found = CUBE[CUBE_FACES], out.numpy().reshape(12, 4, 3)
    np.testing.assert_allclose(found[:, 0], corners.transpose(0, 2, 1) @ [0.5, 0.125, 0.375], atol=1e-7)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    np.testing.assert_allclose(found[:, 1], normal, atol=1e-7)
    np.testing.assert_array_equal(found[:, 2:], np.repeat(corners[:, 2:], 2, axis=1))
    np.testing.assert_array_equal(numbers.numpy(), CUBE_FACES[:, 1])


# ----- errors ---------------------------------------------------------------------------------


def ints(a):
    return wp.array(np.asarray(a), dtype=int)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: wp.Mesh(CUBE, ints([0, 1, 2])), "points of a mesh: ndarray"),
        (lambda: wp.Mesh(wp.array(CUBE, dtype=wp.vec3d), ints([0, 1, 2])), "expected: an array of vec3"),
        (lambda: wp.Mesh(vectors(CUBE), wp.array([0.0, 1, 2], dtype=float)), "expected: an array of int32"),
        (lambda: wp.Mesh(vectors(CUBE), ints([[0, 1, 2]])), "one dimension, three per face"),
        (lambda: wp.Mesh(vectors(CUBE), ints([0, 1])), "expected: three per face"),
        (lambda: wp.Mesh(vectors(CUBE), ints([0, 1, 2, 0, 8, 9])), r"indices\[4\] of a mesh \(face 1\) is 8"),
        (lambda: wp.Mesh(vectors(CUBE), ints([0, -1, 2])), r"help: 1 of 3 indices are out of range"),
        (lambda: wp.Mesh(vectors(CUBE), ints([0, 1, 2]), vectors(CUBE[:3])), "velocities of a mesh: 3 on c"),
        (lambda: wp.Mesh(vectors(CUBE), wp.zeros(3, dtype=int, device="interp")), "on interp"),
        (lambda: wp.Mesh(vectors(CUBE), ints([0, 1, 2]), bvh_constructor="best"), "bvh_constructor is 'best'"),
        (lambda: wp.Mesh(vectors(CUBE), ints([0, 1, 2]), bvh_leaf_size=9), "bvh_leaf_size is 9"),
    ],
)
def test_refused(make, message):
    with pytest.raises(MeshError, match=message):
        make()


def test_setters_refuse():
    mesh = mesh_of(CUBE, CUBE_FACES)
    with pytest.raises(MeshError, match=r"points of a mesh: 7 on c.*\nexpected: 8 on c"):
        mesh.points = vectors(CUBE[:7])
    with pytest.raises(MeshError, match="velocities of a mesh"):
        mesh.velocities = CUBE
    assert answers(mesh.id).all()


def test_after_the_end():
    """The id of a closed mesh is refused where launches are checked, and stands for an empty one elsewhere."""
    mesh, face, at = mesh_of(CUBE, CUBE_FACES), wp.zeros(1, dtype=int), wp.zeros(1, dtype=wp.vec3)
    inputs = [mesh.id, vectors([[2, 2, 2]]), face, at]
    recorded = wp.launch(nearest, dim=1, inputs=inputs, record_cmd=True)
    recorded.launch()
    assert face.numpy()[0] == 2
    mesh.close()
    mesh.close()
    recorded.launch()
    assert face.numpy()[0] == -1
    with pytest.raises(StructureIdError):
        _ = mesh.id
    config.verify = True
    for device in (None, "interp"):
        given = [inputs[0], *(a.to(device) for a in inputs[1:])]
        with pytest.raises(StructureIdError):
            wp.launch(nearest, dim=1, inputs=given, device=device)


@pytest.mark.parametrize(
    "use",
    [
        lambda mesh: mesh.refit(),
        lambda mesh: mesh.rebuild(),
        lambda mesh: setattr(mesh, "points", vectors(2 * CUBE)),
        lambda mesh: setattr(mesh, "velocities", vectors(CUBE)),
        lambda mesh: mesh.own_arrays(),
    ],
)
def test_a_closed_mesh_says_so(use):
    """And stays as it was."""
    mesh = mesh_of(CUBE, CUBE_FACES)
    points = mesh.points
    mesh.close()
    with pytest.raises(StructureIdError, match="this Mesh is closed"):
        use(mesh)
    assert mesh.points is points and mesh.velocities is None


def test_indices_cannot_be_exchanged():
    mesh = mesh_of(CUBE, CUBE_FACES)
    np.testing.assert_array_equal(mesh.indices.numpy(), CUBE_FACES.ravel())
    with pytest.raises(AttributeError):
        mesh.indices = ints([0, 1, 2])


# ----- graphs and loops with checkpoints ------------------------------------------------------


def test_captures_refuse_builds_and_take_refits():
    """Sizes of trees are not known in a capture; a refit in it runs with the graph."""
    points, faces = sphere(8)
    mesh, p = mesh_of(points, faces), np.random.default_rng(0).uniform(-2, 2, (40, 3)).astype(np.float32)
    before, moved = ask(mesh, p), ask(mesh_of(2 * points, faces), p)
    indices = mesh.indices
    with wp.ScopedCapture() as capture:
        for build in (mesh.rebuild, lambda: wp.Mesh(mesh.points, indices)):
            with pytest.raises(LaunchError, match="while a graph is captured"):
                build()
        mesh.refit()
    for k, found in enumerate(ask(mesh, p)):
        np.testing.assert_array_equal(found, before[k])  # nothing has run yet
    mesh.points.assign(2 * points)
    wp.capture_launch(capture.graph)
    for k, found in enumerate(ask(mesh, p)):
        np.testing.assert_array_equal(found, moved[k])


@wp.kernel
def attract(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.mesh_query_point(mesh, x[i], 1.0e9)
    y[i] = 0.5 * (x[i] + wp.mesh_eval_position(mesh, q.face, q.u, q.v))


def test_loops_with_checkpoints():
    """`scratch=[mesh]` allows refits; a rebuild is refused by name, a mesh made in the step is not."""
    mesh = mesh_of(CUBE, CUBE_FACES)
    start = np.float32([[2, 0.5, 0.5], [0.3, 3, 0.1]])

    def slope(prepare, scratch):
        x, y = (wp.array(start, dtype=wp.vec3, requires_grad=True) for _ in range(2))

        def step(k):
            used = prepare()
            wp.launch(attract, dim=2, inputs=[used.id, x], outputs=[y])
            wp.copy(x, y)

        with wp.Tape() as tape:
            wp.checkpoint(step, [x], 4, scratch=[y, *scratch])
        tape.backward(grads={x: wp.ones(2, dtype=wp.vec3)})
        return x.grad.numpy()

    def refitted():
        mesh.refit()
        return mesh

    def rebuilt():
        mesh.rebuild()
        return mesh

    expected = slope(refitted, [mesh])
    np.testing.assert_allclose(expected, [[1 / 16, 1, 1], [1, 1 / 16, 1]], atol=1e-6)
    np.testing.assert_array_equal(slope(lambda: wp.Mesh(mesh.points, mesh.indices), []), expected)
    for scratch in ([mesh], []):
        with pytest.raises(CheckpointError, match=r"Mesh.rebuild\(\) in a step(.|\n)*help: mesh.refit\(\)"):
            slope(rebuilt, scratch)


# ----- the tree -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("size", [None, 1, 3])
def test_leaves(kind, size):
    """Each face is in one leaf, inside its box; lanes left over repeat the first; packs hold the corners."""
    points, faces, _ = case(kind, 2, 60, 1.0)
    data = mesh_of(points, faces, bvh_leaf_size=size)._handle.data
    nodes, items, packs = data.tree.nodes.numpy(), data.tree.items.numpy(), data.packs.numpy()
    corners = np.stack([packs[f"{p}{x}"] for p in "abc" for x in "xyz"], -1).reshape(-1, 3, 3)
    np.testing.assert_array_equal(corners, points[faces[items]])
    seen = []
    for node in nodes:
        for s in np.flatnonzero(node["child"] != EMPTY):
            child = node["child"][s]
            first, count = ((-2 - child) >> 3, ((-2 - child) & 7) + 1) if child < 0 else (0, 0)
            if child < 0:
                assert first % LANES == 0 and count <= (size or LANES)
                seen.extend(items[first : first + count])
                assert (items[first + count : first + LANES] == items[first]).all()
            else:
                first, count = nodes[child]["first"], nodes[child]["count"]
            held = points[faces[items[first : first + count]]].reshape(-1, 3)
            for k, x in enumerate("xyz"):
                assert node[f"lower_{x}"][s] == held[:, k].min() and node[f"upper_{x}"][s] == held[:, k].max()
    assert sorted(seen) == list(range(60))


def test_same_bits_for_any_thread_count():
    points, faces = sphere(40)
    before, found = get_pool().threads, []
    try:
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            mesh = mesh_of(points, faces, support_winding_number=True)
            mesh.points = vectors(points * 1.5)
            data = mesh._handle.data
            parts = (data.tree.nodes, data.tree.items, data.packs, data.moments, data.average_edge)
            found.append(b"".join(part.numpy().tobytes() for part in parts))
    finally:
        wp.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_python_threads_make_meshes_at_once():
    points, faces = sphere(12)
    p = np.random.default_rng(0).uniform(-2, 2, (50, 3)).astype(np.float32)
    expected = [ask(mesh_of(points * (1 + k), faces), p)[1] for k in range(4)]
    found, errors = [None] * 4, []

    def work(k):
        try:
            for _ in range(5):
                mesh = mesh_of(points, faces)
                mesh.points = vectors(points * (1 + k))
                found[k] = ask(mesh, p)[1]
                mesh.close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for k in range(4):
        np.testing.assert_allclose(found[k], expected[k], atol=1e-6)
