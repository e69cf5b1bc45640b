"""Scans, sums, sorts, run lengths and casts over whole arrays."""
