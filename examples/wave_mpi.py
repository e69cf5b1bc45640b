"""A wave on a grid that several processes share, and the gradient of its energy: halo exchange with MPI.

    pip install mpi4py mpich
    mpiexec -n 2 python wave_mpi.py

Each process has a band of rows and one row of each neighbour, the halo, which it receives before every step. In reverse
the gradient of a halo row goes back to the process that owns the row. Every process also computes the whole grid alone:
fields are equal bit for bit, as a row is computed by the same operations wherever it lies, and gradients to rounding.
"""

import time
from dataclasses import dataclass

import numpy as np

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:  # no mpi4py, or no MPI for it
    raise SystemExit(f"{error}\nhelp: pip install mpi4py mpich") from error

import warpsim as wp
from warpsim.render import SimulationParser

Field = wp.array2d[float]


@wp.kernel
def advance(now: Field, before: Field, courant: float, after: Field):
    """One step of the wave equation (leapfrog, second order), for rows between the halos; edges are held at zero."""
    i, j = wp.tid()
    r, c = i + 1, j + 1
    curvature = now[r - 1, c] + now[r + 1, c] + now[r, c - 1] + now[r, c + 1] - 4.0 * now[r, c]
    after[r, c] = 2.0 * now[r, c] - before[r, c] + courant * curvature


@wp.kernel
def energy(u: Field, total: wp.array[float]):
    i, j = wp.tid()
    wp.atomic_add(total, 0, u[i + 1, j + 1] * u[i + 1, j + 1])


@dataclass
class Band:
    """The rows of one process: `rows` of them behind the first `first` of the grid, each of `size` columns."""

    comm: MPI.Comm
    size: int

    def __post_init__(self):
        rank, ranks = self.comm.rank, self.comm.size
        self.first = rank * self.size // ranks
        self.rows = (rank + 1) * self.size // ranks - self.first
        self.above = rank - 1 if rank > 0 else MPI.PROC_NULL
        self.below = rank + 1 if rank + 1 < ranks else MPI.PROC_NULL

    def start(self):
        """The first field: two bumps; with its halo."""
        y, x = np.meshgrid(np.arange(-1, self.rows + 1) + self.first, np.arange(-1, self.size + 1), indexing="ij")
        bumps = [np.exp(-((y - a * self.size) ** 2 + (x - b * self.size) ** 2) / (0.05 * self.size) ** 2)
                 for a, b in ((0.45, 0.3), (0.6, 0.7))]  # fmt: skip
        inside = (y >= 0) & (y < self.size) & (x >= 0) & (x < self.size)
        return np.where(inside, sum(bumps), 0.0).astype(np.float32)

    def exchange(self, u, tape):
        """Receive the halo rows of a field; in reverse, send their gradients back."""
        u.mark_write()
        rows = u.numpy()
        self.comm.Sendrecv(rows[1], self.above, recvbuf=rows[-1], source=self.below)
        self.comm.Sendrecv(rows[-2], self.below, recvbuf=rows[0], source=self.above)
        tape.record_func(lambda: self.return_gradients(u.grad.numpy()), [u])

    def return_gradients(self, rows):
        """Add the gradients of halo rows to those of the rows that they are copies of."""
        down, up = (rows[-1], rows[1], self.below, self.above), (rows[0], rows[-2], self.above, self.below)
        for halo, own, there, here in (down, up):
            came = np.zeros_like(own)
            self.comm.Sendrecv(halo, there, recvbuf=came, source=here)
            own += came
            halo[:] = 0.0


def simulate(comm, size, steps, courant):
    """The last field and the gradient of its energy by the first one, of the rows of this process; and seconds."""
    band = Band(comm, size)
    first, second = (wp.array(band.start(), dtype=float, requires_grad=True) for _ in range(2))
    fields, total = [first, second], wp.zeros(1, dtype=float, requires_grad=True)
    shape = (band.rows + 2, size + 2)
    begin = time.perf_counter()
    with wp.Tape() as tape:
        for u in fields:
            band.exchange(u, tape)
        for _ in range(steps):
            after = wp.zeros(shape, dtype=float, requires_grad=True)
            wp.launch(advance, (band.rows, size), [fields[-1], fields[-2], courant], [after])
            band.exchange(after, tape)
            fields = [fields[-1], after]
        wp.launch(energy, (band.rows, size), [fields[-1]], [total])
    tape.backward(total)
    seconds = time.perf_counter() - begin
    return fields[-1].numpy()[1:-1], first.grad.numpy()[1:-1], seconds


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--size", type=int, default=512, help="rows and columns of the grid")
    parser.add_argument("--steps", type=int, default=50, help="time steps")
    parser.add_argument("--courant", type=float, default=0.2, help="squared Courant number, below 0.5 [-]")
    args = parser.parse_args(argv)
    comm = MPI.COMM_WORLD
    wp.set_num_threads(1)  # one core for each process
    simulate(MPI.COMM_SELF, 8, 2, args.courant)  # compiles
    u, grad, seconds = simulate(comm, args.size, args.steps, args.courant)
    alone, alone_grad, alone_seconds = simulate(MPI.COMM_SELF, args.size, args.steps, args.courant)
    band = Band(comm, args.size)
    rows = slice(band.first, band.first + band.rows)
    np.testing.assert_array_equal(u, alone[rows])
    np.testing.assert_allclose(grad, alone_grad[rows], rtol=1e-5, atol=1e-6 * np.abs(alone_grad).max())
    slowest, whole = comm.reduce(seconds, MPI.MAX), comm.reduce(alone_seconds, MPI.MAX)
    if comm.rank == 0:
        print(f"{comm.size} processes: fields and gradients of {args.steps} steps equal those of one process")
        print(f"{slowest:.3f} s, alone {whole:.3f} s: ratio {whole / slowest:.2f}")


if __name__ == "__main__":
    main()
