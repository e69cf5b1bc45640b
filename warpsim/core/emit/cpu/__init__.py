"""Kernels for CPUs: the loop over threads, lanes of vectors, maths."""
