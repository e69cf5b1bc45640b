"""Owners of public attributes: one object of every public structure, model, state and solver, and how it is used."""

import warnings

import numpy as np
from body_owners import Pushing, Tumbling, use_pushing, use_tumbling

import warpsim as wp
import warpsim.optim.linear
from warpsim import solvers
from warpsim.solvers import ocean as oceans

HUGE = 2**30
N = 9

# ----- kernels ------------------------------------------------------------------------------------


@wp.struct
class Holder:
    scale: float
    values: wp.array(dtype=float)


@wp.kernel
def ask_mesh(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.mesh_query_point_sign_normal(mesh, p[i], 10.0)
    if q.result:
        out[i] = wp.mesh_eval_position(mesh, q.face, q.u, q.v) + wp.mesh_eval_velocity(mesh, q.face, q.u, q.v)
        out[i] += q.sign * wp.mesh_eval_face_normal(mesh, q.face)
    w = wp.mesh_query_point_sign_winding_number(mesh, p[i], 10.0)
    out[i] += wp.vec3(w.sign, float(wp.mesh_get_group_root(mesh, 1)), float(wp.mesh_get_index(mesh, i)))


@wp.kernel
def ask_bvh(bvh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=int)):
    i = wp.tid()
    for k in wp.bvh_query_sphere(bvh, p[i], 0.3):
        out[i] += k + 1


@wp.kernel
def ask_grid(grid: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=int)):
    i = wp.tid()
    for k in wp.hash_grid_query(grid, p[i], 0.4):
        if wp.length(p[k] - p[i]) < 0.4:
            out[i] += k + 1


