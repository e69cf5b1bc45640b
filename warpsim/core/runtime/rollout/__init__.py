"""Gradients of long loops: checkpoints, segments run again, and the schedules of both."""
