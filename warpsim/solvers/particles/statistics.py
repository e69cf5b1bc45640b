"""Statistics of a state: sums over particles that run on the device when they are first read, and never otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...forks import cached_property
from ...arguments import checked
from ...core.language import array, float64, int32, vec3d
from ...core.language import atomic_add, atomic_min, cross, dot, full, kernel, launch, tid, zeros

from ...core.runtime.arrays.fixed import Fixed
from ...errors import counted
from ..scene.checks import check_own
from ..scene.state import State

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..scene.model import Model


class ParticleStatistics(Fixed):
    """What any solver can say of a state, as it was when the numbers were first read.

    Sums are float64 whatever the precision of the model is. Solvers derive from this class and add their own. What
    still waits behind a nozzle does not count. Raises `StateError` for a state of another model.
    """

    @checked
    def __init__(self, model: Model, state: State):
        check_own(model, "state", state, State)
        self._model, self._state = model, state

    def __repr__(self) -> str:
        parts = ((name, getattr(type(self), name)) for name in dir(type(self)) if name[0] != "_")
        names = [name for name, part in parts if isinstance(part, property | cached_property)]
        return f"<{type(self).__name__} of {counted(len(self._state.particle_q), 'particle')}: {', '.join(names)}>"

    @property
    def model(self) -> Model:
        """Whose state this is. Raises `ModelError` for arrays that were replaced by others of another layout."""
        self._model.check_replaced("model")
        return self._model

    @property
    def state(self) -> State:
        """What is looked at. Raises `StateError` for arrays that were replaced by others of another layout."""
        self._state.check_replaced("state")
        return self._state

    @cached_property
    def _there(self) -> np.ndarray | None:
        """Which particles are in the scene, bool (particles,); None: all."""
        return None

    @cached_property
    def _sums(self) -> np.ndarray:
        """Mass, m x (3), m v (3), m x cross v (3), m v^2 / 2, (11,)."""
        model, state, mass = self.model, self.state, self.model.particle_mass
        if self._there is not None:
            mass = array(mass.numpy() * self._there, dtype=model.dtype, device=model.device)
        sums = zeros(11, float64, model.device)
        arrays = [mass, state.particle_q, state.particle_qd, sums]
        launch(_add_up, model.particle_count, arrays, device=model.device, record_tape=False)
        return sums.numpy().copy()

    @property
    def mass(self) -> float:
        """[kg], of particles that can move."""
        return float(self._sums[0])

    @property
    def center_of_mass(self) -> np.ndarray:
        """(3,) [m]; NaN where nothing has mass."""
        return self._sums[1:4] / self._sums[0] if self._sums[0] else np.full(3, np.nan)

    @property
    def momentum(self) -> np.ndarray:
        """(3,) [kg m/s]."""
        return self._sums[4:7]

    @property
    def angular_momentum(self) -> np.ndarray:
        """About the origin, (3,) [kg m^2/s]."""
        return self._sums[7:10]

    @property
    def kinetic_energy(self) -> float:
        """[J]."""
        return float(self._sums[10])

    @cached_property
    def first_not_finite(self) -> int | None:
        """The first particle whose position or velocity is NaN or infinite; None: the state has not diverged."""
        return first_not_finite(self.state.particle_q, self.state.particle_qd)

    def outside(self, low: ArrayLike, high: ArrayLike) -> int:
        """How many particles are not between two corners (3,) [m]; those that are not finite are not."""
        q = self.state.particle_q.numpy()
        left = ~((q >= np.asarray(low)) & (q <= np.asarray(high))).all(axis=1)
        return int(left.sum() if self._there is None else (left & self._there).sum())

    @property
    def diverged(self) -> bool:
        """Whether any number of the state is NaN or infinite."""
        return self.first_not_finite is not None


def first_not_finite(q: array, qd: array) -> int | None:
    """The first index at which one of positions and velocities has NaN or infinity."""
    first = full(1, q.size, int32, q.device)
    launch(_find_not_finite, q.size, [q, qd, first], device=q.device, record_tape=False)
    index = int(first.numpy()[0])
    return index if index < q.size else None


def longest(vectors: array) -> float:
    """The greatest length of vectors; NaN where one is."""
    numbers = vectors.numpy().astype(np.float64)
    return float(np.sqrt((numbers**2).sum(axis=1)).max(initial=0.0))


@kernel
def _add_up(mass: array(dtype=Any), q: array(dtype=Any), qd: array(dtype=Any), sums: array(dtype=float64)):
    i = tid()
    m = float64(mass[i])
    x = vec3d(float64(q[i][0]), float64(q[i][1]), float64(q[i][2]))
    v = vec3d(float64(qd[i][0]), float64(qd[i][1]), float64(qd[i][2]))
    spin = cross(x, v)
    atomic_add(sums, 0, m)
    for k in range(3):
        atomic_add(sums, 1 + k, m * x[k])
        atomic_add(sums, 4 + k, m * v[k])
        atomic_add(sums, 7 + k, m * spin[k])
    atomic_add(sums, 10, 0.5 * m * dot(v, v))


@kernel(fast_math=False)
def _find_not_finite(q: array(dtype=Any), qd: array(dtype=Any), first: array(dtype=int32)):
    i = tid()
    at, by = 0.0 * q[i], 0.0 * qd[i]
    if dot(at, at) + dot(by, by) != 0.0:
        atomic_min(first, 0, i)
