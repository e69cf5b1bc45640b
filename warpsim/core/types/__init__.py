"""Types of values: scalars, compounds, structs, arrays, and patterns that match them (floor 1)."""
