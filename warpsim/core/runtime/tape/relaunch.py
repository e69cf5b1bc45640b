"""`Relaunch`: how tapes are told of a launch each time that it is done again, by itself or in a graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from ..arrays.call_site import CallSite
from ..launches.launcher import LaunchCall
from ..steps.launch import LaunchStep
from ..steps.move import copying
from .recording import run_generally


class Relaunch:
    """Launches again, with notes for the tapes that record then.

    plain: the launch without notes, where the one to do again notes what its atomics return; noted: the arrays for
    that, by the number of the atomic, or by path.
    """

    def __init__(self, plain: LaunchCall | None = None, noted: Mapping[Any, Any] = MappingProxyType({})):
        self.plain, self.noted = plain, noted

    def __call__(self, step: LaunchStep) -> None:
        run_generally(self.plain or step.call, CallSite.outside(), partial(self._submit, step))

    def _submit(self, step: LaunchStep, call: LaunchCall, noted: Mapping[Any, Any]) -> None:
        """Submit, with a launch in this one's place that fills arrays with what a tape is to know, if there are any."""
        plain = self.plain or step.call
        if call is plain:
            step.submit()
            return
        LaunchStep(call, Relaunch(plain, noted)).for_later().submit()
        for key in self.noted.keys() & noted.keys():
            copying(self.noted[key]._data, noted[key]._data).submit()
