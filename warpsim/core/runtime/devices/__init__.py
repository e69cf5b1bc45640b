"""Devices, their streams, and the capture of work into graphs."""
