"""IR to LLVM to machine code, per target, and the disk cache of the results (floor 6)."""
