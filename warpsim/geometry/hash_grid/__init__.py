"""Hash grids: built by counting or by sorting, and their two queries."""
