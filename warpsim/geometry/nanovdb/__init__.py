"""The NanoVDB format: layout, checks, files, grids made and read."""
