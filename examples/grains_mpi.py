"""Grains in a box that several processes share: halo exchange and migration with MPI, around `SolverDEM`.

    pip install mpi4py mpich
    mpiexec -n 2 python grains_mpi.py

Each process owns the grains of one slab of the box. Before every step those that left it move to the neighbour, and
each neighbour sends copies of those near their border, the halo. A contact reaches one diameter and carries errors as
far in a substep, so with a halo as many diameters wide as a step has substeps, own grains never feel where it ends, and
processes meet once per step. The grains have no friction: their contacts remember nothing, and a row of numbers is a
grain. Every process also computes all of them alone: they agree to what rounding does to sums in another order.
"""

import time

import numpy as np

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:  # no mpi4py, or no MPI for it
    raise SystemExit(f"{error}\nhelp: pip install mpi4py mpich") from error

import warpsim as wp
from warpsim.render import SimulationParser
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM

RADIUS, DENSITY = 0.005, 2500.0  # [m], [kg/m^3]
DIAMETER = 2.0 * RADIUS
MASS = DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3
SMOOTH = Material(youngs_modulus=1.0e6, restitution=0.6, friction=0.0)
WALL = ShapeConfig(mu=0.0, restitution=0.6)
SUBSTEP, SUBSTEPS = 1.0e-4, 4  # [s]
HALO = (SUBSTEPS + 0.5) * DIAMETER  # half a diameter more than contacts reach, for what grains move meanwhile
PITCH, ACROSS = 1.06 * DIAMETER, 6  # of the lattice to start from; its width and height in grains
SPEED = 0.5  # of the grains at first [m/s], in all directions
TOLERANCE = 1.0e-8  # of a diameter
NUMBER, Q, V = 0, slice(1, 4), slice(4, 7)  # columns of a grain


def scene(length):
    """Grains (n, 7): number, centre [m], velocity [m/s]; in a box of `length` lattice pitches along x."""
    cells = np.indices((length, ACROSS, ACROSS)).reshape(3, -1).T + 0.5
    velocities = np.random.default_rng(0).normal(0.0, SPEED, cells.shape)
    return np.column_stack([np.arange(len(cells)), cells * PITCH, velocities])


class Box:
    """The solver of one process, with room for `room` grains; what is not used of it is parked outside, at rest."""

    def __init__(self, length, room):
        self.parked = np.column_stack([4.0 * DIAMETER * np.arange(room), *(np.full(room, -1.0) for _ in range(2))])
        builder = ModelBuilder()
        builder.add_particles(self.parked, 0.0, MASS, RADIUS)
        for axis, extent in enumerate((length, ACROSS, ACROSS)):
            normal = np.eye(3)[axis]
            builder.add_shape_plane(normal, 0.0 * normal, WALL)
            if axis != 1:  # it is open above
                builder.add_shape_plane(-normal, extent * PITCH * normal, WALL)
        self.model = builder.finalize("cpu", dtype=wp.float64)
        self.solver = SolverDEM(self.model, SMOOTH, substeps=SUBSTEPS)
        self.state = self.model.state()

    def step(self, grains):
        """The same grains after a step. Raises `RuntimeError` for more than there is room for."""
        n, state = len(grains), self.state
        if n > len(self.parked):
            raise RuntimeError(f"{n} grains in a slab that has room for {len(self.parked)}\nhelp: raise --room")
        state.particle_q.assign(np.concatenate([grains[:, Q], self.parked[n:]]))
        state.particle_qd.assign(np.concatenate([grains[:, V], np.zeros((len(self.parked) - n, 3))]))
        self.model.particle_mass.assign(np.where(np.arange(len(self.parked)) < n, MASS, 0.0))
        self.solver.step(state, state, dt=SUBSTEP * SUBSTEPS)
        return np.column_stack([grains[:, NUMBER], state.particle_q.numpy()[:n], state.particle_qd.numpy()[:n]])


