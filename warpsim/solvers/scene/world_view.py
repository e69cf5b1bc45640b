"""`WorldView`: one world of a model, a state or a control, whose arrays are views of the owner's."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from ...arguments import checked
from ...errors import FixedAttributeError, ModelError, shown

if TYPE_CHECKING:
    from .control import Control
    from .model import Model
    from .state import State


class WorldView:
    """The rows of one world, of each array of a `Model`, `State` or `Control`, by the same names.

    They are views: what is written to them is written to the owner, and gradients are those of the owner. Integers
    remain numbers of the whole model. Of shapes there are those of this world alone.

    number: which world it is.
    """

    def __init__(self, owner: Model | State | Control, model: Model, number: int):
        if not isinstance(number, Integral) or not 0 <= number < model.world_count:
            raise ModelError(f"world is {shown(number)}\nexpected: 0 to {model.world_count - 1}")
        vars(self).update(_owner=owner, _model=model, number=int(number))

    @checked
    def rows(self, group: str) -> range:
        """Which of all particles, springs, ... are in this world. group: one of `fields.GROUPS`: "particle", ..."""
        if group not in self._model.world_rows:
            raise ModelError(f"group is {group!r}\nexpected: one of {', '.join(self._model.world_rows)}")
        begin, end = self._model.world_rows[group][self.number].tolist()
        return range(begin, end)

    @property
    def arrays(self) -> dict[str, Any]:
        """All views by name."""
        return {name: getattr(self, name) for name in self._groups()}

    def _groups(self) -> dict[str, str]:
        """Names of the owner's arrays, and of what they have rows."""
        groups = {name: f.per for name, f in self._owner.fields.items()}
        if self._owner is not self._model:
            more, n = self._model.state_fields, self._model.particle_count
            groups |= {name: "particle" for name, f in more.items() if f.count == n and hasattr(self._owner, name)}
        return groups

    def __getattr__(self, name: str) -> Any:
        groups = self._groups()
        if name not in groups:
            owner = type(self._owner).__name__
            raise AttributeError(f"a world of a {owner} has no {name!r}\nit has: {', '.join(groups)}")
        rows = self.rows(groups[name])
        return getattr(self._owner, name)[rows.start : rows.stop]

    def __setattr__(self, name: str, value: object) -> None:
        raise FixedAttributeError(f"{name} of a world is a view\nhelp: {name}.assign(...) writes into it")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._groups()]

    def __repr__(self) -> str:
        return f"<world {self.number} of a {type(self._owner).__name__}>"
