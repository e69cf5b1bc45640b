"""Functions written in the kernel language: what needs loops and branches, on any device (floor 9)."""
