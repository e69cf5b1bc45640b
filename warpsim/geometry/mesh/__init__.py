"""Triangle meshes: closest points, rays, overlaps, signs, files."""
