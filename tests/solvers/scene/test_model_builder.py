"""Models: masses, topology and rest shapes against plain sums; states and controls; what is refused."""

import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ModelError
from warpsim.solvers import RIGID, ModelBuilder, ParticleStatistics, ShapeConfig, lame
from warpsim.solvers.scene import cloth, soft

REST = (0.0, 0.0, 0.0, 1.0)


def sheet(nx=3, ny=2, **options):
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), REST, (0, 0, 0), nx, ny, 0.5, 0.25, 0.1, **options)
    return builder


def test_a_grid_has_the_springs_triangles_and_hinges_of_its_cells():
    builder = sheet(5, 4, spring_ke=1.0e3, edge_ke=1.0)
    assert builder.particle_count == 6 * 5
    assert builder.springs.count == 5 * 5 + 6 * 4 + 2 * 5 * 4
    assert builder.triangles.count == 2 * 5 * 4
    faces = builder.triangles["indices"]
    ends = [tuple(sorted(pair)) for f in faces.tolist() for pair in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0]))]
    inner = {edge for edge in ends if ends.count(edge) == 2}
    assert {tuple(sorted(row[2:])) for row in builder.edges["indices"].tolist()} == inner
    assert builder.edges.count == len(inner)
    model = builder.finalize()
    np.testing.assert_allclose(model.tri_area.numpy(), 0.5 * 0.5 * 0.25, rtol=1e-6)
    np.testing.assert_allclose(model.edge_rest_angle.numpy(), 0.0, atol=1e-7)
    lengths = {round(x, 6) for x in model.spring_rest_length.numpy().tolist()}
    assert lengths == {0.5, 0.25, round(float(np.hypot(0.5, 0.25)), 6)}


def test_fixed_sides_have_no_mass():
    mass = sheet(3, 2, fix_left=True, fix_top=True).finalize().particle_mass.numpy().reshape(3, 4)
    assert (mass[:, 0] == 0).all() and (mass[-1] == 0).all() and np.allclose(mass[:-1, 1:], 0.1)


@pytest.mark.parametrize("dims", [(1, 1, 1), (2, 3, 4)])
def test_a_block_is_filled_and_its_surface_is_closed(dims):
    points, tets = soft.block(dims, (0.1, 0.2, 0.3))
    volume = soft.volumes(points, tets)
    assert (volume > 0).all() and np.isclose(volume.sum(), np.prod(dims) * 0.006)
    ways = soft.surface(tets)[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist()
    assert sorted(ways) == sorted([b, a] for a, b in ways)
    a, b, c = (points[soft.surface(tets)[:, k]] for k in range(3))
    assert np.isclose(np.einsum("ij,ij->", np.cross(a, b), c) / 6, volume.sum())  # outward, by Gauss's theorem


def test_masses_are_density_times_volume_and_area():
    builder = ModelBuilder()
    builder.add_soft_grid((0, 0, 0), REST, 0, 2, 2, 2, 0.5, 0.5, 0.5, 1000.0)
    builder.add_cloth_mesh((0, 0, 0), REST, 2.0, 0, [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 1, 2], density=0.3)
    assert np.isclose(builder.particles["mass"].sum(), 1000.0 + 0.3 * 2.0)


def test_placed_things_are_turned_and_moved():
    builder = ModelBuilder()
    half = np.sqrt(0.5)
    builder.add_cloth_grid((1, 2, 3), (0, 0, half, half), (0, 0, 7), 1, 1, 1.0, 2.0, 1.0)
    expected = [[1, 2, 3], [1, 3, 3], [-1, 2, 3], [-1, 3, 3]]
    np.testing.assert_allclose(builder.particles["q"], expected, atol=1e-12)
    assert builder.particles["qd"].tolist() == [[0, 0, 7]] * 4


@pytest.mark.parametrize("angle", [0.0, 0.4, -1.3, 3.0])
def test_dihedral_angles_are_what_the_triangles_were_folded_by(angle):
    points = np.array([[0, 1.0, 0], [0, -np.cos(angle), np.sin(angle)], [-1, 0, 0], [1, 0, 0]])
    found = cloth.dihedral_angles(points, np.array([[0, 1, 2, 3]]))
    assert np.isclose(abs(found[0]), abs(angle))
    flipped = cloth.dihedral_angles(points * [1, 1, -1], np.array([[0, 1, 2, 3]]))
    np.testing.assert_allclose(flipped, -found)


def test_springs_are_rigid_unless_they_have_a_stiffness():
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [3, 4, 0]])
    builder.add_spring(0, 1)
    builder.add_spring(0, 1, ke=50.0, rest_length=1.0)
    model = builder.finalize()
    assert np.allclose(model.spring_compliance.numpy(), [0.0, 0.02])
    assert np.allclose(model.spring_rest_length.numpy(), [5.0, 1.0])
    assert RIGID == float("inf")


