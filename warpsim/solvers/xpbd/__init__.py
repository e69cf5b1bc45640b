"""Extended position-based dynamics: `SolverXPBD`, one constraint per file."""
