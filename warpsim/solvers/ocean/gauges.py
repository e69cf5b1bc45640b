"""Gauges of the sea in one import: what records of heights at probes say."""

from .records import highest_third, record_spectrum, record_waves, spectrum_statistics

__all__ = ["highest_third", "record_spectrum", "record_waves", "spectrum_statistics"]
