"""Pictures of tapes: launches and arrays as a graph."""
