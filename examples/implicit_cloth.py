"""A cloth swings in the wind by implicit Euler: Newton's method with an assembled stiffness, and an exact gradient.

The stiffness, a sparse matrix of 3 x 3 blocks, is assembled anew for every step of Newton's method. The gradient needs
none of these: where the residual is zero, it goes back through one linear solve (implicit function theorem).
"""

import numpy as np

import warpsim as wp
from warpsim import sparse
from warpsim.optim import linear
from warpsim.plot import Surface
from warpsim.render import Film, SimulationParser, add_film_options
from warpsim.solvers import ModelBuilder

SIDE, MASS, STIFFNESS = 1.0, 0.3, 3.0e2  # [m], [kg], [N/m]
AT, LYING = (-0.5 * SIDE, 1.4, 0.0), (0.5**0.5, 0.0, 0.0, 0.5**0.5)  # [m]
WEIGHT, WIND, BLUE = wp.vec3d(0.0, -9.81 * MASS, 0.0), np.array([0.4, 0.0, 2.0]), (0.05, 0.16, 0.45)  # [N], [N], RGB
Vectors, Numbers, Ends = wp.array[wp.vec3d], wp.array[wp.float64], wp.array2d[int]


@wp.kernel
def inertia(new: Vectors, x: Vectors, v: Vectors, wind: Vectors, free: Numbers, h: wp.float64, r: Vectors):
    """Mass times acceleration, less weight and wind, of what is not held [N]: with springs, the residual."""
    i, n = wp.tid(), wp.float64(free.shape[0])
    r[i] = free[i] / n * (wp.float64(MASS) / (h * h) * (new[i] - x[i] - h * v[i]) - WEIGHT - wind[0])


@wp.kernel(deterministic=True)
def pull(ends: Ends, rest: Numbers, new: Vectors, k: Numbers, free: Numbers, r: Vectors):
    """Less the forces of springs [N]."""
    s = wp.tid()
    i, j = ends[s, 0], ends[s, 1]
    force = k[0] * (wp.float64(1.0) - rest[s] / wp.length(new[i] - new[j])) * (new[i] - new[j])
    wp.atomic_add(r, i, free[i] * force)
    wp.atomic_sub(r, j, free[j] * force)


@wp.kernel
def stiffen(ends: Ends, rest: Numbers, new: Vectors, k: Numbers, least: wp.float64, blocks: wp.array[wp.mat33d]):
    """Second derivatives of the energies of springs [N/m]; across a spring at least some, which keeps them positive."""
    s = wp.tid()
    d = new[ends[s, 0]] - new[ends[s, 1]]
    along = wp.outer(wp.normalize(d), wp.normalize(d))
    across = wp.max(wp.float64(1.0) - rest[s] / wp.length(d), least)
    block = k[0] * (across * (wp.identity(n=3, dtype=wp.float64) - along) + along)
    blocks[4 * s], blocks[4 * s + 1], blocks[4 * s + 2], blocks[4 * s + 3] = block, -block, -block, block


