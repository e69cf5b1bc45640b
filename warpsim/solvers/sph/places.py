"""Places of particles in a solver's order: fluid before walls, and of either kind one world after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..scene.model import Model
    from .sampling import Rows


class Places:
    """Which places are whose; they stay so, as particles change places with others of their world and kind alone.

    water, walls: how many particles of each kind each world has, (worlds,). home: the world of each particle by its
    number, those of walls counted after those of fluid, and number: which particle stands where at first, (total,).
    """

    def __init__(self, model: Model, rows: Rows):
        worlds = model.world_count
        self.water = np.diff(model.world_rows["particle"], axis=1)[:, 0]
        self.walls = np.bincount(rows.world, minlength=worlds)
        fluid = np.repeat(np.arange(worlds), self.water)
        self.home = np.concatenate([fluid, rows.world])
        after = np.argsort(rows.world, kind="stable")
        self.number = np.concatenate([np.arange(len(fluid)), len(fluid) + after])

    @property
    def world(self) -> Any:
        """The world of each place, (total,)."""
        return self.home[self.number]

    @property
    def segment(self) -> Any:
        """A number for each kind and world, rising along the places, (total,)."""
        return self.world + len(self.water) * (np.arange(len(self.home)) >= self.water.sum())

    def fits(self, number: np.ndarray) -> bool:
        """Whether an order leaves all in their worlds."""
        return bool((self.home[number] == self.world).all())
