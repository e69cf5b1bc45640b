"""Analyses: what a program does with values, arrays and indices, without changing it."""
