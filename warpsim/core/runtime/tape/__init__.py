"""Tapes: recording of operations, saved contents, the reverse sweep."""
