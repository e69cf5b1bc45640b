"""Kernels and launches: arguments to bytes, bytes to a run on all cores, recorded launches and graphs."""
