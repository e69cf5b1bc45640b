"""The state of one translation, and what all rules share: scopes, flow, conversions."""
