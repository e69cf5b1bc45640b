"""Launches kept for later: recorded commands, captured graphs, and adjoints launched by hand."""
