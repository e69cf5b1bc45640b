"""Small scenes of every solver, as dictionaries of things to save, and how each takes a step."""

import numpy as np

import warpsim as wp
from warpsim.solvers import (
    Contacts,
    Coupling,
    Fluid,
    FluidStream,
    GrainStream,
    Material,
    ModelBuilder,
    ShapeConfig,
    SolverBodies,
    SolverDEM,
    SolverDFSPH,
    SolverSPH,
    SolverXPBD,
    SurfaceContacts,
)
from warpsim.solvers.ocean import JONSWAP, Foam, Ocean, Sea, SeaState, SolverOcean

FLAT = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
REST = (0.0, 0.0, 0.0, 1.0)


def cloth(requires_grad=False, dtype=wp.float32):
    """A sheet in the wind falls on a ball; the solver chooses its substeps."""
    builder = ModelBuilder()
    builder.add_cloth_grid(
        (0, 0.7, 0), FLAT, 0, 6, 6, 0.1, 0.1, 0.01, spring_ke=1e3, edge_ke=1e-4, tri_drag=1.0, fix_left=True
    )
    builder.add_ground_plane()
    builder.add_shape_sphere((0.4, 0.3, 0.3, *REST), 0.3)
    model = builder.finalize(dtype=dtype, requires_grad=requires_grad)
    control = model.control()
    control.wind.assign([[2.0, 1.0, 0.0]])
    solver = SolverXPBD(model, 6 if requires_grad else "auto", damping=0.1)
    return {"solver": solver, "state": model.state(), "control": control, "contacts": Contacts(model)}


def soft(dtype=wp.float32):
    """A soft block falls on a mesh, and a sheet on the block; surfaces keep apart."""
    builder = ModelBuilder()
    builder.add_soft_grid((0, 0.3, 0), REST, 0, 2, 2, 2, 0.1, 0.1, 0.1, 500.0, youngs_modulus=2e4, k_damp=0.01)
    builder.add_cloth_grid((-0.1, 0.7, -0.1), FLAT, 0, 4, 4, 0.1, 0.1, 0.01, tri_ke=1e3, particle_radius=0.01)
    points = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-0.2, 0.2) for z in (-1.0, 1.0)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))], dtype=np.int32)
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=wp.int32))
    builder.add_shape_mesh((0.0, 0.0, 0.0, *REST), mesh)
    model = builder.finalize(dtype=dtype)
    solver = SolverXPBD(model, 6, 2)
    return {"solver": solver, "state": model.state(), "control": model.control(), "contacts": SurfaceContacts(model)}


def grains():
    """Two materials with springs of rolling, over a box."""
    builder, rng = ModelBuilder(), np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(*[np.arange(4) * 0.021] * 3, indexing="ij"), -1).reshape(-1, 3)
    places = lattice + rng.uniform(-1e-3, 1e-3, (64, 3)) + [0, 0.05, 0]
    builder.add_particles(places, 0.0, 1e-2, rng.uniform(8e-3, 1e-2, 64))
    builder.add_ground_plane()
    builder.add_shape_box((0.05, 0.0, 0.05, *REST), 0.03, 0.02, 0.03)
    model = builder.finalize()
    solver = SolverDEM(
        model, [Material(1e6, rolling_friction=0.1), Material(2e6)], np.arange(64) % 2, substeps=20, rolling="spring"
    )
    return {"solver": solver, "state": model.state(), "control": model.control()}


def poured():
    """Grains out of a nozzle onto a floor; a run of any length goes on when the nozzle is empty."""
    builder = ModelBuilder()
    grains = builder.add_particles(np.zeros((60, 3)), 0.0, 1e-2, 0.01)
    builder.add_ground_plane()
    model = builder.finalize()
    stream = GrainStream(grains, (0, 0.2, 0), (0, -1, 0), 0.05, 300.0, exhausted="stop")
    solver = SolverDEM(model, Material(1e6), substeps=25, streams=[stream])
    return {"solver": solver, "state": model.state(), "control": model.control()}


