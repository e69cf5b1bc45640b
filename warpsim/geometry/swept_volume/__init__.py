"""Swept volumes: what moving meshes pass through."""
