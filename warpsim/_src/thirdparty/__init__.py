"""Packages that Warp carries with it."""
