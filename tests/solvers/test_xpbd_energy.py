"""Random meshes of every elastic kind together: what is left alone never moves with more energy than it had, at any
stiffness and step.

Kinetic energy is held against all energy of the beginning. Elastic energy would count what one iteration leaves in
stiff constraints, where it is huge without being able to move anything: a substep takes back a strain, not its force.
`WARPSIM_FUZZ_ENERGY=N` runs N seeds instead of eight.
"""

import os

import numpy as np
import pytest
from scipy.spatial import Delaunay

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.solvers.scene import cloth, soft

SEEDS = range(int(os.environ.get("WARPSIM_FUZZ_ENERGY", "8")))


class Scene:
    """A sheet of random triangles, a block of random tetrahedra, and springs through both; stiffness over six decades
    each, sizes over three."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.size = 10.0 ** rng.uniform(-2, 1)
        builder = ModelBuilder(gravity=0.0)
        self.sheet(builder)
        self.block(builder)
        self.ties(builder)
        mass = builder.particles["mass"]
        mass[rng.random(len(mass)) < 0.1] = 0.0
        self.model = builder.finalize(device="cpu", dtype=wp.float64)
        self.rest = builder.particles["q"].copy()
        self.substeps, self.bending = int(rng.choice([1, 2, 5, 10, 50])), str(rng.choice(["dihedral", "isometric"]))
        if not self.sewn:  # angles jump where a triangle collapses, and with them their energy
            self.bending = "isometric"
        self.iterations, self.order = int(rng.choice([1, 1, 3])), str(rng.choice(["colored", "colored", "jacobi"]))
        self.noise, self.speed = 10.0 ** rng.uniform(-4, -0.7), 10.0 ** rng.uniform(-4, -1.5)

    def modulus(self, low):
        return 10.0 ** self.rng.uniform(low, low + 6)

    def sheet(self, builder):
        points = self.rng.uniform(0, 1, (int(self.rng.integers(6, 20)), 2))
        faces = Delaunay(points).simplices
        wide = cloth.areas(np.pad(points, ((0, 0), (0, 1))), faces) > 0.003
        faces = np.flip(faces, axis=1)[wide]
        points = self.size * np.pad(points, ((0, 0), (0, 1)))
        options, self.sewn = {"edge_ke": self.modulus(-6) * self.size**2}, self.rng.random() < 0.5
        if self.sewn:
            options["spring_ke"] = self.modulus(0)
        if self.rng.random() < 0.7:
            ke = self.modulus(0)
            options |= {
                "tri_ke": (ke, ke * 10.0 ** self.rng.uniform(-1, 1)),
                "tri_nu": self.rng.uniform(0, 0.4),
                "material": points[faces][..., [1, 0]],
            }
        density = 10.0 ** self.rng.uniform(-2, 0)
        builder.add_cloth_mesh((0, 0, 0), (0, 0, 0, 1), 1.0, 0, points, faces, density, **options)

    def block(self, builder):
        points = self.rng.uniform(0, 1, (int(self.rng.integers(5, 10)), 3))
        tets = Delaunay(points).simplices
        volume = soft.volumes(points, tets)
        tets[volume < 0.0] = tets[volume < 0.0][:, [0, 1, 3, 2]]
        tets = tets[np.abs(volume) > 0.005]
        points = self.size * (points - [0, 0, 1.2])
        added = builder.add_particles(points, 0.0, self.size**3 * self.modulus(0) * 1e-2)
        if len(tets):
            builder.add_tetrahedra(added.start + tets, *soft.lame(self.modulus(3), self.rng.uniform(0, 0.49)))

    def ties(self, builder):
        n = builder.particle_count
        pairs = np.array([self.rng.choice(n, 2, replace=False) for _ in range(6)])
        builder.add_springs(pairs, [self.modulus(0) for _ in pairs])

    def stir(self, state):
        q, v = self.rng.normal(size=(2, *self.rest.shape))
        held = (self.model.particle_mass.numpy() == 0.0)[:, None]
        state.particle_q.assign(self.rest + self.noise * self.size * q)
        state.particle_qd.assign(np.where(held, 0.0, 60.0 * self.speed * self.size * v))

    # ----- energies [J] -----

    def kinetic(self, state):
        return 0.5 * (self.model.particle_mass.numpy()[:, None] * state.particle_qd.numpy() ** 2).sum()

    def energy(self, state):
        q = state.particle_q.numpy()
        elastic = self.of_springs(q) + self.of_membranes(q) + self.of_bending(q) + self.of_tetrahedra(q)
        return self.kinetic(state) + elastic

    def of_springs(self, q):
        m = self.model
        i, j = m.spring_indices.numpy().T
        strain = np.linalg.norm(q[i] - q[j], axis=1) - m.spring_rest_length.numpy()
        return 0.5 * (strain**2 / m.spring_compliance.numpy()).sum()

    def of_membranes(self, q):
        m = self.model
        warp, weft, shear, nu = m.tri_stiffness.numpy().T
        if not warp.any():
            return 0.0
        a, b, c = (q[m.tri_indices.numpy()[:, k]] for k in range(3))
        f = np.stack([b - a, c - a], axis=2) @ m.tri_pose.numpy()
        e = 0.5 * (np.swapaxes(f, 1, 2) @ f - np.eye(2))
        side = nu * np.sqrt(warp * weft)
        law = warp * e[:, 0, 0] ** 2 + weft * e[:, 1, 1] ** 2 + 2.0 * side * e[:, 0, 0] * e[:, 1, 1]
        law = law / (1.0 - nu**2) + 4.0 * shear * e[:, 0, 1] ** 2
        return 0.5 * (m.tri_area.numpy() * law).sum()

    def of_bending(self, q):
        m = self.model
        quads, total = m.edge_indices.numpy(), 0.0
        if self.bending == "isometric":
            folds = np.einsum("nk,nkx->nx", m.edge_weights.numpy(), q[quads])
        else:
            folds = cloth.dihedral_angles(q, quads)[:, None]
        for edges, turns, f in zip(m.bend_edges.numpy(), m.bend_turns.numpy(), m.bend_flexibility.numpy(), strict=True):
            there = edges >= 0
            sign = np.where((turns[there] > 1) & (self.bending == "dihedral"), -1.0, 1.0)
            t, soft_by = folds[edges[there]] * sign[:, None], m.edge_compliance.numpy()[edges[there][0]]
            block = np.array([[f[0], f[3], f[4]], [f[3], f[1], f[5]], [f[4], f[5], f[2]]])[np.ix_(there, there)]
            total += 0.5 * np.einsum("ix,ij,jx->", t, np.linalg.inv(block), t) / soft_by
        return total

    def of_tetrahedra(self, q):
        m = self.model
        if not m.tet_count:
            return 0.0
        corners, mu, lam = m.tet_indices.numpy(), m.tet_mu.numpy(), m.tet_lambda.numpy()
        p = q[corners]
        f = np.swapaxes(p[:, 1:] - p[:, :1], 1, 2) @ m.tet_pose.numpy()
        e = np.linalg.svd(f, compute_uv=False)
        e[:, 2] *= np.sign(np.linalg.det(f))
        e -= 1.0  # stretches less one: stiff bodies at rest would be differences of large numbers
        pairs, product = e[:, 0] * e[:, 1] + e[:, 1] * e[:, 2] + e[:, 2] * e[:, 0], e.prod(axis=1)
        law = mu * (0.5 * (e**2).sum(axis=1) - pairs - product)
        return (m.tet_volume.numpy() * (law + 0.5 * (lam + mu) * (e.sum(axis=1) + pairs + product) ** 2)).sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_meshes_of_all_kinds_never_gain_energy(seed):
    scene = Scene(seed)
    solver = SolverXPBD(
        scene.model, substeps=scene.substeps, iterations=scene.iterations, bending=scene.bending, order=scene.order
    )
    state = scene.model.state()
    scene.stir(state)
    first = scene.energy(state)
    for step in range(60):
        solver.step(state, state, None, None, 1.0 / 60.0)
        grown = scene.kinetic(state) / first
        settings = (scene.substeps, scene.iterations, scene.bending, scene.order, scene.noise, scene.speed)
        assert grown <= 1.001, (step, grown, settings)


@pytest.mark.parametrize("bending", ["dihedral", "isometric"])
def test_the_energies_of_this_file_are_those_whose_forces_act(bending):
    """From rest, one soft substep gives particles the slope of the energy: m v = -h dE/dx."""
    scene = Scene(3)
    scene.bending = bending
    solver, state, h = SolverXPBD(scene.model, substeps=1, bending=bending), scene.model.state(), 1e-7
    q = scene.rest + 1e-3 * scene.size * scene.rng.normal(size=scene.rest.shape)
    state.particle_q.assign(q)
    solver.step(state, state, None, None, h)
    impulse = scene.model.particle_mass.numpy()[:, None] * state.particle_qd.numpy()
    way = scene.rng.normal(size=q.shape) * (scene.model.particle_mass.numpy() > 0.0)[:, None]
    side = scene.model.state()
    energies = []
    for sign in (1.0, -1.0):
        side.particle_q.assign(q + sign * 1e-6 * scene.size * way)
        energies.append(scene.energy(side))
    slope = (energies[0] - energies[1]) / (2e-6 * scene.size)
    assert np.isclose((impulse * way).sum(), -h * slope, rtol=1e-4)
