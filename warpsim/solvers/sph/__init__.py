"""Smoothed particle hydrodynamics: fluids as particles that carry density and pressure."""
