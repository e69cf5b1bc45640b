"""Bodies and the matter around them, with forces both ways."""
