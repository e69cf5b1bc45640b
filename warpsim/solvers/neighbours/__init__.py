"""Neighbour search of particle methods: cells to sort by, and lists of pairs that stay valid for many steps."""
