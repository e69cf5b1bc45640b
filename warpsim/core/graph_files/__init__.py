"""Captured graphs in files, which run in another process without the Python of their kernels."""
