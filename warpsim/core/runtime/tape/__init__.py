"""Tapes: what is recorded, what of it is kept, and the reverse."""
