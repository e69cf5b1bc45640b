"""Forward mode: duals beside values, and the transposes that give tangents from adjoints."""
