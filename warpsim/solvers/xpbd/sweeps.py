"""Sweeps: in a substep in which surfaces are fast, nothing goes through anything.

Ways in a substep are straight. If no corner goes through a triangle on them, and no edge through an edge, then nothing
that was apart is entangled at their end, however it got there. So impacts are looked for before contact, while ways are
those of velocities and moments are true; and after it, until there are none: first with impulses (`surface_impact`),
then with zones (`impact_zones`), which end it. Shapes have their say in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.language import Kernel, array, atomic_max, int32, kernel, launch, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.saved_contents import active
from ...core.runtime.commands.conditional import capture_if, capture_while
from ...core.runtime.devices.capture import current_graph
from ..contact.contacts import note_filled
from .impact_zones import ImpactZones
from .surface_impact import SurfaceImpactConstraints

if TYPE_CHECKING:
    from ..contact.surface_contacts import SurfaceContacts
    from ..scene.control import Control
    from ..scene.model import Model
    from .workspace import Workspace

_EARLY, _LATE, _ZONES = 3, 3, 16  # rounds: of impulses before contact, and after it, and of zones

Work = Callable[[], None]


class Sweeps(Fixed):
    """Sweeps of a model's surfaces. going: whether a round is still to come, at all and in each world; rounds: how many
    there were."""

    def __init__(self, model: Model):
        self.model = model
        self.going, self.rounds = zeros(1 + model.world_count, int32, model.device), zeros(1, int32, model.device)
        self.impact, self.zones = SurfaceImpactConstraints(model), ImpactZones(model)

    @property
    def arrays(self) -> list[Any]:
        """What is filled before it is read."""
        return [self.going, self.rounds, *self.zones.arrays]

    def collide(
        self, contacts: SurfaceContacts, control: Control, workspace: Workspace, h: float, touch: Work, shapes: Work
    ) -> None:
        """Contact of all kinds, swept where something is fast. touch: contact of all kinds; shapes: that with shapes.

        A tape inside of a capture has no branches: there, everything is swept.
        """
        w = workspace
        contacts.watch(w.start, w.v, h, w.x)

        def sweep_all() -> None:
            self._stop(contacts, w, _EARLY)
            contacts.forget_sides()
            touch()
            self._clear(contacts, control, w, h, shapes)

        if _must_record_all():
            sweep_all()
        else:
            capture_if(contacts.fast, sweep_all, touch)

    def _stop(self, contacts: SurfaceContacts, w: Workspace, most: int, shapes: Work | None = None) -> None:
        """Rounds of impulses until nothing meets."""

        def press() -> None:
            self.impact.aim(contacts.impacts, w)
            self.impact.press(contacts, self.going, w)
            if shapes is not None:
                shapes()
            self._look(contacts, w, most)

        self._begin(contacts)
        self._look(contacts, w, most)
        self._repeat(press, most)

    def _clear(self, contacts: SurfaceContacts, control: Control, w: Workspace, h: float, shapes: Work) -> None:
        """Impulses, and where they do not do, zones, until nothing meets."""
        self._stop(contacts, w, _LATE, shapes)

        def move() -> None:
            self.zones.merge(contacts.impacts)
            self.zones.move(self.rounds, control, w, h)
            shapes()
            contacts.impacts.begin()
            self._look(contacts, w, _ZONES)

        def zones() -> None:
            self._begin(contacts)
            self.zones.begin()
            self._look(contacts, w, _ZONES)
            self._repeat(move, _ZONES)
            self._list(note_left, contacts.impacts.crossing, contacts.left)

        if _must_record_all():
            zones()
        else:
            capture_if(contacts.impacts.crossing, zones)

    def _begin(self, contacts: SurfaceContacts) -> None:
        note_filled([self.going, self.rounds])
        self.rounds.zero_()
        contacts.impacts.begin()

    def _look(self, contacts: SurfaceContacts, w: Workspace, most: int) -> None:
        """Look for impacts on the present ways, and whether another round may help."""
        contacts.impacts.find(w.start, w.x)
        self._list(judge, contacts.impacts.crossed, most, self.rounds, self.going)

    def _repeat(self, work: Work, most: int) -> None:
        if _must_record_all():
            for _ in range(most):
                work()
        else:
            capture_while(self.going[:1], work)

    def _list(self, kernel: Kernel, *args: object) -> None:
        launch(kernel, 1, args, device=self.model.device, record_tape=False)


def _must_record_all() -> bool:
    """Whether a tape records inside of a capture, where nobody can look at arrays."""
    return bool(active()) and current_graph() is not None


@kernel
def judge(crossing: array(dtype=int32), most: int32, rounds: array(dtype=int32), going: array(dtype=int32)):
    for k in range(going.shape[0]):
        going[k] = 0
        if crossing[k] > 0 and rounds[0] < most:
            going[k] = 1
    rounds[0] += 1


@kernel
def note_left(crossing: array(dtype=int32), left: array(dtype=int32)):
    atomic_max(left, 0, crossing[0])
