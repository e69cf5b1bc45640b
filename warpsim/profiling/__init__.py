"""Profiles: where the time of a program goes, by kernel, call site, compilation, tape, copy and thread.

Nothing here costs anything while no profile is on: functions of the runtime are replaced for as long as one is
(`probes`), and put back after it.
"""

from .profile import Profile, profile

__all__ = ["Profile", "profile"]