def test_lame_parameters_are_those_of_the_textbook():
    mu, lam = lame(2.5e6, 0.25)
    assert np.isclose(mu, 1.0e6) and np.isclose(lam, 1.0e6)


def test_planes_look_along_their_normal():
    builder = ModelBuilder(up_axis="Z")
    builder.add_shape_plane((1, 2, -2), (0, 1, 0))
    x, y, z, w = builder.shapes["transform"][0][3:]
    up = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    np.testing.assert_allclose(up, np.array([1, 2, -2]) / 3)
    assert builder.add_shape_plane((0, 0, -1)) == 1  # straight down has a rotation, too
    np.testing.assert_allclose(builder.finalize().gravity.numpy(), [[0, 0, -9.81]], rtol=1e-6)


# ----- states and controls ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_statistics_are_sums_over_particles(dtype):
    builder, rng = ModelBuilder(), np.random.default_rng(3)
    q, v, m = rng.normal(size=(50, 3)), rng.normal(size=(50, 3)), rng.uniform(0, 2, size=50)
    builder.add_particles(q, v, m)
    model = builder.finalize(dtype=dtype)
    found = ParticleStatistics(model, model.state())
    assert np.isclose(found.mass, m.sum())
    np.testing.assert_allclose(found.center_of_mass, m @ q / m.sum(), rtol=1e-5)
    np.testing.assert_allclose(found.momentum, m @ v, rtol=1e-5)
    np.testing.assert_allclose(found.angular_momentum, m @ np.cross(q, v), rtol=1e-4)
    assert np.isclose(found.kinetic_energy, 0.5 * m @ (v * v).sum(axis=1))
    assert not found.diverged


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_state_that_diverged_names_its_first_particle(bad):
    model = sheet().finalize()
    state = model.state()
    v = state.particle_qd.numpy().copy()
    v[[4, 7], 1] = bad
    state.particle_qd.assign(v)
    assert ParticleStatistics(model, state).first_not_finite == 4


def test_a_model_of_nothing_is_a_model():
    model = ModelBuilder().finalize(requires_grad=True)
    state, control = model.state(), model.control()
    control.advance(0.1)
    found = ParticleStatistics(model, state)
    assert found.mass == 0.0 and np.isnan(found.center_of_mass).all() and not found.diverged


