"""Hash grids, bounding volume hierarchies, meshes and sparse volumes, written in the kernel language."""