@wp.kernel
def ask_volume(volume: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_sample_f(volume, wp.vec3(float(i), 0.5, 1.5), wp.Volume.LINEAR)


@wp.kernel
def ask_texture(texture: wp.Texture2D, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(texture, wp.vec2(0.1 * float(i), 0.3), dtype=float)


@wp.kernel
def ask_struct(holder: Holder, out: wp.array(dtype=float)):
    i = wp.tid()
    if i < holder.values.shape[0]:
        out[i] = holder.scale * holder.values[i]


@wp.kernel
def double(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if i < x.shape[0] and i < out.shape[0]:
        out[i] = 2.0 * x[i]


def launched(kernel, dtype, *inputs):
    out = wp.zeros(N, dtype=dtype, device="cpu")
    wp.launch(kernel, N, [*inputs], [out], device="cpu")
    return out.numpy().copy()


# ----- owners ---------------------------------------------------------------------------------------

NUMBERS = np.random.default_rng(1)
POINTS = NUMBERS.random((N, 3)).astype(np.float32)
FACES = np.array([0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 1, 5, 7], np.int32)


def points():
    return wp.array(POINTS, dtype=wp.vec3, device="cpu")


def mesh():
    velocities = wp.array(POINTS[::-1].copy(), dtype=wp.vec3)
    groups = wp.array([0, 1, 1, 2, 1], dtype=int)
    return wp.Mesh(points(), wp.array(FACES, dtype=int), velocities, support_winding_number=True, groups=groups)


def use_mesh(m):
    p = points()
    seen = [launched(ask_mesh, wp.vec3, m.id, p)]
    m.refit()
    seen.append(launched(ask_mesh, wp.vec3, m.id, p))
    m.rebuild()
    return [*seen, launched(ask_mesh, wp.vec3, m.id, p), m.face_count, len(repr(m)), len(m._repr_html_())]


def bvh():
    low = wp.array(POINTS, dtype=wp.vec3)
    return wp.Bvh(low, wp.array(POINTS + 0.2, dtype=wp.vec3), groups=wp.array(np.arange(N) % 3, dtype=int))


def use_bvh(b):
    p = points()
    seen = [launched(ask_bvh, int, b.id, p)]
    b.refit()
    seen.append(launched(ask_bvh, int, b.id, p))
    b.rebuild()
    return [*seen, launched(ask_bvh, int, b.id, p)]


def grid():
    made = wp.HashGrid(4, 4, 4, device="cpu")
    made.build(points(), 0.4)
    return made


def use_grid(g):
    p = points()
    seen = [launched(ask_grid, int, g.id, p)]
    g.reserve(40, True)
    g.build(p, 0.4, groups=wp.array(np.arange(N) % 2, dtype=int))
    return [*seen, launched(ask_grid, int, g.id, p), *g.dims]


def volume():
    return wp.Volume.load_from_numpy(NUMBERS.random((4, 4, 4)).astype(np.float32) * 0 + 2.0, device="cpu")


def use_volume(v):
    arrays = [v.get_tiles().numpy(), v.get_voxels().numpy(), v.leaf_values.numpy()]
    contents, count = v.to_numpy() if hasattr(v, "to_numpy") else 0, v.get_active_stats().voxel_count
    return [launched(ask_volume, float, v.id), *arrays, contents, v.get_grid_info().name, count]


def tiles():
    cells = wp.array(np.array([[0, 0, 0], [9, 0, 0]], np.int32), dtype=wp.vec3i)
    return wp.Volume.allocate_by_tiles(cells, 1.0, bg_value=1.5, rebuildable=True, max_tiles=8)


def use_tiles(v):
    v.rebuild(wp.array(np.array([[0, 0, 0], [20, 0, 0]], np.int32), dtype=wp.vec3i))
    return [launched(ask_volume, float, v.id), v.get_tile_count(), v.get_voxel_count()]


def texture():
    return wp.Texture2D(np.arange(12, dtype=np.float32).reshape(3, 4), device="cpu")


def use_texture(t):
    seen = launched(ask_texture, float, t)
    t.copy_from(np.arange(12, dtype=np.float32).reshape(3, 4))
    back = np.zeros((3, 4), np.float32)
    t.copy_to(back)
    return [seen, back, launched(ask_texture, float, t), t.shape]


def cubes():
    made = wp.MarchingCubes(4, 4, 4, device="cpu")
    made.surface(ball())
    return made


def ball():
    axes = np.indices((4, 4, 4)).astype(np.float32) - 1.5
    return wp.array(np.sqrt((axes**2).sum(0)) - 1.2, dtype=float, device="cpu")


def use_cubes(m):
    m.surface(ball())
    seen = [m.verts.numpy().copy(), m.indices.numpy().copy()]
    m.resize(5, 5, 5)
    return [*seen, m.nx]


def matrix():
    offsets = wp.array(np.arange(0, 3 * N + 1, 3), dtype=int)
    columns = wp.array(np.array([[(i - 1) % N, i, (i + 1) % N] for i in range(N)]).ravel(), dtype=int)
    return wp.optim.linear.CsrMatrix(offsets, columns, wp.array([-1.0, 4.0, -1.0] * N, dtype=float))


def use_matrix(m):
    b, x = wp.array(np.arange(N) + 1.0, dtype=float), wp.zeros(N, dtype=float)
    y = wp.zeros(N, dtype=float)
    operator = m.operator()
    operator.matvec(b, y, y, 1.0, 0.0)
    seen = [y.numpy().copy()]
    operator.adjoint(b, y, y, 1.0, 0.0)
    seen += [y.numpy().copy(), m.diagonal(), m.rows]
    wp.optim.linear.cg(m, b, x, maxiter=20, M=wp.optim.linear.preconditioner(m))
    return [*seen, x.numpy().copy()]


def use_operator(o):
    b, x, y = wp.array(np.arange(N) + 1.0, dtype=float), wp.zeros(N, dtype=float), wp.zeros(N, dtype=float)
    o.matvec(b, y, y, 1.0, 0.0)
    wp.optim.linear.cg(o, b, x, maxiter=20)
    if o.adjoint is not None:
        o.transposed().matvec(b, x, x, 1.0, 0.0)
    return [y.numpy().copy(), x.numpy().copy(), len(repr(o))]


KEPT = {}


def optimiser(kind, **options):
    def make():
        return kind([wp.array(np.arange(5.0), dtype=float), wp.array(POINTS, dtype=wp.vec3)], **options)

    return make


def use_optimiser(o):
    params = o.params
    for _ in range(3):
        o.step([wp.full(5, 0.1, dtype=float), wp.full(N, wp.vec3(0.1), dtype=wp.vec3)])
    seen = [p.numpy().copy() for p in params]
    o.set_params([wp.zeros(3, dtype=float)])
    o.step([wp.ones(3, dtype=float)])
    o.reset_internal_state()
    return [*seen, o.params[0].numpy().copy()]


def lbfgs():
    x = wp.array(np.arange(5.0), dtype=float, requires_grad=True)
    return wp.optim.LBFGS([x])


@wp.kernel
def squares(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


def use_lbfgs(o):
    x = o.params[0]
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    def closure():
        loss.zero_()
        x.grad.zero_()
        with wp.Tape() as tape:
            wp.launch(squares, x.size, [x], [loss])
        tape.backward(loss)
        return loss

    for _ in range(3):
        o.step(closure)
    o.reset_internal_state()
    return [x.numpy().copy()]


def holder():
    return Holder(scale=2.0, values=wp.array(np.arange(5.0), dtype=float, device="cpu"))


def use_holder(h):
    rows = wp.array([h, h], dtype=Holder, device="cpu")
    return [launched(ask_struct, float, h), launched(ask_struct, float, rows.list()[1])]


def command():
    x, y = wp.array(np.arange(5.0), dtype=float, device="cpu"), wp.zeros(5, dtype=float, device="cpu")
    made = wp.launch(double, 5, [x, y], device="cpu", record_cmd=True)
    KEPT[id(made)] = y
    return made


def use_command(c):
    c.launch()
    seen = KEPT[id(c)].numpy().copy()
    c.set_dim(3)
    c.set_param_by_name("x", wp.ones(2, dtype=float, device="cpu"))
    c.launch()
    return [seen, KEPT[id(c)].numpy().copy()]


def graph():
    x, y = wp.array(np.arange(5.0), dtype=float, device="cpu"), wp.zeros(5, dtype=float, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(double, 5, [x, y], device="cpu")
        wp.launch(double, 5, [y, x], device="cpu")
    KEPT[id(capture.graph)] = x
    return capture.graph


def use_graph(g):
    wp.capture_launch(g)
    with wp.Tape():
        wp.capture_launch(g)
    return [KEPT[id(g)].numpy().copy(), len(str(g.report()))]


def tape():
    x = wp.array(np.arange(5.0), dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(5, dtype=float, device="cpu", requires_grad=True)
    with wp.Tape() as made:
        wp.launch(double, 5, [x, y], device="cpu")
    KEPT[id(made)] = (x, y)
    return made


def use_tape(t):
    x, y = KEPT[id(t)]
    t.backward(grads={y: wp.ones(5, dtype=float, device="cpu")})
    seen = x.grad.numpy().copy()
    t.zero()
    t.reset()
    return [seen]


def builder():
    b = solvers.ModelBuilder()
    upright, still = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    linen = {"spring_ke": 1e3, "edge_ke": 1e-4, "tri_ke": 100.0, "tri_drag": 0.1}
    b.add_cloth_grid((0.0, 0.3, 0.0), upright, still, 2, 2, 0.1, 0.1, mass=0.01, **linen)
    b.add_soft_grid((0.0, 0.6, 0.0), upright, still, 1, 1, 1, 0.1, 0.1, 0.1, density=100.0)
    b.add_attachment(0, target=(0.0, 0.3, 0.0))
    b.add_shape_sphere((0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 1.0), radius=0.1)
    b.add_shape_mesh((0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0), box_mesh())
    b.add_ground_plane()
    return b


def box_mesh():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
    faces = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]
    return wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array(faces, dtype=int))


class Scene:
    """A solver with all that its steps are given; its fields are public attributes, too."""

    def __init__(self, solver, contacts=None):
        self.solver, self.model = solver, solver.model
        self.state_in, self.state_out = self.model.state(), self.model.state()
        self.control, self.contacts = self.model.control(), contacts
        self.statistics = solver.statistics(self.state_out)


def cloth():
    model = builder().finalize()
    return Scene(solvers.SolverXPBD(model, substeps=2, iterations=2), solvers.Contacts(model))


def cloth_surface():
    model = builder().finalize()
    return Scene(solvers.SolverXPBD(model, substeps=2, order="jacobi"), solvers.SurfaceContacts(model))


def loose(spacing):
    b = solvers.ModelBuilder()
    places = np.indices((3, 3, 3)).reshape(3, -1).T * spacing + [0.0, 0.5 * spacing, 0.0]
    b.add_particles(places, mass=1000.0 * spacing**3, radius=0.49 * spacing)
    b.add_ground_plane()
    return b.finalize()


BOUNDS = ((-0.2, -0.2, -0.2), (0.5, 0.5, 0.5))


def grains():
    return Scene(solvers.SolverDEM(loose(0.1), solvers.Material(youngs_modulus=1e6), substeps=4))


def water():
    return Scene(solvers.SolverSPH(loose(0.1), substeps=2, bounds=BOUNDS))


def incompressible():
    return Scene(solvers.SolverDFSPH(loose(0.1), substeps=1, bounds=BOUNDS))


def use_scene(s):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            s.solver.step(s.state_in, s.state_out, s.control, s.contacts, 1e-3)
            s.state_in.assign(s.state_out)
        s.control.advance(1e-3)
        s.state_in.clear_forces()
        seen = [s.state_out.particle_q.numpy().copy(), s.state_out.particle_qd.numpy().copy()]
        for statistics in (s.statistics, s.solver.statistics(s.state_out)):  # the first ones may be of before the steps
            numbers = [getattr(statistics, n) for n in dir(statistics) if not n.startswith("_")]
        seen += [n for n in numbers if isinstance(n, float | np.ndarray)]
        s.solver.step(s.model.state(), s.state_out, s.model.control(), s.contacts, 1e-3)
    return [*seen, s.state_out.particle_q.numpy().copy()]


def sea():
    seas = [oceans.PiersonMoskowitz(wind_speed=5.0), oceans.SeaState(0.5, 3.0)]
    return oceans.Ocean(seas, size=50.0, cells=16, device="cpu")


def use_sea(o):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        field = o.evaluate(1.0, velocity=True)
        seen = [field.height.numpy().copy()]
        o.evaluate(2.0, out=field)
        o.update()
        seen += [field.normals.numpy().copy(), field.points().numpy(), field.folded(), o.significant_height]
    return seen


class Afloat:
    def __init__(self):
        builder = solvers.ModelBuilder(up_axis="Z")
        builder.add_shape_box(body=builder.add_body())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.water = solvers.SolverOcean(builder.finalize("cpu"), sea())
            self.field = self.water.ocean.evaluate(0.5, velocity=True)
        self.state, self.foam = self.water.model.state(), oceans.Foam(threshold=2.0)


def use_afloat(a):
    for _ in range(2):
        a.water.step(a.state, a.state, dt=0.01)
    foam = [a.foam.step(a.field, 0.1).numpy().copy() for _ in range(2)]
    return [a.water.shape_force.numpy(), a.water.body_added_mass.numpy(), *foam, a.field.points().numpy()]


OWNERS = {
    "Mesh": (mesh, use_mesh), "Bvh": (bvh, use_bvh), "HashGrid": (grid, use_grid), "Volume": (volume, use_volume),
    "Volume of tiles": (tiles, use_tiles), "Texture2D": (texture, use_texture), "MarchingCubes": (cubes, use_cubes),
    "CsrMatrix": (matrix, use_matrix), "LinearOperator": (lambda: matrix().operator(), use_operator),
    "SGD": (optimiser(wp.optim.SGD, lr=0.1, momentum=0.5), use_optimiser),
    "Adam": (optimiser(wp.optim.Adam, lr=0.1), use_optimiser), "LBFGS": (lbfgs, use_lbfgs),
    "struct": (holder, use_holder), "Launch": (command, use_command), "Graph": (graph, use_graph),
    "Tape": (tape, use_tape), "SolverXPBD": (cloth, use_scene), "SolverXPBD with surfaces": (cloth_surface, use_scene),
    "SolverDEM": (grains, use_scene), "SolverSPH": (water, use_scene), "SolverDFSPH": (incompressible, use_scene),
    "SolverBodies": (Tumbling, use_tumbling), "Coupling": (Pushing, use_pushing),
    "Ocean": (sea, use_sea), "SolverOcean": (Afloat, use_afloat),
}  # fmt: skip

FREE = {"struct"}  # fields and functions of users, who may put others in their place: other results are right
INNER = {"Launch", "Graph", "Tape", "LinearOperator"}
"""Their attributes are their own; what stands there instead must not end the process, but Python may say it."""
