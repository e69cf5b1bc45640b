"""Arrays, devices, kernels and launches (floor 8), in folders that stand on each other."""
