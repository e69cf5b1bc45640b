"""What each construct of the language becomes: one rule by kind of syntax node."""
