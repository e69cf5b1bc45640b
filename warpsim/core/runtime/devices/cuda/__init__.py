"""Devices of CUDA: memory, streams, launches and graphs, on the driver's own interface."""
