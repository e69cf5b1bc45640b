"""Validation cases, one module per kind of physics; each registers with `validate.case`."""
