"""Marching cubes: surfaces of fields."""