class Slab:
    """The part of the box, from `low` to `high` along x [m], whose grains this process owns.

    Raises `ValueError` for slabs that are thinner than the halo.
    """

    def __init__(self, comm, length):
        self.comm, thickness = comm, length * PITCH / comm.size
        if comm.size > 1 and thickness < HALO:
            raise ValueError(f"slabs of {thickness:g} m, a halo of {HALO:g} m\nhelp: fewer processes, or a longer box")
        first, last = comm.rank == 0, comm.rank + 1 == comm.size
        self.low = -np.inf if first else comm.rank * thickness
        self.high = np.inf if last else (comm.rank + 1) * thickness
        self.left = MPI.PROC_NULL if first else comm.rank - 1
        self.right = MPI.PROC_NULL if last else comm.rank + 1

    def own(self, grains):
        return grains[(grains[:, 1] >= self.low) & (grains[:, 1] < self.high)]

    def exchange(self, to_left, to_right):
        """What both neighbours sent, in return for what goes to them."""
        came = self.comm.sendrecv(to_left, self.left, source=self.right)
        more = self.comm.sendrecv(to_right, self.right, source=self.left)
        return [rows for rows in (came, more) if rows is not None]

    def migrate(self, grains):
        """The grains of the slab, after those that left it have changed hands."""
        x = grains[:, 1]
        return np.concatenate([self.own(grains), *self.exchange(grains[x < self.low], grains[x >= self.high])])

    def halo(self, grains):
        """Copies of the neighbours' grains that are near."""
        x = grains[:, 1]
        return np.concatenate([grains[:0], *self.exchange(grains[x < self.low + HALO], grains[x >= self.high - HALO])])


def simulate(comm, length, steps, room=1.0):
    """The grains of this process at the end, (n, 7); and seconds."""
    slab, grains = Slab(comm, length), scene(length)
    most = len(grains) / comm.size + 2 * HALO / PITCH * ACROSS**2
    box = Box(length, min(len(grains), int(room * most)))
    grains = slab.own(grains)
    comm.Barrier()
    begin = time.perf_counter()
    for _ in range(steps):
        grains = slab.migrate(grains)
        grains = box.step(np.concatenate([grains, slab.halo(grains)]))[: len(grains)]
    return grains, time.perf_counter() - begin


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--size", type=int, default=96, help=f"length of the box in grains; {ACROSS} x {ACROSS} across")
    parser.add_argument("--steps", type=int, default=50, help=f"of {SUBSTEPS} substeps")
    parser.add_argument("--room", type=float, default=1.5, help="most grains of a process by those at first [-]")
    args = parser.parse_args(argv)
    comm = MPI.COMM_WORLD
    wp.set_num_threads(1)  # one core for each process
    simulate(MPI.COMM_SELF, 8, 2)  # compiles
    grains, seconds = simulate(comm, args.size, args.steps, args.room)
    alone, alone_seconds = simulate(MPI.COMM_SELF, args.size, args.steps)
    difference = np.abs(grains - alone[grains[:, NUMBER].astype(int)])[:, Q].max(initial=0.0) / DIAMETER
    assert difference < TOLERANCE, f"centres differ from those of one process by {difference:.1e} diameters"
    numbers, farthest = comm.gather(grains[:, NUMBER]), comm.reduce(difference, MPI.MAX)
    moved = comm.reduce(len(np.setdiff1d(grains[:, NUMBER], Slab(comm, args.size).own(scene(args.size))[:, NUMBER])))
    slowest, whole = comm.reduce(seconds, MPI.MAX), comm.reduce(alone_seconds, MPI.MAX)
    if comm.rank == 0:
        np.testing.assert_array_equal(np.sort(np.concatenate(numbers)), np.arange(len(alone)))
        what = f"{len(alone)} grains after {args.steps} steps"
        print(f"{comm.size} processes: {what} within {farthest:.0e} diameters of where one process has them")
        print(f"{slowest:.3f} s, alone {whole:.3f} s: ratio {whole / slowest:.2f}; {moved} grains changed hands")


if __name__ == "__main__":
    main()
