"""Rigid bodies with joints and contact: impulses in small substeps, with positions and velocities of second order."""
