"""The text of a kernel: its syntax tree, and the names that it can see."""
