"""Saved scenes: files that hold models, states, controls and solvers with their memory, to go on from."""