def fluid(kind=SolverSPH, streams=False):
    """A column of fluid collapses in a box with a step."""
    builder = ModelBuilder()
    lattice = np.stack(np.meshgrid(*[np.arange(5) * 0.02] * 3, indexing="ij"), -1).reshape(-1, 3) + 0.011
    builder.add_particles(lattice, 0.0, 1000 * 0.02**3, 0.01)
    more = builder.add_particles(np.zeros((40, 3)), 0.0, 1000 * 0.02**3, 0.01) if streams else None
    builder.add_ground_plane()
    builder.add_shape_box((0.2, 0.02, 0.05, *REST), 0.05, 0.04, 0.2)
    for normal, point in (((1, 0, 0), (0, 0, 0)), ((0, 0, 1), (0, 0, 0)), ((0, 0, -1), (0, 0, 0.11))):
        builder.add_shape_plane(normal, point)
    model = builder.finalize()
    nozzles = [FluidStream(more, (0.05, 0.2, 0.05), (0, -0.8, 0), 0.03, exhausted="stop")]
    options = {"streams": nozzles} if streams else {}
    solver = kind(model, Fluid(sound=12.0), bounds=((-0.1, -0.1, -0.1), (0.4, 0.4, 0.2)), **options)
    return {"solver": solver, "state": model.state(), "control": model.control()}


def bodies():
    """Two boxes tumble through the air, over a floor."""
    builder = ModelBuilder()
    for k in range(2):
        body = builder.add_body((0.5 * k, 1.0, 0.0, *REST), (1.0, 4.0, 0.3, 0.1, 0.0, 0.2))
        builder.add_shape_box((0.02, 0.0, 0.0, *REST), 0.05, 0.1, 0.15, body=body)
    builder.add_ground_plane()
    model = builder.finalize()
    return {"solver": SolverBodies(model, 5, 2), "state": model.state(), "control": model.control()}


def coupled():
    """Grains fall onto a block, which rises."""
    own = ModelBuilder()
    body = own.add_body((0.0, 0.0, 0.0, *REST), (0.5, 0.0, 0.0, 0.0, 2.0, 0.0))
    own.add_shape_box(hx=0.05, hy=0.02, hz=0.05, body=body)
    builder, rng = ModelBuilder(), np.random.default_rng(0)
    builder.add_bodies(own)
    lattice = np.stack(np.meshgrid(*[np.arange(3) * 0.021] * 3, indexing="ij"), -1).reshape(-1, 3)
    builder.add_particles(lattice + rng.uniform(-1e-3, 1e-3, (27, 3)) + [-0.02, 0.04, -0.02], 0.0, 1e-2, 9e-3)
    grains = SolverDEM(builder.finalize(), Material(1e6), substeps=20)
    coupling = Coupling(SolverBodies(own.finalize(), 2), [grains])
    state, more = coupling.states()
    return {"solver": coupling, "state": state, "grains": more}


def sea():
    """Two boxes float on two systems of waves, with foam."""
    ocean = Ocean([Sea(SeaState(1.2, 5.0), direction=0.3), JONSWAP(8.0, 1e4)], (120.0, 40.0), 32, trough_damping=0.3)
    builder = ModelBuilder(up_axis="Z")
    for place in ((10.0, 10.0, 0.0), (20.0, 20.0, 0.5)):
        builder.add_shape_box(None, 1.0, 1.0, 1.0, ShapeConfig(density=500.0), body=builder.add_body((*place, *REST)))
    model = builder.finalize()
    water = SolverOcean(model, ocean)
    coupling = Coupling(SolverBodies(model, 2), [water])
    state = coupling.states()[0]
    return {"ocean": ocean, "water": water, "solver": coupling, "state": state, "foam": Foam()}


def step(scene):
    """One step of any of these."""
    if "ocean" in scene:
        state = scene["state"]
        scene["solver"].step((state, state), (state, state), dt=0.1)
        scene["foam"].step(scene["ocean"].evaluate(scene["water"].time), 0.1)
    else:
        solver, contacts = scene["solver"], scene.get("contacts")
        if isinstance(solver, Coupling):
            states = scene["state"], scene["grains"]
            solver.step(states, states, dt=1 / 200)
            return
        dt = 1 / 60 if contacts is not None else 1 / 200
        solver.step(scene["state"], scene["state"], scene["control"], contacts, dt)


def numbers_of(scene):
    """The numbers of a scene's state, and what its solver tells, as bytes by name."""
    state = scene["state"]
    arrays = state.arrays if isinstance(state.arrays, dict) else dict(enumerate(state.arrays()))
    others = {"foam": scene["foam"].coverage} if "foam" in scene else {}
    others |= {f"grains.{name}": a for name, a in scene["grains"].arrays.items()} if "grains" in scene else {}
    if hasattr(scene.get("solver"), "shape_force"):
        others["shape_force"] = scene["solver"].shape_force
    return {name: a.numpy().tobytes() for name, a in {**arrays, **others}.items()}


SCENES = {
    "cloth": cloth,
    "soft": soft,
    "grains": grains,
    "poured": poured,
    "fluid": fluid,
    "fluid_stream": lambda: fluid(streams=True),
    "incompressible": lambda: fluid(SolverDFSPH),
    "bodies": bodies,
    "coupled": coupled,
    "sea": sea,
}
