"""Contact of particles and surfaces with each other: what is close, and what passed through."""
