"""Textures: numbers on a regular grid of one, two or three dimensions, read between the points of the grid."""
