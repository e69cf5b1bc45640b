"""Rewrites that keep the meaning: inlining, constant folding, dead code, common subexpressions, loops."""
