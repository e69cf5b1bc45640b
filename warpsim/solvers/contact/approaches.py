"""`Approaches`: pairs of particles that come near each other on straight ways in a step, though they begin it farther
apart than contacts look.

The faster of a pair finds it, so that a fast ball in a heap costs one wide search and not one of every ball; the slower
is told. The order is that of the grid, and then of numbers: the same for any number of threads. Speeds count from the
mean velocity, for what falls together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Float, Kernel, Vec, array, array2d, int32, uint64
from ...core.language import array_scan, atomic_add, dot, func, kernel, launch, length, max, min, tid, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from .bodies import at_rest, may_touch

if TYPE_CHECKING:
    from ..scene.model import Model
    from .contacts import Contacts

_PIECES = 64  # of particles, each summed in order
_SLOW = 0.25  # of the margin: who moves less in a step meets nobody from beyond it but those who move more


class Approaches(Fixed):
    """Searches of the particles of a model.

    widest: the largest radius now [m]; drift: the mean velocity [m/s]: arrays of one. begun: how many neighbours of
    each particle are near as the step begins.
    """

    def __init__(self, model: Model, capacity: int):
        device, n = model.device, model.particle_count
        self.model = model
        self.widest, self.drift = zeros(1, model.dtype, device), zeros(1, model.vec3, device)
        self._radii, self._sums = zeros(_PIECES, model.dtype, device), zeros(_PIECES, model.vec3, device)
        self.begun = zeros(n, int32, device)
        self._uses, self._firsts, self._cursor = (zeros(n + 1, int32, device) for _ in range(3))
        self._came = zeros(n * capacity, int32, device)

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it."""
        return [v for v in vars(self).values() if isinstance(v, array)]

    def measure(self, qd: array) -> None:
        """Find the largest radius and the mean velocity of a step."""
        parts = [self._radii, self._sums]
        self._run(measure_pieces, _PIECES, self.model.particle_radius, qd, *parts)
        self._run(join_pieces, 1, self.model.particle_count, *parts, self.widest, self.drift)

    def add(self, contacts: Contacts, q: array, qd: array, dt: float) -> None:
        """Add pairs to the neighbours of particles, behind those that are near."""
        m, n, lists = self.model, self.model.particle_count, [contacts.neighbors, contacts.counts]
        for zeroed in (self._uses, self._cursor):
            zeroed.zero_()
        still = [contacts.grid.id, at_rest(m, contacts.bodies), contacts.margin, self.widest]
        self._run(find_approaching, n, *still, q, qd, self.drift, m.dtype(dt), *lists, self.begun, self._uses)
        array_scan(self._uses, self._firsts, inclusive=False)
        self._run(tell, n, *lists, self.begun, self._firsts, self._cursor, self._came)
        self._run(append, n, self._firsts, self._came, *lists)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device, record_tape=False)


@kernel
def measure_pieces(
    radius: array(dtype=Any), qd: array(dtype=Any), radii: array(dtype=Any), sums: array(dtype=Any)
):  # fmt: skip
    k = tid()
    each = (radius.shape[0] + sums.shape[0] - 1) // sums.shape[0]
    widest, total = radii.dtype(0.0), sums.dtype()
    for i in range(k * each, min((k + 1) * each, radius.shape[0])):
        widest, total = max(widest, radius[i]), total + qd[i]
    radii[k], sums[k] = widest, total


@kernel
def join_pieces(
    count: int32, radii: array(dtype=Any), sums: array(dtype=Any), widest: array(dtype=Any), drift: array(dtype=Any)
):  # fmt: skip
    far, total = radii.dtype(0.0), sums.dtype()
    for k in range(radii.shape[0]):
        far, total = max(far, radii[k]), total + sums[k]
    widest[0], drift[0] = far, total / radii.dtype(count)


@func
def comes_within(apart: Vec[3, Float], way: Vec[3, Float], near: Float) -> bool:
    """Whether an offset that moves by a straight way gets shorter than `near`."""
    along, far = dot(apart, way), dot(way, way)
    if along >= 0.0:
        return False
    closest = apart + min(-along / far, along * 0.0 + 1.0) * way
    return dot(closest, closest) < near * near


@kernel
def find_approaching(
    grid: uint64, rest: Any, margin: Any, widest: array(dtype=Any), q: array(dtype=Any), qd: array(dtype=Any),
    drift: array(dtype=Any), dt: Any, neighbors: array2d(dtype=int32), counts: array(dtype=int32),
    begun: array(dtype=int32), uses: array(dtype=int32),
):  # fmt: skip
    """The slower ones that a particle may touch later in the step, and how many find each particle."""
    i = tid()
    p, u, count = q[i], qd[i], counts[i]
    begun[i] = count
    speed = u - drift[0]
    square, way = dot(speed, speed), dt * speed
    own = length(way)
    if own > _SLOW * margin:
        reach = rest.radius[i] + widest[0] + margin + 1.5 * own  # from the middle of the way; others go as far at most
        for j in hash_grid_neighbors(grid, p + 0.5 * way, reach, rest.world[i]):
            speed = qd[j] - drift[0]
            other = dot(speed, speed)
            if other < square or (other == square and j < i):
                apart, touch = q[j] - p, rest.radius[i] + rest.radius[j]
                near = touch + margin
                if dot(apart, apart) >= near * near and comes_within(apart, dt * (qd[j] - u), near):
                    if may_touch(rest.place[j] - rest.place[i], touch, rest.body[i] == rest.body[j]):
                        if count < neighbors.shape[1]:
                            neighbors[i, count] = j
                            atomic_add(uses, j, 1)
                        count += 1
    counts[i] = count


@kernel
def tell(
    neighbors: array2d(dtype=int32), counts: array(dtype=int32), begun: array(dtype=int32), firsts: array(dtype=int32),
    cursor: array(dtype=int32), came: array(dtype=int32),
):  # fmt: skip
    """Who found each particle, in any order."""
    i = tid()
    for n in range(begun[i], min(counts[i], neighbors.shape[1])):
        j = neighbors[i, n]
        came[firsts[j] + atomic_add(cursor, j, 1)] = i


@kernel
def append(
    firsts: array(dtype=int32), came: array(dtype=int32), neighbors: array2d(dtype=int32), counts: array(dtype=int32)
):  # fmt: skip
    """Add who found a particle to its neighbours, by numbers."""
    i = tid()
    count = counts[i]
    for n in range(firsts[i], firsts[i + 1]):
        value, at = came[n], n
        while at > firsts[i] and came[at - 1] > value:
            came[at] = came[at - 1]
            at -= 1
        came[at] = value
    for n in range(firsts[i], firsts[i + 1]):
        if count < neighbors.shape[1]:
            neighbors[i, count] = came[n]
        count += 1
    counts[i] = count
