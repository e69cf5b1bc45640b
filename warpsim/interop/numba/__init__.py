"""Numba: functions of either that the other calls."""
