"""Triangulations: which triangles are neighbours, and edges flipped until all are Delaunay."""
