"""Python functions to IR (floor 5)."""