def test_controls_move_on_by_their_velocities():
    builder = ModelBuilder()
    builder.add_particle((0, 1, 0))
    builder.add_shape_sphere((0, 0, 5, 0, 0, 0, 1))
    builder.add_attachment(0)
    control = builder.finalize().control()
    control.set_shape(0, velocity=(1, 0, 0), angular_velocity=(0, 0, np.pi))
    control.attachment_velocity.assign([[0, 2, 0]])
    control.advance(0.5)
    pose = [0.5, 0, 5, 0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    np.testing.assert_allclose(control.shape_transform.numpy()[0], pose, atol=1e-6)
    assert control.attachment_target.numpy().tolist() == [[0, 2, 0]]
    control.set_shape(0, position=(0, 0, 0))
    assert control.shape_transform.numpy()[0, :3].tolist() == [0, 0, 0]
    assert control.shape_velocity.numpy()[0].tolist() == pytest.approx([0, 0, np.pi, 1, 0, 0])


def test_fields_that_a_solver_asks_for_are_copied_with_a_state():
    model = sheet().finalize()
    model.add_state_field("spin", wp.vec3, model.particle_count)
    one, other = model.state(), model.state()
    one.spin.fill_(3.0)
    other.assign(one)
    assert (other.spin.numpy() == 3.0).all()


# ----- refusals -----------------------------------------------------------------------------------


def two():
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    return builder


REFUSED = {
    "particle 4 has the mass -1": lambda b: b.add_particle((0, 0, 0), mass=-1.0),
    "mass of particles is 'heavy'\nexpected: numbers": lambda b: b.add_particle((0, 0, 0), mass="heavy"),
    "pos of particles|q of particles is NaN in row 0": lambda b: b.add_particle((0, float("nan"), 0)),
    "row 0 names particles .0, 9.*0 to 3": lambda b: b.add_spring(0, 9),
    "names a particle twice": lambda b: b.add_spring(2, 2),
    "a stiffness is 0": lambda b: b.add_spring(0, 1, ke=0.0),
    "a stiffness is -3": lambda b: b.add_spring(0, 1, ke=-3.0),
    "springs: row 0 has the damping -1": lambda b: b.add_spring(0, 1, ke=1.0, kd=-1.0),
    "spring 0 has the rest length -2": lambda b: b.add_spring(0, 1, rest_length=-2.0),
    "tetrahedron 0 has the rest volume -0.16.*swap two corners": lambda b: b.add_tetrahedron(0, 2, 1, 3),
    "Lame's parameter mu = 0": lambda b: b.add_tetrahedron(0, 1, 2, 3, k_mu=0.0),
    "Poisson's ratio 0.5.*0.49": lambda b: lame(1.0e5, 0.5),
    "shape 0 has the friction mu = -0.1": lambda b: b.add_ground_plane(cfg=ShapeConfig(mu=-0.1)),
    "shape 0 has the friction mu = inf": lambda b: b.add_ground_plane(cfg=ShapeConfig(mu=np.inf)),
    "shape 0 has the static friction inf": lambda b: b.add_ground_plane(cfg=ShapeConfig(mu_static=np.inf)),
    "static friction 0.1": lambda b: b.add_ground_plane(cfg=ShapeConfig(mu=0.5, mu_static=0.1)),
    "restitution 1.5": lambda b: b.add_ground_plane(cfg=ShapeConfig(restitution=1.5)),
    "the size -1": lambda b: b.add_shape_sphere(radius=-1.0),
    "unit quaternion": lambda b: b.add_shape_sphere((0, 0, 0, 0, 0, 0, 2)),
    "not all zero": lambda b: b.add_shape_plane((0, 0, 0)),
    "shape 0 is made of NoneType.*a Mesh": lambda b: b.add_shape_mesh(),
    "heights have shape": lambda b: b.add_shape_heightfield(heights=[1.0, 2.0]),
    "has no target": lambda b: b.add_attachment(0, shape=0),
    "shape is 3": lambda b: b.add_attachment(0, (0, 0, 0), shape=3),
    "0 x 1 cells": lambda b: b.add_cloth_grid((0, 0, 0), REST, 0, 0, 1, 1.0, 1.0, 1.0),
    "the density is 0.001 kg/m.3.*help: 1 g/cm.3 is 1000": lambda b: b.add_soft_grid(
        (0, 0, 0), REST, 0, 1, 1, 1, 0.1, 0.1, 0.1, 1e-3
    ),
    "tetrahedra: row 0 has the damping -1": lambda b: b.add_soft_grid(
        (0, 0, 0), REST, 0, 1, 1, 1, 0.1, 0.1, 0.1, 1e3, k_damp=-1.0
    ),
    "triangles: row 0 has the damping -1": lambda b: _sheet(b, tri_ke=1.0, tri_kd=-1.0),
    "triangle 0 has the coefficient of drag -1": lambda b: _sheet(b, tri_drag=-1.0),
    "triangle 0 has the coefficient of lift -1": lambda b: _sheet(b, tri_lift=-1.0),
    "particle 4 has the position .*inf": lambda b: b.add_particle((0, np.inf, 0)),
    "particle 4 has the velocity .*inf": lambda b: b.add_particle((0, 0, 0), (0, -np.inf, 0)),
    "gravity is nan": lambda b: setattr(b, "gravity", np.nan),
    "tether 0 has the length -": lambda b: b.add_tethers([0, b.add_particle((0, 1, 0), mass=0.0)], slack=-2.0),
    "a shape has the size -1": lambda b: b.add_shape_mesh(scale=(1.0, -1.0, 1.0)),
    "expected: .particles, 3": lambda b: b.add_particles([1.0, 2.0, 3.0]),
}


def _sheet(builder, **material):
    builder.add_cloth_grid((0, 0, 0), REST, 0, 1, 1, 1.0, 1.0, 1.0, **material)


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_no_physics_is_refused(message):
    builder = two()
    with pytest.raises(ModelError, match=f"(?s){message}"):
        REFUSED[message](builder)
        builder.finalize()


def test_a_membrane_without_area_is_refused():
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    builder.add_triangle(0, 1, 2)
    builder.finalize()  # a surface alone may have any shape
    builder.add_triangle(0, 1, 2, tri_ke=10.0)
    with pytest.raises(ModelError, match="triangle 1 has the rest area 0"):
        builder.finalize()


def test_an_open_mesh_is_refused_as_an_obstacle():
    points = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    hull = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6]]
    hull += [[0, 6, 4], [1, 5, 7], [1, 7, 3]]
    for faces, closed in ((hull, True), (hull[1:], False), ([hull[0][::-1], *hull[1:]], False)):
        mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(np.ravel(faces), dtype=int))
        builder = ModelBuilder()
        builder.add_shape_mesh(mesh=mesh)
        if closed:
            builder.finalize()
        else:
            with pytest.raises(ModelError, match="the mesh of shape 0 is open: 3 edges"):
                builder.finalize()


