"""Arrays, devices, kernels and launches (floor 8)."""