class Cloth:
    """Particles on a grid, held at two corners, with springs; `change` makes these and the wind stronger."""

    def __init__(self, args, change=0.0):
        builder, cells, self.h, self.tape = ModelBuilder(), args.cells, 1.0 / args.fps, wp.Tape()
        builder.add_cloth_grid(AT, LYING, 0.0, cells, cells, SIDE / cells, SIDE / cells, 1.0, spring_ke=1.0)
        self.start, self.faces = np.array(builder.particles["q"], np.float64), builder.triangles["indices"]
        ends, held, every = np.array(builder.springs["indices"]), [0, cells], np.arange(len(self.start))
        self.rest = wp.array(np.linalg.norm(self.start[ends[:, 0]] - self.start[ends[:, 1]], axis=1))
        self.ends, self.free = wp.array(ends), wp.array(~np.isin(every, held), dtype=wp.float64)
        self.k = wp.array([STIFFNESS * (1.0 + change)], dtype=wp.float64, requires_grad=True)
        self.wind = wp.array([WIND * (1.0 + change)], dtype=wp.vec3d, requires_grad=True)
        # Blocks of springs, then of masses; those of what is held have row -1, and are left out.
        rows, columns = np.repeat(ends, 2, axis=1).ravel(), np.tile(ends, 2).ravel()
        rows[np.isin(rows, held) | np.isin(columns, held)] = -1
        self.places = [wp.array(np.append(a, every).astype(np.int32)) for a in (rows, columns)]
        self.blocks = wp.array([MASS / len(every) / self.h**2 * np.eye(3)] * (rows.size + len(every)), dtype=wp.mat33d)
        self.stiffness = sparse.bsr_from_triplets(len(every), len(every), *self.places, self.blocks)

    def linearize(self, new, x, v, least):
        """The residual of new positions; its derivative comes to be `stiffness`."""
        r = wp.zeros(len(self.start), dtype=wp.vec3d, requires_grad=True)
        wp.launch(inertia, len(r), [new, x, v, self.wind, self.free, self.h, r])
        wp.launch(pull, len(self.rest), [self.ends, self.rest, new, self.k, self.free, r])
        wp.launch(stiffen, len(self.rest), [self.ends, self.rest, new, self.k, least, self.blocks])
        sparse.bsr_set_from_triplets(self.stiffness, *self.places, self.blocks, masked=True)
        return r, wp.zeros_like(r, requires_grad=True)

    def step(self, x, v):
        """Positions and velocities after a step."""
        new = wp.array(x.numpy() + self.h * v.numpy(), dtype=wp.vec3d)
        for _ in range(50):
            r, dx = self.linearize(new, x, v, 0.0)
            if np.abs(r.numpy()).max() < 1e-9:
                break
            linear.cg(self.stiffness, r, dx, tol=1e-4, M=linear.preconditioner(self.stiffness))
            new.assign(new.numpy() - dx.numpy())
        with self.tape:  # once more, as if `new` and the stiffness there were constant: the derivative is exact
            r, dx = self.linearize(new, x, v, -np.inf)
            linear.cr(sparse.bsr_copy(self.stiffness), r, dx, tol=1e-10, M=linear.preconditioner(self.stiffness))
            return new - dx, (new - dx - x) / self.h

    def swing(self, times):
        """Positions at each time, (n, 3) [m]; in the end where a free corner is, `blown` [m]."""
        x, v = wp.array(self.start, dtype=wp.vec3d), wp.zeros(len(self.start), dtype=wp.vec3d)
        for t in times:
            x, v = self.step(x, v) if t else (x, v)
            yield x.numpy()
        self.blown, last = wp.zeros(1, dtype=wp.float64, requires_grad=True), np.zeros_like(self.start)
        last[-1, 2] = 1.0
        with self.tape:
            wp.utils.array_inner(x, wp.array(last, dtype=wp.vec3d), out=self.blown)


def run(args):
    """Simulate, write both files; returns what stronger springs and wind change, by gradient and difference [m]."""
    cloth, ends = Cloth(args), [Cloth(args, 1.0e-4), Cloth(args, -1.0e-4)]
    with Film(args.output, args.picture, args.seconds, args.fps, azimuth=30.0) as film:
        for points in cloth.swing(film.frames()):
            film.show("cloth", Surface(points, cloth.faces, BLUE))
    for other in ends:
        list(other.swing(range(film.count + 1)))
    cloth.tape.backward(cloth.blown)
    exact = cloth.k.grad.numpy()[0] * STIFFNESS + cloth.wind.grad.numpy()[0] @ WIND
    difference = (ends[0].blown.numpy()[0] - ends[1].blown.numpy()[0]) / 2.0e-4
    print(f"{cloth.stiffness}: at {cloth.blown.numpy()[0]:.4f} m; slope {exact:.7f}, difference {difference:.7f}")
    return exact, difference


def check(result):
    """Raise AssertionError unless the gradient is that of the difference."""
    assert abs(result[0] - result[1]) < 1.0e-4 * abs(result[1]), f"slope {result[0]}, difference {result[1]}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "implicit_cloth", seconds=0.5)
    parser.add_argument("--cells", type=int, above=0, default=12, help="along each side")
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