@pytest.mark.parametrize("gravity", [float("nan"), (0.0, 0.0, -9.81), "down"], ids=str)
def test_gravity_is_one_finite_number(gravity):
    with pytest.raises(ModelError, match=r"gravity is [\s\S]*one finite number[\s\S]*up_axis"):
        ModelBuilder(gravity=gravity).finalize("cpu")


def cloth_of_six(**material):
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), REST, 0.0, 3, 1, 0.1, 0.1, 0.01, **material)
    return builder.finalize(device="cpu", dtype=wp.float64)


def test_a_pair_is_the_stiffness_along_warp_and_weft():
    """As one pair for all triangles, and as one for each."""
    stiffness = cloth_of_six(tri_ke=(300.0, 100.0), tri_nu=0.2).tri_stiffness.numpy()
    np.testing.assert_allclose(stiffness, np.tile([300.0, 100.0, 200.0 / 2.4, 0.2], (6, 1)))
    for alike in (np.tile([300.0, 100.0], (6, 1)), [(300.0, 100.0)]):
        np.testing.assert_array_equal(cloth_of_six(tri_ke=alike, tri_nu=0.2).tri_stiffness.numpy(), stiffness)
    each = cloth_of_six(tri_ke=np.arange(1.0, 7.0), tri_nu=np.full(6, 0.2), tri_shear=5.0).tri_stiffness.numpy()
    np.testing.assert_array_equal(each[:, :3], np.stack([np.arange(1.0, 7.0)] * 2 + [np.full(6, 5.0)], axis=1))


@pytest.mark.parametrize("name", ["tri_nu", "tri_shear", "tri_kd", "tri_drag", "tri_lift", "edge_ke"])
def test_what_warp_and_weft_have_in_common_is_no_pair(name):
    material = {"tri_ke": 10.0, "edge_ke": 1.0e-4, name: (0.1, 0.2)}
    with pytest.raises(ModelError, match=rf"{name} is \(0.1, 0.2\), of shape \(2,\)\nexpected: one number, or one for"):
        cloth_of_six(**material)


def test_springs_have_one_stiffness_each():
    with pytest.raises(ModelError, match=r"ke is \(10.0, 20.0\), of shape \(2,\)\nexpected: one number, or one"):
        cloth_of_six(spring_ke=(10.0, 20.0))


@pytest.mark.parametrize(
    ("tri_ke", "told"),
    [
        ((1.0, 2.0, 3.0), r"of shape \(3,\)\nexpected: one number, a pair \(warp, weft\), or one of either for each"),
        (np.ones((6, 3)), r"of shape \(6, 3\)\nexpected: one number, a pair"),
        ((300.0, 0.0), r"has the stiffness \[300\.\s+0\.\] along warp and weft\nexpected: both above 0, or both 0"),
        ("stiff", r"tri_ke is 'stiff'\nexpected: numbers"),
    ],
)
def test_what_is_neither_a_stiffness_nor_a_pair_is_refused(tri_ke, told):
    with pytest.raises((ModelError, ArgumentTypeError), match=told):
        cloth_of_six(tri_ke=tri_ke)


def test_two_numbers_for_two_triangles_are_asked_about():
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    faces = [(0, 1, 2), (0, 2, 3)]
    with pytest.raises(ModelError, match=r"expected: \[\(300, 100\)\] along warp and weft, or \[\[300\], \[100\]\]"):
        builder.add_triangles(faces, tri_ke=(300.0, 100.0))
    builder.add_triangles(faces, tri_ke=[(300.0, 100.0)])
    builder.add_triangles(faces, tri_ke=[[300.0], [100.0]])
    np.testing.assert_array_equal(builder.triangles["ke"], [[300, 100], [300, 100], [300, 300], [100, 100]])


def test_meshes_of_a_woven_sheet_say_where_the_warp_is():
    corners, faces = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [(0, 1, 2), (1, 3, 2)]
    sheet = ((0, 0, 0), REST, 1.0, 0.0, corners, faces, 0.1)
    with pytest.raises(ModelError, match=r"no triangle knows where its warp is\nexpected: material"):
        ModelBuilder().add_cloth_mesh(*sheet, tri_ke=[(300.0, 100.0)])
    ModelBuilder().add_cloth_mesh(*sheet, tri_ke=[(300.0, 300.0)])
    material = np.array(corners, float)[np.array(faces)][..., :2]
    ModelBuilder().add_cloth_mesh(*sheet, tri_ke=[(300.0, 100.0)], material=material)
