"""Sparse volumes: sampling, lookup, allocation, signed distances of meshes."""
