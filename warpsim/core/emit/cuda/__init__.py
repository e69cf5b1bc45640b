"""Kernels for CUDA: the grid around them, atomics, sums of blocks, and the tools that assemble them."""
