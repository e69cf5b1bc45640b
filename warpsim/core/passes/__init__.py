"""IR to IR: each pass opens with what it guarantees (floor 4)."""
