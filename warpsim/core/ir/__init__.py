"""Programs: typed structured SSA with a builder, printer, verifier and interpreter (floor 2)."""
