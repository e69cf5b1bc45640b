"""Algorithms over whole arrays on a CUDA device: NVIDIA's own where they are installed, kernels elsewhere."""
