"""Bounding volume hierarchies: built by splits or by a sort, refitted, walked, queried."""
