"""Translation rules of the language: one by kind of syntax node."""
